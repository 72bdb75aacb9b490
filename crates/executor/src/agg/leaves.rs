//! Groups whose rows all lie in one leaf.
//!
//! ```text
//!   leaf   zone map of the key   keys of this leaf alone     a batch of leaf 1
//!     0       1 ..  40              1 ..  39                   40 40 | 41 41 41 42 .. 76 | 77
//!     1      40 ..  77             41 ..  76                     │            │            │
//!     2      77 .. 120             78 .. 120                     ▼            ▼            ▼
//!                                                            a builder   out at once   the builder
//! ```
//! Tables grow at their end, so keys that were given out in rising order, and what was brought in their order, lie
//! together: the lines of an order, the visits of a session. Zone maps show it. What a leaf has for itself makes whole
//! groups as soon as the leaf has been read, without a table of all groups, on any number of threads, in an order that
//! each thread's next operator gets at once. The rest, at the edges of leaves, is aggregated as ever.
//!
//! A row that came to lie elsewhere, in a slot that was free, makes its leaf's zone wide, over the keys of many others.
//! The few such leaves are left out, and what keys they do have are looked up before: those strays are nobody's alone.
//!
//! Invariant: a key that one leaf's zone map alone admits, and that is no stray, is in no batch but that leaf's. Zone
//! maps hold for every version that a snapshot sees; readers that see more do not show theirs ([`TableReader::zone`]).
//! A batch of the scan, and of the filters and projections on it, is of one leaf.
//!
//! Source: G. Moerkotte, "Small Materialized Aggregates", VLDB 1998 (for zone maps).

use super::accumulator::Rows;
use super::builder::Builder;
use super::groups::Groups;
use super::operator::AggregateSink;
use super::ordered::number;
use super::spec::{Spec, is_volatile};
use crate::context::TableReader;
use crate::eval::eval_all_within;
use crate::keys::{KeyEncoder, Keys};
use crate::memory::Reservation;
use crate::pipeline::{Flow, Push, Stage};
use crate::run::Run;
use catalog::TableDef;
use expr::ExprKind;
use plan::physical::{PlanNode, PlanOp};
use types::Result;
use vector::{BATCH_ROWS_MAX, Batch, Bounds, Selection, Values, Vector};

/// Tables of fewer leaves are aggregated as ever; in debug builds few, for the sake of the tests.
const LEAVES_MIN: usize = if cfg!(debug_assertions) { 3 } else { 64 };
/// Pairs of neighbours that are looked at before all zone maps are.
const PROBES: usize = 32;
/// A zone is wide if it is so many times as wide as most are.
const WIDE: u64 = 8;
/// One in so many leaves may be wide.
const WIDE_SHARE: usize = if cfg!(debug_assertions) { 3 } else { 16 };

/// The keys that lie in one leaf each.
pub struct LeafKeys {
    /// Which of the groups is the key.
    column: usize,
    /// Apart, ascending; one a leaf that has keys for itself.
    spans: Vec<Bounds>,
    /// Keys that lie in leaves that were left out, ascending.
    strays: Vec<i64>,
}

impl LeafKeys {
    /// `None` if leaves have little for themselves, or nothing is known of that.
    pub fn of(run: &Run<'_>, input: &PlanNode, spec: &Spec) -> Result<Option<LeafKeys>> {
        let programs = spec.groups.iter().chain(spec.calls.iter().flat_map(|c| &c.args));
        if programs.clone().any(is_volatile) {
            return Ok(None);
        }
        for (column, group) in spec.groups.iter().enumerate() {
            let ExprKind::Column(c) = group.kind else { continue };
            let Some((table, position)) = scanned(input, c as usize) else { continue };
            let reader = run.ctx.tables.open(table)?;
            if let Some((spans, wide)) = spans(&*reader, position)
                && let Some(strays) = strays(run, &*reader, position, &wide)?
            {
                return Ok(Some(LeafKeys { column, spans, strays }));
            }
        }
        Ok(None)
    }

    /// The span that `key` lies in, and the strays there.
    fn span(&self, key: i64) -> Option<(Bounds, &[i64])> {
        let at = self.spans.partition_point(|s| s.max < key);
        let span = self.spans.get(at).copied().filter(|s| s.min <= key)?;
        let behind = &self.strays[self.strays.partition_point(|&k| k < span.min)..];
        Some((span, &behind[..behind.partition_point(|&k| k <= span.max)]))
    }
}

