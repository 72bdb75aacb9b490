//! What statements name, with the locks and the rights that it takes.

use catalog::{Catalog, Directory, FkAction, ForeignKey, Relation, SchemaDef, TableDef, TableEngine, TableId, ViewDef};
use names::{ActsAs, Names, ObjectUse, Scope, UseKind};
use std::sync::Arc;
use types::Collation;

fn table(name: &str, parents: &[(&str, FkAction)]) -> Relation {
    let key = |(parent, on_delete): &(&str, FkAction)| ForeignKey {
        name: "k".into(),
        columns: vec![],
        parent_schema: "d".into(),
        parent_table: (*parent).into(),
        parent_columns: vec![],
        on_delete: *on_delete,
        on_update: FkAction::NoAction,
    };
    Relation::Table(Arc::new(TableDef {
        id: TableId(1),
        schema: "d".into(),
        name: name.into(),
        columns: vec![],
        indexes: vec![],
        checks: vec![],
        foreign_keys: parents.iter().map(key).collect(),
        engine: TableEngine::InnoDb,
        collation: Collation::default(),
        comment: "".into(),
        options: vec![],
        created_at: 0,
        temporary: false,
    }))
}

fn view(name: &str, text: &str, security: &str) -> Relation {
    Relation::View(Arc::new(ViewDef {
        schema: "d".into(),
        name: name.into(),
        columns: vec![],
        select_text: text.into(),
        collation: Collation::default(),
        algorithm: "UNDEFINED".into(),
        definer: "owner@%".into(),
        security: security.into(),
        check_option: "NONE".into(),
    }))
}

fn put(catalog: &Catalog, relations: Vec<Relation>) {
    let change = |schemas: &mut catalog::Schemas| {
        let schema = schemas.entry("d".into()).or_insert_with(|| SchemaDef {
            name: "d".into(),
            collation: Collation::default(),
            relations: Directory::default(),
        });
        for r in relations {
            schema.relations.insert(r);
        }
    };
    catalog.write(change).expect("there is no journal");
}

/// Tables `t`, `u`; `p`, which `c` and `r` refer to, and `g`, which refers to `c`; views `v` of `t`, `w` of `v` and
/// `u`.
fn catalog() -> Catalog {
    let catalog = Catalog::default();
    put(
        &catalog,
        vec![
            table("t", &[]),
            table("u", &[]),
            table("p", &[]),
            table("c", &[("p", FkAction::Cascade)]),
            table("r", &[("p", FkAction::Restrict)]),
            table("g", &[("c", FkAction::SetNull)]),
            view("v", "select a from `d`.`t` where a in (select b from `d`.`u`)", "DEFINER"),
            view("w", "select 1 from `d`.`v` join `d`.`u`", "INVOKER"),
            view("circle", "select 1 from `d`.`circle`", "DEFINER"),
        ],
    );
    catalog
}

fn resolve_in(catalog: &Catalog, text: &str, foreign_keys: bool) -> Names {
    let statement = parser::parse(text, &parser::ParseOptions::default()).unwrap_or_else(|e| panic!("{text}: {e}"));
    let scope = Scope {
        catalog,
        schema: Some("d"),
        is_temporary: &|schema, name| (schema, name) == ("d", "own"),
        is_made_up: &|schema, _| schema == "information_schema",
        foreign_keys,
        only_looks: false,
    };
    names::resolve(&statement, &scope)
}

/// `name: locks; rights of each use`, by name.
fn resolved(text: &str) -> Vec<String> {
    let names = resolve_in(&catalog(), text, true);
    let shown = names.objects().iter().map(|o| {
        let locks: Vec<String> = names.locks(o).iter().map(|l| format!("{l:?}")).collect();
        let rights: Vec<String> = o.uses.iter().map(rights_of).filter(|r| !r.is_empty()).collect();
        format!("{}: {}; {}", o.name, locks.join(" "), rights.join(", ")).replace(": ;", ":").trim_end().into()
    });
    shown.collect()
}

fn rights_of(u: &ObjectUse) -> String {
    let rights: Vec<&str> = u.privileges().iter().map(|p| p.name()).collect();
    match &u.acts_as {
        ActsAs::Session => rights.join("+"),
        ActsAs::Definer(view) => format!("{} as {}", rights.join("+"), view.definer),
    }
}

#[test]
fn queries_and_what_is_behind_views() {
    assert_eq!(
        resolved("SELECT * FROM w, information_schema.tables, own, missing, t"),
        [
            "missing: Read; SELECT",
            "own: SELECT",
            "t: Read; SELECT, SELECT as owner@%",
            "u: Read; SELECT, SELECT as owner@%",
            "v: Read; SELECT",
            "w: Read; SELECT",
            "tables: SELECT",
        ]
    );
    assert_eq!(resolved("WITH t AS (SELECT 1) SELECT * FROM t, circle"), ["circle: Read; SELECT, SELECT as owner@%"]);
    assert_eq!(
        resolved("SELECT * FROM v, (SELECT * FROM p) x FOR UPDATE OF v"),
        [
            "p: Read; SELECT",
            "t: ReadWrite; SELECT as owner@%",
            "u: ReadWrite; SELECT as owner@%",
            "v: ReadWrite; SELECT",
        ]
    );
    assert!(resolve_in(&catalog(), "BEGIN", true).objects().is_empty());
}

