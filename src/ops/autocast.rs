//! Autocast: while it is on, products and convolutions have results of a half dtype, and functions that lose too many
//! digits in it compute in float32. The lists are PyTorch's for the CPU, as far as its functions are entries. The
//! half dtypes compute in float32, so nothing is gained by rounding operands: those of float32 are taken as they are.

use super::entry::{Arg, Entry, Value};
use super::half;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Tensor;
use crate::graph::modes::{self, Flags};

/// Functions whose results are rounded to the half dtype.
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

/// Calls an entry as autocast has it.
///
/// # Errors
/// Those of the entry.
#[inline]
pub fn call(entry: &Entry, args: &[Arg]) -> Result<Value> {
    match is_on().then(|| chosen(entry.names)).flatten() {
        Some(DType::F32) => half::call(entry, &half::all_widened(args)?),
        Some(dtype) => half::call_rounded(entry, args, dtype),
        None => half::call(entry, args),
    }
}

/// The product of two tensors, as [`call`] has it.
///
/// # Errors
/// Those of the product.
#[inline]
pub fn product(x: &Tensor, y: &Tensor, f: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    match is_on().then(|| modes::with(|m| m.autocast)).flatten() {
        Some(dtype) => {
            let (x, y) = (half::wide(x)?, half::wide(y)?);
            half::narrowed(half::rounding_factors(dtype, || f(&x, &y))?, dtype)
        }
        None => f(x, y),
    }
}

/// The dtype that a function computes in while autocast is on.
#[cold]
fn chosen(names: &[&str]) -> Option<DType> {
    let dtype = modes::with(|m| m.autocast)?;
    let is_in = |list: &[&str]| names.iter().any(|name| list.contains(name));
    if is_in(HALF) { Some(dtype) } else { is_in(FLOAT32).then_some(DType::F32) }
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
