//! The state of the search in one block: what is known of its relations, and the best way found to join each set.

use super::enumerate;
use super::graph::{Edge, Graph};
use super::precedence::Precedence;
use super::{Block, Operator, Set, linear, produces};
use crate::optimize::cardinality::{self, Estimate, Estimator};
use crate::optimize::column_set::ColumnSet;
use crate::optimize::context::Context;
use crate::optimize::cost::CostParams;
use crate::optimize::lookup_cost::{self, Lookups};
use crate::optimize::properties::{column_equality, keys};
use crate::optimize::settings::Limits;
use crate::optimize::tree::{as_column, compare, expr_columns, exprs_columns, filter, output_set, visit};
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use plan::explain::{JoinTried, Weighed};
use plan::logical::{Columns, Logical, LogicalJoinKind};
use std::cell::RefCell;
use std::collections::HashMap;
use types::{Pace, Result};

/// A class of equal columns.
struct Class {
    /// (relation, column)
    members: Vec<(usize, ColumnId)>,
    relations: Set,
}

struct Predicate {
    expr: Expr,
    relations: Set,
    /// The relations of the two sides of an equality.
    sides: Option<(Set, Set)>,
}

/// Conditions between two sides that an estimate looks at: more make no difference to it, but take time.
const ESTIMATED_MAX: usize = 32;

/// The best way found to join a set of relations.
pub(super) struct Entry {
    pub cost: f64,
    /// The part of the cost that becomes less if a join above narrows the scan below.
    flow: f64,
    /// Does something hold rows back?
    is_narrowed: bool,
    pub estimate: Estimate,
    /// Bytes of a row.
    pub width: f64,
    columns: ColumnSet,
    /// The two sides and, if it is not an inner join, the operator; none for single relations.
    pub split: Option<(Set, Set, Option<usize>)>,
}

