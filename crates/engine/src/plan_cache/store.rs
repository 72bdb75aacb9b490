//! The plans of texts, for all sessions.
//!
//! A text is noted when it is first seen and planned for keeping when it comes again, so that statements which come
//! once leave no more than their key. The least recently used go, by the clock: one that was not used since the hand
//! last came by is dropped.

use super::CachedPlan;
use hashbrown::{DefaultHashBuilder, HashMap};
use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SHARDS: usize = 16;
/// Texts a shard.
const ENTRIES_MAX: usize = 256;
/// Bytes of keys a shard.
const KEY_BYTES_MAX: usize = 1 << 20;

#[derive(Debug)]
struct Entry {
    /// None: seen once.
    plan: Option<Arc<CachedPlan>>,
    used: bool,
}

#[derive(Debug, Default)]
struct Shard {
    entries: HashMap<Box<[u8]>, Entry>,
    key_bytes: usize,
}

/// What the cache knows of a text.
#[derive(Debug)]
pub(crate) enum Lookup {
    /// Nothing; it does now.
    New,
    /// It was seen before, and has no plan.
    Seen,
    Plan(Arc<CachedPlan>),
}

/// See the module head.
#[derive(Debug, Default)]
pub(crate) struct PlanCache {
    shards: [Mutex<Shard>; SHARDS],
    hasher: DefaultHashBuilder,
    /// See [`PlanCache::begin_epoch`].
    epoch: AtomicU64,
    pub evictions: AtomicU64,
}

impl PlanCache {
    fn shard(&self, key: &[u8]) -> &Mutex<Shard> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    pub fn lookup(&self, key: &[u8]) -> Lookup {
        let mut shard = self.shard(key).lock();
        if let Some(entry) = shard.entries.get_mut(key) {
            entry.used = true;
            return entry.plan.clone().map_or(Lookup::Seen, Lookup::Plan);
        }
        self.make_room(&mut shard);
        shard.key_bytes += key.len();
        shard.entries.insert(key.into(), Entry { plan: None, used: false });
        Lookup::New
    }

    pub fn insert(&self, key: &[u8], plan: Arc<CachedPlan>) {
        let mut shard = self.shard(key).lock();
        self.make_room(&mut shard);
        if shard.entries.insert(key.into(), Entry { plan: Some(plan), used: true }).is_none() {
            shard.key_bytes += key.len();
        }
    }

    /// No plan that was made before is fresh any more. The caller then moves the catalog's version, so that it is seen.
    pub fn begin_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::Release);
    }

    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    fn make_room(&self, shard: &mut Shard) {
        if shard.entries.len() < ENTRIES_MAX && shard.key_bytes < KEY_BYTES_MAX {
            return;
        }
        let before = shard.entries.len();
        shard.entries.retain(|_, entry| std::mem::take(&mut entry.used));
        if shard.entries.len() > ENTRIES_MAX * 3 / 4 {
            // all in use: any will do
            let mut n = 0;
            shard.entries.retain(|_, _| {
                n += 1;
                n % 4 != 0
            });
        }
        shard.key_bytes = shard.entries.keys().map(|key| key.len()).sum();
        self.evictions.fetch_add((before - shard.entries.len()) as u64, Ordering::Relaxed);
    }

    /// Texts with a plan.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().entries.values().filter(|e| e.plan.is_some()).count()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::PlanEnv;
    use super::*;

    #[test]
    fn texts_are_seen_planned_and_forgotten() {
        let cache = PlanCache::default();
        assert!(matches!(cache.lookup(b"a"), Lookup::New));
        assert!(matches!(cache.lookup(b"a"), Lookup::Seen));
        let env = PlanEnv { catalog_version: 1, epoch: 0, settings: 0, param_types: Box::default() };
        let plan = Arc::new(CachedPlan::none(env));
        cache.insert(b"a", plan);
        for i in 0..100_000u32 {
            cache.lookup(&i.to_le_bytes());
            if i % 16 == 0 {
                assert!(matches!(cache.lookup(b"a"), Lookup::Plan(_)), "what is used stays");
            }
        }
        let entries: usize = cache.shards.iter().map(|s| s.lock().entries.len()).sum();
        assert!(entries <= SHARDS * ENTRIES_MAX);
        assert!(cache.shards.iter().all(|s| {
            let s = s.lock();
            s.key_bytes == s.entries.keys().map(|k| k.len()).sum::<usize>()
        }));
    }
}
