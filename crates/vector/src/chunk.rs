//! A chunk: one column of one leaf or batch.

use crate::{Bitmap, Values};
use types::{Date, DateTime, Decimal, I256, PhysType, SqlType, Time, Timestamp, Value};

/// Inclusive range that contains every non-NULL value of an integer-like chunk (integers, scaled decimals of at most 18
/// digits, dates and times in packed form). Possibly wider than the values; never narrower.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    pub min: i64,
    pub max: i64,
}

/// Values, validity and bounds of one column.
#[derive(Clone, Debug)]
pub struct Chunk {
    pub values: Values,
    /// `None`: no NULLs.
    pub validity: Option<Bitmap>,
    /// Zone map in storage; range analysis in expressions (a product whose bounds fit 64 bits stays in 64 bits).
    pub bounds: Option<Bounds>,
}

impl Chunk {
    pub fn new(values: Values, validity: Option<Bitmap>) -> Chunk {
        debug_assert!(validity.as_ref().is_none_or(|v| v.len() == values.len()));
        Chunk { values, validity, bounds: None }
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn is_valid(&self, i: usize) -> bool {
        self.validity.as_ref().is_none_or(|v| v.get(i))
    }

    pub fn has_nulls(&self) -> bool {
        self.validity.is_some()
    }

    pub fn gather(&self, positions: &[u16]) -> Chunk {
        let validity = self.validity.as_ref().and_then(|v| {
            let mut out = Bitmap::zeros(positions.len());
            for (o, &i) in positions.iter().enumerate() {
                out.set(o, v.get(i as usize));
            }
            if out.all() { None } else { Some(out) }
        });
        Chunk { values: self.values.gather(positions), validity, bounds: self.bounds }
    }

    /// The value at `i`, read as type `ty`. Row-at-a-time paths only.
    pub fn value(&self, i: usize, ty: &SqlType) -> Value {
        if !self.is_valid(i) {
            return Value::Null;
        }
        let int = |v: i64| match ty {
            SqlType::Date => Value::Date(Date(v as i32)),
            SqlType::Time { .. } => Value::Time(Time(v)),
            SqlType::DateTime { .. } => Value::DateTime(DateTime(v)),
            SqlType::Timestamp { .. } => Value::Timestamp(Timestamp(v)),
            SqlType::Decimal { scale, .. } => {
                Value::Decimal(Decimal { unscaled: I256::from(v as i128), scale: *scale })
            }
            _ => Value::Int(v),
        };
        let scale = if let SqlType::Decimal { scale, .. } = ty { *scale } else { 0 };
        match &self.values {
            Values::I8(v) => int(v[i] as i64),
            Values::U8(v) => Value::UInt(v[i] as u64),
            Values::I16(v) => int(v[i] as i64),
            Values::U16(v) => Value::UInt(v[i] as u64),
            Values::I32(v) => int(v[i] as i64),
            Values::U32(v) => Value::UInt(v[i] as u64),
            Values::I64(v) => int(v[i]),
            Values::U64(v) => Value::UInt(v[i]),
            Values::I128(v) => Value::Decimal(Decimal { unscaled: I256::from(v[i]), scale }),
            Values::I256(v) => Value::Decimal(Decimal { unscaled: v[i], scale }),
            Values::F32(v) => Value::Float(v[i]),
            Values::F64(v) => Value::Double(v[i]),
            Values::Str(s) => Value::Bytes(s.bytes(i).into()),
            Values::Dict(d) => Value::Bytes(d.bytes(i).into()),
        }
    }

    /// Heap bytes held.
    pub fn bytes_allocated(&self) -> usize {
        self.values.bytes_allocated() + self.validity.as_ref().map_or(0, |v| v.words().len() * 8)
    }
}

/// Builds a chunk value by value.
#[derive(Debug)]
pub struct ChunkBuilder {
    pub values: Values,
    pub validity: Option<Bitmap>,
}

impl ChunkBuilder {
    pub fn new(phys: PhysType, rows: usize) -> ChunkBuilder {
        ChunkBuilder { values: Values::with_capacity(phys, rows), validity: None }
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn push_null(&mut self) {
        let n = self.values.len();
        self.values.push_default();
        self.validity.get_or_insert_with(|| Bitmap::ones(n)).push(false);
    }

    fn pushed_valid(&mut self) {
        if let Some(v) = &mut self.validity {
            v.push(true);
        }
    }

    /// Appends a value of exactly the column's type (see `types::value` for conversions).
    ///
    /// # Panics
    /// If the value's kind does not fit the physical type: a bug of the caller, who converts first.
    pub fn push(&mut self, value: &Value) {
        let wide = |v: &Value| -> i128 {
            match v {
                Value::Int(v) => *v as i128,
                Value::UInt(v) => *v as i128,
                Value::Date(d) => d.0 as i128,
                Value::Time(t) => t.0 as i128,
                Value::DateTime(t) => t.0 as i128,
                Value::Timestamp(t) => t.0 as i128,
                Value::Decimal(d) => d.unscaled.lo as i128,
                other => panic!("value {other:?} does not fit the column's physical type"),
            }
        };
        match (&mut self.values, value) {
            (_, Value::Null) => return self.push_null(),
            (Values::I8(v), x) => v.push(wide(x) as i8),
            (Values::U8(v), x) => v.push(wide(x) as u8),
            (Values::I16(v), x) => v.push(wide(x) as i16),
            (Values::U16(v), x) => v.push(wide(x) as u16),
            (Values::I32(v), x) => v.push(wide(x) as i32),
            (Values::U32(v), x) => v.push(wide(x) as u32),
            (Values::I64(v), x) => v.push(wide(x) as i64),
            (Values::U64(v), x) => v.push(wide(x) as u64),
            (Values::I128(v), x) => v.push(wide(x)),
            (Values::I256(v), Value::Decimal(d)) => v.push(d.unscaled),
            (Values::F32(v), Value::Float(x)) => v.push(*x),
            (Values::F64(v), Value::Double(x)) => v.push(*x),
            (Values::Str(s), Value::Bytes(b)) => s.push(b),
            (values, other) => panic!("value {other:?} does not fit physical type {:?}", values.phys()),
        }
        self.pushed_valid();
    }

    pub fn push_bytes(&mut self, bytes: &[u8]) {
        let Values::Str(s) = &mut self.values else { panic!("push_bytes on a chunk that holds no strings") };
        s.push(bytes);
        self.pushed_valid();
    }

    /// The same of bytes that need not be copied if they are many.
    pub fn push_vec(&mut self, bytes: Vec<u8>) {
        let Values::Str(s) = &mut self.values else { panic!("push_vec on a chunk that holds no strings") };
        s.push_vec(bytes);
        self.pushed_valid();
    }

    pub fn finish(self) -> Chunk {
        Chunk::new(self.values, self.validity)
    }
}
