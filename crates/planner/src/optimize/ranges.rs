//! From the conjuncts on a table to ranges of one of its indexes.
//!
//! Parts of the index are taken in order. A part that conjuncts give values for (`=`, IN, IS NULL, `<=>`) multiplies
//! the ranges and the next part follows; a part with bounds, or a LIKE that begins with text, ends them. An OR is
//! usable if every branch, together with the other conjuncts, bounds the part at hand: its ranges are those of all
//! branches. Row constructors arrive here as such ORs: `(a, b) > (1, 2)` is `a > 1 OR (a = 1 AND b > 2)`. Ranges of
//! several ORs are those of all combinations of their branches, so only ORs that narrow the part are taken up, and no
//! more of them than the work allows; the others stay filters.
//!
//! ```text
//!   index (a, b)   a IN (1, 2) AND b > 5 AND c = 3    ->  (1, 5..) (2, 5..)     c = 3 stays a filter
//!                  a = 1 AND b < 3 OR a > 7           ->  (1, ..3) (7..)
//! ```
//! Ranges may overlap and come in any order; whoever reads them sorts and merges them once the values are known.
//!
//! A conjunct is *answered* if the ranges hold exactly the rows for which it is TRUE, so that it need not be tested
//! again. Columns must stand bare, or under an implicit conversion that loses nothing and keeps the order; strings must
//! be compared by the column's own collation.

mod like;

pub(super) use like::like_prefix;

use super::tree::as_column;
use catalog::{IndexDef, TableDef};
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use plan::access::PartTest;
use plan::{IndexRange, KeyValue, LastPart, RangeEnd};
use std::collections::HashMap;
use types::{SqlType, Value};

/// Ranges that one access may have.
pub const RANGES_MAX: usize = 4096;
/// Conjuncts that are looked at for one index, each once for every combination of branches under which it is.
const WORK_MAX: usize = 20_000;

/// What the conjuncts say of an index.
#[derive(Debug)]
pub struct Found {
    pub ranges: Vec<IndexRange>,
    /// Conjuncts that need no test any more, by position.
    pub answered: Vec<bool>,
    /// Leading parts that have the same single value in every row, through all ranges.
    pub fixed_parts: usize,
}

/// The memory that a search may take, in bytes.
#[derive(Debug)]
pub struct Memory {
    left: u64,
    /// It was not enough: nothing was found.
    pub is_exceeded: bool,
}

impl Memory {
    /// 0: any.
    pub fn of(bytes_max: u64) -> Memory {
        Memory { left: if bytes_max == 0 { u64::MAX } else { bytes_max }, is_exceeded: false }
    }

    fn take(&mut self, bytes: usize) -> Option<()> {
        let left = self.left.checked_sub(bytes as u64);
        self.is_exceeded |= left.is_none();
        self.left = left?;
        Some(())
    }
}

/// The ranges of `index` that can hold rows for which all `conjuncts` are TRUE; `None` if nothing bounds it, or the
/// memory is exceeded.
pub fn find(
    table: &TableDef,
    index: &IndexDef,
    columns: &[(ColumnId, usize)],
    conjuncts: &[&Expr],
    memory: &mut Memory,
) -> Option<Found> {
    let first = columns.iter().find(|c| c.1 == index.parts[0].column_idx)?.0;
    if !conjuncts.iter().any(|c| mentions(c, first)) {
        return None;
    }
    let mut search = Search { table, index, columns, work: 0, width: 1, reach: HashMap::new(), memory };
    let tails = search.tails(0, conjuncts).filter(|_| !search.memory.is_exceeded)?;
    let answered = conjuncts.iter().map(|c| tails.answered.iter().any(|a| std::ptr::eq(*a, *c))).collect();
    let fixed_parts = match tails.ranges.as_slice() {
        [] => index.parts.len(),
        [first, rest @ ..] => {
            let same = |i: usize| rest.iter().all(|r| r.equal.get(i) == first.equal.get(i));
            let is_prefix = |i: usize| index.parts[i].prefix_len.is_some();
            (0..first.equal.len()).take_while(|i| same(*i) && !is_prefix(*i)).count()
        }
    };
    Some(Found { ranges: tails.ranges, answered, fixed_parts })
}

