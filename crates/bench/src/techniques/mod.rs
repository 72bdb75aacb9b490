//! `bench icp|mrr|bka|hash-join|materialization`: a technique on and off, in Nextleaf and beside MariaDB.
//!
//! The layout of the published tables: metrics down, on and off across. Times are those of cached runs, the four
//! columns taken in turns; counters are SHOW SESSION STATUS around one more run, less what the asking itself counts.
//! All answers are compared, on with off and Nextleaf with MariaDB.

mod queries;

use crate::local::Local;
use crate::machine::{self, Times};
use crate::page::{self, Bars, Page, short};
use crate::scratch::Scratch;
use crate::tpch::rival::Rival;
use crate::tpch::{self, RivalKind, answers};
use crate::{Failure, table};
pub use queries::{BKA, HASH_JOIN, ICP, MATERIALIZATION, MRR, Technique};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args, Debug, Clone)]
pub struct TechniqueArgs {
    /// Scale factor of TPC-H's tables
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Runs of each; the best counts
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
    /// Run MariaDB beside it; scripts/install-rivals.sh installs it
    #[arg(long, value_enum)]
    pub vs: Vec<RivalKind>,
    /// Threads of Nextleaf [default: all cores]
    #[arg(long)]
    pub threads: Option<usize>,
    /// Seconds a query may take in MariaDB
    #[arg(long, default_value_t = 300)]
    pub limit: u64,
    /// Write an HTML report with plots
    #[arg(long)]
    pub out: Option<PathBuf>,
}

/// Counters that the published tables have.
const COUNTERS: [&str; 12] = [
    "Created_tmp",
    "Handler_icp",
    "Handler_mrr",
    "Handler_read",
    "Handler_tmp",
    "Innodb_buffer_pool_read",
    "Innodb_data_read",
    "Innodb_pages_read",
    "Innodb_rows_read",
    "Select_",
    "Sort_",
    "Rows_read",
];

type Counters = BTreeMap<String, f64>;

