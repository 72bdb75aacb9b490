//! Carriers: integer-like values in an array narrower than their column's type.
//!
//! ```text
//!   signed     I8  I16  I32  I64  I128  I256      unsigned   U8  U16  U32  U64
//! ```
//! A DECIMAL(15,2) whose values in one leaf lie between 1 and 5000 needs two bytes a value, not eight, and scans are
//! bound by what they read. Any carrier of the same family is as good as another: the values are the same numbers, and
//! they are still a plain slice. A value that does not fit widens the array it is written to.

use crate::{Chunk, Rows, Values};
use std::borrow::Cow;
use std::sync::Arc;
use types::{I256, PhysType};

/// Place in its family (0 = narrowest) and whether that is the signed one; `None`: no integer-like array.
fn rank(phys: PhysType) -> Option<(bool, u8)> {
    Some(match phys {
        PhysType::I8 => (true, 0),
        PhysType::I16 => (true, 1),
        PhysType::I32 => (true, 2),
        PhysType::I64 => (true, 3),
        PhysType::I128 => (true, 4),
        PhysType::I256 => (true, 5),
        PhysType::U8 => (false, 0),
        PhysType::U16 => (false, 1),
        PhysType::U32 => (false, 2),
        PhysType::U64 => (false, 3),
        PhysType::F32 | PhysType::F64 | PhysType::Str => return None,
    })
}

/// Whether values of `a` may lie in `b`'s array because `b` is a wider one of the same family.
pub fn is_narrower(a: PhysType, b: PhysType) -> bool {
    matches!((rank(a), rank(b)), (Some((s, x)), Some((t, y))) if s == t && x < y)
}

/// The narrowest array of `phys`'s family for values in `min..=max`.
fn narrowest(phys: PhysType, min: i64, max: i64) -> PhysType {
    macro_rules! first_of {
        ($($t:ty => $p:ident),*) => {{
            $(if <$t>::try_from(min).is_ok() && <$t>::try_from(max).is_ok() {
                return PhysType::$p;
            })*
        }};
    }
    match rank(phys) {
        Some((true, _)) => first_of!(i8 => I8, i16 => I16, i32 => I32, i64 => I64),
        Some((false, _)) => first_of!(u8 => U8, u16 => U16, u32 => U32, u64 => U64),
        None => {}
    }
    phys
}

macro_rules! cast_all {
    ($v:expr, $to:expr, $($p:ident => $t:ty),*) => {
        match $to {
            $(PhysType::$p => Values::$p($v.iter().map(|&x| x as $t).collect()),)*
            other => panic!("an integer array cannot become {other:?}"),
        }
    };
}

impl Values {
    /// The integers in the array `to` of the same family, cut to its width. NULL positions may hold anything.
    fn recast(&self, to: PhysType) -> Values {
        macro_rules! signed {
            ($v:expr) => {
                match to {
                    PhysType::I256 => Values::I256($v.iter().map(|&x| I256::from(x as i128)).collect()),
                    _ => cast_all!($v, to, I8 => i8, I16 => i16, I32 => i32, I64 => i64, I128 => i128),
                }
            };
        }
        macro_rules! unsigned {
            ($v:expr) => {
                cast_all!($v, to, U8 => u8, U16 => u16, U32 => u32, U64 => u64)
            };
        }
        match self {
            Values::I8(v) => signed!(v),
            Values::I16(v) => signed!(v),
            Values::I32(v) => signed!(v),
            Values::I64(v) => signed!(v),
            Values::I128(v) => signed!(v),
            Values::U8(v) => unsigned!(v),
            Values::U16(v) => unsigned!(v),
            Values::U32(v) => unsigned!(v),
            Values::U64(v) => unsigned!(v),
            other => panic!("{:?} values cannot become {to:?}", other.phys()),
        }
    }

    /// The integers of at most 64 bits in the array `to` of either family, which holds all that count. `None`: these,
    /// or those of `to`, are none.
    pub fn carried(&self, to: PhysType) -> Option<Values> {
        macro_rules! each {
            ($v:expr) => {
                match to {
                    PhysType::I8 => Values::I8($v.iter().map(|&x| x as i8).collect()),
                    PhysType::I16 => Values::I16($v.iter().map(|&x| x as i16).collect()),
                    PhysType::I32 => Values::I32($v.iter().map(|&x| x as i32).collect()),
                    PhysType::I64 => Values::I64($v.iter().map(|&x| x as i64).collect()),
                    PhysType::U8 => Values::U8($v.iter().map(|&x| x as u8).collect()),
                    PhysType::U16 => Values::U16($v.iter().map(|&x| x as u16).collect()),
                    PhysType::U32 => Values::U32($v.iter().map(|&x| x as u32).collect()),
                    PhysType::U64 => Values::U64($v.iter().map(|&x| x as u64).collect()),
                    _ => return None,
                }
            };
        }
        Some(match self {
            Values::I8(v) => each!(v),
            Values::I16(v) => each!(v),
            Values::I32(v) => each!(v),
            Values::I64(v) => each!(v),
            Values::U8(v) => each!(v),
            Values::U16(v) => each!(v),
            Values::U32(v) => each!(v),
            Values::U64(v) => each!(v),
            _ => return None,
        })
    }

