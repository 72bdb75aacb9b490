//! ANALYZE, CHECK, OPTIMIZE, REPAIR TABLE: statements that look after tables, and answer with rows about each.
//!
//! CHECK TABLE compares every row with every index, as `nextleaf check` does. It waits for transactions that have
//! changed the table, and keeps writers out while it looks: then nothing may differ.
//!
//! MySQL manual, "Table Maintenance Statements".

use super::Execution;
use catalog::{CatalogReader, Relation, TableDef, TableEngine};
use parser::ast::{MaintenanceOp, ObjectName, TableMaintenance};
use session::rows::{RowSet, long_text, s, text};
use session::sink::ResultSink;
use types::{Error, Result};

/// Faults of one table that CHECK TABLE shows.
const FAULTS_MAX: usize = 20;

/// What is said of one table: (Msg_type, Msg_text).
type Message = (&'static str, String);

fn ok() -> Vec<Message> {
    vec![("status", "OK".into())]
}

fn op_name(op: MaintenanceOp) -> &'static str {
    match op {
        MaintenanceOp::Analyze => "analyze",
        MaintenanceOp::Check => "check",
        MaintenanceOp::Checksum => "checksum",
        MaintenanceOp::Optimize => "optimize",
        MaintenanceOp::Repair => "repair",
    }
}

impl Execution<'_> {
    pub(crate) fn maintain(&mut self, t: &TableMaintenance, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        if t.op == MaintenanceOp::Checksum {
            return Err(Error::not_supported("CHECKSUM TABLE"));
        }
        let mut rows =
            RowSet::new(&[("Table", text(128)), ("Op", text(10)), ("Msg_type", text(10)), ("Msg_text", long_text())]);
        if let Some(h) = &t.histogram {
            self.change_histograms(t, h, &mut rows)?;
            return rows.send(sink, &self.end_info(more));
        }
        let op = op_name(t.op);
        for name in &t.tables {
            let schema = match &name.schema {
                Some(schema) => schema.as_str().into(),
                None => self.current_database().ok_or_else(Error::no_db)?.to_string(),
            };
            let shown = format!("{schema}.{}", name.name.as_str());
            let messages = match self.maintain_one(t.op, name) {
                Ok(messages) => messages,
                // Whoever stops the statement stops all of it.
                Err(e) => {
                    self.check_killed()?;
                    vec![("Error", e.message().into()), ("status", "Operation failed".into())]
                }
            };
            for (kind, message) in messages {
                rows.push(vec![s(&shown), s(op), s(kind), s(message)]);
            }
        }
        rows.send(sink, &self.end_info(more))
    }

    fn maintain_one(&mut self, op: MaintenanceOp, name: &ObjectName) -> Result<Vec<Message>> {
        if op == MaintenanceOp::Check
            && let Some(messages) = self.check_view(name)?
        {
            return Ok(messages);
        }
        let def = self.base_table(name)?;
        if def.engine == TableEngine::Virtual || op == MaintenanceOp::Repair {
            return Ok(vec![("note", format!("The storage engine for the table doesn't support {}", op_name(op)))]);
        }
        match op {
            MaintenanceOp::Analyze => {
                let table = self.db().store().expect_table(&def)?;
                table.refresh_statistics(&|| self.process().killed().is_some());
                self.check_killed()?;
                self.update_auto_histograms(&def)?;
            }
            MaintenanceOp::Check => return self.check_rows(&def),
            MaintenanceOp::Optimize => {
                self.rebuild_table(name)?;
                let note = "Table does not support optimize, doing recreate + analyze instead";
                return Ok([("note", note.into())].into_iter().chain(ok()).collect());
            }
            MaintenanceOp::Checksum | MaintenanceOp::Repair => return Err(Error::internal("not kept from here")),
        }
        Ok(ok())
    }

    /// A view is well if it can be bound; `None`: the name is no view's.
    fn check_view(&self, name: &ObjectName) -> Result<Option<Vec<Message>>> {
        let (schema, view) = self.resolve_name(name)?;
        let Some(Relation::View(def)) = self.relation(&schema, &view)? else { return Ok(None) };
        if self.describe_view(&def).is_err() {
            let e = Error::view_invalid(&schema, &view);
            return Ok(Some(vec![("Error", e.message().into()), ("error", "Corrupt".into())]));
        }
        Ok(Some(ok()))
    }

    fn check_rows(&self, def: &TableDef) -> Result<Vec<Message>> {
        let table = self.db().store().expect_table(def)?;
        let faults = table.check_while(&|| self.check_killed())?;
        if faults.is_empty() {
            return Ok(ok());
        }
        let shown = faults.into_iter().take(FAULTS_MAX).map(|f| ("Warning", f));
        Ok(shown.chain([("error", "Corrupt".into())]).collect())
    }
}
