//! What the whole-product tests in `tests/` share.
//!
//! - [`ours`]: a database in this process that answers in text.
//! - [`oracle`]: a private MariaDB that answers in the same form.
//! - [`golden`]: SQL files with expected answers.
//! - [`history`]: a checker of isolation levels.
//! - [`hunt`]: laws that answers to random queries obey, and a reducer of what breaks them.

pub mod golden;
pub mod history;
pub mod hunt;
pub mod oracle;
pub mod ours;

/// A result set as text: NULL is `None`.
pub type TextRows = Vec<Vec<Option<String>>>;

/// An answer: rows (none for statements without), or an error's number and message.
pub type Answer = Result<TextRows, (u16, String)>;
