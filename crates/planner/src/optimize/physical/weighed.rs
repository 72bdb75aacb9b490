//! Notes for OPTIMIZER_TRACE: the ways to read a table, each with its figures, and why it was dropped.

use super::Physical;
use super::access::WIDEST_SHARE;
use super::index::{IndexPath, Site};
use plan::explain::{TableWays, Way, range_texts};
use plan::logical::{IndexHintScope, Logical};

impl Physical<'_, '_> {
    /// What the paths look like before one is taken; nothing if the statement is not traced.
    pub(super) fn ways(&self, site: &Site<'_>, paths: &[IndexPath], columns: &[usize]) -> Vec<Way> {
        if self.cx.weighed.is_none() {
            return vec![];
        }
        let forced = site.forced(IndexHintScope::Join);
        let way = |p: &IndexPath| {
            let index = &site.table.indexes[p.index];
            let (cost, sorted) = self.path_cost(site, p, columns, 1.0, false);
            let wide = p.entries > site.whole.rows * WIDEST_SHARE && !p.form.clustered && !forced;
            Way {
                index: index.name.to_string(),
                access_type: if p.skip_scan { "skip_scan" } else { "range" },
                ranges: range_texts(site.table, index, &p.ranges),
                rows: p.entries,
                cost,
                covers: self.covers(site, p, columns),
                sorted,
                cause: Some(if wide { "too_many_rows" } else { "cost" }),
            }
        };
        paths.iter().map(way).collect()
    }

    /// Notes what was weighed. `chosen`: the index by which the table is read.
    pub(super) fn note_ways(
        &self,
        get: &Logical,
        site: &Site<'_>,
        mut ways: Vec<Way>,
        scan_cost: f64,
        chosen: Option<usize>,
    ) {
        let (Some(weighed), Logical::Get { alias, columns, .. }) = (&self.cx.weighed, get) else { return };
        let name = |i: usize| site.table.indexes[i].name.to_string();
        if let Some(i) = chosen {
            let name = name(i);
            if ways.iter().all(|w| w.index != name) {
                let whole = site.table.indexes[i].parts.len();
                let ranges = vec![format!("{whole} key parts")];
                let (rows, covers, sorted) = (1.0, false, false);
                ways.push(Way {
                    index: name.clone(),
                    access_type: "const",
                    ranges,
                    rows,
                    cost: self.cx.settings.cost.key_lookup,
                    covers,
                    sorted,
                    cause: None,
                });
            }
            ways.iter_mut().filter(|w| w.index == name).for_each(|w| w.cause = None);
        }
        let mut unusable = vec![];
        for (i, index) in site.table.indexes.iter().enumerate() {
            if ways.iter().any(|w| *w.index == *index.name) {
                continue;
            }
            let cause = match () {
                () if !self.visible(index) => "invisible",
                () if !site.allows(i, IndexHintScope::Join) => "index_hint",
                () if site.tuning.no_range(i) => "no_range_optimization hint",
                () => "not_applicable",
            };
            unusable.push((name(i), cause));
        }
        let block = columns.first().map_or(0, |c| self.cx.columns.block_of(c.0));
        let rows = site.whole.rows;
        let note = TableWays { block, alias: alias.to_string(), rows, scan_cost, ways, unusable };
        weighed.borrow_mut().tables.push(note);
    }
}
