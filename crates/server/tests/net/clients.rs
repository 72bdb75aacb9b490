//! Well-behaved clients: the `mysql` crate, and TLS by hand.

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler, OptsBuilder, Row};

use crate::raw::{CAPS, Raw, login_payload};
use crate::toy::ToyServer;

fn opts(server: &ToyServer, user: &str) -> OptsBuilder {
    OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(server.port)
        .prefer_socket(false)
        .user(Some(user))
        .max_allowed_packet(Some(1 << 26))
}

fn who(conn: &mut Conn) -> Row {
    conn.query_first("WHO").unwrap().unwrap()
}

#[test]
fn plugins_over_tcp_and_unix_sockets() {
    let server = ToyServer::start();
    for user in ["native", "sha2", "sha2"] {
        let mut conn = Conn::new(opts(&server, user).pass(Some("pw")).db_name(Some("d"))).unwrap();
        let row = who(&mut conn);
        assert_eq!(row.get::<String, _>(0).unwrap(), user);
        assert_eq!(row.get::<String, _>(1).unwrap(), "d");
        for wrong in [Some("wp"), None] {
            let error = Conn::new(opts(&server, user).pass(wrong)).unwrap_err();
            assert!(error.to_string().contains("1045"), "{error}");
        }
        let socket = server.dir.join("s.sock");
        let by_socket = opts(&server, user).pass(Some("pw")).socket(socket.to_str());
        assert_eq!(who(&mut Conn::new(by_socket).unwrap()).get::<String, _>(0).unwrap(), user);
    }
    for (user, code) in [("nobody", "1045"), ("locked", "3118"), ("tls", "1045")] {
        let error = Conn::new(opts(&server, user)).unwrap_err();
        assert!(error.to_string().contains(code), "{error}");
    }
    let error = Conn::new(opts(&server, "root").db_name(Some("missing"))).unwrap_err();
    assert!(error.to_string().contains("1049"), "{error}");
}

#[test]
fn results_plain_and_compressed() {
    let server = ToyServer::start();
    for compress in [None, Some(mysql::Compression::default())] {
        let mut conn = Conn::new(opts(&server, "root").compress(compress)).unwrap();
        let rows: Vec<(u64, String)> = conn.query("ROWS 30000 60").unwrap();
        assert_eq!(rows.len(), 30_000);
        assert!(rows.iter().enumerate().all(|(i, row)| *row == (i as u64, "x".repeat(60))));

        conn.query_drop("anything").unwrap();
        assert_eq!((conn.affected_rows(), conn.last_insert_id(), conn.warnings()), (1, 7, 3));
        assert_eq!(conn.info_str(), "hello");

        let mut sets = conn.query_iter("ROWS 2 1;ok;ROWS 3 0").unwrap();
        let mut counts = Vec::new();
        while let Some(set) = sets.iter() {
            counts.push(set.fold(0, |count, row| count + usize::from(row.is_ok())));
        }
        drop(sets);
        assert_eq!(counts, [2, 0, 3]);

        // longer than a frame, both ways
        let long = "y".repeat(40 << 20);
        let echo: Option<String> = conn.query_first(format!("ECHO {long}")).unwrap();
        assert!(echo.as_deref() == Some(&long));

        let error = conn.query::<Row, _>("ERR 5").unwrap_err();
        assert!(error.to_string().contains("1064 (42000): You have an error"), "{error}");
        conn.query_drop("still there").unwrap();
    }
}

#[test]
fn commands_beside_queries() {
    let server = ToyServer::start();
    let mut conn = Conn::new(opts(&server, "root")).unwrap();
    conn.ping().unwrap();
    conn.select_db("d2").unwrap();
    assert_eq!(who(&mut conn).get::<String, _>(1).unwrap(), "d2");
    assert!(conn.select_db("missing").is_err());
    conn.reset().unwrap();
    let change = mysql::ChangeUserOpts::new();
    conn.change_user(change.with_user(Some("native".to_owned())).with_pass(Some("pw".to_owned()))).unwrap();
    assert_eq!(who(&mut conn).get::<String, _>(0).unwrap(), "native");
    let change = mysql::ChangeUserOpts::new();
    assert!(conn.change_user(change.with_user(Some("native".to_owned())).with_pass(Some("no".to_owned()))).is_err());
}

#[test]
fn local_files() {
    let server = ToyServer::start();
    for compress in [None, Some(mysql::Compression::default())] {
        let mut conn = Conn::new(opts(&server, "root").compress(compress)).unwrap();
        conn.set_local_infile_handler(Some(LocalInfileHandler::new(|name, writer| {
            let count = String::from_utf8_lossy(name).parse::<usize>().map_err(std::io::Error::other)?;
            (0..count).try_for_each(|i| std::io::Write::write_all(writer, &[(i % 256) as u8; 1000]))
        })));
        for count in [0usize, 1, 5000] {
            conn.query_drop(format!("LOAD {count}")).unwrap();
            assert_eq!(conn.affected_rows(), count as u64 * 1000);
            let sum: usize = (0..count).map(|i| i % 256 * 1000).sum();
            assert_eq!(conn.info_str(), sum.to_string());
        }
        // the statement fails early, the client sends on, and both stay together
        assert!(conn.query_drop("LOAD 5000 fail").unwrap_err().to_string().contains("1064"));
        conn.query_drop("LOAD 3;LOAD 4").unwrap();
        conn.ping().unwrap();
    }
}

#[test]
fn tls_with_the_certificate_of_the_first_start() {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use std::sync::Arc;
    let server = ToyServer::start();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(server.dir.join("ca.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let config = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        let mut plain = Raw::connect(server.port);
        plain.read();
        let caps = CAPS | 1 << 11;
        plain.write(&login_payload(caps, "")[..32]);
        let tls = rustls::ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap();
        let mut raw = Raw { stream: rustls::StreamOwned::new(tls, plain.stream), seq: 2 };
        raw.write(&login_payload(caps, "tls"));
        assert_eq!(raw.read()[0], 0);
        // several TLS records
        raw.query("ROWS 1 200000");
        let (count, _, _, _, row) = (raw.read(), raw.read(), raw.read(), raw.read(), raw.read());
        assert_eq!(count, [2]);
        assert_eq!(row.len(), 2 + 4 + 200_000);
        assert_eq!(raw.read()[0], 0xfe);
    }
}

#[test]
fn secure_transport_can_be_required() {
    let server = ToyServer::start_with(|options| options.require_secure_transport = true);
    let error = Conn::new(opts(&server, "root")).unwrap_err();
    assert!(error.to_string().contains("3159"), "{error}");
    let socket = server.dir.join("s.sock");
    Conn::new(opts(&server, "root").socket(socket.to_str())).unwrap();
}
