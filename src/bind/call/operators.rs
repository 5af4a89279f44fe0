//! Python's operators. Each is one op, with a tensor, a number or a NumPy array on the other side.

#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "the unsafe functions that PyO3 generates are counted as ours inside of `macro_rules!`"
)]

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::formats;
use super::operands::beside;
use super::work::LONG_LIGHT;
use crate::array::Item;
use crate::bind::convert::number::number;
use crate::bind::convert::tensor::{package_of, tensor, wide_scalar};
use crate::bind::python::capi::of_same_class;
use crate::bind::python::dialect::{Dialect, Operator, operator};
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::gil::without_gil;
use crate::bind::value::var::{Notes, Reading, Var};
use crate::error::{Error, Result};
use crate::graph::Tensor;
use crate::ops::contract;
use crate::ops::entry::{Convention, Conventions, Operand};
use crate::ops::pointwise::{self, arithmetic, compare};
use crate::ops::promote::weak_beside;
use crate::ops::{autocast, half};

/// A binary operator, which takes numbers by these conventions; `NotImplemented` if `other` is no operand.
fn binary<'py>(
    slf: &Bound<'py, Var>,
    other: &Bound<'py, PyAny>,
    swap: bool,
    numbers: Conventions,
    f: Operator,
) -> PyResult<Bound<'py, PyAny>> {
    computed(slf, other, swap, numbers, f, (formats::elements, LONG_LIGHT))
}

/// [`binary`] of one operator. Where an operand of torch's is not in C order, `lay` lays the result out. Where an operand has at
/// least `long` bytes, the operator runs without the GIL.
#[inline(always)]
fn computed<'py>(
    slf: &Bound<'py, Var>,
    other: &Bound<'py, PyAny>,
    swap: bool,
    numbers: Conventions,
    f: Operator,
    (lay, long): (Laying, usize),
) -> PyResult<Bound<'py, PyAny>> {
    let same_class = of_same_class(slf, other);
    let (py, slf) = (slf.py(), slf.get());
    let how = (lay, long, slf.dialect());
    let in_order = |x: &Tensor, y: &Tensor| if swap { (f.of_tensors)(y, x) } else { (f.of_tensors)(x, y) };
    let of_tensors = |x: &Tensor, y: &Tensor| {
        if x.dtype() != y.dtype() && slf.dialect().scalars_are_weak() {
            return in_order(&*weak_beside(x, y)?, &*weak_beside(y, x)?);
        }
        in_order(x, y)
    };
    let of_number = |x: &Tensor, n: Item| {
        let (x, n) = (Operand::Tensor(x), Operand::Number(n));
        if swap { (f.of_any)(n, x) } else { (f.of_any)(x, n) }
    };
    // Whatever runs Python code comes before `reading`, which locks the tensor.
    let out = if let Some(v) = same_class.or_else(|| other.cast::<Var>().ok()).map(Bound::get) {
        let mut x = slf.reading();
        if std::ptr::eq(v, slf) {
            run(py, &mut x, None, how, |x, _| of_tensors(x, x))
        } else {
            run(py, &mut x, Some(&mut v.reading()), how, of_tensors)
        }
    } else if let Some(n) = number(other)? {
        if let Some(t) = beside_integers(slf, other)? {
            run(py, &mut slf.reading(), Some(&mut Reading::Copied(t)), how, of_tensors)
        } else {
            let mut x = slf.reading();
            let n = if slf.dialect().wraps_integers() { beside(numbers, x.dtype(), n) } else { n };
            run(py, &mut x, None, how, |x, _| of_number(x, n))
        }
    } else if let Some(t) = tensor(other)? {
        run(py, &mut slf.reading(), Some(&mut Reading::Copied(t)), how, of_tensors)
    } else if let Some(package) = package_of(other)? {
        return Err(raise(
            py,
            "ArgumentError",
            slf.dialect().foreign_tensor("an operator's operand", package),
        ));
    } else {
        return Ok(py.NotImplemented().into_bound(py));
    };
    Ok(out?.into_any())
}

/// A number that acts like an array: natively, beside integers, a scalar of NumPy's with 64 bits.
fn beside_integers(slf: &Var, other: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if slf.dialect() != Dialect::Native || slf.look().dtype().is_differentiable() {
        return Ok(None);
    }
    wide_scalar(other)
}

/// A product or a power runs without the GIL, and with its operands unlocked, if an operand has at least this many bytes.
const LONG: usize = 64 << 10;
/// The most bytes that an element has.
const WIDEST: usize = 16;

