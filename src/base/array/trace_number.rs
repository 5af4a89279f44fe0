//! The number of the trace that a thread takes, which new arrays carry.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many threads trace.
static TRACING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

/// The trace of this thread; 0 for none.
#[inline]
pub fn current() -> u32 {
    #[cold]
    #[inline(never)]
    fn of_thread() -> u32 {
        CURRENT.get()
    }
    if TRACING.load(Relaxed) == 0 { 0 } else { of_thread() }
}

/// Makes this the trace of the thread.
pub fn set_current(trace: u32) {
    match (CURRENT.replace(trace), trace) {
        (0, 1..) => _ = TRACING.fetch_add(1, Relaxed),
        (1.., 0) => _ = TRACING.fetch_sub(1, Relaxed),
        _ => {}
    }
}
