//! The op that puts columns into an array again.

use smallvec::smallvec;

use crate::array::{Array, Layout};
use crate::error::Result;
use crate::graph::{Cotangents, Grads, Loops, NeedsGrad, Op, Operands, Outputs, Saved, Saves};
use crate::kernel::copy::{IndexMap, Part, assemble};
use crate::shape::{self, Dims};

/// An array of columns. One that is a single number has that everywhere.
pub(super) struct Joined {
    pub name: &'static str,
    pub dims: Dims,
}

impl Joined {
    /// Where a column lies.
    fn place(&self, column: usize) -> Layout {
        let columns = shape::len(&self.dims[1..]) as isize;
        Layout { dims: smallvec![self.dims[0]], strides: smallvec![columns], offset: column as isize }
    }
}

impl Op for Joined {
    fn name(&self) -> &'static str {
        self.name
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let n = self.dims[0];
        let parts: Vec<_> = ins.iter().enumerate().map(|(c, x)| (self.place(c), x.expand(&[n], 0))).collect();
        Ok([assemble(self.name, ins[0].dtype(), &self.dims, &parts, None)?].into())
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        let part = |(operand, x): (usize, &&[usize])| {
            let from = Layout::contiguous(x).broadcast(&self.dims[..1], 0)?;
            Some(Part { operand, from, to: self.place(operand) })
        };
        let parts = ins.dims.iter().enumerate().map(part).collect::<Option<_>>()?;
        Some(Loops::Moves(IndexMap { dims: self.dims.clone(), parts }))
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no node")
    }
}
