//! What the optimizer weighed, chosen or not, for OPTIMIZER_TRACE. Only noted where a statement is traced.

/// Joins that are noted of a statement: a search may try millions.
pub const JOINS_NOTED_MAX: usize = 500;

#[derive(Debug, Default)]
pub struct Weighed {
    /// The passes, with the tree after each.
    pub passes: Vec<(String, String)>,
    pub tables: Vec<TableWays>,
    pub joins: Vec<JoinTried>,
    /// Joins beyond [`JOINS_NOTED_MAX`].
    pub joins_left_out: u64,
}

/// The ways to read one table.
#[derive(Debug)]
pub struct TableWays {
    /// The query block that names it.
    pub block: u32,
    pub alias: String,
    /// Of the table, and what reading them all costs.
    pub rows: f64,
    pub scan_cost: f64,
    /// None: the scan is it, or a lookup by unique key.
    pub ways: Vec<Way>,
    /// Indexes that could not be asked, and why.
    pub unusable: Vec<(String, &'static str)>,
}

/// A way to read a table by an index.
#[derive(Debug)]
pub struct Way {
    pub index: String,
    /// `const`, `range`, `skip_scan`
    pub access_type: &'static str,
    pub ranges: Vec<String>,
    pub rows: f64,
    pub cost: f64,
    /// Rows come from the index alone; are read in the order of their row ids.
    pub covers: bool,
    pub sorted: bool,
    /// Why it was dropped; none: it was chosen.
    pub cause: Option<&'static str>,
}

/// A join of two sets of tables that the search for an order tried.
#[derive(Debug)]
pub struct JoinTried {
    pub block: u32,
    pub left: Vec<String>,
    pub right: Vec<String>,
    /// Methods and what each costs, with what both sides cost.
    pub ways: Vec<(&'static str, f64)>,
    pub rows: f64,
    pub cost: f64,
    /// It was the cheapest way to join all these so far.
    pub chosen: bool,
}

impl Weighed {
    pub fn note_join(&mut self, join: impl FnOnce() -> JoinTried) {
        if self.joins.len() < JOINS_NOTED_MAX { self.joins.push(join()) } else { self.joins_left_out += 1 }
    }
}
