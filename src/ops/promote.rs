//! Type promotion: the dtype that an op computes in, and the conversion of its operands.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

use super::entry::Operand;
use crate::array::{Array, Item, trace_number};
use crate::dtype::{DType, DTypeKind, Element, dispatch};
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::movement::cast;

/// The dtypes that a row computes in: any, floats and complex numbers, or floats only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) enum Class {
    Num,
    Real,
    Float,
}

impl Class {
    /// Whether the row computes in this dtype.
    #[inline(always)]
    fn has(self, dtype: DType) -> bool {
        match self {
            Class::Num => true,
            Class::Real => dtype.is_differentiable(),
            Class::Float => dtype.is_float(),
        }
    }
}

/// Both operands as tensors of the result's dtype: the promoted dtype of tensors, raised in kind (never in
/// width) by a weak number, and the default float where the op computes in floats only.
#[inline(always)]
pub(in crate::ops) fn promoted<'a>(class: Class, x: Operand<'a>, y: Operand<'a>) -> Result<Pair<'a>> {
    if let Some((x, y)) = alike(class, x, y) {
        return Ok((Cow::Borrowed(x), Cow::Borrowed(y)));
    }
    converted(class, x, y)
}

pub(in crate::ops) type Pair<'a> = (Cow<'a, Tensor>, Cow<'a, Tensor>);

/// [`promoted`] where the operands are tensors of one dtype that needs no conversion.
#[inline(always)]
pub(in crate::ops) fn alike<'a>(
    class: Class,
    x: Operand<'a>,
    y: Operand<'a>,
) -> Option<(&'a Tensor, &'a Tensor)> {
    match (x, y) {
        (Operand::Tensor(x), Operand::Tensor(y)) if x.dtype() == y.dtype() && class.has(x.dtype()) => {
            Some((x, y))
        }
        _ => None,
    }
}

/// [`promoted`] where a conversion is needed.
#[inline(never)]
pub(in crate::ops) fn converted<'a>(class: Class, x: Operand<'a>, y: Operand<'a>) -> Result<Pair<'a>> {
    let dtype = match common(x, y) {
        d if class == Class::Float && d.is_complex() => bail!(Dtype, "operand", "not defined for {d}"),
        d if class != Class::Num && !d.is_differentiable() => default_float(),
        d => d,
    };
    Ok((as_tensor(x, dtype)?, as_tensor(y, dtype)?))
}

/// The dtype of two operands.
pub(in crate::ops) fn common(x: Operand<'_>, y: Operand<'_>) -> DType {
    match (x, y) {
        (Operand::Tensor(x), Operand::Tensor(y)) => x.dtype().promote(y.dtype()),
        (Operand::Tensor(t), Operand::Number(n)) | (Operand::Number(n), Operand::Tensor(t)) => {
            raised(t.dtype(), n)
        }
        (Operand::Number(a), Operand::Number(b)) => raised(raised(DType::Bool, a), b),
    }
}

/// A 0-d tensor in the dtype of an operand that has axes, or in its complex one, so that it acts like a number. Only
/// beside floats and complex numbers, where no digits before the point get lost.
pub fn weak_beside<'a>(x: &'a Tensor, other: &Tensor) -> Result<Cow<'a, Tensor>> {
    let own = x.dtype();
    let dtype = if own.is_complex() { other.dtype().complex() } else { other.dtype() };
    let acts = x.rank() == 0 && other.rank() > 0 && other.dtype().is_differentiable();
    if acts && own != dtype { cast(x, dtype).map(Cow::Owned) } else { Ok(Cow::Borrowed(x)) }
}

/// The dtype, raised in kind if the number has a stronger one.
pub fn raised(dtype: DType, by: Item) -> DType {
    match (dtype.kind(), by) {
        (DTypeKind::Bool, Item::Int(_)) => DType::I64,
        (DTypeKind::Bool | DTypeKind::Int, Item::Float(_)) => default_float(),
        (DTypeKind::Bool | DTypeKind::Int, Item::Complex(_)) => default_float().complex(),
        (DTypeKind::Float, Item::Complex(_)) => dtype.complex(),
        _ => dtype,
    }
}

