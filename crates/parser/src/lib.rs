//! The MySQL dialect: text in, tree out. No catalog, no types of columns, no evaluation.
//!
//! ```text
//! bytes --lexer--> tokens --grammar (recursive descent, Pratt for operators)--> ast::Statement
//! ```
//!
//! The meaning of every construct is MySQL 8.4's ("SQL Statements" and "Language Structure" in its manual).
//!
//! Invariants:
//! 1. No input panics or exhausts the stack: nesting is counted and bounded.
//! 2. A tree holds everything the text said. What the grammar knows but the AST does not is refused by name (error
//!    1235), never dropped.
//! 3. Nothing here looks at a catalog: names stay names.

pub mod ast;
