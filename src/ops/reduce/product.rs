//! The product over axes. Its derivative is the product of the other elements. It needs no division, so
//! derivatives of any order are exact at zeros.

use smallvec::smallvec;

use super::fold::{Folded, in_bool, wide};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Kernel, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor,
    Unrecorded, apply, only, unrecorded,
};
use crate::kernel::reduce::{self, ReduceLoops, reduce_loops, scan};
use crate::ops::entry::{Axes, op};
use crate::ops::integers::in_floats;
use crate::ops::movement::cast;
use crate::ops::scan::before;
use crate::stored::Stored;

const PROD: &ReduceLoops = reduce_loops!(field T::ONE; a, x => a.mul(x));

#[derive(Stored)]
#[stored(op)]
struct Prod(Folded);

impl Op for Prod {
    fn name(&self) -> &'static str {
        "prod"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([self.0.fold(ins[0], |axes| reduce::apply("prod", PROD, ins[0], axes))?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        self.0.makes(ins, PROD.makes(*ins.dtypes.first()?))
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        Ok(smallvec![Some(self.0.unfold(g, s.dims(0))? * others(&s.input(0), &self.0)?)])
    }

    fn vjp_of_integers(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        in_floats(self, g, s)
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let t = only(t);
        Ok(smallvec![Some(self.0.sum(&(t * others(&s.input(0), &self.0)?))?)])
    }
}

/// For each element, the product of all others on an axis, which is counted from the end.
#[derive(Stored)]
#[stored(in Unrecorded)]
struct Others {
    back: usize,
}

impl Kernel for Others {
    fn name(&self) -> &'static str {
        "prod"
    }

    fn compute(&self, ins: &[&Array], _: usize) -> Result<Array> {
        scan::product_of_others("prod", ins[0], ins[0].rank() - self.back)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        if self.back > 0 { ins.like::<1>(self.back, DType::is_differentiable) } else { None }
    }
}

/// For each element, the product of all others on the reduced axes.
fn others(x: &Tensor, folded: &Folded) -> Result<Tensor> {
    if let [back] = folded.back[..] {
        if let Some(others) = unrecorded(Others { back }, &[x]) {
            return others;
        }
        return Ok(before(x, back, false)? * before(x, back, true)?);
    }
    let rows = folded.rows(x)?;
    folded.unrows(&(before(&rows, 1, false)? * before(&rows, 1, true)?), x.dims())
}

/// The product over axes (all by default); 1 of none. Truth values and integers are multiplied in 64 bits.
/// The gradient is the product of the other elements, exact with zeros.
///
/// ```python
/// >>> fg.prod(fg.tensor([2., 3., 4.])).item()
/// 24.0
/// ```
#[op(rust)]
pub fn prod(x: &Tensor, axis: Axes<'_>, keepdims: bool, dtype: Option<DType>) -> Result<Tensor> {
    if dtype == Some(DType::Bool) {
        return in_bool(x, |x| prod(x, axis, keepdims, None));
    }
    let folded = Folded::new("prod", axis, keepdims, x.rank())?;
    apply(Prod(folded), &[&cast(x, wide(dtype, x.dtype()))?])
}
