//! Integer-valued quotients and their remainders.

use crate::dtype::{DTYPES, DType};
use crate::kernel::num::Num;
use crate::kernel::pointwise::binary::{self, BinaryLoop, BinaryLoops, binary_loops};
use crate::kernel::pointwise::cast::{float, integer};
use crate::kernel::simd;

/// 64-bit integers, whose division instructions are slow.
trait Long: Num {
    /// Minus the smallest short number.
    const BELOW: u64;
    fn bits(self) -> u64;
    fn from_bits(bits: u64) -> Self;

    /// Whether the number is short: less than 2⁵⁰ in size, or -2⁵⁰.
    #[inline(always)]
    fn short(self) -> bool {
        self.bits().wrapping_add(Self::BELOW) < (1 << 50) + Self::BELOW
    }
}
macro_rules! long {
    ($($t:ident $below:expr;)*) => { $(
        impl Long for $t {
            const BELOW: u64 = $below;
            #[inline(always)] fn bits(self) -> u64 { self as u64 }
            #[inline(always)] fn from_bits(bits: u64) -> Self { bits as $t }
        }
    )* };
}
long! {
    u64 0;
    i64 1 << 50;
}

/// The quotient of two short integers, rounded down, and the remainder. The division is off by less than one part in
/// 2⁵³, and a quotient that is not an integer is at least `1 / y` away from one, so rounding never reaches the next
/// integer. Product and difference have less than 53 bits and are exact.
#[inline(always)]
fn quotient<T: Long>(x: T, y: T) -> (f64, f64) {
    let (x, y) = (float(x.bits()), float(y.bits()));
    let q = (x / y).floor();
    // Division by 0 gives 0.
    if y == 0.0 { (0.0, 0.0) } else { (q, x - q * y) }
}

/// A loop over pairs: `quick` for blocks of short integers, `row` for the others.
///
/// # Safety
/// As [`binary::zip`].
#[inline(always)]
unsafe fn zip_short<T: Long>(
    row: impl Fn(T, T) -> T + Copy,
    quick: impl Fn(T, T) -> T + Copy,
    n: usize,
    (x, sx): (*const u8, usize),
    (y, sy): (*const u8, usize),
    out: *mut u8,
) {
    simd::multiversion(
        // SAFETY: as the function's `# Safety` section requires.
        #[inline(always)]
        move || unsafe { binary::zip(row, n, (x, sx), (y, sy), out) },
        #[inline(always)]
        move || {
            let size = size_of::<T>();
            for start in (0..n).step_by(simd::BLOCK) {
                let count = simd::BLOCK.min(n - start);
                // SAFETY: as the function's `# Safety` section requires, for this block.
                unsafe {
                    let (x, y) = (x.add(start * sx * size), y.add(start * sy * size));
                    let out = out.add(start * size);
                    let short = |from: *const u8, step: usize| {
                        let from = from.cast::<T>();
                        (0..if step == 0 { 1 } else { count })
                            .fold(true, |all, i| all & (*from.add(i)).short())
                    };
                    if short(x, sx) && short(y, sy) {
                        binary::zip(quick, count, (x, sx), (y, sy), out);
                    } else {
                        binary::zip(row, count, (x, sx), (y, sy), out);
                    }
                }
            }
        },
    );
}

macro_rules! long_loop {
    ($t:ident $row:ident $part:tt) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, sx, y, sy, out, _| unsafe {
            zip_short(
                #[inline(always)]
                |x: $t, y| x.$row(y),
                #[inline(always)]
                |x: $t, y| Long::from_bits(integer(quotient(x, y).$part)),
                n,
                (x, sx),
                (y, sy),
                out,
            )
        }
    };
}

/// Combines the loops of integers and of floats.
const fn table(
    integers: &BinaryLoops,
    floats: &BinaryLoops,
    u64: BinaryLoop,
    i64: BinaryLoop,
) -> BinaryLoops {
    let mut loops: [Option<BinaryLoop>; DTYPES] = integers.loops;
    loops[DType::U64 as usize] = Some(u64);
    loops[DType::I64 as usize] = Some(i64);
    loops[DType::F32 as usize] = floats.loops[DType::F32 as usize];
    loops[DType::F64 as usize] = floats.loops[DType::F64 as usize];
    BinaryLoops { loops, out: None, divides: true, has_forms: false, formula: integers.formula, weight: 1 }
}

/// [`Num::floor_div`].
pub const FLOOR: &BinaryLoops = {
    const INTEGERS: &BinaryLoops = binary_loops!(integer x, y => x.floor_div(y));
    const FLOATS: &BinaryLoops = binary_loops!(real x, y => x.floor_div(y));
    &table(INTEGERS, FLOATS, long_loop!(u64 floor_div 0), long_loop!(i64 floor_div 0))
};
/// The quotient that goes with [`Num::modulo`]: [`Num::floor_div`], but NaN of an infinite dividend, and -1 where only
/// the divisor is infinite and the signs differ.
pub const FLOOR_WITH_REST: &BinaryLoops = {
    const FLOATS: &BinaryLoops = binary_loops!(real x, y => {
        if x.is_infinite() && y != T::ZERO {
            T::lit(f64::NAN)
        } else if y.is_infinite() && x.mul(y) < T::ZERO {
            T::ONE.neg()
        } else {
            x.floor_div(y)
        }
    });
    let mut loops = FLOOR.loops;
    loops[DType::F32 as usize] = FLOATS.loops[DType::F32 as usize];
    loops[DType::F64 as usize] = FLOATS.loops[DType::F64 as usize];
    &BinaryLoops { loops, out: None, divides: true, has_forms: false, formula: FLOATS.formula, weight: 1 }
};
/// [`Num::modulo`].
pub const REST: &BinaryLoops = {
    const INTEGERS: &BinaryLoops = binary_loops!(integer x, y => x.modulo(y));
    const FLOATS: &BinaryLoops = binary_loops!(real x, y => x.modulo(y));
    &table(INTEGERS, FLOATS, long_loop!(u64 modulo 1), long_loop!(i64 modulo 1))
};

