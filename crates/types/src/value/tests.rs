//! Printing, reading, comparing and storing.

use super::*;
use crate::{Collation, IntSize, SqlType, StringKind, TimeZone, WarningLevel};
use proptest::prelude::*;

fn double(v: f64) -> String {
    let mut out = Vec::new();
    fmt_double(v, &mut out);
    String::from_utf8(out).expect("ASCII")
}

#[test]
fn doubles_print_like_mysql() {
    for (v, want) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (1.5, "1.5"),
        (100.0, "100"),
        (1e14, "100000000000000"),
        (999999999999999.0, "999999999999999"),
        (1e15, "1e15"),
        (1.5e15, "1.5e15"),
        (123456789012345680.0, "1.2345678901234568e17"),
        (1e100, "1e100"),
        (-1.25e-7, "-0.000000125"),
        (1e-15, "0.000000000000001"),
        (1e-16, "1e-16"),
        (1.7976931348623157e308, "1.7976931348623157e308"),
        (5e-324, "5e-324"),
        (123456789.123, "123456789.123"),
        (123456789012345.6, "123456789012345.6"),
        (0.1 + 0.2, "0.30000000000000004"),
        (-2.2250738585072014e-308, "-2.2250738585072014e-308"),
    ] {
        assert_eq!(double(v), want);
    }
    let float = |v: f32| {
        let mut out = Vec::new();
        fmt_float(v, &mut out);
        String::from_utf8(out).expect("ASCII")
    };
    for (v, want) in [
        (0.1f32, "0.1"),
        (16777216.0, "16777200"),
        (1.0 / 3.0, "0.333333"),
        (1e20, "1e20"),
        (-2.5, "-2.5"),
        (999_999.5, "1000000"),
        (f32::MAX, "3.40282e38"),
        (1e-20, "1e-20"),
    ] {
        assert_eq!(float(v), want);
    }
}

proptest! {
    #[test]
    fn doubles_read_back(bits in any::<u64>()) {
        let v = f64::from_bits(bits);
        prop_assume!(v.is_finite());
        let read = number::parse_f64(double(v).as_bytes());
        prop_assert_eq!(read, Read::clean(v));
    }

    #[test]
    fn integers_read_back(v in any::<i64>(), u in any::<u64>()) {
        prop_assert_eq!(number::parse_i64(Value::Int(v).to_string().as_bytes()), Read::clean(v));
        prop_assert_eq!(number::parse_u64(Value::UInt(u).to_string().as_bytes()), Read::clean(u));
    }
}

#[test]
fn prefixes() {
    use Truncation::*;
    for (text, v, t) in [
        ("12", 12.0, None),
        (" 1.5e2 ", 150.0, None),
        ("1.5abc", 1.5, Trailing),
        ("abc", 0.0, NotANumber),
        ("", 0.0, NotANumber),
        ("1e", 1.0, Trailing),
        (".5", 0.5, None),
        ("-.5.5", -0.5, Trailing),
        ("inf", 0.0, NotANumber),
        ("1e999", f64::MAX, OutOfRange),
    ] {
        assert_eq!(number::parse_f64(text.as_bytes()), Read::new(v, t), "{text}");
    }
    assert_eq!(number::parse_i64(b"12.9"), Read::new(12, Trailing));
    assert_eq!(number::parse_i64(b"-99999999999999999999"), Read::new(i64::MIN, OutOfRange));
    assert_eq!(number::parse_u64(b"-1"), Read::clean(u64::MAX));
    assert_eq!(Value::Double(2.5).to_i64().value, 2);
    assert_eq!(Value::Decimal(Decimal::from_i128(25, 1)).to_i64().value, 3);
}

#[test]
fn comparisons() {
    use std::cmp::Ordering::*;
    let c = Collation::Utf8mb4_0900AiCi;
    for (a, b, want) in [
        (Value::Int(-1), Value::UInt(u64::MAX), Some(Less)),
        (Value::Int(1), Value::Decimal(Decimal::from_i128(10, 1)), Some(Equal)),
        (Value::str("a"), Value::str("A"), Some(Equal)),
        (Value::str("10"), Value::Int(9), Some(Greater)),
        (Value::Double(-0.0), Value::Int(0), Some(Equal)),
        (Value::Null, Value::Int(9), Option::None),
        (Value::Date(Date::from_ymd(2024, 1, 2)), Value::str("2024-1-2"), Some(Equal)),
        (Value::str("2024-01-01"), Value::DateTime(Date::from_ymd(2024, 1, 2).midnight()), Some(Less)),
        (Value::Date(Date::from_ymd(2024, 1, 2)), Value::Int(20240102), Some(Equal)),
    ] {
        assert_eq!(a.compare(&b, c), want, "{a} {b}");
    }
}

