//! Which collation wins where strings of several meet (MySQL manual, "Collation Coercibility in Expressions").

use crate::functions::Strength;
use crate::{Expr, ExprKind};
use types::{Collation, Error, Result, SqlType};

/// 0 explicit COLLATE, 1 two collations concatenated, 2 a column or CAST, 3 a system constant, 4 a literal or text that
/// a function made, 5 a number or date, 6 NULL. The lowest wins.
pub fn coercibility(e: &Expr) -> u8 {
    match &e.kind {
        ExprKind::Const(v) if v.is_null() => 6,
        _ if e.ty == SqlType::Null => 6,
        _ if !e.ty.is_string() => 5,
        ExprKind::Const(_) | ExprKind::Param(_) => 4,
        ExprKind::Column(_) | ExprKind::Subquery(_) | ExprKind::UserVar { .. } | ExprKind::SetUserVar { .. } => 2,
        ExprKind::Cast { explicit: true, .. } => 2,
        // A number or date that an operator prints, or a string seen in another's collation.
        ExprKind::Cast { explicit: false, expr } => coercibility(expr),
        ExprKind::Call { function, .. } => match function.record().strength {
            Strength::Explicit => 0,
            Strength::System => 3,
            Strength::Made => 4,
            Strength::Operand => strongest(e, e.children().into_iter()),
        },
        // CASE chooses among its results; its conditions compare strings of their own.
        ExprKind::Case { branches, otherwise } => {
            strongest(e, branches.iter().map(|(_, result)| result).chain(otherwise.as_deref()))
        }
        _ => strongest(e, e.children().into_iter()),
    }
}

/// Of the operands that gave `e` its collation. Numbers and dates alone make text as literals are.
fn strongest<'e>(e: &Expr, operands: impl Iterator<Item = &'e Expr>) -> u8 {
    let own = e.ty.collation();
    match operands.filter(|c| c.ty == SqlType::Null || c.ty.collation() == own).map(coercibility).min() {
        Some(6) => 6,
        level => level.unwrap_or(4).min(4),
    }
}

/// The stronger of two collations where both are equally coercible.
pub(super) fn merge(a: Collation, b: Collation) -> Collation {
    stronger(a, b).unwrap_or(a)
}

fn is_latin1(c: Collation) -> bool {
    matches!(c, Collation::Latin1SwedishCi | Collation::Latin1Bin)
}

fn is_bin(c: Collation) -> bool {
    matches!(c, Collation::Utf8mb4Bin | Collation::Utf8mb4_0900Bin | Collation::Latin1Bin)
}

fn stronger(a: Collation, b: Collation) -> Option<Collation> {
    if a == b {
        return Some(a);
    }
    if a == Collation::Binary || b == Collation::Binary {
        return Some(Collation::Binary);
    }
    match (is_latin1(a), is_latin1(b)) {
        // Unicode holds everything that latin1 holds.
        (true, false) => Some(b),
        (false, true) => Some(a),
        _ => match (is_bin(a), is_bin(b)) {
            (true, false) => Some(a),
            (false, true) => Some(b),
            // utf8mb4_general_ci stands in for utf8mb3_general_ci, too, and utf8mb4 holds everything that utf8mb3
            // holds.
            _ if a == Collation::Utf8mb4GeneralCi => Some(b),
            _ if b == Collation::Utf8mb4GeneralCi => Some(a),
            _ => None,
        },
    }
}

/// The collation under which strings compare (or are joined): 1267 if none is stronger. `operation` is MySQL's name of
/// the operation, e.g. `=` or `concat`.
pub fn aggregate_collations(exprs: &[&Expr], operation: &str) -> Result<Option<Collation>> {
    let mut best: Option<(Collation, u8)> = None;
    for e in exprs {
        let Some(c) = e.ty.collation() else { continue };
        let level = coercibility(e);
        best = Some(match best {
            None => (c, level),
            Some((b, l)) if b == c => (b, l.min(level)),
            // Binary strings win whatever the other's level, unless it is explicit.
            Some((b, l)) if l != level && !(b == Collation::Binary || c == Collation::Binary) => {
                if l < level {
                    (b, l)
                } else {
                    (c, level)
                }
            }
            Some((b, l)) => match stronger(b, c) {
                Some(c) if l != 0 || level != 0 => (c, l.min(level)),
                _ => return Err(illegal_mix((b, l), (c, level), operation)),
            },
        });
    }
    Ok(best.map(|(c, _)| c))
}

fn illegal_mix(a: (Collation, u8), b: (Collation, u8), operation: &str) -> Error {
    let level = |l| match l {
        0 => "EXPLICIT",
        1 => "NONE",
        2 => "IMPLICIT",
        3 => "SYSCONST",
        4 => "COERCIBLE",
        5 => "NUMERIC",
        _ => "IGNORABLE",
    };
    Error::cant_aggregate_2collations(a.0.name(), level(a.1), b.0.name(), level(b.1), operation)
}
