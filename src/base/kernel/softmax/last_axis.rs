//! Softmax and cross entropy along the last axis, with their gradients.

use std::ops::Range;

use super::exp::{Factors, Room, exp_less, exp_of_rows, exp_sums, logarithms, vectors};
use super::shares::{has_large, large};
use super::strided_axis::{self, StridedAxis};
use smallvec::smallvec;

use crate::array::{Array, Layout};
use crate::dtype::{DType, dispatch};
use crate::error::Result;
use crate::kernel::copy::Copying;
use crate::kernel::fast::Fast;
use crate::kernel::num::Real;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::cluster::ALIGNMENT;
use crate::kernel::reduce::pairwise::ROWS;
use crate::kernel::rows::{column, each, each_mut, last, not_defined, total};
use crate::kernel::sequence::{Kernel, Kind, Writes};
use crate::kernel::{interrupt, output, simd};
use crate::shape;
use crate::stored::Stored;

/// The variants of the softmax.
#[derive(Clone, Copy, PartialEq, Eq, Stored)]
pub enum Softmax {
    /// `exp(x) / sum(exp(x))`.
    Plain,
    /// The softmax as weights of a log-sum-exp: 0 for a row of -inf, equal weights for elements that are inf.
    Weights,
    /// The logarithm of the softmax.
    Log,
}

/// Calls `work` with the numbers of some adjacent rows, their elements, and two rooms for a number by row.
fn in_blocks<T: Real>(n: usize, x: &[T], mut work: impl FnMut(Range<usize>, &[T], &mut [T], &mut [T])) {
    /// Elements that stay in a near cache while they are read again.
    const NEAR: usize = 4096;
    let most = (NEAR / n.max(1)).clamp(1, simd::BLOCK);
    for (k, x) in x.chunks(most * n.max(1)).enumerate() {
        let rows = k * most..k * most + x.len() / n;
        let (mut first, mut second) = (Room::new(), Room::new());
        work(rows.clone(), x, first.zeros(rows.len()), second.zeros(rows.len()));
    }
}

/// The softmax of each row, and its log-sum-exp, where `lse` has room.
fn softmax_rows<T: Real>(which: Softmax, n: usize, x: &[T], out: &mut [T], lse: &mut [T])
where
    Fast<T>: Real,
{
    in_blocks(n, x, |rows, x, most, sums| {
        let out = &mut out[rows.start * n..rows.end * n];
        if which == Softmax::Log {
            log_sums(n, x, most, sums);
            return less(n, x, most, sums, out);
        }
        exp_of_rows(Factors::Shares, n, x, out, [&mut *most, &mut *sums]);
        for ((x, out), &m) in each(x, n).zip(each_mut(out, n)).zip(&*most) {
            if !m.is_finite() && !m.nan() {
                shares_of_infinities(which, x, out);
            }
        }
        if let Some(lse) = lse.get_mut(rows) {
            logarithms(sums, lse);
            lse.iter_mut()
                .zip(&*most)
                .for_each(|(lse, &m)| *lse = m.add(if m.is_finite() { *lse } else { T::ZERO }));
        }
    });
}

/// The softmax of a row whose largest element is not finite.
#[cold]
fn shares_of_infinities<T: Real>(which: Softmax, x: &[T], out: &mut [T]) {
    if which == Softmax::Plain {
        return out.fill(T::lit(f64::NAN));
    }
    let hits = x.iter().filter(|&&v| v == T::INFINITY).count();
    let share = T::ONE.div(T::lit(hits as f64));
    out.iter_mut().zip(x).for_each(|(o, &v)| *o = if v == T::INFINITY { share } else { T::ZERO });
}

/// The largest element `m` of each row, and the log-sum-exp of the row minus `m`, which is 0 where `m` is not finite.
fn log_sums<T: Real>(n: usize, x: &[T], most: &mut [T], logs: &mut [T])
where
    Fast<T>: Real,
{
    let mut room = Room::new();
    let sums = room.zeros(logs.len());
    exp_sums(n, x, most, sums);
    logarithms(sums, logs);
    logs.iter_mut().zip(&*most).filter(|(_, m)| !m.is_finite()).for_each(|(log, _)| *log = T::ZERO);
}

