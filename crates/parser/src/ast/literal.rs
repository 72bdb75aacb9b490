//! Literals and system variables.

use super::Ident;
use std::fmt;

/// A constant as written. Signs are [`super::UnaryOp::Neg`].
#[derive(Clone, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    /// Integers that fit; larger ones are `Decimal`
    Int(u64),
    /// Digits with at most one point, e.g. `1.50`, `.5`, or an integer beyond u64
    Decimal(Box<str>),
    /// Has an exponent
    Float(f64),
    /// `'..'` in the connection's character set; escapes resolved, adjacent literals joined. `\%` and `\_` keep their
    /// backslash (MySQL manual, "String Literals").
    Str(Box<[u8]>),
    /// `N'..'` (charset `utf8mb3`) or `_charset'..'`, `_charset x'..'`, `_charset b'..'`
    Introduced(Box<Introduced>),
    /// `x'..'` and `0x..`: a binary string, or an unsigned integer in numeric contexts
    Hex(Box<[u8]>),
    /// `b'..'` and `0b..`: likewise
    Bit(Box<[u8]>),
    /// `DATE '..'`, `{d '..'}` and so on
    Temporal(TemporalKind, Box<str>),
}

impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Bool(b) => write!(f, "{b}"),
            Literal::Int(v) => write!(f, "{v}"),
            Literal::Decimal(s) => write!(f, "dec {s}"),
            Literal::Float(v) => write!(f, "{v:?}"),
            Literal::Str(s) => write!(f, "{:?}", String::from_utf8_lossy(s)),
            Literal::Introduced(i) => write!(f, "_{:?} {:?}", i.charset, i.value.escape_ascii().to_string()),
            Literal::Hex(b) => write!(f, "x'{}'", b.escape_ascii()),
            Literal::Bit(b) => write!(f, "b'{}'", b.escape_ascii()),
            Literal::Temporal(k, s) => write!(f, "{k:?} {s:?}"),
        }
    }
}

/// A literal with a character set introducer.
#[derive(Clone, Debug, PartialEq)]
pub struct Introduced {
    /// lower case, without the underscore
    pub charset: Ident,
    /// bytes in that character set
    pub value: Box<[u8]>,
    pub form: IntroducedForm,
}

/// How an introduced literal was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntroducedForm {
    /// `_cs'..'`
    Str,
    /// `N'..'`
    National,
    /// `_cs x'..'`, `_cs 0x..`
    Hex,
    /// `_cs b'..'`
    Bit,
}

/// DATE, TIME or TIMESTAMP/DATETIME.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TemporalKind {
    Date,
    Time,
    DateTime,
}

/// `@@[scope.][component.]name`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SysVar {
    pub scope: Option<VarScope>,
    /// of `component.name` (key caches, components)
    pub component: Option<Ident>,
    pub name: Ident,
}

/// Where a system variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VarScope {
    Global,
    /// also LOCAL
    Session,
    Persist,
    PersistOnly,
}
