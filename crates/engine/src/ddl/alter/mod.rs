//! ALTER TABLE, CREATE INDEX, DROP INDEX.
//!
//! ```text
//!   definition ─ SHOW CREATE TABLE ─▶ syntax tree ─ edit ─▶ syntax tree ─ CREATE TABLE's checks ─▶ new definition
//!                                                                                                       │
//!          rows keep their layout: indexes are built beside readers and writers, then both are swapped ◀┤
//!          else: rows are copied into a new table, while others may read the old one ◀──────────────────┘
//! ```
//! A statement changes all it names at once, or nothing. Locks: SHARED_UPGRADABLE while indexes are built (readers and
//! writers go on), SHARED_READ_ONLY besides while rows are copied (readers go on), EXCLUSIVE to publish.
//!
//! MySQL manual, "ALTER TABLE Statement", "Online DDL Operations".

mod copy;

use super::statements::{QualifiedName, Schemas, change_tables, check_name, rename_relation};
use crate::session::Execution;
use crate::statistics::histogram::keep_histograms;
use catalog::{ColumnDef, ForeignKey, IndexDef, Relation, TableDef, TableEngine};
use definitions::alter::{Edit, holds, references};
use definitions::constraints::{self, RenamedColumns};
use definitions::{defaults, define, functional, index};
use introspection::show_create;
use mdl::Mode;
use parser::ast::{self, AlterAlgorithm, AlterLock, AlterSpec, CreateTableBody, Statement, TableConstraint};
use session::sink::ResultSink;
use std::sync::Arc;
use types::{Error, ErrorCode, Result, WarningLevel};

