//! Nextleaf's experiments: data, queries, drivers and reports, behind `nextleaf bench`.
//!
//! ```text
//!   run(Args) ─┬─ tpch          22 queries over generated data, beside other systems; answers compared
//!              ├─ scan-copy     reading rows where they lie, against copying each into a record buffer
//!              ├─ leaf-locate   row position → leaf: division, shift, next leaf
//!              ├─ filter        what one row costs a filter scan
//!              ├─ sysbench      short transactions, beside MariaDB
//!              ├─ point         lookups by key, in this process
//!              ├─ flexasynch    batches of small operations by key, in this process and through the wire
//!              ├─ row-locks     N clients take the time of one
//!              ├─ index-rebuild CREATE INDEX on a table that has its rows
//!              ├─ icp, mrr, bka, hash-join, materialization
//!              │                one technique of the optimizer on and off, beside MariaDB
//!              ├─ plan-quality  the chosen plan against the best of all that can be forced
//!              ├─ cost-calibration
//!              │                what the constants of the cost model are worth here
//!              ├─ soak          mixed changes for long: memory, processor time and stalls stay what they were
//!              └─ dbt2          TPC-C's transactions and consistency conditions, beside MariaDB
//! ```
//! Invariants: every experiment prints the machine it ran on, its noise (least, median, most) and a hash of its result,
//! and runs in miniature as a test. What is compared with an alternative is measured in the same run.

mod calibration;
mod dbt2;
mod filter;
mod flexasynch;
mod html;
mod index_rebuild;
mod leaf_locate;
mod local;
mod machine;
mod page;
mod plan_quality;
mod point;
mod row_locks;
mod scan_copy;
mod scratch;
mod servers;
mod soak;
mod sysbench;
mod table;
mod techniques;
pub mod tpch;

use std::process::ExitCode;

/// Measures Nextleaf, alone or beside other systems
#[derive(clap::Args, Debug, Clone)]
pub struct Args {
    #[command(subcommand)]
    pub experiment: Experiment,
}

#[derive(clap::Subcommand, Debug, Clone)]
pub enum Experiment {
    /// The 22 queries of TPC-H
    Tpch(tpch::TpchArgs),
    /// Reading rows in place, against copying each into a record buffer first
    ScanCopy(scan_copy::ScanCopyArgs),
    /// From a row's position to its leaf: division, shift, next leaf
    LeafLocate(leaf_locate::LeafLocateArgs),
    /// What one row costs a filter scan
    Filter(filter::FilterArgs),
    /// Debian's sysbench against a server of our own and, in turns, MariaDB
    Sysbench(sysbench::SysbenchArgs),
    /// TPC-C's five transactions and its consistency conditions
    Dbt2(dbt2::Dbt2Args),
    /// Mixed changes for long, beside reports: whether memory, processor time and stalls stay what they were
    Soak(soak::SoakArgs),
    /// Batches of small operations by key, in this process and through a server
    Flexasynch(flexasynch::FlexArgs),
    /// Lookups by key in this process
    Point(point::PointArgs),
    /// Whether readers stand in each other's way
    RowLocks(row_locks::RowLocksArgs),
    /// How fast an ordered index is built over rows that are there
    IndexRebuild(index_rebuild::IndexRebuildArgs),
    /// Index condition pushdown on and off: Q19
    Icp(techniques::TechniqueArgs),
    /// Multi-range read on and off: Q10
    Mrr(techniques::TechniqueArgs),
    /// Batched key access on and off: Q3
    Bka(techniques::TechniqueArgs),
    /// Hash joins on and off: Q3
    HashJoin(techniques::TechniqueArgs),
    /// Subquery materialization on and off: Q16
    Materialization(techniques::TechniqueArgs),
    /// The chosen plan's time against the best of all plans that can be forced
    PlanQuality(plan_quality::PlanQualityArgs),
    /// Nanoseconds of what the optimizer's cost constants stand for
    CostCalibration(calibration::CalibrationArgs),
}

/// Runs an experiment; prints its table to standard output and failures to standard error.
pub fn run(args: &Args) -> ExitCode {
    println!("{}", machine::describe());
    let outcome = match &args.experiment {
        Experiment::Tpch(a) => tpch::run(a),
        Experiment::ScanCopy(a) => scan_copy::run(a).map(|_| true),
        Experiment::LeafLocate(a) => leaf_locate::run(a).map(|_| true),
        Experiment::Filter(a) => filter::run(a).map(|_| true),
        Experiment::Sysbench(a) => sysbench::run(a),
        Experiment::Dbt2(a) => dbt2::run(a),
        Experiment::Soak(a) => soak::run(a),
        Experiment::Flexasynch(a) => flexasynch::run(a),
        Experiment::Point(a) => point::run(a).map(|_| true),
        Experiment::RowLocks(a) => row_locks::run(a),
        Experiment::IndexRebuild(a) => index_rebuild::run(a),
        Experiment::Icp(a) => techniques::run(&techniques::ICP, a),
        Experiment::Mrr(a) => techniques::run(&techniques::MRR, a),
        Experiment::Bka(a) => techniques::run(&techniques::BKA, a),
        Experiment::HashJoin(a) => techniques::run(&techniques::HASH_JOIN, a),
        Experiment::Materialization(a) => techniques::run(&techniques::MATERIALIZATION, a),
        Experiment::PlanQuality(a) => plan_quality::run(a),
        Experiment::CostCalibration(a) => calibration::run(a),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

/// Why an experiment could not run.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
