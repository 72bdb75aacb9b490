//! Transactions and locks: information_schema.INNODB_TRX; performance_schema.metadata_locks, data_locks,
//! data_lock_waits; sys.innodb_lock_waits.

use super::VirtualTable;
use mdl::{OpenTxn, Owner, Until};
use session::Frame;
use session::rows::{BIGINT, RowSet, UBIGINT, int, long_text, opt, s, text, uint};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use storage::{OwnerId, RowLockName, WaitInfo, Wanted};
use types::{SqlType, Value};

const DATETIME: SqlType = SqlType::DateTime { fsp: 0 };

/// Rows of one transaction that are listed at most.
const ROWS_SHOWN_MAX: usize = 10_000;

fn unix_us(t: SystemTime) -> i64 {
    t.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64)
}

fn datetime(session: &Frame<'_>, t: SystemTime) -> Value {
    Value::DateTime(session.local_datetime(unix_us(t) / 1_000_000 * 1_000_000))
}

/// Sessions with an open transaction, by id of the transaction.
pub fn open_transactions(session: &Frame<'_>) -> Vec<(Arc<Owner>, OpenTxn)> {
    let owners = session.db().mdl().owners();
    let mut open: Vec<_> = owners.into_iter().filter_map(|o| o.open_txn().map(|t| (o, t))).collect();
    open.sort_by_key(|(_, t)| t.txn.id());
    open
}

/// Waits for rows and keys, by owner.
fn row_waits(session: &Frame<'_>) -> Vec<(WaitInfo, RowLockName)> {
    let waits = session.db().store().txns().waits().waits().into_iter();
    waits.filter_map(|w| if let Wanted::Row(name) = w.wanted.clone() { Some((w, name)) } else { None }).collect()
}

fn query_of(owner: &Owner) -> Option<String> {
    let info = owner.process.info().info?;
    Some(String::from_utf8_lossy(&info).chars().take(1024).collect())
}

/// The name of a lock, unique among those of a moment.
fn lock_id(txn_id: u64, name: &RowLockName) -> String {
    format!("{txn_id}:{}.{}:{}:{}:{}", name.schema, name.table, name.index, name.data, name.mode)
}

pub const INNODB_TRX: VirtualTable = VirtualTable {
    name: "INNODB_TRX",
    columns: &[
        ("trx_id", UBIGINT),
        ("trx_state", text(13)),
        ("trx_started", DATETIME),
        ("trx_requested_lock_id", text(512)),
        ("trx_wait_started", DATETIME),
        ("trx_weight", UBIGINT),
        ("trx_mysql_thread_id", UBIGINT),
        ("trx_query", text(1024)),
        ("trx_operation_state", text(64)),
        ("trx_tables_in_use", UBIGINT),
        ("trx_tables_locked", UBIGINT),
        ("trx_lock_structs", UBIGINT),
        ("trx_lock_memory_bytes", UBIGINT),
        ("trx_rows_locked", UBIGINT),
        ("trx_rows_modified", UBIGINT),
        ("trx_concurrency_tickets", UBIGINT),
        ("trx_isolation_level", text(16)),
        ("trx_unique_checks", BIGINT),
        ("trx_foreign_key_checks", BIGINT),
        ("trx_last_foreign_key_error", text(256)),
        ("trx_adaptive_hash_latched", BIGINT),
        ("trx_adaptive_hash_timeout", UBIGINT),
        ("trx_is_read_only", BIGINT),
        ("trx_autocommit_non_locking", BIGINT),
        ("trx_schedule_weight", UBIGINT),
    ],
    rows: |session, out| {
        let waits: HashMap<OwnerId, (WaitInfo, RowLockName)> =
            row_waits(session).into_iter().map(|w| (w.0.owner, w)).collect();
        for (owner, t) in open_transactions(session) {
            let wait = waits.get(&owner.id);
            let weight = t.txn.weight();
            out.push(vec![
                uint(t.txn.id()),
                s(if wait.is_some() { "LOCK WAIT" } else { "RUNNING" }),
                datetime(session, t.begun),
                opt(wait.map(|(_, name)| lock_id(t.txn.id(), name))),
                wait.map_or(Value::Null, |(w, _)| datetime(session, w.since)),
                uint(weight),
                uint(owner.process.id() as u64),
                opt(query_of(&owner)),
                Value::Null,
                uint(wait.is_some() as u64),
                uint(0),
                uint(weight),
                uint(0),
                uint(weight),
                uint(weight),
                uint(0),
                s(t.isolation),
                int(1),
                int(1),
                Value::Null,
                int(0),
                uint(0),
                int(t.read_only as i64),
                int(0),
                Value::Null,
            ]);
        }
    },
};

