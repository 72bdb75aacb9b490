//! Walking and rebuilding logical trees: inputs, expressions, outputs, free columns, copies under fresh names.

use super::column_set::ColumnSet;
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use plan::logical::{Columns, Logical, LogicalJoinKind};
use std::collections::HashMap;
use types::{SqlType, Value};

/// The columns a node hands up, in order.
pub fn outputs(node: &Logical) -> Vec<ColumnId> {
    node.output_columns()
}

pub fn output_set(node: &Logical) -> ColumnSet {
    outputs(node).into_iter().collect()
}

/// Replaces every input by what `f` makes of it.
pub fn map_children(node: &mut Logical, f: &mut dyn FnMut(Logical) -> types::Result<Logical>) -> types::Result<()> {
    for c in node.inputs_mut() {
        *c = f(take(c))?;
    }
    Ok(())
}

/// Moves a node out, leaving a placeholder.
pub fn take(node: &mut Logical) -> Logical {
    std::mem::replace(node, Logical::OneRow)
}

/// Column references of a node outside expressions.
pub fn listed_columns(node: &Logical) -> Vec<ColumnId> {
    match node {
        Logical::SetOp { inputs, .. } => inputs.iter().flat_map(|i| i.1.iter().copied()).collect(),
        Logical::RecursiveUnion { anchor, recursive, .. } => anchor.1.iter().chain(&recursive.1).copied().collect(),
        Logical::With { ctes, .. } => ctes.iter().flat_map(|c| c.output.iter().copied()).collect(),
        _ => vec![],
    }
}

/// Columns that this node itself brings into being.
pub fn produced(node: &Logical) -> Vec<ColumnId> {
    match node {
        Logical::Empty { columns }
        | Logical::Values { columns, .. }
        | Logical::SetOp { columns, .. }
        | Logical::RecursiveUnion { columns, .. } => columns.clone(),
        Logical::Get { columns, row_id, .. } => columns.iter().map(|c| c.0).chain(*row_id).collect(),
        Logical::CteScan { columns, .. } => columns.iter().map(|c| c.0).collect(),
        Logical::Project { exprs, .. } => exprs.iter().filter(|e| !is_column(&e.1, e.0)).map(|e| e.0).collect(),
        Logical::Aggregate { groups, aggregates, .. } => {
            groups.iter().filter(|g| !is_column(&g.1, g.0)).map(|g| g.0).chain(aggregates.iter().map(|a| a.0)).collect()
        }
        Logical::Window { calls, .. } => calls.iter().map(|c| c.0).collect(),
        Logical::Join { kind: LogicalJoinKind::Mark { mark, .. }, .. } => vec![*mark],
        _ => vec![],
    }
}

pub fn is_column(e: &Expr, id: ColumnId) -> bool {
    as_column(e) == Some(id)
}

pub fn as_column(e: &Expr) -> Option<ColumnId> {
    match e.kind {
        ExprKind::Column(c) => Some(c),
        _ => None,
    }
}

pub fn collect_columns(e: &Expr, into: &mut ColumnSet) {
    e.walk(&mut |e| {
        if let ExprKind::Column(c) = e.kind {
            into.insert(c);
        }
    });
}

/// Columns an expression reads (those of subqueries not included: see [`super::subquery`]).
pub fn expr_columns(e: &Expr) -> ColumnSet {
    let mut s = ColumnSet::new();
    collect_columns(e, &mut s);
    s
}

pub fn exprs_columns<'a>(es: impl IntoIterator<Item = &'a Expr>) -> ColumnSet {
    let mut s = ColumnSet::new();
    for e in es {
        collect_columns(e, &mut s);
    }
    s
}

/// Calls `f` on every node, parents first.
pub fn visit<'a>(node: &'a Logical, f: &mut dyn FnMut(&'a Logical)) {
    f(node);
    for c in node.inputs() {
        visit(c, f);
    }
}

/// Calls `f` on every node, children first.
pub fn visit_mut(node: &mut Logical, f: &mut dyn FnMut(&mut Logical)) {
    for c in node.inputs_mut() {
        visit_mut(c, f);
    }
    f(node);
}

/// All columns brought into being anywhere in the tree.
pub fn all_produced(node: &Logical) -> ColumnSet {
    let mut s = ColumnSet::new();
    visit(node, &mut |n| {
        for c in produced(n) {
            s.insert(c);
        }
    });
    s
}

/// Columns the tree uses and does not produce: its outer references.
pub fn free_columns(node: &Logical) -> ColumnSet {
    let mut used = ColumnSet::new();
    let mut made = ColumnSet::new();
    visit(node, &mut |n| {
        for e in n.exprs() {
            collect_columns(e, &mut used);
        }
        for c in listed_columns(n) {
            used.insert(c);
        }
        for c in produced(n) {
            made.insert(c);
        }
    });
    used.difference(&made)
}