/// The table column that an output column of a scan, or of filters and projections on it, is.
fn scanned(node: &PlanNode, column: usize) -> Option<(&TableDef, usize)> {
    match &node.op {
        PlanOp::Scan { table, columns, project, .. } => Some((table, columns[*project.get(column)?])),
        PlanOp::Filter { input, .. } => scanned(input, column),
        PlanOp::Project { input, exprs } => match exprs.get(column)?.kind {
            ExprKind::Column(c) => scanned(input, c as usize),
            _ => None,
        },
        _ => None,
    }
}

/// What leaves have for themselves, and the leaves that were left out; `None` if few have anything.
fn spans(reader: &dyn TableReader, column: usize) -> Option<(Vec<Bounds>, Vec<usize>)> {
    let leaves = reader.leaf_count();
    if leaves < LEAVES_MIN {
        return None;
    }
    let step = (leaves / PROBES).max(1);
    let (mut probes, mut apart) = (0, 0);
    for leaf in (0..leaves - 1).step_by(step) {
        let (a, b) = (reader.zone(leaf, column)?, reader.zone(leaf + 1, column)?);
        probes += 1;
        apart += (a.max <= b.min || b.max <= a.min) as usize;
    }
    if apart * 2 < probes {
        return None;
    }
    let mut zones: Vec<Bounds> = (0..leaves).map(|leaf| reader.zone(leaf, column)).collect::<Option<_>>()?;
    let wide = leave_out_wide(&mut zones);
    let spans = apart_from_others(zones);
    (wide.len() * WIDE_SHARE <= leaves && spans.len() * 2 >= leaves).then_some((spans, wide))
}

/// Empties the zones that are much wider than most, and answers which.
fn leave_out_wide(zones: &mut [Bounds]) -> Vec<usize> {
    let width = |z: &Bounds| z.max.abs_diff(z.min);
    let mut widths: Vec<u64> = zones.iter().filter(|z| z.min <= z.max).map(width).collect();
    if widths.is_empty() {
        return Vec::new();
    }
    let middle = widths.len() / 2;
    let most = (*widths.select_nth_unstable(middle).1).max(1).saturating_mul(WIDE);
    let wide: Vec<usize> =
        (0..zones.len()).filter(|&i| zones[i].min <= zones[i].max && width(&zones[i]) > most).collect();
    for &i in &wide {
        zones[i] = Bounds { min: i64::MAX, max: i64::MIN };
    }
    wide
}

/// The keys that there are in some leaves; `None` for other than integers.
fn strays(run: &Run<'_>, reader: &dyn TableReader, column: usize, leaves: &[usize]) -> Result<Option<Vec<i64>>> {
    let mut strays = Vec::new();
    for &leaf in leaves {
        run.ctx.check_killed()?;
        let Some(batch) = reader.read(leaf, &[column], false, &|_| true)? else { continue };
        let (chunk, _) = batch.columns[0].chunk();
        let mut are_integers = true;
        batch.selection.for_each(batch.rows, |i| {
            let key = chunk.values.int_at(i);
            if chunk.is_valid(i) {
                are_integers &= key.is_some();
                strays.extend(key);
            }
        });
        if !are_integers {
            return Ok(None);
        }
    }
    strays.sort_unstable();
    strays.dedup();
    Ok(Some(strays))
}

/// Of each zone what lies behind all that begin before it, and before all that begin behind it.
fn apart_from_others(mut zones: Vec<Bounds>) -> Vec<Bounds> {
    zones.retain(|z| z.min <= z.max);
    zones.sort_unstable_by_key(|z| z.min);
    let mut spans = Vec::with_capacity(zones.len());
    // The least key behind all zones so far; `None`: there is none.
    let mut free = Some(i64::MIN);
    for (i, z) in zones.iter().enumerate() {
        let Some(from) = free else { break };
        let end = match zones.get(i + 1) {
            Some(next) if next.min == i64::MIN => None,
            Some(next) => Some(z.max.min(next.min - 1)),
            None => Some(z.max),
        };
        let min = z.min.max(from);
        spans.extend(end.filter(|&max| min <= max).map(|max| Bounds { min, max }));
        free = z.max.checked_add(1).map(|behind| behind.max(from));
    }
    spans
}

