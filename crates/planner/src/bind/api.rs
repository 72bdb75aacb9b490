//! The face of the binder, and what all blocks of a statement share.

use super::dependencies::Dependency;
use super::hints::HintBook;
use super::scope::{Block, Clause, Scope};
use super::tidy::keep_digits;
use crate::optimize::Switches;
use catalog::{CatalogReader, TableDef};
use expr::{Expr, SessionInfo, SubqueryId};
use parser::ast;
use plan::logical::{Columns, Logical, LogicalQuery, SubqueryDef, TableLock};
use std::collections::HashMap;
use std::sync::Arc;
use types::{Collation, Overseer, Pace, Result, SqlType, Value};

/// System and user variables, as the session has them when the statement is bound.
pub trait SystemVariables {
    /// `@@[scope.]name`; `component.name` for structured variables. 1193 if there is none.
    fn get(&self, name: &str, scope: Option<ast::VarScope>) -> Result<(Value, SqlType)>;

    /// Type of `@name`, if it is set.
    fn user_variable_type(&self, _name: &str) -> Option<SqlType> {
        None
    }

    /// `@name`, if it is set.
    fn user_variable(&self, _name: &str) -> Option<(Value, SqlType)> {
        None
    }

    /// optimizer_switch
    fn switches(&self) -> Switches {
        Switches::default()
    }
}

/// Binds statements of one session. Cheap to make; holds no state between statements.
#[derive(Clone, Copy)]
pub struct Binder<'e> {
    catalog: &'e dyn CatalogReader,
    pub(super) session: &'e SessionInfo,
    variables: &'e dyn SystemVariables,
    params: ParamInfo<'e>,
    all_digits: bool,
    overseer: Option<&'e dyn Overseer>,
}

