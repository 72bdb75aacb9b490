//! A database from its folder.

use super::journal::{self, Journal};
use super::texts;
use crate::database::Database;
use crate::session::Session;
use accounts::{Account, Accounts};
use catalog::{Catalog, Relation, SchemaDef, TableId};
use disk::Io;
use session::Options;
use session::collect::Collect;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::{Definitions, DurableOptions, FlushMode, Object, ObjectKey, ObjectKind, Progress, StorageOptions, Store};
use types::Result;

/// What a folder held.
pub struct Opened {
    pub store: Store,
    pub schemas: BTreeMap<Box<str>, SchemaDef>,
    pub accounts: Accounts,
}

/// How a folder is to be opened.
pub struct Settings {
    pub flush: FlushMode,
    pub log_bytes_max: u64,
    pub leaf_rows: Option<usize>,
    /// What is missing at the end of the log is given up.
    pub accept_loss: bool,
}

/// Gets lines for the server's log.
pub type Tell<'a> = &'a (dyn Fn(String) + Sync);

/// A session that reads definitions: of a database in memory that has nothing else to do.
fn scratch_session() -> Result<Session> {
    let db = Database::open(Options { workers: Some(0), is_helper: true, ..Options::default() })?;
    let mut session = db.system_session();
    session.execute(b"SET sql_mode = '', foreign_key_checks = 0", false, &mut Collect::without_rows())?;
    Ok(session)
}

/// Progress is told at most this often.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Opens the folder. `warn` gets what people must know.
pub fn open(disk: Arc<dyn Io>, dir: &Path, settings: &Settings, tell: Tell<'_>, warn: Tell<'_>) -> Result<Opened> {
    let begun = Instant::now();
    let mut session = scratch_session()?;
    let mut tables = BTreeMap::new();
    let mut definer = |key: &ObjectKey, object: &Object| {
        let id = TableId(object.table_id);
        let def = Arc::new(texts::table(&mut session.execution(), id, &key.schema, &key.name, &object.text)?);
        tables.insert((key.schema.clone(), key.name.clone()), def.clone());
        Ok(def)
    };
    let told = std::sync::Mutex::new(Instant::now());
    let progress = |p: Progress| {
        if let Ok(mut told) = told.try_lock()
            && told.elapsed() >= TELL_EVERY
        {
            *told = Instant::now();
            tell(format!("{}: {} of {}", p.phase, p.done, p.total));
        }
    };
    let Settings { flush, log_bytes_max, accept_loss, .. } = *settings;
    let durable = DurableOptions { flush, log_bytes_max, accept_loss, ..DurableOptions::default() };
    let storage = StorageOptions { leaf_rows: settings.leaf_rows };
    let (store, report) = Store::open(disk, dir, storage, durable, &mut definer, &progress)?;
    report.warnings.into_iter().for_each(warn);
    if report.images + report.commits_replayed > 0 {
        let (images, commits, changes) = (report.images, report.commits_replayed, report.changes_replayed);
        let ms = begun.elapsed().as_millis();
        tell(format!("read {images} leaves, replayed {commits} commits ({changes} rows) in {ms} ms"));
    }
    let definitions = store.durable().map(|d| d.definitions()).unwrap_or_default();
    let schemas = schemas(&definitions, tables)?;
    let accounts = accounts(&definitions, &store)?;
    Ok(Opened { store, schemas, accounts })
}

type Tables = BTreeMap<(Box<str>, Box<str>), Arc<catalog::TableDef>>;

fn schemas(definitions: &Definitions, mut tables: Tables) -> Result<BTreeMap<Box<str>, SchemaDef>> {
    let mut schemas: BTreeMap<Box<str>, SchemaDef> = BTreeMap::new();
    for (key, object) in &definitions.objects {
        let relation = match key.kind {
            // Schemas come first in the order of keys.
            ObjectKind::Schema => {
                schemas.insert(key.schema.clone(), texts::schema(&key.schema, &object.text)?);
                continue;
            }
            ObjectKind::Table => tables.remove(&(key.schema.clone(), key.name.clone())).map(Relation::Table),
            ObjectKind::View => Some(Relation::View(Arc::new(texts::view(&key.schema, &key.name, &object.text)?))),
            ObjectKind::Account | ObjectKind::Variable => None,
        };
        if journal::BUILT_IN_SCHEMAS.contains(&&*key.schema) && !schemas.contains_key(&key.schema) {
            let (name, collation) = (key.schema.clone(), types::Collation::default());
            schemas.insert(name.clone(), SchemaDef { name, collation, relations: Default::default() });
        }
        if let (Some(schema), Some(relation)) = (schemas.get_mut(&key.schema), relation) {
            schema.relations.insert(relation);
        }
    }
    Ok(schemas)
}

/// A new database has the accounts that every one begins with, from now on in the log as any others.
fn accounts(definitions: &Definitions, store: &Store) -> Result<Accounts> {
    let of_kind = definitions.objects.iter().filter(|(k, _)| k.kind == ObjectKind::Account);
    let known: Vec<Account> =
        of_kind.map(|(k, o)| texts::account(&k.schema, &k.name, &o.text)).collect::<Result<_>>()?;
    let journal = Journal::new(store.clone());
    if definitions.objects.contains_key(&journal::accounts_begun()) {
        return Ok(Accounts::new(known).with_journal(Box::new(journal)));
    }
    // Folders from before the mark was kept have accounts and no mark.
    let first = if known.is_empty() { Accounts::default() } else { Accounts::new(known) };
    journal.first_accounts(&first.all())?;
    Ok(first.with_journal(Box::new(journal)))
}

/// Puts what was found into a new catalog, and has it log its changes from now on.
pub fn fill(catalog: &Catalog, opened: &mut Opened) -> Result<()> {
    let found = std::mem::take(&mut opened.schemas);
    catalog.write(|schemas| schemas.extend(found))?;
    catalog.raise_table_id(opened.store.table_id_max());
    catalog.set_journal(Box::new(Journal::new(opened.store.clone())));
    Ok(())
}

/// A definition must come back from its text as it was.
#[cfg(debug_assertions)]
pub fn check_round_trip(table: &catalog::TableDef) {
    let mut session = scratch_session().expect("a database in memory opens");
    let text = texts::of_table(table, None);
    let back = texts::table(&mut session.execution(), table.id, &table.schema, &table.name, &text);
    match back {
        Ok(back) => {
            let same = comparable(&back) == comparable(table);
            debug_assert!(same, "SHOW CREATE TABLE loses something:\n{table:#?}\n{back:#?}");
        }
        Err(e) => debug_assert!(false, "SHOW CREATE TABLE cannot be read back: {e}"),
    }
}

/// DEFAULT NULL and no default at all are the same to a nullable column.
#[cfg(debug_assertions)]
fn comparable(table: &catalog::TableDef) -> catalog::TableDef {
    let mut table = table.clone();
    for c in table.columns.iter_mut().filter(|c| c.nullable) {
        if c.default == catalog::DefaultValue::Value(types::Value::Null) {
            c.default = catalog::DefaultValue::None;
        }
    }
    table
}
