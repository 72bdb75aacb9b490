//! Account statements. An account may do everything but GRANT and REVOKE, for which it needs the grant option, or, once
//! all was revoked, nothing (see `rights`): finer privileges are refused rather than remembered without effect.

use super::Execution;
use accounts::{Account, AuthPlugin, Verifier};
use parser::ast::{self, AuthSecret, GrantLevel, GrantWhat, Statement, UserSpec};
use types::{Error, Result, WarningLevel};

impl Execution<'_> {
    pub(crate) fn account_statement(&mut self, statement: &Statement) -> Result<()> {
        let done = self.change_accounts(statement);
        // Whatever of it has been done before it failed.
        self.db().forget_plans();
        done
    }

    fn change_accounts(&mut self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::CreateUser(c) => {
                if !c.default_roles.is_empty() {
                    return Err(Error::not_supported("roles"));
                }
                check_options(&c.options)?;
                self.create_users(&c.users, c.options.locked.unwrap_or(false), c.if_not_exists)
            }
            Statement::AlterUser(a) => {
                if a.default_roles.is_some() {
                    return Err(Error::not_supported("roles"));
                }
                check_options(&a.options)?;
                a.users.iter().try_for_each(|u| self.alter_user(u, a.options.locked, a.if_exists))
            }
            Statement::DropUser { if_exists, users } => users.iter().try_for_each(|u| {
                let (user, host) = self.account_name(u);
                let shown = format!("'{user}'@'{host}'");
                if self.db().accounts().drop(&user, &host)? {
                    return Ok(());
                }
                let e = Error::cannot_user("DROP USER", shown);
                if *if_exists {
                    self.note(e);
                    return Ok(());
                }
                Err(e)
            }),
            Statement::RenameUser(pairs) => pairs.iter().try_for_each(|(from, to)| self.rename_user(from, to)),
            Statement::Grant(g) => self.grant(g),
            Statement::Revoke(r) => self.revoke(r),
            _ => Err(Error::not_supported("roles")),
        }
    }

    fn create_users(&mut self, users: &[UserSpec], locked: bool, if_not_exists: bool) -> Result<()> {
        // All can be made, or none is.
        let made = |u: &UserSpec| {
            let (user, host) = self.account_name(&u.account);
            let (plugin, verifier) = credentials(u, AuthPlugin::CachingSha2Password)?;
            let verifier = verifier.unwrap_or_default();
            Ok(Account { user, host, plugin, verifier, locked, grant_option: false, privileged: true })
        };
        for account in users.iter().map(made).collect::<Result<Vec<_>>>()? {
            match self.db().accounts().create(account) {
                Err(e) if if_not_exists => self.note(e),
                other => other?,
            }
        }
        Ok(())
    }

    fn alter_user(&mut self, u: &UserSpec, locked: Option<bool>, if_exists: bool) -> Result<()> {
        let (user, host) = self.account_name(&u.account);
        let present = self.db().accounts().all().into_iter().find(|a| a.user == user && a.host == host);
        let Some(present) = present else {
            let e = Error::cannot_user("ALTER USER", format!("'{user}'@'{host}'"));
            if if_exists {
                self.note(e);
                return Ok(());
            }
            return Err(e);
        };
        let (plugin, verifier) = credentials(u, present.plugin)?;
        self.db().accounts().alter(&user, &host, |a| {
            if let Some(v) = verifier {
                (a.plugin, a.verifier) = (plugin, v);
            }
            if let Some(l) = locked {
                a.locked = l;
            }
        })?;
        Ok(())
    }

    fn rename_user(&mut self, from: &ast::Account, to: &ast::Account) -> Result<()> {
        let ((user, host), (new_user, new_host)) = (self.account_name(from), self.account_name(to));
        let failed = || Error::cannot_user("RENAME USER", format!("'{user}'@'{host}'"));
        if self.db().accounts().all().iter().any(|a| a.user == new_user && a.host == new_host) {
            return Err(failed());
        }
        let renamed = self.db().accounts().alter(&user, &host, |a| {
            a.user = new_user.clone();
            a.host = new_host.clone();
        })?;
        if renamed { Ok(()) } else { Err(failed()) }
    }

    fn grant(&mut self, g: &ast::Grant) -> Result<()> {
        let GrantWhat::Privileges { privileges, level, .. } = &g.what else {
            return Err(Error::not_supported("roles and proxies"));
        };
        let is = |word: &str| privileges.iter().all(|p| p.name.eq_ignore_ascii_case(word) && p.columns.is_empty());
        let all = is("ALL");
        if !(all || is("USAGE")) || *level != GrantLevel::Global {
            return Err(Error::not_supported("GRANT other than ALL and USAGE ON *.*"));
        }
        if g.as_user.is_some() {
            return Err(Error::not_supported("GRANT ... AS"));
        }
        if g.to.iter().any(|u| u.auth.is_some()) {
            return Err(Error::not_supported("GRANT ... IDENTIFIED"));
        }
        let to: Vec<_> = g.to.iter().map(|u| self.account_name(&u.account)).collect();
        if !to.iter().all(|(user, host)| self.db().accounts().is_there(user, host)) {
            return Err(Error::cant_create_user_with_grant());
        }
        self.db().accounts().set_privileges(&to, all.then_some(true), g.with_grant_option.then_some(true))
    }

    fn revoke(&mut self, r: &ast::Revoke) -> Result<()> {
        let (all, grant_option) = match &r.what {
            GrantWhat::AllAndGrantOption => (true, true),
            GrantWhat::Privileges { privileges, level: GrantLevel::Global, .. } => {
                let is = |p: &ast::Privilege, word| p.name.eq_ignore_ascii_case(word) && p.columns.is_empty();
                if !privileges.iter().all(|p| is(p, "ALL") || is(p, "GRANT OPTION") || is(p, "USAGE")) {
                    return Err(Error::not_supported("REVOKE other than ALL and GRANT OPTION ON *.*"));
                }
                (privileges.iter().any(|p| is(p, "ALL")), privileges.iter().any(|p| is(p, "GRANT OPTION")))
            }
            _ => return Err(Error::not_supported("REVOKE other than ALL and GRANT OPTION ON *.*")),
        };
        let mut from = Vec::new();
        for account in &r.from {
            let (user, host) = self.account_name(account);
            if self.db().accounts().is_there(&user, &host) {
                from.push((user, host));
            } else if r.ignore_unknown_user {
                self.warn(Error::user_does_not_exist(&user).into_warning(WarningLevel::Warning));
            } else {
                return Err(Error::nonexisting_grant(&user, &host));
            }
        }
        self.db().accounts().set_privileges(&from, all.then_some(false), grant_option.then_some(false))
    }

    pub(crate) fn set_password(&mut self, account: &ast::Account, password: &str) -> Result<()> {
        let (user, host) = self.account_name(account);
        let account = self.db().accounts().get(&user, &host).ok_or_else(Error::password_no_match)?;
        let verifier = Verifier::of_password(account.plugin, password.as_bytes())?;
        let changed =
            self.db().accounts().alter(&user, &host, |a| (a.plugin, a.verifier) = (account.plugin, verifier))?;
        if changed { Ok(()) } else { Err(Error::password_no_match()) }
    }
}

