//! CREATE, DROP, TRUNCATE, RENAME of databases, tables and views.
//!
//! Every statement checks all it can first, then publishes its change in one step under the catalog's latch. The storage
//! of a dropped table lives on until the last statement that reads it ends.

use super::{constraints, define};
use crate::session::Session;
use crate::sink::ResultSink;
use catalog::{Relation, SchemaDef, TableDef, TableEngine, ViewDef};
use parser::ast::{self, CreateTableBody, ObjectName, Statement};
use std::sync::Arc;
use types::{Collation, Error, Result, WarningLevel};

/// Schemas of the server itself.
const SYSTEM_SCHEMAS: &[&str] = &["information_schema", "mysql", "performance_schema", "sys"];

impl Session {
    pub(crate) fn ddl(
        &mut self,
        statement: &Statement,
        text: &[u8],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        use Statement::*;
        let affected = match statement {
            CreateDatabase(c) => self.create_database(c)?,
            AlterDatabase(a) => self.alter_database(a)?,
            DropDatabase { if_exists, name } => self.drop_database(name, *if_exists)?,
            CreateTable(c) => return self.create_table(c, more, sink),
            DropTable(d) => self.drop_tables(d)?,
            RenameTable(pairs) => self.rename_tables(pairs)?,
            Truncate(name) => self.truncate(name)?,
            CreateView(v) => self.create_view(v, text)?,
            DropView(d) => self.drop_views(d)?,
            AlterTable(a) => return self.alter_table(a, more, sink),
            CreateIndex(c) => return self.create_index(c, more, sink),
            DropIndex(d) => return self.drop_index(d, more, sink),
            _ => return Err(Error::internal("not a schema change")),
        };
        self.send_ok(affected, String::new(), more, sink)
    }

    /// The schema and name of an object; 1046 without a current database.
    pub(crate) fn resolve_name(&self, name: &ObjectName) -> Result<(Box<str>, Box<str>)> {
        let schema = match &name.schema {
            Some(s) => self.canonical_schema(s).ok_or_else(|| Error::bad_db(s.as_str()))?,
            None => self.current_database().ok_or_else(Error::no_db)?.into(),
        };
        Ok((schema, name.name.as_str().into()))
    }

    /// A base table by name; 1146, or 1347 for a view.
    pub(crate) fn base_table(&self, name: &ObjectName) -> Result<Arc<TableDef>> {
        let (schema, name) = self.resolve_name(name)?;
        match catalog::CatalogReader::relation(self, &schema, &name) {
            Some(Relation::Table(t)) => Ok(t),
            Some(Relation::View(_)) => Err(Error::wrong_object(&schema, &name, "BASE TABLE")),
            None => Err(Error::no_such_table(&schema, &name)),
        }
    }

    pub(super) fn check_user_schema(&self, schema: &str) -> Result<()> {
        if SYSTEM_SCHEMAS.contains(&schema) {
            return Err(Error::dbaccess_denied(self.user().0, self.user().1, schema));
        }
        Ok(())
    }

    fn create_database(&mut self, c: &ast::CreateDatabase) -> Result<u64> {
        check_name(&c.name, || Error::wrong_db_name(c.name.as_str()))?;
        let collation = database_collation(&c.options, self.server_collation()?)?;
        let name: Box<str> = c.name.as_str().into();
        let exists = self.db().catalog().write(|schemas| {
            if schemas.contains_key(&name) {
                return true;
            }
            schemas.insert(name.clone(), SchemaDef { name: name.clone(), collation, relations: Default::default() });
            false
        })?;
        match (exists, c.if_not_exists) {
            (true, true) => self.note(Error::db_create_exists(&name)),
            (true, false) => return Err(Error::db_create_exists(&name)),
            _ => {}
        }
        Ok(1)
    }

    fn server_collation(&self) -> Result<Collation> {
        crate::charset::collation(self.vars().text("collation_server"))
    }

    fn alter_database(&mut self, a: &ast::AlterDatabase) -> Result<u64> {
        let name = match &a.name {
            Some(n) => self.canonical_schema(n).ok_or_else(|| Error::bad_db(n.as_str()))?,
            None => self.current_database().ok_or_else(Error::no_db)?.into(),
        };
        self.check_user_schema(&name)?;
        let collation = database_collation(&a.options, self.schema_collation(&name))?;
        self.db().catalog().write(|schemas| {
            if let Some(s) = schemas.get_mut(&name) {
                s.collation = collation;
            }
        })?;
        Ok(1)
    }

