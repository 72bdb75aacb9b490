//! Accumulators: the running state of one aggregate for all groups, as arrays indexed by group number.
//!
//! ```text
//!   update(groups[j], values at selection[j])      once a batch
//!   merge(other, src[k] -> dst[k])                 when threads' tables are joined
//!   finish(from..to) -> Chunk                      the results, in the call's type
//! ```
//! Exactness: integers and DECIMALs of at most 18 digits are summed in 128 bits, wider DECIMALs in 256; AVG divides the
//! exact sum, rounding half away from zero at MySQL's scale. DOUBLEs are summed as they come.

mod kernels;
mod results;
mod strings;

use super::concat::Concat;
use super::fast;
use expr::{AggCall, AggFunc, EvalContext};
use kernels::{count_rows, doubles, extreme_rows, sum_rows, words};
use results::exact_results;
use strings::{Anys, BestStrings};
use types::{Collation, Error, I256, PhysType, Result, SqlType, Value};
use vector::{Batch, Bitmap, Chunk, ChunkBuilder, Selection, Values, Vector};

/// The rows of an update: `groups[j]` is the group of the j-th selected position.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    pub groups: &'a [u32],
    pub selection: &'a Selection,
    pub rows: usize,
    /// Groups that exist now.
    pub group_count: usize,
}

