//! Scan: reads a table where it lies.
//!
//! ```text
//!   morsel (16 leaves or so) ─ per leaf: zone maps ─▶ Arcs of the columns ─▶ filters ─▶ sideways filters ─▶ batch
//! ```
//! Threads draw morsels from one counter. A leaf whose zone maps exclude every row is not read. Conjuncts that are
//! harmless are reordered as they prove themselves: by share of rows dropped for time spent.

use crate::context::TableReader;
use crate::eval::Filter;
use crate::ops::sideways::SidewaysFilter;
use crate::pipeline::{Down, Pull, Source, run_pipeline};
use crate::run::Run;
use catalog::TableDef;
use expr::{CmpOp, Expr, ExprKind};
use plan::physical::{PlanNode, PlanOp, SidewaysTarget};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use types::{Error, PhysType, Result, Value};
use vector::{Batch, Selection, Vector, is_narrower};

const MORSEL_LEAVES_MAX: usize = 32;

/// Leaves that are brought near at once.
const NEAR_LEAVES: usize = 8;

/// No row of a leaf passes if the column's bounds miss `min..=max`.
struct ZoneTest {
    /// Position in the definition.
    column: usize,
    min: i64,
    max: i64,
}

struct ScanSource<'a> {
    run: Run<'a>,
    reader: Arc<dyn TableReader + 'a>,
    /// Positions in the definition.
    columns: &'a [usize],
    project: &'a [usize],
    filters: Vec<Filter>,
    /// For each filter, the columns that it wants in their types' own arrays: all but bare comparisons do.
    canonical: Vec<Vec<usize>>,
    /// The types' arrays, by position in `columns`.
    phys: Vec<PhysType>,
    /// So many of the first filters, the harmless ones, may change places.
    reorder: usize,
    zones: Vec<ZoneTest>,
    /// (position in `columns`, filter)
    sideways: Vec<(usize, Arc<SidewaysFilter>)>,
    with_row_id: bool,
    next_leaf: AtomicUsize,
    /// The leaves to read, if not all.
    leaves: Option<Vec<usize>>,
    /// The rows are wanted in the order of `leaves`, backwards if true.
    order: Option<bool>,
    by_index: Option<(usize, bool)>,
    leaf_count: usize,
    morsel_leaves: usize,
}

pub fn run_scan<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::Scan { table, columns, filters, project, sideways, with_row_id, .. } = &node.op else {
        return Err(Error::internal("not a Scan node"));
    };
    let reader = run.ctx.tables.open(table)?;
    let what = Reading {
        table,
        columns,
        project,
        sideways,
        with_row_id: *with_row_id,
        leaves: None,
        order: None,
        by_index: None,
    };
    scan_leaves(run, node.id, reader, what, filters.iter(), down)
}

/// What is read of a table.
pub struct Reading<'a> {
    pub table: &'a TableDef,
    /// Positions in the definition.
    pub columns: &'a [usize],
    pub project: &'a [usize],
    pub sideways: &'a [SidewaysTarget],
    pub with_row_id: bool,
    /// The leaves to read, if not all.
    pub leaves: Option<Vec<usize>>,
    /// The rows are wanted in the order of `leaves` and of each leaf's rows; backwards if true.
    pub order: Option<bool>,
    /// The leaves stand for entries of the index at this position, read backwards if true: how the rows count.
    pub by_index: Option<(usize, bool)>,
}

