//! The record of a function: all that is known of it, in one place.
//!
//! ```text
//!   LPAD = new(&["LPAD"], 3, 3, "sps", By(padded), lpad).nulls(Maybe).may_warn().expands();
//!   |          names      |     |      |           |     what else is to be known
//!   |                     |     |      |           the kernel, bound when the expression is compiled
//!   |                     |     |      the rule for the type of the result
//!   the word for code     |     to what each argument is converted
//!                         the least and the greatest number of arguments
//! ```
//!
//! The letters of the arguments, one an argument, the last repeated for further arguments:
//!
//! ```text
//! s  a string (numbers and temporal values are printed)     e  DATE or DATETIME (TIMESTAMP in the session's time
//! zone) i  BIGINT                                                 T  TIME
//! p  BIGINT, UNSIGNED beyond it as its greatest value
//! u  BIGINT UNSIGNED                                        *  as it is
//! d  DOUBLE                                                 c  the common type of all `c` arguments
//! n  a number (strings become DOUBLE)
//!
//! m  DATE, DATETIME, TIME or a string, and
//! t  TIME: the record's own conversion makes it so
//! ```

use super::eval::Call;
use super::rules::Arguments;
use crate::eval::{Cx, Node};
use crate::{Expr, SessionInfo};
use types::{Collation, Locale, Result, SqlType};
use vector::{Chunk, Selection, Vector};

/// As many arguments as one likes.
pub(super) const MANY: usize = usize::MAX;

/// From vectors of arguments to a chunk of results.
pub(crate) type Kernel = fn(&Call) -> Result<Chunk>;

/// Evaluates the arguments of a node itself.
pub(crate) type NodeKernel = fn(&Node, &Cx, &Selection) -> Result<Vector>;

/// Converts and checks arguments; with `collation_connection`.
pub(crate) type Convert = fn(&mut [Expr], Collation) -> Result<()>;

/// Builds other expressions, or prepares the arguments.
pub(crate) type Build = fn(Vec<Expr>, &SessionInfo) -> Result<Instead>;

/// The type of the result.
#[derive(Clone, Copy)]
pub(crate) enum Ret {
    Int,
    UInt,
    Bool,
    Double,
    /// VARCHAR(n) in the connection's collation.
    Text(u32),
    /// VARCHAR in the connection's collation, as long as the longest such word of the session's locale.
    Word(fn(&Locale) -> u32),
    /// A string in the collation of the string arguments, as long as their sum.
    Joined,
    /// A string like the first argument.
    First,
    /// Unbounded length, in the collation of the string arguments.
    Long,
    /// VARBINARY(n)
    Bytes(u32),
    Date,
    /// TIME or DATETIME with the fractional digits of the first argument (a constant).
    NowTime,
    NowDateTime,
    /// The common type of the `c` arguments.
    Common,
    /// By a rule of its own.
    By(fn(&Arguments) -> Result<SqlType>),
    /// Decided where it is built.
    Built,
}

/// When the result is NULL, and who sees to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// If any argument is; the kernel sees no such row.
    Strict,
    /// As before, and perhaps for other arguments.
    Maybe,
    /// Never; the kernel sees NULLs.
    Seen,
    /// The kernel sees NULLs and may answer NULL.
    SeenMaybe,
    /// If the first argument is; the kernel sees NULLs.
    First,
    /// If all arguments are; the kernel sees NULLs.
    All,
}

impl Nulls {
    /// The kernel sees rows in which an argument is NULL.
    pub fn seen(self) -> bool {
        !matches!(self, Nulls::Strict | Nulls::Maybe)
    }

    /// Whether a call of these arguments may be NULL.
    pub fn of(self, args: &[Expr]) -> bool {
        match self {
            Nulls::Strict => args.iter().any(|a| a.nullable),
            Nulls::Maybe | Nulls::SeenMaybe => true,
            Nulls::Seen => false,
            Nulls::First => args.first().is_none_or(|a| a.nullable),
            Nulls::All => args.iter().all(|a| a.nullable),
        }
    }
}