impl Execution<'_> {
    pub(super) fn create_index(&mut self, c: &ast::CreateIndex, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let mut specs = vec![AlterSpec::AddConstraint(TableConstraint::Index(c.index.clone()))];
        specs.extend(c.algorithm.map(AlterSpec::Algorithm));
        specs.extend(c.lock.map(AlterSpec::Lock));
        self.alter(&c.table, &specs, more, sink)
    }

    pub(super) fn drop_index(&mut self, d: &ast::DropIndex, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let mut specs = vec![AlterSpec::DropIndex(d.name.clone())];
        specs.extend(d.algorithm.map(AlterSpec::Algorithm));
        specs.extend(d.lock.map(AlterSpec::Lock));
        self.alter(&d.table, &specs, more, sink)
    }

    pub(super) fn alter_table(&mut self, a: &ast::AlterTable, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        if a.partitioning.is_some() {
            return Err(Error::not_supported("ALTER TABLE ... PARTITION"));
        }
        self.alter(&a.name, &a.specs, more, sink)
    }

    fn alter(
        &mut self,
        name: &ast::ObjectName,
        specs: &[AlterSpec],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let copied = self.change_table(name, specs)?;
        let info = format!("Records: {copied}  Duplicates: 0  Warnings: {}", self.warnings().count());
        self.send_ok(copied, info, more, sink)
    }

    /// Copies the table's rows into new leaves, in which no space is free (ALTER TABLE ... FORCE).
    pub(crate) fn rebuild_table(&mut self, name: &ast::ObjectName) -> Result<()> {
        self.change_table(name, &[AlterSpec::Force]).map(|_| ())
    }

    /// Does what the clauses say; the answer is the number of rows copied.
    fn change_table(&mut self, name: &ast::ObjectName, specs: &[AlterSpec]) -> Result<u64> {
        let old = self.base_table(name)?;
        self.check_user_schema(&old.schema)?;
        if old.engine == TableEngine::Virtual {
            return Err(Error::not_supported("ALTER TABLE of this kind of table"));
        }
        let edit = Edit::of(body_of(&old)?, &old, specs)?;
        let rename_to = edit.rename_to.as_ref().map(|to| self.new_name(&old, to)).transpose()?.flatten();
        let names = NewNames { table: rename_to.as_ref(), columns: edit.renamed_columns(&old) };
        if edit.keys_option {
            self.note(Error::illegal_ha(&old.name));
        }
        check_columns_used(&old, &edit)?;
        references::check_columns(&old, &edit)?;
        let (new, auto_increment) = self.define_altered(&old, &edit)?;
        references::check(self, &old, &new, &edit)?;
        if let Some((schema, name)) = rename_to.as_ref().filter(|_| !old.temporary) {
            constraints::check_children(self, &new, (schema, name))?;
        }
        check_key_of_foreign_keys(&old, &new, &edit)?;
        let in_place = !edit.force_copy && same_layout(&old, &new, &edit, self.sql_mode().strict);
        check_clauses(&edit, in_place)?;
        let changed = if in_place {
            self.alter_in_place(&old, new, &edit, &names).map(|new| (new, 0))
        } else {
            self.alter_by_copy(&old, new, &edit, &names)
        };
        let (new, copied) = changed?;
        if let Some(n) = auto_increment {
            let new = match &rename_to {
                Some((schema, name)) => constraints::renamed(&new, schema, name),
                None => (*new).clone(),
            };
            self.restart_auto_increment(&new, n)?;
        }
        Ok(copied)
    }

    /// The name that RENAME TO gives; `None`: it is the present one. 1050 if it is taken.
    fn new_name(&self, old: &TableDef, to: &ast::ObjectName) -> Result<Option<QualifiedName>> {
        let to = self.resolve_name(to)?;
        self.check_user_schema(&to.0)?;
        check_name(&to.1, || Error::wrong_table_name(&to.1))?;
        if to.0 == old.schema && to.1 == old.name {
            return Ok(None);
        }
        let taken = match old.temporary {
            true => self.temporary().get(&to.0, &to.1).is_some(),
            false => self.db().catalog().relation(&to.0, &to.1).is_some(),
        };
        if taken { Err(Error::table_exists(&to.1)) } else { Ok(Some(to)) }
    }

    /// A temporary table is nobody else's: it needs no locks.
    fn lock_altered(&self, table: &TableDef, mode: Mode) -> Result<()> {
        if table.temporary {
            return Ok(());
        }
        self.lock_for_ddl(&[(table.schema.clone(), table.name.clone())], mode)
    }

    /// The table, and those whose foreign keys name columns of it that get other names.
    fn lock_to_publish(&self, table: &TableDef, names: &NewNames) -> Result<()> {
        self.lock_altered(table, Mode::Exclusive)?;
        if table.temporary || names.columns.0.is_empty() {
            return Ok(());
        }
        let children = self.db().catalog().references_to(&table.schema, &table.name);
        let children: Vec<QualifiedName> =
            children.iter().map(|(child, _)| (child.schema.clone(), child.name.clone())).collect();
        self.lock_for_ddl(&children, Mode::Exclusive)
    }

    /// The definition that the edited tree describes, under the old id, and what AUTO_INCREMENT = says.
    fn define_altered(&mut self, old: &TableDef, edit: &Edit) -> Result<(TableDef, Option<u64>)> {
        let options = define::options(&edit.body.options, old.collation, old.engine, self.substitutes_engines())?;
        if let Some(engine) = &options.unknown_engine {
            self.warn(Error::unknown_storage_engine(engine).into_warning(WarningLevel::Warning));
        }
        if let Some(engine) = &options.substituted {
            debug_assert!(!engine.is_empty());
            let warning = Error::warn_using_other_handler("InnoDB", &old.name);
            self.warn(warning.into_warning(WarningLevel::Warning));
        }
        let has_references =
            || !old.foreign_keys.is_empty() || !self.db().catalog().references_to(&old.schema, &old.name).is_empty();
        if options.engine != old.engine && !old.temporary && has_references() {
            const FK_CANNOT_CHANGE_ENGINE: ErrorCode = ErrorCode(3776);
            let message =
                "Cannot change table's storage engine because the table participates in a foreign key constraint.";
            return Err(Error::new(FK_CANNOT_CHANGE_ENGINE, message));
        }
        let mut def =
            define::table(self, old.id, &old.schema, &old.name, &edit.body, &options, Vec::new(), old.temporary)?;
        for index in old.indexes.iter().filter(|i| i.made_for_foreign_key && edit.keeps_key_as(&i.name)) {
            if let Some(kept) = def.indexes.iter_mut().find(|i| i.name == index.name) {
                kept.made_for_foreign_key = true;
            }
        }
        constraints::drop_superseded_keys(&mut def);
        index::warn_of_duplicate_keys(self, &def, |key| !edit.keeps_key_as(key));
        keep_histograms(old, &mut def, &edit.origins);
        Ok((def, options.auto_increment.filter(|_| edit.sets_auto_increment)))
    }

    /// Only indexes, names, defaults and the like change: the rows stay where they are.
    fn alter_in_place(
        &mut self,
        old: &Arc<TableDef>,
        mut new: TableDef,
        edit: &Edit,
        names: &NewNames,
    ) -> Result<Arc<TableDef>> {
        new.created_at = old.created_at;
        let kept = new.indexes.iter().map(|i| kept_index(old, i, edit)).collect();
        let new = Arc::new(new);
        let table = self.db().store().expect_table(old)?;
        let reindex = table.reindex(new.clone(), kept);
        let process = self.process().clone();
        reindex.build_while(&|| process.check_killed())?;
        self.lock_to_publish(old, names)?;
        let forbidden: Vec<usize> =
            (0..new.columns.len()).filter(|&c| old.columns[c].nullable && !new.columns[c].nullable).collect();
        if !forbidden.is_empty() && table.has_nulls_in(&forbidden) {
            return Err(Error::invalid_use_of_null());
        }
        reindex.check()?;
        self.publish_altered(old, new.clone(), names)?;
        reindex.publish();
        Ok(new)
    }

    /// The rows are copied into a table of the new layout, which then takes the old one's place. Says how many they
    /// are.
    fn alter_by_copy(
        &mut self,
        old: &Arc<TableDef>,
        mut new: TableDef,
        edit: &Edit,
        names: &NewNames,
    ) -> Result<(Arc<TableDef>, u64)> {
        self.lock_altered(old, Mode::SharedReadOnly)?;
        new.id = self.db().catalog().new_table_id();
        let new = Arc::new(new);
        let from = self.db().store().expect_table(old)?;
        let to = self.db().store().create_table(new.clone());
        to.set_auto_increment(from.auto_increment());
        let filled = self
            .copy_rows(old, &new, edit)
            .and_then(|rows| self.lock_to_publish(old, names).map(|()| rows))
            .inspect(|_| {
                if !old.temporary {
                    to.note_published()
                }
            })
            .and_then(|rows| self.publish_altered(old, new.clone(), names).map(|()| rows));
        let gone = if filled.is_ok() { old.id } else { new.id };
        self.db().store().drop_table(gone);
        filled.map(|rows| (new, rows))
    }

    /// All definitions that ALTER TABLE changes go through here; the table is locked exclusively.
    fn publish_altered(&mut self, old: &TableDef, new: Arc<TableDef>, names: &NewNames) -> Result<()> {
        if old.temporary {
            let new = match names.table {
                Some((schema, name)) => Arc::new(constraints::renamed(&new, schema, name)),
                None => new,
            };
            self.replace_temporary(old, new);
            return Ok(());
        }
        self.db().catalog().write(|schemas| {
            let mut next = schemas.clone();
            let schema = next.get_mut(&old.schema).ok_or_else(|| Error::bad_db(&old.schema))?;
            schema.relations.insert(Relation::Table(new));
            rename_in_references(&mut next, old, names);
            if let Some(to) = names.table {
                rename_relation(&mut next, &(old.schema.clone(), old.name.clone()), to)?;
            }
            *schemas = next;
            Ok(())
        })?
    }

    /// AUTO_INCREMENT = n: at least one past the greatest value there is.
    fn restart_auto_increment(&mut self, def: &TableDef, n: u64) -> Result<()> {
        let table = self.db().store().expect_table(def)?;
        let Some(column) = def.columns.iter().position(|c| c.auto_increment) else { return Ok(()) };
        let snapshot = self.db().store().txns().snapshot();
        let mut next = n;
        for leaf_no in 0..table.leaf_count() {
            let Some(view) = table.scan_leaf(leaf_no, &[column], &snapshot) else { continue };
            view.selection.for_each(view.rows, |i| {
                let value = storage::number_at(&view.columns[0].values, i);
                next = next.max(value.saturating_add(1));
            });
        }
        table.set_auto_increment(next);
        // Published anew, the definition takes the counter along into the redo log.
        self.publish_altered(def, Arc::new(def.clone()), &NewNames::default())
    }
}

