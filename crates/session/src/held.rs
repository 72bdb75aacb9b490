//! What a session holds from statement to statement, charged like the memory of statements.

use executor::{MemoryAccountant, Reservation};
use expr::HeldBytes;
use parking_lot::Mutex;
use std::sync::Arc;
use types::Result;

/// Variables of fewer bytes are not counted.
const COUNTED_BYTES_MIN: usize = 64 << 10;

/// The strings of `@variables`.
#[derive(Debug)]
pub(crate) struct HeldByVars(Mutex<Reservation>);

impl HeldByVars {
    pub fn new(all: &Arc<MemoryAccountant>) -> HeldByVars {
        HeldByVars(Mutex::new(Reservation::new(all)))
    }
}

impl HeldBytes for HeldByVars {
    fn hold(&self, bytes: usize) -> Result<()> {
        let mut held = self.0.lock();
        let bytes = if bytes < COUNTED_BYTES_MIN { 0 } else { bytes };
        if bytes == held.bytes() { Ok(()) } else { held.hold(bytes, "User variables") }
    }
}
