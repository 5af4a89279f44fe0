//! The arguments of a call of an op, and what its dialect makes of them.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;

use super::callable::Callable;
use super::parameters::makes;
use crate::array::Item;
use crate::bind::convert::argument::{argument, of_numbers, refusal};
use crate::bind::convert::numpy::dtype_in;
use crate::bind::convert::tensor::{real_part_for, wide_scalar};
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::value::var::{Notes, Var};
use crate::dtype::{DType, DTypeKind};
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::entry::{Arg, Convention, Conventions, Entry, InPlace, Param, ParamKind};
use crate::ops::movement::tracked_cast;
use crate::ops::promote::{range, weak_beside};

/// The objects that Python gave, by parameter. None stands for an argument that is missing.
type Given<'a, 'py> = &'a [Option<Bound<'py, PyAny>>];

/// The arguments of a call, and what was seen of them while they were read.
#[derive(Default)]
pub struct Operands {
    pub args: SmallVec<[Arg; 4]>,
    /// The dialect of the first tensor.
    pub from: Option<Dialect>,
    /// The bytes of all tensors.
    pub bytes: usize,
    /// Whether there is a tensor of a half dtype or without axes, an empty list of axes, or a dtype.
    pub special: bool,
    has_numbers: bool,
    pub notes: Notes,
}

impl Operands {
    /// Reads what was given. `namespace` is the dialect that the function is in, if any.
    pub fn read(
        &mut self,
        py: Python<'_>,
        callable: &Callable,
        namespace: Option<Dialect>,
        given: Given<'_, '_>,
    ) -> PyResult<()> {
        let &Callable { entry, name, .. } = callable;
        for (param, o) in entry.params.iter().zip(given) {
            let takes_tensor = matches!(param.kind.base, ParamKind::Tensor | ParamKind::Operand);
            if let (true, Some(o)) = (takes_tensor, o)
                && let Ok(v) = o.cast::<Var>()
            {
                self.from = self.from.or(Some(v.get().dialect()));
                self.args.push(Arg::Tensor(v.get().operand_noting(&mut self.notes)));
            } else if let (None, Some(default)) = (o, param.default) {
                self.args.push(Arg::from(default));
            } else {
                let dialect = namespace.or(self.from).unwrap_or(Dialect::Native);
                let arg = given_arg(py, name, param, o.as_ref(), dialect)?;
                if let (Arg::Tensors(list), Dialect::Torch) = (&arg, dialect) {
                    self.notes.strided |= list.iter().any(|t| !t.array.is_contiguous());
                }
                self.has_numbers |= takes_tensor && matches!(arg, Arg::Number(_));
                if let (None, Some(o)) = (self.from, o) {
                    self.from = Var::dialect_of(o).or_else(|| among(param, o));
                }
                self.args.push(arg);
            }
            if self.note_last()
                && let Some(o) = o
            {
                check_has_shape(name, o)?;
            }
        }
        if self.notes.any() {
            self.special |= self.notes.strided;
            if self.notes.lent {
                keep(entry, &mut self.args)?;
            }
        }
        Ok(())
    }

    /// Notes what the argument is that was read last. Returns whether it is a tensor without elements, or a list with one.
    #[inline]
    fn note_last(&mut self) -> bool {
        let tensors = match self.args.last() {
            Some(Arg::Tensor(t)) => std::slice::from_ref(t),
            Some(Arg::Tensors(list)) => list,
            Some(Arg::Ints(axes)) => {
                self.special |= axes.is_empty();
                return false;
            }
            Some(Arg::DType(_)) => {
                self.special = true;
                return false;
            }
            _ => return false,
        };
        let mut is_empty = false;
        for t in tensors {
            let n = t.array.len();
            is_empty |= n == 0;
            self.special |= t.rank() == 0 || t.dtype().is_half();
            self.bytes = n.saturating_mul(t.dtype().size()).saturating_add(self.bytes);
        }
        is_empty
    }

    /// Whether there is more to take as the dialect does than tensors with axes.
    #[inline]
    pub fn has_more_than_tensors(&self) -> bool {
        self.special || self.has_numbers || self.from.is_none()
    }

