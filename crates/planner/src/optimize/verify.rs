//! Checks that hold between passes: every column has one producer, every column used is produced where it can be seen,
//! every CTE scan has a definition.

use super::column_set::ColumnSet;
use super::tree::{collect_columns, outputs};
use expr::ColumnId;
use plan::logical::Logical;
use types::{Error, Result};

/// Checks a tree that may have no free columns.
pub fn verify(node: &Logical, pass: &str) -> Result<()> {
    let mut seen = ColumnSet::new();
    check(node, &ColumnSet::new(), &mut vec![], &mut seen)
        .map_err(|what| Error::internal(format_args!("after {pass}: {what}")))
}

fn check(node: &Logical, outer: &ColumnSet, ctes: &mut Vec<u32>, seen: &mut ColumnSet) -> Result<(), String> {
    // What the node's expressions may read.
    let mut visible = outer.clone();
    match node {
        Logical::Join { left, right, dependent, .. } => {
            check(left, outer, ctes, seen)?;
            let l: ColumnSet = outputs(left).iter().collect();
            let inner = if *dependent { outer.union(&l) } else { outer.clone() };
            check(right, &inner, ctes, seen)?;
            visible.union_with(&l);
            visible.union_with(&outputs(right).iter().collect());
        }
        Logical::With { ctes: defs, input } => {
            let n = ctes.len();
            for d in defs {
                check(&d.plan, outer, ctes, seen)?;
                contains(&d.plan, &d.output, "a CTE")?;
                ctes.push(d.cte_id);
            }
            check(input, outer, ctes, seen)?;
            ctes.truncate(n);
        }
        Logical::RecursiveUnion { cte_id, anchor, recursive, columns, .. } => {
            check(&anchor.0, outer, ctes, seen)?;
            contains(&anchor.0, &anchor.1, "a recursive CTE's anchor")?;
            ctes.push(*cte_id);
            check(&recursive.0, outer, ctes, seen)?;
            contains(&recursive.0, &recursive.1, "a recursive CTE")?;
            ctes.pop();
            if anchor.1.len() != columns.len() || recursive.1.len() != columns.len() {
                return Err("a recursive CTE's parts differ in width".into());
            }
        }
        Logical::SetOp { inputs, columns, .. } => {
            for (n, ids) in inputs {
                check(n, outer, ctes, seen)?;
                contains(n, ids, "a set operation")?;
                if ids.len() != columns.len() {
                    return Err("a set operation's inputs differ in width".into());
                }
            }
        }
        Logical::CteScan { cte_id, name, .. } if !ctes.contains(cte_id) => {
            return Err(format!("CTE {name} ({cte_id}) is read outside its WITH"));
        }
        _ => {
            for i in node.inputs() {
                check(i, outer, ctes, seen)?;
                visible.union_with(&outputs(i).iter().collect());
            }
        }
    }
    for e in node.exprs() {
        let mut used = ColumnSet::new();
        collect_columns(e, &mut used);
        let missing = used.difference(&visible);
        if !missing.is_empty() {
            return Err(format!("columns {missing:?} are used but not in sight in {e:?}"));
        }
    }
    for c in super::tree::produced(node) {
        if !seen.insert(c) {
            return Err(format!("column {c} is produced twice"));
        }
    }
    Ok(())
}

fn contains(node: &Logical, ids: &[ColumnId], what: &str) -> Result<(), String> {
    let out: ColumnSet = outputs(node).iter().collect();
    match ids.iter().find(|c| !out.contains(**c)) {
        Some(c) => Err(format!("{what} outputs column {c}, which its plan does not produce")),
        None => Ok(()),
    }
}
