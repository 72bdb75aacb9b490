//! The redo log: what a commit must find on disk before it is acknowledged.
//!
//! ```text
//!   commit:  images of the changed rows ─▶ order ─▶ let go ─▶ durable ─▶ publish ─▶ answer
//!            (outside all latches)         ts and   rows,     write +    snapshots
//!                                          place in current   fdatasync  see it
//!                                          the      reads     of all
//!                                          batch    see it    that wait
//! ```
//! - [`frame`]: records as bytes.
//! - [`segment`]: files of the log, writing them.
//! - [`group`]: batches, their leaders, the order of commits, the modes of innodb_flush_log_at_trx_commit.
//! - [`changes`]: from a transaction's list of changes to row images.
//! - [`end`]: the file that says where the log ends, so that no start takes less for all of it.
//! - [`read`]: the log after a crash: what is there, what is torn, what is damaged.
//!
//! One logical log of redo only: it has what committed transactions changed and nothing of others, so there is nothing
//! to undo. A frame's timestamp is its commit's; frames lie in that order. A position in the log is its *lsn*, the
//! number of frame bytes before it since the database was made, whatever the segment.
//!
//! Group commit clocks itself: whoever finds no leader writes and syncs what has gathered at that moment. There is no
//! timer.

pub mod changes;
pub mod end;
pub mod frame;
pub mod group;
pub mod read;
pub mod segment;
