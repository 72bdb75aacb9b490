//! Facts that hold of every result a logical tree can have: columns never NULL, unique keys, row bounds; and of
//! predicates: for which columns they reject NULL.

use super::column_set::ColumnSet;
use super::tree::{as_column, expr_columns, output_set};
use expr::{AggFunc, ArithOp, CmpOp, ColumnId, Expr, ExprKind, OfNothing, Truth, WindowFunc};
use plan::logical::{Logical, LogicalJoinKind, SetOpKind};
use types::SqlType;

/// Columns of which any being NULL makes `e` NULL.
fn strict_in(e: &Expr) -> ColumnSet {
    match &e.kind {
        ExprKind::Column(c) => [*c].into_iter().collect(),
        ExprKind::Compare { op: CmpOp::NullSafeEq, .. } => ColumnSet::new(),
        ExprKind::Compare { left, right, .. } | ExprKind::Arith { left, right, .. } => {
            strict_in(left).union(&strict_in(right))
        }
        ExprKind::Xor(a, b) => strict_in(a).union(&strict_in(b)),
        ExprKind::Not(e) | ExprKind::Neg(e) | ExprKind::BitNot(e) | ExprKind::Cast { expr: e, .. } => strict_in(e),
        ExprKind::InList { expr, .. } | ExprKind::InSet { expr, .. } => strict_in(expr),
        ExprKind::Like { expr, pattern, .. } => strict_in(expr).union(&strict_in(pattern)),
        ExprKind::And(parts) | ExprKind::Or(parts) => {
            parts.iter().map(strict_in).reduce(|a, b| a.intersection(&b)).unwrap_or_default()
        }
        _ => ColumnSet::new(),
    }
}

/// Columns of which any being NULL keeps the predicate from being TRUE.
pub fn null_rejected(e: &Expr) -> ColumnSet {
    match &e.kind {
        ExprKind::And(parts) => parts.iter().map(null_rejected).reduce(|a, b| a.union(&b)).unwrap_or_default(),
        ExprKind::Or(parts) => parts.iter().map(null_rejected).reduce(|a, b| a.intersection(&b)).unwrap_or_default(),
        ExprKind::IsNull { expr, negated: true } => strict_in(expr),
        ExprKind::IsTruth { expr, truth: Truth::True, negated: false } => null_rejected(expr),
        ExprKind::IsTruth { expr, truth: Truth::False, negated: false }
        | ExprKind::IsTruth { expr, truth: Truth::Unknown, negated: true } => strict_in(expr),
        _ => strict_in(e),
    }
}

/// Can `e` be NULL, when the columns of `not_null` never are?
pub fn can_be_null(e: &Expr, not_null: &ColumnSet) -> bool {
    match &e.kind {
        ExprKind::Column(c) => !not_null.contains(*c),
        ExprKind::Const(v) => v.is_null(),
        ExprKind::IsNull { .. } | ExprKind::IsTruth { .. } | ExprKind::Compare { op: CmpOp::NullSafeEq, .. } => false,
        ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Xor(..)
        | ExprKind::Not(_)
        | ExprKind::Compare { .. }
        | ExprKind::Neg(_)
        | ExprKind::InList { .. }
        | ExprKind::Like { .. } => e.children().into_iter().any(|c| can_be_null(c, not_null)),
        ExprKind::InSet { expr, set, .. } => set.has_null() || can_be_null(expr, not_null),
        ExprKind::Arith { op, left, right }
            if !matches!(op, ArithOp::Div | ArithOp::IntDiv | ArithOp::Mod)
                && left.ty.is_numeric()
                && right.ty.is_numeric() =>
        {
            can_be_null(left, not_null) || can_be_null(right, not_null)
        }
        ExprKind::Cast { expr, .. } if expr.ty.is_numeric() && e.ty.is_numeric() => can_be_null(expr, not_null),
        ExprKind::Case { branches, otherwise } => {
            otherwise.as_ref().is_none_or(|o| can_be_null(o, not_null))
                || branches.iter().any(|(_, t)| can_be_null(t, not_null))
        }
        _ => e.nullable || e.children().into_iter().any(|c| can_be_null(c, not_null)),
    }
}

/// Sets `nullable` throughout an expression from the columns that cannot be NULL.
pub fn set_nullable(e: &mut Expr, not_null: &ColumnSet) {
    for c in e.children_mut() {
        set_nullable(c, not_null);
    }
    e.nullable = can_be_null(e, not_null);
}

