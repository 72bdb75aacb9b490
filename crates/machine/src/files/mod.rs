//! Files of the machine: those that the server makes of itself, and those that its users name.
//!
//! - [`modes`]: who may read them.
//! - [`bounds`]: secure_file_priv, which statements heed that read or write files where users say.
//! - [`logs`]: files that the server itself writes to where options and variables say.
//! - [`found`]: looks at what a path leads to, and then uses that very thing.

mod bounds;
mod found;
mod logs;

pub use bounds::Bounds;
pub use disk::modes;
pub use logs::place;
pub use logs::{Kind, Refused, check, open};