/// Scans leaves of a table for rows that pass all filters.
pub fn scan_leaves<'a>(
    run: &Run<'a>,
    node: u32,
    reader: Arc<dyn TableReader + 'a>,
    what: Reading<'a>,
    filters: impl Iterator<Item = &'a Expr>,
    down: &Down<'_>,
) -> Result<()> {
    let Reading { table, columns, project, sideways, with_row_id, leaves, order, by_index } = what;
    let leaf_count = leaves.as_ref().map_or_else(|| reader.leaf_count(), Vec::len);
    let conjuncts: Vec<&Expr> = filters.flat_map(conjuncts).collect();
    let ctx = run.eval();
    // Comparisons of numbers with constants go together: one pass over bitmaps costs less than choosing between them.
    let (cheap, mut units): (Vec<&Expr>, Vec<&Expr>) = conjuncts.iter().partition(|e| is_cheap(e));
    let harmful = units.iter().position(|e| !e.is_harmless()).map_or(0, |at| units.len() - at);
    let mut compiled = Vec::with_capacity(units.len() + 1);
    let mut canonical = Vec::with_capacity(units.len() + 1);
    if cheap.len() > 1 {
        canonical.push(Vec::new());
        compiled.push(Filter::new(&cheap.into_iter().cloned().collect::<Vec<_>>(), &ctx)?);
    } else {
        units.splice(0..0, cheap);
    }
    for e in units {
        canonical.push(if is_cheap(e) { Vec::new() } else { columns_of(e) });
        compiled.push(Filter::one(e, &ctx)?);
    }
    let source = ScanSource {
        run: *run,
        reader,
        columns,
        project,
        reorder: compiled.len() - harmful,
        zones: conjuncts.iter().flat_map(|e| zone_tests(e, columns, run)).collect(),
        filters: compiled,
        canonical,
        phys: columns.iter().map(|&c| table.columns[c].ty.phys()).collect(),
        sideways: sideways.iter().filter_map(|t| Some((t.column, run.sideways(t.filter_id)?))).collect(),
        with_row_id,
        next_leaf: AtomicUsize::new(0),
        leaves,
        order,
        by_index,
        leaf_count,
        morsel_leaves: (leaf_count / (run.dop * 8)).clamp(1, MORSEL_LEAVES_MAX),
    };
    run.ctx.counters.leaves_total.fetch_add(leaf_count as u64, Ordering::Relaxed);
    run_pipeline(run, node, &source, down)
}

/// A number, date or time of a column against a constant.
fn is_cheap(e: &Expr) -> bool {
    let ExprKind::Compare { left, right, .. } = &e.kind else { return false };
    let is_column = |e: &Expr| matches!(e.kind, ExprKind::Column(_)) && !e.ty.is_string();
    let is_const = |e: &Expr| matches!(e.kind, ExprKind::Const(_));
    is_column(left) && is_const(right) || is_const(left) && is_column(right)
}

fn columns_of(e: &Expr) -> Vec<usize> {
    let mut out = Vec::new();
    e.walk(&mut |x| {
        if let ExprKind::Column(c) = x.kind {
            out.push(c as usize);
        }
    });
    out
}

/// The terms of nested ANDs.
fn conjuncts(e: &Expr) -> Vec<&Expr> {
    match &e.kind {
        ExprKind::And(terms) => terms.iter().flat_map(conjuncts).collect(),
        _ => vec![e],
    }
}

/// The integer that stands for a value in zone maps; `None` for other kinds.
fn zone_value(e: &Expr, run: &Run<'_>) -> Option<i64> {
    match &e.kind {
        ExprKind::Const(v) => zone_integer(v),
        ExprKind::Param(p) => zone_integer(&run.params.values.get(*p as usize)?.as_ref()?.0),
        ExprKind::UserVar { name, is_fixed: true } => {
            let held = run.ctx.user_vars.get(name)?;
            if held.1 == e.ty { zone_integer(&held.0) } else { None }
        }
        _ => None,
    }
}

fn zone_integer(v: &Value) -> Option<i64> {
    match v {
        Value::Int(v) => Some(*v),
        Value::UInt(v) => i64::try_from(*v).ok(),
        Value::Date(d) => Some(d.0 as i64),
        Value::Time(t) => Some(t.0),
        Value::DateTime(t) => Some(t.0),
        Value::Timestamp(t) => Some(t.0),
        Value::Decimal(d) => d.unscaled.to_i64(),
        _ => None,
    }
}

