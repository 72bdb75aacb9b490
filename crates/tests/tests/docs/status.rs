//! The pages of docs/sql: every function, kind of statement and variable of the code has its line, and the examples of
//! the lines do what the lines say.

use crate::page;
use parser::ast::{ShowWhat, Statement};
use std::collections::{BTreeMap, BTreeSet};
use tests::ours::{Ours, configs};

/// One line of a table: what it is about, its state, and an example.
struct Line {
    number: usize,
    subject: String,
    state: String,
    example: Option<String>,
}

/// The cells of a table's line; `\|` is a bar within one.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix("| ")?.strip_suffix('|')?.replace("\\|", "\0");
    Some(inner.split('|').map(|c| c.trim().replace('\0', "|")).collect())
}

/// The tables' lines of a page that have a state: all but heads and rules.
fn lines(text: &str) -> Vec<Line> {
    let mut found = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let Some(cells) = cells(line) else { continue };
        let [subject, state, example] = &cells[..] else { continue };
        if state == "here" {
            continue;
        }
        let example = example.strip_prefix('`').and_then(|e| e.strip_suffix('`')).map(str::to_string);
        found.push(Line { number: i + 1, subject: subject.clone(), state: state.clone(), example });
    }
    assert!(found.len() > 30, "{} lines", found.len());
    found
}

/// The statements of the page's first example: what the others stand on.
fn prepared(text: &str) -> Ours {
    let mut ours = Ours::open(&configs()[0]);
    let (_, after) = text.split_once("```sql\n").expect("the page begins with statements");
    let (script, _) = after.split_once("```").expect("an end of the statements");
    for statement in script.split(";\n").filter(|s| !s.trim().is_empty()) {
        ours.run(statement).unwrap_or_else(|e| panic!("{statement}: {e:?}"));
    }
    ours
}

/// Runs the examples of a page. The number of an error that a state names is the one that is expected.
fn run_examples(name: &str, statement: impl Fn(&str) -> String) {
    let text = page(name);
    let mut ours = prepared(&text);
    let mut faults = Vec::new();
    let mut count = 0;
    for line in lines(&text) {
        let Some(example) = &line.example else { continue };
        count += 1;
        let answer = ours.run(&statement(example));
        let fault = match (&answer, line.state.starts_with("not yet")) {
            (Err((1235, _)), true) | (Ok(_), false) => continue,
            (Ok(_), true) => "works, and the page says that it is not yet there".to_string(),
            (Err((number, message)), _) => format!("{number} {message}"),
        };
        faults.push(format!("{name}:{}: {example}\n  {fault}", line.number));
    }
    assert!(count > 50, "{count} examples");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn examples_of_statements_do_what_the_page_says() {
    run_examples("sql/statements.md", str::to_string);
}

#[test]
fn examples_of_types_operators_and_clauses_do_what_the_page_says() {
    run_examples("sql/language.md", str::to_string);
}

#[test]
fn examples_of_functions_do_what_the_page_says() {
    run_examples("sql/functions.md", |call| format!("SELECT {call} FROM t"));
}

#[test]
fn every_function_has_a_line() {
    let text = page("sql/functions.md");
    let mut states = BTreeMap::new();
    for line in lines(&text) {
        for name in line.subject.split(", ") {
            let before = states.insert(name.to_string(), line.state.clone());
            assert!(before.is_none(), "{name} has two lines");
        }
    }
    let all: BTreeSet<&str> = expr::functions::all().iter().flat_map(|f| f.names.iter().copied()).collect();
    let there = |name: &str| states.get(name).is_some_and(|s| !s.starts_with("not yet"));
    let missing: Vec<&&str> = all.iter().filter(|n| !there(n)).collect();
    assert!(missing.is_empty(), "no line in docs/sql/functions.md: {missing:?}");
    let said: Vec<&String> = states.keys().filter(|n| there(n) && !all.contains(n.as_str())).collect();
    // DEFAULT(column) is a node of its own and no function of the registry.
    assert_eq!(said, ["DEFAULT"], "lines in docs/sql/functions.md about functions that are not there");
}

#[test]
fn every_function_that_is_not_there_yet_is_named() {
    let text = page("sql/functions.md");
    let mut named: BTreeSet<String> = text.split('`').skip(1).step_by(2).map(str::to_string).collect();
    named.extend(lines(&text).into_iter().filter(|l| l.state.starts_with("not yet")).map(|l| l.subject));
    let missing: Vec<&&str> = expr::functions::not_yet().iter().filter(|n| !named.contains(**n)).collect();
    assert!(missing.is_empty(), "not in docs/sql/functions.md: {missing:?}");
}

#[test]
fn names_that_are_said_to_come_are_refused_by_name() {
    let text = page("sql/functions.md");
    let mut ours = Ours::open(&configs()[0]);
    let (_, after) = text.split_once("## JSON: not yet").expect("the lists of names");
    let mut count = 0;
    for name in after.split('`').skip(1).step_by(2).filter(|n| n.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')) {
        if name == "ST_" {
            continue;
        }
        count += 1;
        let calls = [format!("SELECT {name}()"), format!("SELECT {name}('[1]', '$')")];
        let refused = calls.iter().any(|c| matches!(ours.run(c), Err((1235, _))));
        assert!(refused, "{name} is not refused with 1235");
    }
    assert!(count > 50, "{count} names");
}

macro_rules! lines_of {
    ($function:ident, $lines:ident, $of:ty, but $rest:pat, $($kind:pat => $line:literal,)*) => {
        /// The lines of docs/sql/statements.md that kinds of statements need.
        const $lines: &[&str] = &[$($line),*];

        /// The line that a statement belongs to; `None` for those that the grammar knows by their words alone. A new
        /// kind of statement does not compile without a line.
        fn $function(statement: &$of) -> Option<&'static str> {
            match statement {
                $($kind => Some($line),)*
                $rest => None,
            }
        }
    };
}

