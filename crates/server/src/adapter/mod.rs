//! The engine behind the network: sessions, accounts and result sets in the protocol's terms.

pub mod text_rows;