/// Output columns that are never NULL.
pub fn not_null(node: &Logical) -> ColumnSet {
    match node {
        Logical::Get { table, columns, .. } => {
            columns.iter().filter(|(_, i)| !table.columns[*i].nullable).map(|c| c.0).collect()
        }
        Logical::Values { columns, rows } => columns
            .iter()
            .enumerate()
            .filter(|(i, _)| rows.iter().all(|r| !can_be_null(&r[*i], &ColumnSet::new())))
            .map(|(_, c)| *c)
            .collect(),
        Logical::Filter { input, predicates } => {
            let mut s = not_null(input);
            for p in predicates {
                s.union_with(&null_rejected(p));
            }
            s
        }
        Logical::Project { input, exprs } => {
            let s = not_null(input);
            exprs.iter().filter(|(_, e)| !can_be_null(e, &s)).map(|e| e.0).collect()
        }
        Logical::Join { kind, left, right, on, .. } => {
            let mut s = not_null(left);
            match kind {
                LogicalJoinKind::Inner => {
                    s.union_with(&not_null(right));
                    for p in on {
                        s.union_with(&null_rejected(p));
                    }
                }
                LogicalJoinKind::Semi => {
                    let mut rejected = ColumnSet::new();
                    for p in on {
                        rejected.union_with(&null_rejected(p));
                    }
                    s.union_with(&rejected.intersection(&output_set(left)));
                }
                LogicalJoinKind::Mark { mark, null_aware: false } => {
                    s.insert(*mark);
                }
                LogicalJoinKind::Full => return ColumnSet::new(),
                _ => {}
            }
            s
        }
        Logical::Aggregate { input, groups, aggregates, rollup } => {
            let s = not_null(input);
            let mut r = ColumnSet::new();
            if !*rollup {
                for (id, e) in groups {
                    if !can_be_null(e, &s) {
                        r.insert(*id);
                    }
                }
            }
            for (id, a) in aggregates {
                let record = a.func.record();
                let counts = record.of_nothing != OfNothing::Null;
                let always = record.keeps_not_null
                    && !groups.is_empty()
                    && !*rollup
                    && a.args.iter().all(|e| e.ty.is_numeric() && !can_be_null(e, &s));
                if counts || always {
                    r.insert(*id);
                }
            }
            r
        }
        Logical::Window { input, calls, .. } => {
            let mut s = not_null(input);
            for (id, c) in calls {
                if matches!(
                    c.func,
                    WindowFunc::RowNumber
                        | WindowFunc::Rank
                        | WindowFunc::DenseRank
                        | WindowFunc::Agg(AggFunc::CountStar | AggFunc::Count)
                ) {
                    s.insert(*id);
                }
            }
            s
        }
        Logical::SetOp { columns, inputs, .. } => {
            let facts: Vec<ColumnSet> = inputs.iter().map(|(n, _)| not_null(n)).collect();
            columns
                .iter()
                .enumerate()
                .filter(|(i, _)| inputs.iter().zip(&facts).all(|((_, cols), f)| f.contains(cols[*i])))
                .map(|(_, c)| *c)
                .collect()
        }
        Logical::Distinct { input }
        | Logical::Sort { input, .. }
        | Logical::Limit { input, .. }
        | Logical::With { input, .. } => not_null(input),
        Logical::OneRow | Logical::Empty { .. } | Logical::CteScan { .. } | Logical::RecursiveUnion { .. } => {
            ColumnSet::new()
        }
    }
}

/// Column equalities `a = b` and columns fixed by a constant (or by something from outside `inside`).
pub fn fixed_columns(predicates: &[Expr], inside: &ColumnSet) -> ColumnSet {
    let mut fixed = ColumnSet::new();
    for p in predicates {
        if let ExprKind::Compare { op: CmpOp::Eq, left, right } = &p.kind {
            for (a, b) in [(left, right), (right, left)] {
                if let Some(c) = as_column(a)
                    && inside.contains(c)
                    && !expr_columns(b).intersects(inside)
                {
                    fixed.insert(c);
                }
            }
        }
    }
    fixed
}

const KEYS_MAX: usize = 8;