/// CTEs that the tree scans and does not define.
pub fn free_ctes(node: &Logical) -> Vec<u32> {
    let mut scanned = vec![];
    let mut defined = vec![];
    visit(node, &mut |n| match n {
        Logical::CteScan { cte_id, .. } => scanned.push(*cte_id),
        Logical::With { ctes, .. } => defined.extend(ctes.iter().map(|c| c.cte_id)),
        Logical::RecursiveUnion { cte_id, .. } => defined.push(*cte_id),
        _ => {}
    });
    scanned.retain(|c| !defined.contains(c));
    scanned.sort_unstable();
    scanned.dedup();
    scanned
}

/// Renames column references in an expression.
pub fn rename_expr(e: &mut Expr, map: &HashMap<ColumnId, ColumnId>) {
    e.rewrite(&mut |e| {
        if let ExprKind::Column(c) = &mut e.kind
            && let Some(n) = map.get(c)
        {
            *c = *n;
        }
    });
}

/// Replaces column references by expressions.
pub fn substitute(e: &mut Expr, map: &HashMap<ColumnId, Expr>) {
    e.rewrite(&mut |e| {
        if let ExprKind::Column(c) = e.kind
            && let Some(n) = map.get(&c)
        {
            *e = n.clone();
        }
    });
}

/// Renames columns wherever the tree mentions them, as reference or as product.
pub fn rename_tree(node: &mut Logical, map: &HashMap<ColumnId, ColumnId>) {
    let sub = |c: &mut ColumnId| {
        if let Some(n) = map.get(c) {
            *c = *n;
        }
    };
    visit_mut(node, &mut |n| {
        for e in n.exprs_mut() {
            rename_expr(e, map);
        }
        match n {
            Logical::Empty { columns } | Logical::Values { columns, .. } => columns.iter_mut().for_each(sub),
            Logical::Get { columns, row_id, .. } => {
                columns.iter_mut().for_each(|c| sub(&mut c.0));
                row_id.iter_mut().for_each(sub);
            }
            Logical::CteScan { columns, .. } => columns.iter_mut().for_each(|c| sub(&mut c.0)),
            Logical::Project { exprs, .. } => exprs.iter_mut().for_each(|c| sub(&mut c.0)),
            Logical::Aggregate { groups, aggregates, .. } => {
                groups.iter_mut().for_each(|c| sub(&mut c.0));
                aggregates.iter_mut().for_each(|c| sub(&mut c.0));
            }
            Logical::Window { calls, .. } => calls.iter_mut().for_each(|c| sub(&mut c.0)),
            Logical::SetOp { columns, inputs, .. } => {
                columns.iter_mut().for_each(sub);
                inputs.iter_mut().for_each(|i| i.1.iter_mut().for_each(sub));
            }
            Logical::With { ctes, .. } => ctes.iter_mut().for_each(|c| c.output.iter_mut().for_each(sub)),
            Logical::RecursiveUnion { columns, anchor, recursive, .. } => {
                columns.iter_mut().for_each(sub);
                anchor.1.iter_mut().for_each(sub);
                recursive.1.iter_mut().for_each(sub);
            }
            Logical::Join { kind: LogicalJoinKind::Mark { mark, .. }, .. } => sub(mark),
            _ => {}
        }
    });
}

/// Renames a column in the inputs of a node and in what the node's expressions read; its outputs keep their names.
pub fn fresh_name_below(node: &mut Logical, old: ColumnId, new: ColumnId) {
    let map = HashMap::from([(old, new)]);
    for c in node.inputs_mut() {
        rename_tree(c, &map);
    }
    for e in node.exprs_mut() {
        rename_expr(e, &map);
    }
}

/// A copy in which every column and CTE produced has a new name; free columns keep theirs. Returns the renaming too.
pub fn fresh_copy(node: &Logical, columns: &mut Columns, next_cte: &mut u32) -> (Logical, HashMap<ColumnId, ColumnId>) {
    let mut map = HashMap::new();
    for c in all_produced(node).iter() {
        map.insert(c, columns.add_like(c));
    }
    let mut copy = node.clone();
    rename_tree(&mut copy, &map);
    let mut ctes = HashMap::new();
    visit(node, &mut |n| match n {
        Logical::With { ctes: defs, .. } => {
            for d in defs {
                ctes.insert(d.cte_id, *next_cte);
                *next_cte += 1;
            }
        }
        Logical::RecursiveUnion { cte_id, .. } => {
            ctes.entry(*cte_id).or_insert_with(|| {
                *next_cte += 1;
                *next_cte - 1
            });
        }
        _ => {}
    });
    if !ctes.is_empty() {
        let sub = |id: &mut u32| {
            if let Some(n) = ctes.get(id) {
                *id = *n;
            }
        };
        visit_mut(&mut copy, &mut |n| match n {
            Logical::With { ctes: defs, .. } => defs.iter_mut().for_each(|d| sub(&mut d.cte_id)),
            Logical::RecursiveUnion { cte_id, .. } | Logical::CteScan { cte_id, .. } => sub(cte_id),
            _ => {}
        });
    }
    (copy, map)
}

