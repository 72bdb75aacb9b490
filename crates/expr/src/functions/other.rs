//! What else there is: choices among arguments, sleeping, units, and functions that the builder makes.

use super::Call;
use super::record::{Body, MANY, Nulls, Origin, Ret, never, new, records};
use crate::eval::assemble::{self, assemble};
use crate::eval::strbuf::StrBuf;
use crate::eval::{Cx, Node};
use crate::kernels;
use Nulls::{All, Seen, SeenMaybe};
use Ret::{Built, Common, Int, Text};
use std::cmp::Ordering;
use std::time::{Duration, Instant};
use types::{Error, Result};
use vector::{Chunk, Selection, Vector};

records! {
    GREATEST = new(&["GREATEST"], 2, MANY, "c", Common, greatest);
    LEAST = new(&["LEAST"], 2, MANY, "c", Common, least);
    // IFNULL is one
    COALESCE = new(&["COALESCE"], 1, MANY, "c", Common, never).body(Body::Node(assemble::coalesce)).nulls(All);
    SLEEP = new(&["SLEEP"], 1, 1, "d", Int, sleep).nulls(Seen).may_warn().each_row().serial();
    BENCHMARK = new(&["BENCHMARK"], 2, 2, "i*", Int, benchmark).nulls(Seen).each_row().serial();
    FORMAT_BYTES = new(&["FORMAT_BYTES"], 1, 1, "d", Text(17), format_bytes);
    FORMAT_PICO_TIME = new(&["FORMAT_PICO_TIME"], 1, 1, "d", Text(17), format_pico_time);
    // `0x41`, `x'41'`, `b'..'`: a binary string that is a number where one is wanted, as in a column
    HEX_LITERAL = new(&["HEXADECIMAL LITERAL"], 1, 1, "*", Built, never).body(Body::Node(first_argument))
        .kept().origin(Origin::Builder);
    // A value as a column of the type of `Expr::ty` stores it: (x, the column's name)
    COLUMN_VALUE = new(&["COLUMN VALUE"], 2, 2, "*", Built, never).body(Body::Node(column_value)).nulls(SeenMaybe)
        .may_warn().origin(Origin::Builder);
}

fn first_argument(node: &Node, cx: &Cx, sel: &Selection) -> Result<Vector> {
    node.args[0].eval(cx, sel)
}

fn column_value(node: &Node, cx: &Cx, sel: &Selection) -> Result<Vector> {
    let (v, name) = (node.args[0].eval(cx, sel)?, node.args[1].eval(cx, sel)?);
    let name = String::from_utf8_lossy(name.bytes(0));
    crate::eval::cast::column_value(&v, &node.args[0].ty, &name, &node.ty, cx, sel)
}

/// Units with what one is worth, from the greatest on; all above the smallest.
type Units = [(f64, &'static str)];

const BYTES: [(f64, &str); 7] = [
    ((1u64 << 60) as f64, "EiB"),
    ((1u64 << 50) as f64, "PiB"),
    ((1u64 << 40) as f64, "TiB"),
    ((1u64 << 30) as f64, "GiB"),
    ((1u64 << 20) as f64, "MiB"),
    (1024.0, "KiB"),
    (1.0, "bytes"),
];

const PICOSECONDS: [(f64, &str); 8] =
    [(86400e12, "d"), (3600e12, "h"), (60e12, "min"), (1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"), (1.0, "ps")];

/// A number in the greatest unit of which there is a whole one; as many of the smallest are padded to `width`.
fn with_unit(v: f64, units: &Units, width: usize, out: &mut StrBuf<'_>) {
    let Some(&(worth, unit)) = units.iter().find(|u| v.abs() >= u.0).or(units.last()) else { return };
    let n = v / worth;
    let text = if worth == 1.0 {
        format!("{:width$} {unit}", n as i64)
    } else if n.abs() >= 100_000.0 {
        // C's %e: a sign and two digits.
        let (digits, exponent) = (format!("{n:.2e}"), n.abs().log10().floor() as i32);
        format!("{}e+{exponent:02} {unit}", digits.split('e').next().unwrap_or(""))
    } else {
        format!("{n:.2} {unit}")
    };
    out.extend_from_slice(text.as_bytes());
}

/// Sleeps in short steps, so that KILL is noticed.
fn sleep_for(call: &Call, seconds: f64) -> Result<()> {
    let end = Instant::now() + Duration::from_secs_f64(seconds.min(1e9));
    loop {
        call.ctx.check_killed()?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(20)));
    }
}

/// GREATEST and LEAST, ELT: which argument each row takes.
pub(super) fn choose(call: &Call, pick: impl Fn(usize) -> Option<usize>) -> Result<Chunk> {
    let rows = call.row_count;
    let mut of: Vec<Vec<u16>> = vec![Vec::new(); call.len()];
    call.sel.for_each(rows, |i| {
        if let Some(k) = pick(i) {
            of[k].push(i as u16);
        }
    });
    let parts: Vec<(Selection, Vector)> = of
        .into_iter()
        .enumerate()
        .filter(|(_, s)| !s.is_empty())
        .map(|(k, s)| (Selection::Some(s), call.args[k].clone()))
        .collect();
    Ok((*assemble(&call.ty(), rows, call.sel, parts)?.flatten(rows)).clone())
}

/// The argument that compares so with all others.
fn extreme(call: &Call, wanted: Ordering) -> Result<Chunk> {
    let ty = call.ty();
    choose(call, |i| {
        if (0..call.len()).any(|k| call.is_null(k, i)) {
            return None;
        }
        let mut best = 0;
        for k in 1..call.len() {
            if kernels::compare_positions(&call.args[k], i, &call.args[best], i, &ty) == wanted {
                best = k;
            }
        }
        Some(best)
    })
}

fn greatest(call: &Call) -> Result<Chunk> {
    extreme(call, Ordering::Greater)
}

fn least(call: &Call) -> Result<Chunk> {
    extreme(call, Ordering::Less)
}

/// 1210 in strict mode, else a warning and no sleep.
fn sleep(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    call.all_rows().fixed(|i| {
        let seconds = if call.is_null(0, i) { -1.0 } else { call.double(0, i) };
        if (0.0..).contains(&seconds) {
            sleep_for(call, seconds)?;
        } else if session.sql_mode.strict {
            return Err(Error::wrong_arguments("sleep."));
        } else {
            call.ctx.warnings.push(Error::wrong_arguments("sleep.").into_warning(types::WarningLevel::Warning));
        }
        Ok(Some(0i64))
    })
}

fn benchmark(call: &Call) -> Result<Chunk> {
    call.all_rows().fixed(|i| Ok((!call.is_null(0, i) && call.int(0, i) >= 0).then_some(0i64)))
}

fn format_bytes(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        with_unit(call.double(0, i), &BYTES, 4, out);
        Ok(true)
    })
}

fn format_pico_time(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        with_unit(call.double(0, i), &PICOSECONDS, 3, out);
        Ok(true)
    })
}
