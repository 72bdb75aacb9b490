//! A load row by row, through the writer of INSERT and REPLACE.
//!
//! ```text
//!   line ─▶ fields ─ converted ─▶ row ─ SET, one after the other, over the row so far ─▶ RowWriter
//! ```
//! This is the way of REPLACE, of SET clauses that read columns, and of tables with generated columns, CHECK
//! constraints or foreign keys. It takes one thread, and many times as long as [`super::run`].

use super::blocks::BlockReader;
use super::columns::FileCharset;
use super::fields::{Field, Scanner};
use super::format::Format;
use super::statement::FIELD_TYPE;
use crate::session::Execution;
use catalog::{DefaultValue, TableDef};
use changes::{Converter, OnDuplicate, RowWriter, WriteMode, Written};
use expr::eval::Compiled;
use expr::{EvalContext, Expr, ExprKind, Params};
use parser::ast;
use std::io::Read;
use std::sync::Arc;
use storage::Txn;
use types::value::zero_of;
use types::{Collation, Error, Result, SqlType, Value};
use vector::{Batch, Chunk, Vector};

/// Where a field's value goes.
enum To {
    Column(usize),
    UserVar(Box<str>),
}

/// What SET gives a column.
enum Set {
    Default,
    /// With the columns that it reads.
    Value(Box<Compiled>, SqlType, Vec<usize>),
}

/// A load, ready to run.
pub struct RowLoad<'s> {
    pub session: &'s Execution<'s>,
    pub def: &'s Arc<TableDef>,
    pub format: &'s Format,
    pub charset: FileCharset,
    pub ignore_lines: u64,
    pub replace: bool,
    /// Misfits are warnings, rows with existing keys are skipped.
    pub ignore: bool,
    /// Told of the bytes read, once a block.
    pub progress: &'s dyn Fn(u64),
}

/// The row being made: a value for each column that has been given one, and what it is until then.
struct Row {
    values: Vec<Value>,
    /// Among the columns given: positions in the definition, and whether DEFAULT stands for the value.
    given: Vec<Option<(Value, SqlType)>>,
}

