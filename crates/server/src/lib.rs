//! The Nextleaf server: what stands between the network and the engine.
//!
//! [`net`] listens, logs clients in and carries their commands to a [`net::Backend`].

pub mod net;