/// The elements of each row less `most` and less `rest`; NaN where `most` is not finite.
fn less<T: Real>(n: usize, x: &[T], most: &[T], rest: &[T], out: &mut [T]) {
    #[inline(always)]
    fn rows<T: Real>(n: usize, x: &[T], most: &[T], rest: &[T], out: &mut [T]) {
        for ((x, out), (&m, &rest)) in each(x, n).zip(each_mut(out, n)).zip(most.iter().zip(rest)) {
            let rest = if m.is_finite() { rest } else { T::lit(f64::NAN) };
            for part in interrupt::parts(0..n, 1) {
                for (o, &v) in out[part.clone()].iter_mut().zip(&x[part]) {
                    *o = v.sub(m).sub(rest);
                }
            }
        }
    }
    simd::multiversion_with(
        out,
        #[inline(always)]
        |out| rows(n, x, most, rest, out),
        #[inline(always)]
        |out| rows(n, x, most, rest, out),
    );
}

/// The softmax of every row.
pub fn softmax(op: &'static str, x: &Array, which: Softmax) -> Result<Array> {
    if let (Softmax::Plain | Softmax::Log, Some(layout)) = (which, StridedAxis::of(x)) {
        return strided_axis::softmax(op, &layout, x, which == Softmax::Log);
    }
    let x = x.contiguous()?;
    let n = last(&x);
    dispatch!(x.dtype(), float T => {
        let all = x.as_slice::<T>().expect("contiguous");
        output::build::<T>(op, x.dims(), n, |first, out| {
            in_vectors(Formula::Softmax(which), n, [&all[first * n..][..out.len()]; 2], out, &mut []);
        })
    }, else not_defined(op, x.dtype()))
}

/// The element of a gradient where the share is large, from the others: the sum of all is 0.
#[cold]
fn put_rest<T: Real>(log: bool, z: &[T], out: &mut [T]) {
    if let Some(i) = z.iter().position(|&z| z > large(log)) {
        out[i] = T::ZERO.sub(total(&out[..i]).add(total(&out[i + 1..])));
    }
}

#[inline(always)]
fn gradient_rows<T: Real, const FAST: bool>((log, n, g, z, out): (bool, usize, &[T], &[T], &mut [T]))
where
    Fast<T>: Real,
{
    for ((g, z), out) in each(g, n).zip(each(z, n)).zip(each_mut(out, n)) {
        if !log {
            for part in interrupt::parts(0..n, 1) {
                let pairs = g[part.clone()].iter().zip(&z[part.clone()]);
                out[part].iter_mut().zip(pairs).for_each(|(o, (&g, &z))| *o = g.mul(z));
            }
        }
        let sum = total(if log { g } else { out });
        let mut larger = false;
        for part in interrupt::parts(0..n, 1) {
            let (g, z, out) = (&g[part.clone()], &z[part.clone()], &mut out[part]);
            larger |= has_large(log, z);
            if log {
                exp_less::<T, FAST>(z, T::ZERO, out);
                out.iter_mut().zip(g).for_each(|(o, &g)| *o = g.sub(o.mul(sum)));
            } else {
                out.iter_mut().zip(g.iter().zip(z)).for_each(|(o, (&g, &z))| *o = z.mul(g.sub(sum)));
            }
        }
        if larger {
            put_rest(log, z, out);
        }
    }
}

/// The gradient of a softmax of rows of less than [`ROWS`] elements, which are added one by one. Compiled for the baseline
/// instruction set only, since such rows fill no vector.
#[inline(never)]
fn gradient_of_short_rows<T: Real>(n: usize, g: &[T], z: &[T], out: &mut [T]) {
    let mut done = 0;
    for ((g, z), out) in each(g, n).zip(each(z, n)).zip(each_mut(out, n)) {
        interrupt::count(&mut done, n);
        let mut sum = T::ZERO;
        for (&g, &z) in g.iter().zip(z) {
            sum = sum.add(g.mul(z));
        }
        let mut larger = false;
        for (o, (&g, &z)) in out.iter_mut().zip(g.iter().zip(z)) {
            *o = z.mul(g.sub(sum));
            larger |= z > large(false);
        }
        if larger {
            put_rest(false, z, out);
        }
    }
}

