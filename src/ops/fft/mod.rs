//! Discrete Fourier transforms and functions made of them.
//!
//! The matrix of a transform is symmetric, so a transform of complex numbers is its own transpose. Real signals have half
//! of the frequencies, most of which stand for two. The transpose of a transform of a real signal is the one back with
//! the weights that the other one has not.

use smallvec::SmallVec;

use crate::array::Array;
use crate::dtype::{DType, Element, dispatch};
use crate::error::{Result, bail};
use crate::graph::{Made, Operands, Saved, Tensor, apply};
use crate::kernel::fft::{self as kernel, Transform};
use crate::ops::entry::{Axes, Operand, op};
use crate::ops::linear::{Linear, LinearOp};
use crate::ops::movement::{cast, pad, roll};
use crate::ops::promote::{default_float, promoted_float, promoted_inexact};
use crate::ops::sizes::sizes;
use crate::shape::{self, Dims};
use crate::stored::Stored;

pub mod stft;

/// The transform of complex numbers along axes, counted from the end.
#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Complex {
    backs: SmallVec<[usize; 4]>,
    transform: Transform,
}

impl Linear for Complex {
    const NAME: &'static str = "fft";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        let axes: SmallVec<[usize; 4]> = self.backs.iter().map(|back| x.rank() - back).collect();
        kernel::complex(Self::NAME, x, &axes, self.transform)
    }

    fn makes(&self, x: &Operands<'_>) -> Option<Made> {
        let (dtype, dims) = x.alike::<1>()?;
        let fits = dtype.is_complex() && self.backs.iter().all(|back| (1..=dims.len()).contains(back));
        if fits { x.make(&[(dtype, &[dims])]) } else { None }
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        apply(LinearOp(self.clone()), &[g])
    }
}

/// Between a real signal of `n` elements along an axis, counted from the end, and the first half of its frequencies.
#[derive(Clone, Stored)]
struct Half {
    back: usize,
    n: usize,
    weighted: bool,
    transform: Transform,
}

impl Half {
    fn along(&self, x: &Array) -> kernel::Half {
        kernel::Half { axis: x.rank() - self.back, n: self.n, weighted: self.weighted }
    }

    /// A shape with `to` elements along the axis in the place of `from`.
    fn between(&self, dims: &[usize], from: usize, to: usize) -> Option<Dims> {
        let axis = dims.len().checked_sub(self.back)?;
        if dims.get(axis) == Some(&from) { shape::resized(dims, self.back, to) } else { None }
    }

    fn transposed(&self) -> Half {
        Half { weighted: !self.weighted, ..self.clone() }
    }
}

/// The first half of the frequencies of a real signal.
#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct HalfOfReal(Half);

impl Linear for HalfOfReal {
    const NAME: &'static str = "rfft";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        kernel::half_of_real(Self::NAME, x, self.0.along(x), self.0.transform)
    }

    fn makes(&self, x: &Operands<'_>) -> Option<Made> {
        let (dtype, dims) = x.alike::<1>()?;
        let made = self.0.between(dims, self.0.n, self.0.n / 2 + 1).filter(|_| dtype.is_float())?;
        x.make(&[(dtype.complex(), &[&made])])
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        apply(LinearOp(RealOfHalf(self.0.transposed())), &[g])
    }
}

/// The real signal with these frequencies.
#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct RealOfHalf(Half);

impl Linear for RealOfHalf {
    const NAME: &'static str = "irfft";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        kernel::real_of_half(Self::NAME, x, self.0.along(x), self.0.transform)
    }

    fn makes(&self, x: &Operands<'_>) -> Option<Made> {
        let (dtype, dims) = x.alike::<1>()?;
        let made = self.0.between(dims, self.0.n / 2 + 1, self.0.n).filter(|_| dtype.is_complex())?;
        x.make(&[(dtype.real(), &[&made])])
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        apply(LinearOp(HalfOfReal(self.0.transposed())), &[g])
    }
}

/// What the public functions share: the axes in the order in which they were given, and the lengths along them.
struct Plan {
    op: &'static str,
    axes: SmallVec<[usize; 4]>,
    lengths: SmallVec<[usize; 4]>,
    transform: Transform,
}

