//! What the passes share: the statement's columns, subqueries, parameters, statistics and settings.

use super::OptimizerSettings;
use super::tree;
use catalog::Statistics;
use expr::{ColumnId, Expr, ExprKind, ParamId, SubqueryId};
use plan::InitKind;
use plan::explain::Weighed;
use plan::logical::{ColumnInfo, Columns, JoinOrderHint, Logical, SubqueryDef, SubqueryHints};
use std::cell::RefCell;
use std::collections::HashMap;
use types::{Error, Pace, Result, SqlType};

/// An uncorrelated subquery that is computed once, before the statement proper, into a parameter.
#[derive(Debug)]
pub struct LogicalInit {
    pub param: ParamId,
    pub kind: InitKind,
    pub ty: SqlType,
    pub plan: Logical,
    /// The column whose value it is; none for EXISTS.
    pub output: Vec<ColumnId>,
}

pub struct Context<'a> {
    pub columns: Columns,
    pub subqueries: Vec<SubqueryDef>,
    /// Subqueries whose own subqueries have become joins.
    pub(super) converted: HashMap<SubqueryId, Logical>,
    /// Subqueries already placed once in a tree: the next use needs a copy under fresh names.
    pub(super) placed: Vec<SubqueryId>,
    pub(super) params_of: HashMap<SubqueryId, ParamId>,
    /// What hints say of subqueries, by query block.
    hinted: Vec<(u32, SubqueryHints)>,
    pub init: Vec<LogicalInit>,
    /// Orders of tables that hints ask for.
    pub join_order: Vec<JoinOrderHint>,
    /// Derived tables of which hints say whether conditions are pushed into them, by query block.
    pub derived_pushdown: Vec<(u32, bool)>,
    /// What was weighed, if the statement is traced.
    pub weighed: Option<RefCell<Weighed>>,
    pub next_param: ParamId,
    pub next_cte: u32,
    pub stats: &'a dyn Statistics,
    pub settings: &'a OptimizerSettings,
    /// Whether the statement is to stop: passes ask wherever they may take long.
    pub pace: Pace<'a>,
}

impl<'a> Context<'a> {
    pub fn new(
        root: &Logical,
        columns: Columns,
        subqueries: Vec<SubqueryDef>,
        stats: &'a dyn Statistics,
        settings: &'a OptimizerSettings,
    ) -> Context<'a> {
        let mut next_param = 0;
        let mut next_cte = 0;
        for n in std::iter::once(root).chain(subqueries.iter().map(|s| &s.plan)) {
            tree::visit(n, &mut |n| {
                for e in n.exprs() {
                    e.walk(&mut |e| {
                        if let ExprKind::Param(p) = e.kind {
                            next_param = next_param.max(p + 1);
                        }
                    });
                }
                match n {
                    Logical::With { ctes, .. } => ctes.iter().for_each(|c| next_cte = next_cte.max(c.cte_id + 1)),
                    Logical::RecursiveUnion { cte_id, .. } | Logical::CteScan { cte_id, .. } => {
                        next_cte = next_cte.max(cte_id + 1)
                    }
                    _ => {}
                }
            });
        }
        let hinted = hinted_blocks(&columns, &subqueries);
        Context {
            columns,
            subqueries,
            hinted,
            converted: HashMap::new(),
            placed: vec![],
            params_of: HashMap::new(),
            init: vec![],
            join_order: vec![],
            derived_pushdown: vec![],
            weighed: None,
            next_param,
            next_cte,
            stats,
            settings,
            pace: Pace::default(),
        }
    }

    /// What hints say of the subquery for which a join between these sides stands.
    pub fn hints_of(&self, left: &Logical, right: &Logical) -> SubqueryHints {
        if self.hinted.is_empty() {
            return SubqueryHints::default();
        }
        let blocks =
            |n: &Logical| -> Vec<u32> { tree::all_produced(n).iter().map(|c| self.columns.block_of(c)).collect() };
        let (outer, inner) = (blocks(left), blocks(right));
        // The subquery's own block comes before those within it; copies of outer columns are of the outer one.
        let own = self.hinted.iter().filter(|(b, _)| inner.contains(b) && !outer.contains(b)).min_by_key(|h| h.0);
        own.map_or(SubqueryHints::default(), |h| h.1)
    }

    pub fn new_param(&mut self) -> ParamId {
        self.next_param += 1;
        self.next_param - 1
    }

    pub fn new_cte(&mut self) -> u32 {
        self.next_cte += 1;
        self.next_cte - 1
    }

    /// A new column like another.
    pub fn column_like(&mut self, id: ColumnId) -> ColumnId {
        self.columns.add_like(id)
    }

    pub fn computed(&mut self, name: &str, e: &Expr) -> ColumnId {
        self.columns.add(ColumnInfo {
            name: name.into(),
            table_alias: "".into(),
            ty: e.ty,
            nullable: e.nullable,
            origin: None,
        })
    }

    pub fn subquery(&self, id: SubqueryId) -> Result<&SubqueryDef> {
        self.subqueries
            .get(id as usize)
            .filter(|d| d.id == id)
            .or_else(|| self.subqueries.iter().find(|d| d.id == id))
            .ok_or_else(|| Error::internal(format_args!("subquery {id} has no definition")))
    }

    pub fn fresh_copy(&mut self, node: &Logical) -> (Logical, HashMap<ColumnId, ColumnId>) {
        tree::fresh_copy(node, &mut self.columns, &mut self.next_cte)
    }
}

/// The query blocks of subqueries with hints.
fn hinted_blocks(columns: &Columns, subqueries: &[SubqueryDef]) -> Vec<(u32, SubqueryHints)> {
    let block_of =
        |d: &SubqueryDef| tree::all_produced(&d.plan).iter().map(|c| columns.block_of(c)).filter(|b| *b > 0).min();
    let hinted = subqueries.iter().filter(|d| d.hints != SubqueryHints::default());
    hinted.filter_map(|d| Some((block_of(d)?, d.hints))).collect()
}
