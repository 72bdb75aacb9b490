//! The server's log: lines on standard error, or in the file that takes its place, in the shape of MySQL's error log.

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use engine::files::{self, Kind, Refused};

/// How much a line matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    System,
    Note,
    Warning,
    Error,
}

/// Standard error becomes a file, which grows at its end: what anything else has to say there is in it, too. By its
/// first line it is known for a log of this server's. Relative paths start at the data directory.
pub fn send_to(data: &Path, path: &Path) -> Result<(), Refused> {
    let failed = |e: std::io::Error| Refused::new(path, e);
    let mut file = files::open(Some(data), path, Kind::Errors)?;
    if file.metadata().map_err(failed)?.len() == 0 {
        let (version, id) = (engine::VERSION, std::process::id());
        let first = line(Level::System, format_args!("nextleaf {version} starting as process {id}"));
        file.write_all(first.as_bytes()).map_err(failed)?;
    }
    rustix::stdio::dup2_stderr(&file).map_err(|e| failed(e.into()))
}

fn line(level: Level, message: impl fmt::Display) -> String {
    format!("{} [{level:?}] {message}\n", Utc::now())
}

/// Writes one line, in one piece.
pub fn log(level: Level, message: impl fmt::Display) {
    let line = line(level, message);
    // nobody is left to be told that standard error is gone
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

pub fn system(message: impl fmt::Display) {
    log(Level::System, message);
}

pub fn note(message: impl fmt::Display) {
    log(Level::Note, message);
}

pub fn warning(message: impl fmt::Display) {
    log(Level::Warning, message);
}

pub fn error(message: impl fmt::Display) {
    log(Level::Error, message);
}

/// A moment in UTC, written as in ISO 8601.
struct Utc {
    seconds: u64,
    micros: u32,
}

impl Utc {
    fn now() -> Utc {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Utc { seconds: since.as_secs(), micros: since.subsec_micros() }
    }
}

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, second) = (self.seconds / 86_400, self.seconds % 86_400);
        // days since 0000-03-01, in eras of 400 years: Howard Hinnant, "chrono-compatible low-level date algorithms"
        let z = days + 719_468;
        let (era, day_of_era) = (z / 146_097, z % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:06}Z", self.micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let text = |seconds| Utc { seconds, micros: 5 }.to_string();
        assert_eq!(text(0), "1970-01-01T00:00:00.000005Z");
        assert_eq!(text(951_827_696), "2000-02-29T12:34:56.000005Z");
        assert_eq!(text(1_798_761_599), "2026-12-31T23:59:59.000005Z");
    }
}
