//! No input of a user's makes the conversions panic.

use proptest::prelude::*;
use types::decimal::parse_decimal;
use types::temporal::parse::{datetime_from_number, parse_datetime, parse_time, time_from_number};
use types::temporal::str_to_date::{str_to_date, str_to_date_kind};
use types::temporal::{Interval, IntervalUnit, TemporalMode, calendar, date_format};
use types::*;

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        "[-+0-9:. TeE/]{0,30}".prop_map(String::into_bytes),
        "[0-9]{1,4}-[0-9]{1,2}-[0-9]{1,2}[ T][0-9:.+-]{0,20}".prop_map(String::into_bytes),
    ]
}

fn format() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![any::<Vec<u8>>(), "(%[a-zA-Z%.@#]|[- :/0-9]){0,8}".prop_map(String::into_bytes)]
}

const UNITS: [IntervalUnit; 20] = {
    use IntervalUnit::*;
    [
        Microsecond,
        Second,
        Minute,
        Hour,
        Day,
        Week,
        Month,
        Quarter,
        Year,
        SecondMicrosecond,
        MinuteMicrosecond,
        MinuteSecond,
        HourMicrosecond,
        HourSecond,
        HourMinute,
        DayMicrosecond,
        DaySecond,
        DayMinute,
        DayHour,
        YearMonth,
    ]
};

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Int),
        any::<u64>().prop_map(Value::UInt),
        any::<f64>().prop_map(Value::Double),
        any::<f32>().prop_map(Value::Float),
        (any::<i128>(), 0u8..=30).prop_map(|(v, s)| Value::Decimal(Decimal::from_i128(v, s))),
        text().prop_map(|t| Value::Bytes(t.into())),
        (0..=9999, 0..=12, 0..=31).prop_map(|(y, m, d)| Value::Date(Date::from_ymd(y, m, d))),
        (0..=9999, 0..=12, 0..=31, 0..86_400_000_000i64)
            .prop_map(|(y, m, d, t)| Value::DateTime(Date::from_ymd(y, m, d).at(t))),
        (Time::MIN.0..=Time::MAX.0).prop_map(|t| Value::Time(Time(t))),
        (0..=Timestamp::MAX.0).prop_map(|t| Value::Timestamp(Timestamp(t))),
    ]
}

fn column() -> impl Strategy<Value = SqlType> {
    use StringKind::*;
    let size = prop::sample::select(vec![IntSize::I8, IntSize::I16, IntSize::I24, IntSize::I32, IntSize::I64]);
    let kind = prop::sample::select(vec![Char, VarChar, TinyText, Text, MediumText, LongText]);
    let collation = prop::sample::select(Collation::ALL.to_vec());
    prop_oneof![
        (size, any::<bool>()).prop_map(|(size, unsigned)| SqlType::Int { size, unsigned }),
        (1u8..=65, 0u8..=30).prop_map(|(precision, scale)| SqlType::Decimal { precision, scale: scale.min(precision) }),
        prop::sample::select(vec![SqlType::Float, SqlType::Double, SqlType::Date, SqlType::Year, SqlType::Bool]),
        (kind, 0u32..20, collation).prop_map(|(kind, len, collation)| SqlType::String { kind, len, collation }),
        (0u8..=6).prop_map(|fsp| SqlType::Time { fsp }),
        (0u8..=6).prop_map(|fsp| SqlType::DateTime { fsp }),
        (0u8..=6).prop_map(|fsp| SqlType::Timestamp { fsp }),
    ]
}

