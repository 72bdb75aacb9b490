//! The plan put back into query blocks, as EXPLAIN's table and JSON show it.
//!
//! ```text
//!   plan                                         views
//!   HashJoin                                     1 PRIMARY  <derived2>, t
//!     Aggregate          [block 2]               2 DERIVED  u          grouped
//!       Scan u           [block 2]
//!     Scan t             [block 1]
//! ```
//! The walk goes down from the block of the root. An operator or table of a block further in means that the border of
//! that block lies there: the outer block reads `<derivedN>`, and a view of its own begins. Blocks that do nothing but
//! join and filter have no border (they were merged). Operators whose columns do not say whose they are (DISTINCT,
//! sorts, limits) belong to the outermost block that has one to give.
//!
//! Nothing is estimated here: all figures are the nodes' own.

mod access;
mod walk;

use crate::logical::{BlockRole, BlockShape, Place, QueryBlock, SetOpKind};
use crate::{InitKind, Plan, PlanNode, PlanOp};
use std::collections::HashMap;

/// A query block that stayed apart.
pub(super) struct View {
    pub id: u32,
    /// The number by which others call it: a set operation goes by its first operand's.
    pub unit: u32,
    pub select_type: &'static str,
    pub dependent: bool,
    /// Its rows are not kept for the next time.
    pub uncacheable: bool,
    /// Computed once, before the statement.
    pub early: bool,
    /// Where in the block around it stands.
    pub place: Place,
    /// Outermost first.
    pub steps: Vec<Step>,
    /// In the order in which rows meet them.
    pub tables: Vec<Access>,
    pub message: Option<&'static str>,
    pub union: Option<Union>,
    /// In the order in which they are computed.
    pub windows: Vec<WindowStep>,
    /// Blocks that its expressions ask.
    pub subqueries: Vec<usize>,
    pub cost: f64,
    block: u32,
    /// What its operators have not been found for.
    left: BlockShape,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Sort,
    Distinct,
    /// `sorts`: the rows come in another order.
    Window {
        sorts: bool,
    },
    /// `temporary`: by a hash table.
    Group {
        temporary: bool,
    },
}

/// Window functions that share an order.
pub(super) struct WindowStep {
    pub sort_keys: Vec<String>,
    pub functions: Vec<&'static str>,
}

pub(super) struct Union {
    pub operands: Vec<usize>,
    pub kind: SetOpKind,
    /// Its rows are collected before they go on.
    pub collected: bool,
}

/// A row of the table.
#[derive(Default)]
pub(super) struct Access {
    /// None: no table, only words.
    pub table: Option<String>,
    pub access_type: &'static str,
    pub possible_keys: Vec<String>,
    pub key: Option<String>,
    pub key_parts: Vec<String>,
    pub key_len: Option<String>,
    pub reference: Vec<String>,
    /// Rows that one pass reads, and what share of them is left.
    pub rows: f64,
    pub filtered: f64,
    /// Rows of the join so far.
    pub join_rows: f64,
    pub read_cost: f64,
    pub prefix_cost: f64,
    pub row_bytes: u64,
    pub used_columns: Vec<String>,
    pub index_condition: Option<String>,
    pub conditions: Vec<String>,
    pub using_where: bool,
    pub using_index: bool,
    /// `union(a,b)`: how the row ids of several indexes are merged.
    pub merged: Option<String>,
    /// More words that say how the rows are found.
    pub how: Vec<String>,
    pub backward: bool,
    pub join_buffer: Option<&'static str>,
    /// `FirstMatch(t)`, `Not exists`, `Recursive`, ...
    pub remarks: Vec<String>,
    /// The view whose rows it reads.
    pub source: Option<usize>,
}

impl View {
    /// Its query block, by position + 1; 0: none is known.
    pub fn block(&self) -> u32 {
        self.block
    }
}

/// All views of a plan.
pub(super) struct Model {
    pub views: Vec<View>,
    pub root: usize,
}

impl Model {
    pub fn new(plan: &Plan) -> Model {
        let mut w = walk::Walker::new(plan);
        let root = w.root();
        w.run(&plan.root, root);
        w.inits(root);
        let mut model = Model { views: w.views, root };
        model.finish();
        model
    }

    fn finish(&mut self) {
        let lone = self.views.iter().enumerate().all(|(i, v)| i == self.root || v.select_type == "MATERIALIZED");
        let root = &mut self.views[self.root];
        if lone && root.union.is_none() {
            root.select_type = "SIMPLE";
        }
        for v in &mut self.views {
            if v.tables.is_empty() && v.union.is_none() && v.message.is_none() {
                v.message = Some("No tables used");
            }
        }
    }

