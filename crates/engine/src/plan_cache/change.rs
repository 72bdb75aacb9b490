//! PointUpdate and PointDelete: the flat plans of
//!
//! ```text
//!  UPDATE table SET column = value | column ± number | another column, ... WHERE unique key = values
//!  DELETE FROM table WHERE unique key = values
//!
//!  values ─ into the key's types ─▶ Table::change_by_key ─▶ the row's newest version ─▶ new values ─▶ changed in place
//! ```
//! Made of a bound statement of exactly this shape, for tables and columns where nothing else depends on the change: no
//! generated columns, no CHECK, no foreign key of or on the columns. New values are converted to their columns' types
//! beforehand; one that does not fit as it is (an error, a warning, an adjustment) is left to the ordinary way, and so
//! is a result that does not fit.

use super::key::{ChangeShape, Positions, Source, UniqueKey};
use crate::session::Execution;
use catalog::{DefaultValue, TableDef};
use changes::flat::{Arith, Assigned, FlatUpdate, Operand, has_plain_rules};
use expr::{ArithOp, Expr, ExprKind};
use plan::logical::LogicalQuery;
use planner::bind::{BoundDelete, BoundUpdate, NewValue};
use std::sync::Arc;
use types::{SqlType, Value};

/// See the module head.
#[derive(Debug)]
pub(crate) struct PointUpdate {
    pub key: UniqueKey,
    pub row: FlatUpdate,
}

/// See the module head.
#[derive(Debug)]
pub(crate) struct PointDelete {
    pub table: Arc<TableDef>,
    pub key: UniqueKey,
}

/// The shape of a statement whose plan may be kept.
fn shape(query: &LogicalQuery) -> Option<ChangeShape<'_>> {
    ChangeShape::of(query).filter(|s| query.cacheable && !query.serial && !s.table.temporary)
}

impl PointDelete {
    /// `None`: the statement is of another shape.
    pub fn of(session: &Execution<'_>, bound: &BoundDelete) -> Option<PointDelete> {
        let shape = shape(&bound.query)?;
        let table = shape.table;
        let referenced = !session.db().catalog().references_to(&table.schema, &table.name).is_empty();
        if referenced || bound.targets.len() != 1 {
            return None;
        }
        Some(PointDelete {
            table: table.clone(),
            key: UniqueKey::of(table, shape.predicates, &|id| shape.position(id))?,
        })
    }
}

impl PointUpdate {
    /// `None`: the statement is of another shape.
    pub fn of(session: &Execution<'_>, bound: &BoundUpdate) -> Option<PointUpdate> {
        let shape = shape(&bound.query)?;
        let table = shape.table;
        if bound.targets.len() != 1 || !has_plain_rules(table) || !bound.targets[0].checks.is_empty() {
            return None;
        }
        let position = |id| shape.position(id);
        let key = UniqueKey::of(table, shape.predicates, &position)?;
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for a in &bound.assignments {
            if columns.contains(&a.column_idx) {
                return None;
            }
            columns.push(a.column_idx);
            values.push(match a.value {
                NewValue::Default => default(table, a.column_idx)?,
                NewValue::Output(p) => assigned(table, a.column_idx, shape.expr(bound.query.output[p].0)?, &position)?,
            });
        }
        let named = columns.len();
        for (idx, c) in table.columns.iter().enumerate() {
            if c.on_update_current_timestamp && !columns.contains(&idx) {
                columns.push(idx);
                values.push(Assigned::Now);
            }
        }
        let free = !columns.iter().any(|&c| table.columns[c].auto_increment || is_in_reference(session, table, c));
        free.then(|| PointUpdate { key, row: FlatUpdate { table: table.clone(), columns, values, named } })
    }
}

/// `SET column = DEFAULT`
fn default(table: &TableDef, column: usize) -> Option<Assigned> {
    let c = &table.columns[column];
    match &c.default {
        DefaultValue::Value(v) => Some(Assigned::Value(Source::Const(v.clone()))),
        DefaultValue::CurrentTimestamp => Some(Assigned::Now),
        DefaultValue::None if c.nullable => Some(Assigned::Value(Source::Const(Value::Null))),
        _ => None,
    }
}

fn assigned(table: &TableDef, column: usize, e: &Expr, position: Positions<'_>) -> Option<Assigned> {
    Some(match &e.kind {
        ExprKind::Param(n) => Assigned::Value(Source::Param(*n as usize)),
        ExprKind::Const(v) => Assigned::Value(Source::Const(v.clone())),
        ExprKind::Column(id) => {
            let from = position(*id)?;
            (table.columns[from].ty == table.columns[column].ty).then_some(Assigned::Copy(from))?
        }
        ExprKind::Arith { op: op @ (ArithOp::Add | ArithOp::Sub | ArithOp::Mul), left, right } => {
            // What becomes of a fraction in an integer column, or of a FLOAT, is left to the ordinary way.
            let of = |e: &Expr| (e.ty.is_integer(), matches!(e.ty, SqlType::Decimal { .. } | SqlType::Double));
            let column_ty = &table.columns[column].ty;
            let suits = match of(e) {
                (true, _) => column_ty.is_integer(),
                (_, true) => matches!(column_ty, SqlType::Decimal { .. } | SqlType::Double),
                _ => false,
            };
            if !suits {
                return None;
            }
            let operand = |side: &Expr| {
                // Exact numbers beside a DOUBLE become such.
                let side = match &side.kind {
                    ExprKind::Cast { expr, explicit: false } if e.ty == SqlType::Double => expr,
                    _ => side,
                };
                match &side.kind {
                    _ if of(side) == (false, false) => None,
                    ExprKind::Param(n) => Some(Operand::Given(Source::Param(*n as usize))),
                    ExprKind::Const(v) => Some(Operand::Given(Source::Const(v.clone()))),
                    ExprKind::Column(id) => position(*id).map(|c| Operand::Column(c, side.ty)),
                    _ => None,
                }
            };
            Assigned::Arith(Box::new(Arith { op: *op, left: operand(left)?, right: operand(right)?, ty: e.ty }))
        }
        _ => return None,
    })
}

/// Whether a foreign key refers from the column, or to it.
fn is_in_reference(session: &Execution<'_>, table: &TableDef, column: usize) -> bool {
    let name = &table.columns[column].name;
    let incoming = session.db().catalog().references_to(&table.schema, &table.name);
    table.foreign_keys.iter().any(|key| key.columns.contains(&column))
        || incoming.iter().any(|(child, fk)| {
            child.foreign_keys[*fk].parent_columns.iter().any(|n| n.eq_ignore_ascii_case(name) || !n.is_ascii())
        })
}
