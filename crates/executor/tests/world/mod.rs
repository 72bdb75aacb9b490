//! Random tables in memory, and a statement's surroundings.

use catalog::{ColumnDef, TableDef, TableEngine, TableId};
use executor::*;
use expr::{Expr, Params, SessionInfo, UserVars, Warnings};
use plan::physical::{OutputColumn, Plan, PlanNode, PlanOp};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use types::{Collation, Decimal, Error, Result, SqlType, Value};
use vector::{Batch, Bounds, Chunk, ChunkBuilder, Selection, Vector};

pub const TEXT: SqlType = SqlType::varchar(40, Collation::Utf8mb4_0900AiCi);
pub const DEC: SqlType = SqlType::Decimal { precision: 10, scale: 2 };
/// Columns of every table: a few integers, a few more, text, decimals, a unique number, doubles.
pub const A: usize = 0;
pub const B: usize = 1;
pub const S: usize = 2;
pub const D: usize = 3;
pub const U: usize = 4;
pub const X: usize = 5;
const TYPES: [SqlType; 6] = [SqlType::INT, SqlType::INT, TEXT, DEC, SqlType::INT, SqlType::Double];

pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

pub struct MemTable {
    pub def: Arc<TableDef>,
    pub leaves: Vec<Batch>,
}

impl MemTable {
    fn random(rng: &mut Rng, id: u64, rows: usize) -> MemTable {
        let leaf_rows = [1, 8, 64, 1024][rng.below(4)];
        MemTable::laid_out(rng, id, rows, leaf_rows, false)
    }

    /// `rising`: the rows of each B lie together, but for a few.
    fn laid_out(rng: &mut Rng, id: u64, rows: usize, leaf_rows: usize, rising: bool) -> MemTable {
        let columns = TYPES.iter().enumerate().map(|(i, ty)| ColumnDef::plain(&format!("c{i}"), *ty, true)).collect();
        let def = Arc::new(TableDef {
            id: TableId(id),
            schema: "test".into(),
            name: format!("t{id}").into(),
            columns,
            indexes: vec![],
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            engine: TableEngine::InnoDb,
            collation: Collation::Utf8mb4_0900AiCi,
            comment: "".into(),
            options: vec![],
            created_at: 0,
            temporary: false,
        });
        let domain = [3, 10, 200][rng.below(3)];
        let nulls = [0, 10, 3][rng.below(3)];
        let mut next = 0i64;
        let mut leaves = Vec::new();
        let mut left = rows;
        while left > 0 {
            let n = left.min(leaf_rows);
            left -= n;
            let mut columns: Vec<ChunkBuilder> = TYPES.iter().map(|t| ChunkBuilder::new(t.phys(), n)).collect();
            for _ in 0..n {
                for (c, b) in columns.iter_mut().enumerate() {
                    if c != U && nulls > 0 && rng.below(nulls) == 0 {
                        b.push_null();
                        continue;
                    }
                    let k = rng.below(domain) as i64;
                    b.push(&match c {
                        A => Value::Int(k - 2),
                        B if rising && rng.below(200) > 0 => Value::Int(next / 3 * 1000),
                        B => Value::Int(k * 1000),
                        S => {
                            let word = if k % 2 == 0 { format!("Ab{k}") } else { format!("aB and a longer tail {k}") };
                            Value::str(&if rng.below(2) == 0 { word.to_uppercase() } else { word })
                        }
                        D => Value::Decimal(Decimal::from_i128(k as i128 * 25 - 100, 2)),
                        U => {
                            next += 1;
                            Value::Int((next * 7919) % 100_003)
                        }
                        _ => Value::Double((k - 1) as f64 / 2.0),
                    });
                }
            }
            let columns = columns.into_iter().map(|b| Vector::flat(b.finish())).collect();
            let mut leaf = Batch::new(n, columns);
            // Some rows are deleted.
            if rng.below(3) == 0 {
                leaf.selection = Selection::Some((0..n as u16).filter(|_| rng.below(5) > 0).collect());
            }
            leaves.push(leaf);
        }
        MemTable { def, leaves }
    }
}