/// What a column of the type may hold.
fn fits(v: &Value, ty: &SqlType) -> bool {
    match (v, ty) {
        (Value::Int(v), SqlType::Int { size, .. }) => (size.min_value()..=size.max_value()).contains(v),
        (Value::UInt(v), SqlType::Int { size, .. }) => *v <= size.max_unsigned(),
        (Value::Decimal(d), SqlType::Decimal { precision, scale }) => d.scale == *scale && d.precision() <= *precision,
        (Value::Bytes(b), SqlType::String { kind, len, collation }) => match (kind, collation) {
            (StringKind::Char | StringKind::VarChar, c) => c.char_length(b) <= *len as usize,
            _ => b.len() <= *len as usize,
        },
        (Value::Time(t), SqlType::Time { .. }) => (Time::MIN..=Time::MAX).contains(t),
        (Value::Timestamp(t), SqlType::Timestamp { .. }) => t.is_zero() || t.in_range(),
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn readers(t in text(), f in format(), n in any::<i64>(), unit in 0usize..20, fsp in 0u8..=6) {
        for mode in [TemporalMode::RELAXED, TemporalMode::STRICT, TemporalMode { allow_invalid_dates: true, ..TemporalMode::RELAXED }] {
            if let Ok(d) = parse_datetime(&t, mode) {
                let v = d.value;
                let _ = (v.round(fsp), v.truncate(fsp), v.extract(UNITS[unit]), v.date().yearweek(3), v.date().last_day());
                let _ = v.checked_add(Interval::of(n, UNITS[unit]));
                let _ = v.checked_add(Interval::of(n, UNITS[unit]).negated());
                let _ = (v.diff(DateTime::MAX, IntervalUnit::Month), v.date().add_months(n), v.date().add_days(n));
                date_format::date_format(v, &f, &mut Vec::new());
                let _ = TimeZone::Named(jiff::tz::TimeZone::get("America/New_York").expect("bundled")).to_timestamp(v);
            }
            if let Ok(v) = parse_time(&t, mode) {
                let _ = (v.value.round(fsp), v.value.checked_add(Interval::of(n, UNITS[unit])), v.value.extract(UNITS[unit]));
                date_format::time_format(v.value, &f, &mut Vec::new());
            }
            let _ = str_to_date(&t, &f, mode);
            let _ = datetime_from_number(n, mode);
        }
        let _ = (str_to_date_kind(&f), Interval::parse(&t, UNITS[unit]), time_from_number(n));
        let _ = (calendar::period_to_months(n), calendar::months_to_period(n), Date::from_year_day(2024, n), Date::from_day_number(n));
        prop_assert!(parse_decimal(&t).value.in_range());
        let _ = TimeZone::parse(&String::from_utf8_lossy(&t));
    }

    #[test]
    fn strings(a in any::<Vec<u8>>(), b in any::<Vec<u8>>(), n in 0usize..10) {
        for c in Collation::ALL {
            let _ = (c.compare(&a, &b), c.eq(&a, &b), c.hash(&a), c.char_length(&a));
            let mut out = Vec::new();
            c.sort_key(&a, &mut out);
            c.weight_string(&a, &mut out);
            c.upper(&a, &mut out);
            c.lower(&a, &mut out);
            let p = LikePattern::new(&b, Some('\\'), c);
            let _ = (p.matches(&a), p.literal_prefix());
            let _ = types::collation::utf8::offset_of_char(&a, n);
        }
    }

    #[test]
    fn columns_hold_what_is_stored(v in value(), w in value(), ty in column(), strict in any::<bool>()) {
        let zone = TimeZone::Offset(19_800);
        let mode = ConvertMode { strict, temporal: TemporalMode::default(), zone: &zone, today: Date::from_ymd(2024, 2, 29) };
        if let Ok((stored, _)) = convert_for_column(&v, &ty, "x", 1, &mode) {
            prop_assert!(fits(&stored, &ty), "{stored} in {ty}");
            let mut out = Vec::new();
            render_text(&stored, &ty, &mut out);
            // What a column holds, it takes again without complaint.
            if !matches!(ty, SqlType::Bool) {
                let again = convert_for_column(&stored, &ty, "x", 1, &mode);
                prop_assert_eq!(again.map(|(v, w)| (v, w.is_none())), Ok((stored.clone(), true)));
            }
        }
        let _ = (v.compare(&w, Collation::Utf8mb4_0900AiCi), v.to_i64(), v.to_u64(), v.to_decimal(), v.to_time(TemporalMode::RELAXED));
        let _ = (v.to_datetime(TemporalMode::RELAXED, mode.today), v.truth(), v.to_text());
    }
}
