//! Capability flags, agreed on in the handshake, and status flags, sent with every answer.

use std::ops::{BitAnd, BitOr, BitOrAssign};

macro_rules! flags {
    ($(#[$doc:meta])* $name:ident: $int:ty { $($(#[$flag_doc:meta])* $flag:ident = $bit:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[$flag_doc])* pub const $flag: $name = $name(1 << $bit);)*

            /// All flags of `other` are set.
            pub const fn has(self, other: $name) -> bool {
                self.0 & other.0 == other.0
            }

            pub const fn with(self, other: $name) -> $name {
                $name(self.0 | other.0)
            }

            pub const fn without(self, other: $name) -> $name {
                $name(self.0 & !other.0)
            }
        }

        impl BitOr for $name {
            type Output = $name;
            fn bitor(self, other: $name) -> $name {
                self.with(other)
            }
        }

        impl BitOrAssign for $name {
            fn bitor_assign(&mut self, other: $name) {
                *self = self.with(other);
            }
        }

        impl BitAnd for $name {
            type Output = $name;
            fn bitand(self, other: $name) -> $name {
                $name(self.0 & other.0)
            }
        }
    };
}

flags! {
    /// `CLIENT_...`: what both sides can do.
    Capabilities: u32 {
        LONG_PASSWORD = 0;
        /// Affected rows of an UPDATE are the rows found, not the rows changed.
        FOUND_ROWS = 1;
        LONG_FLAG = 2;
        CONNECT_WITH_DB = 3;
        NO_SCHEMA = 4;
        COMPRESS = 5;
        ODBC = 6;
        LOCAL_FILES = 7;
        IGNORE_SPACE = 8;
        PROTOCOL_41 = 9;
        /// Idle connections are closed after interactive_timeout rather than wait_timeout.
        INTERACTIVE = 10;
        SSL = 11;
        IGNORE_SIGPIPE = 12;
        TRANSACTIONS = 13;
        RESERVED = 14;
        SECURE_CONNECTION = 15;
        MULTI_STATEMENTS = 16;
        MULTI_RESULTS = 17;
        PS_MULTI_RESULTS = 18;
        PLUGIN_AUTH = 19;
        CONNECT_ATTRS = 20;
        PLUGIN_AUTH_LENENC = 21;
        CAN_HANDLE_EXPIRED_PASSWORDS = 22;
        SESSION_TRACK = 23;
        DEPRECATE_EOF = 24;
        OPTIONAL_RESULTSET_METADATA = 25;
        ZSTD = 26;
        QUERY_ATTRIBUTES = 27;
    }
}

impl Capabilities {
    /// What a server offers when it has neither a certificate nor compression; those two are the server's to add.
    pub const SERVER: Capabilities = Capabilities(
        Self::LONG_PASSWORD.0
            | Self::FOUND_ROWS.0
            | Self::LONG_FLAG.0
            | Self::CONNECT_WITH_DB.0
            | Self::NO_SCHEMA.0
            | Self::ODBC.0
            | Self::LOCAL_FILES.0
            | Self::IGNORE_SPACE.0
            | Self::PROTOCOL_41.0
            | Self::INTERACTIVE.0
            | Self::IGNORE_SIGPIPE.0
            | Self::TRANSACTIONS.0
            | Self::RESERVED.0
            | Self::SECURE_CONNECTION.0
            | Self::MULTI_STATEMENTS.0
            | Self::MULTI_RESULTS.0
            | Self::PS_MULTI_RESULTS.0
            | Self::PLUGIN_AUTH.0
            | Self::CONNECT_ATTRS.0
            | Self::PLUGIN_AUTH_LENENC.0
            | Self::SESSION_TRACK.0
            | Self::DEPRECATE_EOF.0,
    );
}

flags! {
    /// `SERVER_...`: the session's state after a statement.
    StatusFlags: u16 {
        IN_TRANSACTION = 0;
        AUTOCOMMIT = 1;
        MORE_RESULTS = 3;
        NO_GOOD_INDEX_USED = 4;
        NO_INDEX_USED = 5;
        CURSOR_EXISTS = 6;
        LAST_ROW_SENT = 7;
        DATABASE_DROPPED = 8;
        NO_BACKSLASH_ESCAPES = 9;
        METADATA_CHANGED = 10;
        QUERY_WAS_SLOW = 11;
        PS_OUT_PARAMS = 12;
        IN_READONLY_TRANSACTION = 13;
        SESSION_STATE_CHANGED = 14;
    }
}
