//! The binary `nextleaf`.

use std::process::ExitCode;

/// Sessions allocate and free from many threads at once, which the system's allocator does not like as much.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    nextleaf::commands::main(std::env::args_os())
}
