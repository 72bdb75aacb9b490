//! The redo log: what a commit must find on disk before it is acknowledged.
//!
//! ```text
//!   commit:  images of the changed rows ─▶ order ─▶ durable ─▶ publish ─▶ end
//!            (outside all latches)         ts and    write +    commit_ts,   rows are let go,
//!                                          place     fdatasync  snapshots    waiters wake
//!                                          in the    of all     see it
//!                                          queue     that wait
//! ```
//! - [`frame`]: records as bytes.
//! - [`segment`]: files of the log, writing them.
//! - [`group`]: the queue, its leader, the order of commits, the modes of innodb_flush_log_at_trx_commit.
//! - [`changes`]: from a transaction's list of changes to row images.
//! - [`read`]: the log after a crash: what is there, what is torn, what is damaged.
//!
//! One logical log of redo only: it has what committed transactions changed and nothing of others, so there is nothing
//! to undo. A frame's timestamp is its commit's; frames lie in that order. A position in the log is its *lsn*, the
//! number of frame bytes before it since the database was made, whatever the segment.
//!
//! Group commit clocks itself: whoever finds no leader writes and syncs what is pending at that moment, and hands over
//! to one of those who came meanwhile. There is no timer.

pub mod changes;
pub mod frame;
pub mod group;
pub mod read;
pub mod segment;