/// How long a call of constants has one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Always.
    Deterministic,
    /// While the statement runs: NOW(), DATABASE().
    Statement,
    /// Not even from row to row: RAND(), UUID(), SLEEP().
    Row,
}

/// What a function reads that is no argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    Nothing,
    Clock,
    TimeZone,
    /// Account, default schema, connection, server.
    Identity,
    /// What earlier statements of the session left: LAST_INSERT_ID(), FOUND_ROWS().
    Diagnostics,
}

/// Where the text of the result stands among collations (see [`crate::build::coercibility`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    /// With the argument that it has its collation of.
    Operand,
    /// Named by the statement.
    Explicit,
    /// A constant of the system.
    System,
    /// None of the arguments' text: digits, names, digests, bytes.
    Made,
}

/// What stands for a call, or the arguments to go on with.
pub(crate) enum Instead {
    Done(Expr),
    Call(Vec<Expr>),
}

/// How a call is evaluated.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    Kernel(Kernel),
    /// One kernel or another, by the types of the arguments and of the result.
    ByType(fn(&[SqlType], &SqlType) -> Kernel),
    /// Evaluates its arguments itself.
    Node(NodeKernel),
    /// Never: other expressions stand for it.
    Never,
}

/// A function's record. Those that statements can name are found by [`super::find`].
pub struct Record {
    pub(crate) word: &'static str,
    pub(crate) names: &'static [&'static str],
    pub(crate) args_min: usize,
    pub(crate) args_max: usize,
    /// One letter an argument.
    pub(crate) args: &'static str,
    pub(crate) ret: Ret,
    pub(crate) nulls: Nulls,
    pub(crate) volatility: Volatility,
    pub(crate) reads: Reads,
    pub(crate) strength: Strength,
    /// May warn or fail: evaluated at selected rows only.
    pub(crate) may_warn: bool,
    /// Runs row by row, in order, on one thread.
    pub(crate) serial: bool,
    /// The result may be far longer than the arguments.
    pub(crate) expands: bool,
    /// String arguments keep their collations: it neither joins nor compares them.
    pub(crate) keeps_collations: bool,
    /// About how many values it has over rows of a table, where that does not follow from its arguments.
    pub(crate) value_count: Option<f64>,
    /// Stays a node even of constants: more counts than its value.
    pub(crate) is_kept: bool,
    /// Conversions that depend on more than the argument's place, and checks of the converted arguments.
    pub(crate) convert: Option<Convert>,
    pub(crate) instead: Option<Build>,
    pub(crate) body: Body,
    pub(crate) origin: Origin,
}

/// Where calls of a function come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// `name(args)`: found by name.
    Name,
    /// A construct of the grammar: `EXTRACT(unit FROM x)`.
    Grammar,
    /// The builder alone makes them.
    Builder,
}

/// A record of a function with a kernel.
pub(super) const fn new(
    names: &'static [&'static str],
    args_min: usize,
    args_max: usize,
    args: &'static str,
    ret: Ret,
    kernel: Kernel,
) -> Record {
    Record {
        word: "",
        names,
        args_min,
        args_max,
        args,
        ret,
        nulls: Nulls::Strict,
        volatility: Volatility::Deterministic,
        reads: Reads::Nothing,
        strength: Strength::Operand,
        may_warn: false,
        serial: false,
        expands: false,
        keeps_collations: false,
        value_count: None,
        is_kept: false,
        convert: None,
        instead: None,
        body: Body::Kernel(kernel),
        origin: Origin::Name,
    }
}

/// A record of a function for which other expressions stand.
pub(super) const fn built(names: &'static [&'static str], args_min: usize, args_max: usize, instead: Build) -> Record {
    let record = new(names, args_min, args_max, "*", Ret::Built, never);
    Record { body: Body::Never, instead: Some(instead), ..record }
}