/// What is known of the statement's `?` parameters.
#[derive(Clone, Copy, Debug)]
pub(super) enum ParamInfo<'e> {
    Types(&'e [SqlType]),
    Values(&'e [(Value, SqlType)]),
}

impl<'e> Binder<'e> {
    pub fn new(
        catalog: &'e dyn CatalogReader,
        session: &'e SessionInfo,
        variables: &'e dyn SystemVariables,
    ) -> Binder<'e> {
        Binder { catalog, session, variables, params: ParamInfo::Types(&[]), all_digits: false, overseer: None }
    }

    /// Values of the statement's `?` parameters: they stand in the plan as constants, so it is good for one execution,
    /// and chosen for these values.
    pub fn with_params(self, params: &'e [(Value, SqlType)]) -> Binder<'e> {
        Binder { params: ParamInfo::Values(params), ..self }
    }

    /// Types of the parameters, whose values come with each execution: parameter n is slot n. Parameters beyond the
    /// list (at PREPARE) are strings. The plan of a statement with `LIMIT ?` is not to be run.
    pub fn with_param_types(self, types: &'e [SqlType]) -> Binder<'e> {
        Binder { params: ParamInfo::Types(types), ..self }
    }

    /// Quotients and averages that a query selects keep the digits beyond those of their types: they are to be stored.
    pub fn with_all_digits(self) -> Binder<'e> {
        Binder { all_digits: true, ..self }
    }

    /// Binding ends with the overseer's error as soon as it has one.
    pub fn overseen(self, overseer: Option<&'e dyn Overseer>) -> Binder<'e> {
        Binder { overseer, ..self }
    }

    /// SELECT, VALUES, TABLE, set operations. INTO and locking clauses are the caller's.
    pub fn bind_query(&self, query: &ast::Query) -> Result<LogicalQuery> {
        let mut shared = self.shared();
        let mut bound = Bind::new(&mut shared).query(query, super::query::QueryUse::Top)?;
        if self.all_digits {
            bound.output.iter().for_each(|(id, _)| keep_digits(&mut bound.plan, *id, &mut shared.columns));
        }
        shared.finish(bound.plan, bound.output)
    }

    /// Expressions without a FROM, each one output column of one row: SET, DO, a row of VALUES. They may hold
    /// subqueries.
    pub fn bind_scalar_exprs<'x>(&self, exprs: impl IntoIterator<Item = &'x ast::Expr>) -> Result<LogicalQuery> {
        let mut shared = self.shared();
        let mut b = Bind::new(&mut shared);
        b.blocks.push(Block::ungrouped(Clause::FieldList));
        let mut items = vec![];
        for e in exprs {
            let bound = b.expr(e)?;
            let bound = expr::build::all_digits(&bound).unwrap_or(bound);
            let id = b.shared.columns.computed("", bound.ty, bound.nullable);
            items.push((id, bound));
        }
        let output = items.iter().map(|(id, _)| (*id, "".into())).collect();
        let plan = Logical::Project { input: Box::new(Logical::OneRow), exprs: items };
        shared.finish(plan, output)
    }

    /// An expression over nothing and without subqueries (1235 otherwise): literal rows of INSERT, constants of SET.
    pub fn bind_constant_expr(&self, e: &ast::Expr) -> Result<Expr> {
        self.bind_lone(e, Block::ungrouped(Clause::FieldList))
    }

    /// An expression over the columns of one table, column ids being positions in the definition: DEFAULT (expr),
    /// CHECK, generated columns, single-table DML. No subqueries (1235).
    pub fn bind_table_expr(&self, e: &ast::Expr, table: &TableDef) -> Result<Expr> {
        let mut block = Block::ungrouped(Clause::FieldList);
        block.add_positional(table, &table.name);
        let mut bound = self.bind_lone(e, block)?;
        super::shown::show_columns_of(&mut bound, table, self.session);
        Ok(bound)
    }

    pub(super) fn bind_lone(&self, e: &ast::Expr, block: Block<'_>) -> Result<Expr> {
        let bound = self.bind_over(e, block, true)?;
        bound.ok_or_else(|| types::Error::not_supported("subqueries in this expression"))
    }

    /// `None`: it has subqueries.
    pub(super) fn bind_without_subqueries(&self, e: &ast::Expr, block: Block<'_>) -> Result<Option<Expr>> {
        self.bind_over(e, block, false)
    }

    fn bind_over(&self, e: &ast::Expr, block: Block<'_>, expands_row_lists: bool) -> Result<Option<Expr>> {
        if e.has_query() {
            return Ok(None);
        }
        let mut shared = Shared { expands_row_lists, ..self.shared() };
        let mut b = Bind::new(&mut shared);
        b.blocks.push(block);
        let bound = b.expr(e);
        if !shared.subqueries.is_empty() || shared.query_count > 0 {
            return Ok(None);
        }
        bound.map(Some)
    }

    pub(super) fn shared(&self) -> Shared<'e> {
        Shared {
            catalog: self.catalog,
            session: SessionOf::Given(self.session),
            variables: self.variables,
            params: self.params,
            columns: Columns::default(),
            subqueries: vec![],
            dependencies: vec![],
            serial: false,
            hints: HintBook::default(),
            default_schema: self.session.database.as_deref().map(Into::into),
            cte_count: 0,
            param_count: 0,
            cacheable: true,
            reads_variables: false,
            calc_found_rows: false,
            views: vec![],
            view_notes: None,
            depth: 0,
            query_count: 0,
            assigned: HashMap::new(),
            reads: None,
            within_subquery: false,
            row_ids: None,
            locks: vec![],
            outer_lock: None,
            source_columns: None,
            view_rows: super::views::Wanted::No,
            expands_row_lists: false,
            pace: Pace::new(self.overseer),
        }
    }
}

/// What the outermost SELECT found out about the columns of its FROM.
#[derive(Debug)]
pub(super) enum SourceColumns {
    Wanted,
    Output(Scope),
    /// An output row does not stand for one row of FROM.
    Lost,
}

/// The session as the block being bound sees it: within a view, with the collation that its creator's connection had.
#[derive(Clone, Debug)]
pub(super) enum SessionOf<'e> {
    Given(&'e SessionInfo),
    View(Arc<SessionInfo>),
}

impl std::ops::Deref for SessionOf<'_> {
    type Target = SessionInfo;

    fn deref(&self) -> &SessionInfo {
        match self {
            SessionOf::Given(session) => session,
            SessionOf::View(session) => session,
        }
    }
}

impl SessionOf<'_> {
    /// The same but for `collation_connection`.
    pub fn with_collation(&self, collation: Collation) -> Self {
        if self.collation_connection == collation {
            return self.clone();
        }
        SessionOf::View(Arc::new(SessionInfo { collation_connection: collation, ..(**self).clone() }))
    }
}

