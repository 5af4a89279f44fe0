//! Random numbers. The state is a seed and a position in its stream. Each draw takes the next part of the
//! stream, so the numbers depend on the seed and the earlier draws, never on threads.

mod laws;
mod mersenne;
mod state;

use std::f64::consts::FRAC_1_SQRT_2;
use std::sync::Arc;

pub use laws::as_pytorch;
use laws::{Law, integers, is_pytorch};
pub use state::{State, after_fork_in_child, before_fork, go_to, hold, position};
use state::{seed as seeded, with_state};

use super::check::{self, Test};
use super::entry::{Operand, Value, op};
use super::promote::{as_tensor, common, default_float, holds, promoted_float};
use super::sizes::sizes;
use crate::array::Array;
use crate::dtype::{DType, DTypeKind, Element, bf16, dispatch, f16};
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Levels, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tensor, modes,
};
use crate::kernel::interrupt;
use crate::kernel::random::{
    Stream, below, fill, join_words, normal32, normal64, per_block, uniform32, uniform64,
};
use crate::ops::movement::{broadcast_to, cast, view_as_complex};
use crate::ops::pointwise::arithmetic::{add_same, masked, multiply_same, subtract_same};
use crate::ops::pointwise::compare::less_same;
use crate::shape::{self, Dims};
use crate::stored::Stored;

fn give_up_trace() {
    if let Some(trace) = modes::trace() {
        trace.give_up("it reads or sets the state of the random numbers");
    }
}

/// The next part of the stream, enough for `n` numbers at `each` numbers for each block.
fn next(n: usize, each: usize) -> Stream {
    with_state(|State { stream, .. }| {
        let stretch = *stream;
        stream.block = stream.block.wrapping_add(n.div_ceil(each) as u64);
        stretch
    })
}

fn real(op: &'static str, dtype: Option<DType>) -> Result<DType> {
    match dtype.unwrap_or_else(default_float) {
        d if d.is_float() => Ok(d),
        d => bail!(Dtype, op, "random floats are no {d}"),
    }
}

/// A dtype of floats or complex numbers.
fn inexact(op: &'static str, dtype: Option<DType>) -> Result<DType> {
    match dtype {
        Some(d) if d.is_complex() => Ok(d),
        d => real(op, d),
    }
}

