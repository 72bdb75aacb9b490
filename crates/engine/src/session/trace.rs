//! The optimizer trace: `SET optimizer_trace = 'enabled=on'`, information_schema.OPTIMIZER_TRACE.
//!
//! Each statement that is planned leaves a trace. Which are kept, optimizer_trace_offset and optimizer_trace_limit say:
//!
//! ```text
//!   offset   limit      of the traces 0 1 2 3 4 5 since either was set
//!     -1       1        5                 the last one (the default)
//!     -3       2        3 4               so many of the last three
//!      2       2        2 3               what comes after is not kept
//! ```
//! Statements that read the trace leave none themselves. Where a statement has several plans (a change of rows with
//! RETURNING, say), the trace is that of the last.

use super::Session;
use parking_lot::Mutex;
use parser::ast::Statement;
use plan::Plan;
use plan::explain::{TraceStyle, Weighed};
use std::collections::VecDeque;

/// Traces that are kept at most, whatever the variables say.
const TRACES_MAX: usize = 1000;

/// The traces that are kept, and what is being traced.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// The running statement, if it is to be traced; and whether it has left a trace.
    running: Option<(Box<str>, bool)>,
    kept: VecDeque<Trace>,
    /// Traces since optimizer_trace_offset or optimizer_trace_limit was set.
    count: u64,
}

/// A row of OPTIMIZER_TRACE.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub query: Box<str>,
    pub trace: Box<str>,
    pub missing_bytes: u64,
}

impl Traces {
    fn keep(&mut self, trace: Trace, offset: i64, limit: usize) {
        let again = self.running.as_mut().is_some_and(|r| std::mem::replace(&mut r.1, true));
        if again && self.count > 0 {
            self.count -= 1;
            if offset < 0 || self.is_wanted(offset, limit) {
                self.kept.pop_back();
            }
        }
        let wanted = offset < 0 || self.is_wanted(offset, limit);
        self.count += 1;
        if wanted {
            self.kept.push_back(trace);
        }
        let most = if offset < 0 { offset.unsigned_abs() as usize } else { limit };
        while self.kept.len() > most.min(TRACES_MAX) {
            self.kept.pop_front();
        }
    }

    /// Is the next trace one of those that an offset from the start asks for?
    fn is_wanted(&self, offset: i64, limit: usize) -> bool {
        self.count >= offset as u64 && self.count < (offset as u64).saturating_add(limit as u64)
    }
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
        self.traces().lock().running = (planned && !reads_it).then(|| (text.into(), false));
    }

    pub(super) fn end_trace(&self) {
        if self.vars.hot().traces_optimizer {
            self.traces().lock().running = None;
        }
    }

    /// A variable about traces was set.
    pub(super) fn trace_variable_set(&self, name: &str) {
        if matches!(name, "optimizer_trace_offset" | "optimizer_trace_limit") {
            let mut traces = self.traces().lock();
            traces.kept.clear();
            traces.count = 0;
        }
    }

    pub(crate) fn is_traced(&self) -> bool {
        self.vars().hot().traces_optimizer && self.traces().lock().running.is_some()
    }

    /// Keeps what the optimizer did.
    pub(crate) fn keep_trace(&self, weighed: &Weighed, plan: &Plan) {
        let mut traces = self.traces().lock();
        let Some((query, _)) = traces.running.clone() else { return };
        let features = self.vars().text("optimizer_trace_features");
        let style = TraceStyle {
            one_line: self.vars().text("optimizer_trace").contains("one_line=on"),
            joins: features.contains("greedy_search=on"),
            ranges: features.contains("range_optimizer=on"),
        };
        let mut trace = plan::explain::trace(&query, weighed, plan, style);
        let (offset, limit) = (self.vars().int("optimizer_trace_offset"), self.vars().uint("optimizer_trace_limit"));
        // What is kept already counts, as in MySQL.
        let kept: usize = traces.kept.iter().map(|t| t.trace.len()).sum();
        let max = self.vars().uint("optimizer_trace_max_mem_size") as usize;
        let room = if offset == -1 { max } else { max.saturating_sub(kept) };
        let mut missing_bytes = 0;
        if trace.len() > room {
            let mut cut = room;
            while !trace.is_char_boundary(cut) {
                cut -= 1;
            }
            missing_bytes = (trace.len() - cut) as u64;
            trace.truncate(cut);
        }
        traces.keep(Trace { query, trace: trace.into(), missing_bytes }, offset, limit as usize);
    }

    /// What OPTIMIZER_TRACE shows.
    pub(crate) fn shown_traces(&self) -> Vec<Trace> {
        let limit = self.vars().uint("optimizer_trace_limit") as usize;
        self.traces().lock().kept.iter().take(limit).cloned().collect()
    }

    fn traces(&self) -> &Mutex<Traces> {
        &self.traces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(offset: i64, limit: usize, count: usize) -> Vec<String> {
        let mut t = Traces::default();
        for i in 0..count {
            t.running = Some(("q".into(), false));
            // Twice: the second plan of a statement takes the place of the first.
            for again in ["a", ""] {
                let trace = Trace { query: format!("{i}{again}").into(), trace: "".into(), missing_bytes: 0 };
                t.keep(trace, offset, limit);
            }
        }
        t.kept.iter().take(limit).map(|t| t.query.to_string()).collect()
    }

    #[test]
    fn offsets_and_limits() {
        assert_eq!(kept(-1, 1, 6), ["5"]);
        assert_eq!(kept(-3, 2, 6), ["3", "4"]);
        assert_eq!(kept(2, 2, 6), ["2", "3"]);
        assert_eq!(kept(0, 1, 6), ["0"]);
        assert!(kept(7, 2, 6).is_empty());
    }
}
