//! Comparisons: which type two operands are compared in, and what is converted for it.
//!
//! ```text
//! string   with string          strings, under the stronger collation
//! integer  with integer         integers; with DECIMAL: decimals of one scale
//! number   with string, DOUBLE  doubles
//! temporal with a constant      the constant becomes temporal, 1525 if it cannot be read
//! temporal with a string        the string becomes temporal, row by row
//! DATE     with DATETIME        datetimes; TIME with DATETIME likewise, on the current date
//! temporal with a number        numbers YYYYMMDDhhmmss, unless the number is a constant that is a date
//! ```
//! A constant is moved to the column's type where that is exact, never the column.

use super::arith::{decimal_shape, numeric};
use super::cast::convert_exactly;
use super::common::{decimal_type, scale_of};
use super::digits::unrounded;
use super::{aggregate_collations, and, implicit_cast, not, or, plain, temporal};
use crate::{CmpOp, ColumnId, Expr, ExprKind};
use std::collections::HashMap;
use types::temporal::parse::year_from_number;
use types::{Error, Result, SqlType, Value};

/// `l op r`, rows included.
pub fn compare(op: CmpOp, l: Expr, r: Expr) -> Result<Expr> {
    match (l.kind, r.kind) {
        (ExprKind::Row(a), ExprKind::Row(b)) => compare_rows(op, a, b),
        (ExprKind::Row(a), _) | (_, ExprKind::Row(a)) => Err(Error::operand_columns(a.len())),
        (a, b) => {
            let l = Expr { kind: a, ty: l.ty, nullable: l.nullable };
            let r = Expr { kind: b, ty: r.ty, nullable: r.nullable };
            let (l, r) = unify(l, r, op.symbol())?;
            Ok(node(op, l, r))
        }
    }
}

fn node(op: CmpOp, l: Expr, r: Expr) -> Expr {
    let nullable = op != CmpOp::NullSafeEq && (l.nullable || r.nullable);
    Expr::new(ExprKind::Compare { op, left: l.into(), right: r.into() }, SqlType::Bool, nullable)
}

fn compare_rows(op: CmpOp, a: Vec<Expr>, b: Vec<Expr>) -> Result<Expr> {
    if a.len() != b.len() {
        return Err(Error::operand_columns(a.len()));
    }
    let each = |op: CmpOp, a: Vec<Expr>, b: Vec<Expr>| -> Result<Vec<Expr>> {
        a.into_iter().zip(b).map(|(x, y)| compare(op, x, y)).collect()
    };
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => and(each(op, a, b)?),
        CmpOp::Ne => or(each(op, a, b)?),
        CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge => {
            // (a, b, c) < (x, y, z)  is  a < x OR (a = x AND b < y) OR (a = x AND b = y AND c < z)
            let strict = match op {
                CmpOp::Le => CmpOp::Lt,
                CmpOp::Ge => CmpOp::Gt,
                other => other,
            };
            let n = a.len();
            let mut terms = Vec::with_capacity(n);
            for i in 0..n {
                let mut parts = Vec::with_capacity(i + 1);
                for k in 0..i {
                    parts.push(compare(CmpOp::Eq, a[k].clone(), b[k].clone())?);
                }
                let last = if i + 1 == n { op } else { strict };
                parts.push(compare(last, a[i].clone(), b[i].clone())?);
                terms.push(and(parts)?);
            }
            or(terms)
        }
    }
}

/// Both operands in one comparison class.
pub(super) fn unify(l: Expr, r: Expr, operation: &str) -> Result<(Expr, Expr)> {
    use SqlType::*;
    let (years, constants) = (year_beside(&r, &l), year_beside(&l, &r));
    let (l, r) = (unrounded(years.unwrap_or(l)), unrounded(constants.unwrap_or(r)));
    let (a, b) = (l.ty, r.ty);
    let (l, r) = if a.is_numeric() || b.is_numeric() { (l, r) } else { (plain(l), plain(r)) };
    match (a, b) {
        (Null, Null) => Ok((l, r)),
        (Null, t) => Ok((implicit_cast(l, t), r)),
        (t, Null) => Ok((l, implicit_cast(r, t))),
        (String { .. }, String { .. }) => strings(l, r, operation),
        _ if a.is_numeric() && b.is_numeric() => Ok(numbers(l, r)),
        _ if a.is_temporal() && b.is_temporal() => Ok(temporal::unify(l, r)),
        _ if a.is_temporal() => temporal::unify_with_other(l, r),
        _ if b.is_temporal() => temporal::unify_with_other(r, l).map(|(r, l)| (l, r)),
        // A number with a string; hexadecimal literals are integers here.
        _ => {
            let l = exact_text(&l, &r).unwrap_or(l);
            let r = exact_text(&r, &l).unwrap_or(r);
            Ok(numbers(numeric(l), numeric(r)))
        }
    }
}

