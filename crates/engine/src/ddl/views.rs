//! CREATE, ALTER and DROP VIEW.

use super::statements::check_name;
use crate::session::Execution;
use catalog::{Relation, ViewDef};
use parser::ast;
use session::view_text;
use std::sync::Arc;
use types::{Error, Result};

impl Execution<'_> {
    pub(super) fn create_view(&mut self, v: &ast::CreateView, _text: &[u8]) -> Result<u64> {
        let (schema, name) = self.resolve_name(&v.name)?;
        check_name(&name, || Error::wrong_table_name(&name))?;
        self.check_user_schema(&schema)?;
        let existing = catalog::CatalogReader::relation(&**self, &schema, &name)?;
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
            s.relations.insert(Relation::View(Arc::new(def)));
            Ok(())
        })??;
        Ok(0)
    }

    /// Binds the query, so that errors show now, and keeps its text with its stars and databases spelled out.
    fn define_view(&self, v: &ast::CreateView, schema: &str, name: &str) -> Result<ViewDef> {
        let mut query = (*v.query).clone();
        if let Some(current) = self.current_database() {
            view_text::qualify(&mut query, current);
        }
        let bound = {
            let info = self.info();
            self.binder(&info).bind_view_query(&query, schema, name)?
        };
        let width = bound.columns.len();
        let columns: Vec<Box<str>> = match v.columns.is_empty() {
            true => bound.columns,
            false => v.columns.iter().map(|c| c.as_str().into()).collect(),
        };
        if columns.len() != width {
            return Err(Error::view_wrong_list());
        }
        for (i, c) in columns.iter().enumerate() {
            if columns[..i].iter().any(|d| d.to_lowercase() == c.to_lowercase()) {
                return Err(Error::dup_fieldname(c));
            }
        }
        let select_text = bound.query.to_string();
        let definer = match &v.definer {
            Some(ast::Account::Named { user, host }) => format!("{user}@{}", host.as_deref().unwrap_or("%")),
            _ => format!("{}@{}", self.user().0, self.user().1),
        };
        Ok(ViewDef {
            schema: schema.into(),
            name: name.into(),
            columns,
            select_text: select_text.into(),
            collation: self.info().collation_connection,
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

    pub(super) fn drop_views(&mut self, d: &ast::DropView) -> Result<u64> {
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for name in &d.views {
            let (schema, view) = self.resolve_name(name)?;
            match catalog::CatalogReader::relation(&**self, &schema, &view)? {
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
