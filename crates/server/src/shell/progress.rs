//! A progress bar for statements that take longer than a moment.
//!
//! A thread of its own looks at the session's progress counters and draws; it starts drawing only after
//! [`QUIET_FOR`], so that short statements never flicker.

use engine::Process;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

const QUIET_FOR: Duration = Duration::from_millis(700);
const REDRAW_EVERY: Duration = Duration::from_millis(100);

/// Draws until stopped or dropped.
pub struct Bar {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    pub fn start(process: Arc<Process>) -> Bar {
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("progress".into()).spawn(move || {
            if stopped.recv_timeout(QUIET_FOR) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new(0);
            let style = ProgressStyle::with_template("{bar:40} {percent:>3}% {msg} {elapsed}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style);
            loop {
                let (done, total, unit) = process.progress();
                bar.set_length(total.max(1));
                bar.set_position(done.min(total.max(1)));
                bar.set_message(format!("{done} {unit}"));
                bar.tick();
                if stopped.recv_timeout(REDRAW_EVERY) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            bar.finish_and_clear();
        });
        Bar { stop: Some(stop), thread: thread.ok() }
    }

    pub fn stop(&mut self) {
        self.stop.take();
        if let Some(t) = self.thread.take() {
            let _ = t.join();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.stop();
    }
}
