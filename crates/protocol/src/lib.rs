//! MySQL's client/server protocol as pure codecs: bytes in, bytes out.
//!
//! Nothing here opens a socket, spawns a thread or knows of tables. A connection owns one [`PacketReader`] and one
//! [`PacketWriter`]; whoever owns the socket fills the first and empties the second. In between, the modules speak of
//!
//! ```text
//!   connection phase                               command phase
//!   ----------------                               -------------
//!   server  Greeting            (handshake)        client  Command           (command)
//!   client  [SslRequest] Login  (handshake)        server  Ok | Err          (response)
//!   both    Exchange            (auth)                     | columns, rows   (column, row)
//!   server  Ok | Err            (response)                 | LOCAL INFILE    (response)
//! ```
//!
//! Terms: a *packet* is one message of the protocol; a *frame* is what carries at most 16 MiB - 1 of it, with a header
//! of three bytes length and one byte sequence number; a *compressed frame* carries a run of frames, deflated.
//!
//! Invariants: no input makes a decoder panic or allocate more than a constant factor of the bytes really received
//! (inflated bytes count); what an encoder writes is a whole number of frames; sequence numbers are checked on the way
//! in and counted on the way out.
//!
//! Source: the MySQL source documentation, "Client/Server Protocol".

pub mod auth;
mod binary_row;
mod bytes;
mod caps;
mod column;
mod command;
mod compress;
pub use types::verifier as crypt;
mod handshake;
mod packet;
mod response;
mod row;
pub mod statement;

pub use binary_row::BinaryRow;
pub use bytes::{Cursor, Malformed, put_lenenc_bytes, put_lenenc_int};
pub use caps::{Capabilities, StatusFlags};
pub use column::{Column, ColumnFlags, ColumnType, column_count, column_definition, field_list_definition, wire_type};
pub use command::Command;
pub use compress::{CompressedReader, CompressedWriter};
pub use handshake::{Attribute, ChangeUser, Greeting, Login, SSL_REQUEST_LEN, is_ssl_request, nonce_from_random};
pub use packet::{FRAME_PAYLOAD_MAX, PacketReader, PacketWriter};
pub use response::{OkPacket, SessionChange, eof, err, err_before_handshake, local_infile, ok, ok_as_eof};
pub use row::TextRow;

/// Length of the random challenge of the handshake.
pub const NONCE_LEN: usize = 20;
