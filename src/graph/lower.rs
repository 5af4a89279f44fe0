//! What an op computes, in a form in which a program can compute it without calling `forward`.

use crate::array::Layout;
use crate::dtype::DType;
use crate::kernel::copy::IndexMap;
use crate::kernel::pointwise::row::Row;
use crate::kernel::reduce::ReduceLoops;
use crate::kernel::sequence::Kernel;
use crate::kernel::softmax;
use crate::shape::Dims;

/// What the loops of an op depend on.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Operands<'a> {
    /// By input.
    pub dtypes: &'a [DType],
    /// By input: its shape, which begins with the hidden axes.
    pub dims: &'a [&'a [usize]],
    pub batch_ndim: usize,
}

/// What an op computes as its one output. The results have the bits of those of `forward`.
#[doc(hidden)]
pub enum Loops {
    /// A loop over the elements at the same place of the inputs, broadcast against each other.
    Pointwise(Row),
    /// These axes of the one input, in ascending order, are folded. The result has this shape.
    Fold(&'static ReduceLoops, Dims, Dims),
    /// Each element is an element of an input, or zero.
    Moves(IndexMap),
    /// The product of the matrices in the last two axes of the two inputs.
    Product,
    /// The inner products of the rows of the two inputs, which have one shape.
    Dot,
    /// A formula of the rows of the inputs.
    Rows(softmax::Formula),
    /// Loops of its own, which are made for operands of certain dtypes and layouts, and give the result in C order.
    Kernel(Template),
}

/// Makes a kernel. None: there is none for these operands.
#[doc(hidden)]
pub type Template = Box<dyn Fn(&[(DType, Layout)]) -> Option<Box<dyn Kernel>>>;

impl Loops {
    /// Whether a program can believe that this is the result. A kernel tells that when it is made, and what is computed of operands
    /// of other dtypes than those of the loops is an op to the program.
    pub fn can_make(&self, ins: &Operands<'_>, dtype: DType, dims: &[usize]) -> bool {
        match self {
            Loops::Kernel(_) => true,
            Loops::Pointwise(row) if !row.takes(ins.dtypes.iter().copied()) => true,
            Loops::Fold(..) if ins.dtypes.iter().any(|d| d.is_half()) => true,
            _ => self.makes(ins).is_some_and(|made| made[0].0 == dtype && made[0].1[..] == *dims),
        }
    }
}