lines_of! {
    line_of, LINES, Statement, but Statement::Raw { .. },
    Statement::Query(_) => "SELECT",
    Statement::Insert(_) => "INSERT",
    Statement::Update(_) => "UPDATE, of one table or several",
    Statement::Delete(_) => "DELETE, of one table or several",
    Statement::LoadData(_) => "LOAD DATA",
    Statement::Call(_) => "CALL",
    Statement::Do(_) => "DO",
    Statement::Handler(_) => "HANDLER",
    Statement::CreateDatabase(_) => "CREATE DATABASE",
    Statement::AlterDatabase(_) => "ALTER DATABASE",
    Statement::DropDatabase { .. } => "DROP DATABASE",
    Statement::CreateTable(_) => "CREATE TABLE",
    Statement::AlterTable(_) => "ALTER TABLE",
    Statement::DropTable(_) => "DROP TABLE",
    Statement::RenameTable(_) => "RENAME TABLE",
    Statement::Truncate(_) => "TRUNCATE",
    Statement::CreateIndex(_) => "CREATE INDEX",
    Statement::DropIndex(_) => "DROP INDEX",
    Statement::CreateView(_) => "CREATE VIEW",
    Statement::DropView(_) => "DROP VIEW",
    Statement::Use(_) => "USE",
    Statement::Set(_) => "SET",
    Statement::Show(_) => "SHOW VARIABLES, STATUS",
    Statement::Explain(_) => "EXPLAIN",
    Statement::Describe { .. } => "DESCRIBE",
    Statement::Help(_) => "HELP",
    Statement::Prepare { .. } => "PREPARE",
    Statement::Execute { .. } => "EXECUTE",
    Statement::Deallocate(_) => "DEALLOCATE PREPARE",
    Statement::GetDiagnostics(_) => "GET DIAGNOSTICS",
    Statement::Signal(_) => "SIGNAL, RESIGNAL",
    Statement::Begin(_) => "START TRANSACTION, BEGIN",
    Statement::Commit(_) => "COMMIT",
    Statement::Rollback(_) => "ROLLBACK",
    Statement::Savepoint(_) => "SAVEPOINT",
    Statement::RollbackTo(_) => "ROLLBACK TO",
    Statement::ReleaseSavepoint(_) => "RELEASE SAVEPOINT",
    Statement::Xa(_) => "XA",
    Statement::LockTables(_) => "LOCK TABLES",
    Statement::UnlockTables => "UNLOCK TABLES",
    Statement::LockInstance => "LOCK INSTANCE",
    Statement::UnlockInstance => "UNLOCK INSTANCE",
    Statement::Kill(_) => "KILL",
    Statement::Flush(_) => "FLUSH",
    Statement::Reset(_) => "RESET",
    Statement::TableMaintenance(_) => "ANALYZE, CHECK, OPTIMIZE, REPAIR TABLE",
    Statement::Shutdown => "SHUTDOWN",
    Statement::Restart => "RESTART",
    Statement::BackupTo(_) => "BACKUP TO",
    Statement::CreateUser(_) => "CREATE USER",
    Statement::AlterUser(_) => "ALTER USER",
    Statement::DropUser { .. } => "DROP USER",
    Statement::RenameUser(_) => "RENAME USER",
    Statement::CreateRole { .. } => "CREATE ROLE",
    Statement::DropRole { .. } => "DROP ROLE",
    Statement::Grant(_) => "GRANT",
    Statement::Revoke(_) => "REVOKE",
    Statement::SetRole(_) => "SET ROLE",
    Statement::SetDefaultRole { .. } => "SET DEFAULT ROLE",
}

