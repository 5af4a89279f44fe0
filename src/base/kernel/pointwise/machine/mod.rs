//! Machine code for formulas. A list of instructions becomes one function, in which what an instruction writes stays in a
//! register of the processor as long as others read it, instead of a loop for each instruction. There is machine code for
//! x86-64 processors with AVX2, where the system gives memory for it.

#[cfg(target_arch = "x86_64")]
mod assembler;
#[cfg(target_arch = "x86_64")]
mod code;
#[cfg(not(target_arch = "x86_64"))]
#[path = "none.rs"]
mod code;
#[cfg(target_arch = "x86_64")]
mod fates;
#[cfg(target_arch = "x86_64")]
mod functions;
// Miri runs no machine code.
#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use code::{CodeOfNumbers, CodeOfTiles, hold, is_for_this_processor, of_tile};