impl Plan {
    /// For a function whose input, or if `is_half` its output along the last of the axes, has the lengths `s`.
    fn new(
        op: &'static str,
        x: &Tensor,
        (s, axes): (Option<&[i64]>, Axes<'_>),
        norm: Option<&str>,
        (inverse, is_half): (bool, bool),
    ) -> Result<Plan> {
        let rank = x.rank();
        let axes: SmallVec<[usize; 4]> = match (axes, s) {
            (Some(list), _) => {
                shape::axes(op, list, rank)?;
                list.iter().map(|&a| shape::axis(op, a, rank)).collect::<Result<_>>()?
            }
            (None, Some(s)) if s.len() > rank => {
                bail!(Argument, op, "{} lengths for the {rank} axes of {:?}", s.len(), x.dims())
            }
            (None, s) => (rank - s.map_or(rank, <[i64]>::len)..rank).collect(),
        };
        if s.is_some_and(|s| s.len() != axes.len()) {
            bail!(Argument, op, "{} lengths for {} axes", s.map_or(0, <[i64]>::len), axes.len());
        }
        let mut lengths: SmallVec<[usize; 4]> = SmallVec::new();
        for (i, &axis) in axes.iter().enumerate() {
            let own = match x.dims()[axis] as i64 {
                d if is_half && i + 1 == axes.len() => 2 * (d - 1),
                d => d,
            };
            let n = s.map_or(own, |s| if s[i] == -1 { own } else { s[i] });
            if n < 1 {
                bail!(Argument, op, "Invalid number of data points ({n}) specified along axis {axis}");
            }
            lengths.push(n as usize);
        }
        let all: f64 = lengths.iter().map(|&n| n as f64).product();
        let scale = match (norm.unwrap_or("backward"), inverse) {
            ("backward", true) | ("forward", false) => 1.0 / all,
            ("backward", false) | ("forward", true) => 1.0,
            ("ortho", _) => 1.0 / all.sqrt(),
            (other, _) => {
                bail!(Argument, op, "norm is 'backward', 'ortho' or 'forward', not '{other}'")
            }
        };
        Ok(Plan { op, axes, lengths, transform: Transform { inverse, scale } })
    }

    /// The tensor cut off, or with zeros behind it, to these lengths along the axes.
    fn fitted(&self, x: &Tensor, lengths: &[usize]) -> Result<Tensor> {
        let mut widths: SmallVec<[(i64, i64); 4]> = SmallVec::from_elem((0, 0), x.rank());
        for (&axis, &n) in self.axes.iter().zip(lengths) {
            widths[axis].1 = n as i64 - x.dims()[axis] as i64;
        }
        if widths.iter().all(|w| w.1 == 0) {
            return Ok(x.clone());
        }
        pad(x, &widths, "constant", Operand::from(0.0))
    }

    /// The transform of complex numbers along all axes but the last `skip`.
    fn complex(&self, x: &Tensor, skip: usize, transform: Transform) -> Result<Tensor> {
        let axes = &self.axes[..self.axes.len() - skip];
        if axes.is_empty() {
            return Ok(x.clone());
        }
        let backs = axes.iter().map(|axis| x.rank() - axis).collect();
        apply(LinearOp(Complex { backs, transform }), &[x])
    }

    fn half(&self, x: &Tensor, n: usize, scale: f64) -> Half {
        let transform = Transform { scale, ..self.transform };
        Half { back: x.rank() - self.axes[self.axes.len() - 1], n, weighted: false, transform }
    }

    /// The last length. Transforms of real signals need one.
    fn last(&self) -> Result<usize> {
        let Some(&n) = self.lengths.last() else {
            bail!(Argument, self.op, "at least one axis must be transformed");
        };
        Ok(n)
    }
}

/// The tensor as complex numbers.
fn as_complex(x: &Tensor) -> Result<Tensor> {
    let x = promoted_inexact(x)?;
    cast(&x, x.dtype().complex())
}

type Lengths<'a> = (Option<&'a [i64]>, Axes<'a>);

fn whole(op: &'static str, x: &Tensor, at: Lengths<'_>, norm: Option<&str>, inverse: bool) -> Result<Tensor> {
    let plan = Plan::new(op, x, at, norm, (inverse, false))?;
    plan.complex(&as_complex(&plan.fitted(x, &plan.lengths)?)?, 0, plan.transform)
}

/// From real signals to half of their frequencies.
fn to_half(
    op: &'static str,
    x: &Tensor,
    at: Lengths<'_>,
    norm: Option<&str>,
    inverse: bool,
) -> Result<Tensor> {
    let plan = Plan::new(op, x, at, norm, (inverse, false))?;
    let n = plan.last()?;
    if x.dtype().is_complex() {
        bail!(Dtype, op, "expects a real signal, not {}", x.dtype());
    }
    let x = plan.fitted(&*promoted_float(x)?, &plan.lengths)?;
    let alone = plan.axes.len() == 1;
    let half = plan.half(&x, n, if alone { plan.transform.scale } else { 1.0 });
    plan.complex(&apply(LinearOp(HalfOfReal(half)), &[&x])?, 1, plan.transform)
}

/// From half of the frequencies to real signals.
fn from_half(
    op: &'static str,
    x: &Tensor,
    at: Lengths<'_>,
    norm: Option<&str>,
    inverse: bool,
) -> Result<Tensor> {
    let plan = Plan::new(op, x, at, norm, (inverse, true))?;
    let n = plan.last()?;
    let mut lengths = plan.lengths.clone();
    if let Some(last) = lengths.last_mut() {
        *last = n / 2 + 1;
    }
    let x = as_complex(&plan.fitted(x, &lengths)?)?;
    let x = plan.complex(&x, 1, Transform { scale: 1.0, ..plan.transform })?;
    let half = plan.half(&x, n, plan.transform.scale);
    apply(LinearOp(RealOfHalf(half)), &[&x])
}

/// The functions of one, two and any number of axes: their names, their documentation and examples, and what
/// computes them.
macro_rules! transforms {
    ($($of:ident $inverse:literal: $one:ident $two:ident $any:ident, $what:literal, $lengths:literal, $example:literal;)*) => { $(
        #[doc = concat!($what, " along an axis. ", $lengths)]
        /// `norm` says which direction is divided by the number of points: 'backward', 'forward', or 'ortho' for both by its
        /// root.
        ///
        /// ```python
        #[doc = concat!(">>> fg.fft.", stringify!($one), $example)]
        /// ```
        #[op(function, in fft)]
        pub fn $one(
            x: &Tensor,
            #[default(None)] n: Option<i64>,
            #[default(-1)] axis: i64,
            #[default("backward")] norm: Option<&str>,
        ) -> Result<Tensor> {
            const OP: &str = concat!("fft.", stringify!($one));
            if n == Some(-1) {
                // Only a list of lengths may say so that an axis keeps its own.
                bail!(Argument, OP, "Invalid number of data points (-1) specified");
            }
            let n = n.as_ref().map(std::slice::from_ref);
            $of(OP, x, (n, Some(&[axis])), norm, $inverse)
        }

        #[doc = concat!($what, " along two axes. ", $lengths)]
        #[doc = concat!("See `", stringify!($one), "` for `norm`.")]
        ///
        /// ```python
        #[doc = concat!(">>> fg.fft.", stringify!($two), "(fg.ones((1, 3)), s=(2, 2)).shape == ", "fg.fft.", stringify!($any), "(fg.ones((1, 3)), s=(2, 2)).shape")]
        /// True
        /// ```
        #[op(function, in fft)]
        pub fn $two(
            x: &Tensor,
            #[default(None)] s: Option<&[i64]>,
            #[default([-2, -1])] axes: Axes<'_>,
            #[default("backward")] norm: Option<&str>,
        ) -> Result<Tensor> {
            $of(concat!("fft.", stringify!($two)), x, (s, axes), norm, $inverse)
        }

        #[doc = concat!($what, " along several axes: all by default, or as many of the last ones as `s` has lengths. ", $lengths)]
        #[doc = concat!("See `", stringify!($one), "` for `norm`.")]
        ///
        /// ```python
        #[doc = concat!(">>> fg.fft.", stringify!($any), "(fg.ones((1, 3)), s=(2, 2)).ndim")]
        /// 2
        /// ```
        #[op(function, in fft)]
        pub fn $any(
            x: &Tensor,
            #[default(None)] s: Option<&[i64]>,
            #[default(None)] axes: Axes<'_>,
            #[default("backward")] norm: Option<&str>,
        ) -> Result<Tensor> {
            $of(concat!("fft.", stringify!($any)), x, (s, axes), norm, $inverse)
        }
    )* };
}
transforms! {
    whole false: fft fft2 fftn, "The discrete Fourier transform",
        "A signal is cut off, or continued with zeros, to the length asked for.",
        "(fg.tensor([1.0, 2.0])).tolist()\n[(3+0j), (-1+0j)]";
    whole true: ifft ifft2 ifftn, "The inverse of the discrete Fourier transform",
        "Frequencies are cut off, or continued with zeros, to the length asked for.",
        "(fg.tensor([3.0, -1.0])).tolist()\n[(1+0j), (2+0j)]";
    to_half false: rfft rfft2 rfftn, "The discrete Fourier transform of a real signal",
        "Along the last of the axes only the frequencies up to the middle are kept, since the others are their conjugates. \
         A signal is cut off, or continued with zeros, to the length asked for.",
        "(fg.tensor([1.0, 2.0, 4.0])).shape\n(2,)";
    from_half true: irfft irfft2 irfftn, "The inverse of the discrete Fourier transform of a real signal",
        "The length asked for is that of the signal; along the last of the axes it is `2 * (m - 1)` for `m` frequencies \
         if none is given.",
        "(fg.tensor([3.0, -1.0])).tolist()\n[1.0, 2.0]";
    from_half false: hfft hfft2 hfftn, "The real frequencies of a signal of which the part after the middle is the conjugate of the one \
         before it, and is not given",
        "The length asked for is that of the result; along the last of the axes it is `2 * (m - 1)` for `m` elements if \
         none is given.",
        "(fg.tensor([1.0, 2.0])).tolist()\n[3.0, -1.0]";
    to_half true: ihfft ihfft2 ihfftn, "The inverse of the transform to real frequencies: the first half of the signal with these",
        "Frequencies are cut off, or continued with zeros, to the length asked for.",
        "(fg.tensor([3.0, -1.0, 0.0])).shape\n(2,)";
}

/// Rolls axes, all by default, by half of their size.
fn shifted(op: &'static str, x: &Tensor, axes: Axes<'_>, sign: i64) -> Result<Tensor> {
    let axes: SmallVec<[i64; 4]> = match axes {
        Some(list) => list.into(),
        None => (0..x.rank() as i64).collect(),
    };
    let half = |&a: &i64| Ok(sign * (x.dims()[shape::axis(op, a, x.rank())?] as i64 / 2));
    let by: SmallVec<[i64; 4]> = axes.iter().map(half).collect::<Result<_>>()?;
    if axes.is_empty() { Ok(x.clone()) } else { roll(x, &by, Some(&axes)) }
}

/// Frequencies in rising order: those that `fft` gives, with zero moved to the middle of each axis (all by default).
///
/// ```python
/// >>> fg.fft.fftshift(fg.fft.fftfreq(4)).tolist()
/// [-0.5, -0.25, 0.0, 0.25]
/// ```
#[op(function, in fft)]
pub fn fftshift(x: &Tensor, #[default(None)] axes: Axes<'_>) -> Result<Tensor> {
    shifted("fft.fftshift", x, axes, 1)
}

/// The inverse of `fftshift`.
///
/// ```python
/// >>> fg.fft.ifftshift(fg.tensor([-2, -1, 0, 1, 2])).tolist()
/// [0, 1, 2, -2, -1]
/// ```
#[op(function, in fft)]
pub fn ifftshift(x: &Tensor, #[default(None)] axes: Axes<'_>) -> Result<Tensor> {
    shifted("fft.ifftshift", x, axes, -1)
}

/// The frequencies of `n` points at distance `d`: those from the middle on are negative, or left out if `is_half`.
fn frequencies(op: &'static str, n: i64, d: f64, dtype: Option<DType>, is_half: bool) -> Result<Tensor> {
    let dtype = dtype.unwrap_or_else(default_float);
    if !dtype.is_float() {
        bail!(Dtype, op, "frequencies are real and no integers, not {dtype}");
    }
    if n < 1 {
        bail!(Argument, op, "Invalid number of data points ({n}) specified");
    }
    let n = sizes(op, &[n], dtype)?[0];
    let (count, whole) = (if is_half { n / 2 + 1 } else { n }, n as f64 * d);
    dispatch!(dtype, all T => Ok(Tensor::constant(Array::build::<T>(op, &[count], |out| {
        for (i, o) in out.iter_mut().enumerate() {
            let k = if !is_half && i >= n.div_ceil(2) { i as f64 - n as f64 } else { i as f64 };
            *o = T::from_f64(k / whole);
        }
    })?)))
}

/// The frequencies of the elements of `fft` for n points at distance d, in cycles for each unit of d: first the
/// positive ones, then the negative ones.
///
/// ```python
/// >>> fg.fft.fftfreq(4, 0.5).tolist()
/// [0.0, 0.5, -1.0, -0.5]
/// ```
#[op(function, in fft)]
pub fn fftfreq(n: i64, #[default(1.0)] d: f64, #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    frequencies("fft.fftfreq", n, d, dtype, false)
}

/// The frequencies of the elements of `rfft` for n points at distance d, in cycles for each unit of d.
///
/// ```python
/// >>> fg.fft.rfftfreq(4, 0.5).tolist()
/// [0.0, 0.5, 1.0]
/// ```
#[op(function, in fft)]
pub fn rfftfreq(n: i64, #[default(1.0)] d: f64, #[default(None)] dtype: Option<DType>) -> Result<Tensor> {
    frequencies("fft.rfftfreq", n, d, dtype, true)
}
