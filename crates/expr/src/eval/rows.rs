//! Row-at-a-time results: a closure a row, an array of the right kind out.

use super::strbuf::StrBuf;
use crate::EvalContext;
use types::Result;
use vector::{Bitmap, Chunk, Native, Selection, StrHeap, StrValues, StrView, Values, Vector};

/// The rows that a function looks at: selected, and without a NULL among its arguments.
pub(crate) struct Rows<'a> {
    pub rows: usize,
    pub sel: &'a Selection,
    pub valid: Option<Bitmap>,
    pub ctx: &'a EvalContext<'a>,
    /// A row may take milliseconds, for the strings are long: see [`has_long_strings`].
    pub is_long: bool,
}

/// Whether the strings are so long together that KILL is looked at for each row.
pub(crate) fn has_long_strings<'v>(args: impl IntoIterator<Item = &'v Vector>) -> bool {
    let bytes = |v: &Vector| match &v.chunk().0.values {
        Values::Str(s) => s.heap.blocks().iter().map(|b| b.len()).sum(),
        _ => 0,
    };
    args.into_iter().map(bytes).sum::<usize>() > CHECKED_BYTES
}

/// Bytes after which KILL and the evaluation's bound are looked at.
const CHECKED_BYTES: usize = 1 << 20;

/// A string this long lies in the view itself.
const INLINE: usize = 12;

impl Rows<'_> {
    pub fn new<'a>(rows: usize, sel: &'a Selection, args: &[&Vector], ctx: &'a EvalContext<'a>) -> Rows<'a> {
        let mut valid: Option<Bitmap> = None;
        for v in args {
            match v {
                Vector::Flat(c) => valid = super::tri::and_validity(valid, c.validity.as_ref()),
                Vector::Const(c) if !c.is_valid(0) => valid = Some(Bitmap::zeros(rows)),
                Vector::Const(_) => {}
            }
        }
        let is_long = has_long_strings(args.iter().copied());
        Rows { rows, sel, valid, ctx, is_long }
    }

    /// Calls `f` at each row.
    pub fn try_each(&self, mut f: impl FnMut(usize) -> Result<()>) -> Result<()> {
        if self.is_long {
            return self.each(|i| self.ctx.check_killed().and_then(|()| f(i)));
        }
        self.each(f)
    }

    fn each(&self, mut f: impl FnMut(usize) -> Result<()>) -> Result<()> {
        match (self.sel, &self.valid) {
            (Selection::All, None) => (0..self.rows).try_for_each(f),
            (Selection::All, Some(v)) => v.iter_ones().try_for_each(f),
            (Selection::Some(s), None) => s.iter().try_for_each(|&i| f(i as usize)),
            (Selection::Some(s), Some(v)) => s.iter().map(|&i| i as usize).filter(|&i| v.get(i)).try_for_each(f),
        }
    }

    /// Fixed-width results; None is NULL.
    pub fn fixed<T: Native>(self, mut f: impl FnMut(usize) -> Result<Option<T>>) -> Result<Chunk> {
        let mut out = vec![T::default(); self.rows];
        let mut nulls: Vec<usize> = Vec::new();
        self.try_each(|i| {
            match f(i)? {
                Some(v) => out[i] = v,
                None => nulls.push(i),
            }
            Ok(())
        })?;
        Ok(Chunk::new(T::wrap(out), self.validity_without(&nulls)))
    }

    fn validity_without(self, nulls: &[usize]) -> Option<Bitmap> {
        let mut valid = self.valid;
        if !nulls.is_empty() {
            let v = valid.get_or_insert_with(|| Bitmap::ones(self.rows));
            nulls.iter().for_each(|&i| v.set(i, false));
        }
        valid
    }

    /// String results: `f` appends to the buffer and says whether the result is not NULL.
    pub fn strings(self, mut f: impl FnMut(usize, &mut StrBuf<'_>) -> Result<bool>) -> Result<Chunk> {
        let mut views = vec![StrView::EMPTY; self.rows];
        let mut nulls: Vec<usize> = Vec::new();
        let mut heap = StrHeap::default();
        let mut block = StrBuf::new(self.ctx);
        let (mut made, mut checked, mut row_count) = (0, 0, 0);
        self.try_each(|i| {
            let start = block.len();
            row_count += 1;
            if made - checked > CHECKED_BYTES {
                checked = made;
                self.ctx.check_killed()?;
                self.ctx.bound.map_or(Ok(()), |b| b.check(made, row_count))?;
            }
            let is_value = f(i, &mut block)?;
            block.check()?;
            if !is_value {
                block.truncate(start);
                nulls.push(i);
                return Ok(());
            }
            let len = block.len() - start;
            made += len;
            if len <= INLINE {
                views[i] = StrView::inline(&block[start..]);
                block.truncate(start);
            } else {
                views[i] = StrView::pointing(&block[start..], heap.blocks().len() as u32, start as u32);
            }
            // Offsets have 32 bits.
            if block.len() > 1 << 30 {
                heap.push_block(block.take().into());
            }
            Ok(())
        })?;
        if !block.is_empty() {
            heap.push_block(block.take().into());
        }
        let values = Values::Str(StrValues { views, heap: heap.into() });
        Ok(Chunk::new(values, self.validity_without(&nulls)))
    }
}
