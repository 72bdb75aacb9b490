//! What of a session's sql_mode the grammar depends on.

/// The parts of sql_mode that change how text is read. The default is MySQL's default mode: all off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ParseOptions {
    /// `"x"` is an identifier.
    pub ansi_quotes: bool,
    /// `||` concatenates.
    pub pipes_as_concat: bool,
    /// A backslash in a string is an ordinary character.
    pub no_backslash_escapes: bool,
    /// NOT binds as tightly as `!`.
    pub high_not_precedence: bool,
    /// White space may stand between the name of a built-in function and its parenthesis.
    pub ignore_space: bool,
    /// REAL is FLOAT.
    pub real_as_float: bool,
}
