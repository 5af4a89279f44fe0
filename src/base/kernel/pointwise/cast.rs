//! Conversion to another dtype.

use crate::array::Array;
use crate::dtype::{Bool8, DType, dispatch};
use crate::error::Result;
use crate::kernel::fast::ROUND64;
use crate::kernel::pointwise::complex;
use crate::kernel::pointwise::formula::Formula;
use crate::kernel::pointwise::half;
use crate::kernel::pointwise::row::{Loop, Row};
use crate::kernel::pointwise::unary::{self, UnaryLoop};
use crate::kernel::simd;

/// Conversion of an element. From float to integer it truncates. What does not fit is taken modulo the range of an unsigned
/// integer, or of one of less than 32 bits, as C compilers and NumPy do it; other integers saturate. NaN gives 0, and so does
/// what is beyond 32 bits (for integers of less bits) or 64 bits (for u32).
trait To<U>: Copy {
    fn to(self) -> U;

    /// A conversion with instructions that vectorise, and whether its result is valid.
    #[inline(always)]
    fn quick(self) -> (U, bool) {
        (self.to(), true)
    }
}

macro_rules! plainly {
    ($($from:ident => $($to:ident)*;)*) => { $( $(
        impl To<$to> for $from {
            #[inline(always)] fn to(self) -> $to { self as $to }
        }
    )* )* };
}
macro_rules! integers {
    ($($from:ident)*) => {
        plainly! { $($from => u8 i8 u16 i16 u32 i32 u64 i64 f32 f64;)* }
        $( impl To<Bool8> for $from {
            #[inline(always)] fn to(self) -> Bool8 { Bool8::from(self != 0) }
        } )*
    };
}
integers! { u8 i8 u16 i16 u32 i32 u64 i64 }
plainly! {
    f32 => f32 f64;
    f64 => f32 f64;
}

macro_rules! truth {
    ($($t:ident)*) => { $(
        impl To<$t> for Bool8 {
            #[inline(always)] fn to(self) -> $t { self.0 as $t }
        }
    )* };
}
truth! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }
impl To<Bool8> for Bool8 {
    #[inline(always)]
    fn to(self) -> Bool8 {
        self
    }
}

/// An integer-valued float of less than 2⁵¹ in size as an integer: the low bits of its sum with [`ROUND64`]. AVX2 has
/// no instruction for this conversion, nor for its inverse.
#[inline(always)]
pub fn integer(x: f64) -> u64 {
    (x + ROUND64).to_bits().wrapping_sub(ROUND64.to_bits())
}

/// The inverse of [`integer`].
#[inline(always)]
pub fn float(bits: u64) -> f64 {
    f64::from_bits(bits.wrapping_add(ROUND64.to_bits())) - ROUND64
}

// Rust's `as` checks the range of each number and does not vectorise.
macro_rules! narrowed {
    ($($from:ident => $($to:ident)*;)*) => { $( $(
        impl To<$to> for $from {
            #[inline(always)]
            fn to(self) -> $to {
                const END: $from = -(i32::MIN as $from);
                let inside = if self.abs() < END { self } else { 0.0 };
                // SAFETY: the number is less than 2³¹ in size.
                unsafe { inside.to_int_unchecked::<i32>() as $to }
            }
        }
    )* )* };
}
narrowed! {
    f32 => u8 i8 u16 i16;
    f64 => u8 i8 u16 i16;
}

impl To<i32> for f64 {
    #[inline(always)]
    fn to(self) -> i32 {
        // The compiler does not know that the truncated number is in range. A second clamp lets it use instructions that
        // narrow and saturate.
        let x = if self > f64::from(i32::MIN) { self } else { f64::from(i32::MIN) };
        let x = if x < f64::from(i32::MAX) { x } else { f64::from(i32::MAX) };
        // NaN was clamped to the lower bound.
        let x = if self.is_nan() { 0.0 } else { x };
        // SAFETY: the clamped number is in the range of i32.
        unsafe { x.to_int_unchecked() }
    }
}