    /// Takes numbers, lists of axes and dtypes as the operands' dialect does, and an empty list of axes as that of the namespace
    /// that the function is in.
    pub fn take_as(
        &mut self,
        callable: &Callable,
        dialect: Dialect,
        namespace: Dialect,
        given: Given<'_, '_>,
    ) -> PyResult<()> {
        let &Callable { entry, name, .. } = callable;
        let conventions = callable.conventions(dialect);
        if self.has_numbers && dialect == Dialect::Native && !has_floats(&self.args) {
            widen(&mut self.args, given)?;
        }
        if self.has_numbers && conventions.has_any(WRAPPING) {
            put_into_range(entry, conventions, &mut self.args);
        }
        if self.from.is_none()
            && dialect == Dialect::Native
            && makes(entry)
            && !entry.draws
            && !has_tensors(&self.args)
        {
            say_exactness(entry, &mut self.args, given)?;
        }
        if !self.special {
            return Ok(());
        }
        let in_namespace = callable.conventions(namespace);
        for (arg, o) in self.args.iter_mut().zip(given) {
            if matches!(arg, Arg::Ints(axes) if axes.is_empty()) {
                if in_namespace.has(Convention::AllAxes) {
                    *arg = Arg::None;
                } else if in_namespace.has(Convention::NeedsAxes)
                    && let Some(o) = o
                {
                    let text = format!("{name}: dim has no axes; leave it out for all of them");
                    return Err(raise(o.py(), "ArgumentError", text));
                }
            }
            if let (Arg::DType(dtype), Some(o)) = (arg, o) {
                *dtype = dtype_in(o, dialect)?.unwrap_or(*dtype);
            }
        }
        if dialect.scalars_are_weak() { weaken(entry, &mut self.args).or_raise() } else { Ok(()) }
    }

    /// Chooses the dtype in which an op computes that takes integers or complex numbers otherwise than the native one. Returns
    /// the dtype in which the result is given, if it is another one.
    pub fn of_dtype_by(
        &mut self,
        py: Python<'_>,
        conventions: Conventions,
        entry: &Entry,
    ) -> PyResult<Option<DType>> {
        let Some(Arg::Tensor(x)) = self.args.first() else { return Ok(None) };
        let own = x.dtype();
        if let (true, [Arg::Tensor(x), Arg::DType(dtype)]) =
            (conventions.has(Convention::TakesRealPart), &mut self.args[..])
            && let Some(real) = real_part_for(py, x, *dtype)?
        {
            *x = real;
        }
        let place = || entry.params.iter().position(|param| param.kind.base == ParamKind::DType);
        if conventions.has(Convention::SignedSums)
            && own.is_unsigned()
            && let Some(arg @ Arg::None) = place().and_then(|i| self.args.get_mut(i))
        {
            *arg = Arg::DType(DType::I64);
        }
        if conventions.has(Convention::TracksIntegers)
            && let Some(&Arg::DType(dtype)) = place().and_then(|i| self.args.get(i))
            && let Some(Arg::Tensor(x)) = self.args.first_mut()
            && x.is_tracked()
            && !dtype.is_differentiable()
        {
            *x = tracked_cast(x, dtype).or_raise()?;
        }
        if conventions.has(Convention::ByteTest) && own == DType::U8 {
            return Ok(Some(DType::U8));
        }
        if let (true, [Arg::Tensor(x), _, _, dtype, ..]) =
            (conventions.has(Convention::WholeMean), &mut self.args[..])
        {
            let wanted = if let Arg::DType(dtype) = dtype { *dtype } else { own };
            if !wanted.is_differentiable() {
                *x = tracked_cast(x, wanted).or_raise()?;
                *dtype = Arg::DType(DType::F64);
                return Ok(Some(wanted));
            }
        }
        Ok(None)
    }
}

/// The conventions that [`Operands::of_dtype_by`] keeps.
pub const BY_DTYPE: Conventions = Conventions::NONE
    .and(Convention::SignedSums)
    .and(Convention::ByteTest)
    .and(Convention::WholeMean)
    .and(Convention::TakesRealPart)
    .and(Convention::TracksIntegers);