/// `g - Σ g z` by row for shares `z` of 1, or for their logarithms. Where a share is large, it is the sum of the products of the
/// others with their results over it, since the sum of all such products is 0.
pub fn centred(op: &'static str, g: &Array, z: &Array, log: bool) -> Result<Array> {
    fn rows<T: Real, const FAST: bool>((log, n, g, z, out): (bool, usize, &[T], &[T], &mut [T]))
    where
        Fast<T>: Real,
    {
        let mut shares = vec![T::ZERO; if log { n } else { 0 }];
        for ((g, z), out) in each(g, n).zip(each(z, n)).zip(each_mut(out, n)) {
            let z = if log {
                exp_less::<T, FAST>(z, T::ZERO, &mut shares);
                &shares[..]
            } else {
                z
            };
            out.iter_mut().zip(g.iter().zip(z)).for_each(|(o, (&g, &z))| *o = g.mul(z));
            let sum = total(out);
            out.iter_mut().zip(g).for_each(|(o, &g)| *o = g.sub(sum));
            if let Some(i) = z.iter().position(|&z| z > large(false)) {
                let all = out.iter().zip(z).enumerate().filter(|(k, _)| *k != i);
                let rest = all.fold(T::ZERO, |sum, (_, (&o, &z))| sum.add(o.mul(z)));
                out[i] = T::ZERO.sub(rest).div(z[i]);
            }
        }
    }
    let (g, z) = (g.contiguous()?, z.contiguous()?);
    let n = last(&z);
    dispatch!(z.dtype(), float T => {
        let (all_g, all_z) = (g.as_slice::<T>().expect("contiguous"), z.as_slice::<T>().expect("contiguous"));
        output::build::<T>(op, z.dims(), n, |first, out| {
            let part = first * n..first * n + out.len();
            let args = (log, n, &all_g[part.clone()], &all_z[part], out);
            vectors!(rows, T, args);
        })
    }, else not_defined(op, z.dtype()))
}

/// The gradient of the softmax from its result `z`: `z (g - Σ g z)` by row, or `g - exp(z) Σ g` for the logarithm.
pub fn softmax_gradient(op: &'static str, g: &Array, z: &Array, log: bool) -> Result<Array> {
    if let Some(layout) = StridedAxis::of(z) {
        return strided_axis::gradient(op, &layout, g, z, log);
    }
    let (g, z) = (g.contiguous()?, z.contiguous()?);
    let n = last(&z);
    dispatch!(z.dtype(), float T => {
        let (all_g, all_z) = (g.as_slice::<T>().expect("contiguous"), z.as_slice::<T>().expect("contiguous"));
        output::build::<T>(op, z.dims(), n, |first, out| {
            let part = first * n..first * n + out.len();
            in_vectors(Formula::Gradient { log }, n, [&all_g[part.clone()], &all_z[part]], out, &mut []);
        })
    }, else not_defined(op, z.dtype()))
}

/// The log-sum-exp of each row and, where `loss` has room, the cross entropy.
fn log_sum_exp_rows<T: Real>(n: usize, x: &[T], classes: &[i64], lse: &mut [T], loss: &mut [T])
where
    Fast<T>: Real,
{
    if n == 0 {
        lse.fill(T::lit(f64::NEG_INFINITY));
    }
    in_blocks(n, x, |rows, x, most, rest| {
        log_sums(n, x, most, rest);
        for ((b, x), (&m, &rest)) in rows.zip(each(x, n)).zip(most.iter().zip(&*rest)) {
            lse[b] = m.add(rest);
            if let Some(loss) = loss.get_mut(b) {
                let class = usize::try_from(classes[b]).ok();
                *loss = class.map_or(T::ZERO, |class| m.sub(x[class]).add(rest));
            }
        }
    });
}

