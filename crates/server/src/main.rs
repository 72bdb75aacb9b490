//! The binary `nextleaf`.

use std::process::ExitCode;

/// Sessions allocate and free from many threads at once, which the system's allocator does not like as much. It is
/// metered: what the process may hold is bounded.
#[global_allocator]
static ALLOCATOR: memory::Metered<mimalloc::MiMalloc> = memory::Metered(mimalloc::MiMalloc);

unsafe extern "C" {
    /// Gives the system what is free in the calling thread's heap and in what all threads share.
    safe fn mi_collect(force: bool);
}

fn main() -> ExitCode {
    memory::set_collector(|| mi_collect(true));
    // A page of 2 MiB is cleared whole when a leaf first touches it, under its latch; and small heaps of many threads
    // would each fill such pages. Scans are as fast without.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    nextleaf::commands::main(std::env::args_os())
}
