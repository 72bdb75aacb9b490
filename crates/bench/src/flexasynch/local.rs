//! In process: batches go straight to storage.

use super::{FlexArgs, Load, Phase, Rates, content};
use crate::Failure;
use crate::local::Local;
use crate::scratch::Scratch;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use storage::{Keys, Store, Table};
use vector::{Chunk, ChunkBuilder, Values};

fn key_chunk(keys: &Range<u64>) -> Chunk {
    Chunk::new(Values::I64(keys.clone().map(|k| k as i64).collect()), None)
}

/// Contents of records: numbers, or texts that begin with them.
fn value_chunk(table: &Table, keys: &Range<u64>, phase: Phase, size: usize) -> Chunk {
    if size <= 8 {
        return Chunk::new(Values::I64(keys.clone().map(|k| content(k, phase)).collect()), None);
    }
    let mut chunk = ChunkBuilder::new(table.types()[1], keys.clone().count());
    let mut text = vec![b'x'; size];
    for key in keys.clone() {
        text[..8].copy_from_slice(&content(key, phase).to_le_bytes());
        chunk.push_bytes(&text);
    }
    chunk.finish()
}

/// The number that a record holds.
fn number(chunk: &Chunk, at: usize) -> Option<i64> {
    match &chunk.values {
        Values::Str(s) => Some(i64::from_le_bytes(s.bytes(at).get(..8)?.try_into().ok()?)),
        values => values.int_at(at),
    }
}

/// One batch; how many rows it met.
fn run_batch(store: &Store, table: &Arc<Table>, phase: Phase, keys: &Range<u64>, size: usize) -> Result<u64, Failure> {
    let key = key_chunk(keys);
    let rows = key.len();
    let batch = Keys { index: 0, parts: &[&key], rows };
    let txns = store.txns();
    if phase == Phase::Read {
        let found = table.read_by_key(batch, &[1], &txns.snapshot());
        let right = |&i: &usize| number(&found.columns[0], i) == Some(content(keys.start + i as u64, Phase::Update));
        let seen = |&i: &usize| found.seen.as_ref().is_none_or(|s| s.get(i));
        return Ok((0..rows).filter(seen).filter(right).count() as u64);
    }
    let txn = txns.begin();
    let met = match phase {
        Phase::Insert => {
            let value = value_chunk(table, keys, phase, size);
            table.insert_rows(&txn, &[&key, &value], rows)?.len() as u64
        }
        Phase::Update => {
            let value = value_chunk(table, keys, phase, size);
            table.update_by_key(&txn, batch, &[1], &[&value])?
        }
        Phase::Delete | Phase::Read => table.delete_by_key(&txn, batch)?,
    };
    txns.commit(&txn).expect("the log can be written");
    Ok(met)
}

fn run_phase(local: &Local, table: &Arc<Table>, phase: Phase, load: Load) -> Result<f64, Failure> {
    let store = local.db().store();
    let started = Instant::now();
    let met = std::thread::scope(|scope| {
        let work = |thread: usize| -> Result<u64, Failure> {
            load.batches(thread).map(|keys| run_batch(store, table, phase, &keys, load.size)).sum()
        };
        let running: Vec<_> = (0..load.threads).map(|t| scope.spawn(move || work(t))).collect();
        running.into_iter().map(|t| t.join().expect("a thread does not panic")).sum::<Result<u64, Failure>>()
    })?;
    match met == load.operations() {
        true => Ok(load.operations() as f64 / started.elapsed().as_secs_f64()),
        false => Err(format!("{phase:?} of {load:?} met {met} rows").into()),
    }
}

pub(super) fn measure(load: Load, args: &FlexArgs) -> Result<Rates, Failure> {
    let scratch = Scratch::new()?;
    let mut local = Local::open_durable(load.threads, scratch.path(), args.servers.durability)?;
    local.run(&load.create_table())?;
    let table = local.table("flex");
    let mut rates = Rates::new();
    for _ in 0..args.rounds.max(1) {
        for phase in Phase::ALL {
            rates.add(phase, run_phase(&local, &table, phase, load)?);
        }
    }
    Ok(rates)
}
