//! One change, many ways to run it; each is taken back.

use super::super::rival;
use super::super::way::{Place, Way};
use super::super::world::World;
use super::answers::{MAY_DIFFER, bug, differ};
use super::{Case, Fault};
use crate::Answer;

/// Conversions that fail where a change is strict: which values are converted depends on the plan. The table that
/// changes cannot be read (1093).
const MAY_FAIL: &[u16] = &[1292, 1366, 1093];

/// Values that do not fit: of several, which one is met first depends on the plan.
const UNFIT: &[u16] = &[1048, 1264, 1265, 1292, 1366, 1406];

impl Case {
    /// The statement, and the rows that it leaves behind.
    fn change_and_table(&self, hints: bool) -> [String; 2] {
        let n = |i: usize| self.nodes[i].render(hints);
        let table = &self.tables[0].0;
        [format!("{}{}{}", n(0), n(2), n(3)), format!("SELECT * FROM {table} ORDER BY id")]
    }

    pub(super) fn changed(&self, world: &mut World<'_>) -> Option<Fault> {
        let [change, table] = self.change_and_table(false);
        // as a query first: it may take too long, which changes cannot be told
        let (name, from, filter) = (&self.tables[0].0, self.nodes[1].render(false), self.nodes[2].render(false));
        let found = match world.plain(&format!("SELECT COUNT(DISTINCT {name}.id) FROM {from}{filter}")) {
            Ok(rows) => rows[0][0].clone().and_then(|n| n.parse::<usize>().ok())?,
            Err(e) => return bug(&e, &change),
        };
        let before = world.plain(&table).map_or(0, |rows| rows.len());
        let usual = Way::usual();
        let base = world.changed(&usual, &change, &table);
        if let Some(rival) = world.rival
            && let Some(Fault { class, text }) = rival::compare(&base, &rival.changed(&change, &table), 1)
        {
            return Some(Fault { class, text: format!("  {change};\n{text}") });
        }
        match &base {
            Ok(rows) if change.starts_with("DELETE") && self.nodes[3].render(false).is_empty() => {
                let gone = before - rows.len();
                if gone != found {
                    let text = format!("  {change};\n  {gone} rows are gone, {found} are found");
                    return Some(Fault { class: "deleted".into(), text });
                }
            }
            Ok(_) => {}
            Err(e) if MAY_DIFFER.contains(&e.0) || MAY_FAIL.contains(&e.0) => return None,
            Err(e) => {
                if let Some(fault) = bug(e, &change) {
                    return Some(fault);
                }
            }
        }
        for way in self.ways.iter().filter(|w| w.place != Place::Snapshot) {
            let [change, table] = self.change_and_table(way.hints);
            if way.warmed {
                let varied: String = [0, 2, 3].map(|i| self.nodes[i].varied(way.hints)).concat();
                let _ = world.changed(way, &varied, &table);
            }
            if let Some((class, text)) = unlike(&base, &world.changed(way, &change, &table)) {
                return Some(Fault { class, text: format!("{way:?}\n  {change};\n{text}") });
            }
        }
        None
    }
}

/// How two outcomes differ.
fn unlike(a: &Answer, b: &Answer) -> Option<(String, String)> {
    match (a, b) {
        (Ok(a), Ok(b)) => differ(a, b, 1),
        (Err((a, _)), Err((b, _))) if a == b || (UNFIT.contains(a) && UNFIT.contains(b)) => None,
        (Err((code, m)), _) | (_, Err((code, m))) => match MAY_DIFFER.contains(code) || MAY_FAIL.contains(code) {
            true => None,
            false => Some((format!("error {code}"), format!("one way alone gives error {code}: {m}"))),
        },
    }
}
