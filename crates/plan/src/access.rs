//! Ranges of an index: how a plan names them, and what they are once the values are known.
//!
//! ```text
//!   index (a, b, c)            equal    last
//!   a = 1 AND b > 5            [1]      b: low 5 exclusive
//!   a = 1 AND b = 2            [1, 2]   none: all entries that begin with (1, 2)
//!   a IS NULL                  [NULL]   none
//!   s LIKE 'ab%'               []       s: begins with 'ab'
//! ```
//! A plan holds expressions, constant at execution: plans are kept, parameters change. [`resolve`] evaluates them,
//! turns each into a value of the column's type and answers the ends as the index orders them. A value that the column
//! cannot hold moves the end to the nearest one that it can (`i < 2.5` is `i <= 2`), or makes the range empty (`i =
//! 2.5`).

use catalog::{IndexDef, KeyBounds, KeyEnd, TableDef};
use expr::Expr;
use types::{Decimal, I256, IntSize, Result, SqlType, Value};

/// A value to look for.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValue {
    /// Constant at execution; in a join by index: over the probe input.
    pub expr: Expr,
    /// NULL is looked for like any value (`<=>`, IS NULL); else NULL finds nothing.
    pub null_safe: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RangeEnd {
    pub expr: Expr,
    pub inclusive: bool,
}

/// What is known of the part after the equal ones. Never NULL.
#[derive(Clone, Debug, PartialEq)]
pub enum LastPart {
    /// Both ends open: IS NOT NULL.
    Between { low: Option<RangeEnd>, high: Option<RangeEnd> },
    /// The text before LIKE's first wildcard.
    StartsWith(Expr),
}

/// A range of an index.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct IndexRange {
    /// Leading parts.
    pub equal: Vec<KeyValue>,
    pub last: Option<LastPart>,
}

impl IndexRange {
    /// How many leading parts it bounds.
    pub fn parts(&self) -> usize {
        self.equal.len() + self.last.is_some() as usize
    }
}

/// What the entries of an index are used for besides naming rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntryUse {
    /// Conditions on single parts, tested on the bytes of each entry before its row is read; by part.
    pub tests: Vec<PartTest>,
    /// Parts that `conditions` need, as columns read back from the entries, and the conditions over them.
    pub decoded: Vec<usize>,
    pub conditions: Vec<Expr>,
    /// The columns are read back from the entries, as long as these are known to stand for visible rows.
    pub covering: bool,
    /// The walk skips through all values of leading parts that nothing bounds.
    pub skip_scan: bool,
    /// Multi-range read: so many row ids are collected, sorted, and their rows read leaf by leaf.
    pub multi_range: Option<u32>,
    /// Loose scan: of the rows that agree in so many leading parts only the first that passes.
    pub loose: Option<usize>,
    /// Entries after which the walk ends and says so: [`crate::PlanOp::Attempt`] goes on without it.
    pub give_up: Option<u64>,
    /// Index merge: further indexes, whose row ids are united or intersected with those of the ranges.
    pub merge: Option<Box<Merge>>,
}

/// Index merge: row ids come out of several indexes of a table. They may be more than those that are wanted, never
/// less: the node's filters hold all conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    pub kind: MergeKind,
    /// Positions in `TableDef::indexes`, and the ranges of each. The first index is the node's own.
    pub others: Vec<(usize, Vec<IndexRange>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// OR, each index yielding its row ids in order: one whole key of each.
    Union,
    /// OR, in general.
    SortUnion,
    /// AND.
    Intersect,
}

impl MergeKind {
    /// As EXPLAIN's table says it.
    pub fn name(self) -> &'static str {
        match self {
            MergeKind::Union => "union",
            MergeKind::SortUnion => "sort_union",
            MergeKind::Intersect => "intersect",
        }
    }

    /// As FORMAT=TREE says it.
    pub fn operator(self) -> &'static str {
        match self {
            MergeKind::Union => "Deduplicate rows sorted by row ID",
            MergeKind::SortUnion => "Sort-deduplicate by row ID",
            MergeKind::Intersect => "Intersect rows sorted by row ID",
        }
    }
}

impl Merge {
    /// All indexes with their ranges, those of the node itself first.
    pub fn all<'a>(
        &'a self,
        index: usize,
        ranges: &'a [IndexRange],
    ) -> impl Iterator<Item = (usize, &'a [IndexRange])> {
        std::iter::once((index, ranges)).chain(self.others.iter().map(|o| (o.0, &o.1[..])))
    }

    /// `union(a,b)`
    pub fn words(&self, table: &TableDef, first: usize) -> String {
        let names: Vec<&str> = self.all(first, &[]).map(|(i, _)| &*table.indexes[i].name).collect();
        format!("{}({})", self.kind.name(), names.join(","))
    }
}