/// The same for one part of `index` by itself, whatever comes before it.
pub fn find_part(
    table: &TableDef,
    index: &IndexDef,
    part: usize,
    columns: &[(ColumnId, usize)],
    conjuncts: &[Expr],
) -> Option<Found> {
    let conjuncts: Vec<&Expr> = conjuncts.iter().collect();
    find(table, &PartTest::index_of_part(index, part), columns, &conjuncts, &mut Memory::of(0))
}

/// Does the condition bound the column, which is of type `ty`, whatever else is asked?
pub(super) fn is_bound(e: &Expr, column: ColumnId, ty: &SqlType) -> bool {
    match &e.kind {
        ExprKind::And(parts) => parts.iter().any(|p| is_bound(p, column, ty)),
        ExprKind::Or(branches) => branches.iter().all(|b| is_bound(b, column, ty)),
        _ => simple(e, column, ty).is_some(),
    }
}

pub(super) fn mentions(e: &Expr, c: ColumnId) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= e.kind == ExprKind::Column(c));
    found
}

/// Ranges by the parts from some part on.
struct Tails<'e> {
    ranges: Vec<IndexRange>,
    answered: Vec<&'e Expr>,
}

struct Search<'a> {
    table: &'a TableDef,
    index: &'a IndexDef,
    columns: &'a [(ColumnId, usize)],
    work: usize,
    /// Combinations of the branches of ORs within which the search is.
    width: usize,
    /// What is known of ORs, by address and part.
    reach: HashMap<(*const Expr, usize), Reach>,
    memory: &'a mut Memory,
}

/// Which branches of an OR bound a part by themselves.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    All,
    Some,
    None,
}

/// What one conjunct says of one column.
enum Constraint {
    Points(Vec<KeyValue>),
    Ends { low: Option<RangeEnd>, high: Option<RangeEnd> },
    NotEqual(Expr),
    StartsWith(Expr),
}

struct Simple {
    constraint: Constraint,
    exact: bool,
}

impl Simple {
    fn bytes(&self) -> usize {
        let values = match &self.constraint {
            Constraint::Points(values) => values.len() * size_of::<KeyValue>(),
            _ => 0,
        };
        size_of::<Simple>() + values
    }
}

