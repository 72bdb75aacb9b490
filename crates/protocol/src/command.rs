//! Commands: the first byte of a client's packet in the command phase, and what follows it.

use crate::bytes::{Cursor, Malformed};

/// A command, with its arguments undecoded where they depend on the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command<'a> {
    Quit,
    InitDb(&'a [u8]),
    Query(&'a [u8]),
    FieldList {
        table: &'a [u8],
        wildcard: &'a [u8],
    },
    Statistics,
    ProcessInfo,
    ProcessKill {
        id: u32,
    },
    Debug,
    Ping,
    /// See [`crate::ChangeUser`].
    ChangeUser(&'a [u8]),
    ResetConnection,
    SetOption {
        multi_statements: bool,
    },
    StmtPrepare(&'a [u8]),
    /// The statement id and what depends on the statement's parameters.
    StmtExecute {
        statement: u32,
        arguments: &'a [u8],
    },
    StmtSendLongData {
        statement: u32,
        parameter: u16,
        data: &'a [u8],
    },
    StmtClose {
        statement: u32,
    },
    StmtReset {
        statement: u32,
    },
    StmtFetch {
        statement: u32,
        rows: u32,
    },
    /// A command of MySQL's that this server refuses by name.
    Refused(&'static str),
    Unknown(u8),
}

impl<'a> Command<'a> {
    pub fn parse(payload: &'a [u8]) -> Result<Command<'a>, Malformed> {
        let mut cursor = Cursor::new(payload);
        let command = match cursor.u8()? {
            0x01 => Command::Quit,
            0x02 => Command::InitDb(cursor.rest()),
            0x03 => Command::Query(cursor.rest()),
            0x04 => Command::FieldList { table: cursor.nul_bytes()?, wildcard: cursor.nul_or_rest() },
            0x09 => Command::Statistics,
            0x0a => Command::ProcessInfo,
            0x0c => Command::ProcessKill { id: cursor.u32()? },
            0x0d => Command::Debug,
            0x0e => Command::Ping,
            0x11 => Command::ChangeUser(cursor.rest()),
            0x12 => Command::Refused("COM_BINLOG_DUMP"),
            0x13 => Command::Refused("COM_TABLE_DUMP"),
            0x15 => Command::Refused("COM_REGISTER_SLAVE"),
            0x16 => Command::StmtPrepare(cursor.rest()),
            0x17 => Command::StmtExecute { statement: cursor.u32()?, arguments: cursor.rest() },
            0x18 => {
                let (statement, parameter) = (cursor.u32()?, cursor.u16()?);
                Command::StmtSendLongData { statement, parameter, data: cursor.rest() }
            }
            0x19 => Command::StmtClose { statement: cursor.u32()? },
            0x1a => Command::StmtReset { statement: cursor.u32()? },
            0x1b => match cursor.u16()? {
                0 => Command::SetOption { multi_statements: true },
                1 => Command::SetOption { multi_statements: false },
                _ => Command::Unknown(0x1b),
            },
            0x1c => Command::StmtFetch { statement: cursor.u32()?, rows: cursor.u32()? },
            0x1e => Command::Refused("COM_BINLOG_DUMP_GTID"),
            0x1f => Command::ResetConnection,
            0x20 => Command::Refused("COM_CLONE"),
            byte => Command::Unknown(byte),
        };
        Ok(command)
    }

    /// As SHOW PROCESSLIST names it.
    pub const fn name(&self) -> &'static str {
        match self {
            Command::Quit => "Quit",
            Command::InitDb(_) => "Init DB",
            Command::Query(_) => "Query",
            Command::FieldList { .. } => "Field List",
            Command::Statistics => "Statistics",
            Command::ProcessInfo => "Processlist",
            Command::ProcessKill { .. } => "Kill",
            Command::Debug => "Debug",
            Command::Ping => "Ping",
            Command::ChangeUser(_) => "Change user",
            Command::ResetConnection => "Reset connection",
            Command::SetOption { .. } => "Set option",
            Command::StmtPrepare(_) => "Prepare",
            Command::StmtExecute { .. } => "Execute",
            Command::StmtSendLongData { .. } => "Long Data",
            Command::StmtClose { .. } => "Close stmt",
            Command::StmtReset { .. } => "Reset stmt",
            Command::StmtFetch { .. } => "Fetch",
            Command::Refused(_) | Command::Unknown(_) => "Error",
        }
    }

    /// Whether the client waits for an answer.
    pub const fn is_answered(&self) -> bool {
        !matches!(self, Command::Quit | Command::StmtSendLongData { .. } | Command::StmtClose { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn commands() {
        let parse = Command::parse;
        assert_eq!(parse(b""), Err(Malformed));
        assert_eq!(parse(b"\x03SELECT 1"), Ok(Command::Query(b"SELECT 1")));
        assert_eq!(parse(b"\x02db"), Ok(Command::InitDb(b"db")));
        assert_eq!(parse(b"\x04t\0a%"), Ok(Command::FieldList { table: b"t", wildcard: b"a%" }));
        assert_eq!(parse(b"\x04t"), Err(Malformed));
        assert_eq!(parse(b"\x0c\x01\0\0\0"), Ok(Command::ProcessKill { id: 1 }));
        assert_eq!(parse(b"\x0c\x01"), Err(Malformed));
        assert_eq!(parse(b"\x1b\0\0"), Ok(Command::SetOption { multi_statements: true }));
        assert_eq!(parse(b"\x1b\x05\0"), Ok(Command::Unknown(0x1b)));
        assert_eq!(parse(b"\xee"), Ok(Command::Unknown(0xee)));
        assert!(!parse(b"\x19\x01\0\0\0").unwrap().is_answered());
    }

    proptest! {
        #[test]
        fn any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Command::parse(&bytes).map(|command| command.name());
        }
    }
}
