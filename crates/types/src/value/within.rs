//! A double in so many characters: what a CHAR or VARCHAR column keeps of it.
//!
//! A number is digits and the place of its point, 0.ddd.. times ten to a power. It is printed plainly or with an
//! exponent:
//!
//! ```text
//!   0.00ddd   dd.ddd   ddd000        d.dddde-nn
//! ```
//! Where not all digits have room, the form that keeps more of them is taken, and they are rounded to what it keeps.
//! Source: MySQL manual, "Numeric Type Attributes", and tests of what servers store.

use super::number::fmt_double;

/// Numbers between these powers of ten are printed plainly if they have room.
const PLAIN_POWERS: std::ops::RangeInclusive<i64> = -14..=15;

/// Significant digits, without zeros at their ends, and where the point is.
struct Digits {
    digits: Vec<u8>,
    power: i64,
}

impl Digits {
    /// Of `v`, neither zero nor negative: the shortest that mean it, or as many as are wanted.
    fn of(v: f64, wanted: usize) -> Digits {
        let shortest = Digits::read(zmij::Buffer::new().format_finite(v));
        if shortest.digits.len() <= wanted { shortest } else { Digits::read(&format!("{v:.*e}", wanted.max(1) - 1)) }
    }

    fn read(text: &str) -> Digits {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        let zeros = all.bytes().take_while(|b| *b == b'0').count();
        let digits = all[zeros..].trim_end_matches('0').as_bytes().to_vec();
        let exponent: i64 = exponent.parse().expect("a number was printed");
        Digits { digits, power: whole.len() as i64 - zeros as i64 + exponent }
    }

    fn len(&self) -> i64 {
        self.digits.len() as i64
    }

    /// The length of the plain form.
    fn plain_len(&self) -> i64 {
        match self.power {
            p if p <= 0 => self.len() - p + 2,
            p if p < self.len() => self.len() + 1,
            p => p,
        }
    }

    fn plain(&self) -> String {
        let digits = String::from_utf8_lossy(&self.digits);
        match self.power {
            p if p <= 0 => format!("0.{}{digits}", "0".repeat(-p as usize)),
            p if p < self.len() => format!("{}.{}", &digits[..p as usize], &digits[p as usize..]),
            p => format!("{digits}{}", "0".repeat((p - self.len()) as usize)),
        }
    }

    fn with_exponent(&self) -> String {
        let digits = String::from_utf8_lossy(&self.digits);
        let point = if digits.len() > 1 { "." } else { "" };
        format!("{}{point}{}e{}", &digits[..1], &digits[1..], self.power - 1)
    }
}

/// `v` in at most `width` characters, and whether it kept its whole part.
pub fn fmt_double_within(v: f64, width: usize) -> (String, bool) {
    if v == 0.0 || !v.is_finite() {
        let mut text = Vec::new();
        fmt_double(v, &mut text);
        return cut(String::from_utf8_lossy(&text).into_owned(), width, true);
    }
    let sign = if v < 0.0 { "-" } else { "" };
    let room = width as i64 - sign.len() as i64;
    if room <= 0 {
        return cut(sign.into(), width, false);
    }
    let v = v.abs();
    let number = Digits::of(v, room as usize);
    let power = number.power;
    let exponent_len = 1 + i64::from(power >= 101 || power <= -99) + i64::from(power >= 11 || power <= -9);
    let has_room = number.plain_len() <= room;
    let keeps_nothing = power < 0 && room <= 2 - power && room >= 3 + exponent_len;
    let is_plain = match has_room {
        true => PLAIN_POWERS.contains(&power) || power > *PLAIN_POWERS.end() && number.len() > power,
        false => power <= room && power >= -2 && !keeps_nothing,
    };
    let (text, fits) = match is_plain {
        true => plain_within(v, number, room),
        false => exponent_within(v, number, room - exponent_len),
    };
    cut(if text == "0" { text } else { format!("{sign}{text}") }, width, fits)
}

fn plain_within(v: f64, number: Digits, room: i64) -> (String, bool) {
    let power = number.power;
    let kept = room - i64::from(power < number.len()) - (1 - power).max(0);
    if kept >= number.len() {
        return (number.plain(), true);
    }
    let (kept, fits) = if kept < power { (power, false) } else { (kept, true) };
    if kept <= 0 {
        return ("0".into(), fits);
    }
    (Digits::of(v, kept as usize).plain(), fits)
}

/// `room`: without the exponent's digits.
fn exponent_within(v: f64, number: Digits, room: i64) -> (String, bool) {
    let kept = room - 1 - i64::from(number.power < 1) - i64::from(number.len() > 1);
    if number.len() <= kept {
        return (number.with_exponent(), true);
    }
    (Digits::of(v, kept.max(1) as usize).with_exponent(), kept > 0)
}

fn cut(mut text: String, width: usize, fits: bool) -> (String, bool) {
    let fits = fits && text.len() <= width;
    text.truncate(width);
    (text, fits)
}

#[cfg(test)]
mod tests {
    use super::fmt_double_within;

    #[test]
    fn digits_are_kept_as_they_have_room() {
        for (v, width, want) in [
            (1.0 / 3.0, 10, "0.33333333"),
            (std::f64::consts::PI, 3, "3.1"),
            (std::f64::consts::PI * 1e5, 5, "3.1e5"),
            (1e10 / 3.0, 10, "3333333333"),
            (1e10 / 3.0, 5, "3.3e9"),
            (-1e-7 / 3.0, 10, "-3.3333e-8"),
            (1e100, 10, "1e100"),
            (123456789.987, 10, "123456790"),
            (12345678901.5, 10, "1.23457e10"),
            (0.1f32 as f64, 10, "0.1"),
            (0.1f32 as f64, 40, "0.10000000149011612"),
            (1234567.5, 4, "1e6"),
            (1e15, 40, "1e15"),
            (123456789012345.0, 40, "123456789012345"),
            (1e-14, 40, "0.00000000000001"),
            (0.0, 1, "0"),
        ] {
            assert_eq!(fmt_double_within(v, width), (want.to_string(), true), "{v} in {width}");
        }
        for (v, width, want) in [(1e-10, 3, "1e-"), (-5.0, 1, "-"), (0.12, 1, "0"), (1e100, 4, "1e10"), (7.0, 0, "")] {
            assert_eq!(fmt_double_within(v, width), (want.to_string(), false), "{v} in {width}");
        }
    }

    #[test]
    fn wide_strings_keep_what_is_shown() {
        let mut rng = 7u64;
        for _ in 0..20_000 {
            rng = rng.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let v = f64::from_bits(rng);
            if v.is_finite() {
                let mut shown = Vec::new();
                super::fmt_double(v, &mut shown);
                assert_eq!(fmt_double_within(v, 400), (String::from_utf8(shown).expect("digits"), true));
            }
        }
    }
}
