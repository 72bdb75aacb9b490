//! What accounts store of their passwords, how it is exchanged with other servers, and how it came to be salted.

mod common;

use common::Client;
use engine::{AuthPlugin, Database, Options, Verifier};
use std::path::PathBuf;
use std::sync::Arc;
use storage::{DefinitionChange, Object, ObjectKey, ObjectKind};
use types::verifier::{native_hash, sha2_hash, sha2_matches, sha256};

fn memory() -> Arc<Database> {
    Database::open(Options { workers: Some(0), ..Options::default() }).expect("opens")
}

fn verifier_of(db: &Arc<Database>, user: &str) -> Verifier {
    db.accounts().get(user, "%").expect("is there").verifier
}

fn stored(db: &Arc<Database>, user: &str) -> String {
    verifier_of(db, user).authentication_string().to_owned()
}

const REST: &str = " REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL \
                    DEFAULT PASSWORD REQUIRE CURRENT DEFAULT";

#[test]
fn passwords_are_stored_as_mysql_stores_them() {
    let db = memory();
    let mut c = Client::of(&db);
    c.ok("CREATE USER a IDENTIFIED BY 'pw', b IDENTIFIED BY 'pw', n IDENTIFIED WITH mysql_native_password BY 'pw', e");
    let (a, b) = (stored(&db, "a"), stored(&db, "b"));
    assert!(a.len() == 70 && a.starts_with("$A$005$") && a.bytes().all(|x| x.is_ascii_graphic()), "{a}");
    assert!(sha2_matches(b"pw", a.as_bytes()) && !sha2_matches(b"wp", a.as_bytes()));
    assert_ne!(a[7..27], b[7..27], "salts are random");
    assert_eq!(stored(&db, "n"), native_hash(b"pw"));
    assert_eq!(
        c.ok("SHOW CREATE USER a"),
        [format!("CREATE USER `a`@`%` IDENTIFIED WITH 'caching_sha2_password' AS '{a}'{REST}")]
    );
    let native =
        format!("CREATE USER `n`@`%` IDENTIFIED WITH 'mysql_native_password' AS '{}'{REST}", native_hash(b"pw"));
    assert_eq!(c.ok("SHOW CREATE USER n"), [native]);
    assert_eq!(
        c.ok("SHOW CREATE USER e"),
        [format!("CREATE USER `e`@`%` IDENTIFIED WITH 'caching_sha2_password'{REST}")]
    );
    assert_eq!(c.ok("SELECT authentication_string FROM mysql.user WHERE user = 'a'"), std::slice::from_ref(&a));
    // Each way to set a password makes it anew.
    c.ok("ALTER USER a IDENTIFIED BY 'pw'");
    assert_ne!(stored(&db, "a"), a);
    c.ok("SET PASSWORD FOR a = 'other'");
    assert!(sha2_matches(b"other", stored(&db, "a").as_bytes()));
    c.ok("ALTER USER a ACCOUNT LOCK");
    assert!(sha2_matches(b"other", stored(&db, "a").as_bytes()));
    assert_eq!(c.run(&format!("ALTER USER a IDENTIFIED BY '{}'", "x".repeat(257))), Err(1819));
}

#[test]
fn accounts_are_exchanged_by_their_verifiers() {
    let db = memory();
    let mut c = Client::of(&db);
    c.ok(
        "CREATE USER a IDENTIFIED BY 'pw', `o'b``x`@'10.%' IDENTIFIED WITH mysql_native_password BY 'pw' ACCOUNT LOCK",
    );
    c.ok("CREATE USER nothing; REVOKE ALL, GRANT OPTION FROM nothing; GRANT ALL ON *.* TO a WITH GRANT OPTION");
    // What SHOW says is a script that makes the same accounts elsewhere.
    let mut script: Vec<String> = Vec::new();
    for account in ["a", "`o'b``x`@'10.%'", "nothing"] {
        for show in ["SHOW CREATE USER", "SHOW GRANTS FOR"] {
            script.extend(c.ok(&format!("{show} {account}")));
        }
    }
    let other = memory();
    let mut there = Client::of(&other);
    script.iter().for_each(|statement| drop(there.ok(statement)));
    assert_eq!(other.accounts().all(), db.accounts().all());
    // A dump's: comments of versions, quoted names, several in one.
    there.ok("DROP USER a, nothing");
    let a = stored(&db, "a");
    there.ok(&format!(
        "/*!50003 SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES' */;
         CREATE USER IF NOT EXISTS \"a\"@\"%\" IDENTIFIED WITH 'caching_sha2_password' AS '{a}', 'z'@'%'{REST};
         /*!80000 ALTER USER 'z'@'%' IDENTIFIED WITH 'caching_sha2_password' AS '{a}' */; SET sql_mode = DEFAULT"
    ));
    assert_eq!((stored(&other, "a"), stored(&other, "z")), (a.clone(), a));
}