fn zone_tests(e: &Expr, columns: &[usize], run: &Run<'_>) -> Vec<ZoneTest> {
    let column = |e: &Expr| match e.kind {
        ExprKind::Column(c) => columns.get(c as usize).copied(),
        _ => None,
    };
    let test = |column: usize, op: CmpOp, v: i64| {
        let (min, max) = match op {
            CmpOp::Eq | CmpOp::NullSafeEq => (v, v),
            CmpOp::Lt => (i64::MIN, v.checked_sub(1)?),
            CmpOp::Le => (i64::MIN, v),
            CmpOp::Gt => (v.checked_add(1)?, i64::MAX),
            CmpOp::Ge => (v, i64::MAX),
            CmpOp::Ne => return None,
        };
        Some(ZoneTest { column, min, max })
    };
    match &e.kind {
        ExprKind::Compare { op, left, right } => {
            let same_kind = zone_kind(&left.ty) == zone_kind(&right.ty) && zone_kind(&left.ty).is_some();
            if !same_kind {
                return vec![];
            }
            let t = if let (Some(c), Some(v)) = (column(left), zone_value(right, run)) {
                test(c, *op, v)
            } else if let (Some(v), Some(c)) = (zone_value(left, run), column(right)) {
                let flipped = match op {
                    CmpOp::Lt => CmpOp::Gt,
                    CmpOp::Le => CmpOp::Ge,
                    CmpOp::Gt => CmpOp::Lt,
                    CmpOp::Ge => CmpOp::Le,
                    other => *other,
                };
                test(c, flipped, v)
            } else {
                None
            };
            t.into_iter().collect()
        }
        ExprKind::InList { expr, list, negated: false } => {
            let values: Option<Vec<i64>> = list
                .iter()
                .map(|x| if zone_kind(&x.ty) == zone_kind(&expr.ty) { zone_value(x, run) } else { None })
                .collect();
            match (column(expr), values) {
                (Some(column), Some(v)) if zone_kind(&expr.ty).is_some() => {
                    let (min, max) = (v.iter().min().copied(), v.iter().max().copied());
                    min.zip(max).map(|(min, max)| ZoneTest { column, min, max }).into_iter().collect()
                }
                _ => vec![],
            }
        }
        ExprKind::InSet { expr, set, negated: false } => {
            let fits = zone_kind(&expr.ty).is_some() && zone_kind(&expr.ty) == zone_kind(&set.ty());
            match (column(expr), set.int_bounds()) {
                (Some(column), Some((min, max))) if fits => vec![ZoneTest { column, min, max }],
                _ => vec![],
            }
        }
        _ => vec![],
    }
}

/// Types whose zone-map integers compare with each other.
fn zone_kind(ty: &types::SqlType) -> Option<u32> {
    use types::SqlType::*;
    match ty {
        Bool | Int { .. } | Year => Some(0),
        Decimal { scale, .. } => Some(100 + *scale as u32),
        Date => Some(1),
        Time { .. } => Some(2),
        DateTime { .. } => Some(3),
        Timestamp { .. } => Some(4),
        Null | Float | Double | String { .. } => None,
    }
}

impl Source for ScanSource<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        let order = (0..self.filters.len()).collect();
        let costs = vec![Cost::default(); self.filters.len()];
        Ok(Box::new(ScanPull { source: self, leaf: 0, end: 0, order, costs, batches: 0, singles: None }))
    }

    fn workers_max(&self) -> usize {
        if self.order.is_some() { 1 } else { self.leaf_count.div_ceil(self.morsel_leaves) }
    }
}

/// The selected rows, last first.
fn reversed(batch: &Batch) -> Batch {
    let mut positions = batch.selection.to_positions(batch.rows);
    positions.reverse();
    Batch::new(positions.len(), batch.columns.iter().map(|c| c.gather(&positions)).collect())
}

#[derive(Clone, Default)]
struct Cost {
    rows_in: u64,
    rows_out: u64,
    ns: u64,
}

