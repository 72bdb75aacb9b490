//! Users, roles and privileges.

use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::{Error, Result};

/// What stands between GRANT or REVOKE and ON, TO or FROM: a role, or words.
enum GrantItem {
    Role(Account),
    Words { words: String, columns: Vec<Ident> },
}

impl<'a> Parser<'a> {
    /// `user[@host]` or CURRENT_USER[()].
    pub(crate) fn account(&mut self) -> Result<Account> {
        if self.eat_kw(Kw::CURRENT_USER) {
            if self.eat(Tok::LParen) {
                self.expect(Tok::RParen)?;
            }
            return Ok(Account::CurrentUser);
        }
        let user = self.ident_or_string()?.0;
        let host = match self.kind() {
            Tok::AtName => {
                let token = self.bump();
                Some(self.at_name_value(token)?.0)
            }
            Tok::At => {
                self.bump();
                Some(self.ident_or_string()?.0)
            }
            _ => None,
        };
        Ok(Account::Named { user, host })
    }

    fn user_spec(&mut self) -> Result<UserSpec> {
        let account = self.account()?;
        let discard_old = self.eat_words("DISCARD OLD PASSWORD");
        let auth = if self.at_word("IDENTIFIED") { Some(self.auth_option()?) } else { None };
        if self.at_kw(Kw::AND) {
            return Err(Error::not_supported("multi-factor authentication"));
        }
        Ok(UserSpec { account, auth, discard_old })
    }

    fn auth_option(&mut self) -> Result<AuthOption> {
        self.bump();
        let mut auth = AuthOption { plugin: None, secret: AuthSecret::None, replace: None, retain: false };
        if self.eat_kw(Kw::WITH) {
            auth.plugin = Some(self.ident_or_string()?);
            if self.eat_kw(Kw::AS) {
                auth.secret = AuthSecret::Hash(self.bytes_literal()?);
            } else if self.eat_kw(Kw::BY) {
                auth.secret = self.password_secret()?;
            }
        } else {
            self.expect_kw(Kw::BY)?;
            auth.secret = self.password_secret()?;
        }
        if self.eat_kw(Kw::REPLACE) {
            auth.replace = Some(self.string_utf8()?);
        }
        auth.retain = self.eat_words("RETAIN CURRENT PASSWORD");
        Ok(auth)
    }

    fn password_secret(&mut self) -> Result<AuthSecret> {
        if self.eat_words("RANDOM PASSWORD") {
            return Ok(AuthSecret::Random);
        }
        Ok(AuthSecret::Password(self.string_utf8()?))
    }

    /// After CREATE USER.
    pub(super) fn create_user(&mut self) -> Result<Statement> {
        let if_not_exists = self.eat_if("NOT EXISTS")?;
        let users = self.comma_list(Self::user_spec)?;
        let default_roles = if self.eat_words("DEFAULT ROLE") { self.comma_list(Self::account)? } else { Vec::new() };
        let options = self.account_options()?;
        Ok(Statement::CreateUser(Box::new(CreateUser { if_not_exists, users, default_roles, options })))
    }

    /// After ALTER USER.
    pub(super) fn alter_user(&mut self) -> Result<Statement> {
        let if_exists = self.eat_if("EXISTS")?;
        let users = if self.at_word("USER") && self.peek() == Tok::LParen {
            // USER() is the current account.
            self.bump();
            self.bump();
            self.expect(Tok::RParen)?;
            let auth = if self.at_word("IDENTIFIED") { Some(self.auth_option()?) } else { None };
            let discard_old = self.eat_words("DISCARD OLD PASSWORD");
            vec![UserSpec { account: Account::CurrentUser, auth, discard_old }]
        } else {
            self.comma_list(Self::user_spec)?
        };
        let default_roles = if self.eat_words("DEFAULT ROLE") { Some(self.default_roles()?) } else { None };
        let options = self.account_options()?;
        Ok(Statement::AlterUser(Box::new(AlterUser { if_exists, users, default_roles, options })))
    }

    pub(super) fn default_roles(&mut self) -> Result<DefaultRoles> {
        Ok(if self.eat_word("NONE") {
            DefaultRoles::None
        } else if self.eat_kw(Kw::ALL) {
            DefaultRoles::All
        } else {
            DefaultRoles::Roles(self.comma_list(Self::account)?)
        })
    }

