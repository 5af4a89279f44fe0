//! What becomes of the numbers of instructions: which one reads each of them next, and whether it has to be in memory.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::pointwise::formula::{Arithmetic, Float};
use crate::kernel::pointwise::row::{Address, Instruction, Operand};

/// The number of an instruction that comes after all others.
pub const NEVER: u32 = u32::MAX;

/// What a result is needed for.
#[derive(Clone, Copy)]
pub struct Fate {
    /// The next instruction that reads it.
    pub next: u32,
    /// Whether it has to be in memory.
    pub is_stored: bool,
}

/// The formula of an instruction that takes no call. One with twice the digits of float32 does.
pub fn formula(own: &Instruction) -> Option<(&'static Arithmetic, Float)> {
    own.row.arithmetic().filter(|(formula, float)| !(formula.is_wide && *float == Float::F32))
}

/// The operands that a formula reads.
pub fn operands(own: &Instruction) -> &[Operand] {
    formula(own).map_or_else(|| own.operands(), |(formula, _)| &own.from[..formula.operands])
}

/// By instruction: the next one that reads each operand, and what becomes of the result. `at_end` has the addresses that are
/// read after all instructions. `is_stored` says whether a result has to be in memory, of an address and of whether no other
/// instruction writes there afterwards.
pub fn fates(
    instructions: &[Instruction],
    at_end: &[Address],
    is_stored: &dyn Fn(Address, bool) -> bool,
) -> Vec<([u32; 3], Fate)> {
    let end = instructions.len() as u32;
    let mut next: FxHashMap<Address, u32> = at_end.iter().map(|&address| (address, end)).collect();
    let mut written = FxHashSet::default();
    let mut all = vec![];
    for (i, own) in instructions.iter().enumerate().rev() {
        let is_last = written.insert(own.to);
        let next_of_result = next.remove(&own.to).unwrap_or(NEVER);
        let fate = Fate { next: next_of_result, is_stored: is_stored(own.to, is_last) };
        let operands = operands(own);
        let mut of_operands = [NEVER; 3];
        for (operand, of_operand) in operands.iter().zip(&mut of_operands) {
            *of_operand = next.get(&operand.address).copied().unwrap_or(NEVER);
        }
        next.extend(operands.iter().map(|operand| (operand.address, i as u32)));
        all.push((of_operands, fate));
    }
    all.reverse();
    all
}
