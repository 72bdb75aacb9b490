//! SHOW CREATE USER and SHOW GRANTS: statements that make the account again, here or in MySQL.
//!
//! MySQL manual, "SHOW CREATE USER Statement", print_identified_with_as_hex.

use accounts::Privilege;
use accounts::{Account, HIDDEN, Verifier};
use parser::ast;
use session::Frame;
use session::rows::{RowSet, s, text};
use types::{Error, Result};

pub(super) fn show_grants(frame: &Frame<'_>, account: Option<&ast::Account>) -> Result<RowSet> {
    let (user, host) = frame.account_name(account.unwrap_or(&ast::Account::CurrentUser));
    let found = frame.db().accounts().get(&user, &host);
    let found = found.ok_or_else(|| Error::nonexisting_grant(&user, &host))?;
    let heading = format!("Grants for {user}@{host}");
    let mut rows = RowSet::new(&[(heading.as_str(), text(1024))]);
    let name = quoted_name(&found);
    let option = if found.grant_option { " WITH GRANT OPTION" } else { "" };
    let what = if found.privileged { "ALL PRIVILEGES" } else { "USAGE" };
    rows.push(vec![s(format!("GRANT {what} ON *.* TO {name}{option}"))]);
    if !found.privileged {
        // An account has all privileges when it is made.
        rows.push(vec![s(format!("REVOKE ALL PRIVILEGES ON *.* FROM {name}"))]);
    }
    Ok(rows)
}

pub(super) fn show_create_user(frame: &Frame<'_>, account: &ast::Account) -> Result<RowSet> {
    let (user, host) = frame.account_name(account);
    let found = frame.db().accounts().get(&user, &host);
    let a = found.ok_or_else(|| Error::cannot_user("SHOW CREATE USER", format!("'{user}'@'{host}'")))?;
    let heading = format!("CREATE USER for {user}@{host}");
    let mut rows = RowSet::new(&[(heading.as_str(), text(1024))]);
    let lock = if a.locked { "LOCK" } else { "UNLOCK" };
    rows.push(vec![s(format!(
        "CREATE USER {} IDENTIFIED WITH '{}'{} REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT {lock} \
         PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT",
        quoted_name(&a),
        a.plugin.name(),
        verifier_clause(frame, &a.verifier),
    ))]);
    Ok(rows)
}

/// ` AS ...`; nothing where there is no password. One's own is shown to those who may read mysql.user.
fn verifier_clause(frame: &Frame<'_>, verifier: &Verifier) -> String {
    let text = verifier.authentication_string();
    if verifier.is_none() {
        return String::new();
    }
    if !frame.has(Privilege::Select) {
        return format!(" AS '{HIDDEN}'");
    }
    let as_hex = frame.vars().text("print_identified_with_as_hex") == "ON";
    if as_hex && !text.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        let digits: String = text.bytes().map(|b| format!("{b:02X}")).collect();
        return format!(" AS 0x{digits}");
    }
    format!(" AS {}", quoted(text, frame.sql_mode().no_backslash_escapes))
}

fn quoted_name(account: &Account) -> String {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    format!("{}@{}", quoted(&account.user), quoted(&account.host))
}

/// A string literal.
fn quoted(text: &str, no_backslash_escapes: bool) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\'' if no_backslash_escapes => out.push_str("''"),
            _ if no_backslash_escapes => out.push(c),
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\x1a' => out.push_str("\\Z"),
            '\\' | '\'' | '"' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out.push('\'');
    out
}
