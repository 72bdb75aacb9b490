//! `nextleaf bench`: the experiments.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

/// Measures Nextleaf, alone or beside other systems.
#[derive(Parser, Debug)]
#[command(name = "nextleaf bench", version)]
struct BenchArgs {
    #[command(flatten)]
    experiment: bench::Args,
}

pub(super) fn run(args: Vec<OsString>) -> ExitCode {
    match BenchArgs::try_parse_from(args) {
        Ok(args) => bench::run(&args.experiment),
        Err(e) => {
            let _ = e.print();
            ExitCode::from(e.exit_code() as u8)
        }
    }
}