impl Search<'_> {
    /// `None` if nothing bounds `part`.
    fn tails<'e>(&mut self, part: usize, conjuncts: &[&'e Expr]) -> Option<Tails<'e>> {
        let p = self.index.parts.get(part)?;
        let column = self.columns.iter().find(|c| c.1 == p.column_idx)?.0;
        let ty = self.table.columns[p.column_idx].ty;
        self.work += conjuncts.len();
        if self.work > WORK_MAX {
            return None;
        }
        let is_prefix = p.prefix_len.is_some();
        let simple: Vec<(&'e Expr, Simple)> = conjuncts
            .iter()
            .filter_map(|c| simple(c, column, &ty).map(|s| (*c, Simple { exact: s.exact && !is_prefix, ..s })))
            .collect();
        self.memory.take(simple.iter().map(|(_, s)| s.bytes()).sum())?;
        // A value, or as few values as possible.
        let points = simple
            .iter()
            .filter_map(|(e, s)| match &s.constraint {
                Constraint::Points(v) => Some((*e, s.exact, v)),
                _ => None,
            })
            .min_by_key(|(_, _, v)| v.len());
        if let Some((_, _, values)) = &points
            && values.len() <= 1
        {
            return self.by_points(part, conjuncts, points?);
        }
        if let Some(found) = self.by_or(part, conjuncts, points.is_some()) {
            return Some(found);
        }
        if points.is_some() {
            return self.by_points(part, conjuncts, points?);
        }
        by_ends(simple)
    }

    fn by_points<'e>(
        &mut self,
        part: usize,
        conjuncts: &[&'e Expr],
        (e, exact, values): (&'e Expr, bool, &Vec<KeyValue>),
    ) -> Option<Tails<'e>> {
        let rest: Vec<&'e Expr> = conjuncts.iter().copied().filter(|c| !std::ptr::eq(*c, e)).collect();
        if values.len() > RANGES_MAX {
            return None;
        }
        let next = self.tails(part + 1, &rest).filter(|t| t.ranges.len() * values.len() <= RANGES_MAX);
        let next = next.unwrap_or_else(|| Tails { ranges: vec![IndexRange::default()], answered: vec![] });
        let mut answered = next.answered;
        if exact {
            answered.push(e);
        }
        let parts = next.ranges.first().map_or(0, |r| r.equal.len()) + 1;
        let each = size_of::<IndexRange>() + parts * size_of::<KeyValue>();
        self.memory.take(values.len() * next.ranges.len() * each)?;
        let mut ranges = Vec::with_capacity(values.len() * next.ranges.len());
        for v in values {
            for tail in &next.ranges {
                let mut equal = Vec::with_capacity(tail.equal.len() + 1);
                equal.push(v.clone());
                equal.extend(tail.equal.iter().cloned());
                ranges.push(IndexRange { equal, last: tail.last.clone() });
            }
        }
        Some(Tails { ranges, answered })
    }

    /// By the first OR of which every branch bounds the part. Branches that leave it to the other conjuncts widen what
    /// those say of it; that is worth it only if points go on to the next part.
    fn by_or<'e>(&mut self, part: usize, conjuncts: &[&'e Expr], has_points: bool) -> Option<Tails<'e>> {
        let (mut all, mut some) = (vec![], vec![]);
        for or in conjuncts.iter().copied().filter(|c| matches!(c.kind, ExprKind::Or(_))) {
            match self.reach(part, or)? {
                Reach::All => all.push(or),
                Reach::Some if has_points => some.push(or),
                _ => {}
            }
        }
        all.into_iter().chain(some).find_map(|or| self.by_branches(part, conjuncts, or))
    }

    fn reach(&mut self, part: usize, or: &Expr) -> Option<Reach> {
        let ExprKind::Or(branches) = &or.kind else { return None };
        let p = self.index.parts.get(part)?;
        let column = self.columns.iter().find(|c| c.1 == p.column_idx)?.0;
        let ty = self.table.columns[p.column_idx].ty;
        let known = self.reach.entry((std::ptr::from_ref(or), part)).or_insert_with(|| {
            let bound = branches.iter().filter(|b| is_bound(b, column, &ty)).count();
            match bound {
                0 => Reach::None,
                n if n == branches.len() => Reach::All,
                _ => Reach::Some,
            }
        });
        Some(*known)
    }

    /// By each branch of an OR together with the other conjuncts.
    fn by_branches<'e>(&mut self, part: usize, conjuncts: &[&'e Expr], or: &'e Expr) -> Option<Tails<'e>> {
        let ExprKind::Or(branches) = &or.kind else { return None };
        let before = self.width;
        let width = before * branches.len().max(2);
        let is_first = before == 1;
        if branches.len() > RANGES_MAX || self.work > WORK_MAX || !is_first && width * conjuncts.len() > WORK_MAX {
            return None;
        }
        self.width = width;
        let found = self.united(part, conjuncts, or, branches);
        self.width = before;
        found
    }

    fn united<'e>(
        &mut self,
        part: usize,
        conjuncts: &[&'e Expr],
        or: &'e Expr,
        branches: &'e [Expr],
    ) -> Option<Tails<'e>> {
        let mut ranges: Vec<IndexRange> = vec![];
        let mut answered: Option<Vec<&'e Expr>> = None;
        let mut whole = true;
        for b in branches {
            let mut terms = vec![];
            flatten(b, &mut terms);
            let own = terms.len();
            terms.extend(conjuncts.iter().copied().filter(|c| !std::ptr::eq(*c, or)));
            let t = self.tails(part, &terms)?;
            let has = |e: &&'e Expr| t.answered.iter().any(|a| std::ptr::eq(*a, *e));
            whole &= terms[..own].iter().all(has);
            for r in t.ranges {
                if ranges.len() > 64 || !ranges.contains(&r) {
                    ranges.push(r);
                }
            }
            if ranges.len() > RANGES_MAX {
                return None;
            }
            let others: Vec<&'e Expr> = terms[own..].iter().copied().filter(has).collect();
            answered = Some(match answered {
                None => others,
                Some(a) => a.into_iter().filter(|x| others.iter().any(|o| std::ptr::eq(*o, *x))).collect(),
            });
        }
        let mut answered = answered?;
        if whole {
            answered.push(or);
        }
        Some(Tails { ranges, answered })
    }
}

