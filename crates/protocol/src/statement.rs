//! Prepared statements on the wire: the answer to COM_STMT_PREPARE, the arguments of COM_STMT_EXECUTE.
//!
//! ```text
//! prepared   00 | statement: 4 | columns: 2 | parameters: 2 | 00 | warnings: 2
//! execute    cursor flags: 1 | iterations: 4 | NULL bitmap | types follow: 1 | (type: 1, unsigned: 1)* | values
//! ```
//! Types need to be sent with the first execution only; later ones may say that they are as before. A parameter that
//! came by COM_STMT_SEND_LONG_DATA has no value here.

use types::decimal::parse_decimal;
use types::{Collation, Date, DateTime, IntSize, SqlType, StringKind, Time, Value};

use crate::bytes::{Cursor, Malformed, put_u16, put_u32};

/// Appends the payload that answers COM_STMT_PREPARE; definitions of parameters and columns follow it.
pub fn prepared(out: &mut Vec<u8>, statement: u32, column_count: u16, param_count: u16, warnings: u16) {
    out.push(0);
    put_u32(out, statement);
    put_u16(out, column_count);
    put_u16(out, param_count);
    out.push(0);
    put_u16(out, warnings);
}

/// The type that a client gives a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamType {
    /// `MYSQL_TYPE_...`
    pub column_type: u8,
    pub unsigned: bool,
}

/// How a statement is to be executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExecuteHeader {
    /// The client wants to fetch the rows with COM_STMT_FETCH.
    pub cursor: bool,
}

/// `CURSOR_TYPE_READ_ONLY`, `_FOR_UPDATE` and `_SCROLLABLE`; the last two mean the first, as in MySQL.
const CURSOR_FLAGS: u8 = 0b111;

/// A parameter's value with the type that expressions see.
pub type Param = (Value, SqlType);

/// Decodes what follows the statement id in COM_STMT_EXECUTE. `types` are those of the execution before, and are
/// replaced if new ones come; `long_data` tells what came ahead for a parameter; strings are in `collation`. The values
/// replace what is in `out`.
pub fn execute<'d>(
    arguments: &[u8],
    param_count: usize,
    types: &mut Vec<ParamType>,
    long_data: impl Fn(usize) -> Option<&'d [u8]>,
    collation: Collation,
    out: &mut Vec<Param>,
) -> Result<ExecuteHeader, Malformed> {
    out.clear();
    let mut cursor = Cursor::new(arguments);
    let header = ExecuteHeader { cursor: cursor.u8()? & CURSOR_FLAGS != 0 };
    cursor.u32()?;
    if param_count == 0 {
        return Ok(header);
    }
    let nulls = cursor.take(param_count.div_ceil(8))?;
    if cursor.u8()? == 1 {
        let sent = cursor.take(param_count * 2)?;
        types.clear();
        types.extend(sent.chunks_exact(2).map(|t| ParamType { column_type: t[0], unsigned: t[1] & 0x80 != 0 }));
    }
    if types.len() != param_count {
        return Err(Malformed);
    }
    for (i, ty) in types.iter().enumerate() {
        let null = nulls[i / 8] >> (i % 8) & 1 == 1;
        out.push(match long_data(i) {
            Some(bytes) => string(bytes, *ty, collation),
            None if null => (Value::Null, SqlType::Null),
            None => value(&mut cursor, *ty, collation)?,
        });
    }
    Ok(header)
}

fn integer(unsigned: bool, value: u64) -> Param {
    let ty = SqlType::Int { size: IntSize::I64, unsigned };
    (if unsigned { Value::UInt(value) } else { Value::Int(value as i64) }, ty)
}

fn value(cursor: &mut Cursor<'_>, ty: ParamType, collation: Collation) -> Result<Param, Malformed> {
    let signed = !ty.unsigned;
    Ok(match ty.column_type {
        1 => {
            let v = cursor.u8()?;
            integer(ty.unsigned, if signed { v as i8 as u64 } else { v.into() })
        }
        2 | 13 => {
            let v = cursor.u16()?;
            integer(ty.unsigned, if signed { v as i16 as u64 } else { v.into() })
        }
        3 | 9 => {
            let v = cursor.u32()?;
            integer(ty.unsigned, if signed { v as i32 as u64 } else { v.into() })
        }
        8 => integer(ty.unsigned, cursor.u64()?),
        4 => (Value::Float(f32::from_bits(cursor.u32()?)), SqlType::Float),
        5 => (Value::Double(f64::from_bits(cursor.u64()?)), SqlType::Double),
        6 => (Value::Null, SqlType::Null),
        7 | 10 | 12 | 17 | 18 | 14 => date_or_datetime(cursor, ty.column_type, collation)?,
        11 | 19 => time(cursor, collation)?,
        0 | 246 => decimal(cursor.lenenc_bytes()?, ty, collation),
        15 | 16 | 245 | 247..=255 => string(cursor.lenenc_bytes()?, ty, collation),
        _ => return Err(Malformed),
    })
}