/// Splits nested ANDs.
pub fn flatten_and(e: Expr, into: &mut Vec<Expr>) {
    match e.kind {
        ExprKind::And(parts) => parts.into_iter().for_each(|p| flatten_and(p, into)),
        _ => into.push(e),
    }
}

pub fn conjuncts(es: Vec<Expr>) -> Vec<Expr> {
    let mut v = Vec::with_capacity(es.len());
    for e in es {
        flatten_and(e, &mut v);
    }
    v
}

/// AND of any number of predicates; TRUE for none.
pub fn and(mut es: Vec<Expr>) -> Expr {
    match es.len() {
        0 => truth(true),
        1 => es.pop().expect("length checked"),
        _ => {
            let nullable = es.iter().any(|e| e.nullable);
            Expr::new(ExprKind::And(es), SqlType::Bool, nullable)
        }
    }
}

/// OR of any number of predicates; FALSE for none.
pub fn or(mut es: Vec<Expr>) -> Expr {
    match es.len() {
        0 => truth(false),
        1 => es.pop().expect("length checked"),
        _ => {
            let nullable = es.iter().any(|e| e.nullable);
            Expr::new(ExprKind::Or(es), SqlType::Bool, nullable)
        }
    }
}

pub fn truth(v: bool) -> Expr {
    Expr::constant(Value::Int(v as i64), SqlType::Bool)
}

pub fn not(e: Expr) -> Expr {
    let nullable = e.nullable;
    Expr::new(ExprKind::Not(Box::new(e)), SqlType::Bool, nullable)
}

pub fn is_not_null(e: Expr) -> Expr {
    Expr::new(ExprKind::IsNull { expr: Box::new(e), negated: true }, SqlType::Bool, false)
}

/// `left op right` on sides that already share a comparison type.
pub fn compare(op: CmpOp, left: Expr, right: Expr) -> Expr {
    let nullable = op != CmpOp::NullSafeEq && (left.nullable || right.nullable);
    Expr::new(ExprKind::Compare { op, left: Box::new(left), right: Box::new(right) }, SqlType::Bool, nullable)
}

pub fn filter(input: Logical, predicates: Vec<Expr>) -> Logical {
    match input {
        input if predicates.is_empty() => input,
        Logical::Filter { input, predicates: mut own } => {
            own.extend(predicates);
            Logical::Filter { input, predicates: own }
        }
        input => Logical::Filter { input: Box::new(input), predicates },
    }
}

/// An independent join.
pub fn join(kind: LogicalJoinKind, left: Logical, right: Logical, on: Vec<Expr>) -> Logical {
    Logical::Join { kind, left: Box::new(left), right: Box::new(right), on, dependent: false, straight: false }
}

/// Reads user variables that the statement assigns, assigns them, or calls a function whose value differs from call to
/// call.
pub fn is_volatile(e: &Expr) -> bool {
    let mut v = false;
    e.walk(&mut |e| match &e.kind {
        ExprKind::UserVar { is_fixed, .. } => v |= !is_fixed,
        ExprKind::SetUserVar { .. } => v = true,
        ExprKind::Call { function, .. } => v |= function.is_volatile(),
        _ => {}
    });
    v
}

/// May the tree have other rows when it is run again, on the same tables and values?
pub fn differs_by_call(node: &Logical) -> bool {
    let mut found = false;
    visit(node, &mut |n| found |= n.exprs().into_iter().any(is_volatile));
    found
}

/// The negation of a comparison, where UNKNOWN stays UNKNOWN.
pub fn inverse(op: CmpOp) -> Option<CmpOp> {
    Some(match op {
        CmpOp::Eq => CmpOp::Ne,
        CmpOp::Ne => CmpOp::Eq,
        CmpOp::Lt => CmpOp::Ge,
        CmpOp::Le => CmpOp::Gt,
        CmpOp::Gt => CmpOp::Le,
        CmpOp::Ge => CmpOp::Lt,
        CmpOp::NullSafeEq => return None,
    })
}
