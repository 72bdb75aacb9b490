//! Drivers of Python programs against the server: both protocols, types there and back, transactions, errors.
//!
//! A driver that is not installed is skipped, unless NEXTLEAF_REQUIRE_ORACLES is set.

use std::process::Command;
use std::sync::Arc;

use nextleaf::adapter::EngineBackend;
use nextleaf::net::{Options, Server};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/drivers.py");

fn has(module: &str) -> bool {
    let found = Command::new("python3").args(["-c", &format!("import {module}")]).output();
    let found = found.is_ok_and(|o| o.status.success());
    assert!(
        found || std::env::var_os("NEXTLEAF_REQUIRE_ORACLES").is_none(),
        "{module} is required and not installed for python3"
    );
    found
}

#[test]
fn python_drivers() {
    let drivers: Vec<&str> = ["pymysql", "mysql.connector"].into_iter().filter(|d| has(d)).collect();
    let db = engine::Database::open(engine::Options { workers: Some(1), ..Default::default() }).expect("it opens");
    let mut options = Options::new(env!("CARGO_TARGET_TMPDIR"));
    options.port = 0;
    options.tls.enabled = false;
    let backend = Arc::new(EngineBackend::new(db.clone()));
    let server = Server::bind(options, backend, db.processes().clone()).expect("a free port");
    let (port, stopper) = (server.local_addresses()[0].port(), server.stopper());
    let thread = std::thread::spawn(move || server.run());
    let results: Vec<_> = drivers
        .iter()
        .map(|d| (d, Command::new("python3").args([SCRIPT, d, &port.to_string()]).output().expect("python3 starts")))
        .collect();
    stopper.stop();
    thread.join().expect("no panic");
    for (driver, out) in results {
        let (said, failed) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert_eq!((out.status.success(), said.trim()), (true, "ok"), "{driver}: {failed}");
    }
}
