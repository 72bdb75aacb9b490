//! The bound of the process under the system's allocator.

use memory::{Metered, has_room, has_room_beside, process_bytes, promise, set_limit, try_grow};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: Metered<System> = Metered(System);

const MIB: usize = 1 << 20;

/// All in one test: the bound is the process's.
#[test]
fn what_is_held_and_promised_counts() {
    assert!(has_room(usize::MAX), "no bound");
    let big = vec![1u8; 32 * MIB];
    set_limit(process_bytes().expect("it is metered") + 64 * MIB);
    assert!(has_room(60 * MIB) && !has_room(70 * MIB));
    assert!(!has_room_beside(60 * MIB, 10 * MIB), "a share is left to others");
    let first = promise(40 * MIB).expect("there is room");
    assert!(promise(40 * MIB).is_none(), "it is promised");
    assert!(has_room(20 * MIB), "a refusal takes nothing");
    drop(first);
    let _second = promise(40 * MIB).expect("there is room again");
    drop(_second);
    drop(big);
    assert!(has_room(90 * MIB), "what is freed is there again");

    let mut buffer = Vec::new();
    assert!(!try_grow(&mut buffer, 100 * MIB) && buffer.capacity() == 0);
    assert!(try_grow(&mut buffer, 50 * MIB) && buffer.capacity() == 50 * MIB);
    assert!(!has_room(50 * MIB));
    set_limit(1);
    assert!(!has_room(1), "less than is held");
    set_limit(0);
}
