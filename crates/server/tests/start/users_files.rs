//! Files that statements name: secure_file_priv bounds them.

use mysql::prelude::Queryable;
use mysql::{Conn, Error};

use crate::{Started, folder, run, start};

fn code(c: &mut Conn, sql: &str) -> u16 {
    match c.query_drop(sql) {
        Ok(()) => 0,
        Err(Error::MySqlError(e)) => e.code,
        Err(other) => panic!("{sql}: {other}"),
    }
}

fn shown(c: &mut Conn) -> String {
    c.query_first::<(String, String), _>("SHOW VARIABLES LIKE 'secure_file_priv'").expect("valid").expect("a row").1
}

/// A server, and a file inside of `DIR/in` and one outside.
fn server(name: &str, options: &[&str]) -> (Started, String, Conn) {
    let dir = folder(name);
    std::fs::create_dir_all(dir.join("in")).expect("a folder");
    std::fs::write(dir.join("in/a.csv"), "1\n2\n").expect("written");
    std::fs::write(dir.join("out.csv"), "3\n").expect("written");
    let child = run(&dir, options);
    let mut server = Started { dir, child };
    let said = server.said();
    let mut c = Started::connect(&said);
    c.query_drop("CREATE DATABASE d; CREATE TABLE d.t (a INT)").expect("valid");
    (server, said, c)
}

#[test]
fn by_default_they_are_in_a_folder_of_the_data() {
    let (server, said, mut c) = server("priv", &[]);
    let dir = server.dir.display().to_string();
    assert!(!said.contains("--secure-file-priv"), "{said}");
    assert_eq!(shown(&mut c), format!("{}/", server.dir.join("data/files").canonicalize().expect("made").display()));
    std::fs::copy(server.dir.join("out.csv"), server.dir.join("data/files/b.csv")).expect("copied");
    assert_eq!(code(&mut c, "LOAD DATA INFILE 'files/b.csv' INTO TABLE d.t"), 0);
    assert_eq!(code(&mut c, &format!("LOAD DATA INFILE '{dir}/data/files/b.csv' INTO TABLE d.t")), 0);
    for path in [format!("{dir}/out.csv"), "../out.csv".into(), "manifest".into(), "/etc/passwd".into(), "/none".into()]
    {
        assert_eq!(code(&mut c, &format!("LOAD DATA INFILE '{path}' INTO TABLE d.t")), 1290, "{path}");
    }
    let e = c.query_drop("LOAD DATA INFILE '/etc/passwd' INTO TABLE d.t").expect_err("refused").to_string();
    let wording = "The MySQL server is running with the --secure-file-priv option so it cannot execute this statement";
    assert!(e.contains(wording), "{e}");
    assert_eq!(code(&mut c, &format!("BACKUP TO '{dir}/copy'")), 1290);
    assert_eq!(code(&mut c, "BACKUP TO 'copy'"), 1290);
    assert!(!server.dir.join("copy").exists() && !server.dir.join("data/copy").exists());
    assert_eq!(code(&mut c, "BACKUP TO 'files/copy'"), 0);
    let again = c.query_drop("BACKUP TO 'files/copy'").expect_err("it is full").to_string();
    assert!(again.contains("not empty") && again.contains("files/copy") && !again.contains("/proc/"), "{again}");
    assert_eq!(code(&mut c, "SET GLOBAL secure_file_priv = ''"), 1238);
    // the client's own files are not the server's
    c.set_local_infile_handler(Some(mysql::LocalInfileHandler::new(|_, out| std::io::Write::write_all(out, b"7\n"))));
    assert_eq!(code(&mut c, "LOAD DATA LOCAL INFILE '/anything' INTO TABLE d.t"), 0);
    assert_eq!(c.query_first::<u64, _>("SELECT SUM(a) FROM d.t").expect("valid"), Some(13));
}

#[test]
fn they_are_where_the_option_says() {
    let (server, _, mut c) = server("priv-in", &["--secure-file-priv=DIR/in"]);
    let dir = server.dir.display().to_string();
    std::os::unix::fs::symlink(server.dir.join("out.csv"), server.dir.join("in/link")).expect("a link");
    std::os::unix::fs::symlink(server.dir.join("data"), server.dir.join("in/data")).expect("a link");
    for (path, expected) in [
        (format!("{dir}/in/a.csv"), 0),
        (format!("{dir}/in/../in/a.csv"), 0),
        ("../in/a.csv".into(), 0),
        (format!("{dir}/in/none.csv"), 13),
        (format!("{dir}/none.csv"), 1290),
        (format!("{dir}/out.csv"), 1290),
        (format!("{dir}/in/../out.csv"), 1290),
        (format!("{dir}/in/link"), 1290),
        (format!("{dir}/in/data/manifest"), 1290),
    ] {
        assert_eq!(code(&mut c, &format!("LOAD DATA INFILE '{path}' INTO TABLE d.t")), expected, "{path}");
    }
    assert_eq!(code(&mut c, &format!("BACKUP TO '{dir}/in/copy'")), 0);
    assert_eq!(code(&mut c, &format!("BACKUP TO '{dir}/in/data/copy'")), 1290);
}

#[test]
fn there_may_be_no_bound_or_no_files() {
    let (any, said, mut c) = server("priv-any", &["--secure-file-priv="]);
    let dir = any.dir.display().to_string();
    assert!(said.contains("Insecure configuration for --secure-file-priv"), "{said}");
    assert_eq!(shown(&mut c), "");
    for (sql, expected) in [
        (format!("LOAD DATA INFILE '{dir}/out.csv' INTO TABLE d.t"), 0),
        // but for the server's own
        ("LOAD DATA INFILE 'manifest' INTO TABLE d.t".into(), 1290),
        (format!("LOAD DATA INFILE '{dir}/in/../data/manifest' INTO TABLE d.t"), 1290),
        ("BACKUP TO 'copy'".into(), 1290),
        ("BACKUP TO 'tmp/copy'".into(), 1290),
        (format!("BACKUP TO '{dir}/copy'"), 0),
    ] {
        assert_eq!(code(&mut c, &sql), expected, "{sql}");
    }
    let (none, _, mut c) = server("priv-none", &["--secure-file-priv=NULL"]);
    assert_eq!(shown(&mut c), "NULL");
    let dir = none.dir.display().to_string();
    assert_eq!(code(&mut c, &format!("LOAD DATA INFILE '{dir}/in/a.csv' INTO TABLE d.t")), 1290);
    assert_eq!(code(&mut c, "BACKUP TO 'files/copy'"), 1290);
    let mut wrong = start("priv-wrong", &["--secure-file-priv=DIR/none"]);
    let said = wrong.said();
    assert!(said.contains("Failed to access directory for --secure-file-priv") && !said.contains("ready"), "{said}");
}