    /// Positions of the views, in the order of the table's rows; a union comes after its operands.
    pub fn order(&self) -> Vec<usize> {
        let mut seen = vec![false; self.views.len()];
        let mut out = vec![];
        let mut open = vec![(self.root, false)];
        while let Some((i, done)) = open.pop() {
            let v = &self.views[i];
            if done {
                out.push(i);
                continue;
            }
            if std::mem::replace(&mut seen[i], true) {
                continue;
            }
            let mut inner: Vec<usize> = v.subqueries.clone();
            inner.extend(v.tables.iter().filter_map(|t| t.source));
            inner.sort_by_key(|i| self.views[*i].unit);
            open.extend(inner.into_iter().rev().map(|i| (i, false)));
            match &v.union {
                Some(u) => {
                    open.push((i, true));
                    open.extend(u.operands.iter().rev().map(|i| (*i, false)));
                }
                None => out.push(i),
            }
        }
        out
    }

    /// `<union1,2>`
    pub fn union_name(&self, u: &Union) -> String {
        let ids: Vec<String> = u.operands.iter().map(|o| self.views[*o].id.to_string()).collect();
        let word = match u.kind {
            SetOpKind::Union => "union",
            SetOpKind::Intersect => "intersect",
            SetOpKind::Except => "except",
        };
        format!("<{word}{}>", ids.join(","))
    }
}

/// For each of the plan's init plans the number of its query block.
pub(super) fn init_numbers(plan: &Plan) -> Vec<u32> {
    let blocks = Blocks::new(plan);
    let mut used = vec![];
    let mut out = vec![];
    for (i, init) in plan.init.iter().enumerate() {
        let block = blocks.of_init(&init.plan, init.kind, &used);
        used.push(block);
        out.push(if block == 0 { i as u32 + 2 } else { blocks.unit_number(block) });
    }
    out
}

/// The tree of query blocks, and where the nodes of a plan lie in it.
struct Blocks<'p> {
    all: &'p [QueryBlock],
    /// By node id: the innermost block that holds all that the subtree's nodes are part of; 0: none says.
    common: HashMap<u32, u32>,
}

impl<'p> Blocks<'p> {
    fn new(plan: &'p Plan) -> Blocks<'p> {
        let mut b = Blocks { all: &plan.blocks, common: HashMap::new() };
        b.note(&plan.root, 0);
        for i in &plan.init {
            b.note(&i.plan, 0);
        }
        b
    }

    fn get(&self, block: u32) -> Option<&'p QueryBlock> {
        self.all.get((block as usize).checked_sub(1)?)
    }

    fn parent(&self, block: u32) -> u32 {
        self.get(block).map_or(0, |b| b.parent)
    }

    fn note(&mut self, n: &PlanNode, depth: usize) -> u32 {
        let mut found = n.notes.block;
        if depth < super::tree::DEPTH_MAX {
            let inputs = match &n.op {
                PlanOp::With { ctes, input } => {
                    for c in ctes {
                        self.note(&c.plan, depth + 1);
                    }
                    vec![&**input]
                }
                _ => n.inputs(),
            };
            for i in inputs {
                let below = self.note(i, depth + 1);
                found = self.join(found, below);
            }
        }
        self.common.insert(n.id, found);
        found
    }

    fn common(&self, n: &PlanNode) -> u32 {
        self.common.get(&n.id).copied().unwrap_or(0)
    }

    /// The innermost block around both.
    fn join(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 || a == b {
            return a.max(b);
        }
        let mut around = vec![];
        let mut x = a;
        while x > 0 {
            around.push(x);
            x = self.parent(x);
        }
        let mut y = b;
        while y > 0 && !around.contains(&y) {
            y = self.parent(y);
        }
        if y > 0 { y } else { a }
    }

    /// Blocks from just below `outer` down to `inner`; nothing if `inner` is not inside.
    fn path(&self, inner: u32, outer: u32) -> Vec<u32> {
        let mut path = vec![];
        let mut x = inner;
        while x > 0 && x != outer {
            path.push(x);
            x = self.parent(x);
        }
        if x != outer || outer == 0 {
            return vec![];
        }
        path.reverse();
        path
    }

    /// The nearest block around, or itself, that has the role.
    fn around(&self, block: u32, role: BlockRole) -> u32 {
        let mut x = block;
        while let Some(b) = self.get(x) {
            if b.role == role {
                return x;
            }
            x = b.parent;
        }
        0
    }

    fn of_init(&self, plan: &PlanNode, _: InitKind, used: &[u32]) -> u32 {
        let found = self.around(self.common(plan), BlockRole::Subquery);
        if found > 0 {
            return found;
        }
        let free = |b: &u32| self.get(*b).is_some_and(|x| x.role == BlockRole::Subquery) && !used.contains(b);
        (1..=self.all.len() as u32).filter(free).min_by_key(|b| self.get(*b).map_or(0, |x| x.number)).unwrap_or(0)
    }

    /// The number by which a block is called.
    fn unit_number(&self, block: u32) -> u32 {
        let mut x = block;
        while let Some(b) = self.get(x) {
            if b.shape.set_op.is_none() {
                return b.number;
            }
            match self.operands(x).first() {
                Some(first) => x = *first,
                None => return b.number,
            }
        }
        0
    }

    /// A set operation's operands, in order.
    fn operands(&self, block: u32) -> Vec<u32> {
        (1..=self.all.len() as u32)
            .filter(|i| self.get(*i).is_some_and(|b| b.parent == block && b.role == BlockRole::Operand))
            .collect()
    }
}
