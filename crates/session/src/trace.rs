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

use crate::{Frame, SessionState};
use parking_lot::Mutex;
use parser::ast::Statement;
use plan::Plan;
use plan::explain::{TraceStyle, Weighed};
use std::collections::VecDeque;

/// Traces that are kept at most, whatever the variables say.
const TRACES_MAX: usize = 1000;

/// The traces that are kept.
#[derive(Debug, Default)]
pub struct Traces {
    kept: VecDeque<Trace>,
    /// Traces since optimizer_trace_offset or optimizer_trace_limit was set.
    count: u64,
}

/// A row of OPTIMIZER_TRACE.
#[derive(Clone, Debug)]
pub struct Trace {
    pub query: Box<str>,
    pub trace: Box<str>,
    pub missing_bytes: u64,
}

impl Traces {
    fn keep(&mut self, trace: Trace, offset: i64, limit: usize) {
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

impl SessionState {
    /// A variable about traces was set.
    pub(crate) fn trace_variable_set(&mut self, name: &str) {
        if matches!(name, "optimizer_trace_offset" | "optimizer_trace_limit") {
            self.traces.kept.clear();
            self.traces.count = 0;
        }
    }

    /// What OPTIMIZER_TRACE shows.
    pub fn shown_traces(&self) -> Vec<Trace> {
        let limit = self.vars().uint("optimizer_trace_limit") as usize;
        self.traces.kept.iter().take(limit).cloned().collect()
    }
}

/// A statement that is traced: its text, and what the optimizer did for its last plan.
#[derive(Debug)]
pub(crate) struct Traced {
    query: Box<str>,
    trace: Option<String>,
}

impl Frame<'_> {
    /// A statement begins.
    pub fn begin_trace(&mut self, statement: &Statement, text: &[u8]) {
        if !self.vars.hot().traces_optimizer {
            return;
        }
        let planned = matches!(statement, Statement::Query(_) | Statement::Explain(_) | Statement::Insert(_))
            || matches!(statement, Statement::Update(_) | Statement::Delete(_));
        let text = String::from_utf8_lossy(text);
        let reads_it = text.to_ascii_lowercase().contains("optimizer_trace");
        let traced = || Box::new(Mutex::new(Traced { query: text.into(), trace: None }));
        self.traced = (planned && !reads_it).then(traced);
    }

    /// Whether the optimizer is to say what it does.
    pub fn is_traced(&self) -> bool {
        self.vars().hot().traces_optimizer && self.traced.is_some()
    }

    /// Keeps what the optimizer did; of several plans the last counts.
    pub fn keep_trace(&self, weighed: &Weighed, plan: &Plan) {
        let Some(traced) = &self.traced else { return };
        let mut traced = traced.lock();
        let features = self.vars.text("optimizer_trace_features");
        let style = TraceStyle {
            one_line: self.vars.text("optimizer_trace").contains("one_line=on"),
            joins: features.contains("greedy_search=on"),
            ranges: features.contains("range_optimizer=on"),
        };
        traced.trace = Some(plan::explain::trace(&traced.query, weighed, plan, style));
    }

    /// The statement ends: its trace is one of those that are kept.
    pub fn end_trace(&mut self) {
        let Some(traced) = self.traced.take() else { return };
        let Traced { query, trace: Some(mut trace) } = traced.into_inner() else { return };
        let vars = &self.session.vars;
        let (offset, limit) = (vars.int("optimizer_trace_offset"), vars.uint("optimizer_trace_limit"));
        let max = vars.uint("optimizer_trace_max_mem_size") as usize;
        let traces = &mut self.session.traces;
        // What is kept already counts, as in MySQL.
        let kept: usize = traces.kept.iter().map(|t| t.trace.len()).sum();
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(offset: i64, limit: usize, count: usize) -> Vec<String> {
        let mut t = Traces::default();
        for i in 0..count {
            let trace = Trace { query: i.to_string().into(), trace: "".into(), missing_bytes: 0 };
            t.keep(trace, offset, limit);
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