    fn account_options(&mut self) -> Result<AccountOptions> {
        let mut options = AccountOptions::default();
        if self.eat_kw(Kw::REQUIRE) {
            options.require = Some(self.tls_require()?);
        }
        if self.eat_kw(Kw::WITH) {
            while self.at(Tok::Ident) && self.at_resource_word() {
                let word = self.any_word()?.to_ascii_uppercase().into();
                options.resources.push((word, self.number()?));
            }
            if options.resources.is_empty() {
                return Err(self.error());
            }
        }
        loop {
            if self.eat_words("ACCOUNT LOCK") {
                options.locked = Some(true);
            } else if self.eat_words("ACCOUNT UNLOCK") {
                options.locked = Some(false);
            } else if let Some(option) = self.opt_password_option()? {
                options.password.push(option);
            } else {
                break;
            }
        }
        if self.eat_word("COMMENT") {
            options.comment = Some(self.string_utf8()?);
        } else if self.eat_word("ATTRIBUTE") {
            options.attribute = Some(self.string_utf8()?);
        }
        Ok(options)
    }

    fn at_resource_word(&self) -> bool {
        let words =
            ["MAX_QUERIES_PER_HOUR", "MAX_UPDATES_PER_HOUR", "MAX_CONNECTIONS_PER_HOUR", "MAX_USER_CONNECTIONS"];
        words.iter().any(|word| self.at_word(word))
    }

    fn tls_require(&mut self) -> Result<TlsRequire> {
        if self.eat_word("NONE") {
            return Ok(TlsRequire::None);
        }
        if self.eat_kw(Kw::SSL) {
            return Ok(TlsRequire::Ssl);
        }
        if self.eat_word("X509") {
            return Ok(TlsRequire::X509);
        }
        let mut details = Vec::new();
        while let Some(word) = ["SUBJECT", "ISSUER", "CIPHER"].iter().find(|word| self.at_word(word)) {
            self.bump();
            details.push(((*word).into(), self.string_utf8()?));
            self.eat_kw(Kw::AND);
        }
        if details.is_empty() { Err(self.error()) } else { Ok(TlsRequire::Details(details)) }
    }

    fn opt_password_option(&mut self) -> Result<Option<PasswordOption>> {
        Ok(Some(if self.eat_words("PASSWORD EXPIRE") {
            if self.eat_kw(Kw::DEFAULT) {
                PasswordOption::ExpireDefault
            } else if self.eat_word("NEVER") {
                PasswordOption::ExpireNever
            } else if self.eat_kw(Kw::INTERVAL) {
                let days = self.number()?;
                self.expect_kw(Kw::DAY)?;
                PasswordOption::ExpireDays(days)
            } else {
                PasswordOption::Expire
            }
        } else if self.eat_words("PASSWORD HISTORY") {
            PasswordOption::History(self.default_or_number()?)
        } else if self.eat_words("PASSWORD REUSE INTERVAL") {
            let days = self.default_or_number()?;
            if days.is_some() {
                self.expect_kw(Kw::DAY)?;
            }
            PasswordOption::ReuseDays(days)
        } else if self.eat_words("PASSWORD REQUIRE CURRENT") {
            PasswordOption::RequireCurrent(if self.eat_kw(Kw::DEFAULT) {
                None
            } else {
                Some(!self.eat_word("OPTIONAL"))
            })
        } else if self.eat_word("FAILED_LOGIN_ATTEMPTS") {
            PasswordOption::FailedLoginAttempts(self.number()?)
        } else if self.eat_word("PASSWORD_LOCK_TIME") {
            let unbounded = self.eat_word("UNBOUNDED");
            PasswordOption::LockTime(if unbounded { None } else { Some(self.number()?) })
        } else {
            return Ok(None);
        }))
    }

    fn default_or_number(&mut self) -> Result<Option<u64>> {
        if self.eat_kw(Kw::DEFAULT) { Ok(None) } else { self.number().map(Some) }
    }

    pub(super) fn grant(&mut self) -> Result<Statement> {
        self.bump();
        let what = self.grant_what(Kw::TO)?;
        self.expect_kw(Kw::TO)?;
        let to = self.comma_list(Self::user_spec)?;
        let option = match what {
            GrantWhat::Roles(_) => "WITH ADMIN OPTION",
            _ => "WITH GRANT OPTION",
        };
        let with_grant_option = self.eat_words(option);
        let as_user = if self.eat_kw(Kw::AS) { Some(self.account()?) } else { None };
        if self.at_kw(Kw::WITH) && as_user.is_some() {
            return Err(Error::not_supported("GRANT ... AS ... WITH ROLE"));
        }
        Ok(Statement::Grant(Box::new(Grant { what, to, with_grant_option, as_user })))
    }