fn flatten<'e>(e: &'e Expr, into: &mut Vec<&'e Expr>) {
    match &e.kind {
        ExprKind::And(parts) => parts.iter().for_each(|p| flatten(p, into)),
        _ => into.push(e),
    }
}

/// The bounds that the conjuncts set together, else what one of them allows.
fn by_ends(simple: Vec<(&Expr, Simple)>) -> Option<Tails<'_>> {
    let (mut low, mut high): (Option<RangeEnd>, Option<RangeEnd>) = (None, None);
    let mut answered = vec![];
    let mut bounded = false;
    for (e, s) in &simple {
        let Constraint::Ends { low: l, high: h } = &s.constraint else { continue };
        bounded = true;
        let taken = tighter(&mut low, l, true) & tighter(&mut high, h, false);
        if taken && s.exact {
            answered.push(*e);
        }
    }
    let tail = |last| IndexRange { equal: vec![], last: Some(last) };
    if low.is_some() || high.is_some() {
        return Some(Tails { ranges: vec![tail(LastPart::Between { low, high })], answered });
    }
    for (e, s) in simple {
        match s.constraint {
            Constraint::StartsWith(prefix) => {
                return Some(Tails { ranges: vec![tail(LastPart::StartsWith(prefix))], answered: vec![] });
            }
            Constraint::NotEqual(v) => {
                let end = || Some(RangeEnd { expr: v.clone(), inclusive: false });
                let ranges = vec![
                    tail(LastPart::Between { low: None, high: end() }),
                    tail(LastPart::Between { low: end(), high: None }),
                ];
                return Some(Tails { ranges, answered: if s.exact { vec![e] } else { vec![] } });
            }
            _ => {}
        }
    }
    bounded.then(|| Tails { ranges: vec![tail(LastPart::Between { low: None, high: None })], answered })
}

/// Takes `new` if it is known to be the tighter end, or the first. Answers whether the end now implies `new`.
fn tighter(have: &mut Option<RangeEnd>, new: &Option<RangeEnd>, is_low: bool) -> bool {
    let Some(n) = new else { return true };
    let Some(h) = have else {
        *have = Some(n.clone());
        return true;
    };
    if h == n {
        return true;
    }
    let (Some(a), Some(b)) = (h.expr.as_const(), n.expr.as_const()) else { return false };
    if h.expr.ty.collation() != n.expr.ty.collation() {
        return false;
    }
    let Some(order) = b.compare(a, h.expr.ty.collation().unwrap_or_default()) else { return false };
    let order = if is_low { order } else { order.reverse() };
    if order.is_gt() || (order.is_eq() && !n.inclusive) {
        *have = Some(n.clone());
    }
    true
}