/// Complex numbers whose parts are drawn, times a number.
fn pairs(
    op: &'static str,
    dims: &[usize],
    dtype: DType,
    scale: f64,
    draw: fn(&'static str, &[usize], DType) -> Result<Array>,
) -> Result<Array> {
    let dims: Dims = dims.iter().copied().chain([2]).collect();
    let parts = Tensor::constant(draw(op, &dims, dtype.real())?);
    Ok(view_as_complex(&multiply_same(&parts, &Tensor::scalar_of(parts.dtype(), scale))?)?.array)
}

/// New numbers: `W` words of the stream make `N` numbers.
fn drawn_of<T: Element, const W: usize, const N: usize>(
    op: &'static str,
    dims: &[usize],
    make: impl Fn([u32; W]) -> [T; N] + Sync + Copy,
) -> Result<Array> {
    fill(op, dims, next(shape::len(dims), per_block(W, N)), make)
}

fn uniform_array(op: &'static str, dims: &[usize], dtype: DType) -> Result<Array> {
    match dtype {
        DType::C64 | DType::C128 => pairs(op, dims, dtype, 1.0, uniform_array),
        // As many bits as the dtype has, since a number that is rounded may become 1.
        DType::F16 => drawn_of(op, dims, |[w]| [f16::from_f32((w >> 21) as f32 / 2048.0)]),
        DType::BF16 => drawn_of(op, dims, |[w]| [bf16::from_f32((w >> 24) as f32 / 256.0)]),
        DType::F32 => drawn_of(
            op,
            dims,
            #[inline(always)]
            |[w]| [uniform32(w)],
        ),
        _ => drawn_of(
            op,
            dims,
            #[inline(always)]
            |w| [uniform64(join_words(w))],
        ),
    }
}

fn normal_array(op: &'static str, dims: &[usize], dtype: DType) -> Result<Array> {
    match dtype {
        // Each part has half of the variance.
        DType::C64 | DType::C128 => pairs(op, dims, dtype, FRAC_1_SQRT_2, normal_array),
        DType::F32 => drawn_of(op, dims, normal32),
        half if half.is_half() => {
            crate::kernel::pointwise::cast::cast(&normal_array(op, dims, DType::F32)?, half)
        }
        // The first number of a pair lies in (0, 1], so its logarithm is finite.
        _ => drawn_of(op, dims, |[a, b, c, d]| {
            normal64(1.0 - uniform64(join_words([a, b])), uniform64(join_words([c, d])))
        }),
    }
}

/// A kind of random numbers.
#[derive(Clone, Copy, Stored)]
enum Numbers {
    Uniform(DType),
    Normal(DType),
    /// Integers from `low` on, of which there are `range`.
    Integers {
        low: i64,
        range: u64,
        dtype: DType,
    },
    /// Orders of so many numbers, one after the other.
    Orders(usize),
    /// 0 with probability `p`, else `1 / (1 - p)`.
    Kept {
        p: f64,
        dtype: DType,
    },
    /// Numbers that PyTorch draws.
    PyTorch(Law, DType),
}

impl Numbers {
    /// The same kind of numbers, as PyTorch draws them.
    fn of_pytorch(self) -> Numbers {
        let (law, dtype) = match self {
            Numbers::Uniform(dtype) => (Law::Uniform { low: 0.0, high: 1.0 }, dtype),
            Numbers::Normal(dtype) => (Law::Normal { mean: 0.0, std: 1.0 }, dtype),
            Numbers::Integers { low, range, dtype } => (integers(low, range), dtype),
            Numbers::Orders(each) => (Law::Orders(each), DType::I64),
            Numbers::Kept { p, dtype } => (Law::Kept { p }, dtype),
            Numbers::PyTorch(law, dtype) => (law, dtype),
        };
        Numbers::PyTorch(law, dtype)
    }

    /// The dtype of the numbers. None if there are none of it.
    fn dtype(self) -> Option<DType> {
        match self {
            Numbers::Uniform(dtype) | Numbers::Normal(dtype) => Some(dtype).filter(|d| d.is_differentiable()),
            Numbers::Integers { dtype, .. } | Numbers::Kept { dtype, .. } => Some(dtype),
            Numbers::PyTorch(_, dtype) => Some(dtype),
            Numbers::Orders(_) => Some(DType::I64),
        }
    }

    fn draw(self, op: &'static str, dims: &[usize]) -> Result<Array> {
        match self {
            Numbers::Uniform(dtype) => uniform_array(op, dims, dtype),
            Numbers::Normal(dtype) => normal_array(op, dims, dtype),
            Numbers::Integers { low, range, dtype } => {
                let number = move |bits| low.wrapping_add(below(bits, range) as i64);
                dispatch!(dtype, all T => drawn_of(op, dims, #[inline(always)] |w| {
                    [<T as crate::dtype::Element>::from_i64(number(join_words(w)))]
                }))
            }
            Numbers::Orders(each) => {
                let stream = next(shape::len(dims), 1);
                let bits = fill(op, dims, stream, |[a, b, _, _]| [join_words([a, b])])?;
                let bits = bits.as_slice::<u64>().expect("contiguous");
                Array::build::<i64>(op, dims, |all| {
                    let each = each.max(1);
                    all.chunks_mut(each).zip(bits.chunks(each)).for_each(|(out, bits)| shuffled(out, bits));
                })
            }
            Numbers::Kept { p, dtype } => {
                let scale = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
                let dropped = move |bits: u32| f64::from(bits) < p * (1u64 << 32) as f64;
                if dtype == DType::F64 {
                    return drawn_of(
                        op,
                        dims,
                        #[inline(always)]
                        |[w]| [if dropped(w) { 0.0 } else { scale }],
                    );
                }
                let drawn = drawn_of(
                    op,
                    dims,
                    #[inline(always)]
                    |[w]| [if dropped(w) { 0.0 } else { scale as f32 }],
                )?;
                crate::kernel::pointwise::cast::cast(&drawn, dtype)
            }
            Numbers::PyTorch(law, dtype) => law.draw(op, dims, dtype),
        }
    }
}

