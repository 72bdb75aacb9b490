//! The network from a client's side: a real server on a port, a toy database behind it.

mod clients;
mod many;
mod misuse;
mod raw;
mod toy;