impl EntryUse {
    /// Conditions are tested before rows are read.
    pub fn has_conditions(&self) -> bool {
        !self.tests.is_empty() || !self.conditions.is_empty()
    }

    /// The walk jumps from group to group: MySQL counts that as a range.
    pub fn jumps(&self) -> bool {
        self.skip_scan || self.loose.is_some()
    }

    /// EXPLAIN's words in `Extra`, in MySQL's order; `filtered`: rows are tested, too.
    pub fn extra(&self, filtered: bool) -> Vec<&'static str> {
        let pushed = self.has_conditions() && !self.covering && !self.skip_scan;
        let mut words = vec![];
        if pushed {
            words.push("Using index condition");
        }
        if filtered || self.has_conditions() && !pushed {
            words.push("Using where");
        }
        match (self.loose, self.skip_scan, self.covering) {
            (Some(_), ..) => words.push("Using index for group-by"),
            (None, true, _) => words.push("Using index for skip scan"),
            (None, false, true) => words.push("Using index"),
            _ => {}
        }
        if self.multi_range.is_some() {
            words.push("Using MRR");
        }
        words
    }
}

/// A condition on one part of an index: its bytes lie within one of the ranges, each over that part alone.
#[derive(Clone, Debug, PartialEq)]
pub struct PartTest {
    pub part: usize,
    pub ranges: Vec<IndexRange>,
}

impl PartTest {
    /// The index of that part alone, which the ranges are over.
    pub fn index_of_part(index: &IndexDef, part: usize) -> IndexDef {
        IndexDef { parts: vec![index.parts[part].clone()], kind: catalog::IndexKind::Plain, ..index.clone() }
    }
}

/// Where a value lies among those that a column can hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Fitted {
    Exact(Value),
    /// Above this one and below the next.
    After(Value),
    /// Below or above them all.
    Below,
    Above,
    /// It does not order as the column's values do.
    Unfit,
}

/// `v` as a value of the column type `to`.
pub fn fit(v: Value, to: &SqlType) -> Fitted {
    match (&v, to) {
        (Value::Int(x), SqlType::Int { .. } | SqlType::Year) => fit_integer(*x as i128, false, to),
        (Value::UInt(x), SqlType::Int { .. } | SqlType::Year) => fit_integer(*x as i128, false, to),
        (Value::Decimal(d), SqlType::Int { .. }) => {
            let floor = d.floor();
            match floor.to_i128() {
                Some(x) => fit_integer(x, floor.cmp_value(d).is_ne(), to),
                None if d.is_negative() => Fitted::Below,
                None => Fitted::Above,
            }
        }
        (Value::Double(x), SqlType::Int { .. }) => {
            // Larger ones are compared as doubles, to which several integers round.
            if x.abs() < EXACT_DOUBLE_MAX {
                fit_integer(x.floor() as i128, x.fract() != 0.0, to)
            } else {
                Fitted::Unfit
            }
        }
        (Value::Int(x), SqlType::Decimal { precision, scale }) => {
            fit_decimal(Decimal::from_i64(*x), *precision, *scale)
        }
        (Value::UInt(x), SqlType::Decimal { precision, scale }) => {
            fit_decimal(Decimal::from_u64(*x), *precision, *scale)
        }
        (Value::Decimal(d), SqlType::Decimal { precision, scale }) => fit_decimal(*d, *precision, *scale),
        (Value::Date(_), SqlType::Date)
        | (Value::Time(_), SqlType::Time { .. })
        | (Value::DateTime(_), SqlType::DateTime { .. })
        | (Value::Timestamp(_), SqlType::Timestamp { .. })
        | (Value::Bytes(_), SqlType::String { .. })
        | (Value::Float(_), SqlType::Float)
        | (Value::Double(_), SqlType::Double) => Fitted::Exact(v),
        (Value::Date(d), SqlType::DateTime { .. }) => Fitted::Exact(Value::DateTime(d.midnight())),
        (Value::DateTime(t), SqlType::Date) => {
            let day = Value::Date(t.date());
            if t.micros_of_day() == 0 { Fitted::Exact(day) } else { Fitted::After(day) }
        }
        _ => Fitted::Unfit,
    }
}

/// From here on several integers are one DOUBLE.
pub const EXACT_DOUBLE_MAX: f64 = (1u64 << 53) as f64;

/// Whether a key part of type `part`, looked up by a DOUBLE, may have several values that equal it: see
/// [`integers_equal`].
pub fn rounds(key: &SqlType, part: &SqlType) -> bool {
    matches!((key, part), (SqlType::Double, SqlType::Int { size: IntSize::I64, .. }))
}

