//! The thread that looks after a durable store: it syncs the log once a second where commits do not, and makes
//! checkpoints when the log has grown.

use crate::log::group::FlushMode;
use crate::store::Store;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often the thread looks.
const TICK: Duration = Duration::from_millis(100);
/// How often the log is synced under modes 0 and 2.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// After a failed checkpoint (a full disk, say) the next one waits.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Ends the thread when dropped.
#[derive(Debug)]
pub struct Background {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// `report` gets a line whenever something fails.
    pub fn start(store: Store, report: impl Fn(String) + Send + 'static) -> std::io::Result<Background> {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name("checkpoints".into()).spawn(move || {
            let mut synced = Instant::now();
            let mut not_before = Instant::now();
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let Some(durable) = store.durable() else { return };
                let redo = durable.redo();
                if redo.is_dead() {
                    // It was told when it happened.
                    continue;
                }
                let lazy = redo.mode() != FlushMode::Sync || redo.synced_lsn() < redo.lsn();
                if lazy && synced.elapsed() >= SYNC_EVERY {
                    synced = Instant::now();
                    if let Err(e) = store.flush_log() {
                        report(format!("syncing the redo log failed: {e}"));
                    }
                }
                if durable.is_checkpoint_due()
                    && Instant::now() >= not_before
                    && let Err(e) = store.checkpoint()
                {
                    report(format!("a checkpoint failed and will be tried again: {e}"));
                    not_before = Instant::now() + RETRY_AFTER;
                }
            }
        })?;
        Ok(Background { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was reported by the panic hook.
            let _ = thread.join();
        }
    }
}
