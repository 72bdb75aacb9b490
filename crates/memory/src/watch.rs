//! How much a thread has taken since a moment: for work that is done by one thread and charged to nobody while it runs,
//! such as parsing and planning.

use crate::metered::thread_bytes;

/// See the module head. It belongs to the thread that began it.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    begun_at: isize,
    limit_bytes: usize,
}

impl Watch {
    /// From now on the calling thread may take `limit_bytes`.
    #[inline]
    pub fn begin(limit_bytes: usize) -> Watch {
        Watch { begun_at: thread_bytes(), limit_bytes }
    }

    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Net bytes taken since.
    #[inline]
    pub fn taken_bytes(&self) -> usize {
        usize::try_from(thread_bytes() - self.begun_at).unwrap_or(0)
    }

    #[inline]
    pub fn is_exceeded(&self) -> bool {
        self.taken_bytes() > self.limit_bytes
    }
}