    fn drop_database(&mut self, name: &ast::Ident, if_exists: bool) -> Result<u64> {
        self.check_user_schema(name)?;
        let going: Vec<(Box<str>, Box<str>)> = self.db().catalog().read(|schemas| {
            let relations = schemas.get(name.as_str()).into_iter().flat_map(|s| s.relations.keys());
            relations.map(|n| (name.as_str().into(), n.clone())).collect()
        });
        self.check_no_reference_left(&going)?;
        let Some(schema) = self.db().catalog().write(|schemas| schemas.remove(name.as_str()))? else {
            if !if_exists {
                return Err(Error::db_drop_exists(name.as_str()));
            }
            self.note(Error::db_drop_exists(name.as_str()));
            return Ok(0);
        };
        for relation in schema.relations.values() {
            self.forget_storage(relation);
        }
        if self.current_database() == Some(name.as_str()) {
            self.leave_database();
        }
        Ok(schema.relations.len() as u64)
    }

    fn forget_storage(&self, relation: &Relation) {
        if let Relation::Table(t) = relation {
            self.db().store().drop_table(t.id);
        }
    }

    fn create_table(&mut self, c: &ast::CreateTable, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let (schema, name) = self.resolve_name(&c.name)?;
        check_name(&name, || Error::wrong_table_name(&name))?;
        self.check_user_schema(&schema)?;
        let exists = match c.temporary {
            true => self.temporary().get(&schema, &name).is_some(),
            false => catalog::CatalogReader::relation(self.db().catalog(), &schema, &name).is_some(),
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
                def.foreign_keys.clear();
                def.columns.iter_mut().for_each(|c| c.histogram = None);
                def.temporary = c.temporary;
                (def.id, def.created_at) = (id, self.now_us() / 1_000_000);
                (def, None)
            }
            CreateTableBody::Define(body) => self.define_table(id, &schema, &name, body, c.temporary)?,
        };
        let auto_start = match &c.body {
            CreateTableBody::Define(body) => body.options.iter().find_map(|o| match o {
                ast::TableOption::AutoIncrement(n) => Some(*n),
                _ => None,
            }),
            CreateTableBody::Like(_) => None,
        };
        let def = Arc::new(def);
        let Some(query) = query else {
            self.publish_table(&def, auto_start, c.if_not_exists)?;
            return self.send_ok(0, String::new(), more, sink);
        };
        let duplicates = match &c.body {
            CreateTableBody::Define(body) => body.on_duplicate,
            CreateTableBody::Like(_) => ast::SelectDuplicates::Error,
        };
        if duplicates != ast::SelectDuplicates::Error {
            return Err(Error::not_supported("CREATE TABLE ... IGNORE or REPLACE SELECT"));
        }
        // The table is filled before anyone can see it: a query that fails leaves nothing behind.
        self.db().store().create_table(def.clone());
        let filled = self.fill_table(&def, query);
        let published = filled.and_then(|rows| {
            if def.temporary {
                self.add_temporary(def.clone());
                return Ok(rows);
            }
            self.insert_relation(&def, c.if_not_exists)?;
            Ok(rows)
        });
        match published {
            Ok(rows) => {
                let info = format!("Records: {rows}  Duplicates: 0  Warnings: {}", self.warnings().count());
                self.send_ok(rows, info, more, sink)
            }
            Err(e) => {
                self.db().store().drop_table(def.id);
                Err(e)
            }
        }
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
        let options = define::options(&body.options, self.schema_collation(schema), default_engine)?;
        if options.substituted.is_some() {
            self.warn(Error::warn_using_other_handler("InnoDB", name).into_warning(WarningLevel::Warning));
        }
        let source = body.query.as_deref().map(|q| self.bind_source(q)).transpose()?;
        let extra = source.as_ref().map(|s| s.columns()).transpose()?.unwrap_or_default();
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
        result
    }

    fn is_published(&self, def: &TableDef) -> bool {
        let published = catalog::CatalogReader::relation(self.db().catalog(), &def.schema, &def.name);
        matches!(published, Some(Relation::Table(t)) if t.id == def.id)
    }

    /// Adds the definition to its schema; 1050 if someone was faster.
    fn insert_relation(&mut self, def: &Arc<TableDef>, if_not_exists: bool) -> Result<()> {
        let outcome = self.db().catalog().write(|schemas| {
            let Some(s) = schemas.get_mut(&def.schema) else { return Err(Error::bad_db(&def.schema)) };
            if s.relations.contains_key(&def.name) {
                return if if_not_exists { Ok(false) } else { Err(Error::table_exists(&def.name)) };
            }
            s.relations.insert(def.name.clone(), Relation::Table(def.clone()));
            Ok(true)
        })??;
        if !outcome {
            self.note(Error::table_exists(&def.name));
        }
        Ok(())
    }

    fn drop_tables(&mut self, d: &ast::DropTable) -> Result<u64> {
        let mut missing = Vec::new();
        let (mut found, mut temporary) = (Vec::new(), Vec::new());
        for name in &d.tables {
            let (schema, table) = self.resolve_name(name)?;
            self.check_user_schema(&schema)?;
            if self.temporary().get(&schema, &table).is_some() {
                temporary.push((schema, table));
                continue;
            }
            match catalog::CatalogReader::relation(self, &schema, &table) {
                Some(Relation::Table(_)) if !d.temporary => found.push((schema, table)),
                _ => missing.push(format!("{schema}.{table}")),
            }
        }
        if !missing.is_empty() && !d.if_exists {
            return Err(Error::bad_table(missing.join(",")));
        }
        for m in missing {
            self.note(Error::bad_table(m));
        }
        self.check_no_reference_left(&found)?;
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
        Ok(0)
    }

    pub(super) fn rename_tables(&mut self, pairs: &[(ObjectName, ObjectName)]) -> Result<u64> {
        let mut resolved = Vec::new();
        for (from, to) in pairs {
            let (from, to) = (self.resolve_name(from)?, self.resolve_name(to)?);
            self.check_user_schema(&from.0)?;
            self.check_user_schema(&to.0)?;
            check_name(&to.1, || Error::wrong_table_name(&to.1))?;
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
        Ok(0)
    }

    fn truncate(&mut self, name: &ObjectName) -> Result<u64> {
        let in_schema = name.schema.as_deref().or(self.current_database()).unwrap_or_default();
        if self.truncate_kept(in_schema, &name.name) {
            return Ok(0);
        }
        let def = self.base_table(name)?;
        self.check_user_schema(&def.schema)?;
        self.check_not_referenced(&def)?;
        // An empty table of a new id takes the name, in one step; the old one goes with its last reader.
        let new = Arc::new(TableDef { id: self.db().catalog().new_table_id(), ..(*def).clone() });
        self.db().store().create_table(new.clone());
        if def.temporary {
            self.drop_temporary(&def.schema, &def.name);
            self.add_temporary(new);
            return Ok(0);
        }
        let replaced = self.db().catalog().write(|schemas| {
            let relation = schemas.get_mut(&def.schema).and_then(|s| s.relations.get_mut(&def.name));
            match relation {
                Some(Relation::Table(t)) if t.id == def.id => {
                    *t = new.clone();
                    true
                }
                _ => false,
            }
        })?;
        self.db().store().drop_table(if replaced { def.id } else { new.id });
        if replaced { Ok(0) } else { Err(Error::no_such_table(&def.schema, &def.name)) }
    }

    fn create_view(&mut self, v: &ast::CreateView, _text: &[u8]) -> Result<u64> {
        let (schema, name) = self.resolve_name(&v.name)?;
        check_name(&name, || Error::wrong_table_name(&name))?;
        self.check_user_schema(&schema)?;
        let existing = catalog::CatalogReader::relation(self, &schema, &name);
        match &existing {
            Some(Relation::Table(_)) if v.or_replace || v.alter => {
                return Err(Error::wrong_object(&schema, &name, "VIEW"));
            }
            Some(_) if v.if_not_exists => {
                self.note(Error::table_exists(&name));
                return Ok(0);
            }
            Some(_) if !v.or_replace && !v.alter => return Err(Error::table_exists(&name)),
            None if v.alter => return Err(Error::no_such_table(&schema, &name)),
            _ => {}
        }
        if v.query.into.is_some() {
            return Err(Error::view_select_clause("INTO"));
        }
        let def = self.define_view(v, &schema, &name)?;
        if v.check_option.is_some() && !self.is_updatable(&def) {
            return Err(Error::view_nonupd_check(&schema, &name));
        }
        self.db().catalog().write(|schemas| {
            let s = schemas.get_mut(&schema).ok_or_else(|| Error::bad_db(&schema))?;
            s.relations.insert(name.clone(), Relation::View(Arc::new(def)));
            Ok(())
        })??;
        Ok(0)
    }

    /// Whether rows can be changed through a view.
    pub(crate) fn is_updatable(&self, view: &ViewDef) -> bool {
        let info = self.info();
        self.binder(&info).is_updatable(view)
    }

    /// Binds the query, so that errors show now, and keeps its text with the current database written in.
    fn define_view(&self, v: &ast::CreateView, schema: &str, name: &str) -> Result<ViewDef> {
        let logical = self.bind_query(&v.query)?;
        let columns: Vec<Box<str>> = if v.columns.is_empty() {
            logical.output.iter().map(|(_, n)| n.clone()).collect()
        } else {
            v.columns.iter().map(|c| c.as_str().into()).collect()
        };
        if columns.len() != logical.output.len() {
            return Err(Error::view_wrong_list());
        }
        for (i, c) in columns.iter().enumerate() {
            if columns[..i].iter().any(|d| d.to_lowercase() == c.to_lowercase()) {
                return Err(Error::dup_fieldname(c));
            }
        }
        let select_text = v.query.to_string();
        let definer = match &v.definer {
            Some(ast::Account::Named { user, host }) => format!("{user}@{}", host.as_deref().unwrap_or("%")),
            _ => format!("{}@{}", self.user().0, self.user().1),
        };
        Ok(ViewDef {
            schema: schema.into(),
            name: name.into(),
            columns,
            select_text: select_text.into(),
            default_schema: self.current_database().map(Into::into),
            algorithm: match v.algorithm {
                ast::ViewAlgorithm::Undefined => "UNDEFINED",
                ast::ViewAlgorithm::Merge => "MERGE",
                ast::ViewAlgorithm::Temptable => "TEMPTABLE",
            }
            .into(),
            definer: definer.into(),
            security: if v.invoker { "INVOKER" } else { "DEFINER" }.into(),
            check_option: match v.check_option {
                None => "NONE",
                Some(ast::ViewCheck::Local) => "LOCAL",
                Some(ast::ViewCheck::Cascaded) => "CASCADED",
            }
            .into(),
        })
    }

    fn drop_views(&mut self, d: &ast::DropView) -> Result<u64> {
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for name in &d.views {
            let (schema, view) = self.resolve_name(name)?;
            match catalog::CatalogReader::relation(self, &schema, &view) {
                Some(Relation::View(_)) => found.push((schema, view)),
                Some(Relation::Table(_)) => return Err(Error::wrong_object(&schema, &view, "VIEW")),
                None => missing.push(format!("{schema}.{view}")),
            }
        }
        if !missing.is_empty() && !d.if_exists {
            return Err(Error::bad_table(missing.join(",")));
        }
        for m in missing {
            self.note(Error::bad_table(m));
        }
        self.db().catalog().write(|schemas| {
            for (s, v) in &found {
                if let Some(s) = schemas.get_mut(s) {
                    s.relations.remove(v);
                }
            }
        })?;
        Ok(0)
    }
}

