//! CREATE, DROP, RENAME and TRUNCATE TABLE.

use super::statements::{check_name, rename_relation};
use crate::session::Execution;
use catalog::{Relation, TableDef, TableEngine};
use changes::{OnDuplicate, WriteMode};
use definitions::{constraints, define, index};
use parser::ast::{self, CreateTableBody, ObjectName, Statement};
use session::sink::ResultSink;
use std::sync::Arc;
use types::{Error, Result, WarningLevel};

impl Execution<'_> {
    pub(super) fn create_table(&mut self, c: &ast::CreateTable, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let (schema, name) = self.resolve_name(&c.name)?;
        check_name(&name, || Error::wrong_table_name(&name))?;
        if let Err(denied) = self.check_user_schema(&schema) {
            // A dump of all databases makes the tables of `mysql` where there are none.
            if !c.if_not_exists || c.temporary || self.described(&schema, &name)?.is_none() {
                return Err(denied);
            }
            self.note(Error::table_exists(&name));
            return self.send_ok(0, String::new(), more, sink);
        }
        let exists = match c.temporary {
            true => self.temporary().get(&schema, &name).is_some(),
            false => self.db().catalog().relation(&schema, &name).is_some(),
        };
        if exists {
            if !c.if_not_exists {
                return Err(Error::table_exists(&name));
            }
            self.note(Error::table_exists(&name));
            return self.send_ok(0, String::new(), more, sink);
        }
        let id = self.db().catalog().new_table_id();
        let (def, query) = match &c.body {
            CreateTableBody::Like(source) => {
                let source = self.base_table(source)?;
                if source.engine == TableEngine::Virtual {
                    return Err(Error::not_supported("CREATE TABLE LIKE of a server table"));
                }
                let mut def = constraints::renamed(&source, &schema, &name);
                for (i, check) in def.checks.iter_mut().enumerate() {
                    check.name = format!("{name}_chk_{}", i + 1).into();
                }
                def.sort_constraints();
                if self.vars().on("sql_require_primary_key") && def.primary_key().is_none() {
                    return Err(Error::table_without_pk());
                }
                def.foreign_keys.clear();
                def.columns.iter_mut().for_each(|c| c.histogram = None);
                def.temporary = c.temporary;
                (def.id, def.created_at) = (id, self.now_us() / 1_000_000);
                (def, None)
            }
            CreateTableBody::Define(body) => {
                let defined = self.define_table(id, &schema, &name, body, c.temporary)?;
                index::warn_of_duplicate_keys(self, &defined.0, |_| true);
                defined
            }
        };
        let auto_start = match &c.body {
            CreateTableBody::Define(body) => body.options.iter().rev().find_map(|o| match o {
                ast::TableOption::AutoIncrement(n) => Some(*n),
                _ => None,
            }),
            CreateTableBody::Like(_) => None,
        };
        if !def.temporary {
            constraints::check_children(self, &def, (&schema, &name))?;
        }
        let def = Arc::new(def);
        let Some(query) = query else {
            self.publish_table(&def, auto_start, c.if_not_exists)?;
            return self.send_ok(0, String::new(), more, sink);
        };
        let duplicates = match &c.body {
            CreateTableBody::Define(body) => body.on_duplicate,
            CreateTableBody::Like(_) => ast::SelectDuplicates::Error,
        };
        let ignore = duplicates == ast::SelectDuplicates::Ignore;
        let on_duplicate = match duplicates {
            ast::SelectDuplicates::Replace => OnDuplicate::Replace,
            ast::SelectDuplicates::Error | ast::SelectDuplicates::Ignore => OnDuplicate::Error,
        };
        self.begin_judging(ignore);
        // The table is filled before anyone can see it: a query that fails leaves nothing behind.
        let table = self.db().store().create_table(def.clone());
        let filled = self.fill_table(&def, query, WriteMode { on_duplicate, ignore, ..WriteMode::plain() });
        let published = filled.and_then(|written| {
            if def.temporary {
                self.add_temporary(def.clone());
                return Ok(written);
            }
            table.note_published();
            self.insert_relation(&def, c.if_not_exists)?;
            Ok(written)
        });
        match published {
            Ok(written) => {
                let info = written.info(ignore, self.warnings().count());
                self.send_ok(written.copied + written.deleted, info, more, sink)
            }
            Err(e) => {
                self.db().store().drop_table(def.id);
                Err(e)
            }
        }
    }

    /// Whether sql_mode lets another engine stand in for one that there is not.
    pub(super) fn substitutes_engines(&self) -> bool {
        !self.sql_mode().no_engine_substitution
    }

    fn define_table(
        &mut self,
        id: catalog::TableId,
        schema: &str,
        name: &str,
        body: &ast::TableDef,
        temporary: bool,
    ) -> Result<(TableDef, Option<crate::dml::source::BoundSource>)> {
        let default_engine = match self.vars().text("default_storage_engine") {
            "MEMORY" => TableEngine::Memory,
            _ => TableEngine::InnoDb,
        };
        let options =
            define::options(&body.options, self.schema_collation(schema), default_engine, self.substitutes_engines())?;
        if let Some(engine) = &options.unknown_engine {
            self.warn(Error::unknown_storage_engine(engine).into_warning(WarningLevel::Warning));
            self.warn(Error::warn_using_other_handler("InnoDB", name).into_warning(WarningLevel::Warning));
        }
        if options.substituted.is_some() {
            self.warn(Error::warn_using_other_handler("InnoDB", name).into_warning(WarningLevel::Warning));
        }
        let source = body.query.as_deref().map(|q| self.bind_source(q)).transpose()?;
        let extra = source.as_ref().map(|s| s.columns()).unwrap_or_default();
        let def = define::table(self, id, schema, name, body, &options, extra, temporary)?;
        Ok((def, source))
    }

    /// A table's definition from its CREATE TABLE statement, as SHOW CREATE TABLE prints it.
    pub(crate) fn define_from_text(
        &mut self,
        id: catalog::TableId,
        schema: &str,
        name: &str,
        text: &[u8],
    ) -> Result<TableDef> {
        let parsed = parser::parse_single(text, &parser::ParseOptions::default())?;
        match &parsed.statement {
            Statement::CreateTable(c) => match &c.body {
                CreateTableBody::Define(body) => Ok(self.define_table(id, schema, name, body, false)?.0),
                CreateTableBody::Like(_) => Err(Error::internal("a definition refers to another")),
            },
            _ => Err(Error::internal("not a table's definition")),
        }
    }

    pub(crate) fn publish_table(
        &mut self,
        def: &Arc<TableDef>,
        auto_start: Option<u64>,
        if_not_exists: bool,
    ) -> Result<()> {
        let table = self.db().store().create_table(def.clone());
        if let Some(n) = auto_start {
            table.set_auto_increment(n);
        }
        if def.temporary {
            self.add_temporary(def.clone());
            return Ok(());
        }
        let result = self.insert_relation(def, if_not_exists);
        if result.is_err() || !self.is_published(def) {
            self.db().store().drop_table(def.id);
        }
        table.note_published();
        result
    }

    fn is_published(&self, def: &TableDef) -> bool {
        let published = self.db().catalog().relation(&def.schema, &def.name);
        matches!(published, Some(Relation::Table(t)) if t.id == def.id)
    }

    /// Adds the definition to its schema; 1050 if someone was faster.
    fn insert_relation(&mut self, def: &Arc<TableDef>, if_not_exists: bool) -> Result<()> {
        let outcome = self.db().catalog().write(|schemas| {
            let Some(s) = schemas.get_mut(&def.schema) else { return Err(Error::bad_db(&def.schema)) };
            if s.relations.contains(&def.name) {
                return if if_not_exists { Ok(false) } else { Err(Error::table_exists(&def.name)) };
            }
            s.relations.insert(Relation::Table(def.clone()));
            Ok(true)
        })??;
        if !outcome {
            self.note(Error::table_exists(&def.name));
        }
        Ok(())
    }

    pub(super) fn drop_tables(&mut self, d: &ast::DropTable) -> Result<u64> {
        let mut missing = Vec::new();
        let (mut found, mut temporary) = (Vec::new(), Vec::new());
        for name in &d.tables {
            let (schema, table) = self.resolve_name(name)?;
            self.check_user_schema(&schema)?;
            if self.temporary().get(&schema, &table).is_some() {
                temporary.push((schema, table));
                continue;
            }
            let stored = match d.temporary {
                true => None,
                false => self.db().catalog().relation(&schema, &table),
            };
            match stored {
                Some(Relation::Table(_)) => found.push((schema, table)),
                _ => missing.push(format!("{schema}.{table}")),
            }
        }
        if !missing.is_empty() && !d.if_exists {
            return Err(Error::bad_table(missing.join(",")));
        }
        for m in missing {
            self.note(Error::bad_table(m));
        }
        constraints::check_no_reference_left(self, &found)?;
        for (schema, table) in &temporary {
            self.drop_temporary(schema, table);
        }
        if found.is_empty() {
            return Ok(0);
        }
        let dropped: Vec<Relation> = self
            .db()
            .catalog()
            .write(|schemas| found.iter().filter_map(|(s, t)| schemas.get_mut(s)?.relations.remove(t)).collect())?;
        for r in &dropped {
            self.forget_storage(r);
        }
        found.iter().for_each(|(schema, table)| self.unlock_dropped(schema, table));
        Ok(0)
    }

    pub(super) fn rename_tables(&mut self, pairs: &[(ObjectName, ObjectName)]) -> Result<u64> {
        let mut resolved = Vec::new();
        for (from, to) in pairs {
            let (from, to) = (self.resolve_name(from)?, self.resolve_name(to)?);
            self.check_user_schema(&from.0)?;
            self.check_user_schema(&to.0)?;
            check_name(&to.1, || Error::wrong_table_name(&to.1))?;
            // What is there under the new name takes its references along to another one.
            let is_free = self.db().catalog().relation(&to.0, &to.1).is_none();
            if let (Some(Relation::Table(t)), true) = (self.db().catalog().relation(&from.0, &from.1), is_free) {
                constraints::check_children(self, &t, (&to.0, &to.1))?;
            }
            resolved.push((from, to));
        }
        self.db().catalog().write(|schemas| {
            let mut next = schemas.clone();
            for (from, to) in &resolved {
                rename_relation(&mut next, from, to)?;
            }
            *schemas = next;
            Ok(())
        })??;
        resolved.iter().try_for_each(|(from, to)| self.relock_renamed(from, to))?;
        Ok(0)
    }

    pub(super) fn truncate(&mut self, name: &ObjectName) -> Result<u64> {
        let in_schema = name.schema.as_deref().or(self.current_database()).unwrap_or_default();
        if self.truncate_kept(in_schema, &name.name) {
            return Ok(0);
        }
        let def = self.base_table(name)?;
        self.check_user_schema(&def.schema)?;
        constraints::check_not_referenced(self, &def)?;
        // An empty table of a new id takes the name, in one step; the old one goes with its last reader.
        let new = Arc::new(TableDef { id: self.db().catalog().new_table_id(), ..(*def).clone() });
        let table = self.db().store().create_table(new.clone());
        if def.temporary {
            self.drop_temporary(&def.schema, &def.name);
            self.add_temporary(new);
            return Ok(0);
        }
        let replaced = self.db().catalog().write(|schemas| {
            let Some(schema) = schemas.get_mut(&def.schema) else { return false };
            let is_it = matches!(schema.relations.get(&def.name), Some(Relation::Table(t)) if t.id == def.id);
            if is_it {
                schema.relations.insert(Relation::Table(new.clone()));
            }
            is_it
        })?;
        table.note_published();
        self.db().store().drop_table(if replaced { def.id } else { new.id });
        if replaced { Ok(0) } else { Err(Error::no_such_table(&def.schema, &def.name)) }
    }
}