/// An operand as a tensor of a dtype. A Python number that an integer dtype cannot hold is refused, not wrapped around.
pub(in crate::ops) fn as_tensor(x: Operand<'_>, dtype: DType) -> Result<Cow<'_, Tensor>> {
    Ok(match x {
        Operand::Tensor(t) if t.dtype() == dtype => Cow::Borrowed(t),
        Operand::Tensor(t) => Cow::Owned(cast(t, dtype)?),
        Operand::Number(n) => {
            check_fits("operand", dtype, n)?;
            Cow::Owned(match (n, n.to_f64()) {
                // `from_i64` takes a large uint64 modulo 2^64.
                (Item::Int(i), _) if dtype.kind() == DTypeKind::Int => {
                    Tensor::constant(dispatch!(dtype, all T => Array::scalar(T::from_i64(i as i64))))
                }
                (_, Some(v)) => Tensor::constant(scalar(dtype, v)),
                (_, None) => cast(&Tensor::constant(Array::scalar(n.to_complex())), dtype)?,
            })
        }
    })
}

/// A number as an array. The last one is cached, since a loop often uses the same number again.
fn scalar(dtype: DType, value: f64) -> Array {
    thread_local! {
        static LAST: RefCell<Option<(f64, Array)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| {
        let same = |(v, array): &&(f64, Array)| {
            v.to_bits() == value.to_bits()
                && array.dtype() == dtype
                && array.trace() == trace_number::current()
        };
        if let Some((_, array)) = last.as_ref().filter(same) {
            return array.clone();
        }
        let array = Array::full_of(dtype, &[], value);
        *last = Some((value, array.clone()));
        array
    })
}

/// The smallest and the largest number of an integer dtype.
pub fn range(dtype: DType) -> (i128, i128) {
    dispatch!(dtype, int T => (i128::from(T::MIN), i128::from(T::MAX)), else (0, 1))
}

/// Checks that a dtype can hold a number of Python's: an integer dtype holds those in its range, but no NaN or infinity.
///
/// # Errors
/// [`crate::Error::Argument`].
pub fn check_fits(op: &'static str, dtype: DType, n: Item) -> Result<()> {
    if dtype.kind() != DTypeKind::Int {
        return Ok(());
    }
    match n {
        Item::Int(i) if !holds(dtype, i) => bail!(Argument, op, "the number {i} does not fit into {dtype}"),
        Item::Float(f) if !f.is_finite() || !holds(dtype, f as i128) => {
            bail!(Argument, op, "the number {f} does not fit into {dtype}")
        }
        _ => Ok(()),
    }
}

/// Whether an integer dtype can hold a number.
pub(in crate::ops) fn holds(dtype: DType, i: i128) -> bool {
    let (low, high) = range(dtype);
    (low..=high).contains(&i)
}

/// The tensor itself if it is a float, else in the default float. Refuses complex numbers.
pub(in crate::ops) fn promoted_float(x: &Tensor) -> Result<Cow<'_, Tensor>> {
    if x.dtype().is_complex() {
        bail!(Dtype, "operand", "not defined for {}", x.dtype());
    }
    promoted_inexact(x)
}

/// The tensor itself if it is a float or complex, else in the default float.
pub(in crate::ops) fn promoted_inexact(x: &Tensor) -> Result<Cow<'_, Tensor>> {
    if x.dtype().is_differentiable() {
        return Ok(Cow::Borrowed(x));
    }
    Ok(Cow::Owned(cast(x, default_float())?))
}

static DEFAULT_FLOAT: AtomicU8 = AtomicU8::new(DType::F32 as u8);

/// The dtype of Python floats and of float functions of integers.
#[inline]
pub fn default_float() -> DType {
    DType::ALL[usize::from(DEFAULT_FLOAT.load(Relaxed))]
}

/// Sets [`default_float`].
///
/// # Errors
/// For a dtype that is no float.
pub fn set_default_float(dtype: DType) -> Result<()> {
    if !dtype.is_float() {
        bail!(Dtype, "set_default_dtype", "the default is a floating dtype, not {dtype}");
    }
    DEFAULT_FLOAT.store(dtype as u8, Relaxed);
    Ok(())
}
