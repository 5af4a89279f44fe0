//! What a pass takes at least on this machine, measured: as long as memory takes to move its bytes, and a product of matrices that
//! suits the processor to compute as many products of numbers.

use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::parts::{Step, Value};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Loops;
use crate::kernel::{matmul, par};
use crate::memory::TryPush;
use crate::shape;

/// As many bytes are moved for a measurement at most. More take as much longer, for they leave all caches.
const MOST: usize = 64 << 20;

/// As many bytes at least are moved for one. They lie in the first-level cache.
const FEW: usize = 16 << 10;

/// How often each measurement is made. The least time counts.
const TIMES: usize = 5;

/// As many bytes take some ten microseconds.
const LONG: usize = 1 << 19;

/// The size of the matrices whose product shows how fast the processor is.
const SIDE: usize = 256;

/// The measurements of one program.
#[derive(Default)]
pub(super) struct Machine {
    /// By bytes that are read and written, rounded to powers of two: the seconds.
    moved: FxHashMap<[usize; 2], f64>,
    /// By dtype: the seconds of a product of two numbers.
    products: FxHashMap<DType, f64>,
}

impl Machine {
    /// How many seconds a pass of these steps takes at least, which reads and writes so many bytes.
    ///
    /// # Errors
    /// For want of memory.
    pub fn least(&mut self, values: &[Value], steps: &[&Step], read: usize, written: usize) -> Result<f64> {
        let mut products = 0.0;
        for step in steps {
            if let (Some(Loops::Product), &[x, _], &[out]) =
                (step.lowered(values), &step.ins[..], &step.outs[..])
            {
                let (x, out) = (&values[x as usize], &values[out as usize]);
                let depth = x.dims.last().copied().unwrap_or(1);
                products += self.product(out.dtype)? * (shape::len(&out.dims) as f64) * depth as f64;
            }
        }
        Ok(self.moving(read, written)?.max(products))
    }

    /// The seconds that it takes to read and write so many bytes, which lie in the caches if they fit.
    ///
    /// # Errors
    /// For want of memory.
    fn moving(&mut self, read: usize, written: usize) -> Result<f64> {
        // Fewer bytes do not take longer each, as they do not lie further away. Those of a few cache lines do, for the calls.
        let times = (FEW / (read + written).max(1)).max(1);
        let measured = [read, written].map(|bytes| (1 << (bytes * times).max(1).ilog2()).min(MOST));
        let share = |k: usize| [read, written][k] as f64 / measured[k] as f64;
        let seconds = match self.moved.get(&measured) {
            Some(&known) => known,
            None => *self.moved.entry(measured).or_insert(seconds_to_move(measured)?),
        };
        Ok(seconds * share(0).min(share(1)))
    }

    /// The seconds of a product of two numbers that is added to others.
    ///
    /// # Errors
    /// For want of memory.
    fn product(&mut self, dtype: DType) -> Result<f64> {
        if let Some(&known) = self.products.get(&dtype) {
            return Ok(known);
        }
        let x = Array::full_of(dtype, &[SIDE, SIDE], 1.0).packed()?;
        let mut least = f64::INFINITY;
        for _ in 0..TIMES {
            let start = Instant::now();
            black_box(matmul::matmul("explain", &x, &x, 0)?);
            least = least.min(start.elapsed().as_secs_f64());
        }
        Ok(*self.products.entry(dtype).or_insert(least / SIDE.pow(3) as f64))
    }
}

/// The seconds that it takes to move so many bytes, on as many threads as a pass would have.
///
/// # Errors
/// For want of memory.
fn seconds_to_move([read, written]: [usize; 2]) -> Result<f64> {
    let bytes = |n: usize| -> Result<Vec<u8>> {
        let mut all = vec![];
        all.try_room(n)?;
        all.resize(n, 1);
        Ok(all)
    };
    let (from, mut to) = (bytes(read)?, bytes(written)?);
    let pieces = if par::is_worthwhile(read.max(written)) { 8 * par::threads() } else { 1 };
    let size = |n: usize| n.div_ceil(pieces).max(1);
    let to: Vec<Mutex<&mut [u8]>> = to.chunks_mut(size(written)).map(Mutex::new).collect();
    let piece = |i: usize| {
        let from = from.chunks(size(read)).nth(i).unwrap_or_default();
        let mut to = to.get(i).map(|own| own.lock().expect("no piece panics"));
        move_piece(from, to.as_deref_mut().map_or(&mut [], |own| own));
    };
    // Long enough for the clock.
    let repeats = (LONG / (read + written)).max(1);
    let mut least = f64::INFINITY;
    for _ in 0..TIMES {
        let start = Instant::now();
        (0..repeats).for_each(|_| par::pieces(pieces, 1, &|range| range.for_each(piece)));
        least = least.min(start.elapsed().as_secs_f64() / repeats as f64);
    }
    Ok(least)
}

/// Reads all bytes and writes as many others as there are, by copies from and to a few where there are more of one kind.
fn move_piece(from: &[u8], to: &mut [u8]) {
    let mut few = [1; 4096];
    let both = from.len().min(to.len());
    let (copied, rest) = to.split_at_mut(both);
    copied.copy_from_slice(&from[..both]);
    for more in from[both..].chunks(few.len()) {
        few[..more.len()].copy_from_slice(more);
        black_box(&mut few);
    }
    rest.chunks_mut(few.len()).for_each(|more| more.copy_from_slice(&few[..more.len()]));
    black_box(to);
}
