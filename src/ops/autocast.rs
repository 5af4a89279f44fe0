//! Autocast: while it is on, functions that gain from a half dtype get their operands in it, and functions that lose
//! too many digits in it compute in float32. The lists are PyTorch's for the CPU, as far as its functions are entries.

use super::entry::{Arg, Entry, Value};
use super::half;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Tensor;
use crate::graph::modes::{self, Flags};
use crate::ops::movement::cast;

/// Functions that compute in the half dtype.
const HALF: &[&str] = &[
    "addbmm",
    "addmm",
    "baddbmm",
    "bmm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "einsum",
    "linear",
    "matmul",
    "prelu",
    "tensordot",
];

/// Functions that compute in float32.
const FLOAT32: &[&str] = &[
    "adaptive_avg_pool3d",
    "avg_pool3d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cdist",
    "cross_entropy",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "linalg.cholesky",
    "linalg.cond",
    "linalg.eigh",
    "linalg.eigvalsh",
    "linalg.inv",
    "linalg.lstsq",
    "linalg.matrix_rank",
    "linalg.pinv",
    "linalg.qr",
    "linalg.solve",
    "linalg.svd",
    "linalg.svdvals",
    "linalg.tensorinv",
    "linalg.tensorsolve",
    "max_pool3d",
    "mse_loss",
    "nanquantile",
    "nll_loss",
    "polar",
    "prod",
    "quantile",
    "smooth_l1_loss",
    "trace",
    "view_as_complex",
];

/// Whether autocast is on in this thread.
#[inline]
pub fn is_on() -> bool {
    modes::flags().has(Flags::AUTOCAST)
}

/// Calls an entry, with its operands cast as autocast has it.
///
/// # Errors
/// Those of the entry.
#[inline]
pub fn call(entry: &Entry, args: &[Arg]) -> Result<Value> {
    if is_on()
        && let Some(dtype) = chosen(entry.names)
    {
        let args = args.iter().map(|arg| converted(arg, dtype)).collect::<Result<Vec<_>>>()?;
        return half::call(entry, &args);
    }
    half::call(entry, args)
}

/// The product of two tensors, as [`call`] has it.
///
/// # Errors
/// Those of the product.
#[inline]
pub fn product(x: &Tensor, y: &Tensor, f: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    match is_on().then(|| modes::with(|m| m.autocast)).flatten() {
        Some(dtype) => f(&fitted(x, dtype)?, &fitted(y, dtype)?),
        None => f(x, y),
    }
}

/// The dtype of a function's operands while autocast is on.
#[cold]
fn chosen(names: &[&str]) -> Option<DType> {
    let dtype = modes::with(|m| m.autocast)?;
    let is_in = |list: &[&str]| names.iter().any(|name| list.contains(name));
    if is_in(HALF) { Some(dtype) } else { is_in(FLOAT32).then_some(DType::F32) }
}

/// A tensor of a half dtype or of float32 in the dtype; any other as it is.
fn fitted(t: &Tensor, dtype: DType) -> Result<Tensor> {
    if t.dtype().is_half() || t.dtype() == DType::F32 { cast(t, dtype) } else { Ok(t.clone()) }
}

fn converted(arg: &Arg, dtype: DType) -> Result<Arg> {
    Ok(match arg {
        Arg::Tensor(t) => Arg::Tensor(fitted(t, dtype)?),
        Arg::Tensors(list) => Arg::Tensors(list.iter().map(|t| fitted(t, dtype)).collect::<Result<_>>()?),
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_the_lists_is_an_entry() {
        let names: Vec<&str> = crate::ops::registry().flat_map(|e| e.names).copied().collect();
        for name in HALF.iter().chain(FLOAT32) {
            assert!(names.contains(name), "{name} is no entry");
        }
    }
}
