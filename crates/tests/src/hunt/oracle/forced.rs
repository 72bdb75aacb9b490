//! One statement, many ways to run it.

use super::super::rival;
use super::super::world::World;
use super::answers::{MAY_DIFFER, bug, differ};
use super::{Case, Fault, RIVAL};

impl Case {
    pub(super) fn forced(&self, world: &mut World<'_>) -> Option<Fault> {
        let sql = self.nodes[0].render(false);
        let base = world.plain(&sql);
        if let Some(rival) = world.rival
            && let Some(text) = rival::compare(&base, &rival.run(&sql), self.ordered)
        {
            return Some(Fault { class: RIVAL.into(), text: format!("  {sql};\n{text}") });
        }
        let base = match base {
            Ok(rows) => rows,
            Err(e) => return bug(&e, &sql),
        };
        for way in &self.ways {
            let fault = match world.run_node(way, &self.nodes[0]) {
                Ok(rows) => differ(&base, &rows, self.ordered),
                Err((code, _)) if MAY_DIFFER.contains(&code) => None,
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
