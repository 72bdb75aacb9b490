//! The engine behind the network: accounts, sessions and result sets in the protocol's terms.
//!
//! ```text
//!   net::Backend  <- backend  accounts, login
//!   net::Session  <- session  commands; KILL in both directions
//!   net::Reply    <- sink     answers: columns, text_rows
//! ```

mod backend;
mod columns;
mod session;
mod sink;
mod text_rows;

pub use backend::EngineBackend;
pub(crate) use sink::ColumnsOnly;
