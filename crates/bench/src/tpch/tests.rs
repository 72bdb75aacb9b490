//! The benchmark in miniature; at a smaller scale still, the generator's partsupp has duplicate keys. At this scale
//! some queries answer nothing; what they answer is compared with DuckDB where that is installed.

use super::*;

fn args() -> TpchArgs {
    TpchArgs {
        scale: 0.01,
        vs: Vec::new(),
        queries: Vec::new(),
        runs: 1,
        threads: Some(2),
        memory: None,
        tbl: None,
        limit: 60,
        write_tbl: None,
        explain: false,
        indexes: false,
        storm: None,
        out: None,
    }
}

fn has_duckdb() -> bool {
    let tried = std::process::Command::new("python3").args(["-c", "import duckdb"]).output();
    tried.is_ok_and(|o| o.status.success())
}

#[test]
fn all_queries_answer_and_agree() {
    let mut args = args();
    if has_duckdb() {
        args.vs.push(RivalKind::Duckdb);
    }
    let report = measure(&args).expect("it runs");
    assert_eq!(report.outcomes.len(), 22);
    let problems: Vec<_> = report.outcomes.iter().flat_map(|o| o.problems.iter().map(|p| (o.query, p))).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    let html = report::html(&report);
    assert!(html.contains("<svg") && !html.contains("http:") && !html.contains("https:"), "a report stands alone");
}

#[test]
fn generated_text_loads_as_the_generated_rows() {
    let dir = Scratch::new().expect("a temporary folder");
    let tbl = dir.path().join("tbl");
    run(&TpchArgs { write_tbl: Some(tbl.clone()), ..args() }).expect("files are written");
    let generated = measure(&TpchArgs { queries: vec![1, 6], ..args() }).expect("it runs");
    let loaded = measure(&TpchArgs { queries: vec![1, 6], tbl: Some(tbl), ..args() }).expect("it runs");
    for (a, b) in generated.outcomes.iter().zip(&loaded.outcomes) {
        assert_eq!(a.hash, b.hash, "query {}", a.query);
    }
}

#[test]
fn sizes_have_units() {
    assert_eq!(parse_bytes("256M"), Ok(256 << 20));
    assert_eq!(parse_bytes("1g"), Ok(1 << 30));
    assert_eq!(parse_bytes("77"), Ok(77));
    assert!(parse_bytes("1T").is_err() && parse_bytes("M").is_err() && parse_bytes("99999999999G").is_err());
}

#[test]
fn sums_do_not_change_in_a_storm() {
    let mut local = Local::open(2).expect("a database");
    fill(&mut local, &args(), 2).expect("data");
    // Whether the machine is fast enough is not for a test to say.
    let args = TpchArgs { runs: 3, ..args() };
    storm::run(&mut local, &args, 500, &[1, 3, 6, 18]).expect("no sum changes");
}
