//! Granting metadata locks.
//!
//! Every session has an [`Owner`] with the list of what it holds. The weak modes are compatible with each other, so as
//! long as nobody holds or wants a strong one a session just notes the lock in its own list, without writing to
//! anything that others read:
//!
//! ```text
//!   weak:    latch own list; object.strong == 0? ─▶ note it                     (else: as strong)
//!   strong:  object.strong += 1; latch the queue; look through everybody's lists ─▶ note it, or sleep in the queue
//! ```
//! Invariants
//! 1. A weak lock is noted under the latch of the list, after a look at `strong`; a strong wish raises `strong` before
//!    it latches any list. So of the two one sees the other.
//! 2. Whoever lets go of a lock looks at `strong` afterwards, and if it is not 0 wakes the queue, under its latch. So
//!    no wake-up is lost.
//! 3. A wish goes behind the earlier ones that it conflicts with, unless somebody waits there for what its owner holds
//!    on the object already (it would make itself wait).

use super::{Key, KeyRef, Mode, Shown, Space, Until};
use hashbrown::{HashMap, HashSet};
use monitor::process::Process;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};
use storage::sync::{Condvar, Mutex, MutexGuard, Rank, RwLock};
use storage::{LockId, OwnerId, Sleeper, Txn, TxnManager, Waiting, Wanted};
use types::{Error, Result};

const SHARDS: usize = 16;

/// So many unused names at least are kept, so that their objects need not be made anew.
const OBJECTS_KEPT_MIN: usize = 256;

/// How long a sleeping waiter goes without looking whether it was killed.
const WAIT_SLICE: Duration = Duration::from_millis(50);

/// Weights in deadlocks, beside transactions that weigh as much as they changed.
const WEIGHT_USER_LOCK: u64 = 50;
const WEIGHT_DDL: u64 = 1 << 40;

/// A name that locks are taken on.
#[derive(Debug)]
pub struct Object {
    pub key: Key,
    /// Strong locks held and wanted.
    strong: AtomicUsize,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    next_number: u64,
    /// By arrival.
    wishes: Vec<Wish>,
}

#[derive(Clone, Copy, Debug)]
struct Wish {
    number: u64,
    owner: OwnerId,
    process_id: u32,
    mode: Mode,
    until: Until,
}

#[derive(Debug)]
struct Held {
    object: Arc<Object>,
    mode: Mode,
    until: Until,
    /// GET_LOCK of a lock that one has already.
    times: u32,
}

/// Who holds locks: a session.
#[derive(Debug)]
pub struct Owner {
    pub id: OwnerId,
    pub process: Arc<Process>,
    held: Mutex<Vec<Held>>,
    /// Its open transaction, for those who look.
    txn: parking_lot::Mutex<Option<OpenTxn>>,
}

/// A session's open transaction, as others see it.
#[derive(Clone, Debug)]
pub struct OpenTxn {
    pub txn: Arc<Txn>,
    pub begun: SystemTime,
    pub isolation: &'static str,
    pub read_only: bool,
}

impl Object {
    fn lock_id(&self) -> LockId {
        LockId::Object(std::ptr::from_ref(self) as usize)
    }
}

impl Owner {
    /// A transaction begins.
    pub fn begin(&self, txn: &Arc<Txn>, isolation: &'static str, read_only: bool) {
        let begun = SystemTime::now();
        *self.txn.lock() = Some(OpenTxn { txn: txn.clone(), begun, isolation, read_only });
    }

    /// The transaction ends.
    pub fn end(&self) {
        *self.txn.lock() = None;
    }

    pub fn open_txn(&self) -> Option<OpenTxn> {
        self.txn.lock().clone()
    }
}

/// Sleeps in an object's queue.
#[derive(Debug)]
struct AtObject(Arc<Object>, Mode);

impl Sleeper for AtObject {
    fn wake(&self) {
        drop(self.0.queue.lock());
        self.0.changed.notify_all();
    }

    fn wanted(&self) -> Wanted {
        let Key { space, schema, name } = &self.0.key;
        Wanted::Other(format!("{} metadata lock on {} {schema}.{name}", self.1.name(), space.name()))
    }

    fn lock(&self) -> LockId {
        self.0.lock_id()
    }
}

type Shard = HashSet<Arc<Object>, ByKey>;

/// Objects hash and compare as their keys.
type ByKey = hashbrown::DefaultHashBuilder;

impl std::hash::Hash for Object {
    fn hash<H: std::hash::Hasher>(&self, h: &mut H) {
        self.key.hash(h);
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        self.key == other.key
    }
}

impl Eq for Object {}

impl hashbrown::Equivalent<Arc<Object>> for KeyRef<'_> {
    fn equivalent(&self, object: &Arc<Object>) -> bool {
        hashbrown::Equivalent::equivalent(self, &object.key)
    }
}

