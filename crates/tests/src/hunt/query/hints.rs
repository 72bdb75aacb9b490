//! Hints: index hints behind tables, optimizer hints behind SELECT. They never change rows.

use super::super::node::Node;
use super::{From, Queries};

impl Queries<'_> {
    /// ` FORCE INDEX (..)` and its kin, or nothing.
    pub(super) fn index_hint(&mut self, table: usize) -> Node {
        let schema = self.schema;
        let names = schema.tables[table].index_names();
        if names.is_empty() || !self.one_in(3) {
            return Node::empty();
        }
        let kind = self.pick(&["FORCE", "FORCE", "USE", "IGNORE"]);
        let scope = self.pick(&["", "", "", " FOR JOIN", " FOR ORDER BY", " FOR GROUP BY"]);
        let mut list: Vec<&str> = vec![&names[self.rng.usize(0..names.len())]];
        let other = &names[self.rng.usize(0..names.len())];
        if self.one_in(3) && !list.contains(&other.as_str()) {
            list.push(other);
        }
        Node::empty().t(format!(" {kind} INDEX{scope} ({})", list.join(", ")))
    }

    /// `/*+ .. */ `, or nothing.
    pub(super) fn block_hint(&mut self, from: &From) -> Node {
        if !self.wild() || !self.one_in(2) {
            return Node::empty();
        }
        let text = from.node.render(false);
        // aliases in sight of the block: those that its FROM gives
        let own: Vec<String> = self.scope[self.local..]
            .iter()
            .filter_map(|c| c.name.split_once('.').map(|(a, _)| a.to_string()))
            .filter(|a| text.contains(&format!(" AS {a}")))
            .fold(Vec::new(), |mut all, a| {
                if !all.contains(&a) {
                    all.push(a);
                }
                all
            });
        if own.is_empty() {
            return Node::empty();
        }
        let mut hints = Vec::new();
        for _ in 0..self.rng.usize(1..4) {
            let mut some = own.clone();
            self.rng.shuffle(&mut some);
            some.truncate(self.rng.usize(1..=own.len()));
            let (one, list) = (some[0].clone(), some.join(", "));
            let strategies =
                self.pick(&["FIRSTMATCH", "LOOSESCAN", "MATERIALIZATION", "DUPSWEEDOUT", "FIRSTMATCH, LOOSESCAN"]);
            let hint = match self.rng.u32(0..22) {
                0 | 1 => format!("JOIN_ORDER({list})"),
                2 => format!("JOIN_PREFIX({list})"),
                3 => format!("JOIN_SUFFIX({list})"),
                4 => "JOIN_FIXED_ORDER()".into(),
                5 => format!("BKA({list})"),
                6 => format!("NO_BKA({list})"),
                7 => format!("BNL({list})"),
                8 => format!("NO_BNL({list})"),
                9 => format!("HASH_JOIN({list})"),
                10 => format!("NO_HASH_JOIN({list})"),
                11 => format!("MRR({one})"),
                12 => format!("NO_MRR({one})"),
                13 => format!("NO_ICP({one})"),
                14 => format!("NO_RANGE_OPTIMIZATION({one})"),
                15 => format!("INDEX_MERGE({one})"),
                16 => format!("SKIP_SCAN({one})"),
                17 => format!("SEMIJOIN({strategies})"),
                18 => format!("NO_SEMIJOIN({strategies})"),
                19 => format!("SUBQUERY({})", self.pick(&["MATERIALIZATION", "INTOEXISTS"])),
                20 => format!("NO_MERGE({list})"),
                _ => format!("NO_DERIVED_CONDITION_PUSHDOWN({list})"),
            };
            hints.push(hint);
        }
        Node::empty().t(format!("/*+ {} */ ", hints.join(" ")))
    }
}
