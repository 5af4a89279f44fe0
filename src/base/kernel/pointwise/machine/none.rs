//! No machine code, for processors that it is not written for.

use std::convert::Infallible;

use crate::kernel::pointwise::formula::Float;
use crate::kernel::pointwise::row::{Address, Instruction};

pub struct CodeOfNumbers(Infallible);

impl CodeOfNumbers {
    /// # Safety
    /// Everything is.
    pub unsafe fn new(
        _: &[Instruction],
        _: Address,
        _: bool,
        _: &dyn Fn(Address) -> bool,
    ) -> Option<CodeOfNumbers> {
        None
    }

    /// # Safety
    /// There is no code that could run.
    pub unsafe fn run(&self, _: usize, _: *mut u8) {
        match self.0 {}
    }
}

pub fn of_tile(_: &Instruction) -> Option<Float> {
    None
}

pub struct CodeOfTiles(Infallible);

impl CodeOfTiles {
    pub fn new(_: &[&[Instruction]], _: &dyn Fn(usize, Address) -> bool) -> Option<CodeOfTiles> {
        None
    }

    pub fn used(&self) -> std::iter::Empty<Address> {
        match self.0 {}
    }

    /// # Safety
    /// There is no code that could run.
    pub unsafe fn run(&self, _: usize, _: usize, _: *const *mut u8) {
        match self.0 {}
    }
}

/// There is nothing to hold while the process forks.
#[doc(hidden)]
pub fn hold() -> Option<Box<dyn std::any::Any>> {
    Some(Box::new(()))
}
