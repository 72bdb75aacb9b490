//! BACKUP TO 'folder': a copy of the database at one moment, while everybody goes on. A server started on the copy has
//! the data. Ours alone; MySQL's CLONE LOCAL DATA DIRECTORY is its nearest kin.

use crate::session::Session;
use crate::sink::ResultSink;
use std::path::Path;
use types::Result;

impl Session {
    /// A relative path starts where the server was started.
    pub(crate) fn backup(&mut self, dir: &str, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        self.commit()?;
        let done = self.db().store().backup(Path::new(dir))?;
        let info = format!("Leaves: {}  Bytes: {}", done.leaves_written, done.bytes_written);
        self.send_ok(0, info, more, sink)
    }
}
