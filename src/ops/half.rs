//! Functions on float16 and bfloat16. They compute in float32 and round their results once. The conversions are recorded,
//! so gradients are computed in float32 too, up to the operands.

use smallvec::SmallVec;

use super::entry::{Arg, Entry, Operand, Value};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::movement::cast;

/// Calls an entry. Tensors of a half dtype are given to it in float32, unless it takes them as they are. Its results
/// have the half dtype that was asked for, or else that of the operands.
///
/// # Errors
/// Those of the entry.
pub fn call(entry: &Entry, args: &[Arg]) -> Result<Value> {
    if entry.takes_half || !args.iter().any(is_half) {
        return (entry.call)(args);
    }
    let asked = args.iter().find_map(|arg| if let Arg::DType(d) = arg { Some(*d) } else { None });
    let wide = args.iter().map(widened).collect::<Result<SmallVec<[Arg; 8]>>>()?;
    let floats = || args.iter().flat_map(tensors).map(Tensor::dtype).filter(|d| d.is_differentiable());
    let found = (entry.call)(&wide)?;
    let half = asked.or_else(|| match floats().reduce(DType::promote) {
        // The function has not promoted: it keeps the dtype of its first operand.
        Some(DType::F64) => floats().find(|d| d.is_half()),
        promoted => promoted,
    });
    let Some(half) = half.filter(|d| d.is_half()) else { return Ok(found) };
    let all = |list: Vec<Tensor>| list.into_iter().map(|t| narrowed(t, half)).collect::<Result<_>>();
    Ok(match found {
        Value::Tensor(t) => Value::Tensor(narrowed(t, half)?),
        Value::List(list) => Value::List(all(list)?),
        Value::Tuple(list) => Value::Tuple(all(list)?),
        other => other,
    })
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
    let is_half = |x| matches!(x, Operand::Tensor(t) if t.dtype().is_half());
    if is_half(x) || is_half(y) { in_float32(x, y, f) } else { f(x, y) }
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
    let wide = |t: &Tensor| if t.dtype().is_half() { cast(t, DType::F32) } else { Ok(t.clone()) };
    Ok(match arg {
        Arg::DType(d) if d.is_half() => Arg::DType(DType::F32),
        Arg::Tensor(t) => Arg::Tensor(wide(t)?),
        Arg::Tensors(list) => Arg::Tensors(list.iter().map(wide).collect::<Result<_>>()?),
        other => other.clone(),
    })
}

fn narrowed(t: Tensor, half: DType) -> Result<Tensor> {
    if t.dtype() == DType::F32 { cast(&t, half) } else { Ok(t) }
}
