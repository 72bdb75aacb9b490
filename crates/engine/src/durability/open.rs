//! A database from its folder.

use super::journal::{self, Journal};
use super::objects::Reader;
use accounts::{Account, Accounts};
use catalog::{Catalog, Relation, SchemaDef};
use disk::Io;
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

/// Progress is told at most this often.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Opens the folder. `warn` gets what people must know.
pub fn open(disk: Arc<dyn Io>, dir: &Path, settings: &Settings, tell: Tell<'_>, warn: Tell<'_>) -> Result<Opened> {
    let begun = Instant::now();
    let mut reader = Reader::default();
    let mut tables = BTreeMap::new();
    let mut definer = |key: &ObjectKey, object: &Object| {
        let def = reader.table(key, object)?;
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
    report.warnings.into_iter().for_each(&warn);
    if report.images + report.commits_replayed > 0 {
        let (images, commits, changes) = (report.images, report.commits_replayed, report.changes_replayed);
        let ms = begun.elapsed().as_millis();
        tell(format!("read {images} leaves, replayed {commits} commits ({changes} rows) in {ms} ms"));
    }
    let definitions = store.durable().map(|d| d.definitions()).unwrap_or_default();
    let schemas = schemas(&definitions, &mut reader, tables)?;
    let accounts = accounts(&definitions, &mut reader, &store)?;
    restate(&store, reader, tell, warn);
    Ok(Opened { store, schemas, accounts })
}

/// What was read in an older form is kept in the present one from now on, and written so by a checkpoint. Until there
/// is one the folder has the older form, from which it would be read again; so it may fail.
fn restate(store: &Store, reader: Reader, tell: Tell<'_>, warn: Tell<'_>) {
    let Some(durable) = store.durable().filter(|_| !reader.restated.is_empty()) else { return };
    let n = reader.restated.len();
    durable.restate(reader.restated);
    match store.checkpoint() {
        Ok(_) => tell(format!("{n} definitions of an older format were brought to the present one")),
        Err(e) => warn(format!("{n} definitions stay in an older format until the next checkpoint: {e}")),
    }
}

type Tables = BTreeMap<(Box<str>, Box<str>), Arc<catalog::TableDef>>;

fn schemas(
    definitions: &Definitions,
    reader: &mut Reader,
    mut tables: Tables,
) -> Result<BTreeMap<Box<str>, SchemaDef>> {
    let mut schemas: BTreeMap<Box<str>, SchemaDef> = BTreeMap::new();
    for (key, object) in &definitions.objects {
        let relation = match key.kind {
            // Schemas come first in the order of keys.
            ObjectKind::Schema => {
                schemas.insert(key.schema.clone(), reader.schema(key, object)?);
                continue;
            }
            ObjectKind::Table => tables.remove(&(key.schema.clone(), key.name.clone())).map(Relation::Table),
            ObjectKind::View => Some(reader.view(key, object)?),
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
fn accounts(definitions: &Definitions, reader: &mut Reader, store: &Store) -> Result<Accounts> {
    let of_kind = definitions.objects.iter().filter(|(k, _)| k.kind == ObjectKind::Account);
    let known: Vec<Account> = of_kind.map(|(k, o)| reader.account(k, o)).collect::<Result<_>>()?;
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
