//! Sessions: what all of them share, what one keeps, and the frame that one statement runs in.
//!
//! ```text
//!   Shared        catalog, storage, locks, variables, accounts, logs      as long as the database is open
//!     ▲
//!   SessionState  identity, variables, transaction, temporary tables,     as long as the connection
//!     ▲           diagnostics of the last statement, locks
//!   Frame         clock, parameters, warnings, sql_mode, default schema,  one statement
//!     ▲           acting account, memory of tree and plan, counters
//!   Frame         of a statement that the first one runs: its own clock, schema, account, ...
//! ```
//! A [`Frame`] borrows the session for itself, and a nested frame borrows its caller's: [`Frame::nested`]. So what a
//! statement changes for itself ends with it, whatever happens in between, and nobody has to put it back.
//!
//! - [`shared`]: [`Shared`]; [`options`]: how a database is opened.
//! - [`state`]: [`SessionState`]; [`txn`] has its transaction, [`temporary`] its temporary tables, [`locks`] its
//!   metadata locks.
//! - [`frame`]: [`Frame`]; [`resolved`]: what its statement names; [`facts`] answers the binder and expressions,
//!   [`bind`] makes binders, [`rights`] checks rights, [`hints`] and [`set`] change variables, [`trace`] keeps what the
//!   optimizer did, [`tree`] charges memory, [`ended`] notes what ran.
//! - [`source_columns`]: the columns of a query as a table's; [`view_text`]: the texts that views keep.
//! - [`server_tables`]: the tables that the server makes up, of which only those above know the rows.
//! - [`sink`]: where answers go; [`rows`]: small row sets that the server makes; [`collect`]: a sink that keeps an
//!   answer.
//!
//! Invariants
//! 1. A statement that fails leaves variables, current database and (outside the statement itself) the transaction as
//!    they were.
//! 2. The diagnostics area holds the warnings of the last statement that is not itself about diagnostics.
//! 3. Nothing here knows which statements there are to run: dispatch is above.

pub mod bind;
pub mod collect;
mod described;
pub mod ended;
pub mod facts;
pub mod frame;
mod held;
pub mod hints;
pub mod locks;
pub mod options;
mod read_only;
pub mod resolved;
pub mod rights;
pub mod rows;
pub mod server_tables;
pub mod set;
pub mod shared;
pub mod sink;
pub mod source_columns;
pub mod state;
pub mod temporary;
pub mod trace;
mod tree;
pub mod txn;
pub mod view_text;

pub use frame::{Frame, Nested};
pub use options::{CachedPlans, LogReopener, Options, ServerStopper};
pub use server_tables::ServerTables;
pub use shared::{Parts, Shared};
pub use state::{ActsAs, SessionState};
