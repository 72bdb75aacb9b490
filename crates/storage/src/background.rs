//! The threads that look after a durable store. One syncs the log once a second where commits do not, and makes
//! checkpoints when the log has grown; one writes the log for sessions that do not wait for it themselves.

use crate::log::group::{FlushMode, Redo};
use crate::store::Store;
use std::sync::Arc;
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
    threads: Vec<JoinHandle<()>>,
    redo: Option<Arc<Redo>>,
}

impl Background {
    /// `report` gets a line whenever something fails.
    pub fn start(store: Store, report: impl Fn(String) + Send + 'static) -> std::io::Result<Background> {
        let (stop, stopped) = mpsc::channel();
        let redo = store.durable().map(|durable| durable.redo().clone());
        let mut threads = Vec::new();
        if let Some(redo) = redo.clone() {
            let manager = store.txns().clone();
            let leader = redo.clone();
            let lead = move || leader.lead_for_others(&manager);
            // before it looks whether it is to go on
            redo.begin_leading();
            let spawned = thread::Builder::new().name("log writer".into()).spawn(lead);
            threads.push(spawned.inspect_err(|_| redo.stop_leading())?);
        }
        let checkpoints = thread::Builder::new().name("checkpoints".into()).spawn(move || {
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
        threads.push(checkpoints);
        Ok(Background { stop: Some(stop), threads, redo })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(redo) = &self.redo {
            redo.stop_leading();
        }
        for thread in self.threads.drain(..) {
            // A panic there was reported by the panic hook.
            let _ = thread.join();
        }
    }
}
