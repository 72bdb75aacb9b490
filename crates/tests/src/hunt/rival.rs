//! MariaDB, asked the same, and where it is known to answer otherwise.

use super::oracle::{Fault, RIVAL, differ};
use super::schema::Schema;
use crate::oracle::MariaDb;
use crate::{Answer, TextRows};
use std::cell::RefCell;

/// MariaDB has wrong rows by some of its ways, which are therefore off: it takes a constant column of a merged derived
/// table for itself where an outer join has padded the row (`derived_merge`), and keeps a subquery's result for all
/// texts that are equal under their collation (`subquery_cache`).
const FAULTS_OFF: &str = "SET SESSION optimizer_switch = 'derived_merge=off,subquery_cache=off'";

const SQL_MODE: &str = "SET SESSION sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO'";

/// As in MySQL.
const CONCAT_LEN: &str = "SET SESSION group_concat_max_len = 1024";

/// Seconds after which it gives a statement up.
const STATEMENT_S: u32 = 3;

/// What it refuses or gives up and we answer: rows of subqueries within IN (1235), time (1969), group keys of several
/// tables that have one name in HAVING (1463, 1054), operands of INTERSECT with columns of one name, which it makes
/// derived tables (1060).
const THEIR_REFUSALS: &[u16] = &[1235, 1969, 1317, 1463, 1054, 1060];

/// What we refuse and it answers: see COMPAT.md (1235, 1267); reading the table that is changed, as MySQL does (1093);
/// time and memory.
const OUR_REFUSALS: &[u16] = &[1235, 1267, 1093, 3024, 3170];

/// Whether a value that decides nothing is computed at all is each server's own affair.
const OF_VALUES: &[u16] = &[1690, 1242, 1292, 1366];

/// A MariaDB with the tables of one schema.
pub struct Rival {
    theirs: RefCell<MariaDb>,
    /// The script of the tables that are there.
    script: RefCell<Vec<String>>,
}

impl Rival {
    /// `None`: there is no `mariadbd`.
    pub fn start(name: &str) -> Option<Rival> {
        let mut theirs = MariaDb::start(name)?;
        for sql in ["SET NAMES utf8mb4 COLLATE utf8mb4_general_ci", SQL_MODE, FAULTS_OFF, CONCAT_LEN] {
            theirs.run(sql).expect("a setting");
        }
        theirs.run(&format!("SET SESSION max_statement_time = {STATEMENT_S}")).expect("a setting");
        Some(Rival { theirs: RefCell::new(theirs), script: RefCell::default() })
    }

    /// Makes the tables, if others are there.
    pub fn fill(&self, schema: &Schema) -> Result<(), String> {
        let script = schema.script();
        if *self.script.borrow() == script {
            return Ok(());
        }
        self.script.borrow_mut().clear();
        for sql in ["CREATE OR REPLACE DATABASE d", "USE d"].into_iter().chain(script.iter().map(String::as_str)) {
            self.run(sql).map_err(|(code, m)| format!("MariaDB: {code} {m}: {sql}"))?;
        }
        *self.script.borrow_mut() = script;
        Ok(())
    }

    pub fn run(&self, sql: &str) -> Answer {
        self.theirs.borrow_mut().run(sql)
    }

    /// What a change leaves behind; it is taken back.
    pub fn changed(&self, change: &str, table: &str) -> Answer {
        self.run("START TRANSACTION")?;
        let rows = self.run(change).and_then(|_| self.run(table));
        self.run("ROLLBACK")?;
        rows
    }
}

/// The text of numbers may differ in trailing zeros of a scale.
fn cell(c: &Option<String>) -> Option<String> {
    let c = c.as_ref()?;
    let number = c.contains('.') && c.parse::<f64>().is_ok();
    Some(if number { c.trim_end_matches('0').trim_end_matches('.').to_string() } else { c.clone() })
}

fn cells(rows: &TextRows) -> TextRows {
    rows.iter().map(|r| r.iter().map(cell).collect()).collect()
}

/// What is wrong with our answer to a statement, if it is not known to be MariaDB's fault or declared.
pub fn compare(ours: &Answer, theirs: &Answer, ordered: usize) -> Option<Fault> {
    match (ours, theirs) {
        (Ok(a), Ok(b)) => {
            let (class, text) = differ(&cells(a), &cells(b), ordered)?;
            fault(&class, format!("  ours against MariaDB's\n{text}"))
        }
        (Err(_), Err(_)) => None,
        (Err((code, _)), _) | (_, Err((code, _))) if OF_VALUES.contains(code) => None,
        (Err((code, _)), Ok(_)) if OUR_REFUSALS.contains(code) => None,
        (Err((code, m)), Ok(rows)) => {
            fault(&format!("error {code}"), format!("  ours: error {code}: {m}\n  MariaDB's: {} rows", rows.len()))
        }
        (Ok(_), Err((code, _))) if THEIR_REFUSALS.contains(code) => None,
        (Ok(rows), Err((code, m))) => fault(
            &format!("their error {code}"),
            format!("  ours: {} rows\n  MariaDB's: error {code}: {m}", rows.len()),
        ),
    }
}

fn fault(class: &str, text: String) -> Option<Fault> {
    Some(Fault { class: format!("{RIVAL} {class}"), text })
}
