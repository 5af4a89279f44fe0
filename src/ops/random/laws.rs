//! Random numbers as PyTorch draws them on a processor: one number after the other from the words of one stream, so that a
//! seed gives the numbers that it gives there.
//!
//! A draw takes the stream in parts, and computes between them, so that no thread waits for a large draw to end.

use std::cell::Cell;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::state::with_state;
use crate::array::Array;
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::graph::Tensor;
use crate::kernel::interrupt;
use crate::kernel::mersenne::{BLOCK, Mersenne, normal32, normal64, unit32, unit64, whole};
use crate::kernel::pointwise::cast::cast;
use crate::kernel::pointwise::unary::{self, UnaryLoops, unary_loops};
use crate::kernel::simd;
use crate::ops::movement::view_as_complex;
use crate::ops::switch;
use crate::shape::{self, Dims};
use crate::stored::Stored;

thread_local! {
    /// Whether this thread is inside of [`as_pytorch`].
    static AS_PYTORCH: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f`, whose draws are PyTorch's.
pub fn as_pytorch<R>(f: impl FnOnce() -> R) -> R {
    switch::on(&AS_PYTORCH, f)
}

/// Whether draws of this thread are PyTorch's.
pub(super) fn is_pytorch() -> bool {
    AS_PYTORCH.get()
}

/// What is drawn.
#[derive(Clone, Copy, Stored)]
pub enum Law {
    Uniform {
        low: f64,
        high: f64,
    },
    Normal {
        mean: f64,
        std: f64,
    },
    LogNormal {
        mean: f64,
        std: f64,
    },
    Exponential {
        rate: f64,
    },
    Cauchy {
        median: f64,
        sigma: f64,
    },
    /// Trials up to and with the first success.
    Geometric {
        p: f64,
    },
    /// 1 with probability `p`, else 0.
    Coin {
        p: f64,
    },
    /// 0 with probability `p`, else `1 / (1 - p)`.
    Kept {
        p: f64,
    },
    /// Integers from `low` on, of which there are `range`; 2⁶⁴ if it is 0. Each takes two words if `wide`.
    Integers {
        low: i64,
        range: u64,
        wide: bool,
    },
    /// Orders of so many numbers, one after the other.
    Orders(usize),
}

/// A number of the exponential distribution from a uniform number less than zero, and -1 divided by the rate.
const EXPONENTIAL: &UnaryLoops = unary_loops!(real x; p => x.ln_1p().mul(p[0]));

/// Integers of a range. Large ranges take two words.
pub(super) fn integers(low: i64, range: u64) -> Law {
    Law::Integers { low, range, wide: range == 0 || range >= 1 << 28 }
}

/// All integers from 0 on that a dtype holds exactly.
pub(super) fn all_integers(dtype: DType) -> Law {
    let digits = match dtype {
        DType::Bool => 1,
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::F32 => 24,
        DType::F64 => 53,
        DType::I8 => 7,
        DType::I16 => 15,
        DType::I32 => 31,
        DType::I64 => 63,
        other => 8 * other.size() as u32,
    };
    let end = u64::from(dtype.is_float());
    let range = if digits == 64 { 0 } else { (1u64 << digits) + end };
    Law::Integers { low: 0, range, wide: matches!(dtype, DType::I64 | DType::F64 | DType::U64) }
}

/// A thread draws so many numbers before it lets other threads draw.
const PART: usize = 1 << 12;

/// The parts of a slice, between which the caller is asked whether to go on.
fn parts<T>(out: &mut [T]) -> impl Iterator<Item = &mut [T]> {
    let mut done = 0;
    out.chunks_mut(PART).inspect(move |part| interrupt::count(&mut done, part.len()))
}

/// Fills a slice with numbers, each of which `make` makes of `W` words.
fn fill<T, const W: usize>(out: &mut [T], make: impl Fn([u32; W]) -> T + Copy) {
    let mut words = vec![0; W * out.len().min(PART)];
    for out in parts(out) {
        let words = &mut words[..W * out.len()];
        with_state(|s| s.mersenne.fill(words));
        let words = words.as_chunks::<W>().0;
        simd::autovectorize(
            #[inline(always)]
            move || {
                for i in 0..out.len() {
                    out[i] = make(words[i]);
                }
            },
        );
    }
}

/// New numbers, each of which `make` makes of `W` words.
fn of_words<T: Element, const W: usize>(
    op: &'static str,
    dims: &[usize],
    make: impl Fn([u32; W]) -> T + Copy,
) -> Result<Array> {
    Array::build::<T>(op, dims, |out| fill(out, make))
}

/// New numbers that are drawn one by one, from the stream and their place.
pub(super) fn one_by_one<T: Element>(
    op: &'static str,
    dims: &[usize],
    draw: impl Fn(&mut Mersenne, usize) -> T,
) -> Result<Array> {
    Array::build::<T>(op, dims, |out| {
        let mut place = 0..out.len();
        for out in parts(out) {
            with_state(|s| {
                simd::autovectorize(
                    #[inline(always)]
                    || {
                        out.iter_mut()
                            .zip(&mut place)
                            .for_each(|(number, i)| *number = draw(&mut s.mersenne, i))
                    },
                );
            });
        }
    })
}

/// Normal numbers made block by block of uniform ones, of which `drawn` are drawn. Where the last block is not whole, the last
/// [`BLOCK`] numbers are drawn again.
fn in_blocks<T: Element, const W: usize>(
    op: &'static str,
    dims: &[usize],
    drawn: usize,
    unit: impl Fn([u32; W]) -> T + Copy,
    normal: impl Fn(&mut [T]),
) -> Result<Array> {
    let n = shape::len(dims);
    let whole = n / BLOCK * BLOCK;
    Array::build::<T>(op, dims, |out| {
        fill(&mut out[..drawn], unit);
        for out in parts(&mut out[..whole]) {
            normal(out);
        }
        if n > whole {
            let last = &mut out[n - BLOCK..];
            fill(last, unit);
            normal(last);
        }
    })
}

fn normals(op: &'static str, dims: &[usize], dtype: DType, mean: f64, std: f64) -> Result<Array> {
    let n = shape::len(dims);
    match dtype {
        _ if n < BLOCK => {
            let drawn = one_by_one(op, dims, |source, _| source.normal().mul_add(std, mean))?;
            cast(&drawn, dtype)
        }
        DType::F64 => in_blocks(op, dims, n, unit64, |out| normal64(out, mean, std)),
        _ => {
            // Of halves the rest of the last block is not drawn before it is drawn again.
            let drawn = if dtype.is_half() { n / BLOCK * BLOCK } else { n };
            let normal = |out: &mut [f32]| normal32(out, mean as f32, std as f32);
            cast(&in_blocks(op, dims, drawn, unit32, normal)?, dtype)
        }
    }
}

fn uniforms(op: &'static str, dims: &[usize], dtype: DType, low: f64, high: f64) -> Result<Array> {
    if dtype == DType::F64 {
        let range = high - low;
        return of_words(op, dims, move |words| unit64(words).mul_add(range, low));
    }
    let (low, range) = (low as f32, high as f32 - low as f32);
    cast(&of_words(op, dims, move |words| unit32(words).mul_add(range, low))?, dtype)
}

/// Orders of `each` numbers: Fisher and Yates' shuffle, from the front.
fn orders(op: &'static str, dims: &[usize], each: usize) -> Result<Array> {
    Array::build::<i64>(op, dims, |out| {
        let mut words = vec![0; each.min(PART)];
        for out in out.chunks_mut(each.max(1)) {
            for (i, o) in out.iter_mut().enumerate() {
                *o = i as i64;
            }
            for part in interrupt::parts(0..each.saturating_sub(1), 1) {
                for i in part {
                    if i % PART == 0 {
                        let n = words.len().min(each - 1 - i);
                        with_state(|s| s.mersenne.fill(&mut words[..n]));
                    }
                    out.swap(i, i + words[i % PART] as usize % (each - i));
                }
            }
        }
    })
}

impl Law {
    pub(super) fn draw(self, op: &'static str, dims: &[usize], dtype: DType) -> Result<Array> {
        if dtype.is_complex() {
            return self.pairs(op, dims, dtype);
        }
        let drawn = match self {
            Law::Uniform { low, high } => return uniforms(op, dims, dtype, low, high),
            Law::Normal { mean, std } => return normals(op, dims, dtype, mean, std),
            Law::LogNormal { mean, std } => {
                one_by_one(op, dims, |source, _| source.normal().mul_add(std, mean).exp())?
            }
            Law::Exponential { rate } => {
                let units = of_words(op, dims, |words| -unit64(words))?;
                unary::apply_with(op, EXPONENTIAL, &units, &[-1.0 / rate, 0.0, 0.0])?
            }
            Law::Cauchy { median, sigma } => {
                of_words(op, dims, |words| sigma.mul_add((PI * (unit64(words) - 0.5)).tan(), median))?
            }
            Law::Geometric { p } => {
                let rate = (1.0 - p).ln();
                of_words(op, dims, |words| (unit64(words).ln() / rate).ceil())?
            }
            Law::Coin { p } => of_words(op, dims, |words| u8::from(unit64(words) < p))?,
            Law::Kept { p } => {
                let scale = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
                of_words(op, dims, |words| if unit64(words) < 1.0 - p { scale } else { 0.0 })?
            }
            Law::Integers { low, range: 0, .. } => {
                of_words(op, dims, |words| low.wrapping_add(whole(words).cast_signed()))?
            }
            Law::Integers { low, range, wide: true } => {
                of_words(op, dims, |words| low.wrapping_add((whole(words) % range).cast_signed()))?
            }
            Law::Integers { low, range, wide: false } => {
                of_words(op, dims, |[word]| low.wrapping_add((u64::from(word) % range).cast_signed()))?
            }
            Law::Orders(each) => orders(op, dims, each)?,
        };
        cast(&drawn, dtype)
    }

    /// Complex numbers whose parts are drawn. Of normal ones each part has half of the variance.
    fn pairs(self, op: &'static str, dims: &[usize], dtype: DType) -> Result<Array> {
        let law = match self {
            Law::Normal { mean, std } => Law::Normal { mean, std: std * FRAC_1_SQRT_2 },
            law => law,
        };
        let dims: Dims = dims.iter().copied().chain([2]).collect();
        Ok(view_as_complex(&Tensor::constant(law.draw(op, &dims, dtype.real())?))?.array)
    }
}
