//! Machine code for formulas. A list of instructions becomes one function, in which what an instruction writes stays in a
//! register of the processor as long as others read it, instead of a loop for each instruction. There is machine code for
//! x86-64 processors with AVX2 and for 64-bit ARM, where the system gives memory for it.
//!
//! Tests look at the code for ARM on all processors.

#[cfg(any(test, target_arch = "aarch64"))]
mod arm;
#[cfg(any(test, target_arch = "x86_64", target_arch = "aarch64"))]
mod assembler;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod code;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "none.rs"]
mod code;
// Miri runs no machine code.
#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod disassembled;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod executable;
#[cfg(any(test, target_arch = "x86_64", target_arch = "aarch64"))]
mod fates;
#[cfg(any(test, target_arch = "x86_64", target_arch = "aarch64"))]
mod functions;
#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use code::{CodeOfNumbers, CodeOfTiles, hold, of_tile};