type Schemas = std::collections::BTreeMap<Box<str>, SchemaDef>;
/// Schema and name.
pub(super) type QualifiedName = (Box<str>, Box<str>);

/// Gives a table or view another name; foreign keys follow.
pub(super) fn rename_relation(schemas: &mut Schemas, from: &QualifiedName, to: &QualifiedName) -> Result<()> {
    let ((fs, ft), (ts, tt)) = (from, to);
    let relation =
        schemas.get_mut(fs).and_then(|s| s.relations.remove(ft)).ok_or_else(|| Error::no_such_table(fs, ft))?;
    let target = schemas.get_mut(ts).ok_or_else(|| Error::bad_db(ts))?;
    if target.relations.contains_key(tt) {
        return Err(Error::table_exists(tt));
    }
    let renamed = match relation {
        Relation::Table(t) => Relation::Table(Arc::new(constraints::renamed(&t, ts, tt))),
        Relation::View(_) if fs != ts => return Err(Error::forbid_schema_change(fs, ts)),
        Relation::View(v) => Relation::View(Arc::new(ViewDef { name: tt.clone(), ..(*v).clone() })),
    };
    target.relations.insert(tt.clone(), renamed);
    for relation in schemas.values_mut().flat_map(|s| s.relations.values_mut()) {
        if let Relation::Table(t) = relation
            && let Some(new) = constraints::with_parent_renamed(t, (fs, ft), (ts, tt))
        {
            *t = Arc::new(new);
        }
    }
    Ok(())
}

pub(super) fn check_name(name: &str, wrong: impl FnOnce() -> Error) -> Result<()> {
    if name.chars().count() > 64 {
        return Err(Error::too_long_ident(name));
    }
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(wrong());
    }
    Ok(())
}

fn database_collation(options: &[ast::DatabaseOption], default: Collation) -> Result<Collation> {
    let (mut charset, mut collate) = (None, None);
    for o in options {
        match o {
            ast::DatabaseOption::Charset(c) => charset = Some(c.as_str()),
            ast::DatabaseOption::Collate(c) => collate = Some(c.as_str()),
            ast::DatabaseOption::Encryption(false) | ast::DatabaseOption::ReadOnly(false) => {}
            ast::DatabaseOption::Encryption(true) => return Err(Error::not_supported("ENCRYPTION='Y'")),
            ast::DatabaseOption::ReadOnly(true) => return Err(Error::not_supported("READ ONLY databases")),
        }
    }
    crate::charset::resolve(charset, collate, default)
}