/// Long data and strings: the BLOB types are bytes, the others text.
fn string(bytes: &[u8], ty: ParamType, collation: Collation) -> Param {
    let collation = if matches!(ty.column_type, 249..=252) { Collation::Binary } else { collation };
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let kind = if len <= 0xffff / 4 { StringKind::VarChar } else { StringKind::LongText };
    (Value::Bytes(bytes.into()), SqlType::String { kind, len, collation })
}

fn decimal(text: &[u8], ty: ParamType, collation: Collation) -> Param {
    let parsed = parse_decimal(text);
    if parsed.bad || parsed.trailing || parsed.rounded || parsed.overflow {
        return string(text, ty, collation); // what its use makes of it
    }
    let (precision, scale) = (parsed.value.precision(), parsed.value.scale);
    (Value::Decimal(parsed.value), SqlType::Decimal { precision: precision.max(scale).max(1), scale })
}

/// A text that stands for a value that is none; whoever uses it complains about it.
fn impossible(text: String, collation: Collation) -> Param {
    let len = text.len() as u32;
    (Value::str(&text), SqlType::varchar(len, collation))
}

fn date_or_datetime(cursor: &mut Cursor<'_>, column_type: u8, collation: Collation) -> Result<Param, Malformed> {
    let len = cursor.u8()?;
    if !matches!(len, 0 | 4 | 7 | 11) {
        return Err(Malformed);
    }
    let (mut date, mut clock, mut micros) = ((0, 0, 0), (0, 0, 0), 0);
    if len >= 4 {
        date = (i32::from(cursor.u16()?), i32::from(cursor.u8()?), i32::from(cursor.u8()?));
    }
    if len >= 7 {
        clock = (cursor.u8()?, cursor.u8()?, cursor.u8()?);
    }
    if len == 11 {
        micros = cursor.u32()?;
    }
    let (hour, minute, second) = clock;
    let (year, month, day) = date;
    let text = || format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}");
    if matches!(column_type, 10 | 14) && len == 0 {
        return Ok((Value::Date(Date::default()), SqlType::Date));
    }
    if matches!(column_type, 10 | 14) && len == 4 {
        return Ok(match Date::new(year, month, day) {
            Some(date) => (Value::Date(date), SqlType::Date),
            None => impossible(format!("{year:04}-{month:02}-{day:02}"), collation),
        });
    }
    if len == 0 {
        return Ok((Value::DateTime(DateTime::ZERO), SqlType::DateTime { fsp: 0 }));
    }
    let fsp = if micros > 0 { 6 } else { 0 };
    let micros_of_second = i32::try_from(micros).unwrap_or(-1);
    Ok(match DateTime::new(year, month, day, hour.into(), minute.into(), second.into(), micros_of_second) {
        Some(datetime) => (Value::DateTime(datetime), SqlType::DateTime { fsp }),
        None => impossible(text(), collation),
    })
}

