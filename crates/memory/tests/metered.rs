//! The meter under the system's allocator.

use memory::{Metered, TALLY_BYTES_MAX, Watch, process_bytes, thread_bytes};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: Metered<System> = Metered(System);

const BIG: usize = 8 << 20;

/// All in one test: others would allocate beside it.
#[test]
fn what_is_held_is_counted_across_threads() {
    let before = process_bytes().unwrap_or(0);
    let watch = Watch::begin(BIG / 2);
    let mut big = vec![1u8; BIG];
    let near = |bytes: usize| {
        let held = process_bytes().expect("it is metered");
        held.abs_diff(before + bytes) < 64 * TALLY_BYTES_MAX
    };
    assert!(near(BIG) && watch.is_exceeded());
    assert!(watch.taken_bytes() >= BIG && watch.taken_bytes() < BIG + (1 << 20));
    big.resize(2 * BIG, 0);
    assert!(near(2 * BIG), "{:?}", process_bytes());
    big.truncate(10);
    big.shrink_to_fit();
    assert!(near(0) && !watch.is_exceeded());

    // What one thread takes and another frees is nobody's in the end, however many threads come and go.
    let mine = thread_bytes();
    for _ in 0..200 {
        let given = std::thread::spawn(|| vec![0u8; TALLY_BYTES_MAX / 2]).join().expect("it ends");
        drop(given);
    }
    assert!(thread_bytes() < mine - (100 * TALLY_BYTES_MAX / 2) as isize, "this one freed what others took");
    assert!(near(0), "{before} {:?}", process_bytes());

    // More than the machine has is refused, not fatal, where the caller can answer for it.
    let mut huge: Vec<u8> = Vec::new();
    assert!(huge.try_reserve_exact(isize::MAX as usize - 4096).is_err());
    assert!(near(0), "and not counted");
}
