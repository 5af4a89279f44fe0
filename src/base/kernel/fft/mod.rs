//! Discrete Fourier transforms of the lines along an axis. `rustfft` transforms groups of lines on one thread, and the
//! groups are shared among our own threads.
//!
//! An even number of real numbers is transformed as half as many complex ones: the even elements are the real parts,
//! the odd ones the imaginary parts.

mod pairs;
mod plan;

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum};

use crate::array::Array;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result, bail};
use crate::fork;
use crate::kernel::copy::copy;
use crate::kernel::par::{self, SendPtr};
use crate::memory;
use crate::shape::Dims;
use crate::stored::Stored;

/// What a transform computes: sums of the elements times `exp(∓2πi jk / n)`, and these times `scale`.
#[derive(Clone, Copy, PartialEq, Stored)]
pub struct Transform {
    /// Whether the sign in the exponent is plus.
    pub inverse: bool,
    pub scale: f64,
}

/// The frequencies of a real signal are the first half of all, because those of the second half are their conjugates.
#[derive(Clone, Copy, PartialEq)]
pub struct Half {
    pub axis: usize,
    /// The length of the signal.
    pub n: usize,
    /// Whether frequencies that stand for two weigh other than the rest: twice in [`half_of_real`], half as much in
    /// [`real_of_half`].
    pub weighted: bool,
}

impl Half {
    /// The number of frequencies.
    pub fn count(self) -> usize {
        self.n / 2 + 1
    }

    /// The frequencies that stand for two.
    fn inner(self) -> std::ops::Range<usize> {
        1..self.n.div_ceil(2)
    }
}

trait Scalar: Element + FftNum {}
impl Scalar for f32 {}
impl Scalar for f64 {}

/// Calls a function for the float type of a dtype's parts.
macro_rules! by_width {
    ($dtype:expr, $f:ident($($arg:expr),*)) => {
        match $dtype.real() {
            DType::F32 => $f::<f32>($($arg),*),
            DType::F64 => $f::<f64>($($arg),*),
            other => unreachable!("a transform of {other}"),
        }
    };
}

/// The transform of complex numbers along axes.
pub fn complex(op: &'static str, x: &Array, axes: &[usize], transform: Transform) -> Result<Array> {
    let own = Dims::from_slice(axes);
    let lines = axes.iter().map(|&a| (a, x.dims()[a])).max_by_key(|&(a, n)| group(x, a, n)).unwrap_or((0, 0));
    run(x, lines, move |x| by_width!(x.dtype(), complex_of(op, x, &own, transform)))
}

/// The first half of the frequencies of real numbers along an axis.
pub fn half_of_real(op: &'static str, x: &Array, half: Half, transform: Transform) -> Result<Array> {
    run(x, (half.axis, half.n), move |x| by_width!(x.dtype(), half_of_real_of(op, x, half, transform)))
}

/// The real numbers along an axis whose frequencies these are the first half of. The imaginary parts of frequencies
/// that stand for one are not read.
pub fn real_of_half(op: &'static str, x: &Array, half: Half, transform: Transform) -> Result<Array> {
    run(x, (half.axis, half.n), move |x| by_width!(x.dtype(), real_of_half_of(op, x, half, transform)))
}

/// About how many elements are transformed at once of lines of `n` elements along an axis.
fn group(x: &Array, axis: usize, n: usize) -> usize {
    let neighbours: usize = x.dims()[axis + 1..].iter().product();
    n.saturating_mul(neighbours.clamp(1, 16))
}

/// Runs a transform of lines along an axis, long ones apart, because `rustfft` does not ask whether to go on.
fn run(
    x: &Array,
    (axis, n): (usize, usize),
    f: impl FnOnce(&Array) -> Result<Array> + Send + 'static,
) -> Result<Array> {
    /// The number of elements whose transform takes a part of a second.
    const LONG: usize = 1 << 21;
    if x.rank() == 0 || group(x, axis, n) < LONG {
        return f(x);
    }
    let x = x.clone();
    par::apart(move || f(&x))
}

