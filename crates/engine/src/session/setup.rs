//! Statements that change what the server keeps of statements: UPDATE of performance_schema.setup_consumers, TRUNCATE
//! of tables that are sums, histories and logs.

use super::Execution;
use introspection::information_schema::{events, table_io};
use parser::ast::{self, TableRef};
use parser::{ParseOptions, parse_single};
use types::{Error, Result, Value};

impl Execution<'_> {
    /// TRUNCATE of a table that the server fills itself; false: it is none.
    pub(crate) fn truncate_kept(&self, schema: &str, name: &str) -> bool {
        let schema = schema.to_ascii_lowercase();
        match (&*schema, &*name.to_ascii_lowercase()) {
            ("performance_schema", "events_statements_summary_by_digest") => self.db().digests().clear(),
            ("performance_schema", "events_statements_current" | "events_statements_history") => {
                self.db().processes().all().iter().for_each(|p| p.history().lock().clear());
            }
            ("performance_schema", "events_statements_history_long") => self.db().history().clear_long(),
            ("performance_schema", "table_io_waits_summary_by_table" | "table_io_waits_summary_by_index_usage") => {
                table_io::clear(self);
            }
            ("mysql", "slow_log") => self.db().log_tables().clear_slow(),
            ("mysql", "general_log") => self.db().log_tables().clear_general(),
            _ => return false,
        }
        true
    }

    /// Is it an UPDATE of setup_consumers?
    pub(crate) fn changes_consumers(&self, u: &ast::Update) -> bool {
        let [TableRef::Table(t)] = &u.tables[..] else { return false };
        let schema = t.name.schema.as_deref().or(self.current_database()).unwrap_or_default();
        schema.eq_ignore_ascii_case("performance_schema") && t.name.name.eq_ignore_ascii_case("setup_consumers")
    }

    /// Carries it out: (matched, changed).
    pub(crate) fn change_consumers(&mut self, u: &ast::Update) -> Result<(u64, u64)> {
        let [set] = &u.set[..] else { return Err(Error::not_supported("this UPDATE of setup_consumers")) };
        if !set.column.name.eq_ignore_ascii_case("ENABLED") || u.limit.is_some() || u.with.is_some() {
            return Err(Error::not_supported("this UPDATE of setup_consumers"));
        }
        let on = match self.eval_scalar(&set.value)?.0 {
            Value::Bytes(b) if b.eq_ignore_ascii_case(b"YES") => true,
            Value::Bytes(b) if b.eq_ignore_ascii_case(b"NO") => false,
            _ => return Err(Error::new(types::ErrorCode(1265), "Data truncated for column 'ENABLED' at row 1")),
        };
        let condition = u.where_.as_ref().map_or(String::new(), |w| format!(" WHERE {w}"));
        let text = format!("SELECT NAME FROM performance_schema.setup_consumers{condition}");
        let parsed = parse_single(text.as_bytes(), &ParseOptions::default())?;
        let ast::Statement::Query(query) = &parsed.statement else {
            return Err(Error::internal("a query that is none"));
        };
        let logical = self.bind_query(query)?;
        let found = self.collect(logical, 100)?;
        let mut changed = 0;
        for row in &found {
            if let Some((Value::Bytes(name), _)) = row.first() {
                changed += events::set_consumer(self, &String::from_utf8_lossy(name), on);
            }
        }
        Ok((found.len() as u64, changed))
    }
}
