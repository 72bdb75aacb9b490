//! Against the bigdecimal crate and cases from MySQL's manual.

use super::*;
use bigdecimal::{BigDecimal, RoundingMode};
use proptest::prelude::*;
use std::str::FromStr;

fn d(s: &str) -> Decimal {
    let p = parse_decimal(s.as_bytes());
    assert!(!p.bad && !p.trailing && !p.overflow, "{s}: {p:?}");
    p.value
}

fn big(v: Decimal) -> BigDecimal {
    BigDecimal::from_str(&v.to_string()).expect("our own digits")
}

fn any_decimal() -> impl Strategy<Value = Decimal> {
    ("-?[0-9]{1,60}", 0u8..=30).prop_map(|(digits, scale)| {
        let negative = digits.starts_with('-');
        let digits = digits.trim_start_matches('-');
        let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale as usize).max(1));
        let v = d(&format!("{whole}.{fraction}"));
        if negative { v.negated() } else { v }
    })
}

fn in_range(v: &BigDecimal) -> bool {
    v.abs() < BigDecimal::from_str("1e65").expect("a number")
}

proptest! {
    #[test]
    fn text_round_trips(v in any_decimal()) {
        prop_assert_eq!(d(&v.to_string()), v);
    }

    #[test]
    fn arithmetic_is_exact(a in any_decimal(), b in any_decimal()) {
        let scale = a.scale.max(b.scale);
        if let Some(s) = a.add(&b) {
            prop_assert_eq!((big(s), s.scale), (big(a) + big(b), scale));
        }
        if let Some(s) = a.sub(&b) {
            prop_assert_eq!((big(s), s.scale), (big(a) - big(b), scale));
        }
        let product = (big(a) * big(b)).with_scale_round((a.scale + b.scale).min(30) as i64, RoundingMode::HalfUp);
        match a.mul(&b) {
            Some(p) => prop_assert_eq!(big(p), product),
            None => {
                let unit = BigDecimal::from_str(&format!("1e{}", (a.scale + b.scale).min(30))).expect("a number");
                prop_assert!(!in_range(&(product * unit)));
            }
        }
        prop_assert_eq!(a.cmp_value(&b), big(a).cmp(&big(b)));
        if !b.is_zero() {
            if let Some(r) = a.rem(&b) {
                prop_assert_eq!(big(r), big(a) % big(b));
            }
            if let Some(q) = a.int_div(&b) {
                prop_assert_eq!(big(q), (big(a) / big(b)).with_scale_round(0, RoundingMode::Down));
            }
            let scale = (a.scale + 4).min(30);
            if let Some(q) = a.div(&b, scale) {
                // |q*b - a| <= |b|/2 units of the last place, ties away from zero.
                let half = big(b).abs() / BigDecimal::from(2) * BigDecimal::from_str(&format!("1e-{scale}")).expect("a number");
                prop_assert!((big(q) * big(b) - big(a)).abs() <= half);
            }
        }
    }

    #[test]
    fn rescale_rounds_half_away(v in any_decimal(), scale in 0u8..=30) {
        if let Some(r) = v.rescale(scale) {
            prop_assert_eq!(big(r), big(v).with_scale_round(scale as i64, RoundingMode::HalfUp));
        }
        if let Some(r) = v.truncate(scale) {
            prop_assert_eq!(big(r), big(v).with_scale_round(scale as i64, RoundingMode::Down));
        }
    }

    #[test]
    fn narrow_rescale_agrees(v in any::<i64>(), from in 0u8..=18, to in 0u8..=18) {
        let wide = rescale::rescale_i256(I256::from(v), from, to).and_then(|w| w.to_i64());
        prop_assert_eq!(rescale::rescale_i64(v, from, to), wide);
        let wide = rescale::rescale_i256(I256::from(v), from, to).and_then(|w| w.to_i128());
        prop_assert_eq!(rescale::rescale_i128(v as i128, from, to), wide);
    }

    #[test]
    fn doubles_round_trip(v in -1e30f64..1e30) {
        let back = Decimal::from_f64(v).expect("31 digits").to_f64();
        prop_assert!(back == v || v.abs() < 1e-10);
    }
}

#[test]
fn reads_prefixes() {
    for (text, value, bad, trailing) in [
        ("12.50", "12.50", false, false),
        ("  -7 ", "-7", false, false),
        (".5", "0.5", false, false),
        ("5.", "5", false, false),
        ("1e3", "1000", false, false),
        ("1.5e-3", "0.0015", false, false),
        ("1.25E1x", "12.5", false, true),
        ("12abc", "12", false, true),
        ("1e", "1", false, true),
        ("abc", "0", true, true),
        ("", "0", true, true),
        (".", "0", true, true),
        ("-", "0", true, true),
        ("-0.00", "0.00", false, false),
        ("1e-40", "0.000000000000000000000000000000", false, false),
    ] {
        let p = parse_decimal(text.as_bytes());
        assert_eq!((p.value.to_string().as_str(), p.bad, p.trailing), (value, bad, trailing), "{text}");
    }
    assert!(parse_decimal(b"1e70").overflow);
    assert!(parse_decimal(&[b'9'; 66]).overflow);
    assert!(!parse_decimal(&[b'9'; 65]).overflow);
    assert_eq!(parse_decimal(b"0e1000000000000").value.to_string(), "0");
}

#[test]
fn rounds_at_places() {
    for (v, places, rounded, cut) in [
        ("-1.58", 0, "-2", "-1"),
        ("1.298", 1, "1.3", "1.2"),
        ("23.298", -1, "20", "20"),
        ("25.5", -1, "30", "20"),
        ("55.5", -2, "100", "0"),
        ("122", -2, "100", "100"),
        ("122", -70, "0", "0"),
    ] {
        assert_eq!(d(v).round_at(places).map(|x| x.to_string()).as_deref(), Some(rounded), "{v} {places}");
        assert_eq!(d(v).truncate_at(places).map(|x| x.to_string()).as_deref(), Some(cut), "{v} {places}");
    }
    assert_eq!(d("-1.5").floor().to_string(), "-2");
    assert_eq!(d("-1.5").ceil().to_string(), "-1");
    assert_eq!(d("1.5").ceil().to_string(), "2");
}

#[test]
fn division_scale_and_clamping() {
    assert_eq!(d("2").div(&d("3"), 4).map(|x| x.to_string()).as_deref(), Some("0.6667"));
    assert_eq!(d("-1").div(&d("8"), 2).map(|x| x.to_string()).as_deref(), Some("-0.13"));
    assert_eq!(d("1").div(&d("0.00"), 4), None);
    let (v, clamped) = d("1234.567").fit(5, 2);
    assert_eq!((v.to_string().as_str(), clamped), ("999.99", true));
    assert_eq!(d("0.005").fit(5, 2).0.to_string(), "0.01");
    assert_eq!(rules::div((10, 2), (5, 3), 4), (17, 6));
    assert_eq!(rules::add((10, 2), (5, 3)), (12, 3));
    assert_eq!(rules::sum((15, 2)), (37, 2));
    assert_eq!(d("9223372036854775807.5").to_i64_round(), (i64::MAX, true));
    assert_eq!(d("-2.5").to_i64_round(), (-3, false));
    assert_eq!(d("-0.5").to_u64_round(), (0, true));
    assert_eq!(d("-0.4").to_u64_round(), (0, false));
}
