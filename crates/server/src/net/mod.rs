//! The network: listeners, TLS, connections.
//!
//! A connection is an object. As long as few are busy it has one thread, which blocks: it reads a command, has the
//! session execute it, and writes the answer; measured, this costs less per query than an asynchronous runtime. Where
//! many are busy ([`load`]), where many are idle, and before [`login`], connections have no threads: [`workers`] serve
//! those whose clients have sent something, one command after the other, which saves each a sleep and a wake-up. What a
//! thread that executes cannot do itself is done by one more for all, the [`hangup`] monitor: noticing that a client
//! has gone while its query runs.
//!
//! ```text
//!   listener --accept--> worker: login --> connection thread: command -> ... <--> worker: command, another's -> ...
//!                          |  wire     packets over (compression over) (TLS over) a socket
//!                          |  reply    an answer on its way out
//!                          |  process  the connection as others see it: SHOW PROCESSLIST, KILL
//!   hangup ---------------/   watches the sockets of running queries
//! ```
//!
//! States of a connection, and who moves it:
//!
//! ```text
//!   Greeted --login--> Idle --command--> Running --answer--> Idle
//!   any     --error on the socket, malformed packet, timeout, KILL CONNECTION, shutdown--> Closed
//! ```
//!
//! Invariants: a client can harm its own connection only; nothing here knows SQL; no lock is held while a socket is
//! read or written; a query that is to stop is told so by its [`Process`], which every layer may ask cheaply.

mod backend;
mod connection;
mod hangup;
mod host;
mod listener;
mod load;
mod login;
mod proof;
mod reply;
mod secrets;
mod socket;
mod spin;
mod stream;
mod threads;
#[cfg(feature = "tls")]
mod tls;
mod wire;
mod workers;

pub use backend::{Backend, Client, Limits, Session};
pub use engine::{Kill, Process, ProcessInfo, ProcessList};
pub use host::ClientHost;
pub use listener::{Options, Server, StartError, Stopper};
pub use reply::{LocalInfile, Reply, encode_columns};

/// What clients see as the server's version: MySQL's behind which the dialect stands, then our own.
pub const SERVER_VERSION: &str = concat!("8.4.0-nextleaf-", env!("CARGO_PKG_VERSION"));

/// Id of utf8mb4_0900_ai_ci, the collation proposed in the handshake.
pub const DEFAULT_COLLATION_ID: u16 = 255;
