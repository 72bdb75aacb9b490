//! Expressions that a table keeps in an indexed generated column are read from there.
//!
//! ```text
//!  KEY k ((a + b))      WHERE a + b > 7 ORDER BY a + b      ->      WHERE `!hidden!k!0!0` > 7 ORDER BY `!hidden!k!0!0`
//! ```
//! So the index can be used as one over a plain column. It is done wherever rows of the table pass by as they are: in
//! conditions, items and sort keys, not above an aggregation, a set operation, or on the side of an outer join that may
//! be filled with NULLs, where the column need not be what the expression yields.
//!
//! An expression matches if it is the same tree of the same type; `b + a` is not `a + b`. None over TIMESTAMPs does.
//!
//! MySQL manual, "Functional Key Parts", "Optimizer Use of Generated Column Indexes".

use expr::{ColumnId, EvalContext, Expr, ExprKind, Params, SessionInfo, UserVars, Warnings, fold};
use plan::logical::{Logical, LogicalJoinKind, LogicalQuery};
use types::SqlType;

/// A column that may stand for an expression over columns of the same table.
#[derive(Clone, Debug)]
struct Kept {
    /// With `nullable` set throughout.
    expr: Expr,
    column: ColumnId,
    ty: SqlType,
    nullable: bool,
}

/// Does the rewrite in the query and its subqueries.
pub fn read_generated(query: &mut LogicalQuery, session: &SessionInfo) {
    let mut found = false;
    let mut look = |node: &Logical| found |= matches!(node, Logical::Get { table, .. } if !indexed(table).is_empty());
    query.root.walk(&mut look);
    query.subqueries.iter().for_each(|s| s.plan.walk(&mut look));
    if found {
        rewrite(&mut query.root, session);
        query.subqueries.iter_mut().for_each(|s| _ = rewrite(&mut s.plan, session));
    }
}

/// Positions of generated columns that are parts of indexes.
fn indexed(table: &catalog::TableDef) -> Vec<usize> {
    let is_part = |c: usize| table.indexes.iter().any(|i| i.parts.iter().any(|p| p.column_idx == c));
    (0..table.columns.len()).filter(|&c| table.columns[c].generated.is_some() && is_part(c)).collect()
}

fn kept(node: &Logical, session: &SessionInfo) -> Vec<Kept> {
    let Logical::Get { table, columns, is_virtual: false, .. } = node else { return vec![] };
    let id_of = |position: usize| columns.iter().find(|c| c.1 == position).map(|c| c.0);
    let mut out = vec![];
    for position in indexed(table) {
        let column = &table.columns[position];
        let (Some(g), Some(id)) = (&column.generated, id_of(position)) else { continue };
        let is_trivial = matches!(g.expr.kind, ExprKind::Column(_) | ExprKind::Const(_));
        if is_trivial || g.expr.ty != column.ty || reads_timestamps(&g.expr) {
            continue;
        }
        let mut expr = folded((*g.expr).clone(), session);
        let mut all_there = true;
        expr.rewrite(&mut |e| {
            e.nullable = true;
            if let ExprKind::Column(c) = &mut e.kind {
                match id_of(*c as usize) {
                    Some(id) => *c = id,
                    None => all_there = false,
                }
            }
        });
        if all_there {
            out.push(Kept { expr, column: id, ty: column.ty, nullable: column.nullable });
        }
    }
    // One that contains another comes first.
    out.sort_by_key(|k| std::cmp::Reverse(size(&k.expr)));
    out
}

/// What an expression makes of TIMESTAMPs depends on the session's time zone, which need not be that of the session
/// that wrote the row.
fn reads_timestamps(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e.ty, SqlType::Timestamp { .. }));
    found
}

fn size(e: &Expr) -> usize {
    let mut n = 0;
    e.walk(&mut |_| n += 1);
    n
}

/// Constants within are computed, as they are in the query.
fn folded(e: Expr, session: &SessionInfo) -> Expr {
    let (params, user_vars, warnings) = (Params::default(), UserVars::default(), Warnings::new(0));
    fold(e, &EvalContext::new(session, &params, &user_vars, &warnings, &session.stop))
}

