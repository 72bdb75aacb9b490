//! Views: a view's text is parsed and bound anew at each use, as a derived table that sees nothing of the statement.

use super::api::Bind;
use super::query::{Bound, QueryUse};
use catalog::ViewDef;
use parser::{ParseOptions, ast};
use types::{Error, ErrorCode, Result};

impl Bind<'_, '_, '_> {
    pub fn view(&mut self, view: &ViewDef) -> Result<Bound> {
        let name = (view.schema.clone(), view.name.clone());
        if self.shared.views.contains(&name) {
            return Err(Error::view_recursive(&view.schema, &view.name));
        }
        // The text was stored with sql_mode's effects on quoting taken out.
        let statement = parser::parse(&view.select_text, &ParseOptions::default())?;
        let ast::Statement::Query(query) = &statement else {
            return Err(Error::view_invalid(&view.schema, &view.name));
        };
        self.shared.views.push(name);
        self.shared.derived_depth += 1;
        let outside = std::mem::replace(&mut self.shared.default_schema, view.default_schema.clone());
        let bound = Bind::new(self.shared).query(query, QueryUse::Derived);
        self.shared.default_schema = outside;
        self.shared.derived_depth -= 1;
        self.shared.views.pop();
        let mut bound = bound.map_err(|e| {
            let invalid = [
                ErrorCode::NO_DB,
                ErrorCode::BAD_DB,
                ErrorCode::NO_SUCH_TABLE,
                ErrorCode::BAD_FIELD,
                ErrorCode::SP_DOES_NOT_EXIST,
                ErrorCode::FUNC_INEXISTENT_NAME_COLLISION,
            ];
            if invalid.contains(&e.code()) { Error::view_invalid(&view.schema, &view.name) } else { e }
        })?;
        if bound.output.len() < view.columns.len() {
            return Err(Error::view_invalid(&view.schema, &view.name));
        }
        // Columns that a table gained after CREATE VIEW are not the view's.
        if !view.columns.is_empty() {
            bound.output.truncate(view.columns.len());
            for ((_, n), new) in bound.output.iter_mut().zip(&view.columns) {
                *n = new.clone();
            }
        }
        Ok(bound)
    }
}
