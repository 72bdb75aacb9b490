//! All plans of a query that switches and hints can force.

use super::queries::Query;
use crate::Failure;
use crate::local::Local;

/// A way to a plan: settings of the session, and the text.
#[derive(Clone, Debug)]
pub struct Way {
    pub name: String,
    pub switch: Option<String>,
    pub sql: String,
}

const SWITCHES: [&str; 16] = [
    "hash_join=off",
    "batched_key_access=off",
    "hash_join=off,batched_key_access=off",
    "mrr=off",
    "mrr_cost_based=off",
    "index_condition_pushdown=off",
    "index_merge=off",
    "skip_scan=off",
    "materialization=off",
    "semijoin=off",
    "semijoin=off,materialization=off",
    "derived_merge=off",
    "derived_condition_pushdown=off",
    "prefer_ordering_index=off",
    "subquery_to_derived=on",
    "use_index_extensions=off",
];

/// Orders of joins that are tried beside those by their first and last table.
const ORDERS: usize = 6;

/// The text with a hint behind its first SELECT.
fn hinted(sql: &str, hint: &str) -> String {
    let at = sql.to_ascii_lowercase().find("select").map_or(0, |i| i + "select".len());
    format!("{} /*+ {hint} */{}", &sql[..at], &sql[at..])
}

/// Names of a table's indexes; none where the name is an alias.
fn indexes(local: &mut Local, table: &str) -> Vec<String> {
    if local.run(&format!("SHOW INDEX FROM {table}")).is_err() {
        return Vec::new();
    }
    let mut names: Vec<String> = local.answer().rows.into_iter().filter_map(|mut r| r.swap_remove(2)).collect();
    names.dedup();
    names
}

/// The chosen plan first.
pub fn ways(local: &mut Local, query: &Query) -> Vec<Way> {
    let mut out = vec![Way { name: "chosen".into(), switch: None, sql: query.sql.clone() }];
    for s in SWITCHES {
        out.push(Way { name: s.into(), switch: Some(s.into()), sql: query.sql.clone() });
    }
    let mut hints: Vec<String> = Vec::new();
    let tables = &query.tables;
    if tables.len() > 1 {
        hints.push("JOIN_FIXED_ORDER()".into());
        for t in tables {
            hints.push(format!("JOIN_PREFIX({t})"));
            hints.push(format!("JOIN_SUFFIX({t})"));
        }
        for seed in 0..ORDERS as u64 {
            let mut order = tables.clone();
            fastrand::Rng::with_seed(seed).shuffle(&mut order);
            hints.push(format!("JOIN_ORDER({})", order.join(", ")));
        }
        let all = tables.join(", ");
        hints.extend(["BKA", "NO_BKA", "NO_HASH_JOIN", "HASH_JOIN", "NO_BNL"].map(|h| format!("{h}({all})")));
    }
    for t in tables {
        hints.extend(
            ["NO_RANGE_OPTIMIZATION", "MRR", "NO_MRR", "NO_ICP", "SKIP_SCAN", "INDEX_MERGE", "NO_INDEX"]
                .map(|h| format!("{h}({t})")),
        );
        for index in indexes(local, t) {
            hints.push(format!("INDEX({t} {index})"));
            hints.push(format!("NO_INDEX({t} {index})"));
        }
    }
    hints.extend(["FIRSTMATCH", "LOOSESCAN", "MATERIALIZATION", "DUPSWEEDOUT"].map(|s| format!("SEMIJOIN({s})")));
    hints.extend(["NO_SEMIJOIN()", "SUBQUERY(MATERIALIZATION)", "SUBQUERY(INTOEXISTS)"].map(str::to_owned));
    out.extend(hints.into_iter().map(|h| Way { sql: hinted(&query.sql, &h), name: h, switch: None }));
    // FORCE INDEX may choose what no hint above does
    for t in tables {
        for index in indexes(local, t) {
            for behind in [format!("FROM {t} WHERE"), format!("FROM {t} ORDER"), format!("FROM {t} GROUP")] {
                if query.sql.contains(&behind) {
                    let forced = behind.replacen(t, &format!("{t} FORCE INDEX ({index})"), 1);
                    let sql = query.sql.replacen(&behind, &forced, 1);
                    out.push(Way { name: format!("FORCE INDEX ({index}) on {t}"), switch: None, sql });
                }
            }
        }
    }
    out
}

/// Whether the way works here; with its switch set, `f` runs.
pub fn with<R>(local: &mut Local, way: &Way, f: impl FnOnce(&mut Local) -> R) -> Result<R, Failure> {
    if let Some(s) = &way.switch {
        local.run(&format!("SET SESSION optimizer_switch = '{s}'"))?;
    }
    let r = f(local);
    if way.switch.is_some() {
        local.run("SET SESSION optimizer_switch = DEFAULT")?;
    }
    Ok(r)
}

/// The plan as EXPLAIN FORMAT=TREE prints it; `costs`: with its estimates.
pub fn plan_of(local: &mut Local, way: &Way, costs: bool) -> Result<String, Failure> {
    with(local, way, |l| l.run(&format!("EXPLAIN FORMAT=TREE {}", way.sql)))??;
    let text: String = local.answer().rows.into_iter().flatten().flatten().collect::<Vec<_>>().join("\n");
    Ok(if costs { text } else { without_costs(&text) })
}

/// The plan of the statement, and what each part of it did and took.
pub fn analyzed(local: &mut Local, way: &Way) -> Result<String, Failure> {
    with(local, way, |l| l.run(&format!("EXPLAIN ANALYZE {}", way.sql)))??;
    Ok(local.answer().rows.into_iter().flatten().flatten().collect::<Vec<_>>().join("\n"))
}

/// Plans that differ in estimates alone are one plan.
pub fn without_costs(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("(cost=") {
        out += &rest[..at];
        rest = rest[at..].find(')').map_or("", |end| &rest[at + end + 1..]);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_stand_behind_the_first_select() {
        assert_eq!(hinted("select a from t", "MRR(t)"), "select /*+ MRR(t) */ a from t");
        assert_eq!(without_costs("-> a  (cost=1 rows=2)\n -> b (cost=3)"), "-> a  \n -> b ");
    }
}