/// The values of an integer column that equal a DOUBLE when they are compared as DOUBLEs: one at most below 2^53, from
/// there on up to 2049.
pub fn integers_equal(x: f64, to: &SqlType) -> Vec<Value> {
    let SqlType::Int { size, unsigned } = to else { return vec![] };
    let (min, max) = size.range(*unsigned);
    if x.is_nan() || x.abs() > 2f64.powi(65) {
        return vec![];
    }
    let around = x.trunc() as i128;
    let half = (x.abs().next_up() - x.abs()) as i128 / 2;
    let near = (around - half).max(min)..=(around + half).min(max);
    let value = |n: i128| if *unsigned { Value::UInt(n as u64) } else { Value::Int(n as i64) };
    near.filter(|n| *n as f64 == x).map(value).collect()
}

fn fit_integer(x: i128, more: bool, to: &SqlType) -> Fitted {
    let (size, unsigned) = match to {
        SqlType::Int { size, unsigned } => (*size, *unsigned),
        _ => (types::IntSize::I16, false),
    };
    let (min, max) = size.range(unsigned);
    if x < min {
        return Fitted::Below;
    }
    if x > max {
        return Fitted::Above;
    }
    let v = if unsigned { Value::UInt(x as u64) } else { Value::Int(x as i64) };
    if more { Fitted::After(v) } else { Fitted::Exact(v) }
}

fn fit_decimal(d: Decimal, precision: u8, scale: u8) -> Fitted {
    let Some(mut cut) = d.truncate(scale) else {
        return if d.is_negative() { Fitted::Below } else { Fitted::Above };
    };
    let exact = cut.cmp_value(&d).is_eq();
    if !exact && d.is_negative() {
        // Cutting goes towards zero, flooring away from it.
        match cut.sub(&Decimal::from_i128(1, scale)) {
            Some(lower) => cut = lower,
            None => return Fitted::Below,
        }
    }
    let limit = I256::pow10(precision as usize);
    if cut.unscaled.abs() >= limit {
        return if cut.is_negative() { Fitted::Below } else { Fitted::Above };
    }
    if exact { Fitted::Exact(Value::Decimal(cut)) } else { Fitted::After(Value::Decimal(cut)) }
}

/// The ends of a range whose expressions `eval` computes, in the index's order; `None` if it is empty for sure.
pub fn resolve(
    range: &IndexRange,
    table: &TableDef,
    index: &IndexDef,
    eval: &mut dyn FnMut(&Expr) -> Result<Value>,
) -> Result<Option<KeyBounds>> {
    let mut equal = Vec::with_capacity(range.equal.len() + 1);
    for (k, part) in range.equal.iter().zip(&index.parts) {
        let v = eval(&k.expr)?;
        if v.is_null() {
            if !k.null_safe || !table.columns[part.column_idx].nullable {
                return Ok(None);
            }
            equal.push(Value::Null);
            continue;
        }
        match fit(v, &table.columns[part.column_idx].ty) {
            Fitted::Exact(v) => equal.push(v),
            // Entries that might compare equal nevertheless: all of them, the filter decides.
            Fitted::Unfit => return Ok(Some(whole(equal))),
            _ => return Ok(None),
        }
    }
    let Some(last) = &range.last else { return Ok(Some(whole(equal))) };
    let part = &index.parts[equal.len()];
    let ty = table.columns[part.column_idx].ty;
    let (low, high) = match last {
        LastPart::StartsWith(e) => {
            let mut end = KeyEnd { values: equal, inclusive: true, starts_with: true };
            match eval(e)? {
                Value::Null => return Ok(None),
                v => end.values.push(v),
            }
            return Ok(Some(KeyBounds { low: end.clone(), high: end }));
        }
        LastPart::Between { low, high } => (low, high),
    };
    let is_prefix = part.prefix_len.is_some();
    // In the order of values; `None`: above the NULLs, or at the upper end.
    let (mut from, mut to) = (None, None);
    if let Some(end) = low {
        match end_value(end, &ty, eval)? {
            None => return Ok(None),
            Some(Fitted::Exact(v)) => from = Some((v, end.inclusive || is_prefix)),
            Some(Fitted::After(v)) => from = Some((v, false)),
            Some(Fitted::Below | Fitted::Unfit) => {}
            Some(Fitted::Above) => return Ok(None),
        }
    }
    if let Some(end) = high {
        match end_value(end, &ty, eval)? {
            None => return Ok(None),
            Some(Fitted::Exact(v)) => to = Some((v, end.inclusive || is_prefix)),
            Some(Fitted::After(v)) => to = Some((v, true)),
            Some(Fitted::Above | Fitted::Unfit) => {}
            Some(Fitted::Below) => return Ok(None),
        }
    }
    // Keys of a NOT NULL column have no place for NULL.
    let from = from.or_else(|| table.columns[part.column_idx].nullable.then_some((Value::Null, false)));
    let end = |at: Option<(Value, bool)>| match at {
        Some((v, inclusive)) => {
            let mut values = equal.clone();
            values.push(v);
            KeyEnd { values, inclusive, starts_with: false }
        }
        None => KeyEnd { values: equal.clone(), inclusive: true, starts_with: false },
    };
    Ok(Some(if part.descending {
        KeyBounds { low: end(to), high: end(from) }
    } else {
        KeyBounds { low: end(from), high: end(to) }
    }))
}

