//! The thread that makes statistics anew when many rows of a table have changed (innodb_stats_auto_recalc).
//!
//! ```text
//!   a statement plans by figures out of date ─▶ Store: due ─▶ wake ─▶ thread: gather ─▶ histograms that go along
//! ```
//! The thread begins when there is something to do and ends when that is done. No statement waits for it.

use crate::database::Database;
use catalog::TableId;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

#[derive(Debug, Default)]
pub struct Keeper {
    state: Mutex<State>,
    stop: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct State {
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Begins the thread if statistics are due and it does not run.
    pub fn wake(&self, db: &Arc<Database>) {
        let mut state = self.state.lock();
        let runs = state.thread.as_ref().is_some_and(|t| !t.is_finished());
        if runs || self.stop.load(Ordering::Relaxed) {
            // It looks once more before it ends.
            return;
        }
        let (store, weak, stop) = (db.store().clone(), Arc::downgrade(db), self.stop.clone());
        let thread = std::thread::Builder::new().name("statistics".into()).spawn(move || {
            let stopped = || stop.load(Ordering::Relaxed);
            loop {
                let refreshed = store.refresh_due_statistics(&stopped);
                let Some(db) = weak.upgrade().filter(|_| !refreshed.is_empty() && !stopped()) else { return };
                refresh_histograms(&db, &refreshed);
            }
        });
        // Without a thread the figures stay as they are; the next statement tries again.
        state.thread = thread.ok();
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.state.lock().thread.take();
        if let Some(thread) = thread.filter(|t| t.thread().id() != std::thread::current().id()) {
            // A panic there was reported by the panic hook.
            let _ = thread.join();
        }
    }
}

/// Histograms made WITH n BUCKETS AUTO UPDATE.
fn refresh_histograms(db: &Arc<Database>, tables: &[TableId]) {
    for id in tables {
        let Some(def) = db.store().table(*id).map(|t| t.def()) else { continue };
        if def.temporary || def.columns.iter().all(|c| c.histogram.as_ref().is_none_or(|h| !h.auto_update)) {
            continue;
        }
        let mut session = db.system_session();
        let text = format!("ANALYZE LOCAL TABLE {}.{}", quote(&def.schema), quote(&def.name));
        // It goes on next time.
        let _ = session.execute(text.as_bytes(), false, &mut session::collect::Collect::without_rows());
    }
}

fn quote(name: &str) -> String {
    introspection::show_create::quote(name)
}
