//! Physical arrays.

use crate::{DictValues, StrValues};
use types::{I256, PhysType};

/// One column's values, NULL positions included.
#[derive(Clone, Debug)]
pub enum Values {
    I8(Vec<i8>),
    U8(Vec<u8>),
    I16(Vec<i16>),
    U16(Vec<u16>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    I128(Vec<i128>),
    I256(Vec<I256>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Str(StrValues),
    Dict(DictValues),
}

/// Runs `$body` with `$v` bound to the Vec of the fixed-width variants, and `$str` arms for strings.
#[macro_export]
macro_rules! for_fixed {
    ($values:expr, $v:ident => $body:expr, str $s:ident => $sbody:expr, dict $d:ident => $dbody:expr) => {
        match $values {
            $crate::Values::I8($v) => $body,
            $crate::Values::U8($v) => $body,
            $crate::Values::I16($v) => $body,
            $crate::Values::U16($v) => $body,
            $crate::Values::I32($v) => $body,
            $crate::Values::U32($v) => $body,
            $crate::Values::I64($v) => $body,
            $crate::Values::U64($v) => $body,
            $crate::Values::I128($v) => $body,
            $crate::Values::I256($v) => $body,
            $crate::Values::F32($v) => $body,
            $crate::Values::F64($v) => $body,
            $crate::Values::Str($s) => $sbody,
            $crate::Values::Dict($d) => $dbody,
        }
    };
}

impl Values {
    pub fn with_capacity(phys: PhysType, rows: usize) -> Values {
        match phys {
            PhysType::I8 => Values::I8(Vec::with_capacity(rows)),
            PhysType::U8 => Values::U8(Vec::with_capacity(rows)),
            PhysType::I16 => Values::I16(Vec::with_capacity(rows)),
            PhysType::U16 => Values::U16(Vec::with_capacity(rows)),
            PhysType::I32 => Values::I32(Vec::with_capacity(rows)),
            PhysType::U32 => Values::U32(Vec::with_capacity(rows)),
            PhysType::I64 => Values::I64(Vec::with_capacity(rows)),
            PhysType::U64 => Values::U64(Vec::with_capacity(rows)),
            PhysType::I128 => Values::I128(Vec::with_capacity(rows)),
            PhysType::I256 => Values::I256(Vec::with_capacity(rows)),
            PhysType::F32 => Values::F32(Vec::with_capacity(rows)),
            PhysType::F64 => Values::F64(Vec::with_capacity(rows)),
            PhysType::Str => Values::Str(StrValues { views: Vec::with_capacity(rows), heap: Default::default() }),
        }
    }

    pub fn phys(&self) -> PhysType {
        match self {
            Values::I8(_) => PhysType::I8,
            Values::U8(_) => PhysType::U8,
            Values::I16(_) => PhysType::I16,
            Values::U16(_) => PhysType::U16,
            Values::I32(_) => PhysType::I32,
            Values::U32(_) => PhysType::U32,
            Values::I64(_) => PhysType::I64,
            Values::U64(_) => PhysType::U64,
            Values::I128(_) => PhysType::I128,
            Values::I256(_) => PhysType::I256,
            Values::F32(_) => PhysType::F32,
            Values::F64(_) => PhysType::F64,
            Values::Str(_) | Values::Dict(_) => PhysType::Str,
        }
    }

    /// Where position `i` is in memory, for who wants it brought near; it may be none.
    #[inline]
    pub fn place(&self, i: usize) -> *const u8 {
        for_fixed!(self, v => v.as_ptr().wrapping_add(i).cast(), str s => s.views.as_ptr().wrapping_add(i).cast(),
            dict d => d.codes.as_ptr().wrapping_add(i).cast())
    }

    pub fn len(&self) -> usize {
        for_fixed!(self, v => v.len(), str s => s.views.len(), dict d => d.codes.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a default (zero, empty) value: what lies at a NULL position.
    pub fn push_default(&mut self) {
        for_fixed!(self, v => v.push(Default::default()), str s => s.views.push(Default::default()), dict d => d.codes.push(0))
    }

    /// The values at `positions`, in that order; string heaps and dictionaries are shared, not copied.
    pub fn gather(&self, positions: &[u16]) -> Values {
        macro_rules! g {
            ($variant:ident, $v:expr) => {
                Values::$variant(positions.iter().map(|&i| $v[i as usize]).collect())
            };
        }
        match self {
            Values::I8(v) => g!(I8, v),
            Values::U8(v) => g!(U8, v),
            Values::I16(v) => g!(I16, v),
            Values::U16(v) => g!(U16, v),
            Values::I32(v) => g!(I32, v),
            Values::U32(v) => g!(U32, v),
            Values::I64(v) => g!(I64, v),
            Values::U64(v) => g!(U64, v),
            Values::I128(v) => g!(I128, v),
            Values::I256(v) => g!(I256, v),
            Values::F32(v) => g!(F32, v),
            Values::F64(v) => g!(F64, v),
            Values::Str(s) => Values::Str(StrValues {
                views: positions.iter().map(|&i| s.views[i as usize]).collect(),
                heap: s.heap.clone(),
            }),
            Values::Dict(d) => Values::Dict(DictValues {
                codes: positions.iter().map(|&i| d.codes[i as usize]).collect(),
                dict: d.dict.clone(),
            }),
        }
    }

    /// Dictionary codes become views; everything else stays.
    pub fn undict(self) -> Values {
        match self {
            Values::Dict(d) => Values::Str(d.to_str()),
            other => other,
        }
    }

    /// Values that there is room for.
    pub fn capacity(&self) -> usize {
        for_fixed!(self, v => v.capacity(), str s => s.views.capacity(), dict d => d.codes.capacity())
    }

    /// Heap bytes held, shared blocks counted in full.
    pub fn bytes_allocated(&self) -> usize {
        for_fixed!(self,
            v => vec_bytes(v),
            str s => s.views.capacity() * 16 + s.heap.bytes_allocated(),
            dict d => d.codes.capacity())
    }
}

fn vec_bytes<T>(v: &Vec<T>) -> usize {
    v.capacity() * size_of::<T>()
}

/// A fixed-width element type of [`Values`].
pub trait Native: Copy + Default + PartialEq + Send + Sync + 'static {
    const PHYS: PhysType;
    fn slice(values: &Values) -> Option<&[Self]>;
    fn vec_mut(values: &mut Values) -> Option<&mut Vec<Self>>;
    fn wrap(v: Vec<Self>) -> Values;
}

macro_rules! native {
    ($($t:ty => $variant:ident),*) => {$(
        impl Native for $t {
            const PHYS: PhysType = PhysType::$variant;
            #[inline]
            fn slice(values: &Values) -> Option<&[$t]> {
                match values { Values::$variant(v) => Some(v), _ => None }
            }
            #[inline]
            fn vec_mut(values: &mut Values) -> Option<&mut Vec<$t>> {
                match values { Values::$variant(v) => Some(v), _ => None }
            }
            fn wrap(v: Vec<$t>) -> Values {
                Values::$variant(v)
            }
        }
    )*};
}

native!(i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64,
        i128 => I128, I256 => I256, f32 => F32, f64 => F64);
