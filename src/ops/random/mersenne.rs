//! The stream of PyTorch's numbers as Python sees it: draws of one law, and its states.

use super::laws::{Law, all_integers, one_by_one};
use super::state::{State, go_to, seed, with_state};
use super::{Numbers, give_up_trace, shaped};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::kernel::mersenne::{BYTES, Mersenne};
use crate::kernel::pointwise::cast::cast;
use crate::kernel::random::Stream;
use crate::ops::entry::{Value, op};
use crate::ops::sizes::sizes;

/// Numbers of a law as PyTorch draws them, of a shape and a dtype: "uniform" in [a, b), "normal" and "log_normal" with mean
/// a and deviation b, "exponential" with rate a, "cauchy" with median a and scale b, "geometric" with probability a,
/// "coin" with probability a of 1, and "whole" for all integers from 0 on that the dtype holds.
///
/// ```python
/// >>> import ferrograd.torch as torch
/// >>> torch.manual_seed(0).initial_seed()
/// 0
/// >>> torch.empty(2).uniform_(0, 1)
/// tensor([0.4963, 0.7682])
/// ```
#[op(function, in mersenne, half)]
pub fn draw(
    law: &str,
    shape: &[i64],
    dtype: DType,
    #[default(0.0)] a: f64,
    #[default(1.0)] b: f64,
) -> Result<Tensor> {
    let law = match law {
        "uniform" => Law::Uniform { low: a, high: b },
        "normal" => Law::Normal { mean: a, std: b },
        "log_normal" => Law::LogNormal { mean: a, std: b },
        "exponential" => Law::Exponential { rate: a },
        "cauchy" => Law::Cauchy { median: a, sigma: b },
        "geometric" => Law::Geometric { p: a },
        "coin" => Law::Coin { p: a },
        "whole" => all_integers(dtype),
        other => bail!(Argument, "draw", "'{other}' is no law of random numbers"),
    };
    let dims = sizes("draw", shape, dtype)?;
    shaped("draw", &dims, Numbers::PyTorch(law, dtype))
}

/// One number for each element of x, in the dtype of x, as PyTorch draws it: of the "gamma" distribution with that shape, of
/// the logarithms of such numbers ("log_gamma"), or of the "poisson" distribution with that rate. No gradient flows to x.
///
/// ```python
/// >>> from ferrograd._core.native import mersenne
/// >>> mersenne.draw_each("poisson", fg.tensor([0.0, 0.0])).tolist()
/// [0.0, 0.0]
/// ```
#[op(function, in mersenne)]
pub fn draw_each(law: &str, x: &Tensor) -> Result<Tensor> {
    give_up_trace();
    let parameters = cast(&x.array.contiguous()?, DType::F64)?;
    let parameters = parameters.as_slice::<f64>().expect("a cast of a contiguous array is contiguous");
    if parameters.iter().any(|&p| !(0.0..f64::INFINITY).contains(&p)) {
        let what = if law == "poisson" { "rates" } else { "concentrations" };
        bail!(Argument, "draw_each", "{what} must be finite, and not negative or NaN");
    }
    let dims = x.array.dims();
    let drawn = match law {
        "gamma" => one_by_one("draw_each", dims, |source, i| source.gamma(parameters[i]))?,
        "log_gamma" => one_by_one("draw_each", dims, |source, i| source.log_gamma(parameters[i]))?,
        "poisson" => one_by_one("draw_each", dims, |source, i| source.poisson(parameters[i]))?,
        other => bail!(Argument, "draw_each", "'{other}' is no law of random numbers"),
    };
    Ok(Tensor::made(cast(&drawn, x.dtype())?, None, x.levels.clone()))
}

/// Numbers of successes in `count` trials, each with the probability `prob`, as PyTorch draws them: two tensors of one shape,
/// of which the first gives the dtype. No gradient flows to them.
///
/// ```python
/// >>> from ferrograd._core.native import mersenne
/// >>> mersenne.draw_binomial(fg.tensor([3.0, 3.0]), fg.tensor([0.0, 1.0])).tolist()
/// [0.0, 3.0]
/// ```
#[op(function, in mersenne)]
pub fn draw_binomial(count: &Tensor, prob: &Tensor) -> Result<Tensor> {
    give_up_trace();
    if count.array.dims() != prob.array.dims() {
        bail!(Shape, "draw_binomial", "count and prob have one shape");
    }
    let doubles = |x: &Tensor| cast(&x.array.contiguous()?, DType::F64);
    let (counts, probs) = (doubles(count)?, doubles(prob)?);
    let (n, p) = (counts.as_slice::<f64>(), probs.as_slice::<f64>());
    let (n, p) = n.zip(p).expect("a cast of a contiguous array is contiguous");
    if !n.iter().zip(p).all(|(n, p)| (0.0..TWO_63).contains(n) && (0.0..=1.0).contains(p)) {
        let what = "counts lie between 0 and 2**63 and probabilities between 0 and 1";
        bail!(Argument, "binomial", "{what}");
    }
    let is_single = count.dtype() == DType::F32;
    let draw = |source: &mut Mersenne, i: usize| source.binomial(n[i], p[i], is_single);
    let drawn = one_by_one("draw_binomial", count.array.dims(), draw)?;
    Ok(Tensor::made(cast(&drawn, count.dtype())?, None, count.levels.clone()))
}

