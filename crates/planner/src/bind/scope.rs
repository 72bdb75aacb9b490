//! Blocks and the names in their FROM.

use super::views::ViewRows;
use super::windows::WindowGroup;
use catalog::TableDef;
use expr::{AggCall, ColumnId, Expr};
use parser::ast;
use plan::logical::Columns;
use std::collections::HashSet;
use std::sync::Arc;
use types::{SqlType, Value};

/// The clause being bound: decides what names mean, whether aggregates may stand, and the words of errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clause {
    FieldList,
    From,
    On,
    Where,
    GroupBy,
    Having,
    OrderBy,
    WindowPartition,
    WindowOrder,
}

impl Clause {
    /// As errors name it.
    pub fn name(self) -> &'static str {
        match self {
            Clause::FieldList => "field list",
            Clause::From => "from clause",
            Clause::On => "on clause",
            Clause::Where => "where clause",
            Clause::GroupBy => "group statement",
            Clause::Having => "having clause",
            Clause::OrderBy => "order clause",
            Clause::WindowPartition => "window partition by",
            Clause::WindowOrder => "window order by",
        }
    }

    fn allows_aggregates(self) -> bool {
        use Clause::*;
        matches!(self, FieldList | Having | OrderBy | WindowPartition | WindowOrder)
    }

    fn allows_windows(self) -> bool {
        matches!(self, Clause::FieldList | Clause::OrderBy)
    }
}

/// One table, derived table, view or CTE of a FROM.
#[derive(Clone, Debug)]
pub struct Source {
    /// Empty for derived tables and CTEs.
    pub schema: Box<str>,
    pub alias: Box<str>,
    pub columns: Vec<SourceColumn>,
    pub base: Option<Base>,
    /// The tables behind an updatable view, in a statement that changes rows.
    pub view: Option<ViewRows>,
}

/// The table behind a source.
#[derive(Clone, Debug)]
pub struct Base {
    pub table: Arc<TableDef>,
    /// Id of the table's first column; the others follow.
    pub first: ColumnId,
    pub row_id: Option<ColumnId>,
}

impl Base {
    /// The position in the definition of a column by its id.
    pub fn position(&self, id: ColumnId) -> Option<usize> {
        id.checked_sub(self.first).map(|p| p as usize).filter(|p| *p < self.table.columns.len())
    }
}

impl Source {
    /// The tables whose rows the source's rows are made of, if they can be changed through it.
    pub fn bases(&self) -> &[Base] {
        match (&self.base, &self.view) {
            (Some(base), _) => std::slice::from_ref(base),
            (None, Some(view)) => &view.bases,
            (None, None) => &[],
        }
    }
}

#[derive(Clone, Debug)]
pub struct SourceColumn {
    pub name: Box<str>,
    pub id: ColumnId,
    /// Left out of `*`.
    pub invisible: bool,
}

/// What a FROM, or a part of one, puts in sight.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub sources: Vec<Source>,
    /// Columns that go by their bare name, in the order of `*`. NATURAL and USING leave one of each joined pair.
    pub visible: Vec<SourceColumn>,
}

impl Scope {
    pub fn of(source: Source) -> Scope {
        Scope { visible: source.columns.clone(), sources: vec![source] }
    }

    /// Both, the other's columns last.
    pub fn append(&mut self, other: Scope) {
        self.sources.extend(other.sources);
        self.visible.extend(other.visible);
    }

    pub fn column_ids(&self) -> impl Iterator<Item = ColumnId> {
        self.sources
            .iter()
            .flat_map(|s| s.columns.iter().map(|c| c.id).chain(s.bases().iter().filter_map(|b| b.row_id)))
    }

    /// A table whose column ids are `first + position`.
    fn add_table_positions(&mut self, table: &TableDef, alias: &str, first: ColumnId) {
        let columns = table
            .shown_columns()
            .iter()
            .enumerate()
            .map(|(i, c)| SourceColumn { name: c.name.clone(), id: first + i as ColumnId, invisible: c.invisible })
            .collect();
        let source = Source { schema: table.schema.clone(), alias: alias.into(), columns, base: None, view: None };
        self.append(Scope::of(source));
    }

