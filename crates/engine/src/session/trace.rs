//! The optimizer trace: `SET optimizer_trace = 'enabled=on'`, information_schema.OPTIMIZER_TRACE.
//!
//! The trace of the last statement that was planned is kept, as in MySQL with its default optimizer_trace_offset and
//! optimizer_trace_limit. Statements that read the trace leave none themselves. Where a statement has several plans (a
//! change of rows with RETURNING, say), the trace is that of the last.

use super::Session;
use parking_lot::Mutex;
use parser::ast::Statement;
use plan::Plan;

/// The trace that is kept, and what is being traced.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// The running statement, if it is to be traced.
    running: Option<Box<str>>,
    last: Option<Trace>,
}

/// A row of OPTIMIZER_TRACE.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub query: Box<str>,
    pub trace: Box<str>,
    pub missing_bytes: u64,
}

impl Session {
    /// A statement begins.
    pub(super) fn begin_trace(&self, statement: &Statement, text: &[u8]) {
        if !self.vars.hot().traces_optimizer {
            return;
        }
        let planned = matches!(statement, Statement::Query(_) | Statement::Explain(_) | Statement::Insert(_))
            || matches!(statement, Statement::Update(_) | Statement::Delete(_));
        let text = String::from_utf8_lossy(text);
        let reads_it = text.to_ascii_lowercase().contains("optimizer_trace");
        self.traces().lock().running = (planned && !reads_it).then(|| text.into());
    }

    pub(super) fn end_trace(&self) {
        if self.vars.hot().traces_optimizer {
            self.traces().lock().running = None;
        }
    }

    pub(crate) fn is_traced(&self) -> bool {
        self.vars().hot().traces_optimizer && self.traces().lock().running.is_some()
    }

    /// Keeps what the optimizer did.
    pub(crate) fn keep_trace(&self, passes: &[(String, String)], plan: &Plan) {
        let mut traces = self.traces().lock();
        let Some(query) = traces.running.clone() else { return };
        let one_line = self.vars().text("optimizer_trace").contains("one_line=on");
        let mut trace = plan::explain::trace(&query, passes, plan, one_line);
        let max = self.vars().uint("optimizer_trace_max_mem_size") as usize;
        let mut missing_bytes = 0;
        if trace.len() > max {
            let mut cut = max;
            while !trace.is_char_boundary(cut) {
                cut -= 1;
            }
            missing_bytes = (trace.len() - cut) as u64;
            trace.truncate(cut);
        }
        traces.last = Some(Trace { query, trace: trace.into(), missing_bytes });
    }

    pub(crate) fn last_trace(&self) -> Option<Trace> {
        self.traces().lock().last.clone()
    }

    fn traces(&self) -> &Mutex<Traces> {
        &self.traces
    }
}
