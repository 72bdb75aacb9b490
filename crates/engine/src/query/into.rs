//! SELECT ... INTO @variables.

use crate::session::Execution;
use parser::ast::{IntoVar, Query, SelectInto};
use session::sink::ResultSink;
use types::{Error, Result};

impl Execution<'_> {
    pub(super) fn query_into(
        &mut self,
        query: &Query,
        into: &SelectInto,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let vars = match into {
            SelectInto::Vars(vars) => vars,
            SelectInto::Outfile { .. } => return Err(Error::not_supported("SELECT ... INTO OUTFILE")),
            SelectInto::Dumpfile(_) => return Err(Error::not_supported("SELECT ... INTO DUMPFILE")),
        };
        let (rows, more_rows) = if super::locking::has_locking(query) {
            let bound = self.bind_locking(query)?;
            if bound.width != vars.len() {
                return Err(Error::wrong_number_of_columns_in_select());
            }
            let rows = self.locked_values(bound)?;
            let more_rows = rows.len() > 1;
            (rows, more_rows)
        } else {
            let logical = self.bind_query(query)?;
            if logical.output.len() != vars.len() {
                return Err(Error::wrong_number_of_columns_in_select());
            }
            self.collect_first(logical, 1)?
        };
        let found = rows.len() as u64;
        match rows.into_iter().next() {
            None => self.warn(Error::sp_fetch_no_data().into_warning(types::WarningLevel::Warning)),
            Some(row) => {
                for (var, (value, ty)) in vars.iter().zip(row) {
                    match var {
                        IntoVar::User(name) => self.user_vars().set(name, value, ty)?,
                        IntoVar::Local(name) => return Err(Error::sp_undeclared_var(name.as_str())),
                    }
                }
            }
        }
        // The variables have the first row's values by then.
        if more_rows {
            return Err(Error::too_many_rows());
        }
        self.send_ok(found, String::new(), more, sink)
    }
}
