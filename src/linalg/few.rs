//! Few small matrices of a sequence.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::batch::{Batch, Parts, Scalar};
use super::lu::{SINGULAR, det_one, invert_one, solve_one};
use super::small;
use super::triangular::{NOT_POSITIVE, Triangle, ZERO_ON_DIAGONAL, cholesky_one, solve_triangle};
use crate::array::Layout;
use crate::dtype::{DType, dispatch};
use crate::error::Result;
use crate::kernel::par::SendPtr;
use crate::kernel::sequence::{Kernel, Kind, Writes};
use crate::memory::NoMemory;
use crate::shape;

/// What is computed of matrices.
#[derive(Clone, Copy)]
pub enum Matrices {
    /// The solutions of equations, whose right sides are a second operand.
    Solve,
    SolveTriangle(Triangle),
    Inverse,
    Determinant,
    Cholesky,
}

struct Few {
    op: &'static str,
    of: Matrices,
    /// Whether a matrix for which there is no result is an error, instead of having NaN.
    strict: bool,
    dtype: DType,
    operands: Vec<Kind>,
    /// The number of elements of all results, and of one.
    len: usize,
    each: usize,
}

/// The kernel for few small matrices of floats, whose leading axes are the same in both operands. None if the operands are
/// others.
pub fn kernel(
    op: &'static str,
    of: Matrices,
    strict: bool,
    ins: &[(DType, Layout)],
) -> Option<Box<dyn Kernel>> {
    let (dtype, first) = ins.first()?;
    let (lead, own) = first.dims.split_at_checked(first.dims.len().checked_sub(2)?)?;
    let is_small = |x: &(DType, Layout)| {
        let (others, own) = x.1.dims.split_at(x.1.dims.len().min(lead.len()));
        x.0 == *dtype && others == lead && own.len() == 2 && own.iter().all(|n| (1..=small::SIZE).contains(n))
    };
    let is_few = lead.iter().product::<usize>() < small::COUNT && own[0] == own[1];
    let is_float = matches!(dtype, DType::F32 | DType::F64);
    if !is_float || !is_few || !ins.iter().all(is_small) {
        return None;
    }
    let columns = match of {
        Matrices::Solve | Matrices::SolveTriangle(_) => {
            let [_, (_, b)] = ins else { return None };
            let (rows, columns) = (b.dims[lead.len()], b.dims[lead.len() + 1]);
            if rows != own[0] {
                return None;
            }
            columns
        }
        _ if ins.len() != 1 => return None,
        Matrices::Inverse | Matrices::Cholesky => own[0],
        Matrices::Determinant => 1,
    };
    let each = if matches!(of, Matrices::Determinant) { 1 } else { own[0] * columns };
    let len = shape::len(lead) * each;
    let operands = ins.iter().map(|x| Kind::from(x.clone())).collect();
    Some(Box::new(Few { op, of, strict, dtype: *dtype, operands, len, each }))
}

impl Few {
    /// Writes the results. Returns the first matrix that has none.
    fn each<T: Scalar>(&self, ins: &[Batch<'_>], out: *mut u8) -> Result<Option<usize>, NoMemory> {
        let x = &ins[0];
        // SAFETY: there is room for the results that `writes` says, which nobody else uses.
        let out = unsafe { Parts::<T>::at(out, x.count(), self.each) };
        let mut failed = None;
        for i in 0..x.count() {
            let is_done = match self.of {
                Matrices::Solve => solve_one(x, &ins[1], i, &out),
                Matrices::SolveTriangle(triangle) => solve_triangle(triangle, x, &ins[1], i, &out),
                Matrices::Inverse => invert_one(x, i, &out),
                Matrices::Determinant => det_one(x, i, &out),
                Matrices::Cholesky => cholesky_one(x, i, &out),
            }?;
            failed = failed.or((!is_done).then_some(i));
        }
        Ok(failed)
    }
}

// SAFETY: the batches of `run` have the layouts of which `reach` says the bytes, and `Parts` has room for the results that `writes` says.
unsafe impl Kernel for Few {
    fn reach(&self, operand: usize) -> Range<isize> {
        self.operands[operand].bytes()
    }

    fn writes(&self) -> Writes {
        smallvec![(self.dtype, self.len)]
    }

    unsafe fn run(&self, ins: &[SendPtr], outs: &[SendPtr], _: *mut u8) -> Result<()> {
        let out = outs[0].get();
        let mut batches: SmallVec<[Batch<'_>; 2]> = SmallVec::new();
        for (kind, x) in self.operands.iter().zip(ins) {
            let Layout { dims, strides, .. } = kind.layout();
            // SAFETY: `kernel` asked for operands of this dtype, and each has the bytes of its layout.
            batches.push(unsafe { Batch::at(SendPtr(x.get()), self.dtype, dims, strides.clone()) });
        }
        let ins = batches;
        let failed = dispatch!(self.dtype, float T => self.each::<T>(&ins, out), else unreachable!("floats"));
        let what = match self.of {
            Matrices::SolveTriangle(_) => ZERO_ON_DIAGONAL,
            Matrices::Cholesky => NOT_POSITIVE,
            _ => SINGULAR,
        };
        let failed = failed.map_err(|NoMemory| ins[0].no_memory(self.op))?;
        ins[0].blame(self.op, failed.filter(|_| self.strict), what)
    }
}
