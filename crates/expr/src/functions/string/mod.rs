//! String functions. Positions and lengths count characters, or bytes for binary strings.

mod encode;
mod kernels;
mod parts;

use super::built::{charset_name, coercibility, collation_name, instr, unrounded_first};
use super::record::{Body, Kernel, MANY, Nulls, Origin, Ret, Strength, built, new, records};
use super::rules::{Arguments, joined, like_first, long, replace};
use crate::Expr;
use crate::build::string_type;
use Nulls::{First as IfFirst, Maybe, Seen, SeenMaybe};
use Ret::{Built, By, First, Int, Joined, Long, Text};
use kernels::*;
use types::{Collation, Result, SqlType};

records! {
    // Joined, and measured
    CONCAT = new(&["CONCAT"], 1, MANY, "s", Joined, concat);
    CONCAT_WS = new(&["CONCAT_WS"], 2, MANY, "s", By(separated), concat_ws).nulls(IfFirst);
    LENGTH = new(&["LENGTH", "OCTET_LENGTH"], 1, 1, "s", Int, length);
    BIT_LENGTH = new(&["BIT_LENGTH"], 1, 1, "s", Int, bit_length);
    CHAR_LENGTH = new(&["CHAR_LENGTH", "CHARACTER_LENGTH"], 1, 1, "s", Int, char_length);
    LOWER = new(&["LOWER", "LCASE"], 1, 1, "s", First, lower);
    UPPER = new(&["UPPER", "UCASE"], 1, 1, "s", First, upper);
    REVERSE = new(&["REVERSE"], 1, 1, "s", First, reverse);

    // Parts
    SUBSTRING = new(&["SUBSTRING", "SUBSTR", "MID"], 2, 3, "spp", By(first_cut_at_third), substring);
    LEFT = new(&["LEFT"], 2, 2, "sp", By(first_cut_at_second), left);
    RIGHT = new(&["RIGHT"], 2, 2, "sp", By(first_cut_at_second), right);
    LTRIM = new(&["LTRIM"], 1, 1, "s", First, ltrim);
    RTRIM = new(&["RTRIM"], 1, 1, "s", First, rtrim);
    // (x, what is cut off); the side is its detail
    TRIM = new(&["TRIM"], 1, 2, "s", First, trim).instead(super::built::trim);
    SUBSTRING_INDEX = new(&["SUBSTRING_INDEX"], 3, 3, "ssi", First, substring_index);
    LOCATE = new(&["LOCATE"], 2, 3, "ssp", Int, locate);
    // LOCATE with its arguments in turn
    INSTR = built(&["INSTR"], 2, 2, instr);
    FIND_IN_SET = new(&["FIND_IN_SET"], 2, 2, "s", Int, find_in_set);
    STRCMP = new(&["STRCMP"], 2, 2, "s", Int, strcmp);

    // Longer ones
    LPAD = new(&["LPAD"], 3, 3, "sps", By(padded), lpad).nulls(Maybe).may_warn().expands();
    RPAD = new(&["RPAD"], 3, 3, "sps", By(padded), rpad).nulls(Maybe).may_warn().expands();
    REPEAT = new(&["REPEAT"], 2, 2, "sp", By(repeated), repeat).nulls(Maybe).may_warn().expands();
    SPACE = new(&["SPACE"], 1, 1, "p", By(spaces), space).nulls(Maybe).may_warn().expands();
    REPLACE = new(&["REPLACE"], 3, 3, "s", By(replaced), kernels::replace).nulls(Maybe).may_warn();
    INSERT = new(&["INSERT"], 4, 4, "spps", Joined, insert);
    ELT = new(&["ELT"], 2, MANY, "is", By(longest_item), elt).nulls(SeenMaybe);
    MAKE_SET = new(&["MAKE_SET"], 2, MANY, "is", By(all_items), make_set).nulls(SeenMaybe);
    EXPORT_SET = new(&["EXPORT_SET"], 3, 5, "usssi", Long, export_set);

    // Other spellings
    ASCII = new(&["ASCII"], 1, 1, "s", Int, ascii);
    ORD = new(&["ORD"], 1, 1, "s", Int, ord);
    CHAR = new(&["CHAR"], 1, MANY, "i", By(four_bytes_each), char).nulls(Seen).makes_text();
    HEX = new(&["HEX"], 1, 1, "*", By(two_digits_a_byte), hex_of_text).body(Body::ByType(hex_kernel))
        .converts(hex_argument).keeps_collations().makes_text();
    UNHEX = new(&["UNHEX"], 1, 1, "s", By(bytes_of_text), unhex).nulls(Maybe).may_warn().makes_text();
    BIN = new(&["BIN"], 1, 1, "s", Text(64), bin).nulls(Maybe).makes_text();
    OCT = new(&["OCT"], 1, 1, "s", Text(64), oct).nulls(Maybe).makes_text();
    CONV = new(&["CONV"], 3, 3, "sii", Text(65), conv).nulls(Maybe).may_warn().makes_text();
    FORMAT = new(&["FORMAT"], 2, 3, "nis", Text(100), format).nulls(SeenMaybe).may_warn()
        .instead(unrounded_first).makes_text();
    QUOTE = new(&["QUOTE"], 1, 1, "s", By(quoted), quote).nulls(Seen);
    SOUNDEX = new(&["SOUNDEX"], 1, 1, "s", By(four_and_more), soundex);
    TO_BASE64 = new(&["TO_BASE64"], 1, 1, "s", By(base64), to_base64).makes_text();
    FROM_BASE64 = new(&["FROM_BASE64"], 1, 1, "s", By(bytes_of_text), from_base64).nulls(Maybe).makes_text();
    WEIGHT_STRING = new(&["WEIGHT_STRING"], 1, 1, "s", By(weights), weight_string).makes_text();

    // Character sets
    CHARSET = built(&["CHARSET"], 1, 1, charset_name);
    COLLATION_OF = built(&["COLLATION"], 1, 1, collation_name);
    COERCIBILITY = built(&["COERCIBILITY"], 1, 1, coercibility);
    // `x COLLATE c`; the collation is that of `Expr::ty`, and its strength is the node's
    COLLATE = new(&["COLLATE"], 1, 1, "s", Built, collate).keeps_collations()
        .strength(Strength::Explicit).kept().origin(Origin::Builder);
}

