//! The threads that look after a store. One collects versions that nobody needs any more, as far as commits do not.
//! Where the store is durable, one syncs the log once a second where commits do not, and makes checkpoints when the log
//! has grown; one writes the log for sessions that do not wait for it themselves.

use crate::log::group::{FlushMode, Redo};
use crate::store::Store;
use crate::txn::TxnManager;
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
    manager: Arc<TxnManager>,
}

impl Background {
    /// `report` gets a line whenever something fails.
    pub fn start(store: Store, report: impl Fn(String) + Send + 'static) -> std::io::Result<Background> {
        let redo = store.durable().map(|durable| durable.redo().clone());
        let manager = store.txns().clone();
        // What has started is ended by its drop.
        let mut background = Background { stop: None, threads: Vec::new(), redo, manager };
        background.collect()?;
        if background.redo.is_some() {
            background.lead()?;
            background.checkpoint(store, report)?;
        }
        Ok(background)
    }

    fn collect(&mut self) -> std::io::Result<()> {
        let manager = self.manager.clone();
        // before it looks whether it is to go on
        manager.begin_collecting();
        let collect = move || manager.collect_for_others();
        self.threads.push(thread::Builder::new().name("version collector".into()).spawn(collect)?);
        Ok(())
    }

    fn lead(&mut self) -> std::io::Result<()> {
        let Some(redo) = self.redo.clone() else { return Ok(()) };
        let manager = self.manager.clone();
        redo.begin_leading();
        let lead = move || redo.lead_for_others(&manager);
        self.threads.push(thread::Builder::new().name("log writer".into()).spawn(lead)?);
        Ok(())
    }

    fn checkpoint(&mut self, store: Store, report: impl Fn(String) + Send + 'static) -> std::io::Result<()> {
        let (stop, stopped) = mpsc::channel();
        self.stop = Some(stop);
        let checkpoints = move || {
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
        };
        self.threads.push(thread::Builder::new().name("checkpoints".into()).spawn(checkpoints)?);
        Ok(())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.manager.stop_collecting();
        if let Some(redo) = &self.redo {
            redo.stop_leading();
        }
        for thread in self.threads.drain(..) {
            // A panic there was reported by the panic hook.
            let _ = thread.join();
        }
    }
}