impl Cost {
    /// Rows dropped for the time spent: higher goes first.
    fn rank(&self) -> f64 {
        (self.rows_in - self.rows_out) as f64 / (self.ns.max(1) as f64)
    }
}

struct ScanPull<'a> {
    source: &'a ScanSource<'a>,
    leaf: usize,
    end: usize,
    /// Filters in the order in which they are applied now.
    order: Vec<usize>,
    costs: Vec<Cost>,
    batches: u64,
    /// Rows that are handed on one by one.
    singles: Option<Singles>,
}

/// The selected rows of a batch, each alone, in the order in which the scan hands them on.
struct Singles {
    batch: Batch,
    /// Those that are left, the next one last.
    positions: Vec<u16>,
}

impl Singles {
    fn of(batch: Batch, backwards: bool) -> Singles {
        let mut positions = batch.selection.to_positions(batch.rows);
        if !backwards {
            positions.reverse();
        }
        Singles { batch, positions }
    }

    fn next(&mut self) -> Option<Batch> {
        let at = self.positions.pop()?;
        Some(Batch { selection: Selection::Some(vec![at]), ..self.batch.clone() })
    }
}

/// Filters are timed on every 16th batch and reordered every 64th.
const TIME_EVERY: u64 = 16;
const REORDER_EVERY: u64 = 64;

impl ScanPull<'_> {
    fn filter(&mut self, batch: &mut Batch) -> Result<()> {
        let s = self.source;
        let ctx = s.run.eval();
        let timed = s.reorder > 1 && self.batches.is_multiple_of(TIME_EVERY);
        for &f in &self.order {
            for &c in &s.canonical[f] {
                s.widen(&mut batch.columns[c], c);
            }
            if timed && f < s.reorder {
                let since = Instant::now();
                let rows_in = batch.count() as u64;
                s.filters[f].apply(batch, &ctx)?;
                let c = &mut self.costs[f];
                c.ns += since.elapsed().as_nanos() as u64;
                c.rows_in += rows_in;
                c.rows_out += batch.count() as u64;
            } else {
                s.filters[f].apply(batch, &ctx)?;
            }
            if batch.count() == 0 {
                break;
            }
        }
        self.batches += 1;
        if s.reorder > 1 && self.batches.is_multiple_of(REORDER_EVERY) {
            let costs = &self.costs;
            self.order[..s.reorder].sort_by(|&a, &b| costs[b].rank().total_cmp(&costs[a].rank()));
            // Old evidence counts half.
            for c in &mut self.costs {
                *c = Cost { rows_in: c.rows_in / 2, rows_out: c.rows_out / 2, ns: c.ns / 2 };
            }
        }
        Ok(())
    }
}

/// Fewer than one in so many rows selected: they are copied out rather than whole columns widened.
const SPARSE: usize = 8;

impl ScanSource<'_> {
    /// Leaves hold integers in narrow arrays; nothing above a scan has to know.
    fn widen(&self, vector: &mut Vector, column: usize) {
        if let Some(phys) = self.phys.get(column) {
            widen(vector, *phys);
        }
    }

    /// The columns that go on, in arrays that operators take.
    fn output(&self, batch: Batch) -> Batch {
        let mut batch = projected(batch, self.project, self.with_row_id);
        let is_narrow = |v: &Vector, p: usize| is_narrower(v.chunk().0.values.phys(), canonical_carrier(self.phys[p]));
        if !batch.columns.iter().zip(self.project).any(|(v, &p)| is_narrow(v, p)) {
            return batch;
        }
        if let Selection::Some(at) = &batch.selection
            && at.len() * SPARSE < batch.rows
        {
            batch = Batch::new(at.len(), batch.columns.iter().map(|v| v.gather(at)).collect());
        }
        for (v, &p) in batch.columns.iter_mut().zip(self.project) {
            self.widen(v, p);
        }
        batch
    }
}

/// The columns of a table's rows that go on, then their ids, if the batch has them as its last column.
pub(super) fn projected(batch: Batch, project: &[usize], with_row_id: bool) -> Batch {
    let row_id = if with_row_id { batch.columns.last().cloned() } else { None };
    let columns = project.iter().map(|&p| batch.columns[p].clone()).chain(row_id).collect();
    Batch { columns, ..batch }
}

