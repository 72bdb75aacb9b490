//! Conditions upon a common table expression that is read once go into its definition.

use super::only_keys;
use crate::optimize::column_set::ColumnSet;
use crate::optimize::tree::{is_volatile, rename_expr, take, visit};
use expr::{ColumnId, Expr, ExprKind};
use plan::logical::{Logical, LogicalCte};
use std::collections::HashMap;

/// Takes the conditions upon the only scan of a definition, in terms of what it outputs.
pub(super) fn into_cte(input: &mut Logical, ctes: &mut [LogicalCte], at: usize) -> Vec<Expr> {
    let id = ctes[at].cte_id;
    let mut scans = count_scans(input, id);
    for later in &ctes[at + 1..] {
        scans += count_scans(&later.plan, id);
    }
    if scans != 1 {
        return vec![];
    }
    let output = ctes[at].output.clone();
    let found = take_filter(input, id, &output);
    let found = found.or_else(|| ctes[at + 1..].iter_mut().find_map(|c| take_filter(&mut c.plan, id, &output)));
    found.unwrap_or_default()
}

fn count_scans(node: &Logical, id: u32) -> usize {
    let mut n = 0;
    visit(node, &mut |k| n += matches!(k, Logical::CteScan { cte_id, .. } if *cte_id == id) as usize);
    n
}

fn take_filter(node: &mut Logical, id: u32, output: &[ColumnId]) -> Option<Vec<Expr>> {
    match node {
        // What is read in each round is not what is defined.
        Logical::RecursiveUnion { anchor, .. } => return take_filter(&mut anchor.0, id, output),
        Logical::Filter { input, predicates } => {
            if let Logical::CteScan { cte_id, columns, .. } = &**input
                && *cte_id == id
            {
                let map: HashMap<ColumnId, ColumnId> = columns.iter().map(|(c, i)| (*c, output[*i])).collect();
                let own: ColumnSet = columns.iter().map(|c| c.0).collect();
                let (mut down, stay): (Vec<Expr>, Vec<Expr>) =
                    std::mem::take(predicates).into_iter().partition(|p| !is_volatile(p) && only_keys(p, &own));
                down.iter_mut().for_each(|p| rename_expr(p, &map));
                // What an outer join pads above the definition need not be NULL-able in it, and the other way round.
                down.iter_mut().for_each(|p| p.rewrite(&mut |e| e.nullable |= !matches!(e.kind, ExprKind::Const(_))));
                *predicates = stay;
                if predicates.is_empty() {
                    *node = take(input);
                }
                return Some(down);
            }
        }
        _ => {}
    }
    node.inputs_mut().into_iter().find_map(|c| take_filter(c, id, output))
}
