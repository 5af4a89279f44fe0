//! Loops whose steps compute single numbers, by loop distribution: what the next step does not wait for is computed for many steps
//! at a time, by the loops of the formulas, and only the rest is computed step by step.
//!
//! `inlined.rs` makes one scalar program of a step, and `components.rs` finds the strongly connected components of its dependence
//! graph, whose instructions wait for each other from step to step. `schedule.rs` puts the components into phases. `run.rs` runs all
//! phases for a tile of steps, whose numbers stay in the cache, and then for the next tile.

mod components;
mod inlined;
mod run;
mod schedule;

use std::ops::Range;
use std::sync::OnceLock;

use super::run::{Failure, Sequence};
use super::steps::{From, Steps};
use crate::array::Array;
use crate::kernel::pointwise::cluster::{ALIGNMENT, Formulas};
use crate::kernel::pointwise::numbers::Numbers;
use crate::kernel::pointwise::row::Address;

/// A loop of fewer steps is not split.
const FEWEST: usize = 24;
/// About how many bytes the numbers of all steps of a tile have.
const TILE: usize = 128 << 10;

/// A sequence as the steps of loops, which remembers how they are split.
#[derive(Default)]
pub struct Loop(OnceLock<Option<Box<Split>>>);

impl Loop {
    /// Runs the steps of a loop: the last carry, the results as columns, and perhaps the carries before each step. `sequence` is
    /// the same one in all calls. None if a result has another layout in some step, or if an item would copy much in each step.
    ///
    /// # Errors
    /// For want of memory, those of kernels and of functions of arrays, and if the loop is interrupted.
    ///
    /// # Panics
    /// If an array is too small for what is read of it, or a carry or a column is not contiguous.
    pub fn run(
        &self,
        sequence: &Sequence,
        given: &[&Array],
        steps: &Steps<'_>,
        done: Option<&mut dyn FnMut(usize)>,
    ) -> std::result::Result<Option<Vec<Array>>, Failure> {
        if !sequence.fits(given, steps) {
            return Ok(None);
        }
        match self.split(sequence, steps) {
            Some(split) => split.run(sequence, given, steps, done).map(Some),
            None => sequence.run_in_turn(given, steps, done),
        }
    }

    /// How the loop is split. None if it has few steps, or cannot be split, or if it was split for steps of another kind.
    fn split(&self, sequence: &Sequence, steps: &Steps<'_>) -> Option<&Split> {
        if steps.length < FEWEST {
            return None;
        }
        let split = match self.0.get() {
            Some(known) => known,
            None => {
                // It is made first, so that nobody waits for a thread that makes it.
                let made = Split::new(sequence, steps).map(Box::new);
                self.0.get_or_init(|| made)
            }
        };
        split.as_deref().filter(|split| split.kind.is_of(steps))
    }
}

/// How a loop is split.
struct Split {
    kind: Kind,
    tile: Tile,
    /// By cell of a step: its address in the tile in the first step.
    places: Vec<Address>,
    phases: Vec<Phase>,
    /// What is copied to a tile: numbers that are the same in all steps, numbers of rows, and the carries before the first step.
    constants: Vec<Copied>,
    rows: Vec<Copied>,
    carried: Vec<Copied>,
    /// The carries that no step changes.
    kept: Vec<usize>,
    /// What is copied from a tile.
    results: Vec<Copied>,
    /// The carries before a step, which are results too where the loop keeps them.
    before: Vec<Copied>,
}

/// What tells loops of a sequence apart that are split in different ways.
struct Kind {
    carries: usize,
    columns: usize,
    reads: Vec<usize>,
    outs: Vec<(From, usize)>,
}

impl Kind {
    fn new(steps: &Steps<'_>) -> Kind {
        Kind {
            carries: steps.carries,
            columns: steps.columns,
            reads: steps.reads.to_vec(),
            outs: steps.outs.iter().map(|out| (out.from, out.start)).collect(),
        }
    }

    fn is_of(&self, steps: &Steps<'_>) -> bool {
        let outs = steps.outs.iter().map(|out| (out.from, out.start));
        (self.carries, self.columns) == (steps.carries, steps.columns)
            && self.reads == steps.reads
            && self.outs.iter().copied().eq(outs)
    }
}