fn strings(l: Expr, r: Expr, operation: &str) -> Result<(Expr, Expr)> {
    let collation = aggregate_collations(&[&l, &r], operation)?;
    let Some(c) = collation else { return Ok((l, r)) };
    let to = |e: Expr| match e.ty {
        SqlType::String { kind, len, collation } if collation != c => {
            implicit_cast(e, SqlType::String { kind, len, collation: c })
        }
        _ => e,
    };
    Ok((to(l), to(r)))
}

fn numbers(l: Expr, r: Expr) -> (Expr, Expr) {
    use SqlType::*;
    let (a, b) = (l.ty, r.ty);
    if a.is_integer() && b.is_integer() {
        // A constant takes the column's type if it fits; else the kernel compares by value.
        return match (l.as_const(), r.as_const()) {
            (None, Some(v)) => match convert_exactly(v, &a) {
                Some(v) => (l, Expr::constant(v, a)),
                None => (l, r),
            },
            (Some(v), None) => match convert_exactly(v, &b) {
                Some(v) => (Expr::constant(v, b), r),
                None => (l, r),
            },
            _ => (l, r),
        };
    }
    // An integral double beside integers is an integer: rounding those to doubles would not change the answer, and a
    // bare column may use its index. Clients send numbers as doubles and as strings.
    match (integral(&r), integral(&l)) {
        (Some(r), _) if a.is_integer() => return numbers(l, r),
        (_, Some(l)) if b.is_integer() => return numbers(l, r),
        _ => {}
    }
    if matches!(a, Double | Float) || matches!(b, Double | Float) {
        if a == Float && b == Float {
            return (l, r);
        }
        return (implicit_cast(l, Double), implicit_cast(r, Double));
    }
    if scale_of(&a) == scale_of(&b) && a.is_integer() == b.is_integer() {
        return (l, r);
    }
    match (l.as_const(), r.as_const()) {
        (None, Some(v)) => {
            if let Some(v) = convert_exactly(v, &a) {
                return (l, Expr::constant(v, a));
            }
        }
        (Some(v), None) => {
            if let Some(v) = convert_exactly(v, &b) {
                return (Expr::constant(v, b), r);
            }
        }
        _ => {}
    }
    let ((lw, ls), (rw, rs)) = (decimal_shape(&l), decimal_shape(&r));
    let common = decimal_type(lw.max(rw), ls.max(rs));
    (implicit_cast(l, common), implicit_cast(r, common))
}

/// A string constant that is compared with an integer column, as the exact number that it holds: MySQL converts it to
/// the column's type, so that integers beyond 2^53 are told apart. `None`: it is no such number, or stands beside
/// something else, and both are compared as doubles.
fn exact_text(text: &Expr, column: &Expr) -> Option<Expr> {
    if !matches!(column.kind, ExprKind::Column(_)) || !column.ty.is_integer() || !text.ty.is_string() {
        return None;
    }
    let Some(Value::Bytes(bytes)) = text.as_const() else { return None };
    let trimmed = bytes.trim_ascii();
    let read = types::decimal::parse_decimal(trimmed);
    if trimmed.is_empty() || read.bad || read.overflow || read.trailing || read.rounded {
        return None;
    }
    let number = read.value;
    let digits = number.unscaled.abs().to_string().len() as u8;
    let ty = SqlType::Decimal { precision: digits.max(number.scale).clamp(1, 65), scale: number.scale };
    let whole = Expr::constant(Value::Decimal(number), ty);
    let exactly = |ty: SqlType| Some(Expr::constant(convert_exactly(whole.as_const()?, &ty)?, ty));
    exactly(SqlType::BIGINT).or_else(|| exactly(SqlType::BIGINT_UNSIGNED)).or(Some(whole.clone()))
}

