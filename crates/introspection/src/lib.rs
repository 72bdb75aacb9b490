//! What the server says of itself.
//!
//! ```text
//!   SELECT .. FROM information_schema.x ─ executor ─▶ session::ServerTables ─▶ information_schema::rows ─▶ rows
//!   SHOW x ─ engine ─▶ show::show ─▶ rows ─▶ sink
//! ```
//! - [`information_schema`]: information_schema, performance_schema, sys and mysql as tables.
//! - [`show`]: SHOW and DESCRIBE. `server_state`: status and system variables by name, for both.
//! - [`show_create`]: definitions as the statements that make them; [`histogram_json`]: histograms as texts.
//!
//! Invariants
//! 1. All of it reads from a [`session::Frame`] and shows what the acting account may see; nothing here changes data or
//!    definitions.
//! 2. Whoever looks waits for no lock on what it looks at.
//! 3. Nothing here knows how statements are run.

pub mod histogram_json;
pub mod information_schema;
mod server_state;
pub mod show;
pub mod show_create;
