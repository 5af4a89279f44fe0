//! Few small matrices of a sequence.

use std::ops::Range;

use smallvec::SmallVec;

use super::batch::{Batch, Parts, Scalar};
use super::lu::{SINGULAR, det_one, invert_one, solve_one};
use super::small;
use super::triangular::{NOT_POSITIVE, Triangle, ZERO_ON_DIAGONAL, cholesky_one, solve_triangle};
use crate::array::Layout;
use crate::dtype::{DType, dispatch};
use crate::error::Result;
use crate::kernel::par::SendPtr;
use crate::kernel::sequence::{Kernel, Kind};
use crate::memory::NoMemory;

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
    let operands = ins.iter().map(|x| Kind::from(x.clone())).collect();
    Some(Box::new(Few { op, of, strict, dtype: *dtype, operands }))
}

impl Few {
    /// Writes the results. Returns the first matrix that has none.
    fn each<T: Scalar>(&self, ins: &[Batch<'_>], out: *mut u8) -> Result<Option<usize>, NoMemory> {
        let x = &ins[0];
        let each = match self.of {
            Matrices::Solve | Matrices::SolveTriangle(_) => ins[1].rows * ins[1].columns,
            Matrices::Inverse | Matrices::Cholesky => x.rows * x.rows,
            Matrices::Determinant => 1,
        };
        // SAFETY: there is room for the results, which nobody else uses.
        let out = unsafe { Parts::<T>::at(out, each) };
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

impl Kernel for Few {
    fn reach(&self, operand: usize) -> Range<isize> {
        self.operands[operand].bytes()
    }

    unsafe fn run(&self, ins: &[SendPtr], outs: &[SendPtr], _: *mut u8) -> Result<()> {
        let out = outs[0].get();
        fn batch<'a>(dtype: DType, kind: &'a Kind, x: &SendPtr) -> Batch<'a> {
            let Layout { dims, strides, .. } = kind.layout();
            Batch::at(SendPtr(x.get()), dtype, dims, strides.clone())
        }
        let pairs = self.operands.iter().zip(ins);
        let ins: SmallVec<[Batch<'_>; 2]> = pairs.map(|(kind, x)| batch(self.dtype, kind, x)).collect();
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