    /// The same values in physical form `phys`, which must be the same or a wider one of the family.
    ///
    /// # Panics
    /// If it is not.
    pub fn widened(&self, phys: PhysType) -> Cow<'_, Values> {
        let own = self.phys();
        if own == phys {
            return Cow::Borrowed(self);
        }
        assert!(is_narrower(own, phys), "a column of physical type {phys:?} cannot take {own:?} values");
        Cow::Owned(self.recast(phys))
    }

    /// Appends rows of a narrower array of the same family, each widened by itself. False: it is none.
    pub(crate) fn append_narrower(&mut self, from: &Values, rows: Rows<'_>) -> bool {
        fn extend<T: Copy, U>(out: &mut Vec<U>, from: &[T], rows: Rows<'_>, widen: impl Fn(T) -> U) {
            match rows {
                Rows::Range(a, b) => out.extend(from[a..b].iter().map(|&x| widen(x))),
                Rows::At(p) => out.extend(p.iter().map(|&i| widen(from[i as usize]))),
            }
        }
        macro_rules! take {
            ($out:expr, $to:ty: $($p:ident)*) => {
                match from {
                    $(Values::$p(v) => extend($out, v, rows, |x| <$to>::from(x)),)*
                    _ => return false,
                }
            };
        }
        match self {
            Values::I16(out) => take!(out, i16: I8),
            Values::I32(out) => take!(out, i32: I8 I16),
            Values::I64(out) => take!(out, i64: I8 I16 I32),
            Values::I128(out) => take!(out, i128: I8 I16 I32 I64),
            Values::I256(out) => match from {
                Values::I8(v) => extend(out, v, rows, |x| I256::from(x as i128)),
                Values::I16(v) => extend(out, v, rows, |x| I256::from(x as i128)),
                Values::I32(v) => extend(out, v, rows, |x| I256::from(x as i128)),
                Values::I64(v) => extend(out, v, rows, |x| I256::from(x as i128)),
                Values::I128(v) => extend(out, v, rows, I256::from),
                _ => return false,
            },
            Values::U16(out) => take!(out, u16: U8),
            Values::U32(out) => take!(out, u32: U8 U16),
            Values::U64(out) => take!(out, u64: U8 U16 U32),
            _ => return false,
        }
        true
    }

    /// Writes the integer at `j` of `from`, an array of the same family, to position `i`, widening this array if the
    /// value asks for it. False: these are no two arrays of one family.
    pub(crate) fn set_carried(&mut self, i: usize, from: &Values, j: usize) -> bool {
        let (own, other) = (self.phys(), from.phys());
        if is_narrower(own, other) {
            let fits = match from {
                Values::U64(v) => i64::try_from(v[j]).ok(),
                Values::I128(v) => i64::try_from(v[j]).ok(),
                Values::I256(v) => v[j].to_i64(),
                narrow => narrow.int_at(j),
            };
            match fits.map(|v| narrowest(own, v, v)).filter(|p| *p == own || is_narrower(*p, own)) {
                Some(_) => {}
                None => *self = self.recast(other),
            }
        } else if !is_narrower(other, own) {
            return false;
        }
        let one = from.gather(&[j as u16]);
        let one = if one.phys() == self.phys() { one } else { one.recast_one(self.phys()) };
        self.set(i, &one, 0);
        true
    }

    fn recast_one(&self, to: PhysType) -> Values {
        match self {
            Values::I256(v) => Values::I128(vec![v[0].lo as i128]).recast(to),
            other => other.recast(to),
        }
    }
}

impl Chunk {
    /// Moves the values into the narrowest array that holds the chunk's bounds; 128-bit integers without bounds get
    /// them if they fit 64 bits.
    pub fn narrow(&mut self) {
        if let (None, Values::I128(v)) = (self.bounds, &self.values) {
            let fits = |i: usize| !self.is_valid(i) || i64::try_from(v[i]).is_ok();
            if !(0..v.len()).all(fits) {
                return;
            }
            self.values = self.values.recast(PhysType::I64);
            self.compute_bounds();
        }
        let Some(b) = self.bounds else { return };
        let own = self.values.phys();
        let to = narrowest(own, b.min, b.max);
        if is_narrower(to, own) {
            self.values = self.values.recast(to);
        }
    }

