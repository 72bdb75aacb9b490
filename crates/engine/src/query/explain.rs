//! EXPLAIN: the plan that would run, or did.

use crate::rows::{RowSet, UBIGINT, long_text, s, text};
use crate::session::Session;
use crate::sink::ResultSink;
use executor::NodeStatsSet;
use parser::ast::{Explain, ExplainFormat, ExplainTarget, Statement};
use planner::bind::DmlTarget;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use types::{Error, Result, SqlType, Value};

impl Session {
    pub(crate) fn explain(&mut self, e: &Explain, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let ExplainTarget::Statement(statement) = &e.target else {
            return Err(Error::not_supported("EXPLAIN FOR CONNECTION"));
        };
        if e.into.is_some() || e.schema.is_some() {
            return Err(Error::not_supported("EXPLAIN INTO and EXPLAIN FOR SCHEMA"));
        }
        let default = match self.vars().text("explain_format") {
            "TREE" => ExplainFormat::Tree,
            "JSON" => ExplainFormat::Json,
            _ => ExplainFormat::Traditional,
        };
        let format = match e.format {
            None if e.analyze => ExplainFormat::Tree,
            f => f.unwrap_or(default),
        };
        match format {
            ExplainFormat::Json => return Err(Error::not_supported("EXPLAIN FORMAT=JSON")),
            ExplainFormat::Traditional if e.analyze => {
                return Err(Error::not_supported("EXPLAIN ANALYZE with FORMAT=TRADITIONAL"));
            }
            _ => {}
        }
        // The rows that UPDATE and DELETE change are found by a query.
        let (plan, change) = match statement {
            Statement::Query(query) => {
                let mut logical = self.bind_query(query)?;
                if !e.analyze {
                    logical.locks.clear();
                }
                (self.optimize(logical)?, None)
            }
            Statement::Update(u) if !e.analyze => {
                let u = self.plan_update(u, |_| true)?.ok_or_else(unplanned)?;
                (u.plan, Some(("UPDATE", format!("Update {} (buffered)", names(&u.targets)))))
            }
            Statement::Delete(d) if !e.analyze => {
                let d = self.plan_delete(d, |_| true)?.ok_or_else(unplanned)?;
                (d.plan, Some(("DELETE", format!("Delete from {} (buffered)", names(&d.targets)))))
            }
            _ => return Err(Error::not_supported("EXPLAIN of statements other than SELECT, UPDATE and DELETE")),
        };
        if format == ExplainFormat::Traditional {
            return self.explain_table(&plan, change.map(|c| c.0), more, sink);
        }
        let text = if e.analyze {
            let stats = NodeStatsSet::new(plan.node_count());
            self.run(&plan, Some(&stats), &mut |_| Ok(ControlFlow::Continue(())))?;
            plan::explain::tree(&plan, Some(&figures(&stats, plan.node_count())))
        } else {
            let tree = plan::explain::tree(&plan, None);
            match &change {
                None => tree,
                Some((_, line)) => {
                    let below: String = tree.lines().map(|l| format!("    {l}\n")).collect();
                    format!("-> {line}\n{below}")
                }
            }
        };
        let mut rows = RowSet::new(&[("EXPLAIN", long_text())]);
        rows.push(vec![s(text)]);
        rows.send(sink, &self.end_info(more))
    }

    fn explain_table(
        &mut self,
        plan: &plan::Plan,
        change: Option<&str>,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let types = [UBIGINT, text(19), text(64), long_text(), text(10), long_text(), long_text()].into_iter().chain([
            long_text(),
            text(1024),
            UBIGINT,
            SqlType::Double,
            text(255),
        ]);
        let columns: Vec<(&str, SqlType)> = plan::explain::TRADITIONAL_COLUMNS.into_iter().zip(types).collect();
        let mut rows = RowSet::new(&columns);
        for mut r in plan::explain::traditional(plan) {
            if let (Some(change), Some("SIMPLE" | "PRIMARY")) = (change, r[1].as_deref()) {
                r[1] = Some(change.into());
            }
            rows.push(traditional_row(r));
        }
        rows.send(sink, &self.end_info(more))
    }
}

fn unplanned() -> Error {
    Error::internal("a change without a plan")
}

fn names(targets: &[DmlTarget]) -> String {
    targets.iter().map(|t| &*t.alias).collect::<Vec<_>>().join(", ")
}

/// A row of the table: numbers where the columns are numbers.
fn traditional_row(row: plan::explain::TraditionalRow) -> Vec<Value> {
    row.into_iter()
        .enumerate()
        .map(|(i, cell)| match (i, cell) {
            (_, None) => Value::Null,
            (0 | 9, Some(t)) => t.parse().map_or(Value::Null, Value::UInt),
            (10, Some(t)) => t.parse().map_or(Value::Null, Value::Double),
            (_, Some(t)) => s(t),
        })
        .collect()
}

/// What the operators counted, in the printer's form.
fn figures(stats: &NodeStatsSet, nodes: usize) -> Vec<plan::explain::NodeStats> {
    (0..nodes as u32)
        .map(|id| {
            let n = stats.node(id);
            plan::explain::NodeStats {
                rows: n.rows.load(Relaxed),
                loops: n.loops.load(Relaxed),
                time_first_us: n.first_row_ns.load(Relaxed) / 1000,
                time_last_us: n.last_row_ns.load(Relaxed) / 1000,
                self_ns: n.self_ns.load(Relaxed).max(0) as u64,
                memory_peak_bytes: n.peak_bytes(),
                spilled_bytes: n.spilled_bytes.load(Relaxed),
            }
        })
        .collect()
}
