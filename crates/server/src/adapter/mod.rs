//! The engine behind the network: accounts, sessions and result sets in the protocol's terms.
//!
//! ```text
//!   net::Backend  <- backend  accounts, login
//!   net::Session  <- session  commands; KILL in both directions
//!                    statements  parameter types, long data, cursors of prepared statements
//!   net::Reply    <- sink     answers: columns, text_rows, binary_rows
//!                    charset  clients that do not speak UTF-8
//! ```

mod backend;
mod binary_rows;
mod charset;
mod columns;
mod session;
mod sink;
mod statements;
mod text_rows;

pub use backend::EngineBackend;
