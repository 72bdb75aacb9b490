//! transaction_isolation: the levels of isolation. What each sees, transactions decide.

/// A level of isolation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    #[default]
    RepeatableRead,
    Serializable,
}

impl Isolation {
    /// Whether what a statement looked at stays locked until its transaction ends, also where it changed nothing.
    pub fn keeps_what_was_looked_at(self) -> bool {
        matches!(self, Isolation::RepeatableRead | Isolation::Serializable)
    }

    /// The value of `transaction_isolation`.
    pub fn from_text(text: &str) -> Isolation {
        match text {
            "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
            "READ-COMMITTED" => Isolation::ReadCommitted,
            "SERIALIZABLE" => Isolation::Serializable,
            _ => Isolation::RepeatableRead,
        }
    }

    /// As information_schema.INNODB_TRX has it.
    pub fn spaced(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "READ UNCOMMITTED",
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE READ",
            Isolation::Serializable => "SERIALIZABLE",
        }
    }
}