    /// The chunk with its integers in the array `phys`, if they lie in a narrower one.
    pub fn widened(self: Arc<Chunk>, phys: PhysType) -> Arc<Chunk> {
        if !is_narrower(self.values.phys(), phys) {
            return self;
        }
        let values = self.values.widened(phys).into_owned();
        Arc::new(Chunk { values, validity: self.validity.clone(), bounds: self.bounds })
    }

    /// See [`Chunk::widened`].
    pub fn widen_to(&mut self, phys: PhysType) {
        if is_narrower(self.values.phys(), phys) {
            self.values = self.values.widened(phys).into_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bitmap, Bounds};

    #[test]
    fn rows_of_narrower_arrays_are_appended_widened() {
        let narrow = [Values::I8(vec![-1, 2, 3]), Values::I16(vec![-1, 2, 3]), Values::I32(vec![-1, 2, 3])];
        for from in &narrow {
            let mut out = Values::I64(vec![7]);
            out.append(from, Rows::At(&[2, 0]));
            out.append(from, Rows::Range(1, 3));
            assert!(matches!(&out, Values::I64(v) if *v == [7, 3, -1, 2, 3]));
            let mut out = Values::I256(vec![]);
            out.append(from, Rows::At(&[0]));
            assert!(matches!(&out, Values::I256(v) if v[0].to_i64() == Some(-1)));
        }
        let mut out = Values::U64(vec![]);
        out.append(&Values::U8(vec![255, 1]), Rows::At(&[0]));
        assert!(matches!(&out, Values::U64(v) if *v == [255]));
        // The other way round the result widens.
        let mut out = Values::I8(vec![5]);
        out.append(&Values::I32(vec![1 << 20]), Rows::At(&[0]));
        assert!(matches!(&out, Values::I32(v) if *v == [5, 1 << 20]));
    }

    #[test]
    fn the_narrowest_that_holds_the_bounds() {
        for (values, phys) in [
            (vec![0i64, -128, 127], PhysType::I8),
            (vec![128], PhysType::I16),
            (vec![-32769], PhysType::I32),
            (vec![i64::MIN], PhysType::I64),
        ] {
            let mut c = Chunk::new(Values::I64(values.clone()), None);
            c.compute_bounds();
            c.narrow();
            assert_eq!(c.values.phys(), phys);
            c.widen_to(PhysType::I64);
            assert!(matches!(&c.values, Values::I64(v) if *v == values));
        }
        let mut c = Chunk::new(Values::U64(vec![255, 0]), None);
        c.compute_bounds();
        c.narrow();
        assert_eq!(c.values.phys(), PhysType::U8);
        let mut c = Chunk::new(Values::U64(vec![u64::MAX]), None);
        c.compute_bounds();
        c.narrow();
        assert_eq!(c.values.phys(), PhysType::U64);
    }

    #[test]
    fn null_positions_need_not_fit() {
        let mut valid = Bitmap::ones(2);
        valid.set(1, false);
        let mut c = Chunk::new(Values::I128(vec![7, i128::MAX]), Some(valid));
        c.narrow();
        assert_eq!((c.values.phys(), c.bounds), (PhysType::I8, Some(Bounds { min: 7, max: 7 })));
    }

    #[test]
    fn what_does_not_fit_widens() {
        let mut c = Chunk::new(Values::I64(vec![1, 2]), None);
        c.compute_bounds();
        c.narrow();
        c.set(0, &Chunk::new(Values::I64(vec![100]), None), 0);
        assert_eq!(c.values.phys(), PhysType::I8);
        c.set(1, &Chunk::new(Values::I64(vec![1 << 40]), None), 0);
        assert!(matches!(&c.values, Values::I64(v) if *v == [100, 1 << 40]));
        assert_eq!(c.bounds, Some(Bounds { min: 1, max: 1 << 40 }));
        c.set(0, &Chunk::new(Values::I8(vec![-3]), None), 0);
        assert!(matches!(&c.values, Values::I64(v) if *v == [-3, 1 << 40]));
        let mut c = Chunk::new(Values::I8(vec![1]), None);
        c.append(&Chunk::new(Values::I16(vec![300]), None), crate::Rows::Range(0, 1));
        assert!(matches!(&c.values, Values::I16(v) if *v == [1, 300]));
    }
}