/// The conventions that [`beside`] keeps.
const WRAPPING: Conventions = Conventions::NONE.and(Convention::Wraps).and(Convention::WrapsNegative);

/// The number that an op takes for one beside integers of this dtype, which may not hold it. The op refuses what is left.
pub fn beside(conventions: Conventions, dtype: DType, n: Item) -> Item {
    let (true, Item::Int(i), DTypeKind::Int) = (conventions.has_any(WRAPPING), n, dtype.kind()) else {
        return n;
    };
    let (low, high) = range(dtype);
    let is_negative_of_unsigned = low == 0 && (-high..0).contains(&i);
    if (low..=high).contains(&i) || !(conventions.has(Convention::Wraps) || is_negative_of_unsigned) {
        return n;
    }
    Item::Int((i - low).rem_euclid(high - low + 1) + low)
}

/// The error of a list that no tensor can be made of, in the name of the function that it was given to.
fn in_name_of(py: Python<'_>, name: &str, param: &Param, e: PyErr) -> PyErr {
    let text = e.value(py).getattr("args").and_then(|args| args.get_item(0)?.extract::<String>());
    match (e.get_type(py).name(), text.ok().as_deref().and_then(|text| text.strip_prefix("tensor: "))) {
        (Ok(class), Some(rest)) => raise(py, &class.to_string(), format!("{name}: {}: {rest}", param.name)),
        _ => e,
    }
}

/// A parameter's argument that is no tensor.
fn given_arg(
    py: Python<'_>,
    name: &str,
    param: &Param,
    given: Option<&Bound<'_, PyAny>>,
    dialect: Dialect,
) -> PyResult<Arg> {
    let Some(o) = given else {
        return Err(PyTypeError::new_err(format!("{name}() missing required argument: '{}'", param.name)));
    };
    let arg = argument(param.kind, o).map_err(|e| too_large(py, name, param, e))?;
    if let Some(arg) = arg.filter(|arg| dialect.takes_arrays_for_tensors() || !matches!(arg, Arg::Tensor(_)))
    {
        return Ok(arg);
    }
    if dialect == Dialect::Native
        && let Some(t) = of_numbers(param.kind.base, o).map_err(|e| in_name_of(py, name, param, e))?
    {
        return Ok(Arg::Tensor(t));
    }
    Err(raise(py, "ArgumentError", format!("{name}: {}", refusal(param, o, dialect)?)))
}

/// Whether there are tensors among the arguments.
fn has_tensors(args: &[Arg]) -> bool {
    args.iter().any(|arg| matches!(arg, Arg::Tensor(_) | Arg::Tensors(_)))
}

/// Whether there are tensors of floats or complex numbers among the arguments.
fn has_floats(args: &[Arg]) -> bool {
    args.iter().any(|arg| matches!(arg, Arg::Tensor(t) if t.dtype().is_differentiable()))
}