fn check_options(o: &ast::AccountOptions) -> Result<()> {
    let strict = o.require.as_ref().is_some_and(|r| *r != ast::TlsRequire::None);
    let limited = o.resources.iter().any(|(_, n)| *n != 0);
    let policy = o.password.iter().any(|p| {
        !matches!(
            p,
            ast::PasswordOption::ExpireDefault
                | ast::PasswordOption::ExpireNever
                | ast::PasswordOption::History(None)
                | ast::PasswordOption::ReuseDays(None)
                | ast::PasswordOption::RequireCurrent(None)
        )
    });
    if strict || limited || policy || o.attribute.is_some() || o.comment.is_some() {
        return Err(Error::not_supported("REQUIRE, resource limits, password policies and attributes of accounts"));
    }
    Ok(())
}

/// The plugin and, where something is said of it, the verifier of an account specification.
fn credentials(u: &UserSpec, default: AuthPlugin) -> Result<(AuthPlugin, Option<Verifier>)> {
    let Some(auth) = &u.auth else { return Ok((default, None)) };
    if auth.retain || auth.replace.is_some() || u.discard_old {
        return Err(Error::not_supported("REPLACE and RETAIN CURRENT PASSWORD"));
    }
    let plugin = match &auth.plugin {
        None => default,
        Some(p) if p.is("mysql_native_password") => AuthPlugin::MysqlNativePassword,
        Some(p) if p.is("caching_sha2_password") => AuthPlugin::CachingSha2Password,
        Some(p) => return Err(Error::plugin_is_not_loaded(p.as_str())),
    };
    let verifier = match &auth.secret {
        AuthSecret::None => Verifier::None,
        AuthSecret::Password(p) => Verifier::of_password(plugin, p.as_bytes())?,
        AuthSecret::Random => return Err(Error::not_supported("RANDOM PASSWORD")),
        AuthSecret::Hash(stored) => Verifier::taken(plugin, stored)?,
    };
    Ok((plugin, Some(verifier)))
}
