//! Joins of all kinds, and subqueries that run for each row.

use super::super::Access;
use super::{At, Walker};
use crate::logical::BlockRole;
use crate::{JoinKind, PlanNode, PlanOp, Strategy};

impl<'p> Walker<'p> {
    pub(super) fn index_join(&mut self, n: &'p PlanNode, input: &'p PlanNode, kind: JoinKind, at: At) {
        let strategy = n.notes.strategy;
        let from = self.views[at.view].tables.len();
        match &input.op {
            // Values are made distinct as they come from the index.
            PlanOp::Distinct { input: below } if strategy == Some(Strategy::LooseScan) => self.walk(below, at),
            _ => self.walk(input, at),
        }
        if strategy == Some(Strategy::LooseScan)
            && let Some(a) = self.last(at.view, from)
        {
            a.remarks.push("LooseScan".into());
        }
        let mut a = self.index_join_access(n);
        if strategy == Some(Strategy::InToExists) {
            let block = self.blocks.path(n.notes.block, self.views[at.view].block).into_iter().next();
            if let Some(block) = block {
                a.access_type = if a.access_type == "eq_ref" { "unique_subquery" } else { "index_subquery" };
                let view = self.view(block, "DEPENDENT SUBQUERY", true);
                self.views[at.view].subqueries.push(view);
                self.push(a, At { view, buffer: None, semi: false, base_cost: 0.0 });
                return;
            }
        }
        let outer = self.outer_name(at.view);
        a.remarks.extend(remark(kind, outer));
        self.push(a, At { buffer: key_buffer(n), ..at });
    }

    /// The inner side of a semijoin, kept under a hash key: `<subqueryN>`. No such block: false.
    fn materialized(&mut self, n: &'p PlanNode, at: At) -> bool {
        let block = self.blocks.path(self.blocks.common(n), self.views[at.view].block).into_iter().next();
        let Some(block) = block.filter(|b| self.blocks.get(*b).is_some_and(|b| b.role == BlockRole::Subquery)) else {
            return false;
        };
        self.enter(block, n, At { buffer: None, ..at }, true);
        if let Some(a) = self.last(at.view, 0) {
            a.access_type = "eq_ref";
            (a.rows, a.filtered) = (1.0, 100.0);
            a.key = Some("<auto_distinct_key>".into());
            a.possible_keys = vec!["<auto_distinct_key>".into()];
        }
        true
    }

    pub(super) fn join(&mut self, n: &'p PlanNode, at: At) {
        let (kind, probe, build, words, conditions) = match &n.op {
            PlanOp::HashJoin { kind, probe, build, keys, residual, .. } => {
                let mut c = self.words.join_keys(keys, &probe.output, &build.output);
                c.extend(residual.iter().flat_map(|r| self.words.join_conditions(r, &probe.output, &build.output)));
                (*kind, probe, build, "hash join", c)
            }
            PlanOp::NestedLoopJoin { kind, probe, build, condition, blocks, .. } => {
                let c = condition.iter().flat_map(|c| self.words.join_conditions(c, &probe.output, &build.output));
                (*kind, probe, build, if *blocks { "Block Nested Loop" } else { "" }, c.collect())
            }
            _ => return,
        };
        // What is kept comes first: it is in memory, or its rows stay whatever the other side has.
        let build_first = match kind {
            JoinKind::Inner => words == "hash join",
            JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => true,
            _ => false,
        };
        let (first, second): (&'p PlanNode, &'p PlanNode) = if build_first { (build, probe) } else { (probe, build) };
        self.walk(first, at);
        let strategy = n.notes.strategy;
        let apart = matches!(kind, JoinKind::Mark { .. } | JoinKind::NullAwareAnti)
            || strategy == Some(Strategy::Materialization);
        if apart && self.ask(second, at, "SUBQUERY", false) {
            return;
        }
        let outer = self.outer_name(at.view);
        let semi = matches!(kind, JoinKind::Semi | JoinKind::Anti | JoinKind::RightSemi | JoinKind::RightAnti);
        let from = self.views[at.view].tables.len();
        let alone = from == 0;
        let buffer = if alone { at.buffer } else { Some(words).filter(|w| !w.is_empty()) };
        let inner = At { view: at.view, buffer, semi, base_cost: at.base_cost + first.estimated_cost };
        let looked_up = strategy == Some(Strategy::MaterializeLookup) && self.materialized(second, inner);
        if !looked_up {
            self.walk(second, inner);
        }
        let weedout =
            strategy == Some(Strategy::DuplicateWeedout) && matches!(kind, JoinKind::Semi | JoinKind::RightSemi);
        if let Some(a) = self.views[at.view].tables.get_mut(from).filter(|_| weedout) {
            a.remarks.push("Start temporary".into());
        }
        if let Some(a) = self.last(at.view, from) {
            a.using_where |= !conditions.is_empty();
            a.conditions.extend(conditions);
            let semi = matches!(kind, JoinKind::Semi | JoinKind::RightSemi);
            match weedout {
                true => {
                    a.remarks.extend(remark(kind, outer).filter(|_| !semi));
                    a.remarks.push("End temporary".into());
                }
                false if looked_up && semi => {}
                false => a.remarks.extend(remark(kind, outer)),
            }
            a.join_rows = n.estimated_rows;
            a.prefix_cost = at.base_cost + n.estimated_cost;
        }
    }

