//! One statement, many ways to run it.

use super::super::rival;
use super::super::world::World;
use super::answers::{MAY_DIFFER, bug, differ};
use super::{Case, Fault};

impl Case {
    pub(super) fn forced(&self, world: &mut World<'_>) -> Option<Fault> {
        let sql = self.nodes[0].render(false);
        let ordered = if is_ordered(&sql) { self.ordered } else { 0 };
        let base = world.plain(&sql);
        if let Some(rival) = world.rival
            && let Some(Fault { class, text }) = rival::compare(&base, &rival.run(&sql), ordered)
        {
            return Some(Fault { class, text: format!("  {sql};\n{text}") });
        }
        let base = match base {
            Ok(rows) => rows,
            Err(e) => return bug(&e, &sql),
        };
        for way in &self.ways {
            let fault = match world.run_node(way, &self.nodes[0]) {
                Ok(rows) => differ(&base, &rows, ordered),
                Err((code, _)) if MAY_DIFFER.contains(&code) => None,
                // a lock that is not supported is none
                Err((1235, _)) if way.locks => None,
                Err((code, m)) => Some((format!("error {code}"), format!("error {code}: {m}"))),
            };
            if let Some((class, text)) = fault {
                let sql = self.nodes[0].render(way.hints);
                return Some(Fault { class, text: format!("{way:?}\n  {sql};\n{text}") });
            }
        }
        None
    }
}

/// Whether an ORDER BY of the statement itself is (still) there.
fn is_ordered(sql: &str) -> bool {
    let Some((_, tail)) = sql.rsplit_once(" ORDER BY ") else { return false };
    let mut open = 0;
    tail.chars().all(|c| {
        open += (c == '(') as i32 - (c == ')') as i32;
        open >= 0
    })
}