/// The log-sum-exp of every row and, if classes are given, the cross entropy of each row (0 for a negative class).
/// The last axis keeps size 1.
///
/// # Panics
/// If a class is outside the row.
pub fn cross_entropy(op: &'static str, x: &Array, classes: Option<&Array>) -> Result<(Array, Array)> {
    let (x, classes) = (x.contiguous()?, classes.map(Array::contiguous).transpose()?);
    let classes = classes.as_ref().map(|c| c.as_slice::<i64>().expect("contiguous"));
    let (n, dims) = (last(&x), column(&x));
    let of_loss = if classes.is_some() { (&dims[..], 1) } else { (&[0usize][..], 0) };
    dispatch!(x.dtype(), float T => {
        let all = x.as_slice::<T>().expect("contiguous");
        output::build_pair::<T, T>(op, (&dims, 1), of_loss, n, |first, lse, loss| {
            let part = first..first + lse.len();
            let classes = classes.map_or(&[][..], |c| &c[part.clone()]);
            log_sum_exp_rows(n, &all[part.start * n..part.end * n], classes, lse, loss);
        })
    }, else not_defined(op, x.dtype()))
}

/// The gradient of [`cross_entropy`]: `g (exp(x - lse) - onehot(class))`, and zeros for a row with a negative class.
pub fn cross_entropy_gradient(op: &'static str, [g, x, lse, classes]: [&Array; 4]) -> Result<Array> {
    fn rows<T: Real>(n: usize, [g, x, lse]: [&[T]; 3], classes: &[i64], out: &mut [T])
    where
        Fast<T>: Real,
    {
        in_blocks(n, x, |rows, x, most, factors| {
            most.copy_from_slice(&lse[rows.clone()]);
            factors.copy_from_slice(&g[rows.clone()]);
            let out = &mut out[rows.start * n..rows.end * n];
            exp_of_rows(Factors::Given, n, x, out, [most, &mut *factors]);
            for ((class, out), &g) in classes[rows].iter().zip(each_mut(out, n)).zip(&*factors) {
                match usize::try_from(*class) {
                    // What is missing of a large share is in the others.
                    Ok(class) if out[class].abs() > g.abs().mul(large(false)) => {
                        out[class] = T::ZERO.sub(total(&out[..class]).add(total(&out[class + 1..])));
                    }
                    Ok(class) => out[class] = out[class].sub(g),
                    Err(_) => out.fill(T::ZERO),
                }
            }
        });
    }
    let (g, x, lse, classes) = (g.contiguous()?, x.contiguous()?, lse.contiguous()?, classes.contiguous()?);
    let (n, classes) = (last(&x), classes.as_slice::<i64>().expect("contiguous"));
    dispatch!(x.dtype(), float T => {
        let [g, all, lse] = [&g, &x, &lse].map(|a| a.as_slice::<T>().expect("contiguous"));
        output::build::<T>(op, x.dims(), n, |first, out| {
            let rows_of = [&g[first..], &all[first * n..][..out.len()], &lse[first..]];
            rows::<T>(n, rows_of, &classes[first..], out);
        })
    }, else not_defined(op, x.dtype()))
}

/// What is computed of rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// The softmax of the first operand.
    Softmax(Softmax),
    /// See [`softmax_gradient`]: the operands are `g` and `z`.
    Gradient { log: bool },
    /// The log-sum-exp of the first operand.
    LogSumExp,
    /// The weights of the first operand (see [`Softmax`]), and as a second result its log-sum-exp.
    WeightsAndLogSumExp,
}

impl Formula {
    /// The formula that computes this one and another one of the same rows in less time than both of them, this one as its first
    /// result.
    pub fn with(self, other: Formula) -> Option<Formula> {
        let are_both = self == Formula::Softmax(Softmax::Weights) && other == Formula::LogSumExp;
        are_both.then_some(Formula::WeightsAndLogSumExp)
    }
}

/// Computes rows of `n` elements.
fn in_vectors<T: Real>(formula: Formula, n: usize, [x, y]: [&[T]; 2], out: &mut [T], second: &mut [T])
where
    Fast<T>: Real,
{
    match formula {
        Formula::Softmax(which) => softmax_rows(which, n, x, out, &mut []),
        Formula::WeightsAndLogSumExp => softmax_rows(Softmax::Weights, n, x, out, second),
        Formula::Gradient { log: false } if (1..ROWS).contains(&n) => gradient_of_short_rows(n, x, y, out),
        Formula::Gradient { log } => vectors!(gradient_rows, T, (log, n, x, y, out)),
        Formula::LogSumExp => log_sum_exp_rows(n, x, &[], out, &mut []),
    }
}