impl RowLoad<'_> {
    /// Loads all of `input`. After an error the caller rolls back what was loaded.
    pub fn run(&self, l: &ast::LoadData, txn: Arc<Txn>, input: &mut dyn Read) -> Result<Written> {
        let info = self.session.info();
        let params = Params::default();
        let ctx = self.session.eval_context(&info, &params);
        let to = self.fields(l)?;
        let sets = self.sets(l, &ctx)?;
        let mut columns: Vec<usize> =
            to.iter().filter_map(|t| if let To::Column(c) = t { Some(*c) } else { None }).collect();
        sets.iter().for_each(|(c, _)| {
            if !columns.contains(c) {
                columns.push(*c);
            }
        });
        let on_duplicate = if self.replace { OnDuplicate::Replace } else { OnDuplicate::Error };
        let mode = WriteMode { on_duplicate, ignore: self.ignore, ..WriteMode::plain() };
        let mut writer = RowWriter::new(self.session, self.def, txn, &columns, mode)?;
        let converter = Converter::new(self.session, self.def, self.ignore);
        let place = |c: usize| columns.iter().position(|x| *x == c).expect("every target is listed");
        let untouched: Vec<Value> = (0..self.def.columns.len()).map(|c| self.initial(c)).collect();
        let mut reader = BlockReader::new(input, self.format, self.ignore_lines, &self.session.statement_memory());
        let mut number = 0;
        while let Some(block) = reader.next_block()? {
            self.session.check_killed()?;
            let mut scanner = Scanner::new(self.format, &block.bytes);
            while scanner.next_line() {
                number += 1;
                let mut row = Row { values: untouched.clone(), given: vec![None; columns.len()] };
                self.take_fields(&mut scanner, &to, &converter, number, &mut |c, value| {
                    row.given[place(c)] = value.clone().map(|v| (v, self.def.columns[c].ty));
                    row.values[c] = value.unwrap_or_else(|| untouched[c].clone());
                })?;
                for (c, set) in &sets {
                    let value = match set {
                        Set::Default => None,
                        Set::Value(e, ty, reads) => {
                            let value = self.evaluate(e, *ty, reads, &row.values, &ctx)?;
                            Some(converter.convert(*c, &value, ty, number)?)
                        }
                    };
                    row.given[place(*c)] = value.clone().map(|v| (v, self.def.columns[*c].ty));
                    row.values[*c] = value.unwrap_or_else(|| untouched[*c].clone());
                }
                writer.push(&row.given)?;
            }
            (self.progress)(reader.bytes_read());
            if block.last {
                break;
            }
        }
        writer.finish()
    }

    fn fields(&self, l: &ast::LoadData) -> Result<Vec<To>> {
        let def = self.def;
        let Some(list) = &l.columns else {
            let all =
                (0..def.columns.len()).filter(|&c| !def.columns[c].invisible && def.columns[c].generated.is_none());
            return Ok(all.map(To::Column).collect());
        };
        let mut out: Vec<To> = Vec::with_capacity(list.len());
        for target in list {
            out.push(match target {
                ast::LoadTarget::UserVar(name) => {
                    self.session.user_vars().set(name.as_str(), Value::Null, FIELD_TYPE)?;
                    To::UserVar(name.as_str().into())
                }
                ast::LoadTarget::Column(name) => {
                    let c = super::statement::column_named(def, name)?;
                    if out.iter().any(|t| matches!(t, To::Column(x) if *x == c)) {
                        return Err(Error::field_specified_twice(&def.columns[c].name));
                    }
                    To::Column(c)
                }
            });
        }
        Ok(out)
    }

    /// The SET clause, in its order.
    fn sets(&self, l: &ast::LoadData, ctx: &EvalContext<'_>) -> Result<Vec<(usize, Set)>> {
        let info = self.session.info();
        let binder = self.session.binder(&info);
        let mut out: Vec<(usize, Set)> = Vec::with_capacity(l.set.len());
        for a in &l.set {
            let c = super::statement::column_named(self.def, &a.column)?;
            if out.iter().any(|(x, _)| *x == c) {
                return Err(Error::field_specified_twice(&self.def.columns[c].name));
            }
            let set = match a.value.kind {
                ast::ExprKind::Default => Set::Default,
                _ => {
                    let bound = binder.bind_table_expr(&a.value, self.def)?;
                    let bound: Expr = expr::build::assigned(bound, &self.def.columns[c].ty);
                    let mut reads = Vec::new();
                    bound.walk(&mut |e| {
                        if let ExprKind::Column(i) = e.kind {
                            reads.push(i as usize);
                        }
                    });
                    Set::Value(Box::new(Compiled::new(&bound, ctx)?), bound.ty, reads)
                }
            };
            out.push((c, set));
        }
        Ok(out)
    }

    /// What a column holds before it is given a value.
    fn initial(&self, c: usize) -> Value {
        let def = &self.def.columns[c];
        match &def.default {
            DefaultValue::Value(v) => v.clone(),
            _ if def.nullable => Value::Null,
            _ => zero_of(&def.ty),
        }
    }

    fn evaluate(
        &self,
        e: &Compiled,
        ty: SqlType,
        reads: &[usize],
        values: &[Value],
        ctx: &EvalContext<'_>,
    ) -> Result<Value> {
        let columns = (0..self.def.columns.len())
            .map(|c| {
                let column = &self.def.columns[c].ty;
                let value = if reads.contains(&c) { &values[c] } else { &Value::Null };
                Vector::flat(Chunk::single(column.phys(), value))
            })
            .collect();
        let batch = Batch::new(1, columns);
        Ok(e.eval(&batch, ctx)?.value(0, &ty))
    }

    /// Reads the line's fields. `give` gets each column's value, `None` standing for its default.
    fn take_fields(
        &self,
        scanner: &mut Scanner<'_>,
        to: &[To],
        converter: &Converter<'_>,
        number: u64,
        give: &mut dyn FnMut(usize, Option<Value>),
    ) -> Result<()> {
        let mut targets = to.iter();
        while scanner.has_field() {
            let Some(target) = targets.next() else { break };
            let field = scanner.next_field();
            let value = self.text(&field, target);
            match target {
                To::UserVar(name) => self.session.user_vars().set(name, value, FIELD_TYPE)?,
                To::Column(c) => {
                    let def = &self.def.columns[*c];
                    let value = match converter.convert(*c, &value, &FIELD_TYPE, number)? {
                        Value::Null if !def.nullable && !def.auto_increment => {
                            converter.fault(Error::warn_null_to_notnull(&def.name, number))?;
                            zero_of(&def.ty)
                        }
                        v => v,
                    };
                    give(*c, Some(value));
                }
            }
        }
        for target in targets {
            match target {
                To::UserVar(name) => self.session.user_vars().set(name, Value::Null, FIELD_TYPE)?,
                To::Column(c) => {
                    converter.fault(Error::warn_too_few_records(number))?;
                    let def = &self.def.columns[*c];
                    let has_default = def.nullable || def.auto_increment || !matches!(def.default, DefaultValue::None);
                    give(*c, (!has_default).then(|| zero_of(&def.ty)));
                }
            }
        }
        if scanner.end_line() {
            converter.fault(Error::warn_too_many_records(number))?;
        }
        Ok(())
    }

    fn text(&self, field: &Field<'_>, target: &To) -> Value {
        let binary = matches!(target, To::Column(c) if self.def.columns[*c].ty.collation() == Some(Collation::Binary));
        if field.is_null {
            Value::Null
        } else if self.charset == FileCharset::Latin1 && !binary {
            Value::str(&types::cp1252::decode(field.bytes))
        } else {
            Value::Bytes(field.bytes.into())
        }
    }
}