    pub(super) fn apply(&mut self, n: &'p PlanNode, at: At) {
        let PlanOp::Apply { input, subplan, kind, unknown, params, cache } = &n.op else { return };
        let kind = *kind;
        self.walk(input, at);
        // A semijoin's inner side is part of the outer block.
        let merged = n.notes.strategy == Some(Strategy::FirstMatch);
        // It reads nothing of the outer rows, and is run for each all the same.
        if params.is_empty() && !cache && self.ask(subplan, at, "UNCACHEABLE SUBQUERY", false) {
            let view = self.views[at.view].subqueries.last().copied();
            view.into_iter().for_each(|v| self.views[v].uncacheable = true);
            return;
        }
        if !merged && self.ask(subplan, at, "DEPENDENT SUBQUERY", true) {
            let view = self.views[at.view].subqueries.last().copied();
            if let Some(a) = view.and_then(|v| self.last(v, 0)).filter(|_| !unknown.is_empty()) {
                a.remarks.push("Full scan on NULL key".into());
            }
            return;
        }
        let path = self.blocks.path(self.blocks.common(subplan), self.views[at.view].block);
        match path.first().filter(|_| !merged) {
            Some(block) => {
                let unit = self.blocks.unit_number(*block);
                let view = self.view(*block, "DEPENDENT DERIVED", true);
                if let Some(a) = self.last(at.view, 0) {
                    a.remarks.push(format!("Rematerialize (<derived{unit}>)"));
                }
                self.push(
                    Access { source: Some(view), ..self.derived_access(subplan, format!("<derived{unit}>")) },
                    at,
                );
                self.run(subplan, view);
            }
            None => {
                let outer = self.outer_name(at.view);
                let from = self.views[at.view].tables.len();
                self.walk(subplan, At { buffer: None, base_cost: at.base_cost + input.estimated_cost, ..at });
                if let Some(a) = self.last(at.view, from) {
                    a.remarks.extend(remark(kind, outer));
                }
            }
        }
    }
}

fn remark(kind: JoinKind, outer: String) -> Option<String> {
    match kind {
        JoinKind::Semi | JoinKind::RightSemi => Some(format!("FirstMatch({outer})")),
        JoinKind::Anti | JoinKind::RightAnti | JoinKind::NullAwareAnti => Some("Not exists".into()),
        _ => None,
    }
}

/// The words of a join by index that collects keys.
fn key_buffer(n: &PlanNode) -> Option<&'static str> {
    match &n.op {
        PlanOp::IndexJoin { buffer: Some(_), .. } => Some("Batched Key Access"),
        _ => None,
    }
}
