//! How the work of a convolution is shared among threads.

use std::ops::Range;

use crate::array::Array;
use crate::error::Result;
use crate::kernel::num::Num;
use crate::kernel::par;

/// Fewer multiplications stay on one thread.
pub const PARALLEL: usize = 1 << 18;

/// Larger scratch buffers are allocated once as a trial, so that a failure is an error instead of an abort.
const MODEST: usize = 1 << 24;

/// Runs `f` on every piece, in parallel if there is enough work. Each call gets `scratch` elements: zeros at first,
/// then as the thread's last call left them.
pub fn run_pieces_with_scratch<T: Num>(
    op: &'static str,
    pieces: usize,
    work: usize,
    scratch: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    if scratch > MODEST {
        Array::zeros(op, T::DTYPE, &[scratch])?;
    }
    let run = |r: Range<usize>| {
        let mut columns = vec![T::ZERO; scratch];
        r.for_each(|i| f(i, &mut columns));
    };
    run_pieces(pieces, work, PARALLEL / 4, &run);
    Ok(())
}

/// Runs pieces of `work` multiplications each, in parallel if there are enough. A thread takes pieces worth about
/// `share` multiplications at a time.
pub fn run_pieces(pieces: usize, work: usize, share: usize, run: &(impl Fn(Range<usize>) + Sync)) {
    if work.saturating_mul(pieces) < PARALLEL {
        run(0..pieces);
    } else {
        par::pieces(pieces, share.div_ceil(work.max(1)), run);
    }
}
