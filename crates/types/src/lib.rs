//! The vocabulary of Nextleaf: SQL types, values, exact decimals, MySQL's temporal values, collations and errors.
//!
//! Nothing here knows of tables, plans or packets. Everything above speaks in these terms.

pub mod collation;
pub mod cp1252;
pub mod decimal;
pub mod error;
pub mod int256;
pub mod locale;
pub mod pace;
pub mod record;
pub mod sql_type;
pub mod temporal;
pub mod value;
pub mod verifier;

pub use collation::{Ask, Charset, Collation, LikePattern};
pub use decimal::Decimal;
pub use error::{Error, ErrorCode, Result, Warning, WarningLevel};
pub use int256::I256;
pub use locale::Locale;
pub use pace::{Overseer, Pace};
pub use record::{ArrowForm, Attributes, Literal, TypeClass, TypeRecord};
pub use sql_type::{IntSize, PhysType, SqlType, StringKind};
pub use temporal::{Date, DateTime, Time, TimeZone, Timestamp};
pub use value::{ConvertMode, Read, Truncation, Value, convert_for_column, render_text};

/// The version that clients are told.
pub const VERSION: &str = concat!("8.4.0-nextleaf-", env!("CARGO_PKG_VERSION"));
