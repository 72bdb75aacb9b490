//! Resolving hints: which block, table and index each one names, and what it then says of it.
//!
//! Warnings come in the order in which MySQL gives them: contradictions and unknown blocks as the hints come, names
//! that are not there afterwards, by the number of their block.

use super::words::{answers, is_on, is_pushdown, kind, qualified, quoted, scope, slot, warning};
use super::{HintBook, NamedTable, Resolved};
use crate::bind::api::Shared;
use parser::ast::{Hint, HintArgs, HintName, HintStrategy, HintTable, Ident};
use plan::logical::{
    BlockRole, IndexHint, IndexHintKind, JoinOrderHint, JoinOrderKind, Logical, QueryBlock, RelationNo,
    SemijoinStrategies, SubqueryHints, SubqueryStrategy,
};
use std::collections::HashMap;
use types::{ErrorCode, Warning};

impl Shared<'_> {
    /// Resolves the hints of the statement, of which `root` is the plan; `None` if there are none.
    pub(in crate::bind) fn resolved_hints(&self, root: &Logical) -> Option<Resolved> {
        if self.hints.blocks.is_empty() {
            return None;
        }
        let blocks = self.columns.blocks.all();
        let mut indexes = IndexNames::default();
        for plan in self.subqueries.iter().flatten().map(|s| &s.plan).chain([root]) {
            plan.walk(&mut |n| {
                if let Logical::Get { table, tuning, .. } = n {
                    let names = table.indexes.iter().map(|i| i.name.clone()).collect();
                    indexes.insert(tuning.relation, names);
                }
            });
        }
        let indexes = &indexes;
        let mut names: Vec<(Box<str>, u32)> = vec![];
        let mut r =
            Resolver { book: &self.hints, blocks, indexes, seen: vec![], out: Resolved::default(), late: vec![] };
        for (block, hints) in &self.hints.blocks {
            r.name_block(*block, hints, &mut names);
        }
        for (block, hints) in &self.hints.blocks {
            for h in hints {
                let said = (r.out.warnings.len(), r.late.len());
                r.hint(*block, h, &names);
                let holds = match &h.args {
                    HintArgs::Name(name) if h.name == HintName::QbName => {
                        names.iter().any(|n| n.1 == *block && *n.0 == **name)
                    }
                    _ => said == (r.out.warnings.len(), r.late.len()),
                };
                if holds {
                    let number = r.number(*block);
                    let own = names.iter().find(|(_, b)| b == block).map(|(n, _)| n.to_string());
                    let own = own.unwrap_or_else(|| format!("select#{number:x}"));
                    r.out.texts.push((number, qualified(h, &own).to_string()));
                }
            }
        }
        r.late.sort_by_key(|(number, _)| *number);
        let late = std::mem::take(&mut r.late);
        r.out.warnings.extend(late.into_iter().map(|(_, w)| w));
        Some(r.out)
    }
}

/// Names of indexes by base table.
type IndexNames = HashMap<RelationNo, Vec<Box<str>>>;

struct Resolver<'a> {
    book: &'a HintBook,
    blocks: &'a [QueryBlock],
    indexes: &'a IndexNames,
    /// (kind of hint, block, table, index) that have been spoken of.
    seen: Vec<(&'static str, u32, String, String)>,
    out: Resolved,
    /// Warnings about names, by the number of their block.
    late: Vec<(u32, Warning)>,
}

