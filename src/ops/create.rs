//! Functions that create tensors, and the default float dtype.

use super::copy::copy;
use super::entry::{Operand, Value, op};
use super::promote::{as_tensor, default_float, holds, raised, set_default_float};
use super::sizes::sizes;
use crate::array::{Array, Item, Layout};
use crate::dtype::{DType, DTypeKind, Element, dispatch};
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::kernel::output;
use crate::ops::movement::broadcast_to;
use crate::shape::{self, Strides};

/// A constant in its own memory, with the levels of `x`.
fn alike(x: &Tensor, array: Array) -> Result<Tensor> {
    if array.is_sealed() {
        // A program makes it in each run.
        return copy(&Tensor::made(array, None, x.levels.clone()));
    }
    Ok(Tensor::made(array.contiguous()?, None, x.levels.clone()))
}

/// Zeros of a shape, in the default float dtype unless another is given.
///
/// ```python
/// >>> fg.zeros((2,)).tolist()
/// [0.0, 0.0]
/// ```
#[op(function, half)]
pub fn zeros(shape: &[i64], #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    let dtype = dtype.unwrap_or_else(default_float);
    Ok(Tensor::constant(Array::zeros("zeros", dtype, &sizes("zeros", shape, dtype)?)?))
}

/// Ones of a shape, in the default float dtype unless another is given.
///
/// ```python
/// >>> fg.ones((2,)).tolist()
/// [1.0, 1.0]
/// ```
#[op(function, half)]
pub fn ones(shape: &[i64], #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    let dtype = dtype.unwrap_or_else(default_float);
    Ok(Tensor::constant(Array::full_of(dtype, &sizes("ones", shape, dtype)?, 1.0).contiguous()?))
}

/// A tensor of a shape, to be written into. Its elements are zeros; uninitialised memory is never shown.
///
/// ```python
/// >>> fg.empty((2, 3)).shape
/// (2, 3)
/// ```
#[op(function, half)]
pub fn empty(shape: &[i64], #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    zeros(shape, dtype)
}

/// A tensor of a shape filled with one value. Unless it is given, the dtype is that of the value: the default
/// float, int64, bool; a tensor's own, which may have any shape that broadcasts to it.
///
/// ```python
/// >>> fg.full((2,), 7).tolist()
/// [7, 7]
/// ```
#[op(function, half, torch(WrapsNegative))]
pub fn full(shape: &[i64], fill_value: Operand<'_>, #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    let own = match fill_value {
        Operand::Tensor(t) => t.dtype(),
        Operand::Number(n) => raised(DType::Bool, n),
    };
    let dtype = dtype.unwrap_or(own);
    let dims = sizes("full", shape, dtype)?;
    let spread = broadcast_to(&*as_tensor(fill_value, dtype)?, &dims)?;
    if spread.is_tracked() {
        return Ok(spread);
    }
    alike(&spread, spread.array.clone())
}

/// Zeros of the shape and dtype of x; a constant.
///
/// ```python
/// >>> fg.zeros_like(fg.tensor([1, 2])).tolist()
/// [0, 0]
/// ```
#[op(function, half, torch(LaidAsOperand))]
pub fn zeros_like(x: &Tensor, #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    alike(x, Array::zeros("zeros_like", dtype.unwrap_or(x.dtype()), x.array.dims())?)
}

/// Ones of the shape and dtype of x; a constant.
///
/// ```python
/// >>> fg.ones_like(fg.tensor([5, 2])).tolist()
/// [1, 1]
/// ```
#[op(function, half, torch(LaidAsOperand))]
pub fn ones_like(x: &Tensor, #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    alike(x, Array::full_of(dtype.unwrap_or(x.dtype()), x.array.dims(), 1.0))
}

/// A tensor of the shape and dtype of x, to be written into; zeros, as with `empty`.
///
/// ```python
/// >>> fg.empty_like(fg.tensor([1, 2])).shape
/// (2,)
/// ```
#[op(function, half, torch(LaidAsOperand))]
pub fn empty_like(x: &Tensor, #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    zeros_like(x, dtype)
}