/// The conjunct as a constraint of one column of type `ty`.
fn simple(e: &Expr, column: ColumnId, ty: &SqlType) -> Option<Simple> {
    match &e.kind {
        ExprKind::Compare { op, left, right } => {
            let (value, exact, op) = match of_column(left, column) {
                true => (right, comparable(left, right, ty)?, *op),
                false if of_column(right, column) => (left, comparable(right, left, ty)?, flipped(*op)),
                false => return None,
            };
            let end = |inclusive| Some(RangeEnd { expr: (**value).clone(), inclusive });
            let constraint = match op {
                CmpOp::Eq => point(value, false),
                CmpOp::NullSafeEq => point(value, true),
                CmpOp::Ne => Constraint::NotEqual((**value).clone()),
                CmpOp::Lt => Constraint::Ends { low: None, high: end(false) },
                CmpOp::Le => Constraint::Ends { low: None, high: end(true) },
                CmpOp::Gt => Constraint::Ends { low: end(false), high: None },
                CmpOp::Ge => Constraint::Ends { low: end(true), high: None },
            };
            Some(Simple { constraint, exact })
        }
        ExprKind::InList { expr, list, negated: false } if of_column(expr, column) && list.len() <= RANGES_MAX => {
            let mut exact = true;
            let mut values = Vec::with_capacity(list.len());
            for v in list.iter() {
                exact &= comparable(expr, v, ty)?;
                values.push(KeyValue { expr: v.clone(), null_safe: false });
            }
            Some(Simple { constraint: Constraint::Points(values), exact })
        }
        ExprKind::IsNull { expr, negated } if as_column(expr) == Some(column) => {
            let constraint = if *negated {
                Constraint::Ends { low: None, high: None }
            } else {
                let null = Expr::constant(Value::Null, *ty);
                Constraint::Points(vec![KeyValue { expr: null, null_safe: true }])
            };
            Some(Simple { constraint, exact: true })
        }
        ExprKind::Like { expr, pattern, escape, negated: false } if as_column(expr) == Some(column) => {
            let same = ty.collation().is_some() && ty.collation() == pattern.ty.collation();
            let text = like_prefix(pattern.as_const()?.as_bytes()?, *escape);
            if !same || text.is_empty() {
                return None;
            }
            let prefix = Expr::constant(Value::Bytes(text.into()), pattern.ty);
            Some(Simple { constraint: Constraint::StartsWith(prefix), exact: false })
        }
        _ => None,
    }
}

fn point(value: &Expr, null_safe: bool) -> Constraint {
    Constraint::Points(vec![KeyValue { expr: value.clone(), null_safe }])
}

fn flipped(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
        other => other,
    }
}

/// The column, bare or under an implicit conversion.
fn of_column(e: &Expr, column: ColumnId) -> bool {
    match &e.kind {
        ExprKind::Column(c) => *c == column,
        ExprKind::Cast { expr, explicit: false } => as_column(expr) == Some(column),
        _ => false,
    }
}

/// May `side` (the column of type `ty`, perhaps converted) be looked up by the constant `value`? Answers whether the
/// index finds exactly what the comparison does.
pub(super) fn comparable(side: &Expr, value: &Expr, ty: &SqlType) -> Option<bool> {
    if !value.is_constant() {
        return None;
    }
    same_order(&side.ty, &value.ty, ty)
}

/// Do values of type `value`, compared with the column as `side`, order as the column's own values do?
pub(super) fn same_order(side: &SqlType, value: &SqlType, column: &SqlType) -> Option<bool> {
    use SqlType::*;
    match (column, side, value) {
        (Int { .. } | Year, s, v) if s == column && v.is_integer() => Some(true),
        (Int { .. } | Year, Decimal { .. }, Decimal { .. }) => Some(matches!(column, Int { .. })).filter(|ok| *ok),
        // Beyond 2^53 several integers are one double: the filter decides.
        (Int { .. }, Double, Double) => Some(false),
        (Decimal { scale, .. }, Decimal { scale: s, .. }, Decimal { .. }) if s >= scale => Some(true),
        (String { collation: a, .. }, String { .. }, String { collation: b, .. }) => {
            (side == column && a == b).then_some(true)
        }
        (Date, Date, Date) | (Date, DateTime { .. }, DateTime { .. }) => Some(true),
        (Time { .. }, Time { .. }, Time { .. }) => Some(true),
        (DateTime { .. }, DateTime { .. }, DateTime { .. } | Date) => Some(true),
        (Timestamp { .. }, Timestamp { .. }, Timestamp { .. }) => Some(true),
        (Float, Float, Float) | (Double, Double, Double) => Some(true),
        _ => None,
    }
}
