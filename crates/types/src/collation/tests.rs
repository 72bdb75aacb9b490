//! The invariants of the module head, and known orders.

use super::*;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-cA-C \t_0-1]{0,20}",
        "[a-eA-EéÉèßäÅ ]{0,6}",
        "[\\x00-\\x7f]{0,10}",
        "[aAé가각힣中€\u{301}\u{fb01}ﷺ😀 ]{0,5}",
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn compare_eq_hash_and_keys_agree(a in text(), b in text(), which in 0usize..7) {
        let c = Collation::ALL[which];
        let (a, b) = (a.as_bytes(), b.as_bytes());
        let order = c.compare(a, b);
        prop_assert_eq!(order, c.compare(b, a).reverse());
        prop_assert_eq!(c.eq(a, b), order == Ordering::Equal);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        c.sort_key(a, &mut x);
        c.sort_key(b, &mut y);
        prop_assert_eq!(x.cmp(&y), order, "{:?} {:?}", x, y);
        if order == Ordering::Equal {
            prop_assert_eq!(c.hash(a), c.hash(b));
        }
    }

    #[test]
    fn letter_case_does_not_count(a in "[ -~]{0,40}", which in 0usize..7) {
        let c = Collation::ALL[which];
        let upper = a.to_ascii_uppercase();
        let equal = !c.is_bin() || a == upper;
        prop_assert_eq!(c.eq(a.as_bytes(), upper.as_bytes()), equal);
        if equal {
            prop_assert_eq!(c.hash(a.as_bytes()), c.hash(upper.as_bytes()));
        }
    }

    #[test]
    fn transitive(a in text(), b in text(), d in text(), which in 0usize..7) {
        let c = Collation::ALL[which];
        let mut v = [a.as_bytes(), b.as_bytes(), d.as_bytes()];
        v.sort_by(|x, y| c.compare(x, y));
        prop_assert!(c.compare(v[0], v[2]) != Ordering::Greater);
    }
}

#[test]
fn ascii_weights_are_distinct_but_for_case() {
    for a in 0x20u8..0x7F {
        for b in 0x20u8..0x7F {
            let c = Collation::Utf8mb4_0900AiCi;
            assert_eq!(c.eq(&[a], &[b]), a.eq_ignore_ascii_case(&b), "{} {}", a as char, b as char);
        }
    }
}

#[test]
fn known_orders() {
    use Collation::*;
    for (collation, ascending) in [
        (Utf8mb4_0900AiCi, "| |_|-|,|!|a1|a2|ab|Äc|zz|가|中"),
        (Utf8mb4GeneralCi, "a|É|f|_|中"),
        (Latin1SwedishCi, "A|Z|Å|ä|ö"),
        (Utf8mb4Bin, "A|Z|a|z|Ä|中|😀"),
    ] {
        let v: Vec<&str> = ascending.split('|').collect();
        for pair in v.windows(2) {
            assert_eq!(
                collation.compare(pair[0].as_bytes(), pair[1].as_bytes()),
                Ordering::Less,
                "{collation} {pair:?}"
            );
        }
    }
    let eq = |c: Collation, a: &str, b: &str| c.eq(a.as_bytes(), b.as_bytes());
    assert!(eq(Utf8mb4_0900AiCi, "straße", "STRASSE"));
    assert!(eq(Utf8mb4_0900AiCi, "e\u{301}te", "ÉTÉ"));
    assert!(!eq(Utf8mb4_0900AiCi, "a", "a "));
    assert!(eq(Utf8mb4_0900AiCi, "가", "\u{1100}\u{1161}"));
    assert!(eq(Utf8mb4GeneralCi, "a", "A  "));
    assert!(!eq(Utf8mb4GeneralCi, "ss", "ß"));
    assert!(eq(Utf8mb4GeneralCi, "s", "ß"));
    assert!(eq(Utf8mb4GeneralCi, "😀", "😁"));
    assert!(!eq(Utf8mb4_0900AiCi, "😀", "😁"));
    assert!(eq(Latin1SwedishCi, "ü", "Y"));
    assert!(eq(Utf8mb4Bin, "a", "a "));
    assert!(!eq(Utf8mb4_0900Bin, "a", "a "));
    assert_eq!(Utf8mb4Bin.compare(b"a", b"a\t"), Ordering::Greater);
    assert_eq!(Latin1Bin.compare("€".as_bytes(), "é".as_bytes()), Ordering::Less);
}

#[test]
fn weight_strings_of_the_manual() {
    let w = |c: Collation, s: &str| {
        let mut out = Vec::new();
        c.weight_string(s.as_bytes(), &mut out);
        out
    };
    assert_eq!(w(Collation::Utf8mb4_0900AiCi, "aA"), [0x1C, 0x47, 0x1C, 0x47]);
    assert_eq!(w(Collation::Utf8mb4GeneralCi, "AB"), [0, 0x41, 0, 0x42]);
    assert_eq!(w(Collation::Latin1SwedishCi, "Åa"), [0x5B, 0x41]);
}

#[test]
fn names_and_numbers() {
    for c in Collation::ALL {
        assert_eq!(Collation::from_name(&c.name().to_uppercase()), Ok(c));
        assert_eq!(Collation::from_id(c.id()), Some(c));
    }
    assert_eq!(Collation::from_name("utf8mb4_unicode_ci").expect_err("not ours").code().0, 1235);
    assert_eq!(Collation::from_name("nonsense").expect_err("nobody's").code().0, 1273);
    assert_eq!(Charset::from_name("gbk").expect_err("not ours").code().0, 1235);
    assert_eq!(Charset::from_name("x").expect_err("nobody's").code().0, 1115);
    assert_eq!(Collation::resolve(Some("latin1"), Some("utf8mb4_bin")).expect_err("no").code().0, 1253);
    assert_eq!(Collation::resolve(Some("utf8"), None), Ok(Some(Collation::Utf8mb4GeneralCi)));
}

#[test]
fn letter_case() {
    let f = |s: &str| {
        let (mut up, mut low) = (Vec::new(), Vec::new());
        Collation::Utf8mb4_0900AiCi.upper(s.as_bytes(), &mut up);
        Collation::Utf8mb4_0900AiCi.lower(s.as_bytes(), &mut low);
        (String::from_utf8(up).expect("text"), String::from_utf8(low).expect("text"))
    };
    assert_eq!(f("aBc9"), ("ABC9".into(), "abc9".into()));
    assert_eq!(f("Straße É"), ("STRAßE É".into(), "straße é".into()));
    assert_eq!(utf8::char_count("aé中😀".as_bytes()), 4);
    assert_eq!(utf8::offset_of_char("aé中😀".as_bytes(), 2), 3);
    assert_eq!(utf8::offset_of_char(b"abc", 2), 2);
}
