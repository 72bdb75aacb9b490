//! The cost model: one struct of constants, in nanoseconds of one core on the machine they were measured on.
//!
//! Costs only choose between plans for the same rows. What counts is rows hashed, rows probed, rows produced, and rows
//! read out of their order; a table that outgrows the caches pays for every access. The constants are rounded from what
//! `nextleaf bench cost-calibration` measures over two million rows, and from which plans `nextleaf bench plan-quality`
//! finds the quickest; those that neither tells from noise (`output`, `index_open`) are guesses.

/// Nanoseconds per row, unless said otherwise.
#[derive(Clone, Debug)]
pub struct CostParams {
    /// Inserting a row into a hash table.
    pub hash_build: f64,
    /// Looking a row up in a hash table that lies in the cache.
    pub hash_probe: f64,
    /// Testing a row of a scan by what a hash join's build side holds.
    pub filter_probe: f64,
    /// Handing a joined row on, per row.
    pub output: f64,
    /// Bytes of hash table that stay in the second-level cache.
    pub cache_bytes: f64,
    /// What an access costs more at 16 times that size; grows with the logarithm in between and beyond.
    pub cache_miss: f64,
    /// Bytes of hash table per row besides its columns.
    pub hash_row_overhead: f64,
    /// Evaluating a condition on a pair of rows.
    pub pair: f64,
    /// Reading a row of a table.
    pub scan: f64,
    /// Evaluating a predicate on a row.
    pub predicate: f64,
    /// Putting a row into its group.
    pub group: f64,
    /// Comparing two rows in a sort.
    pub sort_compare: f64,
    /// Finding and reading a row by a unique key.
    pub key_lookup: f64,
    /// Starting an access by an index: the operator and its first descent.
    pub index_open: f64,
    /// Descending to a range of an index.
    pub index_descent: f64,
    /// Walking over an entry of an index and reading its row, among many neighbours.
    pub index_row: f64,
    /// What such a row costs more if it has no neighbours and the table is far larger than the caches.
    pub lonely_row: f64,
    /// Walking over an entry of an index, reading columns back from it or testing it.
    pub index_entry: f64,
    /// Reading a row of a sorted batch of row ids, and the first row of a leaf more than the others.
    pub multi_range_row: f64,
    pub leaf_visit: f64,
    /// Sorting a row id among those of an index merge.
    pub merge_row_id: f64,
    /// Reading a row that an index names, somewhere in memory.
    pub random_row: f64,
    /// Descending for one of many sorted keys, and reading one of the rows that they name together, in the rows' order.
    pub batched_descent: f64,
    pub batched_row: f64,
    /// Setting an operator of a dependent subquery up, for each run.
    pub subquery_run: f64,
    /// Copying a column of a row read by its id.
    pub fetch_column: f64,
    /// Outer rows (not nanoseconds) from which on a join by index collects keys and sorts them.
    pub batch_keys_min: f64,
}

/// How a join by index looks rows up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LookupManner {
    /// By the whole key of a unique index.
    Unique,
    /// Keys as outer rows come, rows as the index names them.
    OneByOne,
    /// Batched key access: keys sorted, rows in their own order.
    Batched,
}

impl Default for CostParams {
    fn default() -> CostParams {
        CostParams {
            hash_build: 10.0,
            hash_probe: 3.0,
            filter_probe: 1.5,
            output: 2.0,
            cache_bytes: 1024.0 * 1024.0,
            cache_miss: 4.0,
            hash_row_overhead: 16.0,
            pair: 1.0,
            scan: 1.0,
            predicate: 1.0,
            group: 3.0,
            sort_compare: 8.0,
            key_lookup: 450.0,
            index_open: 300.0,
            index_descent: 600.0,
            index_row: 45.0,
            lonely_row: 150.0,
            index_entry: 20.0,
            multi_range_row: 40.0,
            leaf_visit: 20.0,
            merge_row_id: 6.0,
            random_row: 150.0,
            batched_descent: 500.0,
            batched_row: 110.0,
            subquery_run: 1000.0,
            fetch_column: 6.0,
            batch_keys_min: 100.0,
        }
    }
}

