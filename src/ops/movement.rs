//! Elements moved, repeated or given another type; nothing is computed.

use smallvec::{SmallVec, smallvec};

use super::entry::entries;
use super::reduce::sum_to;
use crate::array::Array;
use crate::dtype::{DType, Element, dispatch};
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, Keeps, Needs, Op, Outs, Saved, Tangents, Tensor, apply};
use crate::shape::{self, Dims};

/// A linear op on one tensor that keeps nothing: the array, and its transpose applied to a cotangent. The tangent is
/// the op itself applied to the input's tangent.
pub(super) trait Linear: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    fn array(&self, x: &Array, lanes: usize) -> Result<Array>;
    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor>;
}

pub(super) struct Lin<L>(pub L);

impl<L: Linear> Op for Lin<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outs> {
        Ok(smallvec![self.0.array(ins[0], lanes)?])
    }

    fn keeps(&self, _: Needs) -> Keeps {
        Keeps::NOTHING
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![g[0].as_ref().map(|g| self.0.transpose(g, s)).transpose()?])
    }

    fn jvp(&self, t: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![t[0].as_ref().map(|t| apply(Lin(self.0.clone()), &[t])).transpose()?])
    }
}

/// The hidden axes of `x` followed by `dims`.
fn with_hidden(x: &Array, lanes: usize, dims: &[usize]) -> Dims {
    x.dims()[..lanes].iter().chain(dims).copied().collect()
}

#[derive(Clone)]
struct Cast(DType);

impl Linear for Cast {
    const NAME: &'static str = "cast";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        let x = x.contiguous()?;
        dispatch!(x.dtype(), all A => {
            let from = x.as_slice::<A>().expect("contiguous");
            dispatch!(self.0, all B => {
                Array::build::<B>("cast", x.dims(), |out| {
                    for (o, &v) in out.iter_mut().zip(from) {
                        *o = if A::DTYPE.is_float() || B::DTYPE.is_float() { B::from_f64(v.to_f64()) } else { B::from_i64(v.to_i64()) };
                    }
                })
            })
        })
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        cast(g, s.dtype(0))
    }
}

/// The elements converted to another dtype. A float becomes an integer by cutting off its fraction.
pub fn cast(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype { Ok(x.clone()) } else { apply(Lin(Cast(dtype)), &[x]) }
}

#[derive(Clone)]
struct Reshape(Dims);

impl Linear for Reshape {
    const NAME: &'static str = "reshape";

    fn array(&self, x: &Array, lanes: usize) -> Result<Array> {
        x.reshape(&with_hidden(x, lanes, &self.0))
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        reshape_to(g, s.dims(0))
    }
}

/// The elements in C order under another shape with as many elements.
pub fn reshape_to(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    if x.dims() == dims {
        return Ok(x.clone());
    }
    if shape::checked_len(dims) != Some(shape::len(x.dims())) {
        bail!(
            Shape,
            "reshape",
            "{:?} has {} elements, which do not fill {dims:?}",
            x.dims(),
            shape::len(x.dims())
        );
    }
    apply(Lin(Reshape(Dims::from_slice(dims))), &[x])
}

/// The same in Python's spelling: one size may be -1 and is then what the others leave.
pub fn reshape(x: &Tensor, shape: &[i64]) -> Result<Tensor> {
    let n = shape::len(x.dims());
    let known =
        shape.iter().filter(|&&d| d != -1).try_fold(1usize, |p, &d| p.checked_mul(usize::try_from(d).ok()?));
    let Some(known) = known else { bail!(Shape, "reshape", "{shape:?} is not a shape") };
    let free = shape.iter().filter(|&&d| d == -1).count();
    if free > 1 {
        bail!(Shape, "reshape", "{shape:?} leaves more than one size open");
    }
    if free == 1 && (known == 0 || !n.is_multiple_of(known)) {
        bail!(Shape, "reshape", "{n} elements of {:?} do not divide into {shape:?}", x.dims());
    }
    let dims: Dims = shape.iter().map(|&d| if d == -1 { n / known } else { d as usize }).collect();
    reshape_to(x, &dims)
}

#[derive(Clone)]
struct Expand(Dims);

impl Linear for Expand {
    const NAME: &'static str = "expand";

    fn array(&self, x: &Array, lanes: usize) -> Result<Array> {
        Ok(x.expand(&with_hidden(x, lanes, &self.0), lanes))
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        sum_to(g, s.dims(0))
    }
}

/// The tensor repeated, without a copy, to a shape that it broadcasts to.
pub fn broadcast_to(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    if x.dims() == dims {
        return Ok(x.clone());
    }
    if shape::broadcast("broadcast_to", x.dims(), dims)?.as_slice() != dims {
        bail!(Shape, "broadcast_to", "{:?} does not broadcast to {dims:?}", x.dims());
    }
    apply(Lin(Expand(Dims::from_slice(dims))), &[x])
}

/// An order of the last axes, each counted from the end: hidden axes before them stay where they are.
#[derive(Clone)]
struct Permute(SmallVec<[usize; 4]>);

impl Linear for Permute {
    const NAME: &'static str = "transpose";

    fn array(&self, x: &Array, lanes: usize) -> Result<Array> {
        let order: Dims = (0..lanes).chain(self.0.iter().map(|&a| a + lanes)).collect();
        Ok(x.permute(&order))
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        let mut inverse = self.0.clone();
        for (i, &a) in self.0.iter().enumerate() {
            inverse[a] = i;
        }
        apply(Lin(Permute(inverse)), &[g])
    }
}

/// The axes in another order.
pub fn permute_dims(x: &Tensor, axes: &[i64]) -> Result<Tensor> {
    let order = axes
        .iter()
        .map(|&a| shape::axis("permute_dims", a, x.rank()))
        .collect::<Result<SmallVec<[usize; 4]>>>()?;
    if shape::axes("permute_dims", axes, x.rank())?.len() != x.rank() {
        bail!(Argument, "permute_dims", "{axes:?} does not name each of the {} axes once", x.rank());
    }
    if order.iter().enumerate().all(|(i, &a)| i == a) {
        return Ok(x.clone());
    }
    apply(Lin(Permute(order)), &[x])
}

/// The last two axes swapped.
pub fn matrix_transpose(x: &Tensor) -> Result<Tensor> {
    let n = x.rank();
    if n < 2 {
        bail!(Shape, "matrix_transpose", "a matrix has two axes, {:?} has {n}", x.dims());
    }
    let order = (0..n - 2).chain([n - 1, n - 2]).collect();
    apply(Lin(Permute(order)), &[x])
}

entries! {
    method cast | astype (x: &Tensor, dtype: DType) "The elements converted to another dtype.";
    method reshape (x: &Tensor, shape: &[i64]) "The elements in C order under another shape; one size may be -1.";
    method permute_dims (x: &Tensor, axes: &[i64]) "The axes in another order.";
    method matrix_transpose (x: &Tensor) "The last two axes swapped.";
}