/// A system, to which both are the same here.
enum Side<'s> {
    Ours(&'s mut Local),
    Theirs(&'s mut Rival, u64),
}

/// What became of one column of the table.
#[derive(Debug, Default)]
struct Column {
    name: String,
    times: Times,
    counters: Counters,
    explain: Vec<Vec<String>>,
    answer: Option<crate::local::Answer>,
    problem: Option<String>,
}

impl Side<'_> {
    fn set(&mut self, sets: &[&str]) -> Result<(), Failure> {
        for set in sets {
            let sql = format!("SET SESSION {set}");
            match self {
                Side::Ours(l) => drop(l.run(&sql)?),
                Side::Theirs(r, _) => r.exec(&sql)?,
            }
        }
        Ok(())
    }

    /// Back to what was before [`Side::set`].
    fn reset(&mut self, sets: &[&str]) -> Result<(), Failure> {
        let names: Vec<String> =
            sets.iter().filter_map(|s| Some(format!("{}=DEFAULT", s.split_once('=')?.0))).collect();
        self.set(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn rows(&mut self, sql: &str) -> Result<(Times, crate::local::Answer), Failure> {
        match self {
            Side::Ours(l) => {
                let mut times = Times::default();
                let started = Instant::now();
                l.run(sql)?;
                times.add(started.elapsed());
                Ok((times, l.answer()))
            }
            Side::Theirs(r, limit) => Ok(r.query(sql, 1, *limit)??),
        }
    }

    fn counters(&mut self) -> Result<Counters, Failure> {
        let (_, answer) = self.rows("SHOW SESSION STATUS")?;
        let number = |r: Vec<Option<String>>| {
            let mut cells = r.into_iter().flatten();
            let (name, value) = (cells.next()?, cells.next()?.parse::<f64>().ok()?);
            COUNTERS.iter().any(|c| name.starts_with(c)).then_some((name, value))
        };
        Ok(answer.rows.into_iter().filter_map(number).collect())
    }
}

fn difference(after: &Counters, before: &Counters) -> Counters {
    after.iter().map(|(k, v)| (k.clone(), v - before.get(k).unwrap_or(&0.0))).collect()
}

/// The counters that one run moves.
fn counted(side: &mut Side<'_>, sql: &str) -> Result<Counters, Failure> {
    let first = side.counters()?;
    let second = side.counters()?;
    let noise = difference(&second, &first);
    side.rows(sql)?;
    let third = side.counters()?;
    Ok(difference(&difference(&third, &second), &noise))
}

fn explain(side: &mut Side<'_>, sql: &str) -> Result<Vec<Vec<String>>, Failure> {
    let (_, answer) = side.rows(&format!("EXPLAIN {sql}"))?;
    Ok(answer.rows.into_iter().map(|r| r.into_iter().map(|c| c.unwrap_or_else(|| "NULL".into())).collect()).collect())
}

/// Everything but the times.
fn inspect(side: &mut Side<'_>, sql: &str, column: &mut Column) -> Result<(), Failure> {
    column.explain = explain(side, sql)?;
    column.answer = Some(side.rows(sql)?.1);
    column.counters = counted(side, sql)?;
    Ok(())
}

fn measure(t: &Technique, args: &TechniqueArgs, facts: &mut Vec<String>) -> Result<Vec<Column>, Failure> {
    let threads = args.threads.unwrap_or_else(machine::cores);
    let scratch = Scratch::new()?;
    let mut local = Local::open(threads)?;
    let (mut rivals, loaded) = tpch::prepare(&mut local, args.scale, threads, &args.vs, scratch.path())?;
    facts.extend(loaded);
    let sql = t.sql();
    let words = ["on", "off"];
    let mut columns: Vec<Column> = Vec::new();
    let names = std::iter::once("Nextleaf".to_owned()).chain(rivals.iter().map(|r| r.kind.name().to_owned()));
    for name in names {
        columns.extend(words.map(|w| Column { name: format!("{name} {w}"), ..Column::default() }));
    }
    for run in 0..=args.runs.max(1) {
        for (i, column) in columns.iter_mut().enumerate() {
            if column.problem.is_some() {
                continue;
            }
            let (mut side, sets) = match i / 2 {
                0 => (Side::Ours(&mut local), t.ours[i % 2]),
                n => {
                    let sets = if rivals[n - 1].kind == RivalKind::Mariadb { t.theirs[i % 2] } else { &[][..] };
                    (Side::Theirs(&mut rivals[n - 1], args.limit), sets)
                }
            };
            side.set(sets)?;
            // the first round warms and looks, the others are timed
            let done = match run {
                0 => inspect(&mut side, &sql, column),
                _ => side.rows(&sql).map(|(times, _)| column.times.add(times.least())),
            };
            side.reset(sets)?;
            if let Err(e) = done {
                column.problem = Some(e.to_string());
            }
        }
    }
    Ok(columns)
}

/// Differences between the columns' answers, and failures.
fn problems(t: &Technique, columns: &[Column]) -> Vec<String> {
    let mut out: Vec<String> =
        columns.iter().filter_map(|c| Some(format!("{}: {}", c.name, c.problem.as_ref()?))).collect();
    let Some(first) = columns.first().and_then(|c| c.answer.as_ref()) else { return out };
    for c in &columns[1..] {
        if let Some(Err(e)) = c.answer.as_ref().map(|a| answers::compare(t.query, first, a)) {
            out.push(format!("{} answers otherwise than {}: {e}", c.name, columns[0].name));
        }
    }
    out
}

fn rows_of(columns: &[Column]) -> Vec<Vec<String>> {
    let line = |name: &str, f: &dyn Fn(&Column) -> String| {
        std::iter::once(name.to_owned()).chain(columns.iter().map(f)).collect::<Vec<String>>()
    };
    let mut rows = vec![
        line("best, ms", &|c| short(c.times.ms()[0])),
        line("median, ms", &|c| short(c.times.ms()[1])),
        line("most, ms", &|c| short(c.times.ms()[2])),
        line("rows", &|c| c.answer.as_ref().map_or("-".into(), |a| a.rows.len().to_string())),
    ];
    let mut names: Vec<&String> = columns.iter().flat_map(|c| c.counters.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        if columns.iter().any(|c| c.counters.get(name).is_some_and(|v| *v != 0.0)) {
            rows.push(line(name, &|c| c.counters.get(name).map_or("-".into(), |v| format!("{v}"))));
        }
    }
    rows
}

/// Runs an experiment; whether all answers agree.
pub fn run(t: &Technique, args: &TechniqueArgs) -> Result<bool, Failure> {
    let mut facts = vec![machine::describe()];
    let columns = measure(t, args, &mut facts)?;
    let problems = problems(t, &columns);
    let head: Vec<String> =
        std::iter::once("metric".to_owned()).chain(columns.iter().map(|c| c.name.clone())).collect();
    let rows = rows_of(&columns);
    facts.push(format!(
        "scale factor {}, best of {} runs in turns; after: {}",
        args.scale,
        args.runs,
        machine::describe()
    ));
    for pair in columns.chunks(2) {
        if let [on, off] = pair {
            let (a, b) = (on.times.best_ms(), off.times.best_ms());
            let shows = |c: &Column| c.explain.iter().flatten().any(|cell| cell.contains(t.words));
            facts.push(format!(
                "{} / {}: {:.2} times as fast; EXPLAIN says \"{}\" with it: {}, without: {}",
                on.name,
                off.name,
                b / a,
                t.words,
                shows(on),
                shows(off)
            ));
        }
    }
    if let [ours, _, theirs, ..] = &columns[..] {
        facts.push(format!(
            "against {}: {:.1} times as fast",
            theirs.name,
            theirs.times.best_ms() / ours.times.best_ms()
        ));
    }
    facts.extend(problems.iter().cloned());
    let short_head: Vec<&str> = head.iter().map(String::as_str).collect();
    println!("\n{}\n{}", t.title, table::render(&short_head, &rows));
    facts[1..].iter().for_each(|f| println!("{f}"));
    let mut tables = vec![("Counters of one run".to_owned(), head, rows)];
    for c in &columns {
        let width = c.explain.first().map_or(0, Vec::len);
        println!("\nEXPLAIN, {}", c.name);
        c.explain.iter().for_each(|r| println!("  {}", r.join(" | ")));
        tables.push((format!("EXPLAIN, {}", c.name), explain_head(width), c.explain.clone()));
    }
    let page = Page {
        title: t.title.into(),
        facts,
        bars: vec![Bars {
            title: "Milliseconds, best run (less is better)".into(),
            series: vec!["time".into()],
            groups: columns.iter().map(|c| (c.name.clone(), vec![c.times.best_ms()])).collect(),
        }],
        tables,
    };
    page::write(&page, args.out.as_deref())?;
    Ok(problems.is_empty())
}

/// EXPLAIN's columns; MariaDB has neither `partitions` nor `filtered`.
fn explain_head(width: usize) -> Vec<String> {
    let all = engine::EXPLAIN_COLUMNS;
    all.iter()
        .filter(|c| width == all.len() || !["partitions", "filtered"].contains(c))
        .map(|c| c.to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn techniques_never_change_answers() {
        let args = TechniqueArgs { scale: 0.01, runs: 1, vs: Vec::new(), threads: Some(1), limit: 60, out: None };
        for t in [ICP, MRR, BKA, HASH_JOIN, MATERIALIZATION] {
            let columns = measure(&t, &args, &mut Vec::new()).expect("it runs");
            assert_eq!(problems(&t, &columns), Vec::<String>::new(), "{}", t.title);
            let rows = rows_of(&columns);
            assert!(rows.iter().any(|r| r[0].starts_with("Handler_read")), "{rows:?}");
        }
    }
}
