//! Checkpoints: what recovery starts from, so that the log may be short.
//!
//! ```text
//!   manifest ── definitions
//!            ── T, and where the log begins that has all commits after T
//!            ── table ── leaf 0 ──▶ data-3, offset 0       an image: the rows that a snapshot at T sees
//!                     ── leaf 1 ──▶ data-1, offset 40960   older, and still right: the leaf did not change
//!   data-1  | image | image (dead) | image |
//!   data-3  | image | image |
//! ```
//! - [`extent`]: the files of images.
//! - [`manifest`]: the one file that says what counts.
//! - [`run`]: making a checkpoint; a backup is one into another folder.
//!
//! Invariants
//! 1. A manifest is switched by rename. Whatever it names was synced before, and the log that is needed beside it is
//!    removed after.
//! 2. The log is on stable storage up to T before a manifest with T is: else a crash could keep half a transaction.
//! 3. A leaf that is clean has, for every commit up to T, the rows of its image. Whoever changes it makes it dirty
//!    first or while a checkpoint still sees his version as not committed.
//! 4. Nothing waits for a checkpoint: it reads leaves as any snapshot does.

pub mod extent;
pub mod manifest;
pub mod run;
