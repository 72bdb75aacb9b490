//! `nextleaf server`: opens the data directory and serves it.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Database, OptionFault};
use types::{Error, Result};

use crate::adapter::EngineBackend;
use crate::config::{ServerArgs, ServerConfig};
use crate::log;
use crate::net::StartError;
use crate::serve::{serve, survive_file_limits};

pub(super) fn run(args: Vec<OsString>) -> ExitCode {
    let args = match ServerArgs::parse_line(args) {
        Ok(args) => args,
        Err(e) => {
            let _ = e.print();
            return ExitCode::from(e.exit_code() as u8);
        }
    };
    let started =
        args.config(std::env::vars()).map_err(|e| StartError::new(e.to_string())).and_then(|config| start(&config));
    match started {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            log::error(e);
            ExitCode::FAILURE
        }
    }
}

fn start(config: &ServerConfig) -> std::result::Result<(), StartError> {
    survive_file_limits();
    let failed = |what: &str, e: &dyn std::fmt::Display| StartError::new(format!("{what}: {e}"));
    engine::files::modes::create_dir(&config.datadir)
        .map_err(|e| failed(&format!("cannot make the data directory {}", config.datadir.display()), &e))?;
    let (datadir, log_file) = (config.datadir.clone(), config.log_error.clone());
    if let Some(path) = &log_file {
        log::send_to(&datadir, path).map_err(|e| failed("cannot write the log", &e))?;
    }
    warn_of_open_folder(&config.datadir);
    let reopen = move || match &log_file {
        Some(path) => log::send_to(&datadir, path).map_err(|e| Error::cant_open_file(path.display(), 0, e)),
        None => Ok(()),
    };
    let log_reopener = engine::LogReopener(Some(Arc::new(reopen)));
    let stopper = engine::ServerStopper(Some(Arc::new(stop_this_process)));
    let options = engine::Options { log_reopener, stopper, ..engine_options(config)? };
    let db = Database::open(options).map_err(|e| failed("cannot open the database", &e))?;
    if let Some(path) = &config.init_file {
        db.before_serving(|| run_init_file(&db, path))
            .map_err(|e| failed(&format!("the init file {}", path.display()), &e))?;
    }
    let processes = db.processes().clone();
    let served = serve(config, Arc::new(EngineBackend::new(db.clone())), processes);
    match db.close() {
        Ok(()) => log::system("shutdown complete"),
        Err(e) => log::error(format_args!("the last checkpoint failed, the next start will replay the log: {e}")),
    }
    served
}

/// A folder that was there keeps its mode, as MySQL leaves it; but others than its owner and group are not meant.
fn warn_of_open_folder(dir: &Path) {
    let mode = std::fs::metadata(dir).map_or(0, |meta| meta.mode() & 0o777);
    if mode & 0o007 != 0 {
        let dir = dir.display();
        log::warning(format_args!("the data directory {dir} is open to all users (mode {mode:04o}): chmod 750 {dir}"));
    }
}

/// Has the server stop as SIGTERM has it: once, because the second signal would not wait for connections.
fn stop_this_process() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    if ASKED.swap(true, Ordering::Relaxed) {
        return;
    }
    log::system("SHUTDOWN");
    if let Err(e) = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM) {
        log::error(format_args!("cannot stop: {e}"));
    }
}

/// Settings that the engine knows; those it does not are fatal or, where they may be meant for MySQL, worth a warning.
fn engine_options(config: &ServerConfig) -> std::result::Result<engine::Options, StartError> {
    let mut variables: Vec<(String, String)> = Vec::new();
    for (name, value) in config.shown_variables() {
        variables.push((name.to_owned(), value));
    }
    for setting in &config.variables {
        let refused = |what: &dyn std::fmt::Display| Err(StartError::new(setting.error(what).to_string()));
        match engine::check_option(&setting.name, &setting.value) {
            Ok(_) => variables.push((setting.name.clone(), setting.value.clone())),
            Err(OptionFault::Unknown) if setting.lenient => log::warning(setting.error("unknown here, ignored")),
            Err(OptionFault::Unknown) => return refused(&"there is no such option"),
            Err(OptionFault::NotHere(e)) if setting.lenient => {
                log::warning(setting.error(format_args!("ignored: {e}")));
            }
            Err(OptionFault::NotHere(e) | OptionFault::Wrong(e)) => return refused(&e),
        }
    }
    let notices = engine::Notices(Some(Arc::new(log::system)));
    let warnings = engine::Notices(Some(Arc::new(log::warning)));
    let dir = Some(config.datadir.clone());
    Ok(engine::Options { dir, variables, notices, warnings, ..engine::Options::default() })
}

/// init_file: statements that root executes before anybody can connect.
fn run_init_file(db: &Arc<Database>, path: &Path) -> Result<()> {
    let text = std::fs::read(path).map_err(Error::internal)?;
    db.system_session().execute(&text, true, &mut engine::Collect::without_rows())
}
