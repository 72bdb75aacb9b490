//! The server's answers that are not rows: OK, ERR, EOF and the request for a local file.
//!
//! ```text
//! 00  OK     affected rows, last insert id, status, warnings, text, session changes
//! fe  EOF    warnings, status; or, with DEPRECATE_EOF, an OK packet under this header at the end of rows
//! ff  ERR    number, '#', SQLSTATE, message
//! fb  LOCAL INFILE  file name; the client sends the file in packets and ends it by an empty one
//! ```

use types::Error;

use crate::bytes::{put_lenenc_bytes, put_lenenc_int, put_u16};
use crate::caps::{Capabilities, StatusFlags};

const OK: u8 = 0x00;
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;
const LOCAL_INFILE: u8 = 0xfb;

/// What an OK packet says.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OkPacket<'a> {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: StatusFlags,
    pub warnings: u16,
    /// For example `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: &'a str,
    /// Sent to clients with `SESSION_TRACK` only.
    pub changes: &'a [SessionChange<'a>],
}

/// A change of session state that clients may want to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionChange<'a> {
    /// session_track_system_variables
    SystemVariable { name: &'a str, value: &'a str },
    /// session_track_schema: the default database is now this one.
    Schema(&'a str),
    /// session_track_state_change
    State,
}

/// Appends an OK packet's payload.
pub fn ok(out: &mut Vec<u8>, ok: &OkPacket<'_>, capabilities: Capabilities) {
    put_ok(out, OK, ok, capabilities);
}

/// Appends what ends a result set's rows.
pub fn ok_as_eof(out: &mut Vec<u8>, ok: &OkPacket<'_>, capabilities: Capabilities) {
    if capabilities.has(Capabilities::DEPRECATE_EOF) {
        put_ok(out, EOF, ok, capabilities);
    } else {
        eof(out, ok.warnings, ok.status);
    }
}

fn put_ok(out: &mut Vec<u8>, header: u8, ok: &OkPacket<'_>, capabilities: Capabilities) {
    let track = capabilities.has(Capabilities::SESSION_TRACK) && !ok.changes.is_empty();
    let status = match track {
        true => ok.status | StatusFlags::SESSION_STATE_CHANGED,
        false => ok.status.without(StatusFlags::SESSION_STATE_CHANGED),
    };
    out.push(header);
    put_lenenc_int(out, ok.affected_rows);
    put_lenenc_int(out, ok.last_insert_id);
    put_u16(out, status.0);
    put_u16(out, ok.warnings);
    if track || !ok.info.is_empty() {
        put_lenenc_bytes(out, ok.info.as_bytes());
    }
    if track {
        let mut changes = Vec::new();
        ok.changes.iter().for_each(|change| change.encode(&mut changes));
        put_lenenc_bytes(out, &changes);
    }
}

impl SessionChange<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut data = Vec::new();
        let kind = match self {
            SessionChange::SystemVariable { name, value } => {
                put_lenenc_bytes(&mut data, name.as_bytes());
                put_lenenc_bytes(&mut data, value.as_bytes());
                0
            }
            SessionChange::Schema(name) => {
                put_lenenc_bytes(&mut data, name.as_bytes());
                1
            }
            SessionChange::State => {
                put_lenenc_bytes(&mut data, b"1");
                2
            }
        };
        out.push(kind);
        put_lenenc_bytes(out, &data);
    }
}

/// Appends an EOF packet's payload; it also stands between columns and rows without `DEPRECATE_EOF`.
pub fn eof(out: &mut Vec<u8>, warnings: u16, status: StatusFlags) {
    out.push(EOF);
    put_u16(out, warnings);
    put_u16(out, status.0);
}

/// Appends an ERR packet's payload.
pub fn err(out: &mut Vec<u8>, error: &Error) {
    out.push(ERR);
    put_u16(out, error.code().0);
    out.push(b'#');
    out.extend_from_slice(error.sqlstate().as_bytes());
    out.extend_from_slice(error.message().as_bytes());
}

/// Appends an ERR packet's payload in the older form, which has no SQLSTATE: for clients not yet greeted.
pub fn err_before_handshake(out: &mut Vec<u8>, error: &Error) {
    out.push(ERR);
    put_u16(out, error.code().0);
    out.extend_from_slice(error.message().as_bytes());
}

/// Appends the payload that asks the client for a file.
pub fn local_infile(out: &mut Vec<u8>, file_name: &[u8]) {
    out.push(LOCAL_INFILE);
    out.extend_from_slice(file_name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::ErrorCode;

    fn bytes(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn ok_packets() {
        let changes = [SessionChange::Schema("db"), SessionChange::SystemVariable { name: "a", value: "" }];
        let full = OkPacket {
            affected_rows: 300,
            last_insert_id: 1,
            status: StatusFlags::AUTOCOMMIT,
            warnings: 2,
            info: "hi",
            changes: &changes,
        };
        let plain = bytes(|out| ok(out, &full, Capabilities::default()));
        assert_eq!(plain, b"\0\xfc\x2c\x01\x01\x02\0\x02\0\x02hi");
        let tracked = bytes(|out| ok(out, &full, Capabilities::SESSION_TRACK));
        assert_eq!(tracked, b"\0\xfc\x2c\x01\x01\x02\x40\x02\0\x02hi\x0a\x01\x03\x02db\0\x03\x01a\0");
    }

    #[test]
    fn ends_of_rows() {
        let end = OkPacket { warnings: 1, status: StatusFlags::AUTOCOMMIT, ..OkPacket::default() };
        assert_eq!(bytes(|out| ok_as_eof(out, &end, Capabilities::default())), b"\xfe\x01\0\x02\0");
        assert_eq!(bytes(|out| ok_as_eof(out, &end, Capabilities::DEPRECATE_EOF)), b"\xfe\0\0\x02\0\x01\0");
    }

    #[test]
    fn errors() {
        let error = Error::new(ErrorCode::PARSE, "no");
        assert_eq!(bytes(|out| err(out, &error)), b"\xff\x28\x04#42000no");
        assert_eq!(bytes(|out| err_before_handshake(out, &error)), b"\xff\x28\x04no");
        assert_eq!(bytes(|out| local_infile(out, b"f.tbl")), b"\xfbf.tbl");
    }
}
