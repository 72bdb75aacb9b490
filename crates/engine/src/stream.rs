//! Reading tables as of one moment, outside of any session: dumps, and programs that have the database in their
//! process.

use crate::database::Database;
use catalog::TableDef;
use storage::{Snapshot, TableStream};
use types::Result;

impl Database {
    /// What is committed now. It costs old versions as long as it is kept.
    pub fn snapshot(&self) -> Snapshot {
        self.store().txns().snapshot()
    }

    /// The rows of a table. `columns`: positions in the definition.
    pub fn stream(&self, table: &TableDef, columns: Vec<usize>, snapshot: &Snapshot) -> Result<TableStream> {
        Ok(TableStream::new(self.store().expect_table(table)?, columns, snapshot.clone()))
    }
}
