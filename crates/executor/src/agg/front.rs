//! The front: groups found without a hash table.
//!
//! Where the key columns of a batch are dictionary codes or integers of small range, the combined code (one column
//! after the other, mixed radix) indexes an array of group numbers, and no key is built or hashed at all.

use std::sync::Arc;
use vector::{Chunk, DictValues, Selection, StringDict, Values, Vector};

/// See the module head.
pub struct Front {
    shape: Vec<FrontColumn>,
    /// By code; `u32::MAX`: not known yet.
    pub groups: Vec<u32>,
    /// Batches whose shape differed from the one before.
    resets: u32,
    /// Of the batch's selected rows.
    pub codes: Vec<u32>,
}

#[derive(Clone, Debug)]
enum FrontColumn {
    Dict { dict: Arc<StringDict>, size: u32, nullable: bool },
    Int { min: i64, size: u32, nullable: bool },
}

const FRONT_MAX: u64 = 1 << 14;
const FRONT_RESETS_MAX: u32 = 200;

impl Front {
    pub fn new() -> Front {
        Front { shape: Vec::new(), groups: Vec::new(), resets: 0, codes: Vec::new() }
    }

    /// Whether column `v` fits `shape`.
    fn fits(shape: &FrontColumn, v: &Vector) -> bool {
        let (chunk, constant) = v.chunk();
        if constant {
            return false;
        }
        match (shape, &chunk.values) {
            (FrontColumn::Dict { dict, nullable, .. }, Values::Dict(d)) => {
                Arc::ptr_eq(dict, &d.dict) && (*nullable || chunk.validity.is_none())
            }
            (FrontColumn::Int { min, size, nullable }, _) => chunk.bounds.is_some_and(|b| {
                b.min >= *min && b.max < *min + *size as i64 && (*nullable || chunk.validity.is_none())
            }),
            _ => false,
        }
    }

    fn shape_of(v: &Vector) -> Option<(FrontColumn, u64)> {
        let Vector::Flat(chunk) = v else { return None };
        let nullable = chunk.validity.is_some();
        match &chunk.values {
            Values::Dict(d) => {
                let size = d.dict.strings.views.len() as u32;
                Some((FrontColumn::Dict { dict: d.dict.clone(), size, nullable }, size as u64 + nullable as u64))
            }
            Values::I8(_)
            | Values::U8(_)
            | Values::I16(_)
            | Values::U16(_)
            | Values::I32(_)
            | Values::U32(_)
            | Values::I64(_) => {
                let b = chunk.bounds?;
                let size = b.max.checked_sub(b.min)?.checked_add(1)? as u64;
                if b.max < b.min || size > FRONT_MAX / 2 {
                    return None;
                }
                // Room above and below, so that the next batches are likely to fit.
                let room = size as i64 / 4;
                let min = b.min.checked_sub(room)?;
                let size = size + 2 * room as u64;
                Some((FrontColumn::Int { min, size: size as u32, nullable }, size + nullable as u64))
            }
            _ => None,
        }
    }

    /// Fills `codes` for the selected rows; false if the columns do not lend themselves.
    pub fn encode(&mut self, keys: &[Vector], selection: &Selection, rows: usize) -> bool {
        if self.resets > FRONT_RESETS_MAX {
            return false;
        }
        if self.shape.len() != keys.len() || !self.shape.iter().zip(keys).all(|(s, v)| Front::fits(s, v)) {
            self.resets += 1;
            self.shape.clear();
            let mut domain = 1u64;
            for v in keys {
                let Some((column, size)) = Front::shape_of(v) else {
                    self.shape.clear();
                    return false;
                };
                domain = domain.saturating_mul(size.max(1));
                if domain > FRONT_MAX {
                    self.shape.clear();
                    return false;
                }
                self.shape.push(column);
            }
            self.groups.clear();
            self.groups.resize(domain as usize, u32::MAX);
        }
        self.codes.clear();
        self.codes.resize(selection.count(rows), 0);
        for (column, v) in self.shape.iter().zip(keys) {
            let (chunk, _) = v.chunk();
            let (size, nullable, min) = match column {
                FrontColumn::Dict { size, nullable, .. } => (*size, *nullable, 0),
                FrontColumn::Int { size, nullable, min } => (*size, *nullable, *min),
            };
            let radix = size + nullable as u32;
            macro_rules! add {
                ($v:expr) => {
                    add_codes(&mut self.codes, $v, chunk, selection, radix, size, |x| {
                        (x as i64).wrapping_sub(min) as u32
                    })
                };
            }
            match &chunk.values {
                Values::Dict(DictValues { codes, .. }) => add!(codes),
                Values::I8(v) => add!(v),
                Values::U8(v) => add!(v),
                Values::I16(v) => add!(v),
                Values::U16(v) => add!(v),
                Values::I32(v) => add!(v),
                Values::U32(v) => add!(v),
                Values::I64(v) => add!(v),
                _ => return false,
            }
        }
        true
    }
}

fn add_codes<T: Copy>(
    codes: &mut [u32],
    v: &[T],
    chunk: &Chunk,
    selection: &Selection,
    radix: u32,
    null_code: u32,
    code: impl Fn(T) -> u32,
) {
    match (&chunk.validity, selection) {
        (None, Selection::All) => codes.iter_mut().zip(v).for_each(|(c, &x)| *c = *c * radix + code(x)),
        (None, Selection::Some(s)) => {
            codes.iter_mut().zip(s).for_each(|(c, &i)| *c = *c * radix + code(v[i as usize]));
        }
        (Some(valid), _) => {
            let mut j = 0;
            selection.for_each(v.len(), |i| {
                codes[j] = codes[j] * radix + if valid.get(i) { code(v[i]) } else { null_code };
                j += 1;
            });
        }
    }
}