/// What ALTER TABLE calls otherwise than before.
#[derive(Default)]
struct NewNames<'a> {
    table: Option<&'a QualifiedName>,
    columns: RenamedColumns,
}

/// Other tables' foreign keys name the altered table's columns as they are called now.
fn rename_in_references(schemas: &mut Schemas, altered: &TableDef, names: &NewNames) {
    change_tables(schemas, |t| {
        let is_other = (&t.schema, &t.name) != (&altered.schema, &altered.name);
        is_other.then(|| names.columns.in_definition(t, (&altered.schema, &altered.name))).flatten()
    });
}

/// The syntax tree of the definition, as SHOW CREATE TABLE prints it.
fn body_of(table: &TableDef) -> Result<ast::TableDef> {
    let text = show_create::table(table, None);
    let parsed = parser::parse_single(text.as_bytes(), &parser::ParseOptions::default())?;
    match parsed.statement {
        Statement::CreateTable(c) => match c.body {
            CreateTableBody::Define(body) => Ok(*body),
            CreateTableBody::Like(_) => Err(Error::internal("a definition reads back as LIKE")),
        },
        _ => Err(Error::internal("a definition does not read back")),
    }
}

/// The position that an index of the new definition has in the old one.
fn kept_index(old: &TableDef, index: &IndexDef, edit: &Edit) -> Option<usize> {
    let name = edit.old_key_name(&index.name)?;
    old.indexes.iter().position(|o| {
        *o.name == *name && o.kind == index.kind && o.parts == index.parts && o.algorithm == index.algorithm
    })
}

