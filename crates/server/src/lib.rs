//! Nextleaf: the server, the shell, and the database as a library.
//!
//! [`Database::open`] opens a database in this process; see there for programs. [`shell`] is the same for people.
//! What stands between the network and the engine:
//! [`net`] listens, logs clients in and carries their commands to a [`net::Backend`]; [`config`] collects options from
//! files, environment and command line; [`adapter`] is the engine as such a backend; [`serve`](serve::serve) runs all
//! until a signal comes. [`commands`] are those of the binary.

pub mod adapter;
#[cfg(feature = "arrow")]
pub mod arrow_scan;
pub mod commands;
pub mod config;
mod library;
pub mod log;
pub mod net;
pub mod serve;
pub mod shell;

pub use library::{
    ColumnMeta, Database, Error, ErrorCode, OkInfo, Options, Result, Row, Rows, Session, SqlType, Value, Warning,
};
