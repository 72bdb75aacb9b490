//! The Nextleaf server: what stands between the network and the engine.
//!
//! [`net`] listens, logs clients in and carries their commands to a [`net::Backend`]; [`config`] collects options from
//! files, environment and command line; [`serve`](serve::serve) runs the two until a signal comes.

pub mod adapter;
pub mod config;
pub mod log;
pub mod net;
pub mod serve;
