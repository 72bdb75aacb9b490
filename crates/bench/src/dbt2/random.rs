//! The specification's random numbers and texts (clauses 2.1.5, 2.1.6, 4.3.2, 4.3.3).

use super::schema::Scale;
use fastrand::Rng;

/// Constants of NURand: any will do, but those of names at load and at run time must differ as clause 2.1.6.1 says.
const C_LAST_LOAD: u32 = 123;
const C_LAST_RUN: u32 = 208;
const C_CUSTOMER: u32 = 259;
const C_ITEM: u32 = 7911;

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Numbers that favour some of the range, and never the same ones in two columns.
fn nu_rand(rng: &mut Rng, a: u32, c: u32, least: u32, most: u32) -> u32 {
    ((rng.u32(0..=a) | rng.u32(least..=most)) + c) % (most - least + 1) + least
}

pub fn customer(rng: &mut Rng, scale: &Scale) -> u32 {
    nu_rand(rng, 1023, C_CUSTOMER, 1, scale.customers)
}

pub fn item(rng: &mut Rng, scale: &Scale) -> u32 {
    nu_rand(rng, 8191, C_ITEM, 1, scale.items)
}

/// Last names are made of numbers below this.
fn names(scale: &Scale) -> u32 {
    scale.customers.min(1000)
}

/// The last name of a customer at load.
pub fn last_name_of(rng: &mut Rng, customer: u32, scale: &Scale) -> String {
    match customer <= names(scale) {
        true => last_name(customer - 1),
        false => last_name(nu_rand(rng, 255, C_LAST_LOAD, 0, names(scale) - 1)),
    }
}

/// A last name that some customer has.
pub fn some_last_name(rng: &mut Rng, scale: &Scale) -> String {
    last_name(nu_rand(rng, 255, C_LAST_RUN, 0, names(scale) - 1))
}

pub fn last_name(number: u32) -> String {
    [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

/// Letters and digits.
pub fn text(rng: &mut Rng, least: usize, most: usize) -> String {
    (0..rng.usize(least..=most)).map(|_| LETTERS[rng.usize(..LETTERS.len())] as char).collect()
}

pub fn digits(rng: &mut Rng, len: usize) -> String {
    (0..len).map(|_| (b'0' + rng.u8(..10)) as char).collect()
}

pub fn zip(rng: &mut Rng) -> String {
    digits(rng, 4) + "11111"
}

/// Text of items and stock: one in ten has ORIGINAL in it.
pub fn data(rng: &mut Rng) -> String {
    let mut data = text(rng, 26, 50);
    if rng.u8(..10) == 0 {
        let at = rng.usize(..=data.len() - 8);
        data.replace_range(at..at + 8, "ORIGINAL");
    }
    data
}

/// Cents as a decimal number.
pub fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.unsigned_abs() / 100, cents.unsigned_abs() % 100)
}

/// The cents of a decimal number with two digits after the point.
pub fn cents(money: &str) -> Option<i64> {
    let (whole, rest) = money.split_once('.')?;
    let cents = whole.trim_start_matches('-').parse::<i64>().ok()? * 100 + rest.parse::<i64>().ok()?;
    (rest.len() == 2).then_some(if money.starts_with('-') { -cents } else { cents })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_specification() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(0), "BARBARBAR");
    }

    #[test]
    fn money_and_back() {
        for (cents_, text) in [(0, "0.00"), (7, "0.07"), (123_456, "1234.56"), (-50, "-0.50")] {
            assert_eq!(money(cents_), text);
            assert_eq!(cents(text), Some(cents_));
        }
        assert_eq!(cents("12"), None);
    }

    #[test]
    fn numbers_stay_in_range() {
        let mut rng = Rng::with_seed(1);
        let scale = Scale::small(1);
        for _ in 0..10_000 {
            assert!((1..=scale.customers).contains(&customer(&mut rng, &scale)));
            assert!((1..=scale.items).contains(&item(&mut rng, &scale)));
        }
    }
}