/// With separators between all but the first, which is one.
fn separated(a: &Arguments) -> Result<SqlType> {
    let separators = a.len(0) as u64 * (a.args.len() as u64).saturating_sub(2);
    Ok(joined(a, separators))
}

fn first_cut_at_second(a: &Arguments) -> Result<SqlType> {
    Ok(like_first(a, a.int(1)))
}

fn first_cut_at_third(a: &Arguments) -> Result<SqlType> {
    Ok(like_first(a, a.int(2)))
}

fn padded(a: &Arguments) -> Result<SqlType> {
    Ok(long(a, a.int(1).map(|n| n.max(0) as u64)))
}

fn repeated(a: &Arguments) -> Result<SqlType> {
    Ok(long(a, a.int(1).map(|n| (n.max(0) as u64).saturating_mul(a.len(0) as u64))))
}

fn spaces(a: &Arguments) -> Result<SqlType> {
    Ok(long(a, a.int(0).map(|n| n.max(0) as u64)))
}

/// Each piece of the length of the second argument may become the third.
fn replaced(a: &Arguments) -> Result<SqlType> {
    let len = |k: usize| a.len(k) as u64;
    let piece = if a.args[1].as_const().is_some() { len(1) } else { 1 };
    Ok(long(
        a,
        Some(match len(0).checked_div(piece) {
            Some(pieces) => len(0).saturating_add(pieces.saturating_mul(len(2).saturating_sub(piece))),
            None => len(0),
        }),
    ))
}

fn longest_item(a: &Arguments) -> Result<SqlType> {
    Ok(string_type((1..a.args.len()).map(|k| a.len(k)).max().unwrap_or(0), a.strings()))
}

fn all_items(a: &Arguments) -> Result<SqlType> {
    Ok(string_type((1..a.args.len()).map(|k| a.len(k).saturating_add(1)).sum(), a.strings()))
}

fn four_bytes_each(a: &Arguments) -> Result<SqlType> {
    Ok(SqlType::varchar(4 * a.args.len() as u32, Collation::Binary))
}

fn two_digits_a_byte(a: &Arguments) -> Result<SqlType> {
    Ok(a.text(match a.first().collation() {
        Some(Collation::Binary) => a.len(0).saturating_mul(2),
        Some(_) => a.len(0).saturating_mul(8),
        None => 16,
    }))
}

fn hex_argument(args: &mut [Expr], connection: Collation) -> Result<()> {
    replace(&mut args[0], |e| if e.ty.is_numeric() { e } else { crate::build::to_string(e, connection) });
    Ok(())
}

fn hex_kernel(args: &[SqlType], _: &SqlType) -> Kernel {
    match args {
        [SqlType::String { .. }] => hex_of_text,
        [SqlType::Float | SqlType::Double] => hex_of_double,
        _ => hex_of_exact,
    }
}

fn bytes_of_text(a: &Arguments) -> Result<SqlType> {
    Ok(string_type(a.len(0).saturating_mul(4), Collation::Binary))
}

fn quoted(a: &Arguments) -> Result<SqlType> {
    Ok(string_type(a.len(0).saturating_mul(2).saturating_add(2), a.strings()))
}

fn four_and_more(a: &Arguments) -> Result<SqlType> {
    Ok(string_type(a.len(0).max(4), a.strings()))
}

fn base64(a: &Arguments) -> Result<SqlType> {
    Ok(a.text(a.len(0).saturating_mul(6).saturating_add(64)))
}

fn weights(a: &Arguments) -> Result<SqlType> {
    Ok(string_type(a.len(0).saturating_mul(16), Collation::Binary))
}