#[test]
fn changes_and_where_keys_and_views_lead() {
    assert_eq!(resolved("INSERT INTO t SELECT * FROM t"), ["t: Write Read; INSERT, SELECT"]);
    assert_eq!(
        resolved("REPLACE INTO c VALUES (1)"),
        ["c: Write Look; INSERT+DELETE", "g: Look;", "p: Look;"],
        "the parent is looked at, and so are those that refer to a row that goes"
    );
    assert_eq!(resolved("DELETE FROM p"), ["c: Look;", "g: Look;", "p: ReadWrite Look; DELETE", "r: Look;"]);
    assert_eq!(
        resolved("UPDATE w SET a = 1"),
        [
            "t: ReadWrite; UPDATE as owner@%",
            "u: ReadWrite Read; UPDATE, SELECT as owner@%",
            "v: ReadWrite; UPDATE",
            "w: ReadWrite; UPDATE",
        ]
    );
    assert_eq!(
        resolved("UPDATE t JOIN v ON t.a = v.a SET t.a = 1"),
        ["t: ReadWrite Read; UPDATE, SELECT as owner@%", "u: Read; SELECT as owner@%", "v: ReadWrite; SELECT"]
    );
    let without_keys = resolve_in(&catalog(), "DELETE FROM p", false);
    assert_eq!(without_keys.objects().len(), 1);
}

#[test]
fn definitions() {
    assert_eq!(resolved("CREATE TABLE new LIKE t"), ["new: Exclusive; CREATE", "t: Look; SELECT"]);
    assert_eq!(resolved("CREATE TABLE t (a INT)"), ["t: Look; CREATE"], "it is there already");
    assert_eq!(
        resolved("CREATE TABLE e.new (FOREIGN KEY (a) REFERENCES p (b)) SELECT * FROM own"),
        ["own: SELECT", "new: Exclusive; INSERT+CREATE", "p: Keep; REFERENCES"]
    );
    let there = resolved("CREATE TABLE IF NOT EXISTS t (FOREIGN KEY (a) REFERENCES p (b))");
    assert_eq!(there, ["p: Look; REFERENCES", "t: Look; CREATE"], "nothing will be made");
    assert_eq!(resolved("DROP TABLE own, t"), ["own: DROP", "t: Exclusive; DROP"]);
    assert_eq!(resolved("ALTER TABLE t ADD a INT, LOCK = SHARED"), ["t: AlterShared; ALTER"]);
    assert_eq!(resolved("ALTER TABLE t RENAME TO n"), ["n: Exclusive; INSERT+CREATE", "t: Exclusive; DROP+ALTER"]);
    assert_eq!(resolved("ALTER TABLE own RENAME TO n"), ["n: INSERT+CREATE", "own: DROP+ALTER"]);
    assert_eq!(
        resolved("CREATE OR REPLACE VIEW n AS SELECT * FROM v"),
        [
            "n: Exclusive; DROP+CREATE VIEW",
            "t: Read; SELECT as owner@%",
            "u: Read; SELECT as owner@%",
            "v: Read; SELECT",
        ]
    );
    assert_eq!(resolved("OPTIMIZE TABLE t"), ["t: Alter; SELECT+INSERT"]);
}

/// LOCK TABLES locks for itself, until UNLOCK TABLES; what it has to lock is resolved as for others.
#[test]
fn lock_tables_reaches_as_far_as_writes_will() {
    let kinds = |text: &str| -> Vec<String> {
        let names = resolve_in(&catalog(), text, true);
        let kind = |u: &ObjectUse| match u.kind {
            UseKind::Named(usage) => format!("{usage:?}").replace("LockTable(", "").replace(')', ""),
            other => format!("{other:?}"),
        };
        let all = |o: &names::Object| o.uses.iter().map(kind).collect::<Vec<_>>().join(" ");
        names.objects().iter().map(|o| format!("{} {}", o.name, all(o))).collect()
    };
    assert_eq!(kinds("LOCK TABLES w READ"), ["t Read", "u Read Read", "v Read", "w Read"]);
    assert_eq!(kinds("LOCK TABLES p WRITE"), ["c Write Read", "g Write", "p Write Read", "r Read"]);
}

#[test]
fn objects_are_compared_with_what_they_were() {
    let catalog = catalog();
    let statement = "SELECT * FROM w, missing";
    let names = resolve_in(&catalog, statement, true);
    let depends = names.dependencies(&catalog);
    let holds = |catalog: &Catalog| depends.iter().all(|d| d.holds(catalog));
    put(&catalog, vec![table("other", &[("t", FkAction::Cascade)])]);
    assert!(names.are_current(&catalog) && holds(&catalog), "a reading statement does not mind who refers to a table");
    put(&catalog, vec![table("t", &[])]);
    assert!(!names.are_current(&catalog) && !holds(&catalog), "one like it is another one");
    let names = resolve_in(&catalog, statement, true);
    put(&catalog, vec![table("missing", &[])]);
    assert!(!names.are_current(&catalog), "what was not there is");
    let change = resolve_in(&catalog, "DELETE FROM u", true);
    let depends = change.dependencies(&catalog);
    put(&catalog, vec![table("late", &[("u", FkAction::Restrict)])]);
    assert!(change.are_current(&catalog) && !depends.iter().all(|d| d.holds(&catalog)), "a key leads to it now");
}

#[test]
fn rights_are_refused_in_the_order_of_the_statement() {
    let refused = |text: &str| {
        let names = resolve_in(&catalog(), text, true);
        let e = names.check_rights(accounts::Rights::NONE, "me", "here").expect_err("it has no rights");
        e.message().replace(" command denied to user 'me'@'here' for table", "")
    };
    assert_eq!(refused("SELECT * FROM u, t"), "SELECT 'u'");
    assert_eq!(refused("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1"), "INSERT, UPDATE 't'");
    assert_eq!(refused("CREATE VIEW x AS SELECT * FROM missing"), "CREATE VIEW 'x'");
    let names = resolve_in(&catalog(), "DELETE FROM p", true);
    assert!(names.check_rights(accounts::Rights::SYSTEM, "me", "here").is_ok());
}
