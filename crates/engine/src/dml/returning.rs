//! RETURNING, as MariaDB has it: the rows that a statement inserted or deleted, as a result set.
//!
//! The list is bound and planned as `SELECT list FROM table`; when it runs, the table is cut down to the rows in
//! question.

use crate::query::Runner;
use crate::query::meta;
use crate::query::timestamps::ToLocal;
use crate::session::Execution;
use catalog::TableDef;
use parser::ast;
use plan::Plan;
use plan::logical::Logical;
use session::sink::{ColumnMeta, ResultSink};
use std::ops::ControlFlow;
use std::sync::Arc;
use storage::Snapshot;
use types::{Error, Result};
use vector::Batch;

/// A planned RETURNING list.
pub(crate) struct Returning {
    plan: Arc<Plan>,
    metas: Vec<ColumnMeta>,
}

/// Its rows.
pub(crate) struct ReturnedRows {
    metas: Vec<ColumnMeta>,
    batches: Vec<Batch>,
}

impl Execution<'_> {
    /// `None` for an empty list.
    pub(super) fn plan_returning(
        &self,
        items: &[ast::SelectItem],
        table: &ast::ObjectName,
        alias: Option<&ast::Ident>,
    ) -> Result<Option<Returning>> {
        if items.is_empty() {
            return Ok(None);
        }
        let span = ast::Span::default();
        let from = ast::TableFactor {
            name: table.clone(),
            partitions: Vec::new(),
            alias: alias.cloned(),
            index_hints: Vec::new(),
            span,
        };
        let select = ast::Select {
            modifiers: Default::default(),
            hints: Vec::new(),
            items: items.to_vec(),
            from: vec![ast::TableRef::Table(Box::new(from))],
            from_dual: false,
            where_: None,
            group_by: None,
            having: None,
            windows: Vec::new(),
            span,
        };
        let query = ast::Query {
            with: None,
            body: ast::QueryBody::Select(Box::new(select)),
            order_by: Vec::new(),
            limit: None,
            into: None,
            locking: Vec::new(),
            span,
        };
        let logical = self.bind_query(&query)?;
        check_not_grouped(&logical.root)?;
        let metas = meta::columns(&logical);
        Ok(Some(Returning { plan: self.optimize(logical)?, metas }))
    }
}

/// 1111, 3593: the list is for each row by itself.
fn check_not_grouped(mut plan: &Logical) -> Result<()> {
    loop {
        plan = match plan {
            Logical::Project { input, .. } => input,
            Logical::Aggregate { .. } => return Err(Error::invalid_group_func_use()),
            Logical::Window { .. } => return Err(Error::window_invalid_window_func_use("RETURNING")),
            _ => return Ok(()),
        };
    }
}

impl Returning {
    /// The list's values for the rows with these ids, as `snapshot` sees them.
    pub fn run(self, session: &Execution<'_>, def: &TableDef, ids: &[u64], snapshot: Snapshot) -> Result<ReturnedRows> {
        let mut local = ToLocal::new(&self.metas, session);
        let mut batches = Vec::new();
        Runner::of_rows(snapshot, def.id, ids.to_vec()).run(session, &self.plan, None, &mut |batch| {
            batches.push(local.convert(batch).compact());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(ReturnedRows { metas: self.metas, batches })
    }
}

impl ReturnedRows {
    pub fn send(self, session: &mut Execution<'_>, affected: u64, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        sink.columns(&self.metas)?;
        for batch in &self.batches {
            sink.batch(batch)?;
        }
        session.set_row_count(affected);
        sink.end_rows(&session.end_info(more))
    }
}