/// Shared state: groups of one leaf go on, rows of others to the sink.
pub struct LeafGroups<'a> {
    pub keys: LeafKeys,
    pub spec: &'a Spec,
    pub run: Run<'a>,
    pub node: u32,
    pub rest: &'a AggregateSink<'a>,
}

struct LeafGroupsLocal<'a> {
    stage: &'a LeafGroups<'a>,
    encoder: KeyEncoder,
    /// Takes the rows of keys that are not of one leaf; `None` once finished.
    rest: Option<Builder<'a>>,
    next: Box<dyn Push + 'a>,
    done: bool,
    // Scratch.
    keys: Keys,
    numbers: Vec<u32>,
}

impl Stage for LeafGroups<'_> {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(LeafGroupsLocal {
            stage: self,
            encoder: KeyEncoder::new(self.spec.layout.clone()),
            rest: Some(self.rest.builder()?),
            next,
            done: false,
            keys: Keys::default(),
            numbers: Vec::new(),
        }))
    }
}

impl LeafGroupsLocal<'_> {
    /// Aggregates rows that are all of their groups', and hands the groups on.
    fn emit(&mut self, keys: &[Vector], args: &[Vector], at: &Selection, rows: usize, sorted: bool) -> Result<Flow> {
        let LeafGroups { spec, run, node, .. } = self.stage;
        let mut groups = Groups::new(spec, run, Reservation::new(&run.memory_of(*node)))?;
        self.encoder.encode(keys, at, rows, &mut self.keys);
        self.numbers.clear();
        if sorted && keys.len() == 1 {
            let firsts = number(&self.keys, None, &mut self.numbers);
            groups.found(keys, &at.numbered(&firsts), rows);
        } else {
            groups.find_or_found(run, &self.keys, keys, (at, rows), &mut self.numbers)?;
        }
        let group_count = groups.count;
        groups.update(spec, Rows { groups: &self.numbers, selection: at, rows, group_count }, args, run)?;
        groups.memory.force(groups.bytes());
        let key_columns = groups.take_key_columns(spec);
        debug_assert!(group_count <= BATCH_ROWS_MAX);
        self.next.push(groups.batch(&key_columns, 0, group_count, &run.eval())?)
    }
}

impl Push for LeafGroupsLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        if self.done {
            return Ok(Flow::Done);
        }
        let LeafGroups { spec, run, keys: leaf_keys, .. } = self.stage;
        let keys = eval_all_within(&spec.group_programs, &batch, run)?;
        let args = eval_all_within(&spec.arg_programs, &batch, run)?;
        let (Some(keys), Some(args)) = (keys, args) else {
            // Too long for one go, and parts of a leaf do not make whole groups.
            self.rest.as_mut().expect("nothing is pushed after finish").push_batch(&batch)?;
            return Ok(Flow::More);
        };
        let split = Split::of(leaf_keys, &keys[leaf_keys.column], batch.selection, batch.rows);
        if split.rest.count(batch.rows) > 0 {
            let rest = self.rest.as_mut().expect("nothing is pushed after finish");
            rest.push_vectors(&keys, &args, &split.rest, batch.rows)?;
        }
        if split.whole.count(batch.rows) > 0
            && self.emit(&keys, &args, &split.whole, batch.rows, split.sorted)? == Flow::Done
        {
            self.done = true;
            return Ok(Flow::Done);
        }
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(rest) = self.rest.take() {
            self.stage.rest.add(rest.finish()?);
        }
        self.next.finish()
    }
}

/// The rows of a batch whose keys are its leaf's alone, and the others.
struct Split {
    whole: Selection,
    rest: Selection,
    /// The keys do not fall from row to row.
    sorted: bool,
}