/// A constant beside a YEAR column as the column would hold it, so that 24 and '24' are 2024: `None` for what it cannot
/// hold, which is compared as the number that it is.
fn year_beside(column: &Expr, constant: &Expr) -> Option<Expr> {
    if column.ty != SqlType::Year || !matches!(column.kind, ExprKind::Column(_)) {
        return None;
    }
    let year = match constant.as_const()? {
        Value::Bytes(text) => {
            let text = std::str::from_utf8(text).ok()?.trim();
            // Four zeros are the year 0000, fewer are 2000.
            year_from_number(text.parse().ok()?, text.len() != 4)?
        }
        v => match convert_exactly(v, &SqlType::BIGINT)? {
            Value::Int(v) => year_from_number(v, false)?,
            _ => return None,
        },
    };
    Some(Expr::constant(Value::Int(year.into()), SqlType::BIGINT))
}

/// The integer that a double constant is, or that a string constant holds that was to become a double.
fn integral(e: &Expr) -> Option<Expr> {
    const EXACT: i64 = 1 << 53;
    let v = match &e.kind {
        ExprKind::Const(Value::Double(v)) if v.fract() == 0.0 && v.abs() < EXACT as f64 => *v as i64,
        ExprKind::Cast { expr, explicit: false } if e.ty == SqlType::Double => match expr.as_const() {
            Some(Value::Bytes(b)) => std::str::from_utf8(b).ok()?.parse().ok()?,
            _ => return None,
        },
        _ => return None,
    };
    (v > -EXACT && v < EXACT).then(|| Expr::constant(Value::Int(v), SqlType::BIGINT))
}

/// `e [NOT] BETWEEN low AND high`
pub fn between(e: Expr, low: Expr, high: Expr, negated: bool) -> Result<Expr> {
    let inside = and(vec![compare(CmpOp::Ge, e.clone(), low)?, compare(CmpOp::Le, e, high)?])?;
    if negated { not(inside) } else { Ok(inside) }
}

/// `e [NOT] IN (list)`; rows are expanded. Items that compare in different types with `e` become a chain of ORs.
pub fn in_list(e: Expr, list: Vec<Expr>, negated: bool) -> Result<Expr> {
    // What all items so far are compared with, and the items; or the comparisons, once they are of several kinds.
    let mut left_side: Option<Expr> = None;
    let mut items = Vec::with_capacity(list.len());
    let mut terms = vec![];
    for item in list {
        let term = compare(CmpOp::Eq, e.clone(), item)?;
        let (ty, nullable) = (term.ty, term.nullable);
        match term.kind {
            ExprKind::Compare { left, right, .. }
                if terms.is_empty()
                    && left_side.as_ref().is_none_or(|l| *l == *left)
                    && same_class(&left.ty, &right.ty) =>
            {
                left_side.get_or_insert(*left);
                items.push(*right);
            }
            kind => {
                terms.extend(items.drain(..).zip(left_side.iter().cycle()).map(|(i, l)| node(CmpOp::Eq, l.clone(), i)));
                terms.push(Expr { kind, ty, nullable });
            }
        }
    }
    if !terms.is_empty() {
        let any = or(terms)?;
        return if negated { not(any) } else { Ok(any) };
    }
    let expr = left_side.ok_or_else(|| Error::internal("IN without a list"))?;
    if items.len() == 1 {
        let one = node(CmpOp::Eq, expr, items.pop().expect("one item"));
        return if negated { not(one) } else { Ok(one) };
    }
    let nullable = expr.nullable || items.iter().any(|i| i.nullable);
    Ok(Expr::new(ExprKind::InList { expr: expr.into(), list: items.into(), negated }, SqlType::Bool, nullable))
}

/// What `row IN (rows)` compares where the list is a table of constants.
pub struct RowList {
    /// The row, each part in the type it is compared in.
    pub row: Vec<Expr>,
    /// The list's rows, each cell of its column's type.
    pub rows: Vec<Vec<Expr>>,
    pub types: Vec<SqlType>,
}

/// The list of `row IN (list)` as a table of constants and parameters, of one type a column. `None`: some part compares
/// in different types with the list's items, or items are no constants.
pub fn row_list(row: &[Expr], list: &[Expr]) -> Result<Option<RowList>> {
    let items = |item| match item {
        &Expr { kind: ExprKind::Row(ref items), .. } if items.len() == row.len() => Ok(items),
        _ => Err(Error::operand_columns(row.len())),
    };
    list.iter().try_for_each(|item| items(item).map(|_| ()))?;
    let mut builder = RowListBuilder::new(row);
    for item in list {
        if !builder.push(items(item)?.clone())? {
            return Ok(None);
        }
    }
    Ok(builder.finish())
}

/// Collects a [`RowList`], row by row.
pub struct RowListBuilder<'r> {
    row: &'r [Expr],
    columns: Vec<ListColumn>,
    rows: usize,
}