pub const METADATA_LOCKS: VirtualTable = VirtualTable {
    name: "metadata_locks",
    columns: &[
        ("OBJECT_TYPE", text(64)),
        ("OBJECT_SCHEMA", text(64)),
        ("OBJECT_NAME", text(64)),
        ("COLUMN_NAME", text(64)),
        ("OBJECT_INSTANCE_BEGIN", UBIGINT),
        ("LOCK_TYPE", text(32)),
        ("LOCK_DURATION", text(32)),
        ("LOCK_STATUS", text(32)),
        ("SOURCE", text(64)),
        ("OWNER_THREAD_ID", UBIGINT),
        ("OWNER_EVENT_ID", UBIGINT),
    ],
    rows: |session, out| {
        for lock in session.db().mdl().shown() {
            let some = |name: &str| if name.is_empty() { Value::Null } else { s(name) };
            out.push(vec![
                s(lock.key.space.name()),
                some(&lock.key.schema),
                some(&lock.key.name),
                Value::Null,
                uint(lock.owner),
                s(lock.mode.name()),
                s(match lock.until {
                    Until::Statement => "STATEMENT",
                    Until::Transaction => "TRANSACTION",
                    Until::Released => "EXPLICIT",
                }),
                s(if lock.granted { "GRANTED" } else { "PENDING" }),
                s(""),
                uint(lock.process_id as u64),
                uint(0),
            ]);
        }
    },
};

pub const DATA_LOCKS: VirtualTable = VirtualTable {
    name: "data_locks",
    columns: &[
        ("ENGINE", text(32)),
        ("ENGINE_LOCK_ID", text(512)),
        ("ENGINE_TRANSACTION_ID", UBIGINT),
        ("THREAD_ID", UBIGINT),
        ("EVENT_ID", UBIGINT),
        ("OBJECT_SCHEMA", text(64)),
        ("OBJECT_NAME", text(64)),
        ("PARTITION_NAME", text(64)),
        ("SUBPARTITION_NAME", text(64)),
        ("INDEX_NAME", text(64)),
        ("OBJECT_INSTANCE_BEGIN", UBIGINT),
        ("LOCK_TYPE", text(32)),
        ("LOCK_MODE", text(32)),
        ("LOCK_STATUS", text(32)),
        ("LOCK_DATA", text(8192)),
    ],
    rows: |session, out| {
        let waits = row_waits(session);
        for (owner, t) in open_transactions(session) {
            let held = t.txn.locked_rows(ROWS_SHOWN_MAX).into_iter().map(|n| (n, "GRANTED"));
            let wanted = waits.iter().filter(|w| w.0.owner == owner.id).map(|w| (w.1.clone(), "WAITING"));
            for (name, status) in held.chain(wanted) {
                out.push(vec![
                    s("INNODB"),
                    s(lock_id(t.txn.id(), &name)),
                    uint(t.txn.id()),
                    uint(owner.process.id() as u64),
                    uint(0),
                    s(&name.schema),
                    s(&name.table),
                    Value::Null,
                    Value::Null,
                    s(if name.index.is_empty() { "PRIMARY" } else { &name.index }),
                    uint(owner.id),
                    s("RECORD"),
                    s(if name.mode == "SHARED" { "S,REC_NOT_GAP" } else { "X,REC_NOT_GAP" }),
                    s(status),
                    s(&name.data),
                ]);
            }
        }
    },
};