/// Calls `f` with one operand, or with two. The operands are not moved, which would take longer than the rest of this.
#[inline(always)]
fn run<'py>(
    py: Python<'py>,
    x: &mut Reading<'_>,
    mut y: Option<&mut Reading<'_>>,
    (lay, long, dialect): (Laying, usize, Dialect),
    f: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor> + Send,
) -> PyResult<Bound<'py, Var>> {
    if matches!(x, Reading::Noted(..)) || matches!(y.as_deref(), Some(Reading::Noted(..))) {
        return Var::laid_out(py, None, run_noted(py, x, y, (lay, long), f).or_raise()?, dialect);
    }
    // No element has more bytes than the widest.
    let n = x.array.len().max(y.as_deref().map_or(0, |y| y.array.len()));
    let size = |t: &Tensor| t.dtype().size();
    let is_long =
        n >= LONG / WIDEST && n.saturating_mul(size(x).max(y.as_deref().map_or(0, |y| size(y)))) >= long;
    if is_long {
        x.unlock();
        if let Some(y) = &mut y {
            y.unlock();
        }
    }
    let x: &Tensor = x;
    let y = y.map_or(x, |y| &*y);
    let out = if is_long { without_gil(py, || f(x, y)) } else { Error::catch(|| f(x, y)) };
    Var::result(py, out.or_raise()?, dialect)
}

/// [`run`] where something is noted of an operand. A node gets copies of one that may lie in memory which another library writes
/// to.
#[cold]
fn run_noted(
    py: Python<'_>,
    x: &mut Reading<'_>,
    mut y: Option<&mut Reading<'_>>,
    (lay, long): (Laying, usize),
    f: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor> + Send,
) -> Result<Tensor> {
    let mut notes = x.unlocked();
    if let Some(y) = &mut y {
        let own = y.unlocked();
        notes = Notes { lent: notes.lent || own.lent, strided: notes.strided || own.strided };
    }
    let (x, is_alone): (&Tensor, bool) = (x, y.is_none());
    let y: &Tensor = y.as_deref().map_or(x, |y| y);
    let is_tracked = x.is_tracked() || y.is_tracked();
    let kept = |t: &Tensor| {
        let array = if is_tracked { t.array.clone().kept()? } else { t.array.clone() };
        Ok::<_, Box<Error>>(Tensor { array, ..t.clone() })
    };
    let (x, y) = (kept(x)?, kept(y)?);
    let is_long = x.array.len().max(y.array.len()) >= long / 4;
    let f = || {
        let out = f(&x, &y)?;
        if !notes.strided {
            return Ok(out);
        }
        // Beside a number, PyTorch keeps the strides of axes of one element too.
        lay(&[&x, &y][..if is_alone { 1 } else { 2 }], out)
    };
    let out = if is_long { without_gil(py, f)? } else { Error::catch(f)? };
    if notes.lent { Ok(Tensor { array: out.array.clone().kept()?, ..out }) } else { Ok(out) }
}

/// Lays a result of torch's out, whose operands are given and are not all in C order.
type Laying = fn(&[&Tensor], Tensor) -> Result<Tensor>;

fn unary<'py>(
    slf: &Bound<'py, Var>,
    f: impl FnOnce(&Tensor) -> Result<Tensor> + Send,
) -> PyResult<Bound<'py, Var>> {
    let how: (Laying, usize, Dialect) = (formats::elements, LONG_LIGHT, slf.get().dialect());
    run(slf.py(), &mut slf.get().reading(), None, how, |x, _| f(x))
}

/// An operator that computes, for operands that may be of a half dtype.
macro_rules! wide {
    ($f:expr) => {
        operator!(|x, y| half::operator(x, y, $f))
    };
}

/// [`wide!`] for an operator that is one op, element by element.
macro_rules! row {
    ($f:expr) => {
        operator!(|x, y| half::row_operator(x, y, $f))
    };
}

/// `@`, which autocast knows.
fn product(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    match (x, y) {
        (Operand::Tensor(x), Operand::Tensor(y)) => {
            autocast::product(x, y, |x, y| half::operator(x.into(), y.into(), contract::matmul))
        }
        _ => contract::matmul(x, y),
    }
}

/// Operators that take numbers, beside integers whose dtype does not hold them, as [`Convention::Wraps`] says.
const WRAPPED: Conventions = Conventions::NONE.and(Convention::Wraps);
/// Operators that refuse such numbers.
const REFUSED: Conventions = Conventions::NONE;