impl<'r> RowListBuilder<'r> {
    pub fn new(row: &'r [Expr]) -> RowListBuilder<'r> {
        RowListBuilder { row, columns: row.iter().map(|_| ListColumn::default()).collect(), rows: 0 }
    }

    /// Adds a row of as many items. False: it is no such list.
    pub fn push(&mut self, items: Vec<Expr>) -> Result<bool> {
        self.rows += 1;
        for ((part, item), column) in self.row.iter().zip(items).zip(&mut self.columns) {
            let fits = match is_null_const(&item) {
                true => column.push_null(),
                false => {
                    let (left, right) = unify(part.clone(), item, CmpOp::Eq.symbol())?;
                    column.push(left, right)
                }
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `None`: it is no such list.
    pub fn finish(self) -> Option<RowList> {
        let width = self.row.len();
        let rows = (0..self.rows).map(|_| Vec::with_capacity(width)).collect();
        let mut out = RowList { row: vec![], rows, types: vec![] };
        self.columns.into_iter().all(|c| c.finish(&mut out)).then_some(out)
    }
}

/// One column of a list of rows while it is collected.
#[derive(Default)]
struct ListColumn {
    /// What the cells are compared with, and the type of all of them.
    compared: Option<(Expr, SqlType)>,
    cells: Vec<Expr>,
}

impl ListColumn {
    fn push_null(&mut self) -> bool {
        self.cells.push(super::null());
        true
    }

    /// The sides of one more comparison. False: they do not go with those before.
    fn push(&mut self, left: Expr, right: Expr) -> bool {
        let ty = match &self.compared {
            _ if !is_fixed(&right) => return false,
            None => Some(right.ty),
            Some((first, ty)) if *first == left => wider(*ty, right.ty),
            Some(_) => None,
        };
        let Some(ty) = ty.filter(|t| !t.is_integer() || !is_beyond_bigint(&right)) else { return false };
        self.cells.push(right);
        self.compared = Some((left, ty));
        true
    }

    /// Adds the column to the list's rows. False: there is nothing but NULLs.
    fn finish(self, out: &mut RowList) -> bool {
        let Some((left, ty)) = self.compared else { return false };
        let ty = match ty.is_integer() {
            // Keys are narrow where the row's are.
            true if self.cells.iter().all(|c| is_within(c, &left.ty)) => left.ty,
            true => SqlType::BIGINT,
            false => ty,
        };
        for (cells, cell) in out.rows.iter_mut().zip(self.cells) {
            cells.push(match cell.as_const() {
                Some(Value::UInt(v)) if !ty.is_unsigned() => Expr::constant(Value::Int(*v as i64), ty),
                Some(Value::Int(v)) if ty.is_unsigned() => Expr::constant(Value::UInt(*v as u64), ty),
                Some(v) => Expr::constant(v.clone(), ty),
                None => implicit_cast(cell, ty),
            });
        }
        out.row.push(left);
        out.types.push(ty);
        true
    }
}

/// The branches of an OR, those that say the same columns equal to constants as lists of rows: of so many rows at
/// least. `a = 1 AND b = 2 OR b = 4 AND a = 3 OR c` is `(a, b) IN ((1, 2), (3, 4)) OR c`.
pub fn lists_of_or(branches: Vec<Expr>, rows_min: usize) -> (Vec<RowList>, Vec<Expr>) {
    if branches.len() < rows_min {
        return (vec![], branches);
    }
    let mut groups: HashMap<Vec<ColumnId>, Vec<usize>> = HashMap::new();
    for (i, b) in branches.iter().enumerate() {
        if let Some(columns) = columns_equal_to_constants(b) {
            groups.entry(columns).or_default().push(i);
        }
    }
    let mut is_listed = vec![false; branches.len()];
    let mut lists = vec![];
    let mut groups: Vec<_> = groups.into_iter().filter(|(_, of)| of.len() >= rows_min).collect();
    groups.sort_by_key(|(_, of)| of[0]);
    for (columns, of) in groups {
        if let Some(list) = list_of_branches(&branches, &columns, &of) {
            of.iter().for_each(|&i| is_listed[i] = true);
            lists.push(list);
        }
    }
    let rest = branches.into_iter().zip(is_listed).filter(|(_, listed)| !listed).map(|(b, _)| b);
    (lists, rest.collect())
}

fn terms_of(branch: &Expr) -> &[Expr] {
    match &branch.kind {
        ExprKind::And(terms) => terms,
        _ => std::slice::from_ref(branch),
    }
}

/// The columns, in order, that the terms of a branch are about, if each is `column = constant` of another column.
fn columns_equal_to_constants(branch: &Expr) -> Option<Vec<ColumnId>> {
    let mut columns = terms_of(branch).iter().map(|t| Some(column_and_constant(t)?.0)).collect::<Option<Vec<_>>>()?;
    columns.sort_unstable();
    columns.windows(2).all(|w| w[0] != w[1]).then_some(columns)
}

/// `column = constant`: the column, its side of the comparison, the other one.
fn column_and_constant(e: &Expr) -> Option<(ColumnId, &Expr, &Expr)> {
    let ExprKind::Compare { op: CmpOp::Eq, left, right } = &e.kind else { return None };
    let column = |e: &Expr| match &e.kind {
        ExprKind::Column(c) => Some(*c),
        ExprKind::Cast { expr, explicit: false } => match expr.kind {
            ExprKind::Column(c) => Some(c),
            _ => None,
        },
        _ => None,
    };
    match (column(left), column(right)) {
        (Some(c), None) => Some((c, left, right)),
        (None, Some(c)) => Some((c, right, left)),
        _ => None,
    }
}

fn list_of_branches(branches: &[Expr], columns: &[ColumnId], of: &[usize]) -> Option<RowList> {
    let mut lists: Vec<ListColumn> = columns.iter().map(|_| ListColumn::default()).collect();
    for &i in of {
        for term in terms_of(&branches[i]) {
            let (column, left, right) = column_and_constant(term)?;
            let list = &mut lists[columns.binary_search(&column).ok()?];
            let fits = match is_null_const(right) {
                true => list.push_null(),
                false => list.push(left.clone(), right.clone()),
            };
            if !fits {
                return None;
            }
        }
    }
    let rows = of.iter().map(|_| Vec::with_capacity(columns.len())).collect();
    let mut out = RowList { row: vec![], rows, types: vec![] };
    lists.into_iter().all(|l| l.finish(&mut out)).then_some(out)
}

/// A constant or a parameter.
fn is_fixed(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Const(_) | ExprKind::Param(_) => true,
        ExprKind::Cast { expr, .. } => is_fixed(expr),
        _ => false,
    }
}

/// A constant that an integer column of this type can hold.
fn is_within(e: &Expr, ty: &SqlType) -> bool {
    let SqlType::Int { size, unsigned } = *ty else { return false };
    let (min, max) = size.range(unsigned);
    match e.as_const() {
        Some(Value::Null) => true,
        Some(Value::Int(v)) => (min..=max).contains(&i128::from(*v)),
        Some(Value::UInt(v)) => (min..=max).contains(&i128::from(*v)),
        _ => false,
    }
}

/// An integer that is, or may be, no BIGINT.
fn is_beyond_bigint(e: &Expr) -> bool {
    match e.as_const() {
        Some(Value::UInt(v)) => i64::try_from(*v).is_err(),
        Some(_) => false,
        None => e.ty == SqlType::BIGINT_UNSIGNED,
    }
}

/// One type that holds values of both, which compare alike.
pub(crate) fn wider(a: SqlType, b: SqlType) -> Option<SqlType> {
    use SqlType::*;
    if a == b {
        return Some(a);
    }
    Some(match (a, b) {
        _ if !same_class(&a, &b) => return None,
        (Decimal { precision: x, scale }, Decimal { precision: y, .. }) => Decimal { precision: x.max(y), scale },
        (String { len: x, .. }, String { len: y, collation, .. }) => super::string_type(x.max(y), collation),
        (Time { fsp: x }, Time { fsp: y }) => Time { fsp: x.max(y) },
        (DateTime { fsp: x }, DateTime { fsp: y }) => DateTime { fsp: x.max(y) },
        (Timestamp { fsp: x }, Timestamp { fsp: y }) => Timestamp { fsp: x.max(y) },
        _ => SqlType::BIGINT,
    })
}

fn same_class(a: &SqlType, b: &SqlType) -> bool {
    use SqlType::*;
    match (a, b) {
        (Decimal { scale: x, .. }, Decimal { scale: y, .. }) => x == y,
        (String { collation: x, .. }, String { collation: y, .. }) => x == y,
        (Time { .. }, Time { .. }) | (DateTime { .. }, DateTime { .. }) | (Timestamp { .. }, Timestamp { .. }) => true,
        _ => a == b || (a.is_integer() && b.is_integer()),
    }
}

/// Whether the expression is NULL itself.
pub(super) fn is_null_const(e: &Expr) -> bool {
    matches!(e.as_const(), Some(Value::Null))
}
