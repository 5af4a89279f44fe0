//! Complex numbers and their real and imaginary parts.
//!
//! A rule is the plain transpose of its op for the pairing `Re(g t)` of a cotangent with a tangent, so no rule of a
//! complex function has a conjugate that its formula does not have. The engine conjugates where cotangents enter and
//! where gradients leave: users see PyTorch's convention.

use smallvec::smallvec;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
};
use crate::kernel::pointwise::{complex, unary};
use crate::ops::entry::op;
use crate::ops::linear::{Linear, LinearOp};
use crate::stored::Stored;

/// The complex numbers of two tensors of one float dtype, which broadcast.
#[derive(Stored)]
#[stored(op)]
struct FromParts;

impl Op for FromParts {
    fn name(&self) -> &'static str {
        "complex"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([complex::from_parts(ins[0], ins[1], batch_ndim)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, _) = ins.of_one_dtype::<2>()?;
        if dtype.is_float() { Some(smallvec![(dtype.complex(), ins.broadcast(0)?)]) } else { None }
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let re = s.needs(0).then(|| real(g)).transpose()?;
        Ok(smallvec![re, if s.needs(1) { Some(-imag(g)?) } else { None }])
    }

    fn jvp(&self, t: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        let zero = t.iter().flatten().next().map(|t| Tensor::scalar_of(t.dtype(), 0.0));
        let part = |i: usize| t[i].as_ref().or(zero.as_ref());
        let both = part(0).zip(part(1));
        Ok(smallvec![both.map(|(re, im)| from_parts(re, im)).transpose()?])
    }
}

/// The complex numbers of real and imaginary parts of one float dtype, which broadcast.
pub(in crate::ops) fn from_parts(re: &Tensor, im: &Tensor) -> Result<Tensor> {
    apply(FromParts, &[re, im])
}

/// `i` times a float tensor.
pub(in crate::ops) fn times_i(x: &Tensor) -> Result<Tensor> {
    from_parts(&Tensor::scalar_of(x.dtype(), 0.0), x)
}

/// Linear ops of one complex tensor: `Name: name, whether it is a view, x => array; dtype, dims => made; g => transpose;`. Of an
/// operand that the op takes, `made` is the dtype of the result, and its axes in two lists.
macro_rules! linear {
    ($($Name:ident: $name:literal, $view:literal, $x:ident => $array:expr;
        $d:ident, $dims:ident => $made:expr; $g:ident => $transpose:expr;)*) => { $(
        #[derive(Clone, Stored)]
        #[stored(in LinearOp)]
        struct $Name;
        impl Linear for $Name {
            const NAME: &'static str = $name;
            const IS_VIEW: bool = $view;
            fn array(&self, $x: &Array, _: usize) -> Result<Array> {
                $array
            }
            fn makes(&self, $x: &Operands<'_>) -> Option<Made> {
                let ($d, $dims) = $x.alike::<1>()?;
                let made: Option<(DType, &[usize], &[usize])> = $made;
                made.and_then(|(dtype, dims, last)| $x.make(&[(dtype, &[dims, last])]))
            }
            fn transpose(&self, $g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
                $transpose
            }
        }
    )* };
}
linear! {
    Real: "real", true, x => Ok(x.parts().0); d, dims => d.is_complex().then(|| (d.real(), dims, &[][..]));
        g => from_parts(g, &Tensor::scalar_of(g.dtype(), 0.0));
    Imag: "imag", true, x => Ok(x.parts().1); d, dims => d.is_complex().then(|| (d.real(), dims, &[][..]));
        g => times_i(&-g);
    Conj: "conj", false, x => unary::apply("conj", complex::CONJ, x);
        d, dims => d.is_complex().then_some((d, dims, &[][..])); g => conj(g);
    AsReal: "view_as_real", true, x => Ok(x.as_real()); d, dims => d.is_complex().then(|| (d.real(), dims, &[2][..]));
        g => conj(&view_as_complex(g)?);
    AsComplex: "view_as_complex", false, x => pairs(x);
        d, dims => dims.strip_suffix(&[2]).filter(|_| d.is_float()).map(|dims| (d.complex(), dims, &[][..]));
        g => view_as_real(&conj(g)?);
}

/// The complex numbers of the pairs on the last axis.
fn pairs(x: &Array) -> Result<Array> {
    let (dims, strides, last) = (x.dims(), x.strides(), x.rank() - 1);
    let part = |i: isize| x.restride(&dims[..last], &strides[..last], i * strides[last]);
    complex::from_parts(&part(0), &part(1), last)
}

/// The real part of each element; a real tensor itself.
///
/// ```python
/// >>> fg.real(fg.tensor([1 + 2j, 3])).tolist()
/// [1.0, 3.0]
/// ```
#[op(function, half, torch(GivesBack))]
pub fn real(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { apply(LinearOp(Real), &[x]) } else { Ok(x.clone()) }
}

/// The imaginary part of each element; zeros for a real tensor.
///
/// ```python
/// >>> fg.imag(fg.tensor([1 + 2j, 3])).tolist()
/// [2.0, 0.0]
/// ```
#[op(function)]
pub fn imag(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return apply(LinearOp(Imag), &[x]);
    }
    let zeros = Array::full_of(x.dtype(), x.array.dims(), 0.0);
    Ok(Tensor::made(zeros, None, x.levels.clone()))
}

/// The complex conjugate of each element; a real tensor itself.
///
/// ```python
/// >>> fg.conj(fg.tensor([1 + 2j])).tolist()
/// [(1-2j)]
/// ```
#[op(in_place, names("conj", "conjugate", "conj_physical"), half, torch(GivesBack = "conj_physical"))]
pub fn conj(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { apply(LinearOp(Conj), &[x]) } else { Ok(x.clone()) }
}

/// The tensor itself: a conjugate is computed where it is asked for, not kept for later.
///
/// ```python
/// >>> fg.resolve_conj(fg.tensor([1 + 2j])).tolist()
/// [(1+2j)]
/// ```
#[op(method, names("resolve_conj", "resolve_neg"), half, torch(GivesBack))]
pub fn resolve_conj(x: &Tensor) -> Result<Tensor> {
    Ok(x.clone())
}

/// Complex numbers as pairs of their real and imaginary parts along a new last axis. The result has memory of its own:
/// a write to it is not seen in x.
///
/// ```python
/// >>> fg.view_as_real(fg.tensor([1 + 2j])).tolist()
/// [[1.0, 2.0]]
/// ```
#[op(method, names("view_as_real", "as_real"))]
pub fn view_as_real(x: &Tensor) -> Result<Tensor> {
    if !x.dtype().is_complex() {
        bail!(Dtype, "view_as_real", "not defined for {}, which is real already", x.dtype());
    }
    apply(LinearOp(AsReal), &[x])
}

/// The pairs on the last axis, which has size 2, as complex numbers. The result has memory of its own.
///
/// ```python
/// >>> fg.view_as_complex(fg.tensor([[1.0, 2.0]])).tolist()
/// [(1+2j)]
/// ```
#[op(method, names("view_as_complex", "as_complex"))]
pub fn view_as_complex(x: &Tensor) -> Result<Tensor> {
    if !x.dtype().is_float() {
        bail!(Dtype, "view_as_complex", "pairs of floats are wanted, not of {}", x.dtype());
    }
    if x.dims().last() != Some(&2) {
        bail!(Shape, "view_as_complex", "the last axis of {:?} does not have size 2", x.dims());
    }
    apply(LinearOp(AsComplex), &[x])
}
