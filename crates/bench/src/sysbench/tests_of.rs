//! The tests that sysbench has for us, and what is expected of each.

use super::run::Shape;

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Test {
    PointSelect,
    ReadOnly,
    Filter,
    UpdateIndex,
    UpdateNonIndex,
    ReadWrite,
    WriteOnly,
    Insert,
    Delete,
}

impl Test {
    /// In an order in which those that change the tables most come last.
    pub const ALL: [Test; 9] = [
        Test::PointSelect,
        Test::ReadOnly,
        Test::Filter,
        Test::UpdateIndex,
        Test::UpdateNonIndex,
        Test::ReadWrite,
        Test::WriteOnly,
        Test::Insert,
        Test::Delete,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Test::PointSelect => "point_select",
            Test::ReadOnly => "read_only",
            Test::Filter => "filter",
            Test::UpdateIndex => "update_index",
            Test::UpdateNonIndex => "update_non_index",
            Test::ReadWrite => "read_write",
            Test::WriteOnly => "write_only",
            Test::Insert => "insert",
            Test::Delete => "delete",
        }
    }

    /// A script of the package, or our own, which is written to the folder that sysbench runs in.
    pub fn script(self) -> &'static str {
        match self {
            Test::PointSelect => "oltp_point_select",
            Test::ReadOnly => "oltp_read_only",
            Test::Filter => "filter.lua",
            Test::UpdateIndex => "oltp_update_index",
            Test::UpdateNonIndex => "oltp_update_non_index",
            Test::ReadWrite => "oltp_read_write",
            Test::WriteOnly => "oltp_write_only",
            Test::Insert => "oltp_insert",
            Test::Delete => "oltp_delete",
        }
    }

    /// How many times MariaDB's throughput Nextleaf's should be, where both sync at commit.
    pub fn goal(self, threads: usize) -> f64 {
        match self {
            Test::PointSelect | Test::ReadOnly | Test::ReadWrite | Test::Filter => 1.6,
            _ if threads >= 64 => 1.5,
            _ => 1.0,
        }
    }

    /// Rows must be put back before each run, else later runs find less and less to delete.
    pub fn consumes_rows(self) -> bool {
        self == Test::Delete
    }

    /// Statements that fill the tables again from copies made before.
    pub fn refill(shape: &Shape) -> impl Iterator<Item = String> {
        (1..=shape.tables).flat_map(|t| {
            [format!("TRUNCATE TABLE sbtest{t}"), format!("INSERT INTO sbtest{t} SELECT * FROM sbtest{t}_all")]
        })
    }

    /// Statements that make the copies.
    pub fn keep_copies(shape: &Shape) -> impl Iterator<Item = String> {
        (1..=shape.tables).flat_map(|t| {
            [
                format!("CREATE TABLE sbtest{t}_all LIKE sbtest{t}"),
                format!("INSERT INTO sbtest{t}_all SELECT * FROM sbtest{t}"),
            ]
        })
    }
}
