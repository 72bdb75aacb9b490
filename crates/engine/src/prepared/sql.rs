//! PREPARE, EXECUTE and DEALLOCATE PREPARE.

use crate::session::Execution;
use parser::ast::{Ident, PrepareSource};
use session::Nested;
use session::sink::ResultSink;
use types::{Error, Result, SqlType, Value};

impl Execution<'_> {
    pub(crate) fn sql_prepare(
        &mut self,
        name: &Ident,
        source: &PrepareSource,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.status().com_prepare_sql.add(1);
        // a statement of that name goes even if the new one is faulty
        self.prepared_mut().remove_named(name.as_str());
        let text = match source {
            PrepareSource::Text(text) => text.clone(),
            PrepareSource::UserVar(var) => match self.user_vars().get(var.as_str()) {
                Some(held) if !held.0.is_null() => {
                    check_copy(&held.0)?;
                    held.0.to_text().unwrap_or_default()
                }
                _ => b"NULL".as_slice().into(),
            },
        };
        let (statement, _) = self.prepare_statement(&text)?;
        self.prepared_mut().add_named(name.as_str(), statement);
        self.send_ok(0, "Statement prepared".into(), more, sink)
    }

    pub(crate) fn sql_execute(
        &mut self,
        name: &Ident,
        using: &[Ident],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.status().com_execute_sql.add(1);
        let statement = self.prepared().named(name.as_str()).cloned();
        let statement = statement.ok_or_else(|| Error::unknown_stmt_handler(name.as_str(), "EXECUTE"))?;
        if using.len() != statement.param_count as usize {
            return Err(Error::wrong_arguments("EXECUTE"));
        }
        let value = |var: &Ident| match self.user_vars().get(var.as_str()) {
            Some(held) => check_copy(&held.0).map(|()| (*held).clone()),
            None => Ok((Value::Null, SqlType::Null)),
        };
        let params = using.iter().map(value).collect::<Result<_>>()?;
        let elsewhere = self.current_database() != statement.schema.as_deref();
        let schema = elsewhere.then(|| statement.schema.clone());
        let mut inner = self.nested(Nested { schema, params: Some(params), ..Nested::default() });
        let run = |x: &mut Execution<'_>| x.dispatch(&statement.statement, &statement.text, more, sink);
        let result = inner.with_variable_hints(&statement.hints.variables, run);
        let left = inner.leave();
        self.take_in(left);
        result
    }

    pub(crate) fn sql_deallocate(&mut self, name: &Ident, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        self.status().com_dealloc_sql.add(1);
        if !self.prepared_mut().remove_named(name.as_str()) {
            return Err(Error::unknown_stmt_handler(name.as_str(), "DEALLOCATE PREPARE"));
        }
        self.send_ok(0, String::new(), more, sink)
    }
}

/// A variable's string may be as long as a packet.
fn check_copy(v: &Value) -> Result<()> {
    match v {
        Value::Bytes(b) => executor::memory::check_room(b.len(), "The value of a user variable"),
        _ => Ok(()),
    }
}
