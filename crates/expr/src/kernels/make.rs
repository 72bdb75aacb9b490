//! Constants, NULLs and carriers.

use types::{Decimal, Error, I256, PhysType, Result, SqlType, Value};
use vector::{Bitmap, Chunk, ChunkBuilder, Values, Vector};

/// The complement of a bitmap.
pub(crate) fn complement(b: &Bitmap) -> Bitmap {
    let mut out = b.clone();
    let n = b.len();
    for w in out.words_mut() {
        *w = !*w;
    }
    out.resize(n);
    out
}

/// NULL at every position.
pub fn null_vector(ty: &SqlType) -> Vector {
    let mut b = ChunkBuilder::new(ty.phys(), 1);
    b.push_null();
    Vector::Const(b.finish().into())
}

/// One value at every position, in the canonical form of `ty`. Numbers are brought to the type's scale and width; the
/// value must be of the type's kind.
pub fn constant(v: &Value, ty: &SqlType) -> Result<Vector> {
    if v.is_null() {
        return Ok(null_vector(ty));
    }
    let wrong = || Error::internal(format_args!("constant {v:?} of type {ty:?}"));
    let scale = if let SqlType::Decimal { scale, .. } = ty { *scale } else { 0 };
    let whole = |x: i128| Decimal { unscaled: I256::from(x), scale: 0 };
    let number = match v {
        Value::Int(x) => Some(whole(*x as i128)),
        Value::UInt(x) => Some(whole(*x as i128)),
        Value::Decimal(d) => Some(*d),
        Value::Date(d) => Some(whole(d.0 as i128)),
        Value::Time(t) => Some(whole(t.0 as i128)),
        Value::DateTime(t) => Some(whole(t.0 as i128)),
        Value::Timestamp(t) => Some(whole(t.0 as i128)),
        _ => None,
    };
    let values = match (ty.phys(), v, number) {
        (PhysType::Str, Value::Bytes(b), _) => {
            let mut out = ChunkBuilder::new(PhysType::Str, 1);
            out.push_bytes(b);
            return Ok(Vector::Const(out.finish().into()));
        }
        (PhysType::F64, Value::Double(x), _) => Values::F64(vec![*x]),
        (PhysType::F64, Value::Float(x), _) => Values::F64(vec![*x as f64]),
        (PhysType::F32, Value::Float(x), _) => Values::F32(vec![*x]),
        (PhysType::F32, Value::Double(x), _) => Values::F32(vec![*x as f32]),
        (PhysType::F64, _, Some(d)) => Values::F64(vec![d.to_f64()]),
        (PhysType::F32, _, Some(d)) => Values::F32(vec![d.to_f64() as f32]),
        (PhysType::I256, _, Some(d)) => Values::I256(vec![d.rescale(scale).ok_or_else(wrong)?.unscaled]),
        (phys, _, Some(d)) => {
            let x = d.rescale(scale).and_then(|d| d.to_i128()).ok_or_else(wrong)?;
            match phys {
                PhysType::I8 => Values::I8(vec![x.try_into().map_err(|_| wrong())?]),
                PhysType::U8 => Values::U8(vec![x.try_into().map_err(|_| wrong())?]),
                PhysType::I16 => Values::I16(vec![x.try_into().map_err(|_| wrong())?]),
                PhysType::U16 => Values::U16(vec![x.try_into().map_err(|_| wrong())?]),
                PhysType::I32 => Values::I32(vec![x.try_into().map_err(|_| wrong())?]),
                PhysType::U32 => Values::U32(vec![x.try_into().map_err(|_| wrong())?]),
                PhysType::I64 => Values::I64(vec![x.try_into().map_err(|_| wrong())?]),
                PhysType::U64 => Values::U64(vec![x.try_into().map_err(|_| wrong())?]),
                PhysType::I128 => Values::I128(vec![x]),
                _ => return Err(wrong()),
            }
        }
        _ => return Err(wrong()),
    };
    Ok(Vector::Const(Chunk::new(values, None).into()))
}

/// 128-bit integers as the type's array; DECIMALs of more than 38 digits stay in 128 bits. Values outside the type
/// must lie at positions that do not count.
pub(crate) fn narrow_to(v: Vec<i128>, ty: &SqlType) -> Result<Values> {
    macro_rules! cut {
        ($variant:ident, $t:ty) => {
            Values::$variant(v.into_iter().map(|x| x as $t).collect())
        };
    }
    Ok(match ty.phys() {
        PhysType::I8 => cut!(I8, i8),
        PhysType::U8 => cut!(U8, u8),
        PhysType::I16 => cut!(I16, i16),
        PhysType::U16 => cut!(U16, u16),
        PhysType::I32 => cut!(I32, i32),
        PhysType::U32 => cut!(U32, u32),
        PhysType::I64 => cut!(I64, i64),
        PhysType::U64 => cut!(U64, u64),
        PhysType::I128 | PhysType::I256 => Values::I128(v),
        other => return Err(Error::internal(format_args!("integers as {other:?}"))),
    })
}

/// The chunk in the type's canonical form: DECIMAL carriers are widened, dictionaries stay.
pub fn canonical(chunk: &Chunk, ty: &SqlType) -> Chunk {
    let values = match (&chunk.values, ty.phys()) {
        (Values::I64(v), PhysType::I128) => Values::I128(v.iter().map(|&x| x as i128).collect()),
        (Values::I64(v), PhysType::I256) => Values::I256(v.iter().map(|&x| I256::from(x as i128)).collect()),
        (Values::I128(v), PhysType::I256) => Values::I256(v.iter().map(|&x| I256::from(x)).collect()),
        (Values::I128(v), PhysType::I64) => Values::I64(v.iter().map(|&x| x as i64).collect()),
        (other, _) => other.clone(),
    };
    Chunk { values, validity: chunk.validity.clone(), bounds: chunk.bounds }
}