/// Of functions that are evaluated otherwise, or never.
pub(super) fn never(call: &Call) -> Result<Chunk> {
    Err(types::Error::internal(format_args!("{} has no kernel", call.function.name())))
}

impl Record {
    pub(super) const fn nulls(self, nulls: Nulls) -> Record {
        Record { nulls, ..self }
    }

    pub(super) const fn may_warn(self) -> Record {
        Record { may_warn: true, ..self }
    }

    /// Reads the session or the clock: constant within a statement only.
    pub(super) const fn reads(self, reads: Reads) -> Record {
        let volatility = match self.volatility {
            Volatility::Row => Volatility::Row,
            _ => Volatility::Statement,
        };
        Record { reads, volatility, ..self }
    }

    /// Differs from call to call: never folded, evaluated once a row.
    pub(super) const fn each_row(self) -> Record {
        Record { volatility: Volatility::Row, ..self }
    }

    pub(super) const fn serial(self) -> Record {
        Record { serial: true, ..self }
    }

    pub(super) const fn expands(self) -> Record {
        Record { expands: true, ..self }
    }

    pub(super) const fn makes_text(self) -> Record {
        Record { strength: Strength::Made, ..self }
    }

    pub(super) const fn strength(self, strength: Strength) -> Record {
        Record { strength, ..self }
    }

    pub(super) const fn keeps_collations(self) -> Record {
        Record { keeps_collations: true, ..self }
    }

    pub(super) const fn values(self, value_count: f64) -> Record {
        Record { value_count: Some(value_count), ..self }
    }

    pub(super) const fn kept(self) -> Record {
        Record { is_kept: true, ..self }
    }

    pub(super) const fn converts(self, convert: Convert) -> Record {
        Record { convert: Some(convert), ..self }
    }

    pub(super) const fn instead(self, instead: Build) -> Record {
        Record { instead: Some(instead), ..self }
    }

    pub(super) const fn body(self, body: Body) -> Record {
        Record { body, ..self }
    }

    pub(super) const fn origin(self, origin: Origin) -> Record {
        Record { origin, ..self }
    }

    /// Under that word in code, and in plans as tests print them.
    pub(super) const fn under(self, word: &'static str) -> Record {
        Record { word, ..self }
    }

    /// Its names, in upper case; the first is what messages say.
    pub fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// How long a call of constants has one value.
    pub fn lasts(&self) -> Volatility {
        self.volatility
    }

    /// What it reads that is no argument.
    pub fn source(&self) -> Reads {
        self.reads
    }

    /// Whether generated columns, CHECK constraints, keys and defaults may be made of it: what it yields stays.
    pub fn may_be_kept(&self) -> bool {
        self.volatility == Volatility::Deterministic
    }

    /// Runs row by row, in order, on one thread.
    pub fn is_serial(&self) -> bool {
        self.serial
    }

    /// The result may be far longer than the arguments.
    pub fn is_expanding(&self) -> bool {
        self.expands
    }

    /// The kernel for arguments of these types.
    pub(crate) fn bind(&self, args: &[SqlType], ret: &SqlType) -> Bound {
        match self.body {
            Body::Kernel(k) => Bound::Kernel(k),
            Body::ByType(choose) => Bound::Kernel(choose(args, ret)),
            Body::Node(f) => Bound::Node(f),
            Body::Never => Bound::Kernel(never),
        }
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word)
    }
}

/// How the calls of one expression are evaluated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    Kernel(Kernel),
    Node(NodeKernel),
}

/// Defines the records of a family, each under its word, and the list of them.
macro_rules! records {
    ($($(#[$meta:meta])* $word:ident = $record:expr;)*) => {
        $($(#[$meta])* pub(crate) static $word: $crate::functions::record::Record = $record.under(stringify!($word));)*

        /// The records of this family.
        pub(in crate::functions) static RECORDS: &[&$crate::functions::record::Record] = &[$(&$word),*];
    };
}
pub(super) use records;