/// (waiting, blocking) pairs: each with its session and transaction, and the lock wanted.
type Pair = ((Arc<Owner>, OpenTxn), (Arc<Owner>, OpenTxn), WaitInfo, RowLockName);

fn pairs(session: &Frame<'_>) -> Vec<Pair> {
    let open: HashMap<OwnerId, (Arc<Owner>, OpenTxn)> =
        open_transactions(session).into_iter().map(|(o, t)| (o.id, (o, t))).collect();
    let mut out = Vec::new();
    for (wait, name) in row_waits(session) {
        for blocker in &wait.waits_for {
            if let (Some(waiting), Some(blocking)) = (open.get(&wait.owner), open.get(blocker)) {
                out.push((waiting.clone(), blocking.clone(), wait.clone(), name.clone()));
            }
        }
    }
    out
}

pub const DATA_LOCK_WAITS: VirtualTable = VirtualTable {
    name: "data_lock_waits",
    columns: &[
        ("ENGINE", text(32)),
        ("REQUESTING_ENGINE_LOCK_ID", text(512)),
        ("REQUESTING_ENGINE_TRANSACTION_ID", UBIGINT),
        ("REQUESTING_THREAD_ID", UBIGINT),
        ("REQUESTING_EVENT_ID", UBIGINT),
        ("REQUESTING_OBJECT_INSTANCE_BEGIN", UBIGINT),
        ("BLOCKING_ENGINE_LOCK_ID", text(512)),
        ("BLOCKING_ENGINE_TRANSACTION_ID", UBIGINT),
        ("BLOCKING_THREAD_ID", UBIGINT),
        ("BLOCKING_EVENT_ID", UBIGINT),
        ("BLOCKING_OBJECT_INSTANCE_BEGIN", UBIGINT),
    ],
    rows: |session, out| {
        for ((wo, wt), (bo, bt), _, name) in pairs(session) {
            let blocking = bt.txn.locked_rows(ROWS_SHOWN_MAX);
            let held = blocking.iter().find(|h| h.table == name.table && h.data == name.data).unwrap_or(&name);
            out.push(vec![
                s("INNODB"),
                s(lock_id(wt.txn.id(), &name)),
                uint(wt.txn.id()),
                uint(wo.process.id() as u64),
                uint(0),
                uint(wo.id),
                s(lock_id(bt.txn.id(), held)),
                uint(bt.txn.id()),
                uint(bo.process.id() as u64),
                uint(0),
                uint(bo.id),
            ]);
        }
    },
};

pub const SYS_INNODB_LOCK_WAITS: VirtualTable = VirtualTable {
    name: "innodb_lock_waits",
    columns: &[
        ("wait_started", DATETIME),
        ("wait_age_secs", BIGINT),
        ("locked_table", long_text()),
        ("locked_table_schema", text(64)),
        ("locked_table_name", text(64)),
        ("locked_index", text(64)),
        ("locked_type", text(32)),
        ("waiting_trx_id", UBIGINT),
        ("waiting_trx_started", DATETIME),
        ("waiting_pid", UBIGINT),
        ("waiting_query", long_text()),
        ("waiting_lock_mode", text(32)),
        ("blocking_trx_id", UBIGINT),
        ("blocking_pid", UBIGINT),
        ("blocking_query", long_text()),
        ("blocking_trx_started", DATETIME),
        ("sql_kill_blocking_query", text(32)),
        ("sql_kill_blocking_connection", text(26)),
    ],
    rows: |session, out| {
        for ((wo, wt), (bo, bt), wait, name) in pairs(session) {
            let age = SystemTime::now().duration_since(wait.since).map_or(0, |d| d.as_secs() as i64);
            let blocker = bo.process.id();
            out.push(vec![
                datetime(session, wait.since),
                int(age),
                s(format!("`{}`.`{}`", name.schema, name.table)),
                s(&name.schema),
                s(&name.table),
                s(if name.index.is_empty() { "PRIMARY" } else { &name.index }),
                s("RECORD"),
                uint(wt.txn.id()),
                datetime(session, wt.begun),
                uint(wo.process.id() as u64),
                opt(query_of(&wo)),
                s(if name.mode == "SHARED" { "S,REC_NOT_GAP" } else { "X,REC_NOT_GAP" }),
                uint(bt.txn.id()),
                uint(blocker as u64),
                opt(query_of(&bo)),
                datetime(session, bt.begun),
                s(format!("KILL QUERY {blocker}")),
                s(format!("KILL {blocker}")),
            ]);
        }
    },
};