/// Whether rows of the old definition are rows of the new one: each column is what it was, and where it was. Primary
/// keys may forbid NULLs that there are not; where the mode is not strict, those that there are become zeros in a copy.
fn same_layout(old: &TableDef, new: &TableDef, edit: &Edit, strict: bool) -> bool {
    let in_key = |c: usize| new.primary_key().is_some_and(|k| k.parts.iter().any(|p| p.column_idx == c));
    let same = |c: usize, (a, b): (&ColumnDef, &ColumnDef)| {
        let generated = match (&a.generated, &b.generated) {
            (None, None) => true,
            (Some(a), Some(b)) => a.text == b.text && a.stored == b.stored,
            _ => false,
        };
        let nullable = a.nullable == b.nullable || a.nullable && in_key(c) && strict;
        holds(b, a) && generated && nullable && a.auto_increment == b.auto_increment
    };
    // New checks and foreign keys have to be tried on all rows.
    let (renamed, own) = (edit.renamed_columns(old), (&*old.schema, &*old.name));
    let kept_keys: Vec<ForeignKey> = old.foreign_keys.iter().map(|f| renamed.in_key(f, own)).collect();
    let constraints = new.checks.iter().all(|c| !c.enforced || old.checks.iter().any(|o| o.is_same(c)))
        && new.foreign_keys.iter().all(|f| kept_keys.contains(f));
    old.engine == new.engine
        && constraints
        && old.columns.len() == new.columns.len()
        && edit.origins.iter().enumerate().all(|(i, origin)| *origin == Some(i))
        && old.columns.iter().zip(&new.columns).enumerate().all(|(c, pair)| same(c, pair))
}

/// Columns that stay are computed from others, which stay too, under their names: 3108, 3837, 3766.
fn check_columns_used(old: &TableDef, edit: &Edit) -> Result<()> {
    let is_kept = |c: usize| edit.keeps_column(c, &old.columns[c].name);
    let stays = |c: usize| edit.position_of(c).is_some();
    constraints::check_columns_kept(old, stays, is_kept)?;
    functional::check_columns_kept(old, |key| edit.keeps_key(key), is_kept)?;
    defaults::check_columns_kept(old, stays, is_kept)
}

/// 1553: a foreign key needs the key.
fn check_key_of_foreign_keys(old: &TableDef, new: &TableDef, edit: &Edit) -> Result<()> {
    for dropped in &edit.dropped_keys {
        let Some(index) = old.indexes.iter().find(|i| i.name.eq_ignore_ascii_case(dropped)) else { continue };
        let starts = |i: &IndexDef, columns: &[usize]| {
            i.parts.len() >= columns.len() && i.parts.iter().zip(columns).all(|(p, c)| p.column_idx == *c)
        };
        for fk in old.foreign_keys.iter().filter(|fk| !edit.drops_foreign_key(&fk.name)) {
            let now: Vec<usize> = fk.columns.iter().filter_map(|&c| edit.position_of(c)).collect();
            let names: Vec<&str> = now.iter().map(|&c| &*new.columns[c].name).collect();
            // The primary key may stand in a column's definition.
            let another = edit.has_key_over(&names) || new.primary_key().is_some_and(|i| starts(i, &now));
            if starts(index, &fk.columns) && !another {
                return Err(Error::drop_index_fk(&index.name));
            }
        }
    }
    Ok(())
}

/// ALGORITHM and LOCK allow what has to be done.
fn check_clauses(edit: &Edit, in_place: bool) -> Result<()> {
    let builds = edit.changes_keys;
    match edit.algorithm {
        AlterAlgorithm::Inplace if !in_place => {
            return Err(Error::alter_operation_not_supported("ALGORITHM=INPLACE", "ALGORITHM=COPY"));
        }
        AlterAlgorithm::Instant if !in_place || builds => {
            let instead = if in_place { "ALGORITHM=COPY/INPLACE" } else { "ALGORITHM=COPY" };
            return Err(Error::alter_operation_not_supported("ALGORITHM=INSTANT", instead));
        }
        _ => {}
    }
    if edit.lock == AlterLock::None && !in_place {
        let reason = "COPY algorithm requires a lock";
        return Err(Error::alter_operation_not_supported_reason("LOCK=NONE", reason, "LOCK=SHARED"));
    }
    Ok(())
}