lines_of! {
    line_of_show, SHOW_LINES, ShowWhat, but ShowWhat::Other(_),
    ShowWhat::Databases => "SHOW DATABASES, TABLES, TABLE STATUS, OPEN TABLES",
    ShowWhat::Tables { .. } => "SHOW DATABASES, TABLES, TABLE STATUS, OPEN TABLES",
    ShowWhat::TableStatus { .. } => "SHOW DATABASES, TABLES, TABLE STATUS, OPEN TABLES",
    ShowWhat::OpenTables { .. } => "SHOW DATABASES, TABLES, TABLE STATUS, OPEN TABLES",
    ShowWhat::Triggers { .. } => "SHOW TRIGGERS, EVENTS, PROCEDURE STATUS",
    ShowWhat::Events { .. } => "SHOW TRIGGERS, EVENTS, PROCEDURE STATUS",
    ShowWhat::ProcedureStatus => "SHOW TRIGGERS, EVENTS, PROCEDURE STATUS",
    ShowWhat::FunctionStatus => "SHOW TRIGGERS, EVENTS, PROCEDURE STATUS",
    ShowWhat::Columns { .. } => "SHOW COLUMNS, INDEX",
    ShowWhat::Index { .. } => "SHOW COLUMNS, INDEX",
    ShowWhat::CreateTable(_) => "SHOW CREATE DATABASE, TABLE, VIEW, USER",
    ShowWhat::CreateView(_) => "SHOW CREATE DATABASE, TABLE, VIEW, USER",
    ShowWhat::CreateDatabase { .. } => "SHOW CREATE DATABASE, TABLE, VIEW, USER",
    ShowWhat::CreateUser(_) => "SHOW CREATE DATABASE, TABLE, VIEW, USER",
    ShowWhat::CreateProcedure(_) => "SHOW CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT",
    ShowWhat::CreateFunction(_) => "SHOW CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT",
    ShowWhat::CreateTrigger(_) => "SHOW CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT",
    ShowWhat::CreateEvent(_) => "SHOW CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT",
    ShowWhat::Status { .. } => "SHOW VARIABLES, STATUS",
    ShowWhat::Variables { .. } => "SHOW VARIABLES, STATUS",
    ShowWhat::Engines => "SHOW ENGINES, PLUGINS, CHARACTER SET, COLLATION, PRIVILEGES",
    ShowWhat::Plugins => "SHOW ENGINES, PLUGINS, CHARACTER SET, COLLATION, PRIVILEGES",
    ShowWhat::CharacterSet => "SHOW ENGINES, PLUGINS, CHARACTER SET, COLLATION, PRIVILEGES",
    ShowWhat::Collation => "SHOW ENGINES, PLUGINS, CHARACTER SET, COLLATION, PRIVILEGES",
    ShowWhat::Privileges => "SHOW ENGINES, PLUGINS, CHARACTER SET, COLLATION, PRIVILEGES",
    ShowWhat::Engine { .. } => "SHOW ENGINE INNODB STATUS",
    ShowWhat::ProcessList { .. } => "SHOW PROCESSLIST",
    ShowWhat::Warnings { .. } => "SHOW WARNINGS, ERRORS, COUNT(\\*)",
    ShowWhat::Errors { .. } => "SHOW WARNINGS, ERRORS, COUNT(\\*)",
    ShowWhat::CountWarnings => "SHOW WARNINGS, ERRORS, COUNT(\\*)",
    ShowWhat::CountErrors => "SHOW WARNINGS, ERRORS, COUNT(\\*)",
    ShowWhat::Grants { .. } => "SHOW GRANTS",
    ShowWhat::Profiles => "SHOW PROFILES",
    ShowWhat::Profile { .. } => "SHOW PROFILE",
    ShowWhat::ProcedureCode(_) => "SHOW PROCEDURE, FUNCTION CODE",
    ShowWhat::FunctionCode(_) => "SHOW PROCEDURE, FUNCTION CODE",
    ShowWhat::BinaryLogs => "SHOW BINARY LOGS",
    ShowWhat::BinaryLogStatus => "SHOW BINARY LOG STATUS, BINLOG EVENTS, REPLICA STATUS, REPLICAS",
}

#[test]
fn every_kind_of_statement_has_a_line() {
    let lines = lines(&page("sql/statements.md"));
    let subjects: BTreeSet<&str> = lines.iter().map(|l| l.subject.as_str()).collect();
    let missing: Vec<&&str> = LINES.iter().chain(SHOW_LINES).filter(|n| !subjects.contains(**n)).collect();
    assert!(missing.is_empty(), "no line in docs/sql/statements.md: {missing:?}");
    let mut kinds = BTreeSet::new();
    for example in lines.iter().filter_map(|l| l.example.as_ref()) {
        let parsed = parser::parse(example, &Default::default()).unwrap_or_else(|e| panic!("{example}: {e}"));
        kinds.extend(line_of(&parsed));
        if let Statement::Show(show) = &parsed {
            kinds.extend(line_of_show(&show.what));
        }
    }
    assert!(kinds.len() > LINES.len(), "examples of {} kinds", kinds.len());
}