/// Counts of trials are below this.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// Seeds the stream that `torch` draws from.
///
/// ```python
/// >>> from ferrograd._core.native import mersenne
/// >>> mersenne.seed(0)
/// ```
#[op(function, in mersenne, names("seed"))]
pub fn seed_mersenne(number: i64) -> Result<Value> {
    give_up_trace();
    seed(|state| state.mersenne = Mersenne::new(number.cast_unsigned()));
    Ok(Value::None)
}

/// The state of the stream that `torch` draws from, as the bytes that PyTorch writes.
///
/// ```python
/// >>> from ferrograd._core.native import mersenne
/// >>> mersenne.state().shape
/// (5056,)
/// ```
#[op(function, in mersenne, names("state"))]
pub fn mersenne_state() -> Result<Tensor> {
    give_up_trace();
    let bytes = with_state(|state| state.mersenne.to_bytes());
    Ok(Tensor::constant(Array::from_slice(&bytes, &[BYTES])?))
}

/// Goes to a state of the stream that `torch` draws from, and returns the one that it had.
///
/// ```python
/// >>> from ferrograd._core.native import mersenne
/// >>> before = mersenne.exchange(mersenne.state())
/// ```
#[op(function, in mersenne, names("exchange"))]
pub fn exchange_mersenne(state: &Tensor) -> Result<Tensor> {
    give_up_trace();
    let bytes = state.array.contiguous()?;
    let bytes = if state.dtype() == DType::U8 { bytes.as_slice::<u8>() } else { None };
    let Some(found) = bytes.and_then(Mersenne::from_bytes) else {
        let what = format!("{BYTES} numbers of uint8");
        bail!(Argument, "exchange", "a state is what get_state() gave, here or in PyTorch: {what}");
    };
    let before = with_state(|state| std::mem::replace(&mut state.mersenne, found));
    Ok(Tensor::constant(Array::from_slice(&before.to_bytes(), &[BYTES])?))
}

/// The states of all streams, this one and that of other dialects, as numbers of uint8.
///
/// ```python
/// >>> from ferrograd._core.native import mersenne
/// >>> mersenne.set_streams(mersenne.streams())
/// ```
#[op(function, in mersenne)]
pub fn streams() -> Result<Tensor> {
    give_up_trace();
    let bytes = with_state(|State { stream, mersenne }| {
        let mut bytes = mersenne.to_bytes();
        bytes.extend(stream.seed.to_le_bytes());
        bytes.extend(stream.block.to_le_bytes());
        bytes
    });
    Ok(Tensor::constant(Array::from_slice(&bytes, &[bytes.len()])?))
}

/// Puts all streams back where [`streams`] found them.
///
/// ```python
/// >>> from ferrograd._core.native import mersenne
/// >>> mersenne.set_streams(mersenne.streams())
/// ```
#[op(function, in mersenne)]
pub fn set_streams(state: &Tensor) -> Result<Value> {
    give_up_trace();
    let bytes = state.array.contiguous()?;
    let bytes = if state.dtype() == DType::U8 { bytes.as_slice::<u8>() } else { None };
    let found = bytes.and_then(|bytes| bytes.split_at_checked(BYTES)).and_then(|(words, rest)| {
        let (seed, block) =
            rest.split_first_chunk::<8>().and_then(|(a, b)| Some((*a, b.try_into().ok()?)))?;
        let stream = Stream { seed: u64::from_le_bytes(seed), block: u64::from_le_bytes(block) };
        Some(State { stream, mersenne: Mersenne::from_bytes(words)? })
    });
    let Some(found) = found else { bail!(Argument, "set_streams", "a state is what streams() gave") };
    go_to(found);
    Ok(Value::None)
}
