//! Exact sums as the values of SUM and AVG.

use super::ExactResult;
use types::{Error, I256, Result, SqlType};
use vector::{Chunk, ChunkBuilder, Values};

/// SUMs and AVGs from exact sums and counts.
pub(super) fn exact_results(sums: impl Iterator<Item = (I256, i64)>, result: ExactResult) -> Result<Chunk> {
    let scale_out = match result.ty {
        SqlType::Decimal { scale, .. } => scale,
        _ => 0,
    };
    let overflow = || Error::internal("an aggregate left the range of DECIMAL");
    let up = I256::pow10(scale_out.saturating_sub(result.scale_in) as usize);
    let down = I256::pow10(result.scale_in.saturating_sub(scale_out) as usize);
    let mut b = ChunkBuilder::new(result.ty.phys(), 0);
    for (sum, n) in sums {
        if n == 0 {
            b.push_null();
            continue;
        }
        let divisor = if result.average { I256::from(n) } else { I256::ONE };
        let divisor = divisor.checked_mul(down).ok_or_else(overflow)?;
        let v = if divisor == I256::ONE {
            sum.checked_mul(up).ok_or_else(overflow)?
        } else {
            // an average has all digits that division makes, and ends there
            sum.mul_div_trunc(up, divisor).ok_or_else(overflow)?
        };
        let narrow = |v: I256| v.to_i128().ok_or_else(overflow);
        match &mut b.values {
            Values::I64(out) => out.push(v.to_i64().ok_or_else(overflow)?),
            Values::U64(out) => out.push(v.to_u64().ok_or_else(overflow)?),
            Values::I128(out) => out.push(narrow(v)?),
            Values::I256(out) => out.push(v),
            Values::F64(out) => out.push(v.to_f64()),
            other => return Err(Error::internal(format_args!("a sum of type {:?}", other.phys()))),
        }
        if let Some(bits) = &mut b.validity {
            bits.push(true);
        }
    }
    Ok(b.finish())
}
