//! SET in all its forms.
//!
//! MySQL manual, "SET Syntax for Variable Assignment". All values are evaluated and checked before any is assigned.

use super::Execution;
use parser::ast::{self, SetItem, SetValue, VarScope};
use session::set::Assignment;
use types::{Error, Result, Value, WarningLevel};
use variables::{self, NULL_TEXT, Scope, defs, meaning};

/// A session has the values that were global when it began.
const READ_BY_SESSIONS: [&str; 2] = ["max_allowed_packet", "net_buffer_length"];

impl Execution<'_> {
    pub(crate) fn set(&mut self, items: &[SetItem]) -> Result<()> {
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
                    self.vars().text("character_set_database").to_string(),
                    self.vars().text("collation_database").to_string(),
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
            SetValue::Default => self.db().variables().get(def),
            SetValue::Expr(e) => {
                let v = self.set_operand(e)?;
                let (text, clamped) = variables::normalize(def, &v)?;
                if clamped {
                    let shown = session::rows::display(&v);
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
}
