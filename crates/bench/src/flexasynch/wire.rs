//! Through the wire: a batch is one prepared statement with as many rows.
//!
//! An update of many rows to different values in one statement is INSERT ... ON DUPLICATE KEY UPDATE, which every row
//! meets; of one row it is UPDATE.

use super::{FlexArgs, Load, Phase, Rates, content};
use crate::Failure;
use crate::scratch::Scratch;
use crate::servers::Server;
use mysql::prelude::Queryable;
use mysql::{Conn, Params, Row, Statement, Value};
use std::ops::Range;
use std::time::Instant;

const SCHEMA: &str = "flex";

fn value(key: u64, phase: Phase, size: usize) -> Value {
    if size <= 8 {
        return Value::Int(content(key, phase));
    }
    let mut text = vec![b'x'; size];
    text[..8].copy_from_slice(&content(key, phase).to_le_bytes());
    Value::Bytes(text)
}

fn repeated(part: &str, rows: usize) -> String {
    vec![part; rows].join(",")
}

fn statement(phase: Phase, rows: usize) -> String {
    let marks = repeated("?", rows);
    let pairs = repeated("(?,?)", rows);
    match phase {
        Phase::Insert => format!("INSERT INTO flex (k, v) VALUES {pairs}"),
        Phase::Update if rows == 1 => "UPDATE flex SET v = ? WHERE k = ?".into(),
        Phase::Update => format!("INSERT INTO flex (k, v) VALUES {pairs} ON DUPLICATE KEY UPDATE v = VALUES(v)"),
        Phase::Read if rows == 1 => "SELECT k, v FROM flex WHERE k = ?".into(),
        Phase::Read => format!("SELECT k, v FROM flex WHERE k IN ({marks})"),
        Phase::Delete if rows == 1 => "DELETE FROM flex WHERE k = ?".into(),
        Phase::Delete => format!("DELETE FROM flex WHERE k IN ({marks})"),
    }
}

fn params(phase: Phase, keys: &Range<u64>, size: usize) -> Params {
    let key = |k: u64| Value::Int(k as i64);
    let one = keys.end - keys.start == 1;
    Params::Positional(match phase {
        Phase::Update if one => vec![value(keys.start, phase, size), key(keys.start)],
        Phase::Insert | Phase::Update => keys.clone().flat_map(|k| [key(k), value(k, phase, size)]).collect(),
        Phase::Read | Phase::Delete => keys.clone().map(key).collect(),
    })
}

fn is_right(row: &Row, size: usize) -> bool {
    let Some(key) = row.get::<u64, _>(0) else { return false };
    row.as_ref(1) == Some(&value(key, Phase::Update, size))
}

/// One batch; how many rows it met.
fn run_batch(conn: &mut Conn, stmt: &Statement, phase: Phase, keys: &Range<u64>, size: usize) -> Result<u64, Failure> {
    if phase == Phase::Read {
        let rows: Vec<Row> = conn.exec(stmt, params(phase, keys, size))?;
        return Ok(rows.iter().filter(|row| is_right(row, size)).count() as u64);
    }
    conn.exec_drop(stmt, params(phase, keys, size))?;
    let rows = keys.end - keys.start;
    Ok(match phase {
        // A row that exists and changes counts twice.
        Phase::Update if rows > 1 => conn.affected_rows() / 2,
        _ => conn.affected_rows(),
    })
}

fn run_thread(conn: &mut Conn, phase: Phase, load: Load, thread: usize) -> Result<u64, Failure> {
    let full = conn.prep(statement(phase, load.batch))?;
    let mut met = 0;
    for keys in load.batches(thread) {
        let rows = (keys.end - keys.start) as usize;
        if rows == load.batch {
            met += run_batch(conn, &full, phase, &keys, load.size)?;
        } else {
            let rest = conn.prep(statement(phase, rows))?;
            met += run_batch(conn, &rest, phase, &keys, load.size)?;
        }
    }
    Ok(met)
}

fn run_phase(conns: &mut [Conn], phase: Phase, load: Load) -> Result<f64, Failure> {
    let started = Instant::now();
    let met = std::thread::scope(|scope| {
        let running: Vec<_> = conns
            .iter_mut()
            .enumerate()
            .map(|(thread, conn)| scope.spawn(move || run_thread(conn, phase, load, thread)))
            .collect();
        running.into_iter().map(|t| t.join().expect("a thread does not panic")).sum::<Result<u64, Failure>>()
    })?;
    match met == load.operations() {
        true => Ok(load.operations() as f64 / started.elapsed().as_secs_f64()),
        false => Err(format!("{phase:?} of {load:?} met {met} rows").into()),
    }
}

fn measure_one(server: &Server, load: Load, rounds: usize) -> Result<Rates, Failure> {
    let mut conn = server.connect(Some(SCHEMA))?;
    conn.query_drop("DROP TABLE IF EXISTS flex")?;
    conn.query_drop(load.create_table())?;
    let mut conns = (0..load.threads).map(|_| server.connect(Some(SCHEMA))).collect::<Result<Vec<_>, _>>()?;
    let mut rates = Rates::new();
    for _ in 0..rounds.max(1) {
        for phase in Phase::ALL {
            rates.add(phase, run_phase(&mut conns, phase, load)?);
        }
    }
    Ok(rates)
}

/// All combinations, on each server in turn.
pub(super) fn measure(loads: &[Load], args: &FlexArgs) -> Result<Vec<(&'static str, Load, Rates)>, Failure> {
    let scratch = Scratch::new()?;
    let servers = args.servers.start(scratch.path())?;
    for server in &servers {
        server.connect(None)?.query_drop(format!("CREATE DATABASE {SCHEMA}"))?;
    }
    let mut all = Vec::new();
    for &load in loads {
        for server in &servers {
            let rates = measure_one(server, load, args.rounds).map_err(|e| format!("{}: {e}", server.name()))?;
            all.push((server.name(), load, rates));
        }
    }
    Ok(all)
}