/// Rewrites the tree; answers with what may stand for expressions over its output.
fn rewrite(node: &mut Logical, session: &SessionInfo) -> Vec<Kept> {
    match node {
        Logical::Get { .. } => kept(node, session),
        Logical::Filter { input, predicates } => {
            let kept = rewrite(input, session);
            let read = replace(predicates.iter_mut(), &kept);
            provide_all(input, &read);
            kept
        }
        Logical::Project { input, exprs } => {
            let kept = rewrite(input, session);
            let read = replace(exprs.iter_mut().map(|(_, e)| e), &kept);
            provide_all(input, &read);
            kept
        }
        Logical::Sort { input, keys } => {
            let kept = rewrite(input, session);
            let read = replace(keys.iter_mut().map(|(e, _)| e), &kept);
            provide_all(input, &read);
            kept
        }
        Logical::Limit { input, .. } => rewrite(input, session),
        Logical::Join { kind, left, right, on, .. } => {
            let of_left = rewrite(left, session);
            let of_right = rewrite(right, session);
            let both: Vec<Kept> = of_left.iter().chain(&of_right).cloned().collect();
            let read = replace(on.iter_mut(), &both);
            for id in read {
                let there = provide(left, id) || provide(right, id);
                debug_assert!(there, "one side has the table");
            }
            match kind {
                LogicalJoinKind::Inner => both,
                LogicalJoinKind::Full => vec![],
                _ => of_left,
            }
        }
        other => {
            other.inputs_mut().into_iter().for_each(|i| _ = rewrite(i, session));
            vec![]
        }
    }
}

/// Puts the columns in place of their expressions; answers with those that are read now.
fn replace<'e>(exprs: impl Iterator<Item = &'e mut Expr>, kept: &[Kept]) -> Vec<ColumnId> {
    let mut read = vec![];
    if kept.is_empty() {
        return read;
    }
    for e in exprs {
        for k in kept {
            e.rewrite(&mut |e| {
                if matches(e, k) {
                    *e = Expr::column(k.column, k.ty, k.nullable);
                    read.push(k.column);
                }
            });
        }
    }
    read
}

fn matches(e: &Expr, k: &Kept) -> bool {
    if e.ty != k.ty || std::mem::discriminant(&e.kind) != std::mem::discriminant(&k.expr.kind) {
        return false;
    }
    let mut plain = e.clone();
    plain.rewrite(&mut |e| e.nullable = true);
    plain == k.expr
}

fn provide_all(node: &mut Logical, ids: &[ColumnId]) {
    for id in ids {
        let there = provide(node, *id);
        debug_assert!(there, "the input has the table");
    }
}

/// Lets the column through the projections between here and its table.
fn provide(node: &mut Logical, id: ColumnId) -> bool {
    match node {
        Logical::Get { table, columns, .. } => match columns.iter().find(|c| c.0 == id) {
            Some(c) => c.1 < table.columns.len(),
            None => false,
        },
        Logical::Project { input, exprs } => {
            if exprs.iter().any(|(e, _)| *e == id) {
                return true;
            }
            let Some((ty, nullable)) = column_of(input, id) else { return false };
            let there = provide(input, id);
            if there {
                exprs.push((id, Expr::column(id, ty, nullable)));
            }
            there
        }
        Logical::Filter { input, .. } | Logical::Sort { input, .. } | Logical::Limit { input, .. } => {
            provide(input, id)
        }
        Logical::Join { left, right, .. } => provide(left, id) || provide(right, id),
        _ => false,
    }
}

/// The type of a table's column.
fn column_of(node: &Logical, id: ColumnId) -> Option<(SqlType, bool)> {
    let mut found = None;
    node.walk(&mut |n| {
        if let Logical::Get { table, columns, .. } = n
            && let Some(c) = columns.iter().find(|c| c.0 == id)
        {
            found = Some((table.columns[c.1].ty, table.columns[c.1].nullable));
        }
    });
    found
}
