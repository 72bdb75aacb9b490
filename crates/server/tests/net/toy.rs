//! A backend that understands a few made-up statements, to try the network with.
//!
//! ```text
//! ROWS n len        n rows of a number and len bytes
//! ECHO text         one row: the text
//! SPIN              runs until it is killed
//! LOAD name         reads a local file: affected rows = its length, info = sum of its bytes
//! ERR               error 1064;  ERR n: after n rows
//! WHO               one row: what is known of the client
//! PANIC
//! LIMIT idle ms     sets wait_timeout
//! a;b               two statements
//! ```

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nextleaf::net::{Backend, Client, ClientHost, Limits, Options, ProcessList, Reply, Server, Session, Stopper};
use protocol::auth::{Account, Plugin, Secret};
use protocol::{Column, OkPacket, SessionChange, StatusFlags, crypt};
use types::{Collation, Error, ErrorCode, Result, SqlType};

#[derive(Default)]
pub struct Toy {
    /// Statements that run, and that were stopped by a kill.
    pub running: AtomicUsize,
    pub killed: AtomicUsize,
    pub processes: Arc<ProcessList>,
    pub passwords: bool,
}

struct ToySession {
    toy: Arc<Toy>,
    client: Client,
    limits: Limits,
}

fn account(user: &str, plugin: Plugin, stored: Vec<u8>) -> Account {
    let secret = Secret::from_auth_string(plugin, &stored).unwrap();
    Account { user: user.to_owned(), host: "%".to_owned(), plugin, secret, locked: false, tls_required: false }
}

/// [`Toy`] behind an Arc, as the sessions need it.
pub struct ToyBackend(pub Arc<Toy>);

impl Backend for ToyBackend {
    fn account(&self, user: &str, _: &ClientHost) -> Option<Account> {
        match user {
            "root" => Some(account("root", Plugin::CachingSha2Password, Vec::new())),
            "native" => Some(account("native", Plugin::NativePassword, crypt::native_hash(b"pw").into_bytes())),
            "sha2" => Some(account("sha2", Plugin::CachingSha2Password, crypt::sha2_hash(b"pw", &[b'a'; 20]))),
            "locked" => Some(Account { locked: true, ..account("locked", Plugin::NativePassword, Vec::new()) }),
            "tls" => Some(Account { tls_required: true, ..account("tls", Plugin::NativePassword, Vec::new()) }),
            _ => None,
        }
    }

    fn has_account_with_password(&self) -> bool {
        self.0.passwords
    }

    fn connect(&self, client: Client) -> Result<Box<dyn Session>> {
        if client.database.as_deref() == Some("missing") {
            return Err(Error::bad_db("missing"));
        }
        Ok(Box::new(ToySession { toy: self.0.clone(), client, limits: Limits::default() }))
    }
}

impl ToySession {
    fn statement(&mut self, sql: &[u8], status: StatusFlags, reply: &mut Reply<'_>) -> Result<()> {
        let text = String::from_utf8_lossy(sql);
        let words: Vec<&str> = text.split(' ').collect();
        let done = OkPacket { status, ..OkPacket::default() };
        match words[0] {
            "ROWS" | "ERR" => {
                let number = |i: usize| words.get(i).and_then(|word| word.parse::<usize>().ok()).unwrap_or(0);
                let (count, value) = (number(1), vec![b'x'; number(2)]);
                if words.len() > 1 {
                    let string = SqlType::varchar(100, Collation::Utf8mb4_0900AiCi);
                    let columns = [Column::of_type("n", &SqlType::BIGINT, 63), Column::of_type("s", &string, 255)];
                    reply.columns(&columns, 0, status)?;
                    for n in 0..count {
                        reply.row(|row| {
                            row.int(n as i64);
                            row.bytes(&value);
                        })?;
                    }
                }
                match words[0] {
                    "ERR" => Err(Error::new(ErrorCode::PARSE, "You have an error")),
                    _ => reply.end(&done),
                }
            }
            "ECHO" => {
                let string = SqlType::varchar(100, Collation::Utf8mb4_0900AiCi);
                reply.columns(&[Column::of_type("echo", &string, 255)], 0, status)?;
                reply.row(|row| row.bytes(&sql[5..]))?;
                reply.end(&done)
            }
            "SPIN" => {
                self.toy.running.fetch_add(1, Ordering::SeqCst);
                while self.client.process.killed().is_none() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                self.toy.running.fetch_sub(1, Ordering::SeqCst);
                self.toy.killed.fetch_add(1, Ordering::SeqCst);
                self.client.process.check_killed()
            }
            "LOAD" => {
                let mut file = reply.local_infile(words[1].as_bytes())?;
                let (mut len, mut sum, mut piece) = (0, 0u64, vec![0; 10_000]);
                loop {
                    let read = file.read(&mut piece).map_err(Error::internal)?;
                    if read == 0 {
                        break;
                    }
                    len += read as u64;
                    sum += piece[..read].iter().map(|&byte| u64::from(byte)).sum::<u64>();
                    if words.get(2) == Some(&"fail") {
                        return Err(Error::new(ErrorCode::PARSE, "no more"));
                    }
                }
                drop(file);
                reply.ok(&OkPacket { affected_rows: len, info: &sum.to_string(), ..done })
            }
            "LIMIT" => {
                self.limits.idle = Duration::from_millis(words[2].parse().expect("milliseconds"));
                reply.ok(&done)
            }
            "WHO" => {
                let string = SqlType::varchar(100, Collation::Utf8mb4_0900AiCi);
                let columns = ["user", "db", "tls", "attributes"].map(|name| Column::of_type(name, &string, 255));
                reply.columns(&columns, 0, status)?;
                let client = &self.client;
                reply.row(|row| {
                    row.bytes(client.user.as_bytes());
                    match &client.database {
                        Some(name) => row.bytes(name.as_bytes()),
                        None => row.null(),
                    }
                    match &client.tls {
                        Some((version, _)) => row.bytes(version.as_bytes()),
                        None => row.null(),
                    }
                    row.int(client.attributes.len() as i64);
                })?;
                reply.end(&done)
            }
            "PANIC" => panic!("as asked"),
            _ => reply.ok(&OkPacket { affected_rows: 1, last_insert_id: 7, warnings: 3, info: "hello", ..done }),
        }
    }
}