/// A formula for few rows.
struct FewRows {
    formula: Formula,
    dtype: DType,
    n: usize,
    len: usize,
    /// Each with the copy that makes it contiguous, if it is not.
    operands: Vec<(Kind, Option<Copying>)>,
}

/// The kernel of a formula for operands of these dtypes and layouts, all of one shape. None if it is not for them.
pub fn kernel(formula: Formula, ins: &[(DType, Layout)]) -> Option<Box<dyn Kernel>> {
    let (dtype, first) = ins.first()?;
    let (len, n) = (shape::len(&first.dims), *first.dims.last()?);
    let is_small = (1..par::MIN_BYTES).contains(&(len * dtype.size()));
    let is_float = matches!(dtype, DType::F32 | DType::F64);
    if !is_small || !is_float || ins.iter().any(|(d, x)| d != dtype || x.dims != first.dims) {
        return None;
    }
    let mut operands = vec![];
    for (_, x) in ins {
        let contiguous = shape::contiguous_strides(&x.dims);
        let copy = || Copying::new(dtype.size(), &x.dims, &x.strides, &contiguous);
        operands.push((Kind::from((*dtype, x.clone())), (!x.is_contiguous()).then(copy)));
    }
    // Columns that are adjacent in memory are computed together, and have other bits. The last operand, which is the result for a
    // gradient, decides that.
    let (kind, _) = operands.last()?;
    // The log-sum-exp of a longer row is that of a sum of blocks.
    if formula == Formula::WeightsAndLogSumExp && n > simd::BLOCK {
        return None;
    }
    let is_by_row = match formula {
        Formula::Softmax(which) => which == Softmax::Weights,
        Formula::Gradient { .. } => false,
        Formula::LogSumExp | Formula::WeightsAndLogSumExp => true,
    };
    if !is_by_row && StridedAxis::of(&kind.blank().ok()?).is_some() {
        return None;
    }
    Some(Box::new(FewRows { formula, dtype: *dtype, n, len, operands }))
}

impl FewRows {
    /// How many bytes after the first one the copy of an operand begins.
    fn apart(&self) -> usize {
        (self.len * self.dtype.size()).next_multiple_of(ALIGNMENT)
    }
}

// SAFETY: the slices of `run` have the lengths that `reach` and `writes` say: `kernel` asked for operands of one shape and dtype.
unsafe impl Kernel for FewRows {
    fn reach(&self, operand: usize) -> Range<isize> {
        self.operands[operand].0.bytes()
    }

    fn scratch(&self) -> usize {
        if self.operands.iter().all(|(_, copy)| copy.is_none()) { 0 } else { 2 * self.apart() }
    }

    fn writes(&self) -> Writes {
        let (all, rows) = ((self.dtype, self.len), (self.dtype, self.len / self.n));
        match self.formula {
            Formula::Softmax(_) | Formula::Gradient { .. } => smallvec![all],
            Formula::LogSumExp => smallvec![rows],
            Formula::WeightsAndLogSumExp => smallvec![all, rows],
        }
    }

    unsafe fn run(&self, ins: &[SendPtr], outs: &[SendPtr], scratch: *mut u8) -> Result<()> {
        let mut from = [ins[0].get().cast_const(); 2];
        for (k, ((_, copy), x)) in self.operands.iter().zip(ins).enumerate() {
            from[k] = x.get();
            if let Some(copy) = copy {
                // SAFETY: the operand has the layout that the copy is for, and there is room for a copy of each.
                unsafe {
                    let to = scratch.add(k * self.apart());
                    copy.run(x.get(), to);
                    from[k] = to;
                }
            }
        }
        let made = if self.formula == Formula::LogSumExp { self.len / self.n } else { self.len };
        dispatch!(self.dtype, float T => {
            // SAFETY: these are the elements of the operands, in C order, and there is room for the results.
            unsafe {
                let x = from.map(|x| std::slice::from_raw_parts(x.cast::<T>(), self.len));
                let out = std::slice::from_raw_parts_mut(outs[0].get().cast::<T>(), made);
                let second = match outs.get(1) {
                    Some(lse) => std::slice::from_raw_parts_mut(lse.get().cast::<T>(), self.len / self.n),
                    None => &mut [],
                };
                in_vectors(self.formula, self.n, x, out, second);
            }
        }, else unreachable!("floats"));
        Ok(())
    }
}