impl To<i32> for f32 {
    #[inline(always)]
    fn to(self) -> i32 {
        const END: f32 = -(i32::MIN as f32);
        let inside = if self.abs() < END { self } else { 0.0 };
        // SAFETY: the number is less than 2³¹ in size.
        let y = unsafe { inside.to_int_unchecked::<i32>() };
        let y = if self >= END { i32::MAX } else { y };
        if self <= -END { i32::MIN } else { y }
    }
}

// AVX2 has no such conversions. Most numbers are small enough for a shorter one.
macro_rules! quickly {
    ($($from:ident => $($to:ident)*, $x:ident => $sure:expr, $e:expr, else $slow:expr;)*) => { $( $(
        impl To<$to> for $from {
            #[inline(always)]
            fn to(self) -> $to {
                let $x = self;
                ($slow) as $to
            }
            #[inline(always)]
            fn quick(self) -> ($to, bool) {
                let $x = self;
                let sure = $sure;
                let $x = if sure { $x } else { 0.0 };
                let whole = $e;
                (whole as $to, sure)
            }
        }
    )* )* };
}
/// The sizes below which the short conversions are valid.
const NARROW: f32 = (1u32 << 31) as f32;
const MIDDLE: f64 = (1u64 << 50) as f64;
/// The size from which numbers do not fit into 64 bits with a sign.
const LARGE: f64 = (1u64 << 63) as f64;
quickly! {
    f32 => u32, x => f64::from(x).abs() < MIDDLE, integer(f64::from(x).trunc()), else if x < LARGE as f32 { x as i64 } else { 0 };
    f64 => u32, x => x.abs() < MIDDLE, integer(x.trunc()), else if x < LARGE { x as i64 } else { 0 };
    // SAFETY: the number is less than 2³¹ in size.
    f32 => i64, x => x.abs() < NARROW, unsafe { x.to_int_unchecked::<i32>() }, else x;
    // SAFETY: as above.
    f32 => u64, x => x.abs() < NARROW, unsafe { x.to_int_unchecked::<i32>() }, else if x < 0.0 { x as i64 as u64 } else { x as u64 };
    f64 => i64, x => x.abs() < MIDDLE, integer(x.trunc()), else x;
    f64 => u64, x => x.abs() < MIDDLE, integer(x.trunc()), else if x < 0.0 { x as i64 as u64 } else { x as u64 };
}

macro_rules! truth_of_floats {
    ($($t:ident)*) => { $(
        impl To<Bool8> for $t {
            #[inline(always)] fn to(self) -> Bool8 { Bool8::from(self != 0.0) }
        }
    )* };
}
truth_of_floats! { f32 f64 }

/// # Safety
/// `x` has `n` elements, and `out` has room for `n`.
unsafe fn convert<A: To<B>, B>(n: usize, x: *const A, out: *mut B) {
    simd::autovectorize(
        // `move`, because the compiler must assume that the loop may write what it reads through a reference.
        #[inline(always)]
        move || {
            for start in (0..n).step_by(simd::BLOCK) {
                let block = start..n.min(start + simd::BLOCK);
                let mut sure = true;
                for i in block.clone() {
                    // SAFETY: as the function's `# Safety` section requires.
                    unsafe {
                        let (y, known) = (*x.add(i)).quick();
                        out.add(i).write(y);
                        sure &= known;
                    }
                }
                if !sure {
                    // SAFETY: as above.
                    block.for_each(|i| unsafe { out.add(i).write((*x.add(i)).to()) });
                }
            }
        },
    );
}