/// `None`: NULL, which nothing compares with.
fn end_value(end: &RangeEnd, ty: &SqlType, eval: &mut dyn FnMut(&Expr) -> Result<Value>) -> Result<Option<Fitted>> {
    let v = eval(&end.expr)?;
    Ok(if v.is_null() { None } else { Some(fit(v, ty)) })
}

/// All entries that begin with `values`.
fn whole(values: Vec<Value>) -> KeyBounds {
    let end = KeyEnd { values, inclusive: true, starts_with: false };
    KeyBounds { low: end.clone(), high: end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_integers_are_one_double() {
        let signed = SqlType::Int { size: IntSize::I64, unsigned: false };
        let unsigned = SqlType::Int { size: IntSize::I64, unsigned: true };
        let ints = |v: &[i64]| v.iter().map(|v| Value::Int(*v)).collect::<Vec<_>>();
        assert_eq!(integers_equal(5.0, &signed), ints(&[5]));
        assert_eq!(integers_equal(5.5, &signed), []);
        let two53 = 1i64 << 53;
        assert_eq!(integers_equal(two53 as f64, &signed), ints(&[two53, two53 + 1]));
        assert_eq!(integers_equal(-(two53 as f64), &signed), ints(&[-two53 - 1, -two53]));
        assert_eq!(integers_equal((two53 + 4) as f64, &signed), ints(&[two53 + 3, two53 + 4, two53 + 5]));
        for x in [2f64.powi(60), 2f64.powi(63), 1.2e18, -3.3e18, 2f64.powi(64).next_down()] {
            for to in [signed, unsigned] {
                for v in integers_equal(x, &to) {
                    let (n, near) = match v {
                        Value::Int(n) => (n as f64, [n.wrapping_sub(1) as f64, n.wrapping_add(1) as f64]),
                        Value::UInt(n) => (n as f64, [n.wrapping_sub(1) as f64, n.wrapping_add(1) as f64]),
                        other => panic!("{other:?}"),
                    };
                    assert_eq!(n, x);
                    assert!(near.contains(&x), "alone: {x}");
                }
            }
        }
        assert_eq!(integers_equal(2f64.powi(63), &signed), ints(&(i64::MAX - 511..=i64::MAX).collect::<Vec<_>>()));
        assert_eq!(integers_equal(2f64.powi(63), &unsigned).len(), 512 + 1 + 1024);
        assert_eq!(integers_equal(-1.0, &unsigned), []);
        assert_eq!(integers_equal(1e300, &signed), []);
    }

    #[test]
    fn values_between_two_of_the_column_lie_after_the_lower() {
        let tiny = SqlType::Int { size: IntSize::I8, unsigned: false };
        let dec = |u: i128, s: u8| Value::Decimal(Decimal::from_i128(u, s));
        assert_eq!(fit(Value::Int(127), &tiny), Fitted::Exact(Value::Int(127)));
        assert_eq!(fit(Value::Int(128), &tiny), Fitted::Above);
        assert_eq!(fit(Value::Int(-129), &tiny), Fitted::Below);
        assert_eq!(fit(dec(25, 1), &tiny), Fitted::After(Value::Int(2)));
        assert_eq!(fit(dec(-25, 1), &tiny), Fitted::After(Value::Int(-3)));
        assert_eq!(fit(dec(-20, 1), &tiny), Fitted::Exact(Value::Int(-2)));
        assert_eq!(fit(Value::Double(-2.5), &tiny), Fitted::After(Value::Int(-3)));
        let money = SqlType::Decimal { precision: 4, scale: 2 };
        assert_eq!(fit(dec(-1234, 3), &money), Fitted::After(dec(-124, 2)));
        assert_eq!(fit(dec(1234, 3), &money), Fitted::After(dec(123, 2)));
        assert_eq!(fit(Value::Int(100), &money), Fitted::Above);
        assert_eq!(fit(Value::Int(-100), &money), Fitted::Below);
        assert_eq!(fit(Value::Double(1.5), &money), Fitted::Unfit);
    }
}