impl Split {
    fn of(keys: &LeafKeys, column: &Vector, selection: Selection, rows: usize) -> Split {
        let none = |selection| Split { whole: Selection::Some(Vec::new()), rest: selection, sorted: false };
        let Vector::Flat(chunk) = column else { return none(selection) };
        macro_rules! split {
            ($value:expr) => {
                match &chunk.validity {
                    None => by_key(keys, $value, selection, rows),
                    Some(valid) => by_key(keys, |i| if valid.get(i) { $value(i) } else { None }, selection, rows),
                }
            };
        }
        match &chunk.values {
            Values::I8(v) => split!(|i: usize| Some(v[i] as i64)),
            Values::U8(v) => split!(|i: usize| Some(v[i] as i64)),
            Values::I16(v) => split!(|i: usize| Some(v[i] as i64)),
            Values::U16(v) => split!(|i: usize| Some(v[i] as i64)),
            Values::I32(v) => split!(|i: usize| Some(v[i] as i64)),
            Values::U32(v) => split!(|i: usize| Some(v[i] as i64)),
            Values::I64(v) => split!(|i: usize| Some(v[i])),
            Values::U64(v) => split!(|i: usize| i64::try_from(v[i]).ok()),
            _ => none(selection),
        }
    }
}

/// Splits by the span that the middle row's key is in: nearly always its leaf's.
#[inline]
fn by_key(keys: &LeafKeys, key: impl Fn(usize) -> Option<i64>, selection: Selection, rows: usize) -> Split {
    let count = selection.count(rows);
    let at = |j: usize| match &selection {
        Selection::All => j,
        Selection::Some(s) => s[j] as usize,
    };
    let Some((span, strays)) = key(at(count / 2)).and_then(|k| keys.span(k)) else {
        return Split { whole: Selection::Some(Vec::new()), rest: selection, sorted: false };
    };
    let (mut whole, mut rest) = (Vec::with_capacity(count), Vec::new());
    let mut sorted = true;
    let mut last = span.min;
    for j in 0..count {
        let i = at(j);
        match key(i) {
            Some(k) if k >= span.min && k <= span.max && (strays.is_empty() || strays.binary_search(&k).is_err()) => {
                sorted &= last <= k;
                last = k;
                whole.push(i as u16);
            }
            _ => rest.push(i as u16),
        }
    }
    let whole = if rest.is_empty() { selection } else { Selection::Some(whole) };
    Split { whole, rest: Selection::Some(rest), sorted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A key of a span is in one zone; a key that nothing but one zone has between its neighbours' is in a span.
        #[test]
        fn spans_are_what_one_zone_has(ends in proptest::collection::vec((-50i64..50, 0i64..12), 0..20)) {
            let zones: Vec<Bounds> = ends.iter().map(|&(min, n)| Bounds { min, max: min + n }).collect();
            let keys = LeafKeys { column: 0, spans: apart_from_others(zones.clone()), strays: Vec::new() };
            let holders = |k: i64| zones.iter().filter(|z| z.min <= k && k <= z.max).count();
            for k in -60..70 {
                if keys.span(k).is_some() {
                    prop_assert_eq!(holders(k), 1, "{}", k);
                }
            }
            prop_assert!(keys.spans.windows(2).all(|w| w[0].max < w[1].min));
            let is_row = zones.iter().all(|z| holders(z.min) == 1 && holders(z.max) == 1);
            if is_row {
                prop_assert_eq!(keys.spans.len(), zones.len());
            }
        }
    }

    #[test]
    fn spans_at_the_ends_of_the_numbers() {
        let all = |zones: &[(i64, i64)]| {
            let zones = zones.iter().map(|&(min, max)| Bounds { min, max }).collect();
            apart_from_others(zones).iter().map(|s| (s.min, s.max)).collect::<Vec<_>>()
        };
        assert_eq!(all(&[(i64::MIN, -5), (-5, i64::MAX)]), [(i64::MIN, -6), (-4, i64::MAX)]);
        assert_eq!(all(&[(i64::MIN, i64::MIN), (i64::MIN, 3)]), [(i64::MIN + 1, 3)]);
        assert_eq!(all(&[(0, i64::MAX), (i64::MAX, i64::MAX)]), [(0, i64::MAX - 1)]);
        assert_eq!(all(&[(1, 0), (4, 6)]), [(4, 6)], "a leaf without values");
    }
}
