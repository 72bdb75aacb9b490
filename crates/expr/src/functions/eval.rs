//! Calling functions: from vectors of arguments to a chunk of results.

use super::record::Kernel;
use super::{Detail, Function, IntervalUnit};
use crate::EvalContext;
use crate::eval::Node;
use crate::eval::rows::{Rows, has_long_strings};
use std::sync::Mutex;
use types::{Collation, Error, Result, SqlType};
use vector::{Chunk, Selection, Values, Vector};

/// What a call keeps between batches: compiled patterns, the state of RAND(n).
#[derive(Debug, Default)]
pub(crate) struct CallState {
    pub regex: Mutex<Option<(Box<[u8]>, super::regexp::Pattern)>>,
    pub rand: Mutex<Option<(u32, u32)>>,
}

/// A call with its arguments evaluated.
pub(crate) struct Call<'a> {
    pub function: Function,
    pub node: &'a Node,
    pub args: &'a [Vector],
    pub types: &'a [SqlType],
    pub state: &'a CallState,
    pub ctx: &'a EvalContext<'a>,
    pub row_count: usize,
    /// The rows whose results are wanted.
    pub sel: &'a Selection,
}

impl<'a> Call<'a> {
    /// The rows of the selection in which no argument is NULL.
    pub fn rows(&self) -> Rows<'a> {
        let args: Vec<&Vector> = self.args.iter().collect();
        Rows::new(self.row_count, self.sel, &args, self.ctx)
    }

    /// All rows of the selection, NULL arguments or not.
    pub fn all_rows(&self) -> Rows<'a> {
        Rows { rows: self.row_count, sel: self.sel, valid: None, ctx: self.ctx, is_long: has_long_strings(self.args) }
    }

    /// The unit of time that the call names.
    pub fn unit(&self) -> IntervalUnit {
        match self.function.detail() {
            Detail::Unit(unit) => unit,
            _ => IntervalUnit::Microsecond,
        }
    }

    /// The name of the function in messages about arguments.
    pub fn name(&self) -> String {
        self.function.name().to_ascii_lowercase()
    }

    pub fn ty(&self) -> SqlType {
        self.node.ty
    }

    #[inline]
    pub fn bytes(&self, k: usize, i: usize) -> &'a [u8] {
        self.args[k].bytes(i)
    }

    /// An integer argument; DECIMALs without fraction too.
    #[inline]
    pub fn int(&self, k: usize, i: usize) -> i64 {
        int_at(&self.args[k], i)
    }

    pub fn double(&self, k: usize, i: usize) -> f64 {
        let (c, constant) = self.args[k].chunk();
        let i = if constant { 0 } else { i };
        match &c.values {
            Values::F64(v) => v[i],
            Values::F32(v) => v[i] as f64,
            _ => int_at(&self.args[k], i) as f64,
        }
    }

    pub fn is_null(&self, k: usize, i: usize) -> bool {
        !self.args[k].is_valid(i)
    }

    pub fn collation(&self, k: usize) -> Collation {
        self.types.get(k).and_then(|t| t.collation()).unwrap_or(Collation::Binary)
    }

    pub fn len(&self) -> usize {
        self.args.len()
    }

    pub fn fault(&self, e: Error) -> Result<()> {
        self.ctx.fault(e)
    }
}

/// The integer at a position of an integer-like vector; unsigned values above i64 saturate.
#[inline]
pub(crate) fn int_at(v: &Vector, i: usize) -> i64 {
    let (c, constant) = v.chunk();
    let i = if constant { 0 } else { i };
    match &c.values {
        Values::I64(v) => v[i],
        Values::I8(v) => v[i] as i64,
        Values::U8(v) => v[i] as i64,
        Values::I16(v) => v[i] as i64,
        Values::U16(v) => v[i] as i64,
        Values::I32(v) => v[i] as i64,
        Values::U32(v) => v[i] as i64,
        Values::U64(v) => v[i].min(i64::MAX as u64) as i64,
        Values::I128(v) => v[i].clamp(i64::MIN as i128, i64::MAX as i128) as i64,
        Values::F64(v) => v[i] as i64,
        Values::F32(v) => v[i] as i64,
        _ => 0,
    }
}

/// If one argument is a dictionary column and all others are constants: the function of each entry, spread by code.
pub(crate) fn over_dictionary(call: &Call, kernel: Kernel) -> Result<Option<Vector>> {
    let mut found = None;
    for (k, v) in call.args.iter().enumerate() {
        match v {
            Vector::Const(_) => {}
            Vector::Flat(c) if matches!(c.values, Values::Dict(_)) && found.is_none() => found = Some((k, c)),
            Vector::Flat(_) => return Ok(None),
        }
    }
    let Some((k, chunk)) = found else { return Ok(None) };
    let Values::Dict(d) = &chunk.values else { return Ok(None) };
    let entries = d.dict.strings.views.len();
    if entries == 0 || entries >= call.sel.count(call.row_count) || call.function.record().nulls.seen() {
        return Ok(None);
    }
    let mut args = call.args.to_vec();
    args[k] = Vector::flat(Chunk::new(Values::Str(d.dict.strings.clone()), None));
    let results = kernel(&Call { args: &args, row_count: entries, sel: &Selection::All, ..*call })?;
    // Codes at NULL positions may be anything.
    let codes: Vec<u16> = d.codes.iter().map(|&c| if (c as usize) < entries { c as u16 } else { 0 }).collect();
    let mut out = results.gather(&codes);
    out.validity = match (out.validity.take(), &chunk.validity) {
        (None, v) => v.clone(),
        (Some(mut a), Some(b)) => {
            a.and(b);
            Some(a)
        }
        (a, None) => a,
    };
    Ok(Some(Vector::flat(out)))
}