/// The methods of binary operators: the name, the reflected name, whether the operands may change places, how numbers beside
/// integers are taken, and the op.
macro_rules! operators {
    ($($forward:ident $($reflected:ident $(commutes $commutes:literal)?)? => $numbers:ident $f:expr;)*) => {
        #[pymethods]
        impl Var {
            $(
                fn $forward<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                    binary(slf, o, false, $numbers, $f)
                }
                $(fn $reflected<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                    let swap = true $(&& !($commutes && slf.get().dialect().puts_tensor_first()))?;
                    binary(slf, o, swap, $numbers, $f)
                })?
            )*
        }
    };
}
operators! {
    __add__ __radd__ commutes true => WRAPPED row!(arithmetic::add);
    __sub__ __rsub__ => WRAPPED row!(arithmetic::subtract);
    __mul__ __rmul__ commutes true => WRAPPED row!(arithmetic::multiply);
    __truediv__ __rtruediv__ => REFUSED row!(arithmetic::divide);
    __mod__ __rmod__ => WRAPPED row!(arithmetic::remainder);
    __and__ __rand__ => WRAPPED operator!(compare::bitwise_and);
    __or__ __ror__ => WRAPPED operator!(compare::bitwise_or);
    __xor__ __rxor__ => WRAPPED operator!(compare::bitwise_xor);
    __lshift__ __rlshift__ => WRAPPED operator!(compare::bitwise_left_shift);
    __rshift__ __rrshift__ => WRAPPED operator!(compare::bitwise_right_shift);
    __eq__ => REFUSED operator!(compare::equal);
    __ne__ => REFUSED operator!(compare::not_equal);
    __lt__ => REFUSED operator!(compare::less);
    __le__ => REFUSED operator!(compare::less_equal);
    __gt__ => REFUSED operator!(compare::greater);
    __ge__ => REFUSED operator!(compare::greater_equal);
}

#[pymethods]
impl Var {
    fn __matmul__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, o, false, REFUSED, operator!(product), (formats::c_order, LONG))
    }

    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, o, true, REFUSED, operator!(product), (formats::c_order, LONG))
    }
}

fn power<'py>(
    slf: &Bound<'py, Var>,
    o: &Bound<'py, PyAny>,
    modulo: Option<&Bound<'py, PyAny>>,
    swap: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if modulo.is_some_and(|m| !m.is_none()) {
        return Err(PyTypeError::new_err("pow() of a Tensor takes no modulus"));
    }
    computed(slf, o, swap, REFUSED, wide!(arithmetic::pow), (formats::elements, LONG))
}

fn floor_divide<'py>(
    slf: &Bound<'py, Var>,
    o: &Bound<'py, PyAny>,
    swap: bool,
) -> PyResult<Bound<'py, PyAny>> {
    binary(slf, o, swap, WRAPPED, slf.get().dialect().floor_divide())
}

/// Quotient and remainder, or `NotImplemented`.
fn divmod<'py>(slf: &Bound<'py, Var>, o: &Bound<'py, PyAny>, swap: bool) -> PyResult<Bound<'py, PyAny>> {
    let quotient = floor_divide(slf, o, swap)?;
    if quotient.is(slf.py().NotImplemented()) {
        return Ok(quotient);
    }
    let remainder = binary(slf, o, swap, WRAPPED, wide!(arithmetic::remainder))?;
    Ok((quotient, remainder).into_pyobject(slf.py())?.into_any())
}

#[pymethods]
impl Var {
    /// Makes NumPy's scalars leave an operator to the tensor on its right.
    #[classattr]
    #[pyo3(name = "__array_priority__")]
    const ARRAY_PRIORITY: f64 = 1000.0;

    /// Makes the columns and tables of pandas leave an operator to the tensor on its right, whose result has a graph.
    #[classattr]
    #[pyo3(name = "__pandas_priority__")]
    const PANDAS_PRIORITY: i32 = 10_000;

    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        o: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        power(slf, o, modulo, false)
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        o: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        power(slf, o, modulo, true)
    }

    fn __floordiv__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        floor_divide(slf, o, false)
    }

    fn __rfloordiv__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        floor_divide(slf, o, true)
    }

    fn __divmod__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        divmod(slf, o, false)
    }

    fn __rdivmod__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        divmod(slf, o, true)
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        unary(slf, pointwise::negative)
    }

    fn __pos__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        unary(slf, pointwise::positive)
    }

    fn __abs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        unary(slf, pointwise::abs)
    }

    fn __invert__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        unary(slf, pointwise::bitwise_invert)
    }

    #[pyo3(signature = (ndigits=None))]
    fn __round__<'py>(slf: &Bound<'py, Self>, ndigits: Option<i64>) -> PyResult<Bound<'py, Self>> {
        unary(slf, |x| arithmetic::round(x, ndigits.unwrap_or(0)))
    }

    /// The identity of the object, since `==` is elementwise.
    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        slf.as_ptr() as isize >> 4
    }
}
