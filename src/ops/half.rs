//! Functions on float16 and bfloat16. They compute in float32 and round their results once. The conversions are recorded,
//! so gradients are computed in float32 too, up to the operands.

use smallvec::SmallVec;

use super::entry::{Arg, Entry, Operand, Value};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Tensor;
use crate::graph::modes::{self, Flags, Modes};
use crate::kernel::matmul;
use crate::ops::movement::cast;

/// Calls an entry. Tensors of a half dtype are given to it in float32, unless it takes them as they are. Its results
/// have the half dtype that was asked for, or else that of the operands.
///
/// # Errors
/// Those of the entry.
pub fn call(entry: &Entry, args: &[Arg]) -> Result<Value> {
    let is_one_op = || {
        let is_operand = |arg: &&Arg| !matches!(arg, Arg::None | Arg::Bool(_) | Arg::Int(_) | Arg::Ints(_));
        let operands = args.iter().filter(is_operand);
        entry.is_row && are_taken(operands.map(|arg| if let Arg::Tensor(t) = arg { Some(t) } else { None }))
    };
    if entry.takes_half || !args.iter().any(is_half) || is_one_op() {
        return (entry.call)(args);
    }
    let asked = args.iter().find_map(|arg| if let Arg::DType(d) = arg { Some(*d) } else { None });
    let wide = args.iter().map(|arg| match arg {
        Arg::DType(d) if d.is_half() => Ok(Arg::DType(DType::F32)),
        _ => widened(arg),
    });
    let wide = wide.collect::<Result<SmallVec<[Arg; 8]>>>()?;
    let floats = || args.iter().flat_map(tensors).map(Tensor::dtype).filter(|d| d.is_differentiable());
    let found = (entry.call)(&wide)?;
    let half = asked.or_else(|| match floats().reduce(DType::promote) {
        // The function has not promoted: it keeps the dtype of its first operand.
        Some(DType::F64) => floats().find(|d| d.is_half()),
        promoted => promoted,
    });
    match half.filter(|d| d.is_half()) {
        Some(half) => all_narrowed(found, half),
        None => Ok(found),
    }
}

/// Calls an entry in float32. Its results of float32 are rounded to the half dtype.
///
/// # Errors
/// Those of the entry.
pub fn call_rounded(entry: &Entry, args: &[Arg], half: DType) -> Result<Value> {
    let wide = all_widened(args)?;
    all_narrowed(rounding_factors(half, || (entry.call)(&wide))?, half)
}

/// Runs a function whose products may round their factors to bfloat16, if this is the half dtype and the processor gains
/// by it.
pub(super) fn rounding_factors<R>(half: DType, f: impl FnOnce() -> R) -> R {
    let _modes =
        (half == DType::BF16 && matmul::is_fast()).then(|| Modes::enter(|m| m.rounds_factors = true));
    f()
}

/// Arguments with the tensors of half dtypes in float32.
///
/// # Errors
/// For want of memory.
pub(super) fn all_widened(args: &[Arg]) -> Result<SmallVec<[Arg; 8]>> {
    args.iter().map(widened).collect()
}

/// Calls an operator as [`call`] does an entry.
///
/// # Errors
/// Those of the operator.
#[inline(always)]
pub fn operator(
    x: Operand<'_>,
    y: Operand<'_>,
    f: impl FnOnce(Operand<'_>, Operand<'_>) -> Result<Tensor>,
) -> Result<Tensor> {
    if has_half([x, y]) { in_float32(x, y, f) } else { f(x, y) }
}