/// New numbers of a shape for a value with these levels, with the hidden axes that the running `vmap` calls
/// ask for.
fn drawn(op: &'static str, own: &Levels, dims: &[usize], numbers: Numbers) -> Result<Tensor> {
    let Some(levels) = modes::random_levels(own) else {
        bail!(
            Argument,
            op,
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or \
             'different' randomness flags on vmap or perform the randomness operation out of vmap"
        );
    };
    let dims: Dims = levels.as_slice().iter().map(|l| l.batch_size).chain(dims.iter().copied()).collect();
    let numbers = if is_pytorch() { numbers.of_pytorch() } else { numbers };
    let array = match modes::trace() {
        Some(trace) => trace.source(Arc::new(Draw { op, dims, numbers }))?,
        None => numbers.draw(op, &dims)?,
    };
    Ok(Tensor::made(array, None, levels))
}

/// New random numbers, as a program draws them in each run.
#[derive(Stored)]
#[stored(op)]
struct Draw {
    op: &'static str,
    dims: Dims,
    numbers: Numbers,
}

impl Op for Draw {
    fn name(&self) -> &'static str {
        self.op
    }

    fn forward(&self, _: &[&Array], _: usize) -> Result<Outputs> {
        Ok([self.numbers.draw(self.op, &self.dims)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        ins.each::<0>()?;
        Some(Made::from_elem((self.numbers.dtype()?, self.dims.clone()), 1))
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no inputs")
    }
}

/// New numbers of a shape, the same for all batch elements unless `vmap` says otherwise.
fn shaped(op: &'static str, dims: &[usize], numbers: Numbers) -> Result<Tensor> {
    drawn(op, &Levels::default(), dims, numbers)
}

/// New numbers with the shape of another tensor, different for each batch element unless `vmap` says
/// otherwise.
fn alike(op: &'static str, x: &Tensor, numbers: Numbers) -> Result<Tensor> {
    drawn(op, &x.levels, x.dims(), numbers)
}

/// Uniform numbers in [0, 1), in the default float dtype unless another is given. Inside `vmap` all batch
/// elements get the same numbers; `rand_like` of a batched tensor gives each its own.
///
/// ```python
/// >>> fg.rand((2, 3)).shape
/// (2, 3)
/// ```
#[op(function, half, draws)]
pub fn rand(shape: &[i64], #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    let dtype = inexact("rand", dtype)?;
    shaped("rand", &sizes("rand", shape, dtype)?, Numbers::Uniform(dtype))
}

/// Normal numbers with mean 0 and standard deviation 1; of complex ones each part has half of the variance. Inside `vmap` all batch elements get the same
/// numbers; `randn_like` of a batched tensor gives each its own.
///
/// ```python
/// >>> fg.randn((2, 3)).shape
/// (2, 3)
/// ```
#[op(function, names("randn", "standard_normal"), half, draws)]
pub fn randn(shape: &[i64], #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    let dtype = inexact("randn", dtype)?;
    shaped("randn", &sizes("randn", shape, dtype)?, Numbers::Normal(dtype))
}

/// Uniform numbers in [0, 1) of the shape and dtype of x. Inside `vmap` each batch element gets its own.
///
/// ```python
/// >>> fg.rand_like(fg.tensor([1.0, 2.0])).shape
/// (2,)
/// ```
#[op(function, half, draws, torch(LaidByElements))]
pub fn rand_like(x: &Tensor, #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    let dtype = inexact("rand_like", dtype.or(Some(x.dtype())))?;
    alike("rand_like", x, Numbers::Uniform(dtype))
}

/// Normal numbers of the shape and dtype of x. Inside `vmap` each batch element gets its own.
///
/// ```python
/// >>> fg.randn_like(fg.tensor([1.0, 2.0])).shape
/// (2,)
/// ```
#[op(function, half, draws, torch(LaidByElements))]
pub fn randn_like(x: &Tensor, #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    let dtype = inexact("randn_like", dtype.or(Some(x.dtype())))?;
    alike("randn_like", x, Numbers::Normal(dtype))
}

/// Integers from low up to but not including high (with one number, from 0 up to it), each as likely, int64
/// unless another dtype is given. Truth values hold 0 and 1.
///
/// ```python
/// >>> fg.randint(0, 10, (2, 3)).shape
/// (2, 3)
/// ```
#[op(function, draws)]
pub fn randint(
    low: i64,
    #[default(None)] high: Option<i64>,
    #[default([])] shape: &[i64],
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    let (low, high) = high.map_or((0, low), |high| (low, high));
    let dtype = dtype.unwrap_or(DType::I64);
    if low >= high {
        bail!(Argument, "randint", "no integer lies from {low} up to {high}");
    }
    let fits = match dtype {
        DType::Bool => low >= 0 && high <= 2,
        _ if dtype.kind() != DTypeKind::Int => true,
        _ => holds(dtype, i128::from(low)) && holds(dtype, i128::from(high) - 1),
    };
    if !fits {
        bail!(Dtype, "randint", "{dtype} does not hold the integers from {low} up to {high}");
    }
    let dims = sizes("randint", shape, dtype)?;
    let range = high.wrapping_sub(low) as u64;
    let drawn = if dtype == DType::Bool { DType::U8 } else { dtype };
    cast(&shaped("randint", &dims, Numbers::Integers { low, range, dtype: drawn })?, dtype)
}

/// The integers below n in random order, every order as likely.
///
/// ```python
/// >>> sorted(fg.randperm(4).tolist())
/// [0, 1, 2, 3]
/// ```
#[op(function, draws)]
pub fn randperm(n: i64, #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    let dtype = dtype.unwrap_or(DType::I64);
    let dims = sizes("randperm", &[n], DType::I64)?;
    if dtype == DType::Bool || (dtype.kind() == DTypeKind::Int && n > 0 && !holds(dtype, i128::from(n) - 1)) {
        bail!(Dtype, "randperm", "{dtype} does not hold the integers below {n}");
    }
    let order = shaped("randperm", &dims, Numbers::Orders(dims[0]))?;
    cast(&order, dtype)
}

/// The indices of a list in random order: Fisher and Yates' shuffle, from the back.
fn shuffled(out: &mut [i64], bits: &[u64]) {
    for (i, o) in out.iter_mut().enumerate() {
        *o = i as i64;
    }
    let n = out.len();
    for part in interrupt::parts(1..n, 1) {
        for i in part.map(|k| n - k) {
            out.swap(i, below(bits[i], i as u64 + 1) as usize);
        }
    }
}

/// `start + scale * numbers`, with numbers of the given shape, or of the shape that the two broadcast to.
fn scaled(
    op: &'static str,
    (start, scale): (&Tensor, &Tensor),
    shape: Option<&[i64]>,
    numbers: fn(DType) -> Numbers,
) -> Result<Tensor> {
    let mut like = add_same(&start.detach(), &scale.detach())?;
    if let Some(shape) = shape {
        like = broadcast_to(&like, &sizes(op, shape, start.dtype())?)?;
    }
    let numbers = alike(op, &like, numbers(like.dtype()))?;
    add_same(start, &multiply_same(&numbers, scale)?)
}

fn floats(op: &'static str, x: Operand<'_>, y: Operand<'_>, dtype: Option<DType>) -> Result<[Tensor; 2]> {
    let dtype = match dtype {
        Some(_) => real(op, dtype)?,
        None => Some(common(x, y)).filter(|d| d.is_float()).unwrap_or_else(default_float),
    };
    Ok([as_tensor(x, dtype)?.into_owned(), as_tensor(y, dtype)?.into_owned()])
}

/// Uniform numbers from low up to high, which are numbers or tensors that broadcast to the shape (to each
/// other if none is given). Differentiable in both.
///
/// ```python
/// >>> fg.uniform(-1.0, 1.0, (2, 3)).shape
/// (2, 3)
/// ```
#[op(function, draws)]
pub fn uniform(
    #[default(0.0)] low: Operand<'_>,
    #[default(1.0)] high: Operand<'_>,
    #[default(None)] shape: Option<&[i64]>,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    let [low, high] = floats("uniform", low, high, dtype)?;
    scaled("uniform", (&low, &subtract_same(&high, &low)?), shape, Numbers::Uniform)
}

/// Normal numbers with a mean and a standard deviation, which are numbers or tensors that broadcast to the
/// shape (to each other if none is given). Differentiable in both.
///
/// ```python
/// >>> fg.normal(5.0, 2.0, (2, 3)).shape
/// (2, 3)
/// ```
#[op(function, draws)]
pub fn normal(
    #[default(0.0)] mean: Operand<'_>,
    #[default(1.0)] std: Operand<'_>,
    #[default(None)] shape: Option<&[i64]>,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    let [mean, std] = floats("normal", mean, std, dtype)?;
    check::all("normal", &std, Test::NotNegative, "a standard deviation is not negative")?;
    scaled("normal", (&mean, &std), shape, Numbers::Normal)
}

/// 1 with the probability that the element of x gives, else 0, in the dtype of x. Inside `vmap` each batch
/// element gets its own numbers. Refused for elements outside of [0, 1].
///
/// ```python
/// >>> fg.bernoulli(fg.tensor([0.0, 1.0])).tolist()
/// [0.0, 1.0]
/// ```
#[op(method, draws)]
pub fn bernoulli(x: &Tensor) -> Result<Tensor> {
    let p = promoted_float(&x.detach())?.into_owned();
    check::all("bernoulli", &p, Test::Unit, "a probability lies between 0 and 1")?;
    let drawn = alike("bernoulli", &p, Numbers::Uniform(p.dtype()))?;
    cast(&less_same(&drawn, &p)?, p.dtype())
}

/// Each element set to 0 with probability p and the others divided by 1 - p, so that the mean stays; x itself
/// when not training. The same elements are dropped from the gradient. Inside `vmap` each batch element gets
/// its own numbers.
///
/// ```python
/// >>> fg.dropout(fg.tensor([1.0, 2.0]), 0.5, training=False).tolist()
/// [1.0, 2.0]
/// ```
#[op(function, draws, torch(GivesBack, LaidByElements))]
pub fn dropout(x: &Tensor, #[default(0.5)] p: f64, #[default(true)] training: bool) -> Result<Tensor> {
    if !(0.0..=1.0).contains(&p) {
        bail!(Argument, "dropout", "p is a probability between 0 and 1, not {p}");
    }
    let x = promoted_float(x)?;
    if !training || p == 0.0 {
        return Ok(x.into_owned());
    }
    let mask = alike("dropout", &x, Numbers::Kept { p, dtype: x.dtype() })?;
    masked(&x, &mask)
}

/// Seeds the random numbers: the same draws after it give the same numbers, on any number of threads.
///
/// ```python
/// >>> fg.manual_seed(0)
/// ```
#[op(function, names("manual_seed", "seed"))]
pub fn manual_seed(seed: i64) -> Result<Value> {
    give_up_trace();
    seeded(|state| state.stream = Stream { seed: seed.cast_unsigned(), block: 0 });
    Ok(Value::None)
}

/// The state of the random numbers, two uint64 numbers: the seed and the position in its stream.
///
/// ```python
/// >>> fg.manual_seed(7)
/// >>> fg.get_rng_state().tolist()
/// [7, 0]
/// ```
#[op(function)]
pub fn get_rng_state() -> Result<Tensor> {
    give_up_trace();
    let Stream { seed, block } = with_state(|state| state.stream);
    Ok(Tensor::constant(Array::from_slice(&[seed, block], &[2])?))
}

/// Goes back to a state of the random numbers: the same numbers follow again.
///
/// ```python
/// >>> fg.set_rng_state(fg.get_rng_state())
/// ```
#[op(function)]
pub fn set_rng_state(state: &Tensor) -> Result<Value> {
    give_up_trace();
    if state.dtype() != DType::U64 || state.array.dims() != [2] {
        bail!(Argument, "set_rng_state", "a state is what get_rng_state() gave: two numbers of uint64");
    }
    let words = state.array.view::<u64>();
    with_state(|state| state.stream = Stream { seed: words[0], block: words[1] });
    Ok(Value::None)
}
