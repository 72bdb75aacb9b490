//! Where a connection is while it is nobody's.
//!
//! ```text
//!   Idle ── event, deadline [claim] ──▶ Owned ── event ──▶ OwnedAgain
//!     ▲                                  │ ▲                  │
//!     └──────────── [release] ───────────┘ └─── [release] ────┘  served once more
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::Served;
use crate::net::socket::Socket;

const IDLE: u8 = 0;
const OWNED: u8 = 1;
const OWNED_AGAIN: u8 = 2;

pub(super) struct Slot {
    /// Its place in the group's table, and its connection's id: what events bear.
    pub(super) key: u64,
    pub(super) socket: Arc<Socket>,
    pub(super) who: Mutex<Option<Box<dyn Served>>>,
    state: AtomicU8,
    /// An event said so.
    pub(super) hung_up: AtomicBool,
    pub(super) expired: AtomicBool,
    /// What it waits for, owned, has happened when it is served next.
    pub(super) settled: AtomicBool,
    /// It has given its memory back.
    pub(super) rests: AtomicBool,
    /// Since when it is idle and how long it may be, in milliseconds of the group's clock.
    pub(super) since_ms: AtomicU64,
    pub(super) patience_ms: AtomicU64,
}

impl Slot {
    pub(super) fn new(key: u64, socket: Arc<Socket>, who: Box<dyn Served>) -> Slot {
        Slot {
            key,
            socket,
            who: Mutex::new(Some(who)),
            state: AtomicU8::new(OWNED),
            hung_up: AtomicBool::new(false),
            expired: AtomicBool::new(false),
            settled: AtomicBool::new(false),
            rests: AtomicBool::new(false),
            since_ms: AtomicU64::new(0),
            patience_ms: AtomicU64::new(u64::MAX),
        }
    }

    /// True: the slot is the caller's now. False: its owner will look again.
    pub(super) fn claim(&self) -> bool {
        loop {
            if self.state.compare_exchange(IDLE, OWNED, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return true;
            }
            let noted = self.state.compare_exchange(OWNED, OWNED_AGAIN, Ordering::SeqCst, Ordering::SeqCst);
            if matches!(noted, Ok(_) | Err(OWNED_AGAIN)) {
                return false;
            }
        }
    }

    /// As [`Slot::claim`], but for nothing that its owner would have to know.
    pub(super) fn claim_idle(&self) -> bool {
        self.state.compare_exchange(IDLE, OWNED, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// True: the slot is idle. False: something has happened meanwhile, and it is still the caller's.
    pub(super) fn release(&self) -> bool {
        if self.state.compare_exchange(OWNED, IDLE, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            return true;
        }
        self.state.store(OWNED, Ordering::SeqCst);
        false
    }

    pub(super) fn is_idle(&self) -> bool {
        self.state.load(Ordering::SeqCst) == IDLE
    }
}

/// All slots of a group. A key is a place, with the connection's id above it: the place may be another's later.
#[derive(Default)]
pub(super) struct Slots {
    places: Vec<Option<Arc<Slot>>>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) fn add(&mut self, id: u32, socket: Arc<Socket>, who: Box<dyn Served>) -> Arc<Slot> {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        let slot = Arc::new(Slot::new(u64::from(id) << 32 | u64::from(place), socket, who));
        self.places[place as usize] = Some(slot.clone());
        slot
    }

    pub(super) fn get(&self, key: u64) -> Option<&Arc<Slot>> {
        self.places.get(key as u32 as usize)?.as_ref().filter(|slot| slot.key == key)
    }

    pub(super) fn remove(&mut self, key: u64) {
        if self.get(key).is_some() {
            self.places[key as u32 as usize] = None;
            self.free.push(key as u32);
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Slot>> {
        self.places.iter().flatten()
    }
}
