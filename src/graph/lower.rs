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
    /// These axes of the one input, in ascending order, are folded.
    Fold(&'static ReduceLoops, Dims),
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
    /// Whether the result can have this dtype and shape. Those of a kernel are known when it is made.
    pub fn can_make(&self, ins: &Operands<'_>, dtype: DType, dims: &[usize]) -> bool {
        let Operands { dtypes, dims: of, batch_ndim } = *ins;
        let is_of_one = dtypes.iter().all(|&d| d == dtype);
        match self {
            // Operands of other dtypes are cast, by `forward`.
            Loops::Pointwise(row) => {
                !row.takes(dtypes.iter().copied()) || row.out == dtype && are_broadcast(of, batch_ndim, dims)
            }
            Loops::Fold(table, axes) => {
                let kept = of[0].iter().enumerate().filter(|(a, _)| !axes.contains(a)).map(|(_, d)| d);
                let is_long = |d: &&usize| **d != 1;
                table.out.unwrap_or(dtypes[0]) == dtype
                    && kept.filter(is_long).eq(dims.iter().filter(is_long))
            }
            Loops::Kernel(_) => true,
            _ if !is_of_one => false,
            Loops::Moves(map) => map.dims[..] == *dims,
            Loops::Product => match (of, dims) {
                (&[&[ref x @ .., m, k], &[ref y @ .., rows, n]], &[ref lead @ .., down, across]) => {
                    (m, k, n) == (down, rows, across) && are_broadcast(&[x, y], batch_ndim, lead)
                }
                _ => false,
            },
            Loops::Dot => match of {
                &[&[ref x @ .., n], &[ref y @ .., same]] => {
                    n == same && are_broadcast(&[x, y], batch_ndim, dims)
                }
                _ => false,
            },
            Loops::Rows(softmax::Formula::LogSumExp) => match (of, dims) {
                (&[&[ref x @ .., _]], &[ref lead @ .., 1]) => x == lead,
                _ => false,
            },
            Loops::Rows(_) => are_broadcast(of, batch_ndim, dims),
        }
    }
}

/// Whether arrays of these shapes are broadcast to this one, the first `batch_ndim` axes matched from the left.
fn are_broadcast(of: &[&[usize]], batch_ndim: usize, dims: &[usize]) -> bool {
    let layouts =
        of.iter().map(|x| Layout::contiguous(x).broadcast(dims, batch_ndim)).collect::<Option<Vec<_>>>();
    layouts.is_some_and(|all| {
        let has = |a: usize| all.iter().any(|x| x.strides[a] != 0);
        dims.iter().enumerate().all(|(a, &d)| d < 2 || dims.contains(&0) || has(a))
    })
}