/// The memory of some steps. It has a slot for each cell of a step, where the numbers of all its steps lie one after the other,
/// `width` bytes apart. All addresses are counted in such numbers.
#[derive(Clone, Copy)]
struct Tile {
    slots: usize,
    width: usize,
    /// How many steps it has.
    steps: usize,
    /// How many numbers a slot has room for.
    pitch: usize,
}

impl Tile {
    fn new(slots: usize, width: usize) -> Tile {
        let steps = (TILE / (slots * width)).clamp(64, 256) / 32 * 32;
        // There is one more place, for the carry after the last step. A slot has an odd number of cache lines, so that the numbers
        // of a step do not all have the same place in the first-level cache.
        let pitch = ((steps * width).next_multiple_of(2 * ALIGNMENT) + ALIGNMENT) / width;
        Tile { slots, width, steps, pitch }
    }

    fn bytes(&self) -> usize {
        self.slots * self.pitch * self.width
    }
}

/// What runs for all steps of a tile, before the next phase does.
enum Phase {
    /// Formulas, each as one loop over the steps. Their addresses are cells.
    Together(Formulas),
    /// The kernel of an item, with its result.
    Call(usize, Vec<Operand>, Cell),
    /// Formulas, of which a step computes all before the next step does.
    InTurn(Numbers),
}

/// The cell of a number of a step. Each number that a step reads or makes has one of its own.
type Cell = Address;

/// An operand of a kernel.
#[derive(Clone)]
enum Operand {
    /// A number of the step.
    Number(Cell),
    /// What begins so many bytes after the beginning of an array that is given or of its row, and the bytes that are read from there.
    Given(usize, isize, Range<isize>),
}

/// A number that is copied between a tile and an array.
#[derive(Clone, Copy)]
struct Copied {
    /// Which of the arrays that are given, or of those that are made.
    array: usize,
    /// How many bytes after the beginning of the array or its row it begins.
    start: isize,
    size: usize,
    cell: Cell,
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::dtype::DType;
    use crate::kernel::sequence::steps::Out;

    #[test]
    fn carries_and_rows_that_a_step_returns_are_results() {
        for (length, reverse) in [(3, false), (3, true), (FEWEST, false), (FEWEST, true)] {
            let out = |from| Out { from, start: 0, dtype: DType::F64, dims: smallvec![] };
            // The second carry becomes the row, and the third one what the second was.
            let outs = [0, 3, 1, 3, 1].map(|g| out(From::Given(g)));
            let (op, reads) = ("scan", [0]);
            let steps = Steps {
                op,
                carries: 3,
                columns: 1,
                length,
                reverse,
                keeps: true,
                reads: &reads,
                outs: &outs,
            };
            let rows: Vec<f64> = (0..length).map(|t| t as f64).collect();
            let carries = [-1.0, -2.0, -3.0].map(|x| Array::from_slice(&[x], &[]).unwrap());
            let column = Array::from_slice(&rows, &[length]).unwrap();
            let [x, y, z] = &carries;
            let sequence = Sequence::new(1, vec![]);
            let made = Loop::default().run(&sequence, &[x, y, z, &column], &steps, None);
            let made = made.unwrap_or_else(|failure| panic!("{}", failure.error)).expect("it fits");
            let mut made: Vec<Vec<f64>> = made.iter().map(Array::to_vec).collect();
            if reverse {
                made[3..].iter_mut().for_each(|column| column.reverse());
            }
            let mut own = rows;
            if reverse {
                own.reverse();
            }
            // What was so many steps before, where these are the values before the first step.
            let late = |first: &[f64]| -> Vec<f64> { [first, &own].concat()[..length].to_vec() };
            let last = |k: usize| own[length - k];
            let (second, third) = (late(&[-2.0]), late(&[-3.0, -2.0]));
            let kept = vec![-1.0; length];
            let wanted =
                [vec![-1.0], vec![last(1)], vec![last(2)], own.clone(), second.clone(), kept, second, third];
            assert_eq!(made, wanted, "{length} steps");
        }
    }
}
