//! Answers compared, and what is wrong with them.

use super::super::way::Way;
use super::super::world::World;
use crate::{Answer, TextRows};

/// What is wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Faults of one class are the same fault while a case is made smaller.
    pub class: String,
    pub text: String,
}

/// Errors that depend on what is evaluated, on time and on memory.
pub const MAY_DIFFER: &[u16] = &[1690, 1242, 1365, 3024, 3170, 1317];

/// Errors that are our own fault whatever the statement.
const BUGS: &[u16] = &[1815, 1105, 0];

pub fn bug((code, message): &(u16, String), sql: &str) -> Option<Fault> {
    BUGS.contains(code).then(|| Fault {
        class: format!("error {code} {}", message.chars().filter(|c| !c.is_ascii_digit()).take(40).collect::<String>()),
        text: format!("  {sql};\n  error {code}: {message}"),
    })
}

/// Two statements of one row each.
pub fn equal(world: &mut World<'_>, way: &Way, first: &str, second: &str) -> Option<Fault> {
    let answers: [Answer; 2] = [world.run(way, first), world.run(way, second)];
    match answers {
        [Ok(a), Ok(b)] => differ(&a, &b, 0)
            .map(|(class, text)| Fault { class, text: format!("{way:?}\n  {first};\n  {second};\n{text}") }),
        [Err(e), _] => bug(&e, first),
        [_, Err(e)] => bug(&e, second),
    }
}

/// Class and text of a difference: of the rows as a bag, then of the order of their first columns.
pub fn differ(a: &TextRows, b: &TextRows, ordered: usize) -> Option<(String, String)> {
    let (x, y) = (folded(a), folded(b));
    if x != y {
        return Some(("rows".into(), show(&x, &y)));
    }
    let keys = |rows: &TextRows| rows.iter().map(|r| fold(&r[..ordered.min(r.len())])).collect::<Vec<_>>();
    (ordered > 0 && keys(a) != keys(b)).then(|| ("order".into(), show(&keys(a), &keys(b))))
}

/// Rows that one has and the other has not.
pub fn show(a: &[String], b: &[String]) -> String {
    let surplus = |a: &[String], b: &[String]| {
        let mut rest = b.to_vec();
        let mut out = Vec::new();
        for row in a {
            match rest.iter().position(|r| r == row) {
                Some(i) => drop(rest.swap_remove(i)),
                None => out.push(row.clone()),
            }
            if out.len() >= 8 {
                break;
            }
        }
        out
    };
    let (left, right) = (surplus(a, b), surplus(b, a));
    format!("  {} rows against {}\n  only first: {left:?}\n  only second: {right:?}", a.len(), b.len())
}

/// A row as it is compared: which of several equal strings is shown is not defined.
pub fn fold(row: &[Option<String>]) -> String {
    let cell = |c: &Option<String>| match c {
        None => "NULL".to_string(),
        Some(t) if t == "-0" => "0".into(),
        Some(t) => t.trim_end().to_lowercase().replace('é', "e"),
    };
    row.iter().map(cell).collect::<Vec<_>>().join("|")
}

/// All rows, in an order of their own.
pub fn folded(rows: &TextRows) -> Vec<String> {
    let mut out: Vec<String> = rows.iter().map(|r| fold(r)).collect();
    out.sort_unstable();
    out
}
