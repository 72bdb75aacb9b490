//! BACKUP TO 'folder': a copy of the database at one moment, while everybody goes on. A server started on the copy has
//! the data. Ours alone; MySQL's CLONE LOCAL DATA DIRECTORY is its nearest kin.

use crate::session::Execution;
use session::sink::ResultSink;
use std::path::Path;
use types::Result;

impl Execution<'_> {
    /// A relative path starts at the data folder. secure_file_priv bounds it: 1290.
    pub(crate) fn backup(&mut self, dir: &str, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        self.commit()?;
        let process = self.process().clone();
        let go_on = || process.check_killed();
        let store = self.db().store();
        let done = if store.durable().is_none() || self.db().options().disk.is_some() {
            store.backup(Path::new(dir), &go_on)?
        } else {
            let dir = self.db().bounds().make_dir(dir)?;
            store.backup(&dir.path(), &go_on).map_err(|e| dir.explain(e))?
        };
        let info = format!("Leaves: {}  Bytes: {}", done.leaves_written, done.bytes_written);
        self.send_ok(0, info, more, sink)
    }
}
