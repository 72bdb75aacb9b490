//! A whole server on a port of its own, with a database in memory.
#![allow(dead_code)]

use mysql::{Conn, OptsBuilder};
use nextleaf::adapter::EngineBackend;
use nextleaf::net::{Options, Server, Stopper};
use std::sync::Arc;

/// Stops when dropped.
pub struct TestServer {
    pub db: Arc<engine::Database>,
    pub port: u16,
    stopper: Stopper,
    thread: Option<std::thread::JoinHandle<bool>>,
}

impl TestServer {
    pub fn start() -> TestServer {
        TestServer::of(engine::Options { workers: Some(1), ..Default::default() })
    }

    pub fn of(options: engine::Options) -> TestServer {
        TestServer::with(options, |_| ())
    }

    /// `set` changes how the network is served.
    pub fn with(options: engine::Options, set: impl FnOnce(&mut Options)) -> TestServer {
        let db = engine::Database::open(options).unwrap();
        let mut options = Options::new(env!("CARGO_TARGET_TMPDIR"));
        options.port = 0;
        options.tls.enabled = false;
        set(&mut options);
        let server = Server::bind(options, Arc::new(EngineBackend::new(db.clone())), db.processes().clone()).unwrap();
        let (port, stopper) = (server.local_addresses()[0].port(), server.stopper());
        TestServer { db, port, stopper, thread: Some(std::thread::spawn(move || server.run())) }
    }

    pub fn opts(&self) -> OptsBuilder {
        OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(self.port).prefer_socket(false).user(Some("root"))
    }

    pub fn connect(&self) -> Conn {
        Conn::new(self.opts()).unwrap()
    }

    /// Statements that run now.
    pub fn running(&self) -> usize {
        self.db.processes().infos().iter().filter(|process| process.command == "Query").count()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stopper.stop();
        self.thread.take().map(|thread| thread.join());
    }
}

/// Number of the server's error.
pub fn code<T: std::fmt::Debug>(result: Result<T, mysql::Error>) -> u16 {
    match result.unwrap_err() {
        mysql::Error::MySqlError(e) => e.code,
        other => panic!("not an error of the server: {other}"),
    }
}