#[inline(always)]
fn has_half(operands: [Operand<'_>; 2]) -> bool {
    operands.iter().any(|x| matches!(x, Operand::Tensor(t) if t.dtype().is_half()))
}

/// [`operator`] of a half operand.
#[cold]
#[inline(never)]
fn in_float32(
    x: Operand<'_>,
    y: Operand<'_>,
    f: impl FnOnce(Operand<'_>, Operand<'_>) -> Result<Tensor>,
) -> Result<Tensor> {
    let dtype = |x| match x {
        Operand::Tensor(t) => Some(t.dtype()).filter(|d| d.is_differentiable()),
        Operand::Number(_) => None,
    };
    let wide = |x| match x {
        Operand::Tensor(t) if t.dtype().is_half() => cast(t, DType::F32).map(Some),
        _ => Ok(None),
    };
    let (a, b) = (wide(x)?, wide(y)?);
    let found = f(a.as_ref().map_or(x, Operand::from), b.as_ref().map_or(y, Operand::from))?;
    match dtype(x).into_iter().chain(dtype(y)).reduce(DType::promote) {
        Some(half) if half.is_half() => narrowed(found, half),
        _ => Ok(found),
    }
}

/// [`operator`] for one that applies one op to operands of one float dtype.
///
/// # Errors
/// Those of the operator.
#[inline(always)]
pub fn row_operator(
    x: Operand<'_>,
    y: Operand<'_>,
    f: impl FnOnce(Operand<'_>, Operand<'_>) -> Result<Tensor>,
) -> Result<Tensor> {
    if has_half([x, y]) { row_of_halves(x, y, f) } else { f(x, y) }
}

/// [`row_operator`] of a half operand.
#[cold]
#[inline(never)]
fn row_of_halves(
    x: Operand<'_>,
    y: Operand<'_>,
    f: impl FnOnce(Operand<'_>, Operand<'_>) -> Result<Tensor>,
) -> Result<Tensor> {
    let tensor = |x| if let Operand::Tensor(t) = x { Some(t) } else { None };
    if are_taken([x, y].into_iter().map(tensor)) { f(x, y) } else { in_float32(x, y, f) }
}

/// Whether one op, element by element or a sum, computes with these operands as they are, a tile at a time: they have one half
/// dtype, and nothing is recorded. A recorded op records its conversions too, so that its rules are computed in float32.
/// Programs have tiles of their own.
fn are_taken<'a>(operands: impl Iterator<Item = Option<&'a Tensor>> + Clone) -> bool {
    let first = operands.clone().flatten().map(Tensor::dtype).next();
    let is_taken = |t: &Tensor| t.edge.is_none() && Some(t.dtype()) == first;
    first.is_some_and(DType::is_half)
        && !modes::flags().has(Flags::TRACING)
        && operands.into_iter().all(|t| t.is_some_and(is_taken))
}

fn tensors(arg: &Arg) -> &[Tensor] {
    match arg {
        Arg::Tensor(t) => std::slice::from_ref(t),
        Arg::Tensors(list) => list,
        _ => &[],
    }
}

fn is_half(arg: &Arg) -> bool {
    matches!(arg, Arg::DType(d) if d.is_half()) || tensors(arg).iter().any(|t| t.dtype().is_half())
}

fn widened(arg: &Arg) -> Result<Arg> {
    Ok(match arg {
        Arg::Tensor(t) => Arg::Tensor(wide(t)?),
        Arg::Tensors(list) => Arg::Tensors(list.iter().map(wide).collect::<Result<_>>()?),
        other => other.clone(),
    })
}

/// A tensor of a half dtype in float32; any other as it is.
pub(super) fn wide(t: &Tensor) -> Result<Tensor> {
    if t.dtype().is_half() { cast(t, DType::F32) } else { Ok(t.clone()) }
}

fn all_narrowed(found: Value, half: DType) -> Result<Value> {
    let all = |list: Vec<Tensor>| list.into_iter().map(|t| narrowed(t, half)).collect::<Result<_>>();
    Ok(match found {
        Value::Tensor(t) => Value::Tensor(narrowed(t, half)?),
        Value::List(list) => Value::List(all(list)?),
        Value::Tuple(list) => Value::Tuple(all(list)?),
        other => other,
    })
}

/// A tensor of float32 rounded to a half dtype; any other as it is.
pub(super) fn narrowed(t: Tensor, half: DType) -> Result<Tensor> {
    if t.dtype() == DType::F32 { cast(&t, half) } else { Ok(t) }
}
