//! What an INSERT does with a row whose unique key exists: the clause's names.
//!
//! Assignments without subqueries are compiled once. As soon as one of them has a subquery, all are bound anew for each
//! duplicate, with the row's values by then.

use crate::session::Execution;
use catalog::TableDef;
use changes::{AssignedValue, DuplicateUpdate, EachTime, OnDuplicate, generated_takes_no_value};
use expr::{Compiled, Params};
use parser::ast;
use planner::bind::{DuplicateNames, DuplicateValue};
use std::sync::Arc;
use storage::Txn;
use types::{Error, Result, SqlType, Value};

/// What [`EachTime::names`] is here.
struct Bound {
    names: DuplicateNames,
    /// One an assignment; `None`: DEFAULT.
    values: Vec<(usize, Option<ast::Expr>)>,
}

impl Execution<'_> {
    /// `view`: the one that the rows are written through.
    pub(super) fn on_duplicate(
        &self,
        insert: &ast::Insert,
        def: &Arc<TableDef>,
        names: Option<DuplicateNames>,
        view: Option<&(Box<str>, Box<str>)>,
    ) -> Result<OnDuplicate> {
        if insert.replace {
            return Ok(OnDuplicate::Replace);
        }
        if insert.on_duplicate.is_empty() {
            return Ok(OnDuplicate::Error);
        }
        let info = self.info();
        let names = names.unwrap_or_else(|| DuplicateNames::new(def, insert)).through(view);
        let bound = self.binder(&info).bind_on_duplicate(&insert.on_duplicate, &names)?;
        for (column, value) in &bound {
            if def.columns[*column].generated.is_some() && !matches!(value, DuplicateValue::Default) {
                return Err(generated_takes_no_value(def, *column));
            }
        }
        let types: Vec<SqlType> = names.types().iter().map(|(ty, _)| *ty).collect();
        let mut update = DuplicateUpdate::new(info, types[2 * def.columns.len()..].to_vec());
        if bound.iter().any(|(_, value)| matches!(value, DuplicateValue::EachTime(_))) {
            let value = |a: &ast::Assignment| match a.value.kind {
                ast::ExprKind::Default => None,
                _ => Some(a.value.clone()),
            };
            let values: Vec<(usize, Option<ast::Expr>)> =
                bound.iter().zip(&insert.on_duplicate).map(|((column, _), a)| (*column, value(a))).collect();
            let columns = values.iter().map(|(column, value)| (*column, value.is_none())).collect();
            update.assign_each_time(EachTime { names: Box::new(Bound { names, values }), columns, types });
            return Ok(OnDuplicate::Update(Box::new(update)));
        }
        let (info, params) = (self.info(), Params::default());
        let ctx = self.eval_context(&info, &params);
        for (column, value) in bound {
            if def.columns[column].generated.is_some() {
                continue; // DEFAULT: it is computed anyway
            }
            let value = match value {
                DuplicateValue::Expr(e) => AssignedValue::Expr(Box::new(Compiled::new(&e, &ctx)?), e.ty),
                DuplicateValue::Default | DuplicateValue::EachTime(_) => AssignedValue::Default,
            };
            update.assign(column, value);
        }
        Ok(OnDuplicate::Update(Box::new(update)))
    }

    /// See [`changes::Statement::assigned_each_time`].
    pub(super) fn bind_assigned(
        &self,
        each_time: &EachTime,
        at: usize,
        values: &[Value],
        txn: &Arc<Txn>,
    ) -> Result<(Value, SqlType)> {
        let bound = each_time.names.downcast_ref::<Bound>();
        let Some(((column, Some(e)), names)) = bound.and_then(|b| Some((b.values.get(at)?, &b.names))) else {
            return Err(Error::internal("an assignment that this statement did not bind"));
        };
        let query = {
            let info = self.info();
            self.binder(&info).bind_duplicate_value(e, *column, names, values)?
        };
        self.scalar_at(query, txn)
    }
}
