//! `nextleaf bench` alone: builds without the server.

use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: bench::Args,
}

fn main() -> ExitCode {
    bench::run(&Cli::parse().args)
}
