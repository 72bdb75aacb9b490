//! A server's life: limits, listening, signals, stopping.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use engine::files::{self, Kind};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::config::ServerConfig;
use crate::log;
use crate::net::{Backend, ProcessList, SERVER_VERSION, Server, StartError, Stopper};

/// Exit status after a second Ctrl-C, which does not wait.
const EXIT_IMPATIENT: i32 = 130;

/// Serves until SIGINT or SIGTERM; the backend is the caller's to close afterwards.
pub fn serve(config: &ServerConfig, backend: Arc<dyn Backend>, processes: Arc<ProcessList>) -> Result<(), StartError> {
    raise_descriptor_limit();
    reserve_memory();
    let options = config.net_options().map_err(|e| StartError::new(e.to_string()))?;
    let socket = options.socket.clone();
    let server = Server::bind(options, backend.clone(), processes)?;
    let _pid_file = config.pid_file.as_deref().map(|path| PidFile::write(&config.datadir, path)).transpose()?;
    handle_signals(server.stopper(), backend).map_err(|e| StartError::new(format!("cannot handle signals: {e}")))?;
    for address in server.local_addresses() {
        log::system(format_args!("ready for connections on {address}, version {SERVER_VERSION}"));
    }
    if let Some(path) = socket {
        log::system(format_args!("ready for connections on socket {}, version {SERVER_VERSION}", path.display()));
    }
    tell_service_manager(NotifyState::Ready);
    if !server.run() {
        log::warning("some connections did not end in time");
    }
    log::system("stopped listening");
    Ok(())
}

/// For `Type=notify` units of systemd; nothing where no service manager started this process.
fn tell_service_manager(state: NotifyState<'_>) {
    if let Err(e) = sd_notify::notify(&[state]) {
        log::warning(format_args!("the service manager cannot be told: {e}"));
    }
}

/// A file with the number of this process, as long as it serves.
struct PidFile(PathBuf);

impl PidFile {
    /// A relative path starts at the data directory.
    fn write(data: &Path, path: &Path) -> Result<PidFile, StartError> {
        files::open(Some(data), path, Kind::Pid)
            .map_err(|e| StartError::new(format!("cannot write the pid file {e}")))?;
        Ok(PidFile(data.join(path)))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Each connection needs a descriptor, and the usual soft limit of 1024 is soon reached.
fn raise_descriptor_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_err() {
        log::warning("cannot raise the limit of open files");
    }
}

/// A file that may grow no more (ulimit -f) is an error of who writes it, not the process's end. Before the first
/// write.
pub fn survive_file_limits() {
    if let Err(e) = signal_hook::flag::register(SIGXFSZ, Arc::default()) {
        log::warning(format_args!("a limit on the size of files will end the server: {e}"));
    }
}

/// What small takings live on when the system refuses memory, until those that hold much have ended.
fn reserve_memory() {
    let bytes = (memory::limit_bytes() / RESERVE_SHARE).clamp(RESERVE_BYTES.0, RESERVE_BYTES.1);
    if !memory::set_reserve(bytes) {
        log::warning("the system has no memory for a reserve");
    }
}

/// The part of max_server_memory that is reserved, and the least and the most of it.
const RESERVE_SHARE: usize = 32;
const RESERVE_BYTES: (usize, usize) = (16 << 20, 256 << 20);

/// SIGINT and SIGTERM stop the server; SIGHUP and SIGUSR1 open its logs anew, as MySQL's do.
fn handle_signals(stopper: Stopper, backend: Arc<dyn Backend>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1])?;
    let stopping = AtomicBool::new(false);
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if matches!(signal, SIGHUP | SIGUSR1) {
                if let Err(e) = backend.reopen_logs() {
                    log::error(e);
                }
                continue;
            }
            if stopping.swap(true, Ordering::Relaxed) {
                std::process::exit(EXIT_IMPATIENT);
            }
            log::system(format_args!("stopping on {}", if signal == SIGINT { "SIGINT" } else { "SIGTERM" }));
            tell_service_manager(NotifyState::Stopping);
            stopper.stop();
        }
    })?;
    Ok(())
}