/// A tensor of the shape of x filled with one value, in the dtype of x unless another is given.
///
/// ```python
/// >>> fg.full_like(fg.tensor([1.0, 2.0]), 7).tolist()
/// [7.0, 7.0]
/// ```
#[op(function, half, torch(LaidAsOperand, WrapsNegative))]
pub fn full_like(
    x: &Tensor,
    fill_value: Operand<'_>,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    let shape: Vec<i64> = x.dims().iter().map(|&d| d as i64).collect();
    full(&shape, fill_value, Some(dtype.unwrap_or(x.dtype())))
}

/// A number as an exact integer, if it is an int or a bool.
fn integer(n: Item) -> Option<i128> {
    match n {
        Item::Bool(b) => Some(i128::from(b)),
        Item::Int(i) => Some(i),
        Item::Float(_) | Item::Complex(_) => None,
    }
}

/// The numbers from start (0 if only one number is given) on in steps, as many as lie before stop. int64, or
/// the default float if one of the numbers is a float. A step that leads away from stop gives none.
///
/// ```python
/// >>> fg.arange(3).tolist()
/// [0, 1, 2]
/// >>> fg.arange(5, 0, -2).tolist()
/// [5, 3, 1]
/// ```
#[op(function, half)]
pub fn arange(
    #[default(None)] start: Option<Item>,
    #[default(None)] stop: Option<Item>,
    #[default(None)] step: Option<Item>,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    let (start, stop) = match (start, stop) {
        (Some(start), Some(stop)) => (start, stop),
        (Some(stop), None) | (None, Some(stop)) => (Item::Int(0), stop),
        (None, None) => bail!(Argument, "arange", "nothing says where to stop"),
    };
    let step = step.unwrap_or(Item::Int(1));
    let whole = integer(start).zip(integer(stop)).zip(integer(step));
    let dtype = dtype.unwrap_or(if whole.is_some() { DType::I64 } else { default_float() });
    if dtype == DType::Bool {
        bail!(Dtype, "arange", "not defined for bool");
    }
    if let Some(((start, stop), step)) = whole {
        if step == 0 {
            bail!(Argument, "arange", "step must be nonzero: with 0 it never arrives");
        }
        // 128 bits hold every difference of 64-bit numbers.
        let span = stop.checked_sub(start).filter(|s| s.checked_abs().is_some());
        let n = span.map_or(usize::MAX, |span| {
            let whole = span / step + i128::from(span % step != 0 && (span < 0) == (step < 0));
            usize::try_from(whole.max(0)).unwrap_or(usize::MAX)
        });
        let last =
            |n: usize| i128::try_from(n).ok().and_then(|n| start.checked_add(step.checked_mul(n - 1)?));
        if dtype.kind() == DTypeKind::Int && n > 0 && n < usize::MAX {
            for end in [Some(start), last(n)] {
                if !end.is_some_and(|end| holds(dtype, end)) {
                    bail!(Argument, "arange", "the numbers from {start} to {stop} do not fit into {dtype}");
                }
            }
        }
        let at = |i: usize| start.wrapping_add(step.wrapping_mul(i as i128));
        if !dtype.is_differentiable() {
            let some = |first, out: &mut [i64]| (first..).zip(out).for_each(|(i, o)| *o = at(i) as i64);
            return dispatch!(dtype, int T => converted("arange", n, &some, T::from_i64), else unreachable!("not bool"));
        }
        let some = |first, out: &mut [f64]| (first..).zip(out).for_each(|(i, o)| *o = at(i) as f64);
        return floats("arange", n, dtype, &some);
    }
    let (Some(start), Some(stop), Some(step)) = (start.to_f64(), stop.to_f64(), step.to_f64()) else {
        bail!(Argument, "arange", "its numbers are real, because complex ones have no order");
    };
    let n = ((stop - start) / step).ceil();
    if step == 0.0 || n.is_nan() {
        bail!(Argument, "arange", "no steps of {step} lead from {start} to {stop}");
    }
    let n = if n >= 9e18 { usize::MAX } else { n.max(0.0) as usize };
    floats("arange", n, dtype, &|first, out| {
        (first..).zip(out).for_each(|(i, o)| *o = start + i as f64 * step);
    })
}

/// Fills a slice with the numbers of a list, from one position of the list on.
type Some<'a, T> = &'a (dyn Fn(usize, &mut [T]) + Sync);

/// A list of `n` numbers in a dtype, which `some` writes as float64.
fn floats(op: &'static str, n: usize, dtype: DType, some: Some<'_, f64>) -> Result<Tensor> {
    dispatch!(dtype, all T => converted(op, n, some, T::from_f64))
}