impl MemTable {
    /// One leaf whose strings are long and, but for every fourth, different; A has four values, U counts from 0.
    fn wide(rows: usize, bytes: usize) -> MemTable {
        let mut table = MemTable::laid_out(&mut Rng::new(1), 0, 0, 1, false);
        let mut columns: Vec<ChunkBuilder> = TYPES.iter().map(|t| ChunkBuilder::new(t.phys(), rows)).collect();
        for i in 0..rows {
            let mut text = vec![b'x'; bytes];
            text.splice(0..8, format!("{:08}", i * 7919 % rows / 4 * 4 + (i % 4).min(2)).into_bytes());
            for (c, b) in columns.iter_mut().enumerate() {
                match c {
                    A => b.push(&Value::Int((i % 4) as i64)),
                    U => b.push(&Value::Int(i as i64)),
                    S => b.push_bytes(&text),
                    _ => b.push_null(),
                }
            }
        }
        table.leaves.push(Batch::new(rows, columns.into_iter().map(|b| Vector::flat(b.finish())).collect()));
        table
    }
}

impl TableReader for &MemTable {
    fn leaf_count(&self) -> usize {
        self.leaves.len()
    }

    fn read(
        &self,
        leaf: usize,
        columns: &[usize],
        _: bool,
        wanted: &dyn Fn(&context::ZoneMaps<'_>) -> bool,
    ) -> Result<Option<Batch>> {
        if !wanted(&|_| None) {
            return Ok(None);
        }
        let b = &self.leaves[leaf];
        let columns = columns.iter().map(|&c| b.columns[c].clone()).collect();
        Ok(Some(Batch { rows: b.rows, columns, selection: b.selection.clone() }))
    }

    fn zone(&self, leaf: usize, column: usize) -> Option<Bounds> {
        let mut chunk = Chunk::clone(self.leaves[leaf].columns[column].chunk().0);
        chunk.compute_bounds();
        chunk.bounds
    }

    fn lookup(&self, _: usize, _: &[Vec<Value>]) -> Result<Vec<Option<u64>>> {
        Err(Error::internal("no keys here"))
    }

    fn fetch(&self, _: &[u64], _: &[usize]) -> Result<Batch> {
        Err(Error::internal("no row ids here"))
    }
}

pub struct World {
    pub tables: Vec<MemTable>,
    pub pool: WorkerPool,
    pub session: SessionInfo,
    pub user_vars: UserVars,
    pub killed: AtomicBool,
}

impl Tables for World {
    fn open(&self, table: &TableDef) -> Result<Arc<dyn TableReader + '_>> {
        let t = self.tables.iter().find(|t| t.def.id == table.id).ok_or_else(|| Error::internal("no such table"))?;
        Ok(Arc::new(t))
    }
}

impl World {
    pub fn new(rng: &mut Rng, tables: usize) -> World {
        let sizes: Vec<usize> = (0..tables).map(|_| [0, 1, 7, 60, 150, 400][rng.below(6)]).collect();
        World::sized(rng, &sizes)
    }

    /// One table of many leaves, in which the rows of each B lie together but for a few.
    pub fn rising(rng: &mut Rng) -> World {
        let leaf_rows = [5, 16, 40][rng.below(3)];
        let table = MemTable::laid_out(rng, 0, 500, leaf_rows, true);
        World { tables: vec![table], ..World::sized(rng, &[]) }
    }

    /// One table of one leaf with long strings.
    pub fn wide(rows: usize, bytes: usize) -> World {
        World { tables: vec![MemTable::wide(rows, bytes)], ..World::sized(&mut Rng::new(1), &[]) }
    }

    pub fn sized(rng: &mut Rng, sizes: &[usize]) -> World {
        World {
            tables: sizes.iter().enumerate().map(|(i, &n)| MemTable::random(rng, i as u64, n)).collect(),
            pool: WorkerPool::new(3),
            session: SessionInfo { group_concat_max_len: 1 << 20, ..SessionInfo::default() },
            user_vars: UserVars::default(),
            killed: AtomicBool::new(false),
        }
    }

    pub fn run(&self, root: &PlanNode, dop: usize, memory: usize) -> Result<Vec<Vec<Value>>> {
        self.run_bounded(root, dop, memory, MemoryBounds::default()).map(|(rows, _)| rows)
    }