/// The remainder with the sign of the dividend; an integer modulo 0 is 0.
pub const FMOD: &BinaryLoops = {
    const INTEGERS: &BinaryLoops = binary_loops!(integer x, y => {
        let rest = x.modulo(y);
        // `rest` has the sign of the divisor.
        if rest == T::ZERO || (rest < T::ZERO) == (x < T::ZERO) { rest } else { rest.sub(y) }
    });
    const FLOATS: &BinaryLoops = binary_loops!(real x, y => x.fmod(y));
    let mut loops = INTEGERS.loops;
    loops[DType::F32 as usize] = FLOATS.loops[DType::F32 as usize];
    loops[DType::F64 as usize] = FLOATS.loops[DType::F64 as usize];
    &BinaryLoops { loops, out: None, divides: true, has_forms: false, formula: INTEGERS.formula, weight: 1 }
};

/// The greatest common divisor, by Euclid's algorithm.
pub fn gcd<T: Num>(x: T, y: T) -> T {
    let (mut x, mut y) = (x, y);
    while y != T::ZERO {
        (x, y) = (y, x.modulo(y));
    }
    x.abs()
}

/// The least common multiple.
pub fn lcm<T: Num>(x: T, y: T) -> T {
    let divisor = gcd(x, y);
    // An integer divided by 0 is 0.
    x.floor_div(divisor).mul(y).abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::dtype::Element;
    use crate::memory::sized;

    /// Checks pairs of these numbers, in small blocks and in large ones.
    fn check<T: Num + Element>(numbers: &[T], same: impl Fn(T, T) -> bool) {
        let of = |numbers: &[T]| Array::from_slice(numbers, &[numbers.len()]).unwrap();
        for (table, row) in [(FLOOR, T::floor_div as fn(T, T) -> T), (REST, T::modulo)] {
            for &y in numbers {
                let all = binary::apply("t", table, &of(numbers), &of(&[y]), 0).unwrap();
                let turned = binary::apply("t", table, &of(&[y]), &of(numbers), 0).unwrap();
                for (i, &x) in numbers.iter().enumerate() {
                    let (a, b) = (all.as_slice::<T>().unwrap()[i], turned.as_slice::<T>().unwrap()[i]);
                    assert!(same(a, row(x, y)), "{x:?} {y:?}: {a:?}");
                    assert!(same(b, row(y, x)), "{y:?} {x:?}: {b:?}");
                    if i % 7 == 0 {
                        let one = binary::apply("t", table, &of(&[x]), &of(&[y]), 0).unwrap();
                        assert!(same(one.as_slice::<T>().unwrap()[0], row(x, y)), "{x:?} {y:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn quotients_are_those_of_the_rows() {
        let mut state = 3u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        };
        let mut doubles = vec![0.0, 1.0, 3.0, 7.0, 0.1, 0.3, 5e-324, 1e-45, 1e-40, 1e-310, 1e38, 1e308];
        doubles.extend([f64::INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE, 2f64.powi(21), 2f64.powi(23)]);
        doubles.extend([2f64.powi(50), 2f64.powi(52), 2f64.powi(24) - 1.0, 2f64.powi(53) - 1.0]);
        for i in 0..sized(80, 2) {
            doubles.extend([f64::from_bits(next()), f64::from(f32::from_bits(next() as u32))]);
            doubles.extend([(next() % 9999) as f64 * 0.1, (next() % 50) as f64, 0.1 * f64::from(i)]);
        }
        let doubles: Vec<f64> = doubles.iter().step_by(sized(1, 19)).flat_map(|&x| [x, -x]).collect();
        let singles: Vec<f32> = doubles.iter().map(|&x| x as f32).collect();
        check(&doubles, |a, b| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan());
        check(&singles, |a, b| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan());
        let mut integers = vec![0, 1, 2, 3, 7, 10, i64::MAX, i64::MIN, i64::MIN + 1];
        for k in [49, 50, 51, 52, 53, 62] {
            integers.extend([(1 << k) - 1, 1 << k, (1 << k) + 1]);
        }
        integers.extend((0..sized(200, 5)).map(|i| (next() as i64) >> (i % 64)));
        let signed: Vec<i64> =
            integers.iter().step_by(sized(1, 7)).flat_map(|&x| [x, x.wrapping_neg()]).collect();
        let short: Vec<i64> = signed.iter().map(|x| x >> 14).collect();
        check(&signed, |a, b| a == b);
        check(&short, |a, b| a == b);
        check(&signed.iter().map(|&x| x as u64).collect::<Vec<u64>>(), |a, b| a == b);
        check(&short.iter().map(|&x| x.unsigned_abs()).collect::<Vec<u64>>(), |a, b| a == b);
    }
}
