//! The domain: the distinct values of the outer columns that a subquery reads.

use super::super::column_set::ColumnSet;
use super::super::context::Context;
use super::super::properties::equality_is_identity;
use super::super::tree::{is_column, outputs};
use expr::{ColumnId, Expr, ExprKind};
use plan::logical::Logical;
use std::collections::HashMap;
use types::{Error, Result};

pub(super) type Renames = HashMap<ColumnId, ColumnId>;

/// The distinct values of the outer columns, in as many copies as are asked for.
pub(super) struct Domain {
    left: Logical,
    /// `left` is worth computing once: copies read this CTE.
    pub(super) shared: Option<u32>,
    copies: usize,
    /// Outer columns for which a value equal under their comparison may stand in.
    pub(super) safe: ColumnSet,
}

impl Domain {
    pub(super) fn new(left: &Logical, right: &Logical, f: &ColumnSet, cx: &Context) -> Domain {
        let mut safe = ColumnSet::new();
        for c in f.iter() {
            if equality_is_identity(&cx.columns.get(c).ty) || only_compared(right, c) {
                safe.insert(c);
            }
        }
        Domain { left: left.clone(), shared: None, copies: 0, safe }
    }

    /// D over the columns `f`, under new names.
    pub(super) fn scan(&mut self, f: &ColumnSet, cx: &mut Context) -> Result<(Logical, Renames)> {
        if !f.is_subset(&self.safe) {
            return Err(Error::not_supported("correlation on a string whose equal values differ"));
        }
        self.copies += 1;
        let (source, map) = if cheap(&self.left) {
            cx.fresh_copy(&self.left)
        } else {
            let cte = match self.shared {
                Some(c) => c,
                None => {
                    let c = cx.new_cte();
                    self.shared = Some(c);
                    c
                }
            };
            let mut map = Renames::new();
            let columns = outputs(&self.left)
                .into_iter()
                .enumerate()
                .map(|(i, c)| {
                    let n = cx.column_like(c);
                    map.insert(c, n);
                    (n, i)
                })
                .collect();
            (Logical::CteScan { cte_id: cte, name: "outer".into(), columns }, map)
        };
        let mut groups = vec![];
        let mut names = Renames::new();
        for c in f.iter() {
            let n = *map.get(&c).ok_or_else(|| Error::internal("an outer column from nowhere"))?;
            groups.push((n, cx.columns.expr(n)));
            names.insert(c, n);
        }
        let d = Logical::Aggregate { input: Box::new(source), groups, aggregates: vec![], rollup: false };
        Ok((d, names))
    }
}

/// One table with filters: cheaper read twice than kept.
pub(super) fn cheap(node: &Logical) -> bool {
    match node {
        Logical::OneRow | Logical::Get { .. } | Logical::Values { .. } | Logical::CteScan { .. } => true,
        Logical::Filter { input, .. } | Logical::Project { input, .. } => cheap(input),
        _ => false,
    }
}

/// Is the column used in `node` only as one side of comparisons with its own type?
pub(super) fn only_compared(node: &Logical, c: ColumnId) -> bool {
    fn ok(e: &Expr, c: ColumnId) -> bool {
        match &e.kind {
            ExprKind::Column(x) => *x != c,
            ExprKind::Compare { left, right, .. } => [(left, right), (right, left)]
                .into_iter()
                .all(|(a, b)| ok(a, c) || (is_column(a, c) && a.ty.collation() == b.ty.collation())),
            _ => e.children().into_iter().all(|k| ok(k, c)),
        }
    }
    node.exprs().into_iter().all(|e| ok(e, c)) && node.inputs().into_iter().all(|n| only_compared(n, c))
}