impl Session for ToySession {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn status(&self) -> StatusFlags {
        StatusFlags::AUTOCOMMIT
    }

    fn query(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> Result<()> {
        let statements: Vec<&[u8]> = match reply.multi_statements() && sql.len() < 1000 {
            true => sql.split(|&byte| byte == b';').collect(),
            false => vec![sql],
        };
        for (i, statement) in statements.iter().enumerate() {
            let more = if i + 1 < statements.len() { StatusFlags::MORE_RESULTS } else { StatusFlags::default() };
            self.statement(statement, StatusFlags::AUTOCOMMIT | more, reply)?;
        }
        Ok(())
    }

    fn use_database(&mut self, name: &[u8]) -> Result<()> {
        self.client.database = Some(String::from_utf8_lossy(name).into_owned());
        if name == b"missing" { Err(Error::bad_db("missing")) } else { Ok(()) }
    }

    fn field_list(&mut self, _: &[u8], _: &[u8], reply: &mut Reply<'_>) -> Result<()> {
        let column = Column::of_type("n", &SqlType::BIGINT, 63);
        let changes = [SessionChange::State];
        reply.field_list(&[(column, None)], &OkPacket { changes: &changes, ..OkPacket::default() })
    }

    fn statistics(&mut self) -> String {
        "Uptime: 1  Threads: 1".to_owned()
    }

    fn kill(&mut self, id: u32) -> Result<()> {
        self.toy.processes.kill(id, nextleaf::net::Kill::Connection)
    }

    fn reset(&mut self) -> Result<()> {
        self.limits = Limits::default();
        Ok(())
    }

    fn change_user(&mut self, client: Client) -> Result<()> {
        self.client = client;
        Ok(())
    }
}

/// A server with a toy behind it, on a port of its own.
pub struct ToyServer {
    pub toy: Arc<Toy>,
    pub port: u16,
    pub dir: PathBuf,
    stopper: Stopper,
    thread: Option<std::thread::JoinHandle<bool>>,
}

impl ToyServer {
    pub fn start() -> ToyServer {
        ToyServer::start_with(|_| {})
    }

    pub fn start_with(change: impl FnOnce(&mut Options)) -> ToyServer {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("toy-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let mut options = Options::new(&dir);
        options.port = 0;
        options.socket = Some(dir.join("s.sock"));
        change(&mut options);
        let toy = Arc::new(Toy::default());
        let server = Server::bind(options, Arc::new(ToyBackend(toy.clone())), toy.processes.clone()).unwrap();
        let port = server.local_addresses().first().map_or(0, |address| address.port());
        let stopper = server.stopper();
        let thread = Some(std::thread::spawn(move || server.run()));
        ToyServer { toy, port, dir, stopper, thread }
    }

    /// Stops it; true if all connections ended in time.
    pub fn stop(&mut self) -> bool {
        self.stopper.stop();
        self.thread.take().is_none_or(|thread| thread.join().unwrap())
    }
}

impl Drop for ToyServer {
    fn drop(&mut self) {
        self.stop();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
