//! Where DDL statements begin; CREATE, ALTER and DROP DATABASE; names.
//!
//! Every statement checks all it can first, then publishes its change in one step under the catalog's latch. The
//! storage of a dropped table lives on until the last statement that reads it ends.

use crate::session::Execution;
use catalog::{Relation, SchemaDef, TableDef, ViewDef};
use definitions::constraints;
use parser::ast::{self, Statement};
use session::sink::ResultSink;
use std::sync::Arc;
use types::{Collation, Error, Result};

/// Schemas of the server itself.
const SYSTEM_SCHEMAS: &[&str] = &["information_schema", "mysql", "performance_schema", "sys"];

impl Execution<'_> {
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
        variables::charset::collation(self.vars().text("collation_server"))
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
            let relations = schemas.get(name.as_str()).into_iter().flat_map(|s| s.relations.names());
            relations.map(|n| (name.as_str().into(), n.into())).collect()
        });
        constraints::check_no_reference_left(self, &going)?;
        let Some(schema) = self.db().catalog().write(|schemas| schemas.remove(name.as_str()))? else {
            if !if_exists {
                return Err(Error::db_drop_exists(name.as_str()));
            }
            self.note(Error::db_drop_exists(name.as_str()));
            return Ok(0);
        };
        for relation in schema.relations.iter() {
            self.forget_storage(relation);
        }
        self.leave_database(name.as_str());
        Ok(schema.relations.len() as u64)
    }

    pub(super) fn forget_storage(&self, relation: &Relation) {
        if let Relation::Table(t) = relation {
            self.db().store().drop_table(t.id);
        }
    }
}

pub(super) use catalog::Schemas;
/// Schema and name.
pub(super) type QualifiedName = (Box<str>, Box<str>);

/// Gives a table or view another name; foreign keys follow.
pub(super) fn rename_relation(schemas: &mut Schemas, from: &QualifiedName, to: &QualifiedName) -> Result<()> {
    let ((fs, ft), (ts, tt)) = (from, to);
    let relation =
        schemas.get_mut(fs).and_then(|s| s.relations.remove(ft)).ok_or_else(|| Error::no_such_table(fs, ft))?;
    let target = schemas.get_mut(ts).ok_or_else(|| Error::bad_db(ts))?;
    if target.relations.contains(tt) {
        return Err(Error::table_exists(tt));
    }
    let renamed = match relation {
        Relation::Table(t) => Relation::Table(Arc::new(constraints::renamed(&t, ts, tt))),
        Relation::View(_) if fs != ts => return Err(Error::forbid_schema_change(fs, ts)),
        Relation::View(v) => Relation::View(Arc::new(ViewDef { name: tt.clone(), ..(*v).clone() })),
    };
    target.relations.insert(renamed);
    change_tables(schemas, |t| constraints::with_parent_renamed(t, (fs, ft), (ts, tt)));
    Ok(())
}

/// Gives the tables for which `change` answers a definition that one.
pub(super) fn change_tables(schemas: &mut Schemas, change: impl Fn(&Arc<TableDef>) -> Option<TableDef>) {
    for schema in schemas.values_mut() {
        let changed = |relation: &Relation| match relation {
            Relation::Table(t) => change(t),
            Relation::View(_) => None,
        };
        let new: Vec<TableDef> = schema.relations.iter().filter_map(changed).collect();
        for def in new {
            schema.relations.insert(Relation::Table(Arc::new(def)));
        }
    }
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
    let mut named = variables::charset::Named::default();
    for o in options {
        match o {
            ast::DatabaseOption::Charset(c) => named.charset(c)?,
            ast::DatabaseOption::Collate(c) => named.collation(c)?,
            ast::DatabaseOption::Encryption(false) | ast::DatabaseOption::ReadOnly(false) => {}
            ast::DatabaseOption::Encryption(true) => return Err(Error::not_supported("ENCRYPTION='Y'")),
            ast::DatabaseOption::ReadOnly(true) => return Err(Error::not_supported("READ ONLY databases")),
        }
    }
    Ok(named.resolve(default))
}