/// The values of a leaf's column of type `phys` in an array that operators take.
pub(super) fn widen(vector: &mut Vector, phys: PhysType) {
    if let Vector::Flat(chunk) = vector
        && is_narrower(chunk.values.phys(), phys)
    {
        *chunk = chunk.clone().widened(canonical_carrier(phys));
    }
}

/// Wide decimals may travel in 64 bits.
fn canonical_carrier(phys: PhysType) -> PhysType {
    match phys {
        PhysType::I128 | PhysType::I256 => PhysType::I64,
        other => other,
    }
}

impl ScanSource<'_> {
    /// A leaf was read.
    fn count(&self, rows: u64) {
        self.reader.note_read(self.by_index.map(|(index, _)| index), rows);
        let counters = self.run.ctx.counters;
        counters.leaves_read.fetch_add(1, Ordering::Relaxed);
        counters.innodb_buffer_pool_read_requests.fetch_add(1, Ordering::Relaxed);
        match self.by_index {
            None => return counters.scanned(rows),
            Some((_, false)) => &counters.handler_read_next,
            Some((_, true)) => &counters.handler_read_prev,
        }
        .fetch_add(rows, Ordering::Relaxed);
        counters.innodb_rows_read.fetch_add(rows, Ordering::Relaxed);
    }
}

impl Pull for ScanPull<'_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        let s = self.source;
        loop {
            let single = self.singles.as_mut().and_then(Singles::next);
            let Some(mut batch) = (match single {
                None => self.read()?,
                single => single,
            }) else {
                return Ok(None);
            };
            if s.run.ctx.one_by_one && batch.count() > 1 {
                self.singles = Some(Singles::of(batch, s.order == Some(true)));
                continue;
            }
            self.filter(&mut batch)?;
            for (column, f) in &s.sideways {
                if batch.count() == 0 {
                    break;
                }
                let selection = std::mem::take(&mut batch.selection);
                batch.selection = f.narrow(&batch.columns[*column], selection, batch.rows);
            }
            if batch.count() == 0 {
                continue;
            }
            let batch = s.output(batch);
            return Ok(Some(if s.order == Some(true) { reversed(&batch) } else { batch }));
        }
    }
}

impl ScanPull<'_> {
    /// The rows of the next leaf that may have some that pass.
    fn read(&mut self) -> Result<Option<Batch>> {
        let s = self.source;
        loop {
            if self.leaf == self.end {
                self.leaf = s.next_leaf.fetch_add(s.morsel_leaves, Ordering::Relaxed);
                if self.leaf >= s.leaf_count {
                    self.end = self.leaf;
                    return Ok(None);
                }
                self.end = (self.leaf + s.morsel_leaves).min(s.leaf_count);
            }
            s.run.ctx.check_killed()?;
            if s.leaves.is_none() && (self.end - self.leaf).is_multiple_of(NEAR_LEAVES) {
                s.reader.bring_near(self.leaf..self.end.min(self.leaf + NEAR_LEAVES), s.columns);
            }
            let leaf = match &s.leaves {
                None => self.leaf,
                Some(l) => l[if s.order == Some(true) { l.len() - 1 - self.leaf } else { self.leaf }],
            };
            self.leaf += 1;
            let wanted = |bounds: &crate::context::ZoneMaps<'_>| {
                s.zones.iter().all(|z| bounds(z.column).is_none_or(|b| b.max >= z.min && b.min <= z.max))
                    && s.sideways.iter().all(|(c, f)| f.may_match(bounds(s.columns[*c])))
            };
            let Some(batch) = s.reader.read(leaf, s.columns, s.with_row_id, &wanted)? else {
                s.run.ctx.counters.leaves_skipped.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            s.count(batch.count() as u64);
            return Ok(Some(batch));
        }
    }
}