/// The array converted to another dtype. A complex number becomes its real part, or whether it is not 0.
pub fn cast(x: &Array, to: DType) -> Result<Array> {
    if to.is_complex() {
        // In two steps, so that no dtype needs a loop for each complex one.
        return match x.dtype() {
            from if from.is_complex() => complex::widened(x, to),
            from if from == to.real() => complex::from_real(x),
            _ => complex::from_real(&cast(x, to.real())?),
        };
    }
    if x.dtype().is_complex() {
        return if to == DType::Bool { complex::is_not_zero(x) } else { cast(&complex::real(x), to) };
    }
    if x.dtype() == to {
        return Ok(x.clone());
    }
    if to.is_half() {
        return match x.dtype() {
            DType::F32 | DType::F64 => half::narrowed(x, to),
            from if from.is_half() => half::narrowed(&half::widened(x)?, to),
            // Every integer that is not beyond the range of the half dtype is exact in float64 or far from a tie.
            _ => half::narrowed(&cast(x, DType::F64)?, to),
        };
    }
    if x.dtype().is_half() {
        let wide = half::widened(x)?;
        return if to == DType::F32 { Ok(wide) } else { cast(&wide, to) };
    }
    let row = conversion(x.dtype(), to).expect("these dtypes are converted in one step");
    // SAFETY: the loop is that of the dtypes.
    unsafe { unary::apply_loop("cast", (row, &[0.0; 3], 1), to, x) }
}

/// The loop that converts between two dtypes. None for those that take two steps.
fn conversion(from: DType, to: DType) -> Option<UnaryLoop> {
    dispatch!(from, ordered A => dispatch!(to, ordered B => {
        // SAFETY: the caller passes an array of dtype `A` and an output of dtype `B`.
        Some(|n, x, out, _| unsafe { convert::<A, B>(n, x.cast(), out.cast()) })
    }, else None), else None)
}

/// The conversion between two dtypes as a formula, if it is one.
pub fn row(from: DType, to: DType) -> Option<Row> {
    struct Cast;
    let apply = half::conversion(from, to).or_else(|| conversion(from, to))?;
    Some(Row::new(Loop::Unary(apply), Formula::of::<Cast>(None), [0.0; 3], from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Element;
    use crate::memory::sized;

    /// Numbers around all bounds, and of all sizes.
    fn numbers() -> Vec<f64> {
        let mut all = vec![0.0, -0.0, 0.5, f64::NAN, f64::INFINITY, 5e-324, 1e-40, f64::MAX];
        for bits in [7, 8, 15, 16, 31, 32, 50, 51, 52, 53, 62, 63, 64, 65] {
            let end = 2f64.powi(bits);
            for near in [end - 1.0, end - 0.5, end, end + 0.5, end + 1.0] {
                all.extend([near.next_down(), near, near.next_up(), f64::from(near as f32).next_down()]);
                all.extend([f64::from((near as f32).next_down()), f64::from((near as f32).next_up())]);
            }
        }
        let mut state = 1u64;
        for i in 0..sized(5000, 20) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            all.push((state as i64 as f64) * 2f64.powi(-(i % 70)));
        }
        all.iter().step_by(sized(1, 37)).flat_map(|&x| [x, -x]).collect()
    }

    #[test]
    fn floats_become_integers_as_c_or_rust_has_them() {
        fn check<A: Element + To<B>, B: Element>(numbers: &[A], rust: impl Fn(A) -> B) {
            // All in one array, and each alone: a block of one element may take the short conversion.
            let whole = cast(&Array::from_slice(numbers, &[numbers.len()]).unwrap(), B::DTYPE).unwrap();
            for (&x, y) in numbers.iter().zip(whole.as_slice::<B>().unwrap()) {
                assert_eq!(*y, rust(x), "{x:?}");
                let alone = cast(&Array::from_slice(&[x], &[1]).unwrap(), B::DTYPE).unwrap();
                assert_eq!(alone.as_slice::<B>().unwrap(), [rust(x)], "{x:?}");
            }
        }
        let doubles = numbers();
        let singles: Vec<f32> = doubles.iter().map(|&x| x as f32).collect();
        macro_rules! to {
            ($($($t:ident)*, $x:ident => $e:expr;)*) => {
                $( $( check(&doubles, |$x| ($e) as $t); check(&singles, |$x| ($e) as $t); )* )*
            };
        }
        to! {
            u8 i8 u16 i16, x => if x.abs() < 2_147_483_648.0 { x as i32 } else { 0 };
            u32, x => if x < 9_223_372_036_854_775_808.0 { x as i64 } else { 0 };
            u64, x => if x < 0.0 { x as i64 as u64 } else { x as u64 };
            i32 i64, x => x;
        }
    }
}