fn time(cursor: &mut Cursor<'_>, collation: Collation) -> Result<Param, Malformed> {
    let len = cursor.u8()?;
    if !matches!(len, 0 | 8 | 12) {
        return Err(Malformed);
    }
    let (mut negative, mut days, mut clock, mut micros) = (false, 0, (0, 0, 0), 0);
    if len >= 8 {
        negative = cursor.u8()? != 0;
        days = cursor.u32()?;
        clock = (cursor.u8()?, cursor.u8()?, cursor.u8()?);
    }
    if len == 12 {
        micros = cursor.u32()?;
    }
    let mut hours = u64::from(days) * 24 + u64::from(clock.0);
    if hours > 838 && clock.1 < 60 && clock.2 < 60 {
        // As in MySQL the greatest TIME stands for those beyond.
        (hours, clock, micros) = (838, (0, 59, 59), 0);
    }
    let fsp = if micros > 0 { 6 } else { 0 };
    let whole =
        u32::try_from(hours).ok().and_then(|hours| Time::new(negative, hours, clock.1.into(), clock.2.into(), micros));
    Ok(match whole {
        Some(time) => (Value::Time(time), SqlType::Time { fsp }),
        None => {
            let sign = if negative { "-" } else { "" };
            impossible(format!("{sign}{hours}:{:02}:{:02}.{micros:06}", clock.1, clock.2), collation)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(arguments: &[u8], count: usize) -> Result<Vec<Param>, Malformed> {
        let mut out = Vec::new();
        execute(arguments, count, &mut Vec::new(), |_| None, Collation::default(), &mut out)?;
        Ok(out)
    }

    /// One parameter with its type.
    fn one(column_type: u8, flags: u8, bytes: &[u8]) -> Param {
        let arguments = [&[0, 1, 0, 0, 0, 0, 1, column_type, flags], bytes].concat();
        decode(&arguments, 1).unwrap().remove(0)
    }

    #[test]
    fn each_type() {
        assert_eq!(one(1, 0, &[0xff]).0, Value::Int(-1));
        assert_eq!(one(1, 0x80, &[0xff]).0, Value::UInt(255));
        assert_eq!(one(2, 0, &[0xfe, 0xff]).0, Value::Int(-2));
        assert_eq!(one(3, 0x80, &[0xff; 4]).0, Value::UInt(u32::MAX.into()));
        assert_eq!(one(8, 0, &[0xff; 8]), (Value::Int(-1), SqlType::BIGINT));
        assert_eq!(one(5, 0, &1.5f64.to_le_bytes()).0, Value::Double(1.5));
        assert_eq!(one(246, 0, b"\x05-1.50").0, Value::Decimal(types::Decimal::from_i128(-150, 2)));
        assert_eq!(one(253, 0, b"\x03abc"), (Value::str("abc"), SqlType::varchar(3, Collation::default())));
        assert_eq!(one(252, 0, b"\x03abc").1, SqlType::varchar(3, Collation::Binary));
        assert_eq!(one(10, 0, &[4, 0xe8, 7, 2, 29]).0, Value::Date(Date::new(2024, 2, 29).unwrap()));
        let datetime = DateTime::new(2024, 2, 29, 23, 59, 58, 5).unwrap();
        assert_eq!(one(12, 0, &[11, 0xe8, 7, 2, 29, 23, 59, 58, 5, 0, 0, 0]).0, Value::DateTime(datetime));
        assert_eq!(one(12, 0, &[7, 0xe8, 7, 2, 31, 0, 0, 0]).0, Value::str("2024-02-31 00:00:00.000000"));
        let time = Time::new(true, 25, 1, 2, 0).unwrap();
        assert_eq!(one(11, 0, &[8, 1, 1, 0, 0, 0, 1, 1, 2]).0, Value::Time(time));
        let greatest = Time::new(true, 838, 59, 59, 0).unwrap();
        assert_eq!(
            one(11, 0, &[12, 1, 35, 0, 0, 0, 2, 0, 0, 9, 0, 0, 0]),
            (Value::Time(greatest), SqlType::Time { fsp: 0 })
        );
        assert_eq!(one(11, 0, &[0]).0, Value::Time(Time::new(false, 0, 0, 0, 0).unwrap()));
    }

    #[test]
    fn nulls_types_of_before_and_long_data() {
        let mut types = vec![];
        let mut out = vec![];
        let collation = Collation::default();
        let first = [0, 1, 0, 0, 0, 0b10, 1, 3, 0, 253, 0, 7, 0, 0, 0];
        assert_eq!(execute(&first, 2, &mut types, |_| None, collation, &mut out), Ok(ExecuteHeader { cursor: false }));
        assert_eq!((&out[0].0, &out[1].0), (&Value::Int(7), &Value::Null));
        let second = [1, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0];
        let long = |i: usize| (i == 1).then_some(&b"long"[..]);
        assert_eq!(execute(&second, 2, &mut types, long, collation, &mut out), Ok(ExecuteHeader { cursor: true }));
        assert_eq!((&out[0].0, &out[1].0), (&Value::Int(9), &Value::str("long")));
        assert_eq!(decode(&second, 2), Err(Malformed), "no types yet");
    }

    #[test]
    fn the_answer_to_prepare() {
        let mut out = vec![];
        prepared(&mut out, 7, 1, 2, 3);
        assert_eq!(out, [0, 7, 0, 0, 0, 1, 0, 2, 0, 0, 3, 0]);
    }

    proptest! {
        #[test]
        fn any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), count in 0usize..6) {
            let _ = decode(&bytes, count);
        }

        #[test]
        fn any_values_do_not_panic(
            types in proptest::collection::vec(any::<(u8, bool)>(), 1..4),
            bytes in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut arguments = vec![0, 1, 0, 0, 0, 0, 1];
            types.iter().for_each(|(t, u)| arguments.extend([*t, if *u { 0x80 } else { 0 }]));
            arguments.extend(bytes);
            let _ = decode(&arguments, types.len());
        }
    }
}