    /// The rows, and what was counted.
    pub fn run_bounded(
        &self,
        root: &PlanNode,
        dop: usize,
        memory: usize,
        bounds: MemoryBounds,
    ) -> Result<(Vec<Vec<Value>>, StatementCounts)> {
        let accountant = MemoryAccountant::new(memory);
        let warnings = Warnings::new(64);
        let params = Params::default();
        let counters = StatementCounters::default();
        let dir = std::env::temp_dir();
        let space = Arc::default();
        let ctx = ExecContext {
            session: &self.session,
            user_vars: &self.user_vars,
            warnings: &warnings,
            params: &params,
            tables: self,
            virtual_tables: &NoVirtualTables,
            pool: &self.pool,
            memory: accountant.clone(),
            bounds,
            killed: &self.killed,
            spill_dir: &dir,
            temp_files: executor::TempFiles::new(&space, 0),
            dop,
            one_by_one: false,
            max_recursion_depth: 1000,
            counters: &counters,
            node_stats: None,
        };
        let plan = Plan {
            root: Box::new(root.clone()),
            init: vec![],
            param_count: 4,
            serial: false,
            estimated_rows_read: 1e9,
            blocks: vec![],
            warnings: vec![],
        };
        let types: Vec<SqlType> = root.output.iter().map(|c| c.ty).collect();
        let mut rows = Vec::new();
        execute(&plan, &ctx, &mut |batch| {
            assert_eq!(batch.columns.len(), types.len());
            assert!(batch.columns.iter().all(|c| matches!(c, Vector::Const(_)) || c.chunk().0.len() == batch.rows));
            batch.selection.for_each(batch.rows, |i| {
                rows.push(batch.columns.iter().zip(&types).map(|(c, t)| c.value(i, t)).collect());
            });
            Ok(ControlFlow::Continue(()))
        })?;
        assert_eq!(accountant.used_bytes(), 0, "memory is returned");
        Ok((rows, counters.take()))
    }

    /// Kills the statement after a while; answers its result and how long it went on.
    pub fn run_and_kill(&self, root: &PlanNode, dop: usize, after: Duration) -> (Result<Vec<Vec<Value>>>, Duration) {
        std::thread::scope(|s| {
            let killer = s.spawn(|| {
                std::thread::sleep(after);
                self.killed.store(true, Ordering::Relaxed);
                Instant::now()
            });
            let result = self.run(root, dop, 64 << 20);
            let ended = Instant::now();
            let killed = killer.join().expect("the killer does not fail");
            (result, ended.saturating_duration_since(killed))
        })
    }
}

/// Rows as text; strings in lower case, since any of a group's equal strings may stand for it.
pub fn printed(rows: &[Vec<Value>]) -> Vec<String> {
    rows.iter()
        .map(|r| {
            let cells: Vec<String> = r
                .iter()
                .map(|v| match v {
                    Value::Bytes(b) => String::from_utf8_lossy(b).to_lowercase(),
                    Value::Int(v) => v.to_string(),
                    Value::UInt(v) => v.to_string(),
                    Value::Decimal(d) => format!("{}/{}", d.unscaled, d.scale),
                    Value::Double(d) => format!("{d:.9}"),
                    other => format!("{other:?}"),
                })
                .collect();
            cells.join("|")
        })
        .collect()
}

pub fn node(op: PlanOp, output: Vec<(SqlType, bool)>) -> PlanNode {
    let output = output
        .into_iter()
        .enumerate()
        .map(|(i, (ty, nullable))| OutputColumn { name: format!("c{i}").into(), ty, nullable })
        .collect();
    PlanNode { id: 0, op, output, estimated_rows: 0.0, estimated_cost: 0.0, notes: Default::default() }
}

/// All columns of a table.
pub fn scan(world: &World, table: usize) -> PlanNode {
    let def = world.tables[table].def.clone();
    let n = def.columns.len();
    let output = def.columns.iter().map(|c| (c.ty, true)).collect();
    let op = PlanOp::Scan {
        table: def,
        alias: "t".into(),
        columns: (0..n).collect(),
        filters: vec![],
        project: (0..n).collect(),
        sideways: vec![],
        with_row_id: false,
    };
    node(op, output)
}

/// A column of a node's output.
pub fn col(n: &PlanNode, i: usize) -> Expr {
    Expr::column(i as u32, n.output[i].ty, true)
}