/// What all blocks of a statement share.
pub(super) struct Shared<'e> {
    pub catalog: &'e dyn CatalogReader,
    pub session: SessionOf<'e>,
    pub variables: &'e dyn SystemVariables,
    pub params: ParamInfo<'e>,
    pub columns: Columns,
    /// None while a rewrite holds the definition.
    pub subqueries: Vec<Option<SubqueryDef>>,
    /// What determines what, for ONLY_FULL_GROUP_BY.
    pub dependencies: Vec<Dependency>,
    pub serial: bool,
    pub hints: HintBook,
    /// Where unqualified names are looked up: the current database; nowhere within a view.
    pub default_schema: Option<Box<str>>,
    pub cte_count: u32,
    pub param_count: u32,
    pub cacheable: bool,
    /// User variables are read.
    pub reads_variables: bool,
    pub calc_found_rows: bool,
    /// Views being expanded, outermost first.
    pub views: Vec<(Box<str>, Box<str>)>,
    /// Of the view that is being created, which then is the outermost of `views`.
    pub view_notes: Option<super::view_query::ViewNotes>,
    pub depth: usize,
    pub query_count: usize,
    /// Types of user variables assigned so far in the statement, by lower-case name.
    pub assigned: HashMap<String, SqlType>,
    /// Of a statement that changes tables: those that its subqueries read.
    pub reads: Option<Vec<super::target_reads::SubqueryRead>>,
    /// A view is being bound that a subquery names.
    pub within_subquery: bool,
    /// Row ids that the outermost SELECT is to output, for locking clauses.
    pub row_ids: Option<super::locking::RowIds>,
    /// Tables that locking clauses of inner queries mean.
    pub locks: Vec<TableLock>,
    /// The clause that means the view being expanded, and so all tables in it.
    pub outer_lock: Option<(ast::LockStrength, ast::LockWait)>,
    /// The columns of the outermost SELECT's FROM, which it is to output, for ON DUPLICATE KEY UPDATE.
    pub source_columns: Option<SourceColumns>,
    /// Of the view being bound, whose rows may be changed.
    pub view_rows: super::views::Wanted,
    /// Subqueries are not allowed: long lists of rows do not become one.
    pub expands_row_lists: bool,
    /// Whether the statement is to stop.
    pub pace: Pace<'e>,
}

impl Shared<'_> {
    pub fn add_subquery(&mut self, make: impl FnOnce(SubqueryId) -> SubqueryDef) -> SubqueryId {
        let id = self.subqueries.len() as SubqueryId;
        self.subqueries.push(Some(make(id)));
        id
    }

    /// The bound statement; the error with which its overseer stopped it.
    pub fn finish(mut self, root: Logical, output: Vec<(expr::ColumnId, Box<str>)>) -> Result<LogicalQuery> {
        self.columns.blocks.number();
        let hints = self.resolved_hints(&root);
        let mut query = LogicalQuery {
            root,
            output,
            columns: self.columns,
            subqueries: self.subqueries.into_iter().map(|s| s.expect("every rewrite puts it back")).collect(),
            serial: self.serial,
            param_count: self.param_count,
            cacheable: self.cacheable,
            calc_found_rows: self.calc_found_rows,
            join_order: vec![],
            derived_pushdown: vec![],
            hint_texts: vec![],
            warnings: vec![],
            locks: self.locks,
        };
        if let Some(hints) = hints {
            hints.put_into(&mut query);
        }
        if self.reads_variables {
            super::tidy::fix_variables(&mut query, &self.assigned, self.variables);
        }
        super::unshare::unshare_subqueries(&mut query, self.cte_count);
        super::shown::show_columns(&mut query, &self.session);
        super::tidy::fold_constants(&mut query, &self.session, &self.pace);
        super::generated::read_generated(&mut query, &self.session);
        super::tidy::drop_unused_columns(&mut query);
        self.pace.fault()?;
        Ok(query)
    }
}

/// Binds one statement, or one view within it: the blocks and CTEs in sight.
pub(super) struct Bind<'a, 's, 'e> {
    pub shared: &'s mut Shared<'e>,
    /// Enclosing blocks, the current one last.
    pub blocks: Vec<Block<'a>>,
    /// CTEs in sight, the innermost last.
    pub ctes: Vec<super::cte::CteEntry<'a>>,
    /// Aggregates whose arguments are being bound, the innermost last.
    pub frames: Vec<super::aggregates::Frame>,
    /// Name of the recursive CTE of which the next SELECT to be bound is a recursive member.
    pub recursive_member: Option<&'a str>,
    /// Locking clauses of the query of which the next SELECT to be bound is the body.
    pub locking: &'a [ast::Locking],
}

impl<'s, 'e> Bind<'_, 's, 'e> {
    pub fn new(shared: &'s mut Shared<'e>) -> Self {
        Bind { shared, blocks: vec![], ctes: vec![], frames: vec![], recursive_member: None, locking: &[] }
    }
}
