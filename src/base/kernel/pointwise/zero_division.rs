//! Whether an integer was divided by 0, as the status flags of a processor say it for floats.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::Result;

/// Whether any thread divided an integer by 0 so far. Few programs do, so few threads look at their own [`DIVIDED`].
static EVER: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The op that divided an integer by 0 on this thread, until [`take_zero_division`] is called.
    static DIVIDED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// The op that divided an integer by 0 on this thread since the last call. Like the status flags of a processor it
/// does not stop the op, so that the caller can choose between a warning and an error.
#[inline]
pub fn take_zero_division() -> Option<&'static str> {
    if EVER.load(Relaxed) { DIVIDED.take() } else { None }
}

/// Remembers the op if any of its divisors is the integer 0.
pub(super) fn note_zeros(op: &'static str, divisors: &Array) -> Result<()> {
    let divisors = divisors.contiguous()?;
    let divides = dispatch!(divisors.dtype(), int T => {
        divisors.as_slice::<T>().expect("contiguous").contains(&0)
    }, else false);
    if divides {
        EVER.store(true, Relaxed);
        DIVIDED.set(Some(op));
    }
    Ok(())
}
