//! Functions that make complex numbers and ask about them.

use super::arithmetic::{atan2_same, multiply_same};
use super::compare::{equal_same, not_equal_same};
use super::elementary::{cos, sin};
use super::polar;
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::entry::{Operand, op};
use crate::ops::movement::imag;
use crate::ops::movement::parts::from_parts;
use crate::ops::promote::{Class, promoted, promoted_float};

/// Two float operands of one dtype.
fn floats(op: &'static str, x: Operand<'_>, y: Operand<'_>) -> Result<[Tensor; 2]> {
    let (x, y) = promoted(Class::Real, x, y)?;
    if x.dtype().is_complex() {
        bail!(Dtype, op, "its parts are real, and not {}", x.dtype());
    }
    Ok([x.into_owned(), y.into_owned()])
}

/// Complex numbers of real and imaginary parts, which broadcast. Integers are taken as the default float.
///
/// ```python
/// >>> fg.complex(fg.tensor([1.0, 2.0]), 3.0).tolist()
/// [(1+3j), (2+3j)]
/// ```
#[op(function, torch(LaidByElements))]
pub fn complex(real: Operand<'_>, imag: Operand<'_>) -> Result<Tensor> {
    let [re, im] = floats("complex", real, imag)?;
    from_parts(&re, &im)
}

/// Complex numbers of absolute values and angles, which broadcast.
///
/// ```python
/// >>> fg.polar(fg.tensor([2.0]), 0.0).tolist()
/// [(2+0j)]
/// ```
#[op(function, torch(LaidByElements))]
pub fn polar(abs: Operand<'_>, angle: Operand<'_>) -> Result<Tensor> {
    let [r, angle] = floats("polar", abs, angle)?;
    from_parts(&multiply_same(&r, &cos(&angle)?)?, &multiply_same(&r, &sin(&angle)?)?)
}

/// The angle of each element in the complex plane, from -pi to pi: of a real one 0, or pi where it is negative. Its
/// derivative at 0 is 0. Integers are taken as the default float.
///
/// ```python
/// >>> fg.angle(fg.tensor([1.0, 2j])).tolist()
/// [0.0, 1.5707963705062866]
/// ```
#[op(in_place)]
pub fn angle(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return polar::angle(x);
    }
    let x = promoted_float(x)?;
    atan2_same(&Tensor::scalar_of(x.dtype(), 0.0), &x)
}

/// Whether the imaginary part of each element is 0.
///
/// ```python
/// >>> fg.isreal(fg.tensor([1, 2j])).tolist()
/// [True, False]
/// ```
#[op(method, torch(LaidByElements))]
pub fn isreal(x: &Tensor) -> Result<Tensor> {
    let x = imag(&x.detach())?;
    equal_same(&x, &Tensor::scalar_of(x.dtype(), 0.0))
}

/// Whether the imaginary part of each element is not 0.
///
/// ```python
/// >>> fg.iscomplex(fg.tensor([1, 2j])).tolist()
/// [False, True]
/// ```
#[op(method, torch(LaidByElements))]
pub fn iscomplex(x: &Tensor) -> Result<Tensor> {
    let x = imag(&x.detach())?;
    not_equal_same(&x, &Tensor::scalar_of(x.dtype(), 0.0))
}

/// Whether the dtype is complex, as a Python bool.
///
/// ```python
/// >>> fg.is_complex(fg.tensor([1, 2j]))
/// True
/// ```
#[op(method, names("is_complex", "iscomplexobj"))]
pub fn is_complex(x: &Tensor) -> Result<bool> {
    Ok(x.dtype().is_complex())
}