/// MySQL's own salts have bytes of 1 to 127.
#[test]
fn verifiers_with_unprintable_salts() {
    let db = memory();
    let mut c = Client::of(&db);
    let made = sha2_hash(b"pw", b"\x01\n\r'\"\\\x1a\x7fabcdefghijkl");
    let hex: String = made.iter().map(|b| format!("{b:02X}")).collect();
    c.ok(&format!("CREATE USER a IDENTIFIED WITH caching_sha2_password AS 0x{hex}"));
    assert_eq!(stored(&db, "a").as_bytes(), made);
    let as_text = c.ok("SHOW CREATE USER a").remove(0);
    assert!(as_text.contains(r#"AS '$A$005$"#) && as_text.contains(r#"\n\r\'\"\\\Z"#), "{as_text:?}");
    c.ok("SET print_identified_with_as_hex = 1");
    let as_hex = c.ok("SHOW CREATE USER a").remove(0);
    assert_eq!(as_hex, format!("CREATE USER `a`@`%` IDENTIFIED WITH 'caching_sha2_password' AS 0x{hex}{REST}"));
    c.ok("SET print_identified_with_as_hex = 0, sql_mode = 'NO_BACKSLASH_ESCAPES'");
    let plain = c.ok("SHOW CREATE USER a").remove(0);
    for (mode, text) in [("", as_text), ("", as_hex), ("NO_BACKSLASH_ESCAPES", plain)] {
        c.ok(&format!("DROP USER a; SET sql_mode = '{mode}'"));
        c.ok(&text);
        assert_eq!(stored(&db, "a").as_bytes(), made, "{text:?}");
    }
    // Printable ones are text all the same.
    c.ok("SET print_identified_with_as_hex = 1; ALTER USER a IDENTIFIED BY 'pw'");
    assert!(c.ok("SHOW CREATE USER a")[0].contains(" AS '$A$005$"));
}

#[test]
fn malformed_verifiers_are_refused() {
    let db = memory();
    let mut c = Client::of(&db);
    let good = String::from_utf8(sha2_hash(b"pw", &[b'a'; 20])).expect("ASCII");
    c.ok(&format!("CREATE USER a IDENTIFIED WITH caching_sha2_password AS '{good}'"));
    for (plugin, verifier) in [
        ("caching_sha2_password", "'secret'".to_owned()),
        ("caching_sha2_password", "'<secret>'".to_owned()),
        ("caching_sha2_password", format!("'{}'", &good[1..])),
        ("caching_sha2_password", format!("'{good}x'")),
        ("caching_sha2_password", "0x00".to_owned()),
        // The bytes that were stored once are none of MySQL's.
        ("caching_sha2_password", format!("0x{}", "07".repeat(32))),
        ("caching_sha2_password", format!("'{}'", native_hash(b"pw"))),
        ("mysql_native_password", format!("'{good}'")),
        ("mysql_native_password", "'*6C89'".to_owned()),
        ("mysql_native_password", format!("0x{}", "07".repeat(20))),
    ] {
        for verb in ["CREATE USER b, c", "ALTER USER a"] {
            let sql = format!("{verb} IDENTIFIED WITH {plugin} AS {verifier}");
            let e = c.run_full(&sql).expect_err(&sql);
            assert_eq!(
                (e.code().0, e.message()),
                (1827, "The password hash doesn't have the expected format."),
                "{sql}"
            );
        }
    }
    assert_eq!(db.accounts().all().len(), 2, "no account of those before the faulty one");
    assert_eq!(stored(&db, "a"), good);
    c.ok("ALTER USER a IDENTIFIED WITH caching_sha2_password AS ''");
    assert_eq!(verifier_of(&db, "a"), Verifier::None);
}

#[test]
fn passwords_and_verifiers_are_shown_to_nobody_who_may_not_see_them() {
    let db = memory();
    let mut c = Client::of(&db);
    let verifier = String::from_utf8(sha2_hash(b"Hidden1", &[b'a'; 20])).expect("ASCII");
    let hex: String = verifier.bytes().map(|b| format!("{b:02x}")).collect();
    c.ok("SET GLOBAL log_output = 'TABLE', GLOBAL general_log = 1, GLOBAL slow_query_log = 1");
    c.ok("SET long_query_time = 0");
    c.ok(&format!("CREATE USER a IDENTIFIED WITH caching_sha2_password AS '{verifier}'"));
    c.ok(&format!("ALTER USER a IDENTIFIED WITH caching_sha2_password AS 0x{hex}"));
    c.ok(&format!(
        "SET @s = 'ALTER USER a IDENTIFIED WITH caching_sha2_password AS 0x{hex}'; PREPARE p FROM @s; EXECUTE p"
    ));
    assert_eq!(c.run("PREPARE p FROM 'ALTER USERS a IDENTIFIED BY ''Hidden1'''"), Err(1064));
    c.ok("SET PASSWORD FOR a = 'Hidden1'");
    for kept in [
        "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log",
        "SELECT CONVERT(sql_text USING utf8mb4) FROM mysql.slow_log",
        "SELECT CONCAT_WS(' ', sql_text, digest_text, message_text) FROM performance_schema.events_statements_history",
        "SELECT CONCAT_WS(' ', query_sample_text, digest_text) FROM performance_schema.events_statements_summary_by_digest",
        "SHOW PROCESSLIST",
    ] {
        let rows = c.ok(kept);
        assert!(!rows.is_empty(), "{kept}");
        for row in rows {
            assert!(!row.contains("Hidden1") && !row.contains("$A$") && !row.contains("2441"), "{kept}: {row}");
        }
    }
    // Without rights not even one's own verifier.
    c.ok("REVOKE ALL, GRANT OPTION FROM a");
    let mut a = Client::as_user(&db, "a");
    assert!(a.ok("SHOW CREATE USER a")[0].contains(" AS '<secret>' "));
    assert!(!format!("{:?}", db.accounts().all()).contains("$A$"));
}

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Folders have accounts of three former formats, and their digests without salts.
#[test]
fn accounts_of_former_formats_are_salted_when_they_log_in() {
    let dir = Dir(std::env::temp_dir().join(format!("nextleaf-unsalted-{}", std::process::id())));
    let _ = std::fs::remove_dir_all(&dir.0);
    let open =
        || Database::open(Options { dir: Some(dir.0.clone()), workers: Some(0), ..Options::default() }).expect("opens");
    let digest = sha256(&[&sha256(&[b"pw"])]);
    let native = types::verifier::sha1(&[&types::verifier::sha1(&[b"pw"])]);
    let long = sha256(&[&sha256(&[&[b'x'; 300]])]);
    let put = |name: &str, fields: &[&[u8]]| {
        let mut text = Vec::new();
        for field in fields {
            text.extend_from_slice(format!("{}:", field.len()).as_bytes());
            text.extend_from_slice(field);
        }
        let key = ObjectKey { kind: ObjectKind::Account, schema: name.into(), name: "%".into() };
        DefinitionChange::Put(key, Object::new(0, text.into()))
    };
    {
        let db = open();
        db.store()
            .define(vec![
                put("first", &[b"caching_sha2_password", &digest, b""]),
                put("second", &[b"caching_sha2_password", &digest, b"locked", b"grant"]),
                put("third", &[b"caching_sha2_password", &digest, b"", b"", b"usage"]),
                put("native", &[b"mysql_native_password", &native, b"", b""]),
                put("long", &[b"caching_sha2_password", &long, b"", b""]),
                put("open", &[b"caching_sha2_password", b"", b"", b""]),
            ])
            .expect("is logged");
    }
    {
        let db = open();
        for user in ["first", "second", "third"] {
            assert_eq!(verifier_of(&db, user), Verifier::Unsalted(digest), "{user}");
        }
        assert_eq!(stored(&db, "native"), native_hash(b"pw"));
        assert_eq!(verifier_of(&db, "open"), Verifier::None);
        let mut c = Client::of(&db);
        // It is a form of nobody's: not shown, and what is shown cannot be taken for a verifier.
        let shown = c.ok("SHOW CREATE USER first").remove(0);
        assert!(shown.contains(" AS '<secret>' "), "{shown}");
        assert_eq!(c.run(&shown.replace("`first`", "`again`")), Err(1827));
        assert_eq!(c.ok("SELECT authentication_string FROM mysql.user WHERE user = 'first'"), ["<secret>"]);
        // A login with the password, as the network tells of it.
        for user in ["first", "third"] {
            let salted = db.accounts().salt(user, "%", &digest, b"pw").expect("is logged").expect("was unsalted");
            assert!(sha2_matches(b"pw", salted.authentication_string().as_bytes()));
            assert_eq!(verifier_of(&db, user), salted);
            // Done once; who comes too late changes nothing.
            assert_eq!(db.accounts().salt(user, "%", &digest, b"pw"), Ok(None));
        }
        assert_eq!(db.accounts().salt("long", "%", &long, &[b'x'; 300]).expect_err("too long").code().0, 1819);
    }
    let db = open();
    let account = |user: &str| db.accounts().get(user, "%").expect("is there");
    for user in ["first", "third"] {
        assert!(sha2_matches(b"pw", stored(&db, user).as_bytes()), "{user}");
        assert_eq!(account(user).plugin, AuthPlugin::CachingSha2Password);
    }
    assert_eq!(verifier_of(&db, "second"), Verifier::Unsalted(digest));
    assert_eq!(verifier_of(&db, "long"), Verifier::Unsalted(long));
    assert!(account("first").grant_option && account("second").locked && !account("third").privileged);
}
