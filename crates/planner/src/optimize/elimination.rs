//! table_elimination: outer-joined tables that give nothing are not read.
//!
//! ```text
//!   SELECT t.a FROM t LEFT JOIN u ON u.id = t.u_id        u.id is unique: each row of t comes once, match or not,
//!                                                         and nobody asks for u's columns
//! ```
//! Views over many optional attributes, each in a table of its own, ask for few of them at a time. The right side may
//! be any tree, as long as the join condition gives a value to each column of one of its keys: a table, a grouped
//! subquery, joins of them.
//!
//! Source: MariaDB's documentation, "Table Elimination".

use super::column_set::ColumnSet;
use super::context::Context;
use super::properties::{covered, fixed_columns, keys};
use super::tree::{
    collect_columns, expr_columns, exprs_columns, free_columns, is_volatile, listed_columns, map_children, output_set,
    take,
};
use expr::Expr;
use plan::logical::{Logical, LogicalJoinKind};
use types::Result;

/// Takes out the left joins whose right sides nothing is asked of.
pub fn eliminate_tables(node: Logical, cx: &mut Context) -> Result<Logical> {
    if !cx.settings.switch.table_elimination {
        return Ok(node);
    }
    let needed = output_set(&node);
    eliminate(node, &needed, &mut ColumnSet::new())
}

/// `gone`: the columns of what was taken out.
fn eliminate(mut node: Logical, needed: &ColumnSet, gone: &mut ColumnSet) -> Result<Logical> {
    if let Logical::Join { kind: LogicalJoinKind::Left, left, right, on, dependent: false, .. } = &mut node
        && adds_nothing(right, on, needed)
    {
        gone.union_with(&output_set(right));
        return eliminate(take(left), needed, gone);
    }
    let below = asked_of_inputs(&node, needed);
    map_children(&mut node, &mut |c| eliminate(c, &below, gone))?;
    if let Logical::Project { exprs, .. } = &mut node {
        // What is computed of them is not needed either.
        exprs.retain(|(id, e)| {
            let stays = needed.contains(*id) || !expr_columns(e).intersects(gone);
            if !stays {
                gone.insert(*id);
            }
            stays
        });
    }
    Ok(node)
}

/// Has every left row one row in the join, of which only the left columns are needed?
fn adds_nothing(right: &Logical, on: &[Expr], needed: &ColumnSet) -> bool {
    let columns = output_set(right);
    !columns.intersects(needed)
        && on.iter().all(|p| !is_volatile(p))
        && covered(&keys(right), &fixed_columns(on, &columns))
}

/// Columns that the node, and whoever needs `needed` of it, read of its inputs. Ids are unique in the tree, so that too
/// many do no harm.
fn asked_of_inputs(node: &Logical, needed: &ColumnSet) -> ColumnSet {
    let picked = |exprs: &mut dyn Iterator<Item = &Expr>| {
        let mut all = ColumnSet::new();
        exprs.for_each(|e| collect_columns(e, &mut all));
        all
    };
    match node {
        Logical::Project { exprs, .. } => picked(&mut exprs.iter().filter(|e| needed.contains(e.0)).map(|e| &e.1)),
        Logical::Distinct { input } => needed.union(&output_set(input)),
        other => {
            let mut all = needed.union(&exprs_columns(other.exprs()));
            listed_columns(other).into_iter().for_each(|c| _ = all.insert(c));
            if let Logical::Join { right, dependent: true, .. } = other {
                all.union_with(&free_columns(right));
            }
            all
        }
    }
}
