//! Optimizer hints of query blocks: names are resolved once the whole statement is bound.
//!
//! ```text
//!   while binding                          at the end
//!   block 2 has hints [BKA(t), ..]    ┐
//!   block 2's FROM has t, u           ├──▶ tables' tuning, index hints, subqueries' hints, join orders
//!   subquery 1 is block 3             ┘     + MySQL's warnings
//! ```
//! A hint may name a block that is bound before or after it (`BKA(t@qb)`), so nothing can be said earlier; two hints
//! shape the binding itself and are looked at on the way: JOIN_FIXED_ORDER and NO_MERGE of a block's own hints.
//!
//! Where two hints contradict each other, the first one stands (3126). The more exact one outranks the other: index
//! before table before block.
//!
//! - here: what is written down, and where it goes;
//! - [`resolve`]: names, contradictions, warnings;
//! - [`words`]: what each hint is about.

mod resolve;
mod words;

use expr::SubqueryId;
use parser::ast::{Hint, HintArgs, HintName, Ident};
use plan::logical::{IndexHint, JoinOrderHint, Logical, LogicalQuery, RelationNo, SubqueryHints, TableHints};
use std::collections::HashMap;
use types::Warning;

/// What is written down while a statement is bound.
#[derive(Default)]
pub(super) struct HintBook {
    /// (block, its hints), inner blocks first.
    blocks: Vec<(u32, Vec<Hint>)>,
    tables: Vec<NamedTable>,
    subqueries: Vec<(SubqueryId, u32)>,
    /// The block of the subquery bound last, until it has its number.
    last_subquery: u32,
    relation_count: RelationNo,
    /// The statement changes tables: its own block is no SELECT.
    changes: bool,
}

/// A FROM item as hints may name it.
struct NamedTable {
    block: u32,
    alias: Box<str>,
    /// The base tables in it: from the first number up to, not including, the second.
    relations: (RelationNo, RelationNo),
    is_base: bool,
    /// Of a derived table, view or CTE: the block that defines it; else 0.
    inner: u32,
}

impl HintBook {
    /// The number of the next base table.
    pub fn next_relation(&mut self) -> RelationNo {
        self.relation_count += 1;
        self.relation_count
    }

    /// Where the numbers are now: to be given to [`HintBook::note_table`].
    pub fn mark(&self) -> RelationNo {
        self.relation_count + 1
    }

    /// A FROM item has been bound; its base tables have the numbers since `mark`.
    pub fn note_table(&mut self, block: u32, alias: &str, mark: RelationNo, is_base: bool, inner: u32) {
        self.tables.push(NamedTable {
            block,
            alias: alias.into(),
            relations: (mark, self.relation_count + 1),
            is_base,
            inner,
        });
    }

    pub fn note_block(&mut self, block: u32, hints: &[Hint]) {
        if !hints.is_empty() {
            self.blocks.push((block, hints.to_vec()));
        }
    }

    /// The block is a subquery's.
    pub fn subquery_bound(&mut self, block: u32) {
        self.last_subquery = block;
    }

    /// The subquery bound last has this number.
    pub fn note_subquery(&mut self, id: SubqueryId) {
        let block = std::mem::take(&mut self.last_subquery);
        if block != 0 {
            self.subqueries.push((id, block));
        }
    }

    /// The hints of UPDATE or DELETE.
    pub fn note_change(&mut self, block: u32, hints: &[Hint]) {
        self.changes = true;
        self.note_block(block, hints);
    }
}

/// Does the block itself ask for the order of its FROM?
pub(super) fn fixes_order(hints: &[Hint]) -> bool {
    hints.iter().any(|h| {
        h.name == HintName::JoinFixedOrder
            && matches!(&h.args, HintArgs::Tables { block, .. } if means_own(block.as_ref(), hints))
    })
}

/// What the block's own MERGE and NO_MERGE hints say of a derived table, view or CTE.
pub(super) fn merges(hints: &[Hint], alias: &str) -> Option<bool> {
    let mut of_block = None;
    for h in hints {
        let on = match h.name {
            HintName::Merge => true,
            HintName::NoMerge => false,
            _ => continue,
        };
        let HintArgs::Tables { block, tables } = &h.args else { continue };
        if tables.is_empty() && means_own(block.as_ref(), hints) {
            of_block = of_block.or(Some(on));
        }
        for t in tables {
            if t.name.eq_ignore_ascii_case(alias) && means_own(t.block.as_ref().or(block.as_ref()), hints) {
                return Some(on);
            }
        }
    }
    of_block
}

fn means_own(block: Option<&Ident>, hints: &[Hint]) -> bool {
    let own = hints.iter().find_map(|h| match &h.args {
        HintArgs::Name(name) if h.name == HintName::QbName => Some(name),
        _ => None,
    });
    block.is_none_or(|b| own.is_some_and(|o| o.eq_ignore_ascii_case(b)))
}

/// What the hints come to.
#[derive(Default)]
pub(super) struct Resolved {
    tables: HashMap<RelationNo, (TableHints, Vec<IndexHint>)>,
    subqueries: Vec<(SubqueryId, SubqueryHints)>,
    pub join_order: Vec<JoinOrderHint>,
    pushdown: Vec<(u32, bool)>,
    /// Hints that were not warned of, by the number of their block.
    texts: Vec<(u32, String)>,
    pub warnings: Vec<Warning>,
}

impl Resolved {
    /// Puts the hints where they belong.
    pub fn put_into(mut self, query: &mut LogicalQuery) {
        if !self.tables.is_empty() {
            self.apply(&mut query.root);
            query.subqueries.iter_mut().for_each(|s| self.apply(&mut s.plan));
        }
        for (id, hints) in &self.subqueries {
            query.subqueries.iter_mut().filter(|s| s.id == *id).for_each(|s| s.hints = *hints);
        }
        query.join_order = std::mem::take(&mut self.join_order);
        query.derived_pushdown = std::mem::take(&mut self.pushdown);
        query.hint_texts = std::mem::take(&mut self.texts);
        query.warnings = self.warnings;
    }

    fn apply(&self, node: &mut Logical) {
        node.walk_mut(&mut |n| {
            if let Logical::Get { tuning, hints, .. } = n
                && let Some((of_table, indexes)) = self.tables.get(&tuning.relation)
            {
                if *of_table != TableHints::default() {
                    *tuning.hints_mut() = of_table.clone();
                }
                if !indexes.is_empty() {
                    // They outrank USE, FORCE and IGNORE INDEX.
                    *hints = indexes.clone();
                }
            }
        });
    }
}