/// All metadata locks of a database.
#[derive(Debug)]
pub struct Mdl {
    hasher: ByKey,
    shards: [Mutex<Shard>; SHARDS],
    owners: RwLock<HashMap<OwnerId, Arc<Owner>>>,
    txns: Arc<TxnManager>,
}

impl Mdl {
    pub fn new(txns: Arc<TxnManager>) -> Mdl {
        let hasher = ByKey::default();
        let shard = |_| Mutex::new(Rank::MetadataMap, HashSet::with_hasher(hasher.clone()));
        Mdl {
            shards: std::array::from_fn(shard),
            hasher,
            owners: RwLock::new(Rank::MetadataOwners, HashMap::new()),
            txns,
        }
    }

    /// A new session's owner.
    pub fn add_owner(&self, process: Arc<Process>) -> Arc<Owner> {
        let id = self.txns.waits().new_owner();
        let owner =
            Arc::new(Owner { id, process, held: Mutex::new(Rank::MetadataHeld, Vec::new()), txn: Default::default() });
        self.owners.write().insert(id, owner.clone());
        owner
    }

    /// The session ends: all its locks go.
    pub fn remove_owner(&self, owner: &Owner) {
        self.release_where(owner, |_| true);
        self.owners.write().remove(&owner.id);
    }

    /// All sessions.
    pub fn owners(&self) -> Vec<Arc<Owner>> {
        self.owners.read().values().cloned().collect()
    }

    /// The session that is the owner.
    pub fn owner(&self, id: OwnerId) -> Option<Arc<Owner>> {
        self.owners.read().get(&id).cloned()
    }

    /// The object of a name. It can be kept, to save the search.
    pub fn object(&self, key: KeyRef<'_>) -> Arc<Object> {
        let hash = self.hasher.hash_one(key);
        let mut shard = self.shards[hash as usize % SHARDS].lock();
        if let Some(object) = shard.get(&key) {
            return object.clone();
        }
        if shard.len() >= OBJECTS_KEPT_MIN && shard.len() == shard.capacity() {
            shard.retain(|o| Arc::strong_count(o) > 1);
        }
        let object = Arc::new(Object {
            key: Key::new(key.space, key.schema, key.name),
            strong: AtomicUsize::new(0),
            queue: Mutex::new(Rank::MetadataQueue, Queue::default()),
            changed: Condvar::new(),
        });
        shard.insert(object.clone());
        object
    }

    pub fn table(&self, schema: &str, name: &str) -> Arc<Object> {
        self.object(KeyRef { space: Space::Table, schema, name })
    }

    /// Takes a lock, unless `owner` holds it already. Errors: 1205 after `timeout`, 1213 (3058 for a user lock) as the
    /// victim of a deadlock, 1317 if the session was killed. `weight`: what the transaction changed so far.
    pub fn acquire(
        &self,
        owner: &Arc<Owner>,
        object: &Arc<Object>,
        mode: Mode,
        until: Until,
        timeout: Duration,
        weight: impl FnOnce() -> u64,
    ) -> Result<()> {
        {
            let mut held = owner.held.lock();
            if held.iter().any(|h| Arc::ptr_eq(&h.object, object) && h.mode.covers(mode) && h.until >= until) {
                return Ok(());
            }
            if mode.is_weak() && object.strong.load(Ordering::SeqCst) == 0 {
                held.push(Held { object: object.clone(), mode, until, times: 1 });
                return Ok(());
            }
        }
        self.acquire_slowly(owner, object, mode, until, timeout, weight)
    }

