//! Objects as bytes, and back: [`catalog::encoding`] with what only the engine knows, the binding of expressions and
//! the kinds of accounts. Texts of former formats are read, too, and told apart by their first byte.

use super::old_texts;
use crate::database::Database;
use crate::session::Session;
use accounts::{Account, AuthPlugin, Verifier};
use catalog::encoding::{self, ExprBinder, ExprOf, unreadable};
use catalog::{AccountDef, BoundUnder, ObjectKind, Relation, SchemaDef, StoredVerifier, TableDef, TableId};
use definitions::kept;
use expr::Expr;
use session::Options;
use session::collect::Collect;
use std::sync::Arc;
use storage::{Object, ObjectKey};
use types::Result;

/// Reads objects. It notes those of an older form, in the present one.
#[derive(Default)]
pub struct Reader {
    session: Scratch,
    /// In the present form.
    pub restated: Vec<(ObjectKey, Box<[u8]>)>,
}

/// A session that binds expressions: of a database in memory that has nothing else to do. Made when it is needed.
#[derive(Default)]
struct Scratch(Option<Session>);

impl Scratch {
    fn get(&mut self) -> Result<&mut Session> {
        if self.0.is_none() {
            let db = Database::open(Options { workers: Some(0), is_helper: true, ..Options::default() })?;
            let mut session = db.system_session();
            session.execute(b"SET sql_mode = '', foreign_key_checks = 0", false, &mut Collect::without_rows())?;
            self.0 = Some(session);
        }
        Ok(self.0.as_mut().expect("it was made above"))
    }
}

impl ExprBinder for Scratch {
    fn bind(&mut self, table: &TableDef, of: ExprOf, text: &str, under: &BoundUnder) -> Result<Expr> {
        kept::bind(&self.get()?.execution(), table, of, text, under)
    }
}

impl Reader {
    fn restate(&mut self, key: &ObjectKey, body: Result<Box<[u8]>>) -> Result<()> {
        self.restated.push((key.clone(), body?));
        Ok(())
    }

    pub fn table(&mut self, key: &ObjectKey, object: &Object) -> Result<Arc<TableDef>> {
        let (id, body) = (TableId(object.table_id), &object.body);
        if encoding::is_encoded(body) {
            return encoding::table(id, &key.schema, &key.name, body, &mut self.session).map(Arc::new);
        }
        let def = old_texts::table(&mut self.session.get()?.execution(), id, &key.schema, &key.name, body)?;
        self.restate(key, encoding::of_table(&def))?;
        Ok(Arc::new(def))
    }

    pub fn schema(&mut self, key: &ObjectKey, object: &Object) -> Result<SchemaDef> {
        if encoding::is_encoded(&object.body) {
            return encoding::schema(&key.schema, &object.body);
        }
        let schema = old_texts::schema(&key.schema, &object.body)?;
        self.restate(key, encoding::of_schema(&schema))?;
        Ok(schema)
    }

    pub fn view(&mut self, key: &ObjectKey, object: &Object) -> Result<Relation> {
        let view = if encoding::is_encoded(&object.body) {
            encoding::view(&key.schema, &key.name, &object.body)?
        } else {
            let view = old_texts::view(&key.schema, &key.name, &object.body)?;
            self.restate(key, encoding::of_view(&view))?;
            view
        };
        Ok(Relation::View(Arc::new(view)))
    }

    pub fn account(&mut self, key: &ObjectKey, object: &Object) -> Result<Account> {
        let (user, host) = (&key.schema, &key.name);
        if encoding::is_encoded(&object.body) {
            return account(encoding::account(user, host, &object.body)?);
        }
        let account = old_texts::account(user, host, &object.body)?;
        self.restate(key, encoding::of_account(&of_account(&account)))?;
        Ok(account)
    }
}

/// An account as it is on disk.
pub fn of_account(account: &Account) -> AccountDef {
    let Account { user, host, plugin, verifier, locked, grant_option, privileged } = account;
    AccountDef {
        user: user.clone(),
        host: host.clone(),
        plugin: plugin.name().into(),
        verifier: match verifier {
            Verifier::None => StoredVerifier::None,
            Verifier::Stored(text) => StoredVerifier::Text(text.clone()),
            Verifier::Unsalted(digest) => StoredVerifier::Unsalted(*digest),
        },
        locked: *locked,
        grant_option: *grant_option,
        privileged: *privileged,
    }
}

fn account(def: AccountDef) -> Result<Account> {
    let AccountDef { user, host, plugin, verifier, locked, grant_option, privileged } = def;
    let bad = |why: &str| unreadable(ObjectKind::Account, &user, &host, why);
    let plugins = [AuthPlugin::MysqlNativePassword, AuthPlugin::CachingSha2Password];
    let found = plugins.into_iter().find(|p| *p.name() == *plugin);
    let plugin = found.ok_or_else(|| bad(&format!("its plugin {plugin} is unknown")))?;
    let verifier = match verifier {
        StoredVerifier::None => Verifier::None,
        StoredVerifier::Unsalted(digest) if plugin == AuthPlugin::CachingSha2Password => Verifier::Unsalted(digest),
        // An empty one would be taken for none.
        StoredVerifier::Text(text) if !text.is_empty() => {
            Verifier::taken(plugin, text.as_bytes()).map_err(|e| bad(e.message()))?
        }
        _ => return Err(bad("its verifier is none of its plugin's")),
    };
    Ok(Account { user, host, plugin, verifier, locked, grant_option, privileged })
}

/// Debug builds: a definition comes back from its bytes as it was, expressions included.
pub fn debug_check(table: &TableDef) {
    if cfg!(debug_assertions) {
        let bytes = encoding::of_table(table).expect("it is short");
        let back = encoding::table(table.id, &table.schema, &table.name, &bytes, &mut Scratch::default());
        match back {
            Ok(back) => debug_assert!(back == *table, "the encoding loses something:\n{table:#?}\n{back:#?}"),
            Err(e) => debug_assert!(false, "the encoding cannot be read back: {e}"),
        }
    }
}