/// Gives a function that makes a tensor of numbers, as `linspace` does, the dtype of the widest of them, if one is a scalar
/// of NumPy's that has 64 bits and no dtype is given.
fn say_exactness(entry: &Entry, args: &mut [Arg], given: &[Option<Bound<'_, PyAny>>]) -> PyResult<()> {
    let Some(at) = entry.params.iter().position(|p| p.kind.base == ParamKind::DType) else { return Ok(()) };
    let mut widest = None;
    for (param, o) in entry.params.iter().zip(given) {
        if let (ParamKind::Float | ParamKind::Number, Some(o)) = (param.kind.base, o)
            && let Some(t) = wide_scalar(o)?
        {
            widest = widest.max(Some(t.dtype()));
        }
    }
    if let (Some(dtype), arg @ Arg::None) = (widest, &mut args[at]) {
        *arg = Arg::DType(dtype);
    }
    Ok(())
}

/// Copies the operands that lie in memory which another library writes to, unless the op may read them there, and no
/// node is made that keeps them.
#[cold]
fn keep(entry: &Entry, args: &mut [Arg]) -> PyResult<()> {
    let is_tracked = |arg: &Arg| match arg {
        Arg::Tensor(t) => t.is_tracked(),
        Arg::Tensors(list) => list.iter().any(Tensor::is_tracked),
        _ => false,
    };
    if !entry.reads_lent || args.iter().any(is_tracked) {
        for arg in args {
            if let Arg::Tensor(t) = arg {
                t.array = t.array.clone().kept().or_raise()?;
            }
        }
    }
    Ok(())
}

/// Makes tensors of the scalars of NumPy's that have 64 bits.
fn widen(args: &mut [Arg], given: &[Option<Bound<'_, PyAny>>]) -> PyResult<()> {
    for (arg, o) in args.iter_mut().zip(given) {
        if let (Arg::Number(_), Some(o)) = (&*arg, o)
            && let Some(t) = wide_scalar(o)?
        {
            *arg = Arg::Tensor(t);
        }
    }
    Ok(())
}

/// Casts 0-d operands as [`weak_beside`] does, beside the widest of the operands with axes. The tensor that an in-place form
/// writes to is one of them.
fn weaken(entry: &Entry, args: &mut [Arg]) -> Result<()> {
    let writes_first = entry.in_place != InPlace::None;
    let is_operand = |i: usize| entry.params[i].kind.base == ParamKind::Operand || i == 0 && writes_first;
    let with_axes = args.iter().enumerate().filter_map(|(i, arg)| match arg {
        Arg::Tensor(t) if t.rank() > 0 && is_operand(i) => Some(t),
        _ => None,
    });
    let Some(widest) = with_axes.max_by_key(|t| t.dtype()).cloned() else { return Ok(()) };
    for (_, arg) in args.iter_mut().enumerate().filter(|(i, _)| is_operand(*i)) {
        if let Arg::Tensor(t) = arg
            && t.rank() == 0
        {
            *t = weak_beside(t, &widest)?.into_owned();
        }
    }
    Ok(())
}

/// [`beside`] for the numbers of a call, beside the dtype that is given, or that of the first operand that has one.
fn put_into_range(entry: &Entry, conventions: Conventions, args: &mut [Arg]) {
    let is_operand = |i: usize| entry.params[i].kind.base == ParamKind::Operand;
    let dtype = |arg: &Arg| match arg {
        Arg::Tensor(t) => Some(t.dtype()),
        Arg::DType(dtype) => Some(*dtype),
        _ => None,
    };
    let among_operands =
        args.iter().enumerate().filter(|(i, _)| is_operand(*i)).find_map(|(_, arg)| dtype(arg));
    let named = args.iter().find_map(|arg| if let Arg::DType(dtype) = arg { Some(*dtype) } else { None });
    let Some(dtype) = named.or(among_operands).or_else(|| args.first().and_then(dtype)) else { return };
    for arg in args {
        if let Arg::Number(n) = arg {
            *n = beside(conventions, dtype, *n);
        }
    }
}

/// Raises for a tensor, or one in a list of them, that has no shape yet. Its array is empty, and its class is one made in
/// Python, with a method `_check_use` that raises.
#[cold]
fn check_has_shape(name: &str, o: &Bound<'_, PyAny>) -> PyResult<()> {
    match o.cast::<Var>() {
        Ok(var) if Var::is_of_own_class(var) => Ok(()),
        Ok(_) => match o.getattr_opt("_check_use")? {
            Some(check) => check.call1((name,)).map(|_| ()),
            None => Ok(()),
        },
        Err(_) if o.is_instance_of::<PyList>() || o.is_instance_of::<PyTuple>() => {
            o.try_iter()?.try_for_each(|item| check_has_shape(name, &item?))
        }
        Err(_) => Ok(()),
    }
}

/// The dialect of the first tensor in a list of them.
fn among(param: &Param, o: &Bound<'_, PyAny>) -> Option<Dialect> {
    if !matches!(param.kind.base, ParamKind::Tensors | ParamKind::Rest) {
        return None;
    }
    o.try_iter().ok()?.flatten().find_map(|x| Var::dialect_of(&x))
}

/// Names the function in Python's error for an integer of more than 64 bits; leaves any other exception as it is.
fn too_large(py: Python<'_>, name: &str, param: &Param, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyOverflowError>(py) {
        return error;
    }
    raise(py, "ArgumentError", format!("{name}: {}: an integer does not fit into 64 bits", param.name))
}