/// Sets of output columns of which no two rows agree (NULLs counting as equal). The empty set: at most one row.
pub fn keys(node: &Logical) -> Vec<ColumnSet> {
    let mut ks = match node {
        Logical::OneRow | Logical::Empty { .. } => vec![ColumnSet::new()],
        Logical::Values { rows, .. } if rows.len() <= 1 => vec![ColumnSet::new()],
        Logical::Get { table, columns, is_virtual: false, .. } => table
            .indexes
            .iter()
            .filter(|i| i.is_unique())
            .filter_map(|i| {
                i.parts
                    .iter()
                    .map(|p| {
                        if p.prefix_len.is_some() || table.columns[p.column_idx].nullable {
                            return None;
                        }
                        columns.iter().find(|c| c.1 == p.column_idx).map(|c| c.0)
                    })
                    .collect()
            })
            .collect(),
        Logical::Filter { input, predicates } => {
            let ks = keys(input);
            if ks.is_empty() {
                return ks;
            }
            let fixed = fixed_columns(predicates, &output_set(input));
            ks.into_iter().map(|k| k.difference(&fixed)).collect()
        }
        Logical::Project { input, exprs } => keys(input)
            .into_iter()
            .filter_map(|k| {
                k.iter().map(|c| exprs.iter().find(|(_, e)| as_column(e) == Some(c)).map(|e| e.0)).collect()
            })
            .collect(),
        Logical::Join { kind, left, right, on, .. } => {
            let lk = keys(left);
            match kind {
                LogicalJoinKind::Inner | LogicalJoinKind::Left => {
                    let rk = keys(right);
                    let (lo, ro) = (output_set(left), output_set(right));
                    let mut ks = vec![];
                    if covered(&rk, &fixed_columns(on, &ro)) {
                        ks.extend(lk.iter().cloned());
                    }
                    if *kind == LogicalJoinKind::Inner && covered(&lk, &fixed_columns(on, &lo)) {
                        ks.extend(rk.iter().cloned());
                    }
                    if ks.is_empty() {
                        for a in lk.iter().take(2) {
                            for b in rk.iter().take(2) {
                                ks.push(a.union(b));
                            }
                        }
                    }
                    ks
                }
                LogicalJoinKind::Full => vec![],
                _ => lk,
            }
        }
        Logical::Aggregate { groups, rollup: false, .. } => vec![groups.iter().map(|g| g.0).collect()],
        Logical::Distinct { input } => {
            let mut ks = keys(input);
            ks.push(output_set(input));
            ks
        }
        Logical::Limit { limit: Some(0 | 1), .. } => vec![ColumnSet::new()],
        Logical::Sort { input, .. }
        | Logical::Limit { input, .. }
        | Logical::Window { input, .. }
        | Logical::With { input, .. } => keys(input),
        Logical::SetOp { kind, columns, inputs, distinct } => {
            if *distinct {
                vec![columns.iter().collect()]
            } else if *kind != SetOpKind::Union {
                let map: Vec<_> = inputs[0].1.iter().copied().zip(columns.iter().copied()).collect();
                keys(&inputs[0].0)
                    .into_iter()
                    .filter_map(|k| k.iter().map(|c| map.iter().find(|m| m.0 == c).map(|m| m.1)).collect())
                    .collect()
            } else {
                vec![]
            }
        }
        _ => vec![],
    };
    ks.truncate(KEYS_MAX);
    ks
}

/// Is one of the keys within `columns`?
pub fn covered(keys: &[ColumnSet], columns: &ColumnSet) -> bool {
    keys.iter().any(|k| k.is_subset(columns))
}

pub fn at_most_one_row(node: &Logical) -> bool {
    keys(node).iter().any(ColumnSet::is_empty)
}

pub fn exactly_one_row(node: &Logical) -> bool {
    match node {
        Logical::OneRow => true,
        Logical::Values { rows, .. } => rows.len() == 1,
        Logical::Aggregate { groups, rollup, .. } => groups.is_empty() && !rollup,
        Logical::Project { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Distinct { input }
        | Logical::Window { input, .. }
        | Logical::With { input, .. } => exactly_one_row(input),
        Logical::Limit { input, limit, offset: 0 } => limit.is_none_or(|l| l > 0) && exactly_one_row(input),
        _ => false,
    }
}

/// Does equality under this type's comparison mean the very same value, so that one may stand for the other?
pub fn equality_is_identity(ty: &SqlType) -> bool {
    match ty {
        SqlType::String { collation, .. } => {
            matches!(collation, types::Collation::Binary | types::Collation::Utf8mb4_0900Bin)
        }
        // -0.0 = 0.0
        SqlType::Float | SqlType::Double => false,
        _ => true,
    }
}

/// `column = column` with nothing around either, both of one type.
pub fn column_equality(p: &Expr) -> Option<(ColumnId, ColumnId)> {
    match &p.kind {
        ExprKind::Compare { op: CmpOp::Eq, left, right } if left.ty == right.ty => {
            Some((as_column(left)?, as_column(right)?))
        }
        _ => None,
    }
}
