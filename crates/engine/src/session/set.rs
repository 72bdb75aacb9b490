//! SET in all its forms.
//!
//! MySQL manual, "SET Syntax for Variable Assignment". All values are evaluated and checked before any is assigned.

use super::Session;
use parser::ast::{self, SetItem, SetValue, VarScope};
use std::sync::atomic::Ordering;
use types::{Error, Result, SqlType, Value, WarningLevel};
use variables::{self, NULL_TEXT, Scope, VarDef, defs, meaning};

/// A session has the values that were global when it began.
const READ_BY_SESSIONS: [&str; 2] = ["max_allowed_packet", "net_buffer_length"];

/// A checked assignment.
enum Assignment {
    User(Box<str>, Value, SqlType),
    Global(&'static VarDef, Box<str>),
    Session(&'static VarDef, Box<str>),
    Transaction { global: bool, isolation: Option<&'static str>, read_only: Option<bool>, next_only: bool },
    Password,
}

impl Session {
    pub(super) fn set(&mut self, items: &[SetItem]) -> Result<()> {
        let mut assignments = Vec::new();
        for item in items {
            self.check_set(item, &mut assignments)?;
        }
        for a in assignments {
            self.assign(a)?;
        }
        Ok(())
    }

    fn check_set(&mut self, item: &SetItem, out: &mut Vec<Assignment>) -> Result<()> {
        match item {
            SetItem::UserVar { name, value } => {
                let (v, ty) = self.eval_scalar(value)?;
                out.push(Assignment::User(name.as_str().into(), v, ty));
            }
            SetItem::Var { component: Some(c), name, .. } => {
                return Err(Error::unknown_system_variable(format!("{}.{}", c.as_str(), name.as_str())));
            }
            SetItem::Var { scope, component: None, name, value } => self.check_variable(*scope, name, value, out)?,
            SetItem::Transaction { scope, isolation, read_only } => {
                let isolation = isolation.map(|i| match i {
                    ast::IsolationLevel::ReadUncommitted => "READ-UNCOMMITTED",
                    ast::IsolationLevel::ReadCommitted => "READ-COMMITTED",
                    ast::IsolationLevel::RepeatableRead => "REPEATABLE-READ",
                    ast::IsolationLevel::Serializable => "SERIALIZABLE",
                });
                out.push(Assignment::Transaction {
                    global: matches!(scope, Some(VarScope::Global)),
                    isolation,
                    read_only: *read_only,
                    next_only: scope.is_none(),
                });
            }
            SetItem::Names { charset, collation } => {
                let charset = charset.as_ref().map_or("utf8mb4", |c| c.as_str());
                let c = variables::charset::resolve(
                    Some(charset),
                    collation.as_ref().map(|c| c.as_str()),
                    Default::default(),
                )?;
                self.session_text(out, "character_set_client", meaning::charset_shown(charset));
                self.session_text(out, "character_set_connection", meaning::charset_shown(charset));
                let results =
                    if charset.eq_ignore_ascii_case("binary") { NULL_TEXT } else { meaning::charset_shown(charset) };
                self.session_text(out, "character_set_results", results);
                self.session_text(out, "collation_connection", c.name());
            }
            SetItem::Charset(charset) => {
                let charset = charset.as_ref().map_or("utf8mb4", |c| c.as_str());
                variables::charset::default_collation(charset)?;
                self.session_text(out, "character_set_client", meaning::charset_shown(charset));
                self.session_text(out, "character_set_results", meaning::charset_shown(charset));
                let (cs, co) = (
                    self.vars.text("character_set_database").to_string(),
                    self.vars.text("collation_database").to_string(),
                );
                self.session_text(out, "character_set_connection", &cs);
                self.session_text(out, "collation_connection", &co);
            }
            SetItem::Password { user, password, replace, retain } => {
                if *retain || replace.is_some() || password.is_none() {
                    return Err(Error::not_supported("SET PASSWORD ... REPLACE, RETAIN or TO RANDOM"));
                }
                let account = user.clone().unwrap_or(ast::Account::CurrentUser);
                self.set_password(&account, password.as_deref().expect("checked above"))?;
                out.push(Assignment::Password);
            }
            SetItem::ResourceGroup(_) => return Err(Error::not_supported("SET RESOURCE GROUP")),
        }
        Ok(())
    }

    fn session_text(&self, out: &mut Vec<Assignment>, name: &str, text: &str) {
        out.push(Assignment::Session(variables::find(name).expect("defined"), text.into()));
    }

    fn check_variable(
        &mut self,
        scope: Option<VarScope>,
        name: &str,
        value: &SetValue,
        out: &mut Vec<Assignment>,
    ) -> Result<()> {
        let def = variables::require(name)?;
        let global = match scope {
            Some(VarScope::Global) => true,
            Some(VarScope::Persist | VarScope::PersistOnly) => return Err(Error::not_supported("SET PERSIST")),
            Some(VarScope::Session) | None => false,
        };
        if def.effect == defs::Effect::ReadOnly {
            return Err(Error::incorrect_global_local_var(def.name, "read only"));
        }
        if global && def.scope == Scope::Session {
            return Err(Error::local_variable(def.name));
        }
        if !global && READ_BY_SESSIONS.contains(&def.name) {
            return Err(Error::variable_is_readonly("SESSION", def.name, "SET GLOBAL"));
        }
        if !global && def.scope == Scope::Global {
            return Err(Error::global_variable(def.name));
        }
        let text: Box<str> = match value {
            SetValue::Default if global => def.default.into(),
            SetValue::Default if def.scope == Scope::Session => def.default.into(),
            SetValue::Default => self.db.variables().get(def),
            SetValue::Expr(e) => {
                let v = self.set_operand(e)?;
                let (text, clamped) = variables::normalize(def, &v)?;
                if clamped {
                    let shown = crate::rows::display(&v);
                    self.warn(Error::truncated_wrong_value(def.name, shown).into_warning(WarningLevel::Warning));
                }
                text
            }
        };
        let text = self.check_meaning(def, text, global)?;
        let followers = meaning::followers(def.name, &text)?;
        for (def, text) in followers.into_iter().chain([(def, text)]) {
            out.push(if global { Assignment::Global(def, text) } else { Assignment::Session(def, text) });
        }
        Ok(())
    }

    /// The value of `SET x = operand`; a bare name is a string.
    fn set_operand(&mut self, e: &ast::Expr) -> Result<Value> {
        if let ast::ExprKind::Column(c) = &e.kind
            && c.table.is_none()
        {
            return Ok(Value::str(&c.name));
        }
        Ok(self.eval_scalar(e)?.0)
    }

    /// Checks that only the variable's own meaning can make; may rewrite the text.
    pub(super) fn check_meaning(&self, def: &VarDef, text: Box<str>, global: bool) -> Result<Box<str>> {
        let now = if global { self.db.variables().get(def) } else { self.vars.get(def).unwrap_or_default().into() };
        let text = meaning::check(def, text, &now)?;
        if global {
            self.db.logs().check_log_file(def.name, &text)?;
        }
        Ok(text)
    }

    fn assign(&mut self, a: Assignment) -> Result<()> {
        match a {
            Assignment::User(name, value, ty) => self.user_vars.set(&name, value, ty)?,
            Assignment::Global(def, text) => {
                self.db.logs().prepare_log(def.name, &text)?;
                self.db.variables().set(def, text);
                self.db.apply_variable(def.name);
            }
            Assignment::Session(def, text) => {
                match def.name {
                    "autocommit" => self.set_autocommit(&*text == "ON")?,
                    "sql_mode" => self.sql_mode = variables::parse_sql_mode(&text),
                    "last_insert_id" => self.last_insert_id = text.parse().unwrap_or(0),
                    "insert_id" => self.insert_id.store(text.parse().unwrap_or(0), Ordering::Relaxed),
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
