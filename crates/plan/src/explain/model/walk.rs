//! The walk over the plan that finds the borders of query blocks. [`joins`] has its steps over joins.

mod joins;

use super::{Access, Blocks, Step, Union, View, WindowStep};
use crate::explain::tree::DEPTH_MAX;
use crate::explain::words::Words;
use crate::logical::{BlockRole, BlockShape, SetOpKind};
use crate::{Plan, PlanNode, PlanOp};
use std::collections::HashMap;

/// MySQL's words for MIN and MAX that the ends of indexes answer.
const OPTIMIZED_AWAY: &str = "Select tables optimized away";

pub(super) struct Walker<'p> {
    pub plan: &'p Plan,
    pub views: Vec<View>,
    pub blocks: Blocks<'p>,
    pub words: Words<'p>,
    /// The view of each CTE's definition; none while it is being walked.
    ctes: HashMap<u32, Option<usize>>,
    /// Definitions that never have more than one row.
    one_row_views: Vec<usize>,
    depth: usize,
}

/// Where the walk is.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub view: usize,
    /// Words for the next table: how it is joined.
    pub buffer: Option<&'static str>,
    /// On the inner side of a semi or anti join.
    semi: bool,
    /// Cost of what comes before in the same join.
    pub base_cost: f64,
}

/// Operators whose columns do not say whose they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owned {
    Grouped,
    Distinct,
    Ordered,
    Limited,
    Windows,
}

