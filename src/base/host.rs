//! Whether a host language calls the library.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static PRESENT: AtomicBool = AtomicBool::new(false);

/// From now on a host language calls the library. It catches at its border what the library throws, and gives operands
/// without edges where nothing is to be recorded.
pub fn set_present() {
    PRESENT.store(true, Relaxed);
}

/// Whether [`set_present`] was called.
#[inline]
pub fn is_present() -> bool {
    PRESENT.load(Relaxed)
}
