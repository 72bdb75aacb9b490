//! One run of the program sysbench: its arguments, and what it printed.

use super::tests_of::Test;
use crate::Failure;
use crate::servers::Server;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub const SCHEMA: &str = "sbtest";
/// Where the scripts of Debian's package are.
const PROGRAM: &str = "sysbench";
const MISSING: &str = "install it, on Debian with: apt-get install sysbench";

/// How the tables look and how they are used, the same in all runs.
#[derive(Clone, Debug)]
pub struct Shape {
    pub tables: u32,
    pub rows: u64,
    pub rand_type: String,
    pub prepared: bool,
}

/// What one run measured.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Figures {
    pub queries: u64,
    pub transactions: u64,
    /// Transactions a second.
    pub tps: f64,
    pub p95_ms: f64,
    /// Transactions that began anew after a deadlock or a lock wait that took too long.
    pub ignored_errors: u64,
}

/// The version, or how to get it.
pub fn version() -> Result<String, Failure> {
    let out = Command::new(PROGRAM).arg("--version").output();
    let out = out.map_err(|e| format!("cannot run {PROGRAM}: {e}; {MISSING}"))?;
    Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

fn command(server: &Server, script: &str, shape: &Shape, dir: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .current_dir(dir)
        .arg(script)
        .arg("--db-driver=mysql")
        .arg(format!("--mysql-socket={}", server.socket.display()))
        .args(["--mysql-user=root", "--mysql-password="])
        .arg(format!("--mysql-db={SCHEMA}"))
        .arg(format!("--table-size={}", shape.rows))
        .arg(format!("--rand-type={}", shape.rand_type));
    if !shape.prepared {
        command.arg("--db-ps-mode=disable");
    }
    if script.starts_with("oltp_") {
        command.arg(format!("--tables={}", shape.tables));
    }
    command
}

/// Runs to the end; what it printed. Anything but success is an error with its last words.
fn finish(server: &Server, mut command: Command) -> Result<String, Failure> {
    let out = command.output().map_err(|e| format!("cannot run {PROGRAM}: {e}; {MISSING}"))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    if out.status.success() {
        return Ok(text);
    }
    let all = text + &String::from_utf8_lossy(&out.stderr);
    let fatal: Vec<&str> = all.lines().filter(|l| l.contains("FATAL") || l.contains("ALERT")).take(3).collect();
    Err(format!("sysbench against {}: {}", server.name(), fatal.join("; ")).into())
}

/// Creates and fills the tables that the script needs.
pub fn prepare(server: &Server, script: &str, shape: &Shape, dir: &Path) -> Result<(), Failure> {
    let mut command = command(server, script, shape, dir);
    command.arg("prepare");
    finish(server, command).map(drop)
}

pub fn run(
    server: &Server,
    test: Test,
    shape: &Shape,
    threads: usize,
    time: Duration,
    dir: &Path,
) -> Result<Figures, Failure> {
    let mut command = command(server, test.script(), shape, dir);
    command.arg(format!("--threads={threads}")).arg(format!("--time={}", time.as_secs().max(1)));
    command.args(["--events=0", "--percentile=95", "run"]);
    let text = finish(server, command)?;
    figures(&text).ok_or_else(|| format!("sysbench printed what cannot be read:\n{text}").into())
}

/// The number after `label`, where a line begins so.
fn number(text: &str, label: &str) -> Option<f64> {
    let rest = text.lines().find_map(|l| l.trim_start().strip_prefix(label))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn figures(text: &str) -> Option<Figures> {
    let line = text.lines().find_map(|l| l.trim_start().strip_prefix("transactions:"))?;
    let tps = line.split_once('(')?.1.split_whitespace().next()?.parse().ok()?;
    Some(Figures {
        queries: number(text, "queries:")? as u64,
        transactions: number(text, "transactions:")? as u64,
        tps,
        p95_ms: number(text, "95th percentile:")?,
        ignored_errors: number(text, "ignored errors:")? as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_read() {
        let text = "SQL statistics:\n    queries performed:\n        read:      1400\n        write:     400\n\
                    \x20       other:     200\n        total:     2000\n\
                    \x20   transactions:                        100    (9.99 per sec.)\n\
                    \x20   queries:                             2000   (199.80 per sec.)\n\
                    \x20   ignored errors:                      3      (0.30 per sec.)\n\
                    \x20   reconnects:                          0      (0.00 per sec.)\n\n\
                    Latency (ms):\n         min:     0.05\n         95th percentile:     1.25\n         sum:  9\n";
        let expected = Figures { queries: 2000, transactions: 100, tps: 9.99, p95_ms: 1.25, ignored_errors: 3 };
        assert_eq!(figures(text), Some(expected));
        assert_eq!(figures("nothing"), None);
    }
}
