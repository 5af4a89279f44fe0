//! Powers and their derivatives. A single exponent for all elements is examined once, outside the loop.

use crate::dtype::{DTYPES, DType};
use crate::kernel::fast::Fast;
use crate::kernel::num::{self, Field, Num, Plain};
use crate::kernel::pointwise::binary::{self, BinaryLoop, BinaryLoops, binary_loops};
use crate::kernel::pointwise::expressions::{Expression, Square, SquareGradient};
use crate::kernel::pointwise::formula::Formula;
use crate::kernel::pointwise::{lanes, unary};

/// Powers with one exponent as arithmetic: rows `Name plain x => power;`, or `Name wide x is_narrow => power;` for what is computed
/// in float64. There it makes up for its roundings, which a result in float32 does not need.
macro_rules! forms {
    ($($Name:ident $kind:ident $x:ident $($is_narrow:ident)? => $e:expr;)*) => { $(
        pub struct $Name;
        impl Expression for $Name {
            const OPERANDS: usize = 1;
            const IS_WIDE: bool = forms!(@is $kind);
            #[inline(always)]
            fn of<T: lanes::Lanes>(x: T, _: T) -> T {
                #[inline(always)]
                fn form<T: lanes::Lanes>($x: T, _is_narrow: bool) -> T {
                    $(let $is_narrow = _is_narrow;)?
                    $e
                }
                if Self::IS_WIDE { T::narrowed(form(x.widened(), T::IS_NARROW)) } else { form(x, false) }
            }
        }
    )* };
    (@is plain) => { false };
    (@is wide) => { true };
}
forms! {
    One plain _x => T::lit(1.0);
    Itself plain x => x;
    Cube wide x => x.mul(x).mul(x);
    Fourth wide x is_narrow => {
        let square = x.mul(x);
        let lost = x.mul_sub(x, square).mul(square.mul(T::lit(2.0)));
        let fourth = square.mul(square);
        if is_narrow {
            return fourth;
        }
        // What both products lose. Nothing is lost where the power is infinite.
        let lost = square.mul_sub(square, fourth).add(lost);
        fourth.add(T::select(fourth.at_most(T::lit(f64::MAX)), lost, T::lit(0.0)))
    };
    Reciprocal plain x => T::lit(1.0).div(x);
    InverseSquare wide x is_narrow => {
        let (square, inverse) = (x.mul(x), T::lit(1.0).div(x));
        let quotient = T::lit(1.0).div(square);
        if is_narrow {
            return quotient;
        }
        // The square may overflow where its inverse is still a number.
        let other = inverse.mul(inverse);
        let quotient = T::select(square.at_most(T::lit(f64::MAX)), quotient, other);
        T::select(T::lit(f64::MIN_POSITIVE).at_most(square), quotient, other)
    };
    // These are no square roots: the power 1/2 of -inf is inf, and that of -0 is 0.
    Root plain x => { let x = x.add(T::lit(0.0)); unless_infinite(x, x.sqrt(), f64::INFINITY) };
    InverseRoot wide x => { let x = x.add(T::lit(0.0)); unless_infinite(x, T::lit(1.0).div(x.sqrt()), 0.0) };
    ThreeHalves wide x => { let x = x.add(T::lit(0.0)); unless_infinite(x, x.mul(x.sqrt()), f64::INFINITY) };
    InverseThreeHalves wide x => {
        let x = x.add(T::lit(0.0));
        unless_infinite(x, T::lit(1.0).div(x.mul(x.sqrt())), 0.0)
    };
}

/// The power, or another number where `x` is -∞.
#[inline(always)]
fn unless_infinite<T: lanes::Lanes>(x: T, power: T, other: f64) -> T {
    T::select(x.equals(T::lit(f64::NEG_INFINITY)), T::lit(other), power)
}

/// The incoming gradient times the derivative of a power, whose exponent less one has a form.
#[inline(always)]
fn gradient<T: lanes::Lanes, F: Expression>(g: T, exponent: T, x: T) -> T {
    g.mul(exponent.mul(F::of(x, x)))
}

macro_rules! gradients {
    ($($Name:ident $exponent:literal $Form:ident;)*) => { $(
        pub struct $Name;
        impl Expression for $Name {
            const OPERANDS: usize = 2;
            const IS_WIDE: bool = $Form::IS_WIDE;
            #[inline(always)]
            fn of<T: lanes::Lanes>(g: T, x: T) -> T {
                gradient::<T, $Form>(g, T::lit($exponent), x)
            }
        }
    )* };
}
gradients! {
    CubeGradient 3.0 Square;
    FourthGradient 4.0 Cube;
    ThreeHalvesGradient 1.5 Root;
}

/// The exponents of powers that are formulas of arithmetic: those of the power and of its gradient.
pub const EXPONENTS: [(f64, [Formula; 2]); 4] = [
    (2.0, [Square::FORMULA, SquareGradient::FORMULA]),
    (3.0, [Cube::FORMULA, CubeGradient::FORMULA]),
    (4.0, [Fourth::FORMULA, FourthGradient::FORMULA]),
    (1.5, [ThreeHalves::FORMULA, ThreeHalvesGradient::FORMULA]),
];

/// A loop over powers with one exponent.
trait Powers<T> {
    /// # Safety
    /// As the table's loop that calls it.
    unsafe fn by<F: Expression>(self);
    /// # Safety
    /// As above.
    unsafe fn any(self);
}

/// Runs the loop for the exponent `e`.
///
/// # Safety
/// As the table's loop that calls it.
unsafe fn decided<T: Plain + lanes::Lanes>(e: T, loops: impl Powers<T>) {
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
            -1.5 if T::IS_NARROW => loops.by::<InverseThreeHalves>(),
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
            unsafe fn by<F: Expression>(self) {
                let Values(n, (x, _), _, out) = self;
                // SAFETY: as the function's `# Safety` section requires.
                unsafe { unary::map_vectorized(#[inline(always)] move |x: $t| F::of(x, x), n, x, out) }
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
            unsafe fn by<F: Expression>(self) {
                let Slopes(n, x, (y, _), out) = self;
                // A product with 1 changes nothing.
                let one: $t = 1.0;
                // SAFETY: as above.
                unsafe { Gradients(n, ((&raw const one).cast(), 0), x, *y.cast::<$t>(), out).by::<F>() }
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
            unsafe fn by<F: Expression>(self) {
                let Gradients(n, g, x, y, out) = self;
                // SAFETY: as above.
                unsafe { binary::zip_vectorized(#[inline(always)] move |g: $t, x| gradient::<$t, F>(g, y, x), n, g, x, out) }
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
pub const POWER: &BinaryLoops =
    &table(pairs!(Values f32 0.0), pairs!(Values f64 0.0), INTEGERS.loops, INTEGERS.formula)
        .and_complex(COMPLEX);
/// `y x^(y - 1)`, and 0 where `y` is 0.
pub const SLOPE: &BinaryLoops =
    &table(pairs!(Slopes f32 1.0), pairs!(Slopes f64 1.0), [None; DTYPES], COMPLEX_SLOPE.formula)
        .and_complex(COMPLEX_SLOPE);
struct PowerGradient;
/// `g p[0] x^(p[0] - 1)` of pairs `g`, `x`, and `g · 0` if `p[0]` is 0.
pub const GRADIENT: &BinaryLoops =
    &table(gradient!(f32), gradient!(f64), [None; DTYPES], Formula::of::<PowerGradient>(None));
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
