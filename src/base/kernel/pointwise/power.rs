//! Powers and their derivatives. A single exponent for all elements is examined once, outside the loop.

use crate::dtype::{DTYPES, DType};
use crate::kernel::fast::Fast;
use crate::kernel::num::{self, Field, Num, Plain};
use crate::kernel::pointwise::binary::{self, BinaryLoop, BinaryLoops, binary_loops};
use crate::kernel::pointwise::formula::{Arithmetic, Formula};
use crate::kernel::pointwise::unary;

/// Floats with arithmetic forms of common powers. Forms with more than two roundings are computed in f64; for f64
/// itself they make up for their roundings, or are left to the vectorised power function.
pub(super) trait Power: Plain {
    const NARROW: bool;
    fn cube(self) -> Self;
    fn fourth(self) -> Self;
    fn inverse_square(self) -> Self;
    fn inverse_root(self) -> Self;
    fn three_halves(self) -> Self;
    fn inverse_three_halves(self) -> Self;
}

macro_rules! power {
    ($($t:ident $narrow:literal)*) => { $(
        impl Power for $t {
            const NARROW: bool = $narrow;
            #[inline(always)] fn cube(self) -> Self { let x = f64::from(self); (x * x * x) as $t }
            #[inline(always)] fn fourth(self) -> Self {
                let x = f64::from(self);
                let square = x * x;
                let fourth = square * square;
                if $narrow {
                    return fourth as $t;
                }
                // What both products lose.
                let lost = square.mul_add(square, -fourth) + 2.0 * square * x.mul_add(x, -square);
                (if fourth <= f64::MAX { fourth + lost } else { fourth }) as $t
            }
            #[inline(always)] fn inverse_square(self) -> Self {
                let x = f64::from(self);
                let (square, inverse) = (x * x, 1.0 / x);
                // The square may overflow where its inverse is still a number.
                let inside = $narrow || (f64::MIN_POSITIVE..=f64::MAX).contains(&square);
                let quotient = 1.0 / square;
                (if inside { quotient } else { inverse * inverse }) as $t
            }
            #[inline(always)] fn inverse_root(self) -> Self { (1.0 / f64::from(self).sqrt()) as $t }
            #[inline(always)] fn three_halves(self) -> Self { let x = f64::from(self); (x * x.sqrt()) as $t }
            #[inline(always)] fn inverse_three_halves(self) -> Self {
                let x = f64::from(self);
                (1.0 / (x * x.sqrt())) as $t
            }
        }
    )* };
}
power!(f32 true f64 false);

/// A power computed by arithmetic.
pub(super) trait Form {
    fn of<T: Power>(x: T) -> T;
}

macro_rules! forms {
    ($($Name:ident $x:ident => $e:expr;)*) => { $(
        pub(super) struct $Name;
        impl Form for $Name {
            #[inline(always)]
            fn of<T: Power>($x: T) -> T { $e }
        }
    )* };
}
forms! {
    One _x => T::ONE;
    Itself x => x;
    Square x => x.mul(x);
    Cube x => x.cube();
    Fourth x => x.fourth();
    Reciprocal x => T::ONE.div(x);
    InverseSquare x => x.inverse_square();
    // These are no square roots: the power 1/2 of -inf is inf, and that of -0 is 0.
    Root x => { let y = x.add(T::ZERO).sqrt(); if x == T::INFINITY.neg() { T::INFINITY } else { y } };
    InverseRoot x => { let y = x.add(T::ZERO).inverse_root(); if x == T::INFINITY.neg() { T::ZERO } else { y } };
    ThreeHalves x => { let y = x.add(T::ZERO).three_halves(); if x == T::INFINITY.neg() { T::INFINITY } else { y } };
    InverseThreeHalves x => {
        let y = x.add(T::ZERO).inverse_three_halves();
        if x == T::INFINITY.neg() { T::ZERO } else { y }
    };
}

/// A loop over powers with one exponent.
trait Powers<T> {
    /// # Safety
    /// As the table's loop that calls it.
    unsafe fn by<F: Form>(self);
    /// # Safety
    /// As above.
    unsafe fn any(self);
}

/// Runs the loop for the exponent `e`.
///
/// # Safety
/// As the table's loop that calls it.
unsafe fn decided<T: Power>(e: T, loops: impl Powers<T>) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        match e.to_f64() {
            0.0 => loops.by::<One>(),
            1.0 => loops.by::<Itself>(),
            2.0 => loops.by::<Square>(),
            3.0 => loops.by::<Cube>(),
            4.0 => loops.by::<Fourth>(),
            -1.0 => loops.by::<Reciprocal>(),
            -2.0 => loops.by::<InverseSquare>(),
            0.5 => loops.by::<Root>(),
            -0.5 => loops.by::<InverseRoot>(),
            1.5 => loops.by::<ThreeHalves>(),
            -1.5 if T::NARROW => loops.by::<InverseThreeHalves>(),
            _ => loops.any(),
        }
    }
}

/// `y x^(y - 1)`, and 0 where `y` is 0.
#[inline(always)]
fn slope<T: Num>(x: T, y: T) -> T {
    if y == T::ZERO { T::ZERO } else { y.mul(x.pow(y.sub(T::ONE))) }
}

/// A pointer and its stride: 1, or 0 for one element that is used for all results.
type From = (*const u8, usize);

/// `x^y` for `n` elements.
struct Values(usize, From, From, *mut u8);
/// [`slope`] for `n` elements.
struct Slopes(usize, From, From, *mut u8);
/// The incoming gradient times [`slope`], for one exponent.
struct Gradients<T>(usize, From, From, T, *mut u8);