impl<'p> Walker<'p> {
    pub fn new(plan: &'p Plan) -> Walker<'p> {
        Walker {
            plan,
            views: vec![],
            blocks: Blocks::new(plan),
            words: Words::new(plan),
            ctes: HashMap::new(),
            one_row_views: vec![],
            depth: 0,
        }
    }

    /// The view of the statement itself.
    pub fn root(&mut self) -> usize {
        let roots = |b: &u32| self.blocks.get(*b).is_some_and(|x| x.parent == 0);
        let block = (1..=self.plan.blocks.len() as u32).find(roots).unwrap_or(0);
        let view = self.view(block, "PRIMARY", false);
        if block == 0 {
            self.views[view].id = 1;
            self.views[view].unit = 1;
        }
        view
    }

    fn view(&mut self, block: u32, select_type: &'static str, dependent: bool) -> usize {
        let b = self.blocks.get(block);
        self.views.push(View {
            id: b.map_or(0, |b| b.number),
            unit: self.blocks.unit_number(block),
            select_type,
            dependent,
            uncacheable: dependent,
            early: false,
            place: b.map_or_else(Default::default, |b| b.place),
            steps: vec![],
            tables: vec![],
            message: None,
            union: None,
            windows: vec![],
            subqueries: vec![],
            cost: 0.0,
            block,
            left: b.map_or(BlockShape::default(), |b| b.shape),
        });
        self.views.len() - 1
    }

    /// Walks a whole block.
    pub fn run(&mut self, n: &'p PlanNode, view: usize) {
        self.views[view].cost = n.estimated_cost;
        self.walk(n, At { view, buffer: None, semi: false, base_cost: 0.0 });
    }

    /// Subqueries that are computed before the statement.
    pub fn inits(&mut self, root: usize) {
        let mut used = vec![];
        let first = self.views.len();
        for init in &self.plan.init {
            let block = self.blocks.of_init(&init.plan, init.kind, &used);
            used.push(block);
            let view = self.view(block, "SUBQUERY", false);
            if block == 0 {
                let id = used.len() as u32 + 1;
                (self.views[view].id, self.views[view].unit) = (id, id);
            }
            self.views[view].early = true;
            self.run(&init.plan, view);
        }
        // Views begun meanwhile have their reader already.
        let mut next = first;
        for block in used {
            while self.views[next].block != block || self.views[next].select_type != "SUBQUERY" {
                next += 1;
            }
            let mut around = self.blocks.parent(block);
            let mut home = root;
            while around > 0 {
                if let Some(v) = self.views.iter().position(|v| v.block == around) {
                    home = v;
                    break;
                }
                around = self.blocks.parent(around);
            }
            self.views[home].subqueries.push(next);
            next += 1;
        }
    }

    /// The outermost block with a border between the view's own and `inner`.
    fn border(&self, inner: u32, view: usize) -> Option<u32> {
        let path = self.blocks.path(inner, self.views[view].block);
        path.into_iter().find(|b| self.blocks.get(*b).is_some_and(|b| !b.is_mergeable()))
    }

    /// The block that begins at an operator, unless it is the view's own.
    fn begins(&mut self, n: &PlanNode, view: usize, what: Owned) -> Option<u32> {
        let left = &mut self.views[view].left;
        let slot = match what {
            Owned::Grouped => &mut left.grouped,
            Owned::Distinct if !left.distinct => &mut left.grouped,
            Owned::Distinct => &mut left.distinct,
            Owned::Ordered => &mut left.ordered,
            Owned::Limited => &mut left.limited,
            Owned::Windows => &mut left.windows,
        };
        if n.notes.block > 0 {
            let own = n.notes.block;
            let found = self.border(own, view);
            if found.is_none() && what == Owned::Grouped {
                self.views[view].left.grouped = false;
            }
            return found;
        }
        if std::mem::replace(slot, false) {
            return None;
        }
        let common = self.blocks.common(n);
        if let Some(b) = self.border(common, view) {
            return Some(b);
        }
        // Rows of a subquery, made distinct to be joined, or its extremes.
        let path = self.blocks.path(common, self.views[view].block);
        path.into_iter().find(|b| {
            matches!(what, Owned::Distinct | Owned::Grouped)
                && self.blocks.get(*b).is_some_and(|b| b.role == BlockRole::Subquery)
        })
    }

    /// The view of an inner block whose rows the outer one reads as a table.
    fn enter(&mut self, block: u32, n: &'p PlanNode, at: At, made_distinct: bool) {
        let role = self.blocks.get(block).map(|b| b.role);
        let unit = self.blocks.unit_number(block);
        let materialized = role == Some(BlockRole::Subquery) && (at.semi || made_distinct);
        let (name, kind) = if materialized {
            (format!("<subquery{unit}>"), "MATERIALIZED")
        } else {
            (format!("<derived{unit}>"), "DERIVED")
        };
        let view = self.view(block, kind, false);
        let mut a = Access { source: Some(view), ..self.derived_access(n, name) };
        if !materialized && one_row(n) {
            a.access_type = "system";
        }
        self.push(a, at);
        self.run(n, view);
    }

    /// A subquery in an expression: `SUBQUERY` and the like.
    fn ask(&mut self, n: &'p PlanNode, at: At, kind: &'static str, dependent: bool) -> bool {
        let block = self.blocks.path(self.blocks.common(n), self.views[at.view].block).into_iter().next();
        let Some(block) = block.filter(|b| self.blocks.get(*b).is_some_and(|b| b.role == BlockRole::Subquery)) else {
            return false;
        };
        let view = self.view(block, kind, dependent);
        self.views[at.view].subqueries.push(view);
        self.run(n, view);
        true
    }

    pub fn push(&mut self, mut a: Access, at: At) {
        a.join_buffer = a.join_buffer.or(at.buffer);
        a.prefix_cost += at.base_cost;
        self.views[at.view].tables.push(a);
    }

    fn last(&mut self, view: usize, from: usize) -> Option<&mut Access> {
        let tables = &mut self.views[view].tables;
        if tables.len() > from { tables.last_mut() } else { None }
    }

    fn walk(&mut self, n: &'p PlanNode, at: At) {
        if self.depth > DEPTH_MAX {
            return;
        }
        self.depth += 1;
        self.node(n, at);
        self.depth -= 1;
    }

    fn step(&mut self, n: &'p PlanNode, input: &'p PlanNode, at: At, what: Owned, step: Option<Step>) {
        match self.begins(n, at.view, what) {
            Some(block) => self.enter(block, n, at, n.notes.block == 0 && what != Owned::Limited),
            None => {
                let steps = &mut self.views[at.view].steps;
                steps.extend(step.filter(|s| !steps.contains(s)));
                if let Some(w) = self.window(n) {
                    // The innermost is computed first.
                    self.views[at.view].windows.insert(0, w);
                }
                self.walk(input, at);
            }
        }
    }

    fn window(&self, n: &'p PlanNode) -> Option<WindowStep> {
        let PlanOp::Window { input, partition_by, order_by, calls } = &n.op else { return None };
        let mut sort_keys = self.words.exprs(partition_by, &input.output);
        sort_keys.extend(order_by.iter().map(|k| {
            let key = self.words.exprs([&k.expr], &input.output).concat();
            if k.descending { format!("{key} desc") } else { key }
        }));
        Some(WindowStep { sort_keys, functions: calls.iter().map(|c| c.func.shown()).collect() })
    }

    fn node(&mut self, n: &'p PlanNode, at: At) {
        match &n.op {
            PlanOp::Scan { .. } | PlanOp::KeyLookup { .. } | PlanOp::IndexScan { .. } | PlanOp::Virtual { .. } => {
                match self.border(n.notes.block, at.view) {
                    Some(block) => self.enter(block, n, at, false),
                    None => {
                        let a = self.table_access(n);
                        self.push(a, at);
                    }
                }
            }
            PlanOp::IndexJoin { input, kind, .. } => self.index_join(n, input, *kind, at),
            PlanOp::CteScan { cte_id, name } => self.cte_scan(n, *cte_id, name, at),
            PlanOp::Values { .. } => {
                if let Some(block) = self.border(n.notes.block, at.view) {
                    self.enter(block, n, at, false);
                }
            }
            PlanOp::OneRow => {}
            PlanOp::Empty => {
                if self.views[at.view].tables.is_empty() {
                    self.views[at.view].message = Some("Impossible WHERE");
                } else {
                    let remarks = vec!["Impossible WHERE".to_string()];
                    self.push(Access { remarks, ..Access::default() }, at);
                }
            }
            PlanOp::HashJoin { .. } | PlanOp::NestedLoopJoin { .. } => self.join(n, at),
            PlanOp::Apply { .. } => self.apply(n, at),
            PlanOp::Filter { input, predicates } => {
                let from = self.views[at.view].tables.len();
                self.walk(input, at);
                let text = self.words.conditions(predicates, &input.output);
                // Above the view's own groups it is HAVING.
                if let Some(a) = self.last(at.view, from)
                    && (a.source.is_some() || !groups(input))
                {
                    a.conditions.extend(text);
                    a.using_where = true;
                    if a.source.is_some() {
                        a.filtered = super::access::share(n.estimated_rows, a.rows);
                    }
                    a.join_rows = n.estimated_rows;
                    a.prefix_cost = at.base_cost + n.estimated_cost;
                }
            }
            PlanOp::Sort { limit: Some(0), .. } | PlanOp::Limit { limit: Some(0), .. }
                if self.views[at.view].tables.is_empty() && self.border(self.blocks.common(n), at.view).is_none() =>
            {
                self.views[at.view].message = Some("Zero limit");
            }
            PlanOp::Sort { input, limit, .. } => {
                if limit.is_some() {
                    self.views[at.view].left.limited = false;
                }
                self.step(n, input, at, Owned::Ordered, Some(Step::Sort));
            }
            PlanOp::Attempt { first, .. } => self.walk(first, at),
            PlanOp::Limit { input, .. } => self.step(n, input, at, Owned::Limited, None),
            PlanOp::Distinct { input } => {
                let union = match &input.op {
                    PlanOp::SetOp { .. } => self.border(input.notes.block, at.view),
                    _ => None,
                };
                match union {
                    // The union's own.
                    Some(block) => self.enter(block, n, at, false),
                    None if matches!(input.op, PlanOp::SetOp { .. }) => self.walk(input, at),
                    None => self.step(n, input, at, Owned::Distinct, Some(Step::Distinct)),
                }
            }
            PlanOp::Aggregate { .. } if n.notes.optimized_away => match self.begins(n, at.view, Owned::Grouped) {
                Some(block) => self.enter(block, n, at, n.notes.block == 0),
                None if self.views[at.view].tables.is_empty() => self.views[at.view].message = Some(OPTIMIZED_AWAY),
                None => {
                    self.push(Access { remarks: vec![OPTIMIZED_AWAY.to_string()], ..Access::default() }, at);
                }
            },
            PlanOp::Aggregate { input, groups, ordered, .. } => {
                let step = Step::Group { temporary: !*ordered };
                self.step(n, input, at, Owned::Grouped, (!groups.is_empty()).then_some(step));
            }
            PlanOp::Window { input, partition_by, order_by, .. } => {
                let step = Step::Window { sorts: !partition_by.is_empty() || !order_by.is_empty() };
                self.step(n, input, at, Owned::Windows, Some(step));
            }
            PlanOp::SetOp { inputs, .. } => match self.border(n.notes.block, at.view) {
                Some(block) => self.enter(block, n, at, false),
                None if n.notes.block == self.views[at.view].block && self.is_set_op(n.notes.block) => {
                    self.union(&inputs.iter().collect::<Vec<_>>(), at, true);
                }
                None => inputs.iter().for_each(|i| self.walk(i, at)),
            },
            PlanOp::RecursiveUnion { anchor, recursive, cte_id, .. } => match self.border(n.notes.block, at.view) {
                Some(block) => self.enter(block, n, at, false),
                None => {
                    self.ctes.insert(*cte_id, None);
                    self.union(&[anchor, recursive], at, false);
                }
            },
            PlanOp::With { ctes, input } => {
                for c in ctes {
                    let common = self.blocks.common(&c.plan);
                    let named =
                        |b: &u32| self.blocks.get(*b).is_some_and(|x| x.role == BlockRole::Cte && x.name == c.name);
                    let mut block = self.blocks.around(common, BlockRole::Cte);
                    if !named(&block) {
                        // A derived table that is kept apart.
                        let derived = self.blocks.around(common, BlockRole::Derived);
                        block = if derived > 0 { derived } else { block };
                    }
                    if block == 0 {
                        // It reads no table: by its name, or the first derived table without a view.
                        let free = |b: &u32| {
                            self.blocks.get(*b).is_some_and(|x| x.role == BlockRole::Derived)
                                && self.views.iter().all(|v| v.block != *b)
                        };
                        let all = 1..=self.plan.blocks.len() as u32;
                        block = all.clone().find(named).or_else(|| all.clone().find(free)).unwrap_or(0);
                    }
                    let view = self.view(block, "DERIVED", false);
                    self.run(&c.plan, view);
                    if one_row(&c.plan) {
                        self.one_row_views.push(view);
                    }
                    self.ctes.insert(c.cte_id, Some(view));
                }
                self.walk(input, at);
            }
            PlanOp::Fetch { input, .. } | PlanOp::Project { input, .. } | PlanOp::SingleRow { input } => {
                self.walk(input, at)
            }
        }
    }

    fn cte_scan(&mut self, n: &'p PlanNode, cte_id: u32, name: &str, at: At) {
        match self.ctes.get(&cte_id).copied().flatten() {
            Some(view) => {
                let unit = self.views[view].unit;
                let mut a = Access { source: Some(view), ..self.derived_access(n, format!("<derived{unit}>")) };
                if self.one_row_views.contains(&view) {
                    a.access_type = "system";
                }
                self.push(a, at);
            }
            None => {
                let remarks = vec!["Recursive".to_string()];
                let a = Access { remarks, ..self.derived_access(n, name.to_string()) };
                self.push(a, at);
            }
        }
    }

    fn is_set_op(&self, block: u32) -> bool {
        self.blocks.get(block).is_some_and(|b| b.shape.set_op.is_some())
    }

    fn outer_name(&self, view: usize) -> String {
        self.views[view].tables.last().and_then(|t| t.table.clone()).unwrap_or_default()
    }

    /// The operands of the set operation that the view is.
    fn union(&mut self, inputs: &[&'p PlanNode], at: At, collects: bool) {
        let block = self.views[at.view].block;
        let kind = self.blocks.get(block).and_then(|b| b.shape.set_op).unwrap_or(SetOpKind::Union);
        let distinct = self.blocks.get(block).is_some_and(|b| b.shape.distinct);
        let collected = collects && (kind != SetOpKind::Union || distinct || !self.views[at.view].steps.is_empty());
        self.views[at.view].union.get_or_insert(Union { operands: vec![], kind, collected });
        let all = self.blocks.operands(block);
        for input in inputs {
            let common = self.blocks.common(input);
            if common == block {
                // A chain of different operations.
                self.walk(input, at);
                continue;
            }
            let done = self.views[at.view].union.as_ref().map_or(0, |u| u.operands.len());
            let inside = self.blocks.path(common, block).first().copied();
            let operand = inside.or(all.get(done).copied()).unwrap_or(0);
            let (dependent, uncacheable) = (self.views[at.view].dependent, self.views[at.view].uncacheable);
            let select_type = match (done, kind, dependent) {
                (0, ..) => self.views[at.view].select_type,
                (_, SetOpKind::Union, false) if uncacheable => "UNCACHEABLE UNION",
                (_, SetOpKind::Union, false) => "UNION",
                (_, SetOpKind::Union, true) => "DEPENDENT UNION",
                (_, SetOpKind::Intersect, _) => "INTERSECT",
                (_, SetOpKind::Except, _) => "EXCEPT",
            };
            let view = self.view(operand, select_type, dependent);
            self.views[view].uncacheable = uncacheable;
            if let Some(u) = &mut self.views[at.view].union {
                u.operands.push(view);
            }
            self.run(input, view);
        }
    }
}

/// Does it have one row at most, whatever the tables hold?
fn one_row(n: &PlanNode) -> bool {
    match &n.op {
        PlanOp::OneRow | PlanOp::Limit { limit: Some(1), .. } | PlanOp::Sort { limit: Some(1), .. } => true,
        PlanOp::Aggregate { groups, rollup: false, .. } => groups.is_empty(),
        PlanOp::Values { rows } => rows.len() == 1,
        PlanOp::Project { input, .. } | PlanOp::Filter { input, .. } | PlanOp::SingleRow { input } => one_row(input),
        _ => false,
    }
}

/// Does a condition above it test groups, not rows of tables?
fn groups(n: &PlanNode) -> bool {
    match &n.op {
        PlanOp::Project { input, .. } | PlanOp::Filter { input, .. } => groups(input),
        PlanOp::Aggregate { .. } | PlanOp::Window { .. } | PlanOp::SetOp { .. } | PlanOp::Distinct { .. } => true,
        _ => false,
    }
}