fn complex_of<T: Scalar>(op: &'static str, x: &Array, axes: &[usize], transform: Transform) -> Result<Array>
where
    Complex<T>: Element,
{
    let x = x.contiguous()?;
    let first = SendPtr(x.first::<Complex<T>>().cast_mut().cast());
    built::<Complex<T>>(op, x.dims(), |to| {
        for (i, &axis) in axes.iter().enumerate() {
            let n = x.dims()[axis];
            let scale =
                if i + 1 == axes.len() { <T as Element>::from_f64(transform.scale) } else { T::one() };
            let Plan::Complex(fft) = planned(Key::Complex(n, transform.inverse))? else { unreachable!() };
            let lines = Lines::of(x.dims(), axis, n, n);
            if i == 0 && lines.inner == 1 {
                let scratch = fft.get_immutable_scratch_len();
                let size = lines.group::<Complex<T>>();
                lines.groups(size, size_of::<Complex<T>>(), &|line, count| {
                    with_room(op, scratch, |scratch: &mut [Complex<T>]| {
                        // SAFETY: the lines `line..line + count` are inside both arrays, which are contiguous
                        // and of this type, and each group of lines is written by one thread.
                        let (from, to) = unsafe {
                            let from = first.get().cast_const().cast::<Complex<T>>().add(line * n);
                            let to = to.get().cast::<Complex<T>>().add(line * n);
                            (
                                std::slice::from_raw_parts(from, count * n),
                                std::slice::from_raw_parts_mut(to, count * n),
                            )
                        };
                        fft.process_immutable_with_scratch(from, to, scratch);
                        scaled(to, scale);
                    })
                })?;
                continue;
            }
            let from = if i == 0 { first } else { SendPtr(to.get()) };
            let scratch = fft.get_outofplace_scratch_len();
            let work = |x: &mut [Complex<T>], y: &mut [Complex<T>], scratch: &mut [Complex<T>]| {
                fft.process_outofplace_with_scratch(x, y, scratch);
                scaled(y, scale);
            };
            // SAFETY: both arrays are contiguous, have these lines, and hold elements of this type. A group is read
            // before it is written, so they may be the same.
            unsafe { lines.each(op, &from, &to, scratch, &work) }?;
        }
        Ok(())
    })
}

fn half_of_real_of<T: Scalar>(op: &'static str, x: &Array, half: Half, transform: Transform) -> Result<Array>
where
    Complex<T>: Element,
{
    let x = x.contiguous()?;
    let (n, m) = (half.n, half.count());
    let mut dims = Dims::from_slice(x.dims());
    if n == 0 || dims[half.axis] != n {
        bail!(Shape, op, "a transform of {n} numbers, of which there are {}", dims[half.axis]);
    }
    dims[half.axis] = m;
    built::<Complex<T>>(op, &dims, |to| {
        let lines = Lines::of(x.dims(), half.axis, n, m);
        let plan = RealPlan::new(n, false, lines.group::<T>())?;
        let work = |x: &mut [T], y: &mut [Complex<T>], scratch: &mut [Complex<T>]| {
            plan.forward(x, y, scratch);
            for y in y.chunks_exact_mut(m) {
                if transform.inverse {
                    y.iter_mut().for_each(|y| y.im = -y.im);
                }
                if half.weighted {
                    y[half.inner()].iter_mut().for_each(|y| *y = *y + *y);
                }
            }
            scaled(y, <T as Element>::from_f64(transform.scale));
        };
        let from = SendPtr(x.first::<T>().cast_mut().cast());
        // SAFETY: both arrays are contiguous, have these lines, whose lengths were compared, and hold elements of these types.
        unsafe { lines.each(op, &from, &to, plan.room, &work) }
    })
}

fn real_of_half_of<T: Scalar>(op: &'static str, x: &Array, half: Half, transform: Transform) -> Result<Array>
where
    Complex<T>: Element,
{
    let x = x.contiguous()?;
    let (n, m) = (half.n, half.count());
    let mut dims = Dims::from_slice(x.dims());
    if n == 0 || dims[half.axis] != m {
        bail!(Shape, op, "a transform of {m} frequencies, of which there are {}", dims[half.axis]);
    }
    dims[half.axis] = n;
    built::<T>(op, &dims, |to| {
        let lines = Lines::of(x.dims(), half.axis, m, n);
        let plan = RealPlan::new(n, true, lines.group::<Complex<T>>())?;
        let work = |x: &mut [Complex<T>], y: &mut [T], scratch: &mut [Complex<T>]| {
            for x in x.chunks_exact_mut(m) {
                if !transform.inverse {
                    x.iter_mut().for_each(|x| x.im = -x.im);
                }
                if half.weighted {
                    scaled(&mut x[half.inner()], <T as Element>::from_f64(0.5));
                }
            }
            plan.inverse(x, y, scratch);
            let scale = <T as Element>::from_f64(transform.scale);
            if scale != T::one() {
                y.iter_mut().for_each(|y| *y = *y * scale);
            }
        };
        let from = SendPtr(x.first::<Complex<T>>().cast_mut().cast());
        // SAFETY: both arrays are contiguous, have these lines, whose lengths were compared, and hold elements of these types.
        unsafe { lines.each(op, &from, &to, plan.room, &work) }
    })
}

/// The transform of `n` real numbers by one of complex numbers.
struct RealPlan<T: Scalar> {
    n: usize,
    /// Of `n / 2` complex numbers, or of `n` if `n` is odd.
    fft: Arc<dyn Fft<T>>,
    /// The powers `exp(-2πi k / n)` up to a quarter of the circle, if `n` is even.
    roots: Option<Arc<[Complex<T>]>>,
    /// The memory that a group of lines needs.
    room: usize,
}

impl<T: Scalar> RealPlan<T> {
    fn new(n: usize, inverse: bool, group: usize) -> Result<RealPlan<T>> {
        if n.is_multiple_of(2) {
            let Plan::Complex(fft) = planned(Key::Complex(n / 2, inverse))? else { unreachable!() };
            let Plan::Roots(roots) = planned(Key::Roots(n))? else { unreachable!() };
            let room = fft.get_inplace_scratch_len();
            return Ok(RealPlan { n, fft, roots: Some(roots), room });
        }
        let Plan::Complex(fft) = planned(Key::Complex(n, inverse))? else { unreachable!() };
        let room = fft.get_inplace_scratch_len().saturating_add(group.saturating_mul(n));
        Ok(RealPlan { n, fft, roots: None, room })
    }

    /// The first half of the frequencies. Overwrites the numbers.
    fn forward(&self, x: &mut [T], y: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let (n, h) = (self.n, self.n / 2);
        let Some(roots) = &self.roots else {
            let (whole, scratch) = scratch.split_at_mut(x.len());
            whole.iter_mut().zip(&*x).for_each(|(z, &x)| *z = Complex::new(x, T::zero()));
            self.fft.process_with_scratch(whole, scratch);
            for (z, y) in whole.chunks_exact(n).zip(y.chunks_exact_mut(h + 1)) {
                y.copy_from_slice(&z[..=h]);
                y[0].im = T::zero();
            }
            return;
        };
        let pairs = as_pairs(x);
        self.fft.process_with_scratch(pairs, scratch);
        pairs::apart(h, pairs, y, roots);
    }

    /// The sums whose frequencies these are. The imaginary parts of those that stand for one are not read.
    fn inverse(&self, x: &[Complex<T>], y: &mut [T], scratch: &mut [Complex<T>]) {
        let (n, h) = (self.n, self.n / 2);
        let Some(roots) = &self.roots else {
            let (whole, scratch) = scratch.split_at_mut(y.len());
            for (x, z) in x.chunks_exact(h + 1).zip(whole.chunks_exact_mut(n)) {
                z[0] = Complex::new(x[0].re, T::zero());
                for k in 1..=h {
                    (z[k], z[n - k]) = (x[k], x[k].conj());
                }
            }
            self.fft.process_with_scratch(whole, scratch);
            y.iter_mut().zip(whole).for_each(|(y, z)| *y = z.re);
            return;
        };
        let pairs = as_pairs(y);
        pairs::together(h, x, pairs, roots);
        self.fft.process_with_scratch(pairs, scratch);
    }
}

/// Pairs of numbers as complex ones.
fn as_pairs<T: Scalar>(x: &mut [T]) -> &mut [Complex<T>] {
    // SAFETY: a complex number is two numbers in order, and as many pairs are borrowed as there are.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), x.len() / 2) }
}

/// A new array that `write` writes, through a pointer to its first element, unless it is empty.
fn built<T: Element>(
    op: &'static str,
    dims: &[usize],
    write: impl FnOnce(SendPtr) -> Result<()>,
) -> Result<Array> {
    let mut done = Ok(());
    let result = Array::build::<T>(op, dims, |out| {
        if !out.is_empty() {
            done = write(SendPtr(out.as_mut_ptr().cast()));
        }
    })?;
    done.map(|()| result)
}

fn scaled<T: Scalar>(list: &mut [Complex<T>], scale: T) {
    if scale != T::one() {
        list.iter_mut().for_each(|z| *z = Complex::new(z.re * scale, z.im * scale));
    }
}

/// The lines along an axis of two contiguous arrays, which differ in the size of that axis only.
#[derive(Clone, Copy)]
struct Lines {
    outer: usize,
    inner: usize,
    /// The lengths of the lines in both arrays.
    from: usize,
    to: usize,
}

/// Elements that are transformed together.
const GROUP: usize = 1 << 12;

impl Lines {
    fn of(dims: &[usize], axis: usize, from: usize, to: usize) -> Lines {
        Lines { outer: dims[..axis].iter().product(), inner: dims[axis + 1..].iter().product(), from, to }
    }

    /// The number of lines in a group: of neighbours in memory at least two cache lines.
    fn group<T>(&self) -> usize {
        let few = if self.inner == 1 { 1 } else { 128 / size_of::<T>() };
        (GROUP / self.from.max(self.to)).max(few)
    }

    /// Calls `work` with the first line and the number of lines of each group, on several threads if that pays. The
    /// lines of a group are in one block of `inner` neighbours, or whole blocks of one.
    fn groups(
        self,
        size: usize,
        bytes: usize,
        work: &(dyn Fn(usize, usize) -> Result<()> + Sync),
    ) -> Result<()> {
        let failed: Mutex<Option<Box<Error>>> = Mutex::new(None);
        let (blocks, block) = if self.inner == 1 { (1, self.outer) } else { (self.outer, self.inner) };
        let each = block.div_ceil(size);
        let run = |range: std::ops::Range<usize>| {
            for i in range {
                let (at, first) = (i / each, i % each * size);
                if let Err(error) = work(at * block + first, size.min(block - first)) {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    return;
                }
            }
        };
        let length = self.from.max(self.to);
        // A transform takes about as long as reading its elements once for each bit of their number.
        let work = (self.outer * self.inner * length * bytes).saturating_mul(length.ilog2() as usize / 2 + 1);
        if par::is_worthwhile(work) {
            par::pieces(blocks * each, (par::PIECE / (size * length)).max(1), &run);
        } else {
            run(0..blocks * each);
        }
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }

    /// Reads groups of lines into memory of their own, where each line is contiguous, and writes the lines that `work`
    /// makes of them. `work` may change what it reads.
    ///
    /// # Safety
    /// Both arrays have these lines and hold elements of these types. They are the same or do not overlap; if they are
    /// the same, the lines have one length.
    unsafe fn each<A: Element, B: Element, C: Element>(
        self,
        op: &'static str,
        from: &SendPtr,
        to: &SendPtr,
        scratch: usize,
        work: &(impl Fn(&mut [A], &mut [B], &mut [C]) + Sync),
    ) -> Result<()> {
        let size = self.group::<A>();
        let Lines { inner, from: n, to: m, .. } = self;
        self.groups(size, size_of::<A>().max(size_of::<B>()), &|first, count| {
            with_room(op, scratch, |scratch: &mut [C]| {
                with_room(op, count * n, |x: &mut [A]| {
                    if inner == 1 {
                        // SAFETY: the lines are next to each other in both arrays, and each group is written by one
                        // thread. `x` is memory of its own.
                        let y = unsafe {
                            let from = from.get().cast_const().cast::<A>().add(first * n);
                            std::ptr::copy_nonoverlapping(from, x.as_mut_ptr(), count * n);
                            std::slice::from_raw_parts_mut(to.get().cast::<B>().add(first * m), count * m)
                        };
                        work(x, y, scratch);
                        return Ok(());
                    }
                    let (block, column) = (first / inner, first % inner);
                    let step = inner as isize;
                    // SAFETY: the group has `count` neighbouring lines of block `block`, `inner` elements apart.
                    unsafe {
                        let from = from.get().cast_const().cast::<A>().add(block * n * inner + column);
                        let (strides, packed) = ([1, step], [n as isize, 1]);
                        let x = x.as_mut_ptr().cast();
                        copy(size_of::<A>(), &[count, n], (from.cast(), &strides), (x, &packed));
                    }
                    with_room(op, count * m, |y: &mut [B]| {
                        work(x, y, scratch);
                        // SAFETY: as above, and each group is written by one thread.
                        unsafe {
                            let to = to.get().cast::<B>().add(block * m * inner + column);
                            let (strides, packed) = ([step, 1], [1, m as isize]);
                            let y = y.as_ptr().cast();
                            copy(size_of::<B>(), &[m, count], (y, &packed), (to.cast(), &strides));
                        }
                    })
                })?
            })?
        })
    }
}

/// Calls `f` with memory for `n` elements.
fn with_room<T: Element, R>(op: &'static str, n: usize, f: impl FnOnce(&mut [T]) -> R) -> Result<R> {
    let mut result = None;
    Array::build::<T>(op, &[n], |room| result = Some(f(room)))?;
    Ok(result.expect("called once"))
}

/// What is prepared for a length.
enum Plan<T: Scalar> {
    Complex(Arc<dyn Fft<T>>),
    Roots(Arc<[Complex<T>]>),
}

impl<T: Scalar> Clone for Plan<T> {
    fn clone(&self) -> Self {
        match self {
            Plan::Complex(fft) => Plan::Complex(fft.clone()),
            Plan::Roots(roots) => Plan::Roots(roots.clone()),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    /// The transform, and whether it is the inverse.
    Complex(usize, bool),
    /// The powers `exp(-2πi k / n)` up to a quarter of the circle.
    Roots(usize),
}

impl Key {
    fn length(self) -> usize {
        match self {
            Key::Complex(n, _) | Key::Roots(n) => n,
        }
    }
}

/// How many plans are kept, and for how many elements together.
const PLANS: usize = 32;
const PLANNED: usize = 1 << 22;

/// A plan of either width.
type Kept = (Key, Arc<dyn Any + Send + Sync>);

/// The plans that were used last, the latest at the end. Nobody waits for the lock.
static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// Holds the plans while the process forks: see [`crate::fork`].
#[doc(hidden)]
pub fn hold() -> Option<Box<dyn Any>> {
    fork::hold(&KEPT)
}

/// The plan for a key, from the ones that are kept if it is there.
fn planned<T: Scalar>(key: Key) -> Result<Plan<T>> {
    let is_it = |(k, plan): &Kept| *k == key && plan.is::<Plan<T>>();
    let found = KEPT.try_lock().ok().and_then(|kept| kept.iter().find(|k| is_it(k)).cloned());
    let entry = match found {
        Some(entry) => entry,
        None => (key, Arc::new(new_plan::<T>(key)?) as Arc<dyn Any + Send + Sync>),
    };
    let plan = entry.1.downcast_ref::<Plan<T>>().expect("found by its type").clone();
    let Ok(mut kept) = KEPT.try_lock() else { return Ok(plan) };
    kept.retain(|k| !is_it(k));
    kept.push(entry);
    let mut planned: usize = kept.iter().map(|k| k.0.length()).sum();
    while kept.len() > PLANS || kept.len() > 1 && planned > PLANNED {
        planned -= kept[0].0.length();
        kept.remove(0);
    }
    Ok(plan)
}

fn new_plan<T: Scalar>(key: Key) -> Result<Plan<T>> {
    let n = key.length();
    // A plan holds roots of unity: as many as elements, or for a large prime factor some times as many.
    let times = if is_smooth(n) || matches!(key, Key::Roots(_)) { 3 } else { 16 };
    memory::ensure(n.saturating_mul(times * size_of::<Complex<T>>()))?;
    Ok(match key {
        Key::Complex(n, inverse) => {
            let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
            Plan::Complex(plan::planned(n, direction))
        }
        Key::Roots(n) => {
            let root = |k: usize| {
                let (sin, cos) = (-std::f64::consts::TAU * k as f64 / n as f64).sin_cos();
                Complex::new(<T as Element>::from_f64(cos), <T as Element>::from_f64(sin))
            };
            Plan::Roots((0..=n / 4).map(root).collect())
        }
    })
}

/// Whether all prime factors are at most 11.
fn is_smooth(mut n: usize) -> bool {
    for p in [2, 3, 5, 7, 11] {
        while n > 0 && n.is_multiple_of(p) {
            n /= p;
        }
    }
    n == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::c128;
    use crate::memory::sized;

    #[test]
    fn transforms_of_every_length_undo_and_agree() {
        for n in (1..sized(40, 6)).chain(sized(vec![97, 128, 1009], vec![11, 16])) {
            let x: Vec<f64> = (0..3 * n).map(|i| ((i * i + 1) as f64).sin()).collect();
            for (dims, axis) in [([3, n], 1), ([n, 3], 0)] {
                let x = Array::from_slice(&x, &dims).unwrap();
                let half = Half { axis, n, weighted: false };
                let forward = Transform { inverse: false, scale: 1.0 };
                let back = Transform { inverse: true, scale: 1.0 / n as f64 };
                let y = half_of_real("t", &x, half, forward).unwrap();
                let again = real_of_half("t", &y, half, back).unwrap();
                let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
                assert!(again.to_vec::<f64>().iter().zip(&x.to_vec()).all(near), "{n}");
                let whole: Vec<c128> = x.to_vec::<f64>().iter().map(|&v| c128::new(v, 0.0)).collect();
                let z = complex("t", &Array::from_slice(&whole, &dims).unwrap(), &[axis], forward).unwrap();
                let z = z.slice_axis(axis, 0, half.count(), 1).to_vec::<c128>();
                let near = |(a, b): (&c128, &c128)| (a - b).norm() < 1e-11 * n as f64;
                assert!(z.iter().zip(&y.to_vec()).all(near), "{n}");
            }
        }
    }
}