macro_rules! powers {
    ($($t:ident)*) => { $(
        impl Powers<$t> for Values {
            #[inline(always)]
            unsafe fn by<F: Form>(self) {
                let Values(n, (x, _), _, out) = self;
                // SAFETY: as the function's `# Safety` section requires.
                unsafe { unary::map_vectorized(#[inline(always)] move |x: $t| F::of(x), n, x, out) }
            }
            unsafe fn any(self) {
                let Values(n, x, y, out) = self;
                // SAFETY: as above.
                unsafe {
                    binary::zip_fast::<true, _, _>(
                        #[inline(always)] move |x: $t, y| x.pow(y),
                        #[inline(always)] move |x: Fast<$t>, y| x.pow(y),
                        n, x, y, out,
                    );
                }
            }
        }
        impl Powers<$t> for Slopes {
            #[inline(always)]
            unsafe fn by<F: Form>(self) {
                let Slopes(n, (x, _), (y, _), out) = self;
                // SAFETY: as above.
                unsafe {
                    let y = *y.cast::<$t>();
                    unary::map_vectorized(#[inline(always)] move |x: $t| y.mul(F::of(x)), n, x, out);
                }
            }
            unsafe fn any(self) {
                let Slopes(n, x, y, out) = self;
                // SAFETY: as above.
                unsafe {
                    binary::zip_fast::<false, _, _>(
                        #[inline(always)] move |x: $t, y| slope(x, y),
                        #[inline(always)] move |x: Fast<$t>, y| slope(x, y),
                        n, x, y, out,
                    );
                }
            }
        }
        impl Powers<$t> for Gradients<$t> {
            #[inline(always)]
            unsafe fn by<F: Form>(self) {
                let Gradients(n, g, x, y, out) = self;
                // SAFETY: as above.
                unsafe { binary::zip_vectorized(#[inline(always)] move |g: $t, x| g.mul(y.mul(F::of(x))), n, g, x, out) }
            }
            unsafe fn any(self) {
                let Gradients(n, g, x, y, out) = self;
                // SAFETY: as above.
                unsafe {
                    binary::zip_fast::<false, _, _>(
                        #[inline(always)] move |g: $t, x| g.mul(slope(x, y)),
                        #[inline(always)] move |g: Fast<$t>, x| g.mul(slope(x, Fast(y))),
                        n, g, x, out,
                    );
                }
            }
        }
    )* };
}
powers!(f32 f64);

/// A loop over bases and exponents. A single exponent selects the form for that exponent minus `less`.
macro_rules! pairs {
    ($Powers:ident $t:ident $less:literal) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, sx, y, sy, out, _| unsafe {
            let all = $Powers(n, (x, sx), (y, sy), out);
            // The derivative of a constant is 0, even where the power is not finite.
            match if (sx == 1 || n == 1) && sy == 0 && n > 0 { *y.cast::<$t>() } else { 0.0 } {
                0.0 => Powers::<$t>::any(all),
                e => decided(e - $less, all),
            }
        }
    };
}

/// A loop for the gradient with respect to the base `x`, with one exponent: pairs of incoming gradient and base.
macro_rules! gradient {
    ($t:ident) => {
        // SAFETY: what a loop promises.
        |n, g, sg, x, sx, out, p| unsafe {
            let y = p[0] as $t;
            let all = Gradients(n, (g, sg), (x, sx), y, out);
            if y == 0.0 { all.any() } else { decided(y - 1.0, all) }
        }
    };
}

const fn table(
    f32: BinaryLoop,
    f64: BinaryLoop,
    others: [Option<BinaryLoop>; DTYPES],
    formula: Formula,
) -> BinaryLoops {
    let mut loops = others;
    loops[DType::F32 as usize] = Some(f32);
    loops[DType::F64 as usize] = Some(f64);
    BinaryLoops { loops, out: None, divides: false, has_forms: true, formula, weight: 1 }
}

/// `x^y`.
pub const POWER: &BinaryLoops = &table(
    pairs!(Values f32 0.0),
    pairs!(Values f64 0.0),
    INTEGERS.loops,
    Formula::Arithmetic(Arithmetic::Power),
)
.and_complex(COMPLEX);
/// `y x^(y - 1)`, and 0 where `y` is 0.
pub const SLOPE: &BinaryLoops =
    &table(pairs!(Slopes f32 1.0), pairs!(Slopes f64 1.0), [None; DTYPES], COMPLEX_SLOPE.formula)
        .and_complex(COMPLEX_SLOPE);
/// `g p[0] x^(p[0] - 1)` of pairs `g`, `x`, and `g · 0` if `p[0]` is 0.
pub const GRADIENT: &BinaryLoops =
    &table(gradient!(f32), gradient!(f64), [None; DTYPES], Formula::Arithmetic(Arithmetic::PowerGradient));
/// `log x`; 0 where `x` is 0 and `y` (its real part) is not negative, since `x^y log x` tends to 0 there.
pub const LOG: &BinaryLoops = &REAL_LOG.and_complex(COMPLEX_LOG);

const INTEGERS: &BinaryLoops = binary_loops!(integer x, y => x.pow(y));
const COMPLEX: &BinaryLoops = binary_loops!(complex x, y => num::power(x, y));
const COMPLEX_SLOPE: &BinaryLoops =
    binary_loops!(complex x, y => if y == T::ZERO { y } else { y.mul(num::power(x, y.sub(T::ONE))) });
const REAL_LOG: &BinaryLoops =
    binary_loops!(real x, y => if x == T::ZERO && y >= T::ZERO { x } else { x.ln() });
const COMPLEX_LOG: &BinaryLoops =
    binary_loops!(complex x, y => if x == T::ZERO && y.parts().0 >= T::Part::ZERO { x } else { x.ln() });
