//! How a database is opened, and what it asks of the program that it is in.

use disk::Io;
use monitor::Notices;
use std::path::PathBuf;
use std::sync::Arc;
use types::Result;

/// How to open a database. The defaults suit a server with the machine to itself.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where the database is kept; sessions spill into a folder below it. `None`: it is in memory alone, and spills
    /// into the system's folder for temporary files.
    pub dir: Option<PathBuf>,
    /// Worker threads beside the sessions' own; `None`: one less than the cores.
    pub workers: Option<usize>,
    /// Have workers help with the smallest statements too, for tests.
    pub eager_workers: bool,
    /// It helps another database of the process for a moment, and leaves the process's bounds as that has set them.
    pub is_helper: bool,
    /// When statements run by cached plans: tests compare those with the general way.
    pub cached_plans: CachedPlans,
    /// Rows per leaf, for tests of small leaves.
    pub leaf_rows: Option<usize>,
    /// Bytes that all statements together may hold; `None`: half of max_server_memory or, where that is not set, of
    /// what the machine has or the system lets this process have, whichever is less.
    pub query_memory_bytes: Option<usize>,
    /// Initial values of system variables: (name, text).
    pub variables: Vec<(String, String)>,
    /// Gets lines for the server's log.
    pub notices: Notices,
    /// Gets what people must know: what was dropped at the end of the redo log, say. By default it goes to standard
    /// error.
    pub warnings: Notices,
    /// Opens a folder although the end of its redo log is missing: what was committed there is given up.
    pub accept_loss: bool,
    /// Opens the file of the server's log anew, where it has one.
    pub log_reopener: LogReopener,
    /// Stops the server, where there is one.
    pub stopper: ServerStopper,
    /// The disk that log and checkpoints go to; `None`: the machine's.
    pub disk: Option<Arc<dyn Io>>,
}

/// See [`Options::cached_plans`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CachedPlans {
    /// From the second time on that a statement comes.
    #[default]
    Usual,
    /// From the first time on.
    AtOnce,
    Never,
}

impl Options {
    /// Tells people what they must know.
    pub fn warn(&self, line: String) {
        match &self.warnings.0 {
            Some(tell) => tell(line),
            None => eprintln!("nextleaf: {line}"),
        }
    }
}

/// What FLUSH ERROR LOGS does; nothing by default.
#[derive(Clone, Default)]
pub struct LogReopener(pub Option<Arc<dyn Fn() -> Result<()> + Send + Sync>>);

impl std::fmt::Debug for LogReopener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogReopener")
    }
}

/// What SHUTDOWN does, once its client has its answer; nothing by default.
#[derive(Clone, Default)]
pub struct ServerStopper(pub Option<Arc<dyn Fn() + Send + Sync>>);

impl std::fmt::Debug for ServerStopper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerStopper")
    }
}