    pub(super) fn revoke(&mut self) -> Result<Statement> {
        self.bump();
        let if_exists = self.eat_if("EXISTS")?;
        let what = self.grant_what(Kw::FROM)?;
        self.expect_kw(Kw::FROM)?;
        let from = self.comma_list(Self::account)?;
        let ignore_unknown_user = self.eat_words("IGNORE UNKNOWN USER");
        Ok(Statement::Revoke(Box::new(Revoke { if_exists, what, from, ignore_unknown_user })))
    }

    fn grant_what(&mut self, end: Kw) -> Result<GrantWhat> {
        let is_all = |words: &str| ["ALL", "ALL PRIVILEGES"].iter().any(|all| words.eq_ignore_ascii_case(all));
        if self.eat_words("PROXY ON") {
            return Ok(GrantWhat::Proxy(self.account()?));
        }
        let start = self.start();
        let items = self.comma_list(|p| p.grant_item(end))?;
        let all_and_grant = matches!(
            items.as_slice(),
            [GrantItem::Words { words: a, .. }, GrantItem::Words { words: b, .. }]
                if is_all(a) && b.eq_ignore_ascii_case("GRANT OPTION")
        );
        if all_and_grant && end == Kw::FROM && self.at_kw(end) {
            return Ok(GrantWhat::AllAndGrantOption);
        }
        if !self.eat_kw(Kw::ON) {
            let roles = items.into_iter().map(|item| match item {
                GrantItem::Role(account) => Ok(account),
                GrantItem::Words { words, columns } if columns.is_empty() && !words.contains(' ') => {
                    Ok(Account::Named { user: words.into(), host: None })
                }
                GrantItem::Words { .. } => Err(self.error_at(start)),
            });
            return Ok(GrantWhat::Roles(roles.collect::<Result<_>>()?));
        }
        let privileges = items.into_iter().map(|item| match item {
            GrantItem::Words { words, columns } => {
                let upper = words.to_ascii_uppercase();
                let name = if upper == "ALL PRIVILEGES" { "ALL".into() } else { upper.into() };
                Ok(Privilege { name, columns })
            }
            GrantItem::Role(_) => Err(self.error_at(start)),
        });
        let privileges = privileges.collect::<Result<_>>()?;
        let object = if self.eat_kw(Kw::FUNCTION) {
            GrantObject::Function
        } else if self.eat_kw(Kw::PROCEDURE) {
            GrantObject::Procedure
        } else {
            self.eat_kw(Kw::TABLE);
            GrantObject::Table
        };
        Ok(GrantWhat::Privileges { privileges, object, level: self.grant_level()? })
    }

    /// Words stay as written: they may be the name of a role.
    fn grant_item(&mut self, end: Kw) -> Result<GrantItem> {
        if matches!(self.kind(), Tok::Str | Tok::QuotedIdent) || matches!(self.peek(), Tok::AtName | Tok::At) {
            return Ok(GrantItem::Role(self.account()?));
        }
        let mut words = String::new();
        while matches!(self.kind(), Tok::Ident | Tok::Kw(_)) && !self.at_kw(Kw::ON) && !self.at_kw(end) {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(&self.any_word()?);
        }
        if words.is_empty() {
            return Err(self.error());
        }
        Ok(GrantItem::Words { words, columns: self.opt_paren_idents()? })
    }

    /// `*.*`, `*`, `db.*`, `db.t`, `t`
    fn grant_level(&mut self) -> Result<GrantLevel> {
        if self.eat(Tok::Star) {
            if self.eat(Tok::Dot) {
                self.expect(Tok::Star)?;
                return Ok(GrantLevel::Global);
            }
            return Ok(GrantLevel::CurrentSchema);
        }
        let first = self.ident()?;
        if !self.eat(Tok::Dot) {
            return Ok(GrantLevel::Object(ObjectName { schema: None, name: first }));
        }
        if self.eat(Tok::Star) {
            return Ok(GrantLevel::Schema(first));
        }
        Ok(GrantLevel::Object(ObjectName { schema: Some(first), name: self.any_word()? }))
    }
}