    /// `schema.alias.column` as ONLY_FULL_GROUP_BY's errors name it.
    pub fn full_name(&self, id: ColumnId, columns: &Columns) -> String {
        for s in &self.sources {
            for c in &s.columns {
                if c.id == id {
                    return match &*s.schema {
                        "" => format!("{}.{}", s.alias, c.name),
                        schema => format!("{schema}.{}.{}", s.alias, c.name),
                    };
                }
            }
        }
        columns.get(id).name.to_string()
    }
}

/// A select item, for references by alias and by position.
#[derive(Clone, Debug)]
pub struct Item {
    pub expr: Expr,
    pub name: Box<str>,
    /// Where the item is a bare column: the alias of its table and its own name.
    pub column: Option<(Box<str>, Box<str>)>,
}

/// One SELECT being bound.
pub struct Block<'a> {
    pub clause: Clause,
    /// Its rows are never grouped: SET lists, VALUES, defaults and the like.
    pub ungrouped: bool,
    pub scope: Scope,
    /// Not in sight: a derived table of its FROM is being bound.
    pub hidden: bool,
    /// Columns that FROM produces.
    pub from_columns: HashSet<ColumnId>,
    /// Depth of aggregates of this block whose arguments are being bound.
    pub in_aggregate: u32,
    pub in_window: u32,
    pub aggregates: Vec<(ColumnId, AggCall)>,
    /// ANY_VALUE(expr): an aggregate if the block turns out to be aggregated, else the expression.
    pub any_values: Vec<(ColumnId, Expr)>,
    pub windows: Vec<WindowGroup>,
    pub named_windows: &'a [ast::NamedWindow],
    pub locking: &'a [ast::Locking],
    /// Its optimizer hints.
    pub hints: &'a [ast::Hint],
    /// Its row ids are output for the locking clauses; else the rows read are locked.
    pub is_top: bool,
    /// Empty until the items are bound.
    pub items: Vec<Item>,
    pub groups: Vec<Expr>,
    pub rollup: bool,
    /// UPDATE and DELETE: tables of FROM output their row ids.
    pub row_ids: bool,
    /// The SELECT of a view that rows may be changed through.
    pub of_view: bool,
    /// VALUES(col) in ON DUPLICATE KEY UPDATE: the new row, by position in `sources`.
    pub new_row: Option<usize>,
    /// Columns of this FROM that LATERAL derived tables of the same FROM used.
    pub lateral_references: Vec<ColumnId>,
    /// Column ids are positions, of these types, rather than ids of the statement.
    pub positional: Option<Vec<(SqlType, bool)>>,
    /// With `positional`: columns stand for these values.
    pub values: Option<&'a [Value]>,
    /// With `positional`: the table whose row it is, for DEFAULT(column).
    pub table: Option<Arc<TableDef>>,
    /// Name of the recursive CTE of which this is a recursive member.
    pub recursive_of: Option<&'a str>,
}

impl Block<'_> {
    pub fn new(clause: Clause) -> Self {
        Block {
            clause,
            ungrouped: false,
            scope: Scope::default(),
            hidden: false,
            from_columns: HashSet::new(),
            in_aggregate: 0,
            in_window: 0,
            aggregates: vec![],
            any_values: vec![],
            windows: vec![],
            named_windows: &[],
            locking: &[],
            hints: &[],
            is_top: false,
            items: vec![],
            groups: vec![],
            rollup: false,
            row_ids: false,
            of_view: false,
            new_row: None,
            lateral_references: vec![],
            positional: None,
            values: None,
            table: None,
            recursive_of: None,
        }
    }

    /// A block that no aggregate or window function may belong to.
    pub fn ungrouped(clause: Clause) -> Self {
        Block { ungrouped: true, ..Block::new(clause) }
    }

    /// May an aggregate of the block stand here?
    pub fn allows_aggregates(&self) -> bool {
        !self.ungrouped && self.clause.allows_aggregates()
    }

    pub fn allows_windows(&self) -> bool {
        !self.ungrouped && self.clause.allows_windows()
    }

    /// Puts a table in sight whose column ids are positions, counted on from those of tables added before.
    pub fn add_positional(&mut self, table: &TableDef, alias: &str) {
        let types = self.positional.get_or_insert_default();
        let first = types.len() as ColumnId;
        types.extend(table.columns.iter().map(|c| (c.ty, c.nullable)));
        self.scope.add_table_positions(table, alias, first);
    }
}

/// Column names and aliases are equal regardless of case.
pub fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!(a.is_ascii() && b.is_ascii()) && a.to_lowercase() == b.to_lowercase())
}