struct Candidate {
    cost: f64,
    flow: f64,
    is_narrowed: bool,
    rows: f64,
    estimate: Option<Estimate>,
    width: f64,
    split: (Set, Set, Option<usize>),
    /// Methods that were weighed; only if the statement is traced.
    ways: Vec<(&'static str, f64)>,
}

pub(super) struct Planner<'a> {
    relations: Vec<Option<Logical>>,
    outputs: Vec<ColumnSet>,
    /// The same without marks: what the condition of the operator reads.
    own_outputs: Vec<ColumnSet>,
    keys: Vec<Vec<ColumnSet>>,
    /// The relations as joins by index see them.
    lookups: Vec<Lookups>,
    classes: Vec<Class>,
    predicates: Vec<Predicate>,
    operators: Vec<Operator>,
    /// The operator through which a relation enters, if any.
    enters_by: Vec<Option<usize>>,
    pub(super) precedence: Precedence,
    limits: &'a Limits,
    columns: &'a Columns,
    pace: &'a Pace<'a>,
    cost: &'a CostParams,
    may_hash: bool,
    /// Do hash joins narrow scans?
    narrows: bool,
    pub(super) best: HashMap<Set, Entry>,
    free: Vec<Expr>,
    /// If the statement is traced: where joins are noted, and what the relations are called there.
    noted: Option<(&'a RefCell<Weighed>, Names)>,
}

/// The query block, and the tables of each relation.
type Names = (u32, Vec<Vec<String>>);

impl<'a> Planner<'a> {
    pub(super) fn new(block: Block, cx: &'a Context, est: &mut Estimator) -> Planner<'a> {
        let n = block.relations.len();
        let noted = cx.weighed.as_ref().map(|w| (w, names(&block, cx)));
        let outputs: Vec<ColumnSet> = (0..n).map(|i| produces(&block, i)).collect();
        let home = |c: ColumnId| outputs.iter().position(|o| o.contains(c));
        let mut enters_by = vec![None; n];
        for (i, o) in block.operators.iter().enumerate() {
            enters_by[o.relation] = Some(i);
        }
        // Classes of equal columns, from equalities that padding by an outer join cannot undo.
        let mut classes: Vec<Class> = vec![];
        let mut predicates = vec![];
        let mut free = vec![];
        for p in block.predicates {
            let relations = expr_columns(&p).iter().filter_map(home).fold(0, |s: Set, i| s | 1 << i);
            if relations == 0 {
                free.push(p);
                continue;
            }
            if let Some((a, b)) = column_equality(&p)
                && let (Some(ra), Some(rb)) = (home(a), home(b))
                && ra != rb
                && enters_by[ra].is_none()
                && enters_by[rb].is_none()
            {
                add_to_class(&mut classes, (ra, a), (rb, b));
            } else {
                let sides = equal_sides(&p, home);
                predicates.push(Predicate { expr: p, relations, sides });
            }
        }
        // What later joins may ask of a column's values.
        let mut asked: ColumnSet = classes.iter().flat_map(|c| &c.members).map(|m| m.1).collect();
        asked.union_with(&exprs_columns(predicates.iter().map(|p| &p.expr)));
        asked.union_with(&exprs_columns(block.operators.iter().flat_map(|o| &o.on)));
        let own_outputs = block.relations.iter().map(output_set).collect();
        let mut relations: Vec<Option<Logical>> = vec![];
        let mut best = HashMap::new();
        let mut key_sets = vec![];
        let mut lookups = vec![];
        for (i, r) in block.relations.into_iter().enumerate() {
            // Two members of a class in one relation are equal there already.
            let mut extra = vec![];
            for c in &classes {
                let own: Vec<ColumnId> = c.members.iter().filter(|m| m.0 == i).map(|m| m.1).collect();
                for pair in own.windows(2) {
                    extra.push(compare(CmpOp::Eq, cx.columns.expr(pair[0]), cx.columns.expr(pair[1])));
                }
            }
            let r = filter(r, extra);
            let mut estimate = est.tree(&r);
            let width = estimate.width(&outputs[i]);
            let lookup = Lookups::new(&r, cx.settings, est);
            estimate.columns.retain(|c, _| asked.contains(*c));
            let columns = outputs[i].clone();
            // What narrows the scan below groups leaves fewer rows to be grouped.
            let flow = grouped(&r).map_or(0.0, |input| est.tree(input).rows * cx.settings.cost.group);
            let (cost, is_narrowed) = (lookup.scan_cost + flow, holds_back(&r));
            best.insert(1 << i, Entry { cost, flow, is_narrowed, estimate, width, columns, split: None });
            lookups.push(lookup);
            key_sets.push(keys(&r));
            relations.push(Some(r));
        }
        Planner {
            relations,
            outputs,
            own_outputs,
            keys: key_sets,
            lookups,
            classes,
            predicates,
            operators: block.operators,
            enters_by,
            precedence: block.precedence,
            limits: &cx.settings.limits,
            columns: &cx.columns,
            pace: &cx.pace,
            cost: &cx.settings.cost,
            may_hash: cx.settings.switch.hash_join && cx.settings.switch.block_nested_loop,
            narrows: cx.settings.sideways_filters,
            best,
            free,
            noted,
        }
    }

    pub(super) fn order(&mut self) -> Result<Logical> {
        let n = self.relations.len();
        let all = Set::MAX >> (Set::BITS as usize - n);
        if n > 1 {
            let graph = Graph::new(n, self.edges());
            // optimizer_search_depth: beyond it no search is exhaustive; 0 leaves it to us, and 1 means greedy.
            let depth = self.limits.search_depth as usize;
            let searched = (depth == 0 || n <= depth) && enumerate::exhaustive(all, &graph, self);
            if !searched {
                linear::search(n, &graph, self, depth != 1);
            }
        }
        self.pace.check()?;
        let tree = self.build(all)?;
        Ok(filter(tree, std::mem::take(&mut self.free)))
    }

    /// False: the statement is to stop.
    pub(super) fn goes_on(&self) -> bool {
        self.pace.goes_on()
    }

    /// Hyperedges: which sets a join may connect.
    fn edges(&self) -> Vec<Edge> {
        let mut edges = vec![];
        for c in &self.classes {
            for (i, a) in c.members.iter().enumerate() {
                for b in &c.members[i + 1..] {
                    if a.0 != b.0 {
                        edges.push(Edge { left: 1 << a.0, right: 1 << b.0 });
                    }
                }
            }
        }
        for p in &self.predicates {
            if p.relations.count_ones() < 2 {
                continue;
            }
            // The sides of a comparison, where it has two; else the lowest relation against the others.
            let side = |e: &Expr| {
                expr_columns(e)
                    .iter()
                    .filter_map(|c| self.outputs.iter().position(|o| o.contains(c)))
                    .fold(0, |s: Set, i| s | 1 << i)
            };
            let (l, r) = match &p.expr.kind {
                ExprKind::Compare { left, right, .. } => (side(left), side(right)),
                _ => (0, 0),
            };
            if l != 0 && r != 0 && l & r == 0 {
                edges.push(Edge { left: l, right: r });
            } else {
                let low = p.relations & p.relations.wrapping_neg();
                edges.push(Edge { left: low, right: p.relations & !low });
            }
        }
        for o in &self.operators {
            edges.push(Edge { left: o.needs, right: 1 << o.relation });
        }
        edges
    }

    /// How `a` and `b` may be joined: `Some(None)` by an inner join, `Some(Some(op))` by an operator, left side `a`.
    fn joinable(&self, a: Set, b: Set) -> Option<Option<usize>> {
        if !self.precedence.allows(a, b) {
            return None;
        }
        let alone = |s: Set| (s.count_ones() == 1).then(|| self.enters_by[s.trailing_zeros() as usize]).flatten();
        match (alone(a), alone(b)) {
            (None, None) => Some(None),
            (None, Some(op)) => (self.operators[op].needs & !a == 0).then_some(Some(op)),
            _ => None,
        }
    }

    /// May a relation come behind these in a row of joins with one relation each?
    pub(super) fn may_follow(&self, relation: usize, before: Set) -> bool {
        self.enters_by[relation].is_none_or(|o| before != 0 && self.operators[o].needs & !before == 0)
    }

    /// The join condition between two sides.
    fn condition(&self, a: Set, b: Set) -> Vec<Expr> {
        let mut on = vec![];
        for c in &self.classes {
            if c.relations & a != 0 && c.relations & b != 0 {
                let member = |s: Set| c.members.iter().find(|m| s & (1 << m.0) != 0).map(|m| m.1);
                if let (Some(x), Some(y)) = (member(a), member(b)) {
                    on.push(compare(CmpOp::Eq, self.columns.expr(x), self.columns.expr(y)));
                }
            }
        }
        for p in &self.predicates {
            if p.relations & !(a | b) == 0 && p.relations & !a != 0 && p.relations & !b != 0 {
                on.push(p.expr.clone());
            }
        }
        on
    }

    /// Is there an equality among the conditions between two sides?
    fn has_equality(&self, a: Set, b: Set) -> bool {
        let of_classes = self.classes.iter().any(|c| c.relations & a != 0 && c.relations & b != 0);
        let splits = |(l, r): (Set, Set)| (l & !a == 0 && r & !b == 0) || (l & !b == 0 && r & !a == 0);
        of_classes || self.predicates.iter().any(|p| p.sides.is_some_and(splits))
    }

    fn keys_of(&self, s: Set) -> Vec<ColumnSet> {
        (0..self.keys.len()).filter(|i| s & (1 << i) != 0).flat_map(|i| self.keys[i].iter().cloned()).collect()
    }

    /// What joining the best plans of `a` and `b` costs and yields; `None` if they may not be joined so. The estimate
    /// is made only if the rows of the result are not known yet.
    fn candidate(&self, a: Set, b: Set, known_rows: Option<f64>) -> Option<Candidate> {
        let (a, b, op) = match self.joinable(a, b) {
            Some(op) => (a, b, op),
            None => (b, a, self.joinable(b, a)?),
        };
        let (l, r) = (self.best.get(&a)?, self.best.get(&b)?);
        let kind = op.map_or(LogicalJoinKind::Inner, |o| self.operators[o].kind);
        // The conditions' texts are not needed to weigh a hash join of sides whose rows are known: dense graphs have
        // many.
        let few = |outer: &Entry, to: Set| to.count_ones() == 1 && outer.estimate.rows <= lookup_cost::OUTER_ROWS_MAX;
        let by_texts = op.is_some() || known_rows.is_none() || few(l, b) || few(r, a);
        let mut on = if by_texts { self.condition(a, b) } else { vec![] };
        let residual = if op.is_some() { std::mem::take(&mut on) } else { vec![] };
        if let Some(o) = op {
            on = self.operators[o].on.clone();
        }
        // The right side of an operator is one relation, whose own columns the condition reads.
        let lo = &l.columns;
        let ro = match op {
            Some(o) => &self.own_outputs[self.operators[o].relation],
            None => &r.columns,
        };
        let equal = match op {
            Some(_) => on.iter().any(|p| cardinality::join_equality(p, lo, ro).is_some()),
            None => self.has_equality(a, b),
        };
        let hashable = self.may_hash && equal;
        let estimate = match known_rows {
            Some(_) => None,
            None => {
                let looked_at = &on[..on.len().min(ESTIMATED_MAX)];
                let mut e = cardinality::join(kind, &l.estimate, &r.estimate, looked_at, lo, ro, || {
                    (self.keys_of(a), self.keys_of(b))
                });
                if !residual.is_empty() {
                    let s = cardinality::conjunction(&residual, &e);
                    e = cardinality::filtered(e, &residual, s);
                }
                Some(e)
            }
        };
        let (lr, rr) = (l.estimate.rows, r.estimate.rows);
        let out = known_rows.or(estimate.as_ref().map(|e| e.rows))?;
        let turns = match kind {
            LogicalJoinKind::Inner => lr * (l.width + 16.0) < rr * (r.width + 16.0),
            _ => false,
        };
        let (mut cost, mut flow) = if hashable && turns {
            self.hashed(r, l, kind, out)
        } else if hashable {
            let (cost, flow) = self.hashed(l, r, kind, out);
            let turned = l.cost + r.cost + self.cost.hash_join(rr, lr, l.width, out, 1.0);
            match kind {
                LogicalJoinKind::Left | LogicalJoinKind::Semi | LogicalJoinKind::Anti if turned < cost => (turned, 0.0),
                _ => (cost, flow),
            }
        } else {
            (l.cost + r.cost + self.cost.nested_loop(lr, rr, out), 0.0)
        };
        let width = match kind {
            LogicalJoinKind::Inner | LogicalJoinKind::Left | LogicalJoinKind::Single => l.width + r.width,
            _ => l.width,
        };
        let mut ways = vec![];
        if self.noted.is_some() {
            ways.push((if hashable { "hash join" } else { "nested loop" }, cost));
        }
        // A semijoin's few right rows may ask the left table, each once.
        let free = !self.precedence.orders(a, b);
        let from_right = free && matches!(kind, LogicalJoinKind::Inner | LogicalJoinKind::Semi);
        let by_index = [(a, b, l, r, true), (b, a, r, l, from_right)];
        for (from, to, outer, inner, allowed) in by_index {
            if allowed && to.count_ones() == 1 && inner.split.is_none() {
                let (fo, to_columns) = if from == a { (lo, ro) } else { (ro, lo) };
                let once =
                    if kind == LogicalJoinKind::Semi && from == b { r.estimate.rows * self.cost.group } else { 0.0 };
                let Some(c) = self.lookup_cost(kind, outer, to, &on, fo, to_columns) else { continue };
                if self.noted.is_some() {
                    ways.push(("index join", c + once));
                }
                if (c + once) * lookup_cost::ORDER_MARGIN < cost {
                    flow = outer.flow + c - outer.cost;
                    cost = c + once;
                }
            }
        }
        let is_narrowed = l.is_narrowed || r.is_narrowed;
        Some(Candidate { cost, flow, is_narrowed, rows: out, estimate, width, split: (a, b, op), ways })
    }

    /// What hashing `build` and probing it with `probe` costs, and how much of that becomes less with fewer probe rows.
    /// Build sides that lack rows narrow the scan below the probe side, and with it everything in between.
    fn hashed(&self, probe: &Entry, build: &Entry, kind: LogicalJoinKind, out: f64) -> (f64, f64) {
        let narrows =
            self.narrows && build.is_narrowed && matches!(kind, LogicalJoinKind::Inner | LogicalJoinKind::Semi);
        let (probe_rows, build_rows) = (probe.estimate.rows, build.estimate.rows);
        let kept = if narrows { (out / probe_rows.max(1.0)).min(1.0) } else { 1.0 };
        let (stays, flows) = self.cost.hash_join_parts(probe_rows, build_rows, build.width, out, kept);
        let flow = probe.flow * kept + flows;
        (probe.cost - probe.flow + build.cost + stays + flow, flow)
    }

    /// What joining `outer` with the single relation of `to` by one of its indexes costs.
    fn lookup_cost(
        &self,
        kind: LogicalJoinKind,
        outer: &Entry,
        to: Set,
        on: &[Expr],
        from_columns: &ColumnSet,
        to_columns: &ColumnSet,
    ) -> Option<f64> {
        if !matches!(
            kind,
            LogicalJoinKind::Inner | LogicalJoinKind::Left | LogicalJoinKind::Semi | LogicalJoinKind::Anti
        ) {
            return None;
        }
        let mut given = ColumnSet::new();
        for p in on {
            if let Some((_, inner, _)) = cardinality::join_equality(p, from_columns, to_columns)
                && let Some(c) = as_column(&inner)
            {
                given.insert(c);
            }
        }
        if given.is_empty() {
            return None;
        }
        let lookups = &self.lookups[to.trailing_zeros() as usize];
        let step = lookups.join_cost(outer.estimate.rows, |c| given.contains(c), self.cost)?;
        Some(outer.cost + step)
    }

    /// Considers joining two disjoint sets that both have plans.
    pub(super) fn consider(&mut self, a: Set, b: Set) {
        if !self.pace.goes_on() {
            return;
        }
        let s = a | b;
        let known = self.best.get(&s).map(|e| e.estimate.rows);
        let Some(c) = self.candidate(a, b, known) else { return };
        if let Some((weighed, (block, names))) = &self.noted {
            let of = |s: Set| (0..names.len()).filter(|i| s & (1 << i) != 0).flat_map(|i| names[i].clone()).collect();
            weighed.borrow_mut().note_join(|| JoinTried {
                block: *block,
                left: of(c.split.0),
                right: of(c.split.1),
                ways: c.ways.clone(),
                rows: c.rows,
                cost: c.cost,
                chosen: self.best.get(&s).is_none_or(|old| c.cost < old.cost),
            });
        }
        match self.best.get_mut(&s) {
            Some(old) if c.cost < old.cost => {
                old.cost = c.cost;
                old.flow = c.flow;
                old.split = Some(c.split);
            }
            Some(_) => {}
            None => {
                let estimate = c.estimate.unwrap_or_default();
                let of = |s: Set| self.best.get(&s).map(|e| e.columns.clone()).unwrap_or_default();
                let columns = of(a).union(&of(b));
                let (cost, flow, is_narrowed) = (c.cost, c.flow, c.is_narrowed);
                let entry = Entry { cost, flow, is_narrowed, estimate, width: c.width, columns, split: Some(c.split) };
                self.best.insert(s, entry);
            }
        }
    }

    /// Rows of the join of two sets, for the greedy order; `None` if they may not be joined.
    pub(super) fn rows_of_join(&self, a: Set, b: Set) -> Option<f64> {
        Some(self.candidate(a, b, None)?.rows)
    }

    /// The two sides of the best plan of a set.
    pub(super) fn split(&self, s: Set) -> Option<(Set, Set)> {
        self.best.get(&s)?.split.map(|(a, b, _)| (a, b))
    }

    /// All orders are to be tried (optimizer_prune_level = 0), as far as there is time.
    pub(super) fn prunes(&self) -> bool {
        self.limits.prune_level > 0
    }

    pub(super) fn has_plan(&self, s: Set) -> bool {
        self.best.contains_key(&s)
    }

    fn build(&mut self, s: Set) -> Result<Logical> {
        let split = self.best.get(&s).ok_or_else(|| types::Error::internal("no join order found"))?.split;
        let Some((a, b, op)) = split else {
            let i = s.trailing_zeros() as usize;
            return self.relations[i].take().ok_or_else(|| types::Error::internal("a relation joined twice"));
        };
        let mut on = self.condition(a, b);
        let mut above = vec![];
        let mut kind = LogicalJoinKind::Inner;
        if let Some(o) = op {
            above = std::mem::replace(&mut on, std::mem::take(&mut self.operators[o].on));
            kind = self.operators[o].kind;
        }
        let straight = self.precedence.orders(a, b);
        let left = self.build(a)?;
        let right = self.build(b)?;
        let single = self.single_relation_predicates(s);
        above.extend(single);
        Ok(filter(
            Logical::Join { kind, left: Box::new(left), right: Box::new(right), on, dependent: false, straight },
            above,
        ))
    }

    /// Conjuncts over one relation that could not be pushed into it (it enters by an operator): applied once, at the
    /// join by which it enters, or at the top of the first join that holds the relation.
    fn single_relation_predicates(&mut self, s: Set) -> Vec<Expr> {
        let mut found = vec![];
        self.predicates.retain(|p| {
            if p.relations.count_ones() == 1 && p.relations & !s == 0 {
                found.push(p.expr.clone());
                return false;
            }
            true
        });
        found
    }
}

/// What a trace calls the relations: by the tables in them.
fn names(block: &Block, cx: &Context) -> Names {
    let mut of_block = 0;
    let mut found = vec![];
    for r in &block.relations {
        let mut tables = vec![];
        visit(r, &mut |n| match n {
            Logical::Get { alias, columns, .. } => {
                let own = columns.first().map_or(0, |c| cx.columns.block_of(c.0));
                of_block = if of_block == 0 { own } else { own.min(of_block) };
                tables.push(alias.to_string());
            }
            Logical::CteScan { name, .. } => tables.push(name.to_string()),
            _ => {}
        });
        found.push(tables);
    }
    (of_block, found)
}

/// Does anything in the tree hold rows back?
fn holds_back(node: &Logical) -> bool {
    let mut found = false;
    visit(node, &mut |n| {
        found |= matches!(
            n,
            Logical::Filter { .. } | Logical::Limit { .. } | Logical::Values { .. } | Logical::Empty { .. }
        );
    });
    found
}

/// The rows that a relation groups by columns of theirs.
fn grouped(relation: &Logical) -> Option<&Logical> {
    match relation {
        Logical::Filter { input, .. } | Logical::Project { input, .. } => grouped(input),
        Logical::Aggregate { input, groups, rollup: false, .. } if groups.iter().any(|g| as_column(&g.1).is_some()) => {
            Some(input)
        }
        _ => None,
    }
}

/// The relations of the two sides of an equality; none if they share one, or read a column of none.
fn equal_sides(p: &Expr, home: impl Fn(ColumnId) -> Option<usize>) -> Option<(Set, Set)> {
    let ExprKind::Compare { op: CmpOp::Eq | CmpOp::NullSafeEq, left, right } = &p.kind else { return None };
    let side = |e: &Expr| {
        let all: Option<Set> = expr_columns(e).iter().try_fold(0, |s: Set, c| Some(s | 1 << home(c)?));
        all.filter(|s| *s != 0)
    };
    let (l, r) = (side(left)?, side(right)?);
    (l & r == 0).then_some((l, r))
}

fn add_to_class(classes: &mut Vec<Class>, a: (usize, ColumnId), b: (usize, ColumnId)) {
    let find = |m: (usize, ColumnId), cs: &[Class]| cs.iter().position(|c| c.members.contains(&m));
    let (ca, cb) = (find(a, classes), find(b, classes));
    let target = match (ca, cb) {
        (Some(x), Some(y)) if x == y => x,
        (Some(x), Some(y)) => {
            let moved = classes.remove(x.max(y));
            let keep = x.min(y);
            classes[keep].members.extend(moved.members);
            keep
        }
        (Some(x), None) => {
            classes[x].members.push(b);
            x
        }
        (None, Some(y)) => {
            classes[y].members.push(a);
            y
        }
        (None, None) => {
            classes.push(Class { members: vec![a, b], relations: 0 });
            classes.len() - 1
        }
    };
    classes[target].relations = classes[target].members.iter().fold(0, |s, m| s | 1 << m.0);
}
