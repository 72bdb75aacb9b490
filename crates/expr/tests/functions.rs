//! Scalar functions against values from MySQL's manual and from a MariaDB 10.11 server.

use expr::{EvalContext, Expr, Params, SessionInfo, UserVars, Warnings, build};
use std::sync::atomic::AtomicBool;
use types::{SqlType, Value};

fn s(v: &str) -> Expr {
    build::string(v.as_bytes(), types::Collation::default())
}
fn i(v: i64) -> Expr {
    if v < 0 { build::neg(build::integer(v.unsigned_abs())).expect("a number") } else { build::integer(v as u64) }
}
fn d(v: &str) -> Expr {
    match v.strip_prefix('-') {
        Some(v) => build::neg(build::decimal(v).expect("a decimal")).expect("a number"),
        None => build::decimal(v).expect("a decimal"),
    }
}
fn f(v: f64) -> Expr {
    build::double(v)
}
fn null() -> Expr {
    build::null()
}

fn session() -> SessionInfo {
    // 2024-02-29 13:14:15.678901 UTC
    SessionInfo { statement_time_us: 1_709_212_455_678_901, database: Some("db".into()), ..SessionInfo::default() }
}

/// The text that a client would see, and the codes of the warnings.
fn show(e: &Expr) -> (String, Vec<u16>) {
    let (session, params, user_vars, warnings, killed) =
        (session(), Params::default(), UserVars::default(), Warnings::new(64), AtomicBool::new(false));
    let ctx = EvalContext::new(&session, &params, &user_vars, &warnings, &killed);
    let text = match expr::eval::eval_const(e, &ctx) {
        Err(e) => format!("error {}", e.code().0),
        Ok(Value::Null) => "NULL".to_string(),
        Ok(v) => {
            let mut out = Vec::new();
            types::render_text(&v, &e.ty, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
    };
    (text, warnings.take().iter().map(|w| w.code.0).collect())
}

fn call(name: &str, args: &[Expr]) -> Expr {
    build::function(name, args.to_vec(), &session()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

macro_rules! check {
    ($($name:literal ( $($arg:expr),* ) = $want:literal;)*) => {
        let mut wrong = Vec::new();
        $({
            let e = call($name, &[$($arg),*]);
            let (got, _) = show(&e);
            if got != $want {
                wrong.push(format!("{} {} -> {got}, expected {}", $name, stringify!($($arg),*), $want));
            }
        })*
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    };
}

#[test]
fn strings() {
    check! {
        "concat"(s("a"), i(1), d("2.50")) = "a12.50";
        "concat"(s("a"), null()) = "NULL";
        "concat_ws"(s(","), s("a"), null(), s("b")) = "a,b";
        "length"(s("äb")) = "3";
        "char_length"(s("äb")) = "2";
        "bit_length"(s("ab")) = "16";
        "lower"(s("ÄBC")) = "äbc";
        "upper"(s("äbc")) = "ÄBC";
        "substring"(s("Quadratically"), i(5)) = "ratically";
        "substring"(s("Quadratically"), i(5), i(6)) = "ratica";
        "substring"(s("Sakila"), i(-3)) = "ila";
        "substring"(s("Sakila"), i(-5), i(3)) = "aki";
        "substring"(s("Sakila"), i(0), i(3)) = "";
        "left"(s("foobarbar"), i(5)) = "fooba";
        "right"(s("foobarbar"), i(4)) = "rbar";
        "ltrim"(s("  barbar")) = "barbar";
        "rtrim"(s("barbar   ")) = "barbar";
        "lpad"(s("hi"), i(4), s("??")) = "??hi";
        "lpad"(s("hi"), i(1), s("??")) = "h";
        "rpad"(s("hi"), i(5), s("?")) = "hi???";
        "repeat"(s("MySQL"), i(3)) = "MySQLMySQLMySQL";
        "replace"(s("www.mysql.com"), s("w"), s("Ww")) = "WwWwWw.mysql.com";
        "reverse"(s("abc")) = "cba";
        "space"(i(3)) = "   ";
        "insert"(s("Quadratic"), i(3), i(4), s("What")) = "QuWhattic";
        "insert"(s("Quadratic"), i(-1), i(4), s("What")) = "Quadratic";
        "insert"(s("Quadratic"), i(3), i(100), s("What")) = "QuWhat";
        "locate"(s("bar"), s("foobarbar")) = "4";
        "locate"(s("xbar"), s("foobar")) = "0";
        "locate"(s("bar"), s("foobarbar"), i(5)) = "7";
        "instr"(s("foobarbar"), s("BAR")) = "4";
        "substring_index"(s("www.mysql.com"), s("."), i(2)) = "www.mysql";
        "substring_index"(s("www.mysql.com"), s("."), i(-2)) = "mysql.com";
        "ascii"(s("dx")) = "100";
        "ord"(s("2")) = "50";
        "char"(i(77), i(121), i(83), i(81), d("76")) = "MySQL";
        "hex"(s("abc")) = "616263";
        "hex"(i(255)) = "FF";
        "hex"(i(-1)) = "FFFFFFFFFFFFFFFF";
        "unhex"(s("4D7953514C")) = "MySQL";
        "bin"(i(12)) = "1100";
        "oct"(i(12)) = "14";
        "conv"(s("a"), i(16), i(2)) = "1010";
        "conv"(s("6E"), i(18), i(8)) = "172";
        "conv"(i(-17), i(10), i(-18)) = "-H";
        "field"(s("Bb"), s("Aa"), s("Bb"), s("Cc")) = "2";
        "field"(i(3), i(1), i(3)) = "2";
        "find_in_set"(s("b"), s("a,b,c,d")) = "2";
        "elt"(i(4), s("Aa"), s("Bb"), s("Cc"), s("Dd")) = "Dd";
        "elt"(i(5), s("Aa")) = "NULL";
        "make_set"(i(5), s("hello"), s("nice"), s("world")) = "hello,world";
        "export_set"(i(5), s("Y"), s("N"), s(","), i(4)) = "Y,N,Y,N";
        "format"(d("12332.123456"), i(4)) = "12,332.1235";
        "format"(d("12332.2"), i(0)) = "12,332";
        "quote"(s("Don't!")) = "'Don\\'t!'";
        "quote"(null()) = "NULL";
        "strcmp"(s("text"), s("text2")) = "-1";
        "strcmp"(s("text"), s("TEXT")) = "0";
        "soundex"(s("Hello")) = "H400";
        "soundex"(s("Quadratically")) = "Q36324";
        "md5"(s("testing")) = "ae2b1fca515949e5d54fb22b8ed95575";
        "sha1"(s("abc")) = "a9993e364706816aba3e25717850c26c9cd0d89d";
        "sha2"(s("abc"), i(224)) = "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7";
        "crc32"(s("MySQL")) = "3259397556";
        "to_base64"(s("abc")) = "YWJj";
        "from_base64"(s("YWJj")) = "abc";
        "to_base64"(s("a")) = "YQ==";
        "from_base64"(s("YQ==")) = "a";
        "regexp_like"(s("Michael!"), s(".*")) = "1";
        "regexp_like"(s("abc"), s("ABC")) = "1";
        "regexp_like"(s("abc"), s("ABC"), s("c")) = "0";
        "regexp_instr"(s("dog cat dog"), s("dog"), i(2)) = "9";
        "regexp_substr"(s("abc def ghi"), s("[a-z]+"), i(1), i(3)) = "ghi";
        "regexp_replace"(s("abc def ghi"), s("[a-z]+"), s("X"), i(1), i(3)) = "abc def X";
        "charset"(s("abc")) = "utf8mb4";
        "collation"(s("abc")) = "utf8mb4_0900_ai_ci";
        "coercibility"(s("abc")) = "4";
    }
}

#[test]
fn numbers() {
    check! {
        "abs"(i(-32)) = "32";
        "abs"(d("-1.50")) = "1.50";
        "ceiling"(d("1.23")) = "2";
        "ceiling"(d("-1.23")) = "-1";
        "floor"(d("-1.23")) = "-2";
        "floor"(f(1.5)) = "1";
        "round"(d("-1.58")) = "-2";
        "round"(d("1.298"), i(1)) = "1.3";
        "round"(d("1.298"), i(0)) = "1";
        "round"(d("23.298"), i(-1)) = "20";
        "round"(d("0.12345678901234567890123456789012345"), i(35)) = "0.123456789012345678901234567890";
        "round"(i(25), i(-1)) = "30";
        "round"(f(2.5)) = "2";
        "round"(d("2.5")) = "3";
        "truncate"(d("1.223"), i(1)) = "1.2";
        "truncate"(d("-1.999"), i(1)) = "-1.9";
        "truncate"(i(122), i(-2)) = "100";
        "mod"(i(234), i(10)) = "4";
        "mod"(d("34.5"), i(3)) = "1.5";
        "mod"(i(1), i(0)) = "NULL";
        "pow"(i(2), i(-2)) = "0.25";
        "sqrt"(i(4)) = "2";
        "sqrt"(i(-16)) = "NULL";
        "exp"(i(0)) = "1";
        "ln"(i(2)) = "0.6931471805599453";
        "ln"(i(-2)) = "NULL";
        "log"(i(2), i(65536)) = "16";
        "log10"(i(100)) = "2";
        "log2"(i(65536)) = "16";
        "sign"(i(-32)) = "-1";
        "sign"(d("0.0")) = "0";
        "greatest"(i(2), i(0)) = "2";
        "greatest"(d("34.0"), i(3), i(5), d("767.0")) = "767.0";
        "least"(s("B"), s("A"), s("C")) = "A";
        "least"(i(1), null()) = "NULL";
        "bit_count"(i(29)) = "4";
        "interval"(i(23), i(1), i(15), i(17), i(30), i(44), i(200)) = "3";
        "interval"(i(10), i(1), i(10), i(100), i(1000)) = "2";
        "interval"(null(), i(1)) = "-1";
        "pi"() = "3.141592653589793";
        "if"(i(1), s("yes"), s("no")) = "yes";
        "ifnull"(null(), i(10)) = "10";
        "nullif"(i(1), i(1)) = "NULL";
        "nullif"(i(1), i(2)) = "1";
        "coalesce"(null(), null(), d("1.5")) = "1.5";
        "isnull"(null()) = "1";
        "rand"(i(3)) = "0.9057697559760601";
        "inet_aton"(s("10.0.5.9")) = "167773449";
        "inet_ntoa"(i(167773449)) = "10.0.5.9";
        "is_ipv4"(s("10.0.5.9")) = "1";
        "database"() = "db";
        "sleep"(i(0)) = "0";
    }
}

#[test]
fn dates() {
    let ts = |v: &str| build::temporal(v, SqlType::DateTime { fsp: 0 }).expect("a datetime");
    let dt = |v: &str| build::temporal(v, SqlType::Date).expect("a date");
    let tm = |v: &str| build::temporal(v, SqlType::Time { fsp: 0 }).expect("a time");
    check! {
        "now"() = "2024-02-29 13:14:15";
        "now"(i(3)) = "2024-02-29 13:14:15.678";
        "curdate"() = "2024-02-29";
        "curtime"() = "13:14:15";
        "year"(s("1987-01-01")) = "1987";
        "month"(s("2008-02-03")) = "2";
        "dayofmonth"(dt("2007-02-03")) = "3";
        "hour"(s("10:05:03")) = "10";
        "hour"(s("272:59:59")) = "272";
        "minute"(s("2008-02-03 10:05:03")) = "5";
        "second"(s("10:05:03")) = "3";
        "microsecond"(s("12:00:00.123456")) = "123456";
        "quarter"(s("2008-04-01")) = "2";
        "dayofweek"(s("2007-02-03")) = "7";
        "weekday"(s("2008-02-03 22:23:00")) = "6";
        "dayofyear"(s("2007-02-03")) = "34";
        "week"(s("2008-02-20")) = "7";
        "week"(s("2008-02-20"), i(1)) = "8";
        "week"(s("2008-12-31"), i(1)) = "53";
        "yearweek"(s("1987-01-01")) = "198652";
        "weekofyear"(s("2008-02-20")) = "8";
        "dayname"(s("2007-02-03")) = "Saturday";
        "monthname"(s("2008-02-03")) = "February";
        "last_day"(s("2003-02-05")) = "2003-02-28";
        "last_day"(s("2003-03-32")) = "NULL";
        "to_days"(s("2007-10-07")) = "733321";
        "to_seconds"(s("2009-11-29 13:43:32")) = "63426721412";
        "from_days"(i(730669)) = "2000-07-03";
        "datediff"(s("2007-12-31 23:59:59"), s("2007-12-30")) = "1";
        "timediff"(s("2000-01-01 00:00:00"), s("2000-01-01 00:00:01")) = "-00:00:01";
        "timediff"(s("10:00:00"), s("09:30:00")) = "00:30:00";
        "addtime"(tm("01:00:00"), s("02:30:00")) = "03:30:00";
        "addtime"(ts("2007-12-31 23:59:59"), s("1 1:1:2")) = "2008-01-02 01:01:01";
        "subtime"(s("01:00:00.999999"), s("02:00:00.999998")) = "-00:59:59.999999";
        "date"(s("2003-12-31 01:02:03")) = "2003-12-31";
        "time"(s("2003-12-31 01:02:03")) = "01:02:03";
        "timestamp"(s("2003-12-31")) = "2003-12-31 00:00:00";
        "timestamp"(s("2003-12-31 12:00:00"), s("12:00:00")) = "2004-01-01 00:00:00";
        "date_format"(s("2009-10-04 22:23:00"), s("%W %M %Y")) = "Sunday October 2009";
        "date_format"(s("2007-10-04 22:23:00"), s("%H:%i:%s")) = "22:23:00";
        "time_format"(s("100:00:00"), s("%H %k %h %I %l")) = "100 100 04 04 4";
        "str_to_date"(s("01,5,2013"), s("%d,%m,%Y")) = "2013-05-01";
        "str_to_date"(s("09:30:17"), s("%h:%i:%s")) = "09:30:17";
        "from_unixtime"(i(1447430881)) = "2015-11-13 16:08:01";
        "from_unixtime"(i(1447430881), s("%Y")) = "2015";
        "unix_timestamp"(s("2015-11-13 16:08:01")) = "1447430881";
        "unix_timestamp"(s("2015-11-13 16:08:01.012")) = "1447430881.012";
        "makedate"(i(2011), i(32)) = "2011-02-01";
        "maketime"(i(12), i(15), i(30)) = "12:15:30";
        "sec_to_time"(i(2378)) = "00:39:38";
        "time_to_sec"(s("22:23:00")) = "80580";
        "period_add"(i(200801), i(2)) = "200803";
        "period_diff"(i(200802), i(200703)) = "11";
        "convert_tz"(s("2004-01-01 12:00:00"), s("+00:00"), s("+10:00")) = "2004-01-01 22:00:00";
        "adddate"(dt("2008-01-02"), i(31)) = "2008-02-02";
        "subdate"(s("2008-01-02 12:00:00"), i(31)) = "2007-12-02 12:00:00";
        "get_format"(s("DATE"), s("EUR")) = "%d.%m.%Y";
    }
    use expr::IntervalUnit::*;
    let add =
        |e: Expr, n: Expr, u, sub| show(&build::date_add(e, n, u, sub, types::Collation::default()).expect("builds")).0;
    assert_eq!(add(dt("2018-05-01"), i(1), Day, false), "2018-05-02");
    assert_eq!(add(s("2020-12-31 23:59:59"), i(1), Second, false), "2021-01-01 00:00:00");
    assert_eq!(add(s("2018-12-31 23:59:59"), i(1), Day, false), "2019-01-01 23:59:59");
    assert_eq!(add(s("2100-12-31 23:59:59"), s("1:1"), MinuteSecond, false), "2101-01-01 00:01:00");
    assert_eq!(add(s("2025-01-01 00:00:00"), s("1 1:1:1"), DaySecond, true), "2024-12-30 22:58:59");
    assert_eq!(add(s("1900-01-01 00:00:00"), s("-1 10"), DayHour, false), "1899-12-30 14:00:00");
    assert_eq!(add(s("1998-01-02"), i(31), Day, true), "1997-12-02");
    assert_eq!(
        add(s("1992-12-31 23:59:59.000002"), s("1.999999"), SecondMicrosecond, false),
        "1993-01-01 00:00:01.000001"
    );
    assert_eq!(add(s("2024-01-30"), i(1), Month, false), "2024-02-29");
    assert_eq!(add(dt("9999-12-31"), i(1), Day, false), "NULL");
    assert_eq!(show(&build::extract(YearMonth, s("2019-07-02 01:02:03")).expect("builds")).0, "201907");
    assert_eq!(show(&build::extract(DayMinute, s("2019-07-02 01:02:03")).expect("builds")).0, "20102");
    let diff = build::timestamp_diff(Month, s("2003-02-01"), s("2003-05-01")).expect("builds");
    assert_eq!(show(&diff).0, "3");
}

#[test]
fn casts_and_warnings() {
    let cast = |e: Expr, ty| show(&build::cast(e, ty, true).expect("builds"));
    let dec = |precision, scale| SqlType::Decimal { precision, scale };
    assert_eq!(cast(s("12abc"), SqlType::BIGINT), ("12".into(), vec![1292]));
    assert_eq!(cast(s("-1"), SqlType::BIGINT_UNSIGNED).0, "18446744073709551615");
    assert_eq!(cast(i(-1), SqlType::BIGINT_UNSIGNED).0, "18446744073709551615");
    assert_eq!(cast(d("1.5"), SqlType::BIGINT).0, "2");
    assert_eq!(cast(d("-1.5"), SqlType::BIGINT).0, "-2");
    assert_eq!(cast(s("1.23456"), dec(5, 2)).0, "1.23");
    assert_eq!(cast(i(123456), dec(5, 2)), ("999.99".into(), vec![1264]));
    assert_eq!(cast(s("2024-02-30"), SqlType::Date), ("NULL".into(), vec![1292]));
    assert_eq!(cast(s("2024-02-29 10:11:12.5"), SqlType::DateTime { fsp: 0 }).0, "2024-02-29 10:11:13");
    assert_eq!(cast(i(20240229), SqlType::Date).0, "2024-02-29");
    assert_eq!(cast(build::temporal("2024-02-29", SqlType::Date).expect("a date"), SqlType::BIGINT).0, "20240229");
    assert_eq!(
        show(&build::cast_char(s("hello"), Some(3), types::Collation::default()).expect("builds")),
        ("hel".into(), vec![1292])
    );
    assert_eq!(show(&build::cast_char(d("1.50"), None, types::Collation::default()).expect("builds")).0, "1.50");
    let sum = build::arith(expr::ArithOp::Add, s("3 apples"), i(4), &session()).expect("builds");
    assert_eq!(show(&sum), ("7".into(), vec![1292]));
    let third = build::arith(expr::ArithOp::Div, i(1), i(3), &session()).expect("builds");
    assert_eq!(show(&third).0, "0.3333");
    let negated = build::neg(third.clone()).expect("builds");
    assert_eq!(show(&negated).0, "-0.3333");
    let negated = build::arith(expr::ArithOp::Mul, negated, i(3), &session()).expect("builds");
    assert_eq!(show(&negated).0, "-1.0000");
    let percent = build::arith(expr::ArithOp::Mul, third, i(100), &session()).expect("builds");
    assert_eq!(show(&percent).0, "33.3333");
    let more = build::arith(expr::ArithOp::Add, percent, d("0.5"), &session()).expect("builds");
    assert_eq!(show(&more).0, "33.8333");
    assert_eq!(show(&build::cast_char(s("a"), Some(3), types::Collation::Binary).expect("builds")).0, "a\0\0");
    let zero = build::arith(expr::ArithOp::Div, i(1), i(0), &session()).expect("builds");
    assert_eq!(show(&zero), ("NULL".into(), vec![1365]));
    for (name, args, code) in [("nosuch", vec![], 1305), ("left", vec![s("a")], 1582), ("json_array", vec![], 1235)] {
        assert_eq!(build::function(name, args, &session()).expect_err("fails").code().0, code, "{name}");
    }
    let bad = build::compare(expr::CmpOp::Eq, build::temporal("2024-01-01", SqlType::Date).expect("ok"), s("abc"));
    assert_eq!(bad.expect_err("no date").code().0, 1525);
}
