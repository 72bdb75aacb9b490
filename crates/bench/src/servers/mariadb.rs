//! A MariaDB of our own.

use super::await_socket;
use crate::Failure;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const MISSING: &str = "scripts/install-rivals.sh installs it";

/// Settings for short transactions: as durable as asked for, memory for all the data, nothing that Nextleaf does not do
/// either (binary log, query cache, performance schema).
pub fn oltp_options(durability: u8) -> Vec<String> {
    let mut options: Vec<String> = [
        "--innodb-buffer-pool-size=4G",
        "--innodb-log-file-size=2G",
        "--innodb-log-buffer-size=64M",
        "--innodb-flush-method=O_DIRECT",
        "--character-set-server=utf8mb4",
        "--query-cache-type=0",
        "--query-cache-size=0",
        "--performance-schema=OFF",
        "--max-connections=2000",
        "--max-prepared-stmt-count=1000000",
        "--table-open-cache=4000",
        "--skip-name-resolve",
        "--back-log=2000",
    ]
    .map(str::to_owned)
    .into();
    options.push(format!("--innodb-flush-log-at-trx-commit={durability}"));
    options
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|l| l.strip_prefix("Uid:").is_some_and(|u| u.split_whitespace().next() == Some("0")))
}

/// Starts a server whose files go under `dir`; the process and its socket file.
pub fn start(dir: &Path, options: &[String]) -> Result<(Child, PathBuf), Failure> {
    let (data, socket) = (dir.join("mariadb"), dir.join("mariadb.sock"));
    // Either program refuses to run as root unless told so.
    let user = is_root().then_some("--user=root");
    let made = Command::new("mariadb-install-db")
        .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
        .args(user)
        .arg(format!("--datadir={}", data.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|e| format!("mariadb-install-db: {e} ({MISSING})"))?;
    if !made.success() {
        return Err("mariadb-install-db failed".into());
    }
    let server = ["/usr/sbin/mariadbd", "/usr/local/sbin/mariadbd"].into_iter().find(|p| Path::new(p).exists());
    let log = dir.join("mariadb.log");
    let mut child = Command::new(server.unwrap_or("mariadbd"))
        .args(["--no-defaults", "--skip-networking", "--skip-log-bin"])
        .args(options)
        .args(user)
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--socket={}", socket.display()))
        .arg(format!("--pid-file={}", dir.join("mariadb.pid").display()))
        .stdout(Stdio::null())
        .stderr(File::create(&log)?)
        .spawn()
        .map_err(|e| format!("mariadbd: {e} ({MISSING})"))?;
    await_socket("mariadbd", &mut child, &socket, &log)?;
    Ok((child, socket))
}