impl CostParams {
    /// All constants by name.
    pub fn named(&mut self) -> Vec<(&'static str, &mut f64)> {
        // Spelled out, so that a new one is not forgotten.
        let CostParams {
            hash_build,
            hash_probe,
            filter_probe,
            output,
            cache_bytes,
            cache_miss,
            hash_row_overhead,
            pair,
            scan,
            predicate,
            group,
            sort_compare,
            key_lookup,
            index_open,
            index_descent,
            index_row,
            lonely_row,
            index_entry,
            multi_range_row,
            leaf_visit,
            merge_row_id,
            random_row,
            batched_descent,
            batched_row,
            subquery_run,
            fetch_column,
            batch_keys_min,
        } = self;
        vec![
            ("hash_build", hash_build),
            ("hash_probe", hash_probe),
            ("filter_probe", filter_probe),
            ("output", output),
            ("cache_bytes", cache_bytes),
            ("cache_miss", cache_miss),
            ("hash_row_overhead", hash_row_overhead),
            ("pair", pair),
            ("scan", scan),
            ("predicate", predicate),
            ("group", group),
            ("sort_compare", sort_compare),
            ("key_lookup", key_lookup),
            ("index_open", index_open),
            ("index_descent", index_descent),
            ("index_row", index_row),
            ("lonely_row", lonely_row),
            ("index_entry", index_entry),
            ("multi_range_row", multi_range_row),
            ("leaf_visit", leaf_visit),
            ("merge_row_id", merge_row_id),
            ("random_row", random_row),
            ("batched_descent", batched_descent),
            ("batched_row", batched_row),
            ("subquery_run", subquery_run),
            ("fetch_column", fetch_column),
            ("batch_keys_min", batch_keys_min),
        ]
    }

    /// What an access to a table of this size costs on top.
    fn miss(&self, bytes: f64) -> f64 {
        if bytes <= self.cache_bytes {
            return 0.0;
        }
        self.cache_miss * ((bytes / self.cache_bytes).log2() / 4.0).min(2.5)
    }

    /// A hash join: `width` is the bytes of a build row. `kept`: the share of the probe rows that the build side's
    /// filter lets through the scan below; 1: there is none.
    pub fn hash_join(&self, probe_rows: f64, build_rows: f64, width: f64, out_rows: f64, kept: f64) -> f64 {
        let (build, probe) = self.hash_join_parts(probe_rows, build_rows, width, out_rows, kept);
        build + probe
    }

    /// The same in two: what stays, and what becomes less if fewer rows come to be probed.
    pub fn hash_join_parts(
        &self,
        probe_rows: f64,
        build_rows: f64,
        width: f64,
        out_rows: f64,
        kept: f64,
    ) -> (f64, f64) {
        let miss = self.miss(build_rows * (width + self.hash_row_overhead));
        let filtering = if kept < 1.0 { probe_rows * self.filter_probe } else { 0.0 };
        let probing = probe_rows * kept * (self.hash_probe + miss) + out_rows * self.output;
        (build_rows * (self.hash_build + miss) + filtering, probing)
    }

    pub fn nested_loop(&self, probe_rows: f64, build_rows: f64, out_rows: f64) -> f64 {
        probe_rows * build_rows.max(1.0) * self.pair + out_rows * self.output
    }

    /// Reading `rows` rows of `columns` columns through `ranges` ranges of an index.
    pub fn index_scan(&self, ranges: f64, rows: f64, columns: f64, clustered: bool) -> f64 {
        let row =
            if clustered { self.scan * (1.0 + columns / 4.0) } else { self.index_row + columns * self.fetch_column };
        self.index_open + ranges.max(1.0) * self.index_descent + rows * row
    }

    /// Joining `probe_rows` rows with those that an index finds for them: `matches` in all.
    pub fn index_join(&self, probe_rows: f64, matches: f64, columns: f64, by: LookupManner) -> f64 {
        let (key, row) = match by {
            // Of each key at most one row, whose reading is part of the lookup.
            LookupManner::Unique => (self.key_lookup, 0.0),
            LookupManner::OneByOne => (self.index_descent, self.random_row),
            LookupManner::Batched => (self.batched_descent, self.batched_row),
        };
        self.index_open + probe_rows * key + matches * (row + columns * self.fetch_column + self.output)
    }

    /// The first `kept` of `rows` rows in some order.
    pub fn top(&self, rows: f64, kept: f64) -> f64 {
        rows * self.sort_compare + kept.min(rows) * kept.min(rows).max(2.0).log2() * self.sort_compare
    }

    pub fn sort(&self, rows: f64) -> f64 {
        rows * rows.max(2.0).log2() * self.sort_compare
    }
}