/// The text of SHOW ENGINE INNODB STATUS: the sections that have a meaning here, laid out as in MySQL.
pub fn engine_status(session: &Frame<'_>) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    let line = "=====================================";
    let now = datetime_text(session, SystemTime::now());
    let _ = writeln!(out, "\n{line}\n{now} INNODB MONITOR OUTPUT\n{line}");
    let waits = session.db().store().txns().waits();
    if let Some(d) = waits.latest_deadlock() {
        let _ = writeln!(out, "------------------------\nLATEST DETECTED DEADLOCK\n------------------------");
        let _ = writeln!(out, "{}", datetime_text(session, d.at));
        for (i, m) in d.members.iter().enumerate() {
            let who = session.db().mdl().owner(m.owner);
            let _ = writeln!(out, "*** ({}) TRANSACTION:", i + 1);
            match who {
                Some(o) => {
                    let _ = writeln!(out, "MySQL thread id {}, {} row changes", o.process.id(), m.weight);
                    if let Some(q) = query_of(&o) {
                        let _ = writeln!(out, "{q}");
                    }
                }
                None => {
                    let _ = writeln!(out, "a session that has ended, {} row changes", m.weight);
                }
            }
            let _ = writeln!(out, "*** ({}) WAITING FOR THIS LOCK TO BE GRANTED:\n{}", i + 1, m.wanted);
        }
        if let Some(v) = d.members.iter().position(|m| m.is_victim) {
            let _ = writeln!(out, "*** WE ROLL BACK TRANSACTION ({})", v + 1);
        }
    }
    let _ = writeln!(out, "------------\nTRANSACTIONS\n------------");
    let txns = session.db().store().txns();
    let _ = writeln!(out, "Last commit timestamp {}", txns.last_published());
    let _ = writeln!(out, "History list length {}", txns.garbage_len());
    let _ = writeln!(out, "Deadlocks found {}", waits.deadlock_count());
    let _ = writeln!(out, "LIST OF TRANSACTIONS FOR EACH SESSION:");
    let waiting = waits.waits();
    for (owner, t) in open_transactions(session) {
        let age = SystemTime::now().duration_since(t.begun).map_or(0, |d| d.as_secs());
        let _ = writeln!(out, "---TRANSACTION {}, ACTIVE {age} sec", t.txn.id());
        let _ = writeln!(out, "{} row lock(s) or row change(s)", t.txn.weight());
        let _ = writeln!(out, "MySQL thread id {}", owner.process.id());
        if let Some(q) = query_of(&owner) {
            let _ = writeln!(out, "{q}");
        }
        for w in waiting.iter().filter(|w| w.owner == owner.id) {
            let _ = writeln!(out, "------- WAITING FOR THIS LOCK TO BE GRANTED:\n{}\n------------------", w.wanted);
        }
    }
    let _ = writeln!(out, "----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================");
    out
}

fn datetime_text(session: &Frame<'_>, t: SystemTime) -> String {
    session::rows::display(&datetime(session, t))
}

/// SHOW ENGINE INNODB STATUS.
pub fn engine_status_rows(session: &Frame<'_>) -> RowSet {
    let mut rows = RowSet::new(&[("Type", text(10)), ("Name", text(512)), ("Status", long_text())]);
    rows.push(vec![s("InnoDB"), s(""), s(engine_status(session))]);
    rows
}
