//! SET in all its forms.

use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

impl<'a> Parser<'a> {
    pub(super) fn set_statement(&mut self) -> Result<Statement> {
        self.bump();
        if self.at_word("ROLE") && !matches!(self.peek(), Tok::Eq | Tok::Assign) {
            self.bump();
            return self.set_role();
        }
        if self.at_kw(Kw::DEFAULT) {
            self.bump();
            self.expect_word("ROLE")?;
            let roles = self.default_roles()?;
            self.expect_kw(Kw::TO)?;
            return Ok(Statement::SetDefaultRole { roles, users: self.comma_list(Self::account)? });
        }
        if self.eat_words("RESOURCE GROUP") {
            return Ok(Statement::Set(vec![SetItem::ResourceGroup(self.ident()?)]));
        }
        if self.at_word("PASSWORD") && !self.peek2_is_variable() {
            return Ok(Statement::Set(vec![self.set_password()?]));
        }
        Ok(Statement::Set(self.comma_list(Self::set_item)?))
    }

    /// `PASSWORD.x` would be a component's variable.
    fn peek2_is_variable(&self) -> bool {
        self.peek() == Tok::Dot
    }

    fn set_item(&mut self) -> Result<SetItem> {
        match self.kind() {
            Tok::AtName => {
                let name = self.user_var()?;
                self.assign_sign()?;
                return Ok(SetItem::UserVar { name, value: self.expr()? });
            }
            Tok::AtAt => {
                self.bump();
                let scope = if self.peek() == Tok::Dot { self.scope_word() } else { None };
                if scope.is_some() {
                    self.bump();
                    self.expect(Tok::Dot)?;
                }
                // `@@x` is the session's.
                return self.set_var(scope.or(Some(VarScope::Session)));
            }
            _ => {}
        }
        let scope = match self.peek() {
            Tok::Eq | Tok::Assign | Tok::Dot => None,
            _ => self.scope_word(),
        };
        if scope.is_some() {
            self.bump();
        }
        if self.at_words("TRANSACTION ISOLATION") || self.at_words("TRANSACTION READ") {
            self.bump();
            return self.set_transaction(scope);
        }
        if scope.is_none() {
            if self.at_word("NAMES") && !matches!(self.peek(), Tok::Eq | Tok::Assign | Tok::Dot) {
                self.bump();
                if self.eat_kw(Kw::DEFAULT) {
                    return Ok(SetItem::Names { charset: None, collation: None });
                }
                let charset = Some(self.charset_name()?);
                let collation = if self.eat_kw(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
                return Ok(SetItem::Names { charset, collation });
            }
            if self.eat_charset_words() {
                let default = self.eat_kw(Kw::DEFAULT);
                return Ok(SetItem::Charset(if default { None } else { Some(self.charset_name()?) }));
            }
        }
        self.set_var(scope)
    }

    /// `[component.]name = value`
    fn set_var(&mut self, scope: Option<VarScope>) -> Result<SetItem> {
        let first = if self.at_kw(Kw::DEFAULT) && self.peek() == Tok::Dot { self.any_word()? } else { self.ident()? };
        let (component, name) = if self.eat(Tok::Dot) { (Some(first), self.any_word()?) } else { (None, first) };
        self.assign_sign()?;
        Ok(SetItem::Var { scope, component, name, value: self.set_value()? })
    }

    fn assign_sign(&mut self) -> Result<()> {
        if self.eat(Tok::Eq) { Ok(()) } else { self.expect(Tok::Assign).map(|_| ()) }
    }

    fn set_value(&mut self) -> Result<SetValue> {
        let alone = matches!(self.peek(), Tok::Comma | Tok::Semicolon | Tok::Eof);
        match self.kind() {
            Tok::Kw(Kw::DEFAULT) if alone => {
                self.bump();
                Ok(SetValue::Default)
            }
            // Reserved words that are values of variables.
            Tok::Kw(kw @ (Kw::ON | Kw::ALL | Kw::BINARY | Kw::ROW | Kw::SYSTEM)) if alone => {
                let token = self.bump();
                let word = ExprKind::Literal(Literal::Str(kw.text().as_bytes().into()));
                Ok(SetValue::Expr(Expr::new(word, Span::new(token.start, token.end))))
            }
            _ => Ok(SetValue::Expr(self.expr()?)),
        }
    }

    /// After TRANSACTION.
    fn set_transaction(&mut self, scope: Option<VarScope>) -> Result<SetItem> {
        let (mut isolation, mut read_only) = (None, None);
        loop {
            if isolation.is_none() && self.eat_words("ISOLATION LEVEL") {
                isolation = Some(if self.eat_words("READ UNCOMMITTED") {
                    IsolationLevel::ReadUncommitted
                } else if self.eat_words("READ COMMITTED") {
                    IsolationLevel::ReadCommitted
                } else if self.eat_words("REPEATABLE READ") {
                    IsolationLevel::RepeatableRead
                } else {
                    self.expect_word("SERIALIZABLE")?;
                    IsolationLevel::Serializable
                });
            } else if read_only.is_none() && self.eat_words("READ ONLY") {
                read_only = Some(true);
            } else if read_only.is_none() && self.eat_words("READ WRITE") {
                read_only = Some(false);
            } else {
                return Err(self.error());
            }
            if !self.eat(Tok::Comma) {
                return Ok(SetItem::Transaction { scope, isolation, read_only });
            }
        }
    }

    fn set_password(&mut self) -> Result<SetItem> {
        self.bump();
        let user = if self.eat_kw(Kw::FOR) { Some(self.account()?) } else { None };
        let password = if self.eat_words("TO RANDOM") {
            None
        } else {
            self.assign_sign()?;
            Some(self.string_utf8()?)
        };
        let replace = if self.eat_kw(Kw::REPLACE) { Some(self.string_utf8()?) } else { None };
        let retain = self.eat_words("RETAIN CURRENT PASSWORD");
        Ok(SetItem::Password { user, password, replace, retain })
    }

    fn set_role(&mut self) -> Result<Statement> {
        let role = if self.eat_kw(Kw::DEFAULT) {
            SetRole::Default
        } else if self.eat_word("NONE") {
            SetRole::None
        } else if self.eat_kw(Kw::ALL) {
            if self.eat_kw(Kw::EXCEPT) { SetRole::AllExcept(self.comma_list(Self::account)?) } else { SetRole::All }
        } else {
            SetRole::Roles(self.comma_list(Self::account)?)
        };
        Ok(Statement::SetRole(role))
    }
}
