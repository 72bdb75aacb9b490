//! Which records of a chain nobody needs any more.
//!
//! ```text
//!   newest ── t 90 ──▶ version ── t 70 ──▶ version ── t 40 ──▶ version ── t 20 ──▶ version ── t 5: the row came
//!               ▲                   ▲ in use: 60        │                  ▲ in use: 30
//!         none between            needed          none between          needed
//! ```
//! A snapshot at s sees the version between the records of t and t' iff t' <= s < t. Where no snapshot in use lies
//! between, and none can be taken any more (t is published), two records become one that leads over both: the older
//! one, which also gets what only the newer one's image has. So a row has at most one record more than there are
//! snapshots that see different versions of it, however often it was changed.
//!
//! - An update before an update or an insert goes, and so does a lock before anything.
//! - A delete stays: who finds a row dead learns from it until when it lived, and its slot is not taken meanwhile. It
//!   is the newest of its chain but for locks.
//!
//! Source: Böttcher, Leis, Neumann, Kemper, "Scalable Garbage Collection for In-Memory MVCC Systems", VLDB 2019.

use super::{Before, PRUNE_RECORDS_MIN, Undo, UndoKind, Versions};
use crate::txn::{ACTIVE, Horizon};
use std::sync::Arc;

/// A version that is gone, for who has to take its keys out of the indexes.
#[derive(Clone, Copy, Debug)]
pub enum Gone<'a> {
    /// What an update overwrote.
    Updated(Before<'a>),
    /// The values in place: the row was deleted.
    Deleted,
}

/// What a leaf's versions are after a pass over them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Left {
    /// Records taken away.
    pub freed: usize,
    /// When the versions that are left, but for those of active transactions, can all go: the time of the last commit
    /// among them.
    pub until: Option<u64>,
    /// A leaf that a load brought is everybody's from now on.
    pub is_everybodys: bool,
}

impl Versions {
    /// Takes away every record that no snapshot of `horizon` needs. `gone` is told of those that matter to indexes or
    /// to slot reuse.
    pub fn prune(&mut self, horizon: &Horizon, gone: &mut dyn FnMut(u16, Gone<'_>)) -> Left {
        let before = self.records;
        let mut until = None;
        let heads = std::mem::take(&mut self.heads);
        let thin = |(slot, head)| {
            let head = self.thin(slot, head, horizon, gone)?;
            until = until.max(committed(&head));
            Some((slot, head))
        };
        self.heads = heads.into_iter().filter_map(thin).collect();
        if self.heads.capacity() > 4 * self.heads.len() {
            self.heads.shrink_to(2 * self.heads.len());
        }
        if self.images.wants_compact() {
            let heads = &mut self.heads;
            self.images.compact(|image| {
                each_update(heads, |kind| {
                    if let UndoKind::Update(i) = kind {
                        image(i);
                    }
                })
            });
        }
        self.prune_at = (self.records * 2).max(PRUNE_RECORDS_MIN);
        Left { freed: before - self.records, until, is_everybodys: false }
    }

    /// What is left of a chain.
    fn thin(
        &mut self,
        slot: u16,
        head: Arc<Undo>,
        horizon: &Horizon,
        gone: &mut dyn FnMut(u16, Gone<'_>),
    ) -> Option<Arc<Undo>> {
        let mut first = Some(head);
        let mut link = &mut first;
        while let Some(undo) = link {
            if undo.txn.commit_ts() <= horizon.oldest {
                let rest = link.take();
                self.free_chain(slot, rest.as_deref(), gone);
                break;
            }
            // Only inserts, which end a chain, are shared by several.
            let Some(undo) = Arc::get_mut(undo) else { break };
            if self.leads_over(undo, horizon) {
                self.free(slot, undo.kind, gone);
                let next = undo.next.take();
                *link = next;
            } else {
                link = &mut Arc::get_mut(link.as_mut().expect("matched above")).expect("looked at above").next;
            }
        }
        first
    }

    /// Whether the record can go: what it leads to is what the next one leads to, or nobody needs it. Then the next
    /// one leads over both.
    fn leads_over(&mut self, undo: &mut Undo, horizon: &Horizon) -> bool {
        let newer = undo.txn.commit_ts();
        if newer > horizon.published {
            return false;
        }
        let UndoKind::Update(image) = undo.kind else { return undo.kind == UndoKind::Lock };
        while let Some(lock) = undo.next.as_mut().filter(|n| n.kind == UndoKind::Lock).and_then(Arc::get_mut) {
            self.records -= 1;
            let next = lock.next.take();
            undo.next = next;
        }
        let Some(next) = undo.next.as_mut() else { return false };
        if horizon.is_used_between(next.txn.commit_ts(), newer) {
            return false;
        }
        match next.kind {
            UndoKind::Insert => true,
            UndoKind::Update(older) => {
                let (newer, before) = (self.images.get(image), self.images.get(older));
                if newer.each().all(|(c, _, _)| before.has(c)) {
                    return true;
                }
                let Some(next) = Arc::get_mut(next) else { return false };
                next.kind = UndoKind::Update(self.images.extend(older, image));
                true
            }
            UndoKind::Delete | UndoKind::Lock => false,
        }
    }

    fn free(&mut self, slot: u16, kind: UndoKind, gone: &mut dyn FnMut(u16, Gone<'_>)) {
        self.records -= 1;
        match kind {
            UndoKind::Update(image) => {
                gone(slot, Gone::Updated(self.images.get(image)));
                self.images.let_go(image);
            }
            UndoKind::Delete => gone(slot, Gone::Deleted),
            UndoKind::Insert | UndoKind::Lock => {}
        }
    }

    fn free_chain(&mut self, slot: u16, mut chain: Option<&Undo>, gone: &mut dyn FnMut(u16, Gone<'_>)) {
        while let Some(undo) = chain {
            self.free(slot, undo.kind, gone);
            chain = undo.next.as_deref();
        }
    }
}

/// The time of the newest commit of a chain.
fn committed(head: &Undo) -> Option<u64> {
    let mut chain = Some(head);
    while let Some(undo) = chain {
        match undo.txn.commit_ts() {
            ACTIVE => chain = undo.next.as_deref(),
            ts => return Some(ts),
        }
    }
    None
}

/// Calls `f` with what each record does, but for inserts that chains share.
fn each_update(heads: &mut [(u16, Arc<Undo>)], mut f: impl FnMut(&mut UndoKind)) {
    for (_, head) in heads {
        let mut chain = Some(head);
        while let Some(undo) = chain.and_then(Arc::get_mut) {
            f(&mut undo.kind);
            chain = undo.next.as_mut();
        }
    }
}
