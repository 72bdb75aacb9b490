//! What the process's heap holds.
//!
//! ```text
//! thread's tally (a cell) ── more than TALLY_BYTES_MAX off ──▶ the process's count (one atomic)
//!                                                                    ▲ process_bytes()
//! the system refuses memory ──▶ the reserve is given back, and it is asked once more; is_exhausted() until it is whole
//! ```
//! A program that installs [`Metered`] as its allocator knows at any time how many bytes its heap holds, and each
//! thread how many it has taken itself. Counting costs an addition a call. How much the process may hold is one number
//! ([`set_limit`]), and whoever takes much asks for it ([`has_room`], [`promise`]). What statements may hold of that is
//! decided by `executor::memory`, what tables leave to others by `storage::room`.
//!
//! Terms: *net* bytes are those allocated less those freed. A thread that frees what another has allocated goes below
//! zero.
//!
//! Invariants
//! 1. The process's count differs from what is held by at most [`TALLY_BYTES_MAX`] a living thread.
//! 2. Nothing here allocates, takes a lock or unwinds while the allocator runs.
//! 3. A failed allocation ends the process (the language has it so). Statements therefore look at [`is_exhausted`] and
//!    at their bounds before they take much; the reserve is what small takings live on until those that hold much have
//!    ended.

mod bound;
mod metered;
mod reserve;
mod watch;

pub use bound::{
    Promise, has_room, has_room_beside, limit_bytes, part_bytes, promise, resident_bytes, set_collector, set_limit,
    try_grow,
};
pub use metered::{Metered, TALLY_BYTES_MAX, process_bytes, thread_bytes};
pub use reserve::{is_exhausted, set_reserve};
pub use watch::Watch;