impl Resolver<'_> {
    fn number(&self, block: u32) -> u32 {
        self.blocks.get((block as usize).wrapping_sub(1)).map_or(1, |b| b.number)
    }

    fn name_block(&mut self, block: u32, hints: &[Hint], names: &mut Vec<(Box<str>, u32)>) {
        let mut named = false;
        for h in hints.iter().filter(|h| h.name == HintName::QbName) {
            let HintArgs::Name(name) = &h.args else { continue };
            if named || names.iter().any(|(n, _)| n.eq_ignore_ascii_case(name)) {
                self.conflict(format!("QB_NAME({})", quoted(name)));
                continue;
            }
            named = true;
            names.push((name.0.clone(), block));
        }
    }

    fn conflict(&mut self, hint: String) {
        let text = format!("Hint {hint} is ignored as conflicting/duplicated");
        self.out.warnings.push(warning(ErrorCode::WARN_CONFLICTING_HINT, text));
    }

    /// The first time that something of the kind is said there.
    fn is_first(&mut self, kind: &'static str, block: u32, table: &str, index: &str) -> bool {
        let key = (kind, block, table.to_ascii_lowercase(), index.to_ascii_lowercase());
        let first = !self.seen.contains(&key);
        if first {
            self.seen.push(key);
        }
        first
    }

    /// The block that is meant; warns if there is none of the name.
    fn block(&mut self, own: u32, name: Option<&Ident>, hint: HintName, names: &[(Box<str>, u32)]) -> Option<u32> {
        let Some(name) = name else { return Some(own) };
        let given = names.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, b)| *b);
        let by_number = || {
            let n = u32::from_str_radix(name.strip_prefix("select#")?, 16).ok()?;
            let unnamed = |b: &u32| !names.iter().any(|(_, named)| named == b);
            self.blocks.iter().position(|b| b.number == n).map(|i| i as u32 + 1).filter(unnamed)
        };
        let found = given.or_else(by_number);
        if found.is_none() {
            let text = format!("Query block name {} is not found for {} hint", quoted(name), hint.word());
            self.out.warnings.push(warning(ErrorCode::WARN_UNKNOWN_QB_NAME, text));
        }
        found
    }

    fn unresolved(&mut self, block: u32, table: &str, index: &str, hint: HintName, names: &[(Box<str>, u32)]) {
        let number = self.number(block);
        let of = names.iter().find(|(_, b)| *b == block).map(|(n, _)| n.to_string());
        let of = of.unwrap_or_else(|| format!("select#{number:x}"));
        let index = if index.is_empty() { String::new() } else { format!(" {}", quoted(index)) };
        let text = format!("Unresolved name {}@{}{index} for {} hint", quoted(table), quoted(&of), hint.word());
        self.late.push((number, warning(ErrorCode::UNRESOLVED_HINT_NAME, text)));
    }

    fn find(&self, block: u32, table: &str) -> Option<(RelationNo, RelationNo, bool)> {
        let found = self.book.tables.iter().find(|t| t.block == block && t.alias.eq_ignore_ascii_case(table))?;
        Some((found.relations.0, found.relations.1, found.is_base))
    }

    fn hint(&mut self, own: u32, h: &Hint, names: &[(Box<str>, u32)]) {
        match &h.args {
            HintArgs::Tables { block, tables } => {
                let Some(block) = self.block(own, block.as_ref(), h.name, names) else { return };
                match h.name {
                    HintName::JoinFixedOrder | HintName::JoinOrder | HintName::JoinPrefix | HintName::JoinSuffix => {
                        self.join_order(h, block, tables, names);
                    }
                    _ if tables.is_empty() => self.whole_block(h, own, block),
                    _ => tables.iter().for_each(|t| self.table(h, block, t, names)),
                }
            }
            HintArgs::Indexes { table, indexes } => self.indexes(h, own, table, indexes, names),
            HintArgs::Strategies { block, strategies } => {
                let Some(block) = self.block(own, block.as_ref(), h.name, names) else { return };
                self.subquery(h, block, strategies);
            }
            HintArgs::Limit(ms) => self.limit(own, *ms),
            HintArgs::Name(_) | HintArgs::Variable { .. } => {}
        }
    }

    /// MAX_EXECUTION_TIME itself is heeded by whoever runs the statement.
    fn limit(&mut self, own: u32, ms: u32) {
        let block = self.blocks.get((own as usize).wrapping_sub(1));
        if self.book.changes || block.is_none_or(|b| b.role != BlockRole::Top) {
            let text = "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";
            self.out.warnings.push(warning(ErrorCode::WARN_UNSUPPORTED_MAX_EXECUTION_TIME, text.into()));
        } else if !self.is_first("MAX_EXECUTION_TIME", own, "", "") {
            self.conflict(format!("MAX_EXECUTION_TIME({ms})"));
        }
    }

    fn whole_block(&mut self, h: &Hint, own: u32, block: u32) {
        if !self.is_first(kind(h.name), block, "", "") {
            let at = if own == block { String::new() } else { format!("@{}", quoted(&self.number(block).to_string())) };
            return self.conflict(format!("{}({at} )", h.name.word()));
        }
        if is_pushdown(h.name) {
            for t in self.book.tables.iter().filter(|t| t.block == block && t.inner != 0) {
                if self.out.pushdown.iter().all(|p| p.0 != t.inner) {
                    self.out.pushdown.push((t.inner, is_on(h.name)));
                }
            }
            return;
        }
        let relations: Vec<RelationNo> =
            self.book.tables.iter().filter(|t| t.block == block && t.is_base).map(|t| t.relations.0).collect();
        for r in relations {
            let hints = &mut self.out.tables.entry(r).or_default().0;
            if let Some(slot) = slot(hints, h.name) {
                slot.get_or_insert(is_on(h.name));
            }
        }
    }

    fn table(&mut self, h: &Hint, block: u32, t: &HintTable, names: &[(Box<str>, u32)]) {
        let Some(block) = self.block(block, t.block.as_ref(), h.name, names) else { return };
        if !self.is_first(kind(h.name), block, &t.name, "") {
            return self.conflict(format!("{}({t} )", h.name.word()));
        }
        let Some((first, end, is_base)) = self.find(block, &t.name) else {
            return self.unresolved(block, &t.name, "", h.name, names);
        };
        if is_pushdown(h.name) {
            let named = |n: &&NamedTable| n.block == block && n.alias.eq_ignore_ascii_case(&t.name);
            if let Some(inner) = self.book.tables.iter().find(named).map(|n| n.inner).filter(|i| *i != 0) {
                // A table by its name outranks all tables of a block.
                self.out.pushdown.retain(|p| p.0 != inner);
                self.out.pushdown.push((inner, is_on(h.name)));
            }
            return;
        }
        if is_base && first < end {
            let hints = &mut self.out.tables.entry(first).or_default().0;
            if let Some(slot) = slot(hints, h.name) {
                *slot = Some(is_on(h.name));
            }
        }
    }

    fn indexes(&mut self, h: &Hint, own: u32, t: &HintTable, indexes: &[Ident], names: &[(Box<str>, u32)]) {
        let Some(block) = self.block(own, t.block.as_ref(), h.name, names) else { return };
        let scope = scope(h.name);
        let words = |index: Option<&Ident>| match (index, scope) {
            (None, _) => format!("{}({t} )", h.name.word()),
            (Some(i), None) => format!("{}({t} {} )", h.name.word(), quoted(i)),
            (Some(i), Some(_)) => format!("{}({t}  {})", h.name.word(), quoted(i)),
        };
        // Of INDEX and its like a table has one; of the others, one an index.
        if (scope.is_some() || indexes.is_empty()) && !self.is_first(kind(h.name), block, &t.name, "") {
            return self.conflict(words(indexes.first()));
        }
        let found = self.find(block, &t.name);
        if found.is_none() && !indexes.is_empty() {
            self.unresolved(block, &t.name, "", h.name, names);
        }
        if found.is_none() && indexes.is_empty() {
            return self.unresolved(block, &t.name, "", h.name, names);
        }
        let relation = found.filter(|f| f.2).map(|f| f.0);
        let mut positions = vec![];
        for i in indexes {
            if scope.is_none() && !self.is_first(kind(h.name), block, &t.name, i) {
                self.conflict(words(Some(i)));
                continue;
            }
            let known = relation.and_then(|r| self.indexes.get(&r));
            match known.and_then(|k| k.iter().position(|n| n.eq_ignore_ascii_case(i))) {
                Some(p) => positions.push(p),
                None => self.unresolved(block, &t.name, i, h.name, names),
            }
        }
        let Some(relation) = relation else { return };
        if positions.is_empty() && !indexes.is_empty() {
            return;
        }
        let all = self.indexes.get(&relation).map_or(0, Vec::len);
        let (hints, index_hints) = self.out.tables.entry(relation).or_default();
        match scope {
            Some(scope) => {
                let kind = if is_on(h.name) { IndexHintKind::Force } else { IndexHintKind::Ignore };
                let positions = if indexes.is_empty() { (0..all).collect() } else { positions };
                index_hints.push(IndexHint { kind, scope, indexes: positions });
            }
            None => {
                let Some(answers) = answers(hints, h.name) else { return };
                if indexes.is_empty() {
                    answers.whole = Some(is_on(h.name));
                } else {
                    answers.some.extend(positions.into_iter().map(|p| (p, is_on(h.name))));
                }
            }
        }
    }

    fn join_order(&mut self, h: &Hint, block: u32, tables: &[HintTable], names: &[(Box<str>, u32)]) {
        let kind = match h.name {
            HintName::JoinFixedOrder => JoinOrderKind::Fixed,
            HintName::JoinPrefix => JoinOrderKind::Prefix,
            HintName::JoinSuffix => JoinOrderKind::Suffix,
            _ => JoinOrderKind::Order,
        };
        let fixed = self.seen.iter().any(|s| s.0 == "JOIN_FIXED_ORDER" && s.1 == block);
        let may_repeat = kind == JoinOrderKind::Order;
        if fixed || !(self.is_first(h.name.word(), block, "", "") || may_repeat) {
            return self.conflict(h.to_string());
        }
        let mut found = vec![];
        if kind == JoinOrderKind::Fixed {
            let of_block = self.book.tables.iter().filter(|t| t.block == block);
            found = of_block.map(|t| (t.relations.0..t.relations.1).collect()).collect();
        }
        for t in tables {
            let Some(of) = self.block(block, t.block.as_ref(), h.name, names) else { return };
            match self.find(of, &t.name) {
                Some((first, end, _)) => found.push((first..end).collect()),
                None => return self.unresolved(of, &t.name, "", h.name, names),
            }
        }
        self.out.join_order.push(JoinOrderHint { kind, tables: found });
    }

    fn subquery(&mut self, h: &Hint, block: u32, strategies: &[HintStrategy]) {
        // One of SEMIJOIN, NO_SEMIJOIN and SUBQUERY a block.
        if !self.is_first("SUBQUERY", block, "", "") {
            return self.conflict(h.to_string());
        }
        let named = |s| strategies.contains(&s);
        let hints = match h.name {
            HintName::Subquery => SubqueryHints {
                semijoin: None,
                strategy: Some(match named(HintStrategy::InToExists) {
                    true => SubqueryStrategy::InToExists,
                    false => SubqueryStrategy::Materialization,
                }),
            },
            _ => SubqueryHints {
                semijoin: Some((
                    is_on(h.name),
                    SemijoinStrategies {
                        dups_weedout: named(HintStrategy::DupsWeedout),
                        first_match: named(HintStrategy::FirstMatch),
                        loose_scan: named(HintStrategy::LooseScan),
                        materialization: named(HintStrategy::Materialization),
                    },
                )),
                strategy: None,
            },
        };
        for (id, b) in &self.book.subqueries {
            if *b == block {
                self.out.subqueries.push((*id, hints));
            }
        }
    }
}
