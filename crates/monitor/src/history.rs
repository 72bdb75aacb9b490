//! The statements that each connection has run lately, for performance_schema.events_statements_*.
//!
//! ```text
//!   statement ends ─▶ Ring of its connection, HISTORY_LEN long     events_statements_current, _history
//!                 └─▶ one ring of all, LONG_LEN long               events_statements_history_long, while it is wanted
//! ```
//! The slots of a ring and the memory of their texts are used again and again; only the thread of the connection writes
//! to its ring, so its latch is free unless somebody looks.

use super::Ended;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use types::Error;

/// `performance_schema_events_statements_history_size`
pub const HISTORY_LEN: usize = 10;
/// `performance_schema_events_statements_history_long_size`
pub const LONG_LEN: usize = 10_000;
/// What is kept of a text.
pub const TEXT_BYTES_MAX: usize = 1024;

/// A statement that has ended.
#[derive(Clone, Debug, Default)]
pub struct Event {
    pub thread_id: u32,
    /// Counts the connection's statements, from 1.
    pub event_id: u64,
    pub ended: Ended,
    pub text: Vec<u8>,
    pub schema: String,
    /// [`super::digests::Digest::id`]; 0: none.
    pub digest: u64,
    /// The error that ended it: number, SQLSTATE, text.
    pub error: Option<Box<(u16, String, String)>>,
}

impl Event {
    /// Overwrites it, keeping its memory.
    pub fn set(&mut self, ended: &Ended, schema: Option<&str>, digest: u64, error: Option<&Error>) {
        self.ended = *ended;
        self.digest = digest;
        self.schema.clear();
        self.schema.push_str(schema.unwrap_or_default());
        self.error = error.map(|e| Box::new((e.code().0, e.sqlstate().to_string(), e.message().to_string())));
    }
}

/// The last statements of one connection.
#[derive(Debug, Default)]
pub struct Ring {
    slots: Vec<Event>,
    /// Events so far.
    count: u64,
}

impl Ring {
    /// The slot for the next event, which has its number already.
    pub fn next(&mut self, thread_id: u32) -> &mut Event {
        self.count += 1;
        let at = ((self.count - 1) % HISTORY_LEN as u64) as usize;
        if self.slots.len() <= at {
            self.slots.push(Event::default());
        }
        let slot = &mut self.slots[at];
        slot.thread_id = thread_id;
        slot.event_id = self.count;
        slot.text.clear();
        slot
    }

    /// Oldest first.
    pub fn events(&self) -> Vec<Event> {
        let mut all: Vec<Event> = self.slots.iter().filter(|e| e.event_id > 0).cloned().collect();
        all.sort_by_key(|e| e.event_id);
        all
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// TRUNCATE: the numbers go on.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(|e| e.event_id = 0);
    }
}

/// What is kept of all connections together, and what is kept at all: setup_consumers.
#[derive(Debug)]
pub struct History {
    per_connection: AtomicBool,
    long_on: AtomicBool,
    long: Mutex<VecDeque<Event>>,
}

impl Default for History {
    fn default() -> History {
        History { per_connection: AtomicBool::new(true), long_on: AtomicBool::new(false), long: Mutex::default() }
    }
}

impl History {
    pub fn is_on(&self) -> bool {
        self.per_connection.load(Ordering::Relaxed)
    }

    pub fn set_on(&self, on: bool) {
        self.per_connection.store(on, Ordering::Relaxed);
    }

    pub fn is_long_on(&self) -> bool {
        self.long_on.load(Ordering::Relaxed)
    }

    pub fn set_long_on(&self, on: bool) {
        self.long_on.store(on, Ordering::Relaxed);
    }

    pub fn add_long(&self, event: Event) {
        let mut long = self.long.lock();
        if long.len() == LONG_LEN {
            long.pop_front();
        }
        long.push_back(event);
    }

    pub fn long(&self) -> Vec<Event> {
        self.long.lock().iter().cloned().collect()
    }

    pub fn clear_long(&self) {
        self.long.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_the_last_ones() {
        let mut ring = Ring::default();
        for i in 0..25u32 {
            let e = ring.next(7);
            e.text.extend_from_slice(i.to_string().as_bytes());
            e.set(&Ended::default(), Some("d"), 0, None);
        }
        let ids: Vec<u64> = ring.events().iter().map(|e| e.event_id).collect();
        assert_eq!(ids, (16..=25).collect::<Vec<u64>>());
        assert_eq!(ring.events()[9].text, b"24");
        ring.clear();
        assert!(ring.events().is_empty());
        ring.next(7);
        assert_eq!(ring.events()[0].event_id, 26);
    }
}
