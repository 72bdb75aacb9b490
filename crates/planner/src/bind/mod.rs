//! The binder: names, types and collations of a statement.