impl Rows<'_> {
    /// Calls `f(group, position)` for each row whose value in `chunk` is not NULL.
    #[inline]
    fn for_valid(&self, chunk: &Chunk, constant: bool, mut f: impl FnMut(usize, usize)) {
        if constant {
            if chunk.is_valid(0) {
                self.groups.iter().for_each(|&g| f(g as usize, 0));
            }
            return;
        }
        match (&chunk.validity, self.selection) {
            (None, Selection::All) => self.groups.iter().enumerate().for_each(|(i, &g)| f(g as usize, i)),
            (None, Selection::Some(s)) => {
                self.groups.iter().zip(s).for_each(|(&g, &i)| f(g as usize, i as usize));
            }
            (Some(v), Selection::All) => self.groups.iter().enumerate().for_each(|(i, &g)| {
                if v.get(i) {
                    f(g as usize, i)
                }
            }),
            (Some(v), Selection::Some(s)) => self.groups.iter().zip(s).for_each(|(&g, &i)| {
                if v.get(i as usize) {
                    f(g as usize, i as usize)
                }
            }),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BitOp {
    And,
    Or,
    Xor,
}

/// What SUM and AVG make of their exact sum.
#[derive(Clone, Copy, Debug)]
pub struct ExactResult {
    ty: SqlType,
    average: bool,
    scale_in: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variance {
    StdPop,
    StdSamp,
    VarPop,
    VarSamp,
}

/// Least or greatest values.
pub enum Extremes {
    I64(Vec<i64>),
    U64(Vec<u64>),
    I128(Vec<i128>),
    I256(Vec<I256>),
    F64(Vec<f64>),
    Str(BestStrings),
}

/// See the module head.
pub enum Accumulator {
    Count { n: Vec<i64> },
    Sum { sum: Vec<i128>, n: Vec<i64>, result: ExactResult },
    SumWide { sum: Vec<I256>, n: Vec<i64>, result: ExactResult },
    SumDouble { sum: Vec<f64>, n: Vec<i64>, ty: SqlType, average: bool },
    Extreme { max: bool, best: Extremes, seen: Vec<bool>, ty: SqlType },
    Spread { n: Vec<i64>, mean: Vec<f64>, m2: Vec<f64>, what: Variance },
    Bits { op: BitOp, v: Vec<u64> },
    Any { v: Anys, ty: SqlType },
    Concat(Concat),
}

/// 10^19 > 2^63: sums of wider decimals than this many digits may leave 128 bits.
fn is_wide(ty: &SqlType) -> bool {
    matches!(ty.phys(), PhysType::I128 | PhysType::I256)
}

impl Accumulator {
    /// For a call whose arguments have been converted by [`super::spec::prepare_args`] and that is not DISTINCT.
    pub fn new(call: &AggCall, ctx: &EvalContext<'_>) -> Result<Accumulator> {
        let arg = call.args.first().map(|a| a.ty).unwrap_or(SqlType::Null);
        let n = Vec::new;
        Ok(match call.func {
            AggFunc::CountStar | AggFunc::Count => Accumulator::Count { n: n() },
            AggFunc::Sum | AggFunc::Avg => {
                let average = call.func == AggFunc::Avg;
                let scale_in = if let SqlType::Decimal { scale, .. } = arg { scale } else { 0 };
                let result = ExactResult { ty: call.ty, average, scale_in };
                if matches!(arg, SqlType::Float | SqlType::Double)
                    || matches!(call.ty, SqlType::Float | SqlType::Double)
                {
                    Accumulator::SumDouble { sum: Vec::new(), n: n(), ty: call.ty, average }
                } else if is_wide(&arg) {
                    Accumulator::SumWide { sum: Vec::new(), n: n(), result }
                } else {
                    Accumulator::Sum { sum: Vec::new(), n: n(), result }
                }
            }
            AggFunc::Min | AggFunc::Max => {
                let best = match arg.phys() {
                    PhysType::I8 | PhysType::I16 | PhysType::I32 | PhysType::I64 => Extremes::I64(Vec::new()),
                    PhysType::U8 | PhysType::U16 | PhysType::U32 | PhysType::U64 => Extremes::U64(Vec::new()),
                    PhysType::I128 => Extremes::I128(Vec::new()),
                    PhysType::I256 => Extremes::I256(Vec::new()),
                    PhysType::F32 | PhysType::F64 => Extremes::F64(Vec::new()),
                    PhysType::Str => Extremes::Str(BestStrings::new(arg.collation().unwrap_or(Collation::Binary))),
                };
                Accumulator::Extreme { max: call.func == AggFunc::Max, best, seen: Vec::new(), ty: call.ty }
            }
            AggFunc::StdPop | AggFunc::StdSamp | AggFunc::VarPop | AggFunc::VarSamp => Accumulator::Spread {
                n: n(),
                mean: Vec::new(),
                m2: Vec::new(),
                what: match call.func {
                    AggFunc::StdPop => Variance::StdPop,
                    AggFunc::StdSamp => Variance::StdSamp,
                    AggFunc::VarPop => Variance::VarPop,
                    _ => Variance::VarSamp,
                },
            },
            AggFunc::BitAnd => Accumulator::Bits { op: BitOp::And, v: Vec::new() },
            AggFunc::BitOr => Accumulator::Bits { op: BitOp::Or, v: Vec::new() },
            AggFunc::BitXor => Accumulator::Bits { op: BitOp::Xor, v: Vec::new() },
            AggFunc::AnyValue => Accumulator::Any { v: Anys::default(), ty: call.ty },
            AggFunc::GroupConcat => Accumulator::Concat(Concat::new(call, ctx)),
            AggFunc::Grouping => return Err(Error::internal("GROUPING() reached an accumulator")),
        })
    }

    /// Makes room for `groups` groups.
    pub fn resize(&mut self, groups: usize) {
        match self {
            Accumulator::Count { n } => n.resize(groups, 0),
            Accumulator::Sum { sum, n, .. } => {
                sum.resize(groups, 0);
                n.resize(groups, 0);
            }
            Accumulator::SumWide { sum, n, .. } => {
                sum.resize(groups, I256::ZERO);
                n.resize(groups, 0);
            }
            Accumulator::SumDouble { sum, n, .. } => {
                sum.resize(groups, 0.0);
                n.resize(groups, 0);
            }
            Accumulator::Extreme { best, seen, .. } => {
                seen.resize(groups, false);
                match best {
                    Extremes::I64(v) => v.resize(groups, 0),
                    Extremes::U64(v) => v.resize(groups, 0),
                    Extremes::I128(v) => v.resize(groups, 0),
                    Extremes::I256(v) => v.resize(groups, I256::ZERO),
                    Extremes::F64(v) => v.resize(groups, 0.0),
                    Extremes::Str(v) => v.resize(groups),
                }
            }
            Accumulator::Spread { n, mean, m2, .. } => {
                n.resize(groups, 0);
                mean.resize(groups, 0.0);
                m2.resize(groups, 0.0);
            }
            Accumulator::Bits { op, v } => v.resize(groups, if *op == BitOp::And { u64::MAX } else { 0 }),
            Accumulator::Any { v, .. } => v.resize(groups),
            Accumulator::Concat(c) => c.resize(groups),
        }
    }

    pub fn bytes(&self) -> usize {
        match self {
            Accumulator::Count { n } => n.capacity() * 8,
            Accumulator::Sum { sum, n, .. } => sum.capacity() * 16 + n.capacity() * 8,
            Accumulator::SumWide { sum, n, .. } => sum.capacity() * 32 + n.capacity() * 8,
            Accumulator::SumDouble { sum, n, .. } => sum.capacity() * 8 + n.capacity() * 8,
            Accumulator::Extreme { best, seen, .. } => {
                seen.capacity()
                    + match best {
                        Extremes::I64(v) => v.capacity() * 8,
                        Extremes::U64(v) => v.capacity() * 8,
                        Extremes::I128(v) => v.capacity() * 16,
                        Extremes::I256(v) => v.capacity() * 32,
                        Extremes::F64(v) => v.capacity() * 8,
                        Extremes::Str(v) => v.bytes(),
                    }
            }
            Accumulator::Spread { n, .. } => n.capacity() * 24,
            Accumulator::Bits { v, .. } => v.capacity() * 8,
            Accumulator::Any { v, .. } => v.bytes(),
            Accumulator::Concat(c) => c.bytes(),
        }
    }

    /// Whether states hold strings, so that they may grow while no group is added.
    pub fn holds_strings(&self) -> bool {
        matches!(
            self,
            Accumulator::Extreme { best: Extremes::Str(_), .. } | Accumulator::Any { .. } | Accumulator::Concat(_)
        )
    }

    /// Bytes of the string that is the result of group `g`; 0 for results of other kinds.
    pub fn result_bytes(&self, g: usize) -> usize {
        match self {
            Accumulator::Extreme { best: Extremes::Str(v), .. } => v.get(g).len(),
            Accumulator::Any { v, .. } => v.get(g).map_or(0, strings::value_bytes),
            Accumulator::Concat(c) => c.result_bytes(g),
            _ => 0,
        }
    }

    /// Takes the rows' argument values in. `args` are position aligned.
    pub fn update(&mut self, rows: Rows<'_>, args: &[Vector], ctx: &EvalContext<'_>) -> Result<()> {
        let few = rows.group_count <= fast::FEW_GROUPS_MAX && rows.groups.len() >= 32;
        match self {
            Accumulator::Count { n } => count_rows(n, rows, args, few),
            Accumulator::Sum { sum, n, .. } => {
                count_rows(n, rows, args, few);
                sum_rows(sum, rows, &args[0], few);
            }
            Accumulator::SumWide { sum, n, .. } => {
                count_rows(n, rows, args, few);
                let (chunk, constant) = args[0].chunk();
                match &chunk.values {
                    Values::I256(v) => {
                        rows.for_valid(chunk, constant, |g, i| sum[g] = sum[g].wrapping_add(v[i]));
                    }
                    Values::I128(v) => {
                        rows.for_valid(chunk, constant, |g, i| sum[g] = sum[g].wrapping_add(I256::from(v[i])));
                    }
                    // Many groups: most are not in the batch, so that folding all of them would cost more than it
                    // saves.
                    Values::I64(v) if rows.group_count > rows.groups.len() => {
                        rows.for_valid(chunk, constant, |g, i| sum[g] = sum[g].wrapping_add(I256::from(v[i] as i128)));
                    }
                    // Carried narrower than the type allows: sum the batch in 128 bits, then fold.
                    _ => {
                        let mut narrow = vec![0i128; rows.group_count];
                        sum_rows(&mut narrow, rows, &args[0], few);
                        for (s, x) in sum.iter_mut().zip(narrow) {
                            *s = s.wrapping_add(I256::from(x));
                        }
                    }
                }
            }
            Accumulator::SumDouble { sum, n, .. } => {
                count_rows(n, rows, args, few);
                doubles(rows, &args[0], |g, x| sum[g] += x);
            }
            Accumulator::Extreme { max, best, seen, .. } => extreme_rows(*max, best, seen, rows, &args[0]),
            Accumulator::Spread { n, mean, m2, .. } => doubles(rows, &args[0], |g, x| {
                n[g] += 1;
                let d = x - mean[g];
                mean[g] += d / n[g] as f64;
                m2[g] += d * (x - mean[g]);
            }),
            Accumulator::Bits { op, v } => {
                let (chunk, constant) = args[0].chunk();
                let op = *op;
                words(rows, chunk, constant, |g, x| match op {
                    BitOp::And => v[g] &= x,
                    BitOp::Or => v[g] |= x,
                    BitOp::Xor => v[g] ^= x,
                });
            }
            Accumulator::Any { v, ty } => {
                let mut j = 0;
                rows.selection.for_each(rows.rows, |i| {
                    v.offer(rows.groups[j] as usize, || args[0].value(i, ty));
                    j += 1;
                });
            }
            Accumulator::Concat(c) => c.update(rows, args, ctx)?,
        }
        Ok(())
    }

    /// Whether states that are merged are those of their rows taken one by one: sums of floating-point numbers are not,
    /// and joined strings are better made as their rows come.
    pub fn merges_exactly(&self) -> bool {
        use Accumulator::*;
        matches!(self, Count { .. } | Sum { .. } | SumWide { .. } | Extreme { .. } | Bits { .. })
    }

    /// Takes the states `src[k]` of `other`, an accumulator of the same call, into the states `dst[k]`.
    pub fn merge(&mut self, other: &Accumulator, src: &[u32], dst: &[u32]) -> Result<()> {
        let pairs = || src.iter().zip(dst).map(|(&s, &d)| (s as usize, d as usize));
        use Accumulator::*;
        match (self, other) {
            (Count { n }, Count { n: m }) => pairs().for_each(|(s, d)| n[d] += m[s]),
            (Sum { sum, n, .. }, Sum { sum: from, n: m, .. }) => pairs().for_each(|(s, d)| {
                sum[d] += from[s];
                n[d] += m[s];
            }),
            (SumWide { sum, n, .. }, SumWide { sum: from, n: m, .. }) => pairs().for_each(|(s, d)| {
                sum[d] = sum[d].wrapping_add(from[s]);
                n[d] += m[s];
            }),
            (SumDouble { sum, n, .. }, SumDouble { sum: from, n: m, .. }) => pairs().for_each(|(s, d)| {
                sum[d] += from[s];
                n[d] += m[s];
            }),
            (Extreme { max, best, seen, .. }, Extreme { best: from, seen: seen_from, .. }) => {
                macro_rules! better {
                    ($to:ident, $from:ident) => {
                        pairs().for_each(|(s, d)| {
                            if seen_from[s] && (!seen[d] || if *max { $from[s] > $to[d] } else { $from[s] < $to[d] }) {
                                $to[d] = $from[s];
                                seen[d] = true;
                            }
                        })
                    };
                }
                match (best, from) {
                    (Extremes::I64(to), Extremes::I64(from)) => better!(to, from),
                    (Extremes::U64(to), Extremes::U64(from)) => better!(to, from),
                    (Extremes::I128(to), Extremes::I128(from)) => better!(to, from),
                    (Extremes::I256(to), Extremes::I256(from)) => better!(to, from),
                    (Extremes::F64(to), Extremes::F64(from)) => better!(to, from),
                    (Extremes::Str(to), Extremes::Str(from)) => pairs().for_each(|(s, d)| {
                        if seen_from[s] {
                            to.offer(*max, d, &mut seen[d], from.get(s));
                        }
                    }),
                    _ => return Err(Error::internal("MIN/MAX states of two forms")),
                }
            }
            (Spread { n, mean, m2, .. }, Spread { n: n2, mean: mean2, m2: m22, .. }) => pairs().for_each(|(s, d)| {
                // Chan, Golub, LeVeque 1979.
                let (a, b) = (n[d] as f64, n2[s] as f64);
                if n2[s] > 0 {
                    let delta = mean2[s] - mean[d];
                    let total = a + b;
                    mean[d] += delta * b / total;
                    m2[d] += m22[s] + delta * delta * a * b / total;
                    n[d] += n2[s];
                }
            }),
            (Bits { op, v }, Bits { v: from, .. }) => pairs().for_each(|(s, d)| match op {
                BitOp::And => v[d] &= from[s],
                BitOp::Or => v[d] |= from[s],
                BitOp::Xor => v[d] ^= from[s],
            }),
            (Any { v, .. }, Any { v: from, .. }) => pairs().for_each(|(s, d)| {
                if let Some(value) = from.get(s) {
                    v.offer(d, || value.clone());
                }
            }),
            (Concat(c), Concat(from)) => c.merge(from, src, dst),
            _ => return Err(Error::internal("aggregate states of two kinds")),
        }
        Ok(())
    }

    /// The results of groups `from..to`.
    pub fn finish(&mut self, from: usize, to: usize, ctx: &EvalContext<'_>) -> Result<Chunk> {
        let bits = |some: &dyn Fn(usize) -> bool| {
            let mut b = Bitmap::zeros(to - from);
            (from..to).for_each(|g| b.set(g - from, some(g)));
            if b.all() { None } else { Some(b) }
        };
        Ok(match self {
            Accumulator::Count { n } => Chunk::new(Values::I64(n[from..to].to_vec()), None),
            Accumulator::Sum { sum, n, result } => {
                if !result.average
                    && matches!(result.ty, SqlType::Decimal { scale, .. } if scale == result.scale_in)
                    && result.ty.phys() == PhysType::I128
                {
                    return Ok(Chunk::new(Values::I128(sum[from..to].to_vec()), bits(&|g| n[g] > 0)));
                }
                exact_results((from..to).map(|g| (I256::from(sum[g]), n[g])), *result)?
            }
            Accumulator::SumWide { sum, n, result } => exact_results((from..to).map(|g| (sum[g], n[g])), *result)?,
            Accumulator::SumDouble { sum, n, ty, average } => {
                let v = (from..to).map(|g| if *average && n[g] > 0 { sum[g] / n[g] as f64 } else { sum[g] });
                let values = match ty {
                    SqlType::Float => Values::F32(v.map(|x| x as f32).collect()),
                    _ => Values::F64(v.collect()),
                };
                Chunk::new(values, bits(&|g| n[g] > 0))
            }
            Accumulator::Extreme { best, seen, ty, .. } => {
                let valid = bits(&|g| seen[g]);
                macro_rules! cast {
                    ($v:expr, $ty:expr) => {{
                        let v = &$v[from..to];
                        match $ty {
                            PhysType::I8 => Values::I8(v.iter().map(|&x| x as i8).collect()),
                            PhysType::U8 => Values::U8(v.iter().map(|&x| x as u8).collect()),
                            PhysType::I16 => Values::I16(v.iter().map(|&x| x as i16).collect()),
                            PhysType::U16 => Values::U16(v.iter().map(|&x| x as u16).collect()),
                            PhysType::I32 => Values::I32(v.iter().map(|&x| x as i32).collect()),
                            PhysType::U32 => Values::U32(v.iter().map(|&x| x as u32).collect()),
                            PhysType::I64 => Values::I64(v.iter().map(|&x| x as i64).collect()),
                            PhysType::U64 => Values::U64(v.iter().map(|&x| x as u64).collect()),
                            PhysType::I128 => Values::I128(v.iter().map(|&x| x as i128).collect()),
                            PhysType::F32 => Values::F32(v.iter().map(|&x| x as f32).collect()),
                            PhysType::F64 => Values::F64(v.iter().map(|&x| x as f64).collect()),
                            other => return Err(Error::internal(format_args!("MIN/MAX of type {other:?}"))),
                        }
                    }};
                }
                let values = match best {
                    Extremes::I64(v) => cast!(v, ty.phys()),
                    Extremes::U64(v) => cast!(v, ty.phys()),
                    Extremes::I128(v) => cast!(v, ty.phys()),
                    Extremes::F64(v) => cast!(v, ty.phys()),
                    Extremes::I256(v) => Values::I256(v[from..to].to_vec()),
                    Extremes::Str(v) => {
                        let mut b = ChunkBuilder::new(PhysType::Str, to - from);
                        (from..to).for_each(|g| b.push_bytes(v.get(g)));
                        b.values
                    }
                };
                Chunk::new(values, valid)
            }
            Accumulator::Spread { n, m2, what, .. } => {
                let least = if matches!(what, Variance::StdSamp | Variance::VarSamp) { 2 } else { 1 };
                let v = (from..to).map(|g| {
                    let variance = m2[g].max(0.0) / (n[g] - least + 1).max(1) as f64;
                    if matches!(what, Variance::StdPop | Variance::StdSamp) { variance.sqrt() } else { variance }
                });
                Chunk::new(Values::F64(v.collect()), bits(&|g| n[g] >= least))
            }
            Accumulator::Bits { v, .. } => Chunk::new(Values::U64(v[from..to].to_vec()), None),
            Accumulator::Any { v, ty } => {
                let mut b = ChunkBuilder::new(ty.phys(), to - from);
                (from..to).for_each(|g| b.push(v.get(g).unwrap_or(&Value::Null)));
                b.finish()
            }
            Accumulator::Concat(c) => c.finish(from, to, ctx),
        })
    }
}

/// The positions of `batch` as one group: what aggregates without GROUP BY update with.
pub fn all_in_one_group(batch: &Batch) -> Vec<u32> {
    vec![0; batch.count()]
}