    fn acquire_slowly(
        &self,
        owner: &Arc<Owner>,
        object: &Arc<Object>,
        mode: Mode,
        until: Until,
        timeout: Duration,
        weight: impl FnOnce() -> u64,
    ) -> Result<()> {
        let begun = Instant::now();
        if !mode.is_weak() {
            object.strong.fetch_add(1, Ordering::SeqCst);
        }
        let mut queue = object.queue.lock();
        let number = queue.next_number;
        queue.next_number += 1;
        let wish = Wish { number, owner: owner.id, process_id: owner.process.id(), mode, until };
        queue.wishes.push(wish);
        let mut asleep: Option<Arc<Waiting>> = None;
        let mut weight = Some(weight);
        let mut state_before = "";
        let result = loop {
            let blockers = self.blockers(owner, object, &wish, &queue);
            if blockers.is_empty() {
                break Ok(());
            }
            let waiting = asleep.get_or_insert_with(|| {
                state_before = owner.process.swap_state(object.key.space.waiting());
                let weight = match object.key.space {
                    Space::UserLock => WEIGHT_USER_LOCK,
                    _ if mode == Mode::Exclusive => WEIGHT_DDL,
                    _ => weight.take().map_or(0, |w| w()),
                };
                self.txns.waits().enter(owner.id, weight, Arc::new(AtObject(object.clone(), mode)))
            });
            let deadlock = || match object.key.space {
                Space::UserLock => Error::user_lock_deadlock(),
                _ => Error::lock_deadlock(),
            };
            if waiting.is_doomed() {
                break Err(deadlock());
            }
            if let Err(e) = owner.process.check_killed() {
                break Err(e);
            }
            let Some(left) = timeout.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) else {
                break Err(Error::lock_wait_timeout());
            };
            match self.txns.waits().wait_for(waiting, &blockers) {
                Err(_) => break Err(deadlock()),
                Ok(victims) if !victims.is_empty() => {
                    drop(queue);
                    victims.iter().for_each(|v| v.wake());
                    queue = object.queue.lock();
                }
                Ok(_) => queue = object.changed.wait(queue, left.min(WAIT_SLICE)),
            }
        };
        queue.wishes.retain(|w| w.number != number);
        if result.is_ok() {
            owner.held.lock().push(Held { object: object.clone(), mode, until, times: 1 });
        } else {
            self.txns.waits().forget(owner.id, object.lock_id());
            if !mode.is_weak() {
                object.strong.fetch_sub(1, Ordering::SeqCst);
            }
        }
        if !queue.wishes.is_empty() {
            // Those behind may go on, or have somebody else to wait for.
            object.changed.notify_all();
        }
        drop(queue);
        if let Some(waiting) = asleep {
            self.txns.waits().leave(&waiting);
            owner.process.set_state(state_before);
            if object.key.space != Space::UserLock {
                owner.process.add_lock_wait(begun.elapsed());
            }
        }
        result
    }

    /// Whom the wish has to wait for.
    fn blockers(&self, me: &Owner, object: &Arc<Object>, wish: &Wish, queue: &MutexGuard<'_, Queue>) -> Vec<OwnerId> {
        let mut blockers = Vec::new();
        let mut is_waited_for = false;
        for owner in self.owners.read().values() {
            let held = owner.held.lock();
            let mut on_it = held.iter().filter(|h| Arc::ptr_eq(&h.object, object));
            if owner.id == me.id {
                let waits = |h: &Held| queue.wishes.iter().any(|w| w.owner != me.id && w.mode.conflicts_with(h.mode));
                is_waited_for = on_it.any(waits);
            } else if on_it.any(|h| h.mode.conflicts_with(wish.mode)) {
                blockers.push(owner.id);
            }
        }
        if !is_waited_for {
            let earlier = queue.wishes.iter().filter(|w| w.number < wish.number && w.owner != me.id);
            blockers.extend(earlier.filter(|w| w.mode.conflicts_with(wish.mode)).map(|w| w.owner));
        }
        blockers
    }

    /// Whether transactions of other sessions keep writers away from it, or are about to: not LOCK TABLES.
    pub fn is_kept_by_transaction(&self, me: &Owner, object: &Arc<Object>) -> bool {
        let keeps = |mode, until| mode == Mode::SharedReadOnly && until == Until::Transaction;
        let queue = object.queue.lock();
        let held = |o: &Arc<Owner>| {
            let held = o.held.lock();
            held.iter().any(|h| Arc::ptr_eq(&h.object, object) && keeps(h.mode, h.until))
        };
        queue.wishes.iter().any(|w| w.owner != me.id && keeps(w.mode, w.until))
            || self.owners.read().values().any(|o| o.id != me.id && held(o))
    }

    /// Lets go of the locks that `which` picks: (key, mode, until).
    fn release_where(&self, owner: &Owner, which: impl Fn(&Held) -> bool) {
        while self.release_once(owner, &which) {}
    }

    /// Lets go of the newest lock that `which` picks; says whether there was one.
    fn release_once(&self, owner: &Owner, which: impl Fn(&Held) -> bool) -> bool {
        let released = {
            let mut held = owner.held.lock();
            held.iter().rposition(which).map(|i| held.remove(i))
        };
        let Some(Held { object, mode, .. }) = released else { return false };
        let others = match mode.is_weak() {
            true => object.strong.load(Ordering::SeqCst),
            false => object.strong.fetch_sub(1, Ordering::SeqCst),
        };
        if others > 0 {
            let queue = object.queue.lock();
            self.txns.waits().forget(owner.id, object.lock_id());
            drop(queue);
            object.changed.notify_all();
        }
        true
    }

    /// The transaction ended.
    pub fn release_transaction(&self, owner: &Owner) {
        self.release_where(owner, |h| h.until != Until::Released);
    }

    /// A statement of a transaction ended.
    pub fn release_statement(&self, owner: &Owner) {
        self.release_where(owner, |h| h.until == Until::Statement);
    }

    /// Where the list of held locks stands, for [`Mdl::release_since`].
    pub fn mark(&self, owner: &Owner) -> usize {
        owner.held.lock().len()
    }

    /// Lets go of what the transaction took since [`Mdl::mark`].
    pub fn release_since(&self, owner: &Owner, mark: usize) {
        while self.mark(owner) > mark {
            let object = owner.held.lock().last().map(|h| (h.object.clone(), h.until, h.mode));
            let Some((object, Until::Statement | Until::Transaction, mode)) = object else { return };
            // The newest is found first, and only the session's own thread adds.
            self.release_once(owner, |h| Arc::ptr_eq(&h.object, &object) && h.mode == mode);
        }
    }

    /// Lets go of locks in a scope that were taken until released.
    pub fn release_space(&self, owner: &Owner, space: Space) {
        self.release_where(owner, |h| h.until == Until::Released && h.object.key.space == space);
    }

    /// Lets go of what was locked of a table until released.
    pub fn release_table(&self, owner: &Owner, schema: &str, name: &str) {
        let object = self.table(schema, name);
        self.release_where(owner, |h| h.until == Until::Released && Arc::ptr_eq(&h.object, &object));
    }

    /// GET_LOCK: as often as it is taken it has to be released.
    pub fn take_user_lock(&self, owner: &Arc<Owner>, name: &str, timeout: Duration) -> Result<()> {
        let object = self.object(KeyRef { space: Space::UserLock, schema: "", name });
        if let Some(h) = owner.held.lock().iter_mut().find(|h| Arc::ptr_eq(&h.object, &object)) {
            h.times = h.times.saturating_add(1);
            return Ok(());
        }
        self.acquire(owner, &object, Mode::Exclusive, Until::Released, timeout, || 0)
    }

    /// RELEASE_LOCK. `None`: nobody has it; false: somebody else.
    pub fn release_user_lock(&self, owner: &Owner, name: &str) -> Option<bool> {
        let object = self.object(KeyRef { space: Space::UserLock, schema: "", name });
        let mine = {
            let mut held = owner.held.lock();
            held.iter_mut().find(|h| Arc::ptr_eq(&h.object, &object)).map(|h| {
                h.times -= 1;
                h.times
            })
        };
        match mine {
            None => self.user_lock_holder(name).map(|_| false),
            Some(0) => {
                self.release_where(owner, |h| Arc::ptr_eq(&h.object, &object));
                Some(true)
            }
            Some(_) => Some(true),
        }
    }

    /// RELEASE_ALL_LOCKS: how many there were.
    pub fn release_user_locks(&self, owner: &Owner) -> u64 {
        let user = |h: &&Held| h.object.key.space == Space::UserLock;
        let count = owner.held.lock().iter().filter(user).map(|h| h.times as u64).sum();
        self.release_space(owner, Space::UserLock);
        count
    }

    /// The process that has a user lock.
    pub fn user_lock_holder(&self, name: &str) -> Option<u32> {
        let has = |h: &Held| h.object.key.space == Space::UserLock && *h.object.key.name == *name;
        let owners = self.owners.read();
        owners.values().find(|o| o.held.lock().iter().any(has)).map(|o| o.process.id())
    }

    /// The strongest lock that `owner` holds on a table until it is released, as LOCK TABLES takes them.
    pub fn table_locked(&self, owner: &Owner, schema: &str, name: &str) -> Option<Mode> {
        let on = |h: &&Held| {
            let key = &h.object.key;
            key.space == Space::Table && *key.schema == *schema && *key.name == *name && h.until == Until::Released
        };
        owner.held.lock().iter().filter(on).map(|h| h.mode).max_by_key(|m| *m as u8)
    }

    /// Everything held and wanted.
    pub fn shown(&self) -> Vec<Shown> {
        let mut out = Vec::new();
        let mut objects: HashMap<*const Object, Arc<Object>> = HashMap::new();
        for shard in &self.shards {
            for object in shard.lock().iter().filter(|o| o.strong.load(Ordering::SeqCst) > 0) {
                objects.insert(Arc::as_ptr(object), object.clone());
            }
        }
        let owners: Vec<Arc<Owner>> = self.owners.read().values().cloned().collect();
        for owner in owners {
            let process_id = owner.process.id();
            out.extend(owner.held.lock().iter().map(|h| Shown {
                key: h.object.key.clone(),
                mode: h.mode,
                until: h.until,
                granted: true,
                process_id,
                owner: owner.id,
            }));
        }
        for object in objects.values() {
            out.extend(object.queue.lock().wishes.iter().map(|w| Shown {
                key: object.key.clone(),
                mode: w.mode,
                until: w.until,
                granted: false,
                process_id: w.process_id,
                owner: w.owner,
            }));
        }
        out
    }
}
