//! The files of the general and the slow query log: `general_log_file`, `slow_query_log_file`.
//!
//! A file is opened when its log is turned on, by FLUSH, when another takes its place, and by the first record
//! otherwise. Records are written to the open file under a latch that changing the file takes, too: each is in one of
//! the two.

use crate::Notices;
use crate::general_log::GeneralLog;
use crate::log_file::LogFile;
use crate::slow_log::SlowLog;
use machine::files::{self, Kind, Refused};
use std::fs::File;
use std::io;
use std::path::Path;
use types::{Error, Result};
use variables::GlobalVars;

/// The variables that name a log's file, with those that turn it on.
const LOGS: [(&str, &str); 2] = [("general_log_file", "general_log"), ("slow_query_log_file", "slow_query_log")];

/// The logs of a database, with all that decides where they go.
#[derive(Debug)]
pub struct Logs<'d> {
    pub general: &'d GeneralLog,
    pub slow: &'d SlowLog,
    pub variables: &'d GlobalVars,
    /// The data folder, where relative paths begin.
    pub dir: Option<&'d Path>,
    /// Learns that a log cannot be written.
    pub notices: &'d Notices,
}

impl Logs<'_> {
    fn log_file_of(&self, variable: &str) -> &LogFile {
        if variable == LOGS[0].0 { self.general.file() } else { self.slow.file() }
    }

    fn is_on(&self, variable: &str) -> bool {
        self.variables.by_name(variable).as_deref() == Some("ON")
    }

    fn logs_to_files(&self) -> bool {
        self.variables.by_name("log_output").is_some_and(|outputs| outputs.split(',').any(|o| o == "FILE"))
    }

    /// Whether a log may have its file there: not where another log has its own, either.
    fn check_log_path(&self, variable: &str, name: &str) -> std::result::Result<(), Refused> {
        let dir = self.dir;
        let real = files::check(dir, name.as_ref(), Kind::Queries)?;
        let others = LOGS.iter().map(|(other, _)| *other).chain(["log_error"]).filter(|other| *other != variable);
        for other in others {
            let file = self.variables.by_name(other).filter(|file| &**file != "stderr").unwrap_or_default();
            if files::place(dir, Path::new(&*file)).is_ok_and(|other| other == real) {
                return Err(Refused::new(&real, "another log is written there"));
            }
        }
        Ok(())
    }

    /// SET GLOBAL of a log's file: 1231 for one that it cannot have. Other variables have any value.
    pub fn check_log_file(&self, variable: &'static str, name: &str) -> Result<()> {
        if !LOGS.iter().any(|(file, _)| *file == variable) {
            return Ok(());
        }
        self.check_log_path(variable, name).map_err(|_| Error::wrong_value_for_var(variable, name))
    }

    pub fn open_log(&self, variable: &str) -> std::result::Result<File, Refused> {
        let name = self.variables.by_name(variable).unwrap_or_default();
        files::open(self.dir, Path::new(&*name), Kind::Queries)
    }

    /// Writes a record into a log's file.
    pub fn log_record(&self, variable: &'static str, record: impl FnOnce(bool, &mut Vec<u8>)) {
        let open = || self.open_log(variable).map_err(|e| io::Error::other(e.to_string()));
        if let Err(e) = self.log_file_of(variable).write(open, record) {
            self.notices.tell(format!("cannot write the log of {variable}, records are lost: {e}"));
        }
    }

    /// A global variable is about to have the value, which was checked: where it has to do with a log's file, that is
    /// opened first, so that the variable and the log stay as they are where it cannot be.
    pub fn prepare_log(&self, variable: &'static str, value: &str) -> Result<()> {
        let Some((file, on)) = LOGS.iter().find(|(file, on)| [*file, *on].contains(&variable)) else { return Ok(()) };
        if variable == *on {
            let opened = match value == "ON" && self.logs_to_files() {
                true => Some(self.open_log(file).map_err(|e| cannot_open(&e))?),
                false => None,
            };
            self.log_file_of(file).switch(opened);
        } else if self.is_on(on) && self.logs_to_files() {
            let dir = self.dir;
            let opened = files::open(dir, value.as_ref(), Kind::Queries);
            self.log_file_of(file).switch(Some(opened.map_err(|_| Error::wrong_value_for_var(variable, value))?));
        }
        Ok(())
    }

    /// The file is opened anew: FLUSH LOGS, where another has renamed it. What cannot be opened leaves the log as it
    /// is.
    pub fn reopen_log(&self, file: &'static str) -> Result<()> {
        let on = LOGS.iter().find(|(name, _)| *name == file).is_some_and(|(_, on)| self.is_on(on));
        let opened = match on && self.logs_to_files() {
            true => Some(self.open_log(file).map_err(|e| cannot_open(&e))?),
            false => None,
        };
        self.log_file_of(file).switch(opened);
        Ok(())
    }

    /// At the start: files that were named have to be fit, and those of logs that are on are opened.
    pub fn begin_logs(&self) -> Result<()> {
        for (file, on) in LOGS {
            let name = self.variables.by_name(file).unwrap_or_default();
            let refused =
                |e: Refused| Error::new(Error::wrong_value_for_var(file, &*name).code(), format!("{file}: {e}"));
            if self.variables.if_set(file).is_some() || self.is_on(on) {
                self.check_log_path(file, &name).map_err(refused)?;
            }
            if self.is_on(on) && self.logs_to_files() {
                self.log_file_of(file).switch(Some(self.open_log(file).map_err(refused)?));
            }
        }
        Ok(())
    }
}

fn cannot_open(e: &Refused) -> Error {
    let shown = e.to_string();
    let (path, why) = shown.split_once(": ").unwrap_or((&shown, ""));
    Error::cant_open_file(path, 0, why)
}
