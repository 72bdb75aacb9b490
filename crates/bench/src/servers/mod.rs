//! Servers that the benchmarks start for themselves: Nextleaf's own binary and MariaDB, each on a temporary folder.
//!
//! Both are reached through a socket file in that folder, get the same durability and as much memory as they like, and
//! end when the [`Server`] is dropped. Comparisons alternate between them in short runs, so that a noisy neighbour
//! disturbs both alike. What a server costs is read from /proc: processor time and memory of its process.

mod mariadb;
mod proc;

pub use mariadb::start as start_mariadb;
pub use proc::Usage;

use crate::Failure;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to come up or go down.
const SERVER_WAIT: Duration = Duration::from_secs(60);

/// Prepared statements that a client keeps; past it the library closes the oldest.
const STATEMENTS_MAX: usize = 1024;

/// The binary that is measured, where it is not this process's own.
const BINARY_VARIABLE: &str = "NEXTLEAF_BINARY";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    Nextleaf,
    Mariadb,
}

impl System {
    pub fn name(self) -> &'static str {
        match self {
            System::Nextleaf => "Nextleaf",
            System::Mariadb => "MariaDB",
        }
    }
}

/// A system to compare with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Vs {
    Mariadb,
}

/// What every benchmark that starts servers can be told.
#[derive(clap::Args, Debug, Clone)]
pub struct ServerArgs {
    /// Run the same beside it, in turns; scripts/install-rivals.sh installs it
    #[arg(long, value_enum)]
    pub vs: Vec<Vs>,
    /// innodb_flush_log_at_trx_commit of both: 1 survives a power cut, 2 a crash of the server, 0 neither
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub durability: u8,
    /// Leave Nextleaf out, to try the other out
    #[arg(long, hide = true)]
    pub only_others: bool,
    /// More options for Nextleaf's server, such as --server-option=--innodb-log-file-size=1G
    #[arg(long, allow_hyphen_values = true)]
    pub server_option: Vec<String>,
    /// Write an HTML report with plots
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl ServerArgs {
    pub fn systems(&self) -> Vec<System> {
        let ours = (!self.only_others).then_some(System::Nextleaf);
        ours.into_iter().chain(self.vs.iter().map(|_| System::Mariadb)).collect()
    }

    /// Starts all systems, each on a folder of its own under `scratch`.
    pub fn start(&self, scratch: &Path) -> Result<Vec<Server>, Failure> {
        self.systems().into_iter().map(|system| Server::start(system, scratch, self)).collect()
    }
}

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    pub system: System,
    pub version: String,
    pub socket: PathBuf,
    child: Child,
}

fn nextleaf_binary() -> Result<PathBuf, Failure> {
    match std::env::var_os(BINARY_VARIABLE) {
        Some(path) => Ok(path.into()),
        None => Ok(std::env::current_exe()?),
    }
}

fn start_nextleaf(dir: &Path, args: &ServerArgs) -> Result<(Child, PathBuf), Failure> {
    let socket = dir.join("nextleaf.sock");
    let log = dir.join("nextleaf.log");
    let binary = nextleaf_binary()?;
    let mut command = Command::new(&binary);
    command
        .args(["server", "--skip-networking", "--skip-ssl", "--max-connections=2000"])
        .arg(format!("--datadir={}", dir.join("nextleaf").display()))
        .arg(format!("--socket={}", socket.display()))
        .arg(format!("--innodb-flush-log-at-trx-commit={}", args.durability))
        .args(&args.server_option)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log)?);
    let mut child = command.spawn().map_err(|e| format!("{}: {e}", binary.display()))?;
    await_socket("nextleaf", &mut child, &socket, &log)?;
    Ok((child, socket))
}

/// Returns when the socket file is there; a server that ends instead is an error with the last line it wrote.
fn await_socket(name: &str, child: &mut Child, socket: &Path, log: &Path) -> Result<(), Failure> {
    let started = Instant::now();
    while !socket.exists() {
        if let Some(status) = child.try_wait()? {
            let log = std::fs::read_to_string(log).unwrap_or_default();
            return Err(format!("{name} ended ({status}): {}", log.lines().last().unwrap_or("")).into());
        }
        if started.elapsed() > SERVER_WAIT {
            let _ = child.kill();
            return Err(format!("{name} does not come up").into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

impl Server {
    pub fn start(system: System, scratch: &Path, args: &ServerArgs) -> Result<Server, Failure> {
        let (child, socket) = match system {
            System::Nextleaf => start_nextleaf(scratch, args)?,
            System::Mariadb => start_mariadb(scratch, &mariadb::oltp_options(args.durability))?,
        };
        let mut server = Server { system, version: String::new(), socket, child };
        let mut conn = server.connect(None)?;
        server.version = mysql::prelude::Queryable::query_first(&mut conn, "SELECT VERSION()")?.unwrap_or_default();
        Ok(server)
    }

    pub fn name(&self) -> &'static str {
        self.system.name()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How a client reaches it.
    pub fn opts(&self, schema: Option<&str>) -> mysql::Opts {
        let socket = self.socket.display().to_string();
        let opts =
            mysql::OptsBuilder::new().user(Some("root")).socket(Some(socket)).prefer_socket(false).db_name(schema);
        opts.stmt_cache_size(STATEMENTS_MAX).into()
    }

    pub fn connect(&self, schema: Option<&str>) -> Result<mysql::Conn, Failure> {
        Ok(mysql::Conn::new(self.opts(schema)).map_err(|e| format!("{}: {e}", self.name()))?)
    }

    /// What its process has used so far. An error if it has ended.
    pub fn usage(&self) -> Result<Usage, Failure> {
        Usage::of(self.pid()).ok_or_else(|| format!("the server of {} has ended", self.name()).into())
    }

    /// What its process has been using since, and `what` happened.
    pub fn during<R>(&self, what: impl FnOnce() -> Result<R, Failure>) -> Result<(R, Usage), Failure> {
        let before = self.usage()?;
        let done = what()?;
        Ok((done, self.usage()?.since(before)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its data goes away with the folder, so nothing needs to be written back.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
