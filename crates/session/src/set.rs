//! Variables get values that were checked.
//!
//! MySQL manual, "SET Syntax for Variable Assignment". All values are evaluated and checked before any is assigned.

use crate::Frame;
use types::{Error, Result, SqlType, Value};
use variables::{VarDef, meaning};

/// A checked assignment.
pub enum Assignment {
    User(Box<str>, Value, SqlType),
    Global(&'static VarDef, Box<str>),
    Session(&'static VarDef, Box<str>),
    Transaction { global: bool, isolation: Option<&'static str>, read_only: Option<bool>, next_only: bool },
    Password,
}

impl Frame<'_> {
    /// Checks that only the variable's own meaning can make; may rewrite the text.
    pub fn check_meaning(&self, def: &VarDef, text: Box<str>, global: bool) -> Result<Box<str>> {
        let now = if global { self.db.variables().get(def) } else { self.vars.get(def).unwrap_or_default().into() };
        let text = meaning::check(def, text, &now)?;
        if global {
            self.db.logs().check_log_file(def.name, &text)?;
        }
        Ok(text)
    }

    /// Makes it so.
    pub fn assign(&mut self, a: Assignment) -> Result<()> {
        match a {
            Assignment::User(name, value, ty) => self.user_vars.set(&name, value, ty)?,
            Assignment::Global(def, text) => {
                self.db.logs().prepare_log(def.name, &text)?;
                self.db.variables().set(def, text);
                self.db.apply_variable(def.name);
            }
            Assignment::Session(def, text) => {
                match def.name {
                    "autocommit" => self.session.set_autocommit(&*text == "ON")?,
                    "sql_mode" => {
                        self.mode = variables::parse_sql_mode(&text);
                        self.sql_mode = self.mode;
                    }
                    "last_insert_id" => self.last_insert_id = text.parse().unwrap_or(0),
                    "insert_id" => *self.insert_id.get_mut() = text.parse().unwrap_or(0),
                    _ => {}
                }
                self.vars.set(def, text);
                self.trace_variable_set(def.name);
            }
            Assignment::Transaction { global, isolation, read_only, next_only } => {
                if next_only {
                    if self.txn.as_ref().is_some_and(|t| t.is_explicit()) {
                        return Err(Error::cant_change_tx_characteristics());
                    }
                    let isolation = isolation.map(variables::Isolation::from_text);
                    self.next_txn.isolation = isolation.or(self.next_txn.isolation);
                    self.next_txn.read_only = read_only.or(self.next_txn.read_only);
                    return Ok(());
                }
                let read_only = read_only.map(|r| if r { "ON" } else { "OFF" });
                let named = [
                    ("transaction_isolation", isolation),
                    ("tx_isolation", isolation),
                    ("transaction_read_only", read_only),
                    ("tx_read_only", read_only),
                ];
                for (name, text) in named {
                    let Some(text) = text else { continue };
                    let def = variables::find(name).expect("defined");
                    if global { self.db.variables().set(def, text.into()) } else { self.vars.set(def, text.into()) }
                }
            }
            Assignment::Password => {}
        }
        Ok(())
    }
}