/// A list of `n` numbers, which `some` writes and `convert` converts one by one.
fn converted<F: Element, T: Element>(
    op: &'static str,
    n: usize,
    some: Some<'_, F>,
    convert: impl Fn(F) -> T + Sync,
) -> Result<Tensor> {
    Ok(Tensor::constant(output::build::<T>(op, &[n], 1, |mut first, out| {
        let mut numbers = [F::default(); 256];
        for out in out.chunks_mut(numbers.len()) {
            let numbers = &mut numbers[..out.len()];
            some(first, numbers);
            first += out.len();
            out.iter_mut().zip(numbers).for_each(|(o, v)| *o = convert(*v));
        }
    })?))
}

/// num numbers at equal distances from start to stop, which is among them unless endpoint is False.
///
/// ```python
/// >>> fg.linspace(0, 1, 5).tolist()
/// [0.0, 0.25, 0.5, 0.75, 1.0]
/// ```
#[op(function, half)]
pub fn linspace(
    start: f64,
    stop: f64,
    num: i64,
    #[default(None)] dtype: Option<DType>,
    #[default(true)] endpoint: bool,
) -> Result<Tensor> {
    let dtype = dtype.unwrap_or_else(default_float);
    if num < 0 {
        bail!(Argument, "linspace", "number of steps must be non-negative, not {num}");
    }
    let n = sizes("linspace", &[num], dtype)?[0];
    let parts = if endpoint { n.saturating_sub(1) } else { n }.max(1) as f64;
    let step = (stop - start) / parts;
    let at = |i: usize| match i as f64 {
        i if endpoint && i == parts => stop,
        i if step.is_finite() => start + i * step,
        // The difference of the ends overflows.
        i => start * (1.0 - i / parts) + stop * (i / parts),
    };
    let whole = !dtype.is_differentiable();
    floats("linspace", n, dtype, &|first, out| {
        (first..).zip(out).for_each(|(i, o)| *o = if whole { at(i).floor() } else { at(i) });
    })
}

/// Ones on the diagonal (the k-th above the main one), zeros elsewhere; square unless n_cols is given. k is any integer,
/// and where it is too large for the matrix there are only zeros.
///
/// ```python
/// >>> fg.eye(2).tolist()
/// [[1.0, 0.0], [0.0, 1.0]]
/// ```
#[op(function, half)]
pub fn eye(
    n_rows: i64,
    #[default(None)] n_cols: Option<i64>,
    #[default(0)] k: Item,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    let dtype = dtype.unwrap_or_else(default_float);
    let k = match k {
        // An integer of more than 128 bits arrives as a float.
        Item::Float(f) if f.abs() > 1e38 => f as i128,
        k => match integer(k) {
            Some(k) => k,
            None => bail!(Argument, "eye", "k is an integer"),
        },
    };
    let dims = sizes("eye", &[n_rows, n_cols.unwrap_or(n_rows)], dtype)?;
    let [rows, columns] = dims[..] else { unreachable!("two sizes were given") };
    // Where the first one stands.
    let up = |k: i128| usize::try_from(k.max(0)).unwrap_or(usize::MAX);
    let (row, column) = (up(k.saturating_neg()), up(k));
    let mut out = Array::zeros("eye", dtype, &dims)?;
    if row < rows && column < columns {
        let count = (rows - row).min(columns - column);
        let at = Layout {
            dims: shape::dims(&[count]),
            strides: Strides::from_elem(columns as isize + 1, 1),
            offset: (row * columns + column) as isize,
        };
        out.write(&at, &Array::full_of(dtype, &[count], 1.0))?;
    }
    Ok(Tensor::constant(out))
}

/// Sets the default float dtype: that of Python floats, of float functions of integers, of `zeros` and the
/// like.
///
/// ```python
/// >>> fg.set_default_dtype(fg.float32)
/// ```
#[op(function, half)]
pub fn set_default_dtype(dtype: DType) -> Result<Value> {
    set_default_float(dtype)?;
    Ok(Value::None)
}

/// The default float dtype.
///
/// ```python
/// >>> fg.get_default_dtype()
/// dtype('float32')
/// ```
#[op(function, half)]
pub fn get_default_dtype() -> Result<DType> {
    Ok(default_float())
}
