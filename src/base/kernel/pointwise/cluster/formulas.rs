//! Instructions on the elements of a tile. Those of floats that stand together run as one function of machine code.

use std::mem::MaybeUninit;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::parts::End;
use super::room::PAGE;
use crate::kernel::pointwise::machine::{CodeOfTiles, of_tile};
use crate::kernel::pointwise::row::{Address, Instruction, Operand};

/// How many cache lines with the same position in a page the first-level cache has at a time. Large arrays mostly begin at the
/// same position.
const WAYS: usize = 8;

/// Instructions on the elements of a tile.
pub struct Formulas {
    pub instructions: Box<[Instruction]>,
    /// In the order in which they run.
    pieces: Box<[Piece]>,
    code: Option<CodeOfTiles>,
}

/// Instructions that run together.
enum Piece {
    /// An instruction with its loop.
    Loop(usize),
    /// The instructions up to this one, which is not among them, as this function of the machine code.
    Code(usize, usize),
}

/// By address: the number of the last instruction that reads it, or of the one after the last fold that does.
fn last_readers(instructions: &[Instruction], ends: &[End]) -> FxHashMap<Address, usize> {
    let mut last: FxHashMap<Address, usize> = FxHashMap::default();
    for (i, own) in instructions.iter().enumerate() {
        last.extend(own.operands().iter().map(|operand| (operand.address, i)));
    }
    for end in ends {
        let at = last.entry(end.address).or_default();
        *at = (*at).max(end.of + 1);
    }
    last
}

/// The instructions in runs of those that one function of machine code can compute. Addresses from `registers` on are those of
/// registers.
fn runs(n: usize, instructions: &[Instruction], ends: &[End], registers: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = vec![];
    let (mut written, mut arrays) = (FxHashSet::default(), FxHashSet::default());
    for (i, own) in instructions.iter().enumerate() {
        let operands = own.operands();
        let is_array = |address: &Address| (*address as usize) < registers;
        let own_arrays = operands.iter().filter(|operand| operand.step > 0).map(|operand| operand.address);
        let own_arrays = own_arrays.chain([own.to]).filter(is_array);
        let goes_on = |run: &&mut Range<usize>| {
            let is_like = of_tile(own).is_some() && of_tile(&instructions[run.start]) == of_tile(own);
            let is_one_made = |operand: &Operand| operand.step == 0 && written.contains(&operand.address);
            let more = own_arrays.clone().filter(|address| !arrays.contains(address)).count();
            let is_room = n * own.row.out.size() < PAGE || arrays.len() + more <= WAYS;
            is_like && is_room && !operands.iter().any(is_one_made) && !ends.iter().any(|end| end.of + 1 == i)
        };
        match runs.last_mut().filter(goes_on) {
            Some(run) => run.end = i + 1,
            None => {
                written.clear();
                arrays.clear();
                runs.push(i..i + 1);
            }
        }
        written.insert(own.to);
        arrays.extend(own_arrays);
    }
    runs
}

impl Formulas {
    /// Instructions on tiles of about `n` elements: those of floats that stand together become machine code. Addresses from
    /// `registers` on are those of registers, in which results stay only as long as they are read. `used` gets the addresses whose
    /// memory the pieces read or write.
    pub fn new(
        n: usize,
        instructions: Vec<Instruction>,
        ends: &[End],
        registers: usize,
        used: &mut FxHashSet<Address>,
    ) -> Formulas {
        let (last, runs) = (last_readers(&instructions, ends), runs(n, &instructions, ends, registers));
        let long: Vec<&Range<usize>> = runs.iter().filter(|run| run.len() > 1).collect();
        let lists: Vec<_> = long.iter().map(|&run| &instructions[run.clone()]).collect();
        let is_needed = |k: usize, address: Address| {
            let is_read = last.get(&address).is_some_and(|&at| at >= long[k].end);
            (address as usize) < registers || is_read
        };
        let code = if lists.is_empty() { None } else { CodeOfTiles::new(&lists, &is_needed) };
        let (mut pieces, mut functions) = (vec![], 0);
        for run in runs {
            if run.len() > 1 && code.is_some() {
                pieces.push(Piece::Code(run.end, functions));
                functions += 1;
                continue;
            }
            for i in run {
                let own = &instructions[i];
                used.extend(own.operands().iter().map(|operand| operand.address));
                used.extend([own.to, own.also]);
                pieces.push(Piece::Loop(i));
            }
        }
        used.extend(code.iter().flat_map(CodeOfTiles::used));
        Formulas { instructions: instructions.into(), pieces: pieces.into(), code }
    }

    /// Runs the instructions. `done` gets the number of the one after those that have run, after each piece.
    ///
    /// # Safety
    /// By address that the instructions use, the address in memory: of `n` elements of the dtypes that the formulas are for, or of one
    /// where the step of an operand is 0, and of room for `n` results. Those that are used are written. A result is apart from
    /// other results and from all that is read before it.
    #[inline(always)]
    pub unsafe fn run(&self, n: usize, addresses: &[MaybeUninit<*mut u8>], mut done: impl FnMut(usize)) {
        for piece in &self.pieces {
            // SAFETY: as the function's `# Safety` section requires. A unary loop reads all its elements.
            done(unsafe {
                match *piece {
                    Piece::Code(end, function) => {
                        let code = self.code.as_ref().expect("the function is there");
                        code.run(function, n, addresses.as_ptr().cast());
                        end
                    }
                    Piece::Loop(i) => {
                        self.instructions[i].run(n, |address| addresses[address as usize].assume_init());
                        i + 1
                    }
                }
            });
        }
    }
}