fn store(v: Value, ty: SqlType, strict: bool) -> String {
    let zone = TimeZone::Utc;
    let mode =
        ConvertMode { strict, temporal: TemporalMode::default(), zone: &zone, today: Date::from_ymd(2024, 5, 6) };
    match convert_for_column(&v, &ty, "x", 1, &mode) {
        Err(e) => format!("{} {}", e.code().0, e.message()),
        Ok((v, w)) => {
            let mut out = Vec::new();
            render_text(&v, &ty, &mut out);
            let text = String::from_utf8_lossy(&out).into_owned();
            match w {
                None => text,
                Some(w) => {
                    let mark = if w.level == WarningLevel::Note { "note" } else { "warning" };
                    format!("{text} ({mark} {})", w.code.0)
                }
            }
        }
    }
}

#[test]
fn stored_values() {
    let tiny = SqlType::Int { size: IntSize::I8, unsigned: false };
    let utiny = SqlType::Int { size: IntSize::I8, unsigned: true };
    let dec = SqlType::Decimal { precision: 5, scale: 2 };
    let vc3 = SqlType::varchar(3, Collation::Utf8mb4_0900AiCi);
    let ch3 = SqlType::String { kind: StringKind::Char, len: 3, collation: Collation::Utf8mb4Bin };
    let bin3 = SqlType::String { kind: StringKind::Char, len: 3, collation: Collation::Binary };
    let s = Value::str;
    for (v, ty, strict, relaxed) in [
        (Value::Int(300), tiny, "1264 Out of range value for column 'x' at row 1", "127 (warning 1264)"),
        (Value::Int(-1), utiny, "1264 Out of range value for column 'x' at row 1", "0 (warning 1264)"),
        (s("abc"), tiny, "1366 Incorrect integer value: 'abc' for column 'x' at row 1", "0 (warning 1366)"),
        (s("12abc"), tiny, "1265 Data truncated for column 'x' at row 1", "12 (warning 1265)"),
        (s("12.5"), tiny, "13", "13"),
        (s("1e2"), tiny, "100", "100"),
        (Value::Double(2.5), tiny, "2", "2"),
        (s("1234.5"), dec, "1264 Out of range value for column 'x' at row 1", "999.99 (warning 1264)"),
        (s("1.005"), dec, "1.01 (note 1265)", "1.01 (note 1265)"),
        (s("x"), dec, "1366 Incorrect decimal value: 'x' for column 'x' at row 1", "0.00 (warning 1366)"),
        (Value::Double(1.005), dec, "1.01", "1.01"),
        (s("abcd"), vc3, "1406 Data too long for column 'x' at row 1", "abc (warning 1265)"),
        (s("äöü "), vc3, "äöü (note 1265)", "äöü (note 1265)"),
        (s("ab  "), ch3, "ab", "ab"),
        (s("a"), bin3, "a\0\0", "a\0\0"),
        (
            Value::Bytes(b"a\xE4b".as_slice().into()),
            vc3,
            "1366 Incorrect string value: '\\xE4b' for column 'x' at row 1",
            "a (warning 1366)",
        ),
        (s("x"), SqlType::Double, "1265 Data truncated for column 'x' at row 1", "0 (warning 1265)"),
        (
            s("2024-13-01"),
            SqlType::Date,
            "1292 Incorrect date value: '2024-13-01' for column 'x' at row 1",
            "0000-00-00 (warning 1265)",
        ),
        (
            s("2024-02-30"),
            SqlType::Date,
            "1292 Incorrect date value: '2024-02-30' for column 'x' at row 1",
            "0000-00-00 (warning 1264)",
        ),
        (s("x"), SqlType::Date, "1292 Incorrect date value: 'x' for column 'x' at row 1", "0000-00-00 (warning 1265)"),
        (s("2024-01-02 03:04:05"), SqlType::Date, "2024-01-02 (note 1265)", "2024-01-02 (note 1265)"),
        (Value::Int(20240102), SqlType::Date, "2024-01-02", "2024-01-02"),
        (s("2024-01-02 03:04:05.67"), SqlType::DateTime { fsp: 1 }, "2024-01-02 03:04:05.7", "2024-01-02 03:04:05.7"),
        (s("2024-01-02 03:04:05+01:00"), SqlType::Timestamp { fsp: 0 }, "2024-01-02 02:04:05", "2024-01-02 02:04:05"),
        (
            s("1969-01-01"),
            SqlType::Timestamp { fsp: 0 },
            "1292 Incorrect datetime value: '1969-01-01' for column 'x' at row 1",
            "0000-00-00 00:00:00 (warning 1264)",
        ),
        (
            s("900:00:00"),
            SqlType::Time { fsp: 0 },
            "1292 Incorrect time value: '900:00:00' for column 'x' at row 1",
            "838:59:59 (warning 1264)",
        ),
        (Value::Int(101112), SqlType::Time { fsp: 0 }, "10:11:12", "10:11:12"),
        (s("70"), SqlType::Year, "1970", "1970"),
        (s("0"), SqlType::Year, "2000", "2000"),
        (Value::Int(0), SqlType::Year, "0000", "0000"),
        (Value::Int(1800), SqlType::Year, "1264 Out of range value for column 'x' at row 1", "0000 (warning 1264)"),
        (Value::Int(7), vc3, "7", "7"),
    ] {
        assert_eq!(store(v.clone(), ty, true), strict, "{v} {ty:?}");
        assert_eq!(store(v.clone(), ty, false), relaxed, "{v} {ty:?}");
    }
}
