//! Formulas of arithmetic. Each is written once: loops over arrays compute it with numbers of each dtype, programs of single numbers
//! compute it with floats, and the code generator with terms.

use crate::kernel::pointwise::binary::{BinaryLoops, binary_loops};
use crate::kernel::pointwise::formula::{Arithmetic, Cells, Formula, Run};
use crate::kernel::pointwise::lanes::Lanes;
use crate::kernel::pointwise::terms::recorded;
use crate::kernel::pointwise::unary::{UnaryLoops, unary_loops};

/// A formula of one or two floats.
pub trait Expression: Sized + 'static {
    /// How many numbers it reads. Of one, the second is any number.
    const OPERANDS: usize;
    /// Whether it computes with twice the digits of float32.
    const IS_WIDE: bool;
    fn of<T: Lanes>(x: T, y: T) -> T;

    const ARITHMETIC: Arithmetic = Arithmetic {
        operands: Self::OPERANDS,
        is_wide: Self::IS_WIDE,
        runs: [run::<f32, Self>, run::<f64, Self>],
        nodes: Some(|| recorded(|x, y| _ = Self::of(x, y))),
    };
    const FORMULA: Formula = Formula::of::<Self>(Some(&Self::ARITHMETIC));
}

/// Computes a formula, given the addresses of its operands. Of a sum or product of two NaN the result is the first one, so the operands
/// keep their places.
///
/// # Safety
/// As [`Run`] says, where `formula` is for the type of the operands.
#[inline(always)]
unsafe fn each<R>(list: &[Cells], cells: *mut u8, formula: impl Fn([*const u8; 3]) -> R) {
    for own in list {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            let at = |k: usize| cells.add(own.from[k] as usize).cast_const();
            *cells.add(own.to as usize).cast::<R>() = formula([at(0), at(1), at(2)]);
        }
    }
}

/// # Safety
/// As [`Run`] says, for numbers of type `T`.
unsafe fn run<T: Lanes, E: Expression>(list: &[Cells], cells: *mut u8) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        each(list, cells, |[x, y, _]| {
            let x = *x.cast::<T>();
            E::of(x, if E::OPERANDS == 2 { *y.cast::<T>() } else { x })
        });
    }
}

/// Rows `TABLE: Loops Name class x, y => number;`. The classes are those of [`unary_loops!`] and [`binary_loops!`].
macro_rules! expressions {
    ($($(#[$doc:meta])* $TABLE:ident: $Loops:ident $Name:ident $class:ident $x:ident $(, $y:ident)? => $e:expr;)*) => { $(
        pub struct $Name;
        impl Expression for $Name {
            const OPERANDS: usize = expressions!(@operands $x $($y)?);
            const IS_WIDE: bool = false;
            #[inline(always)]
            fn of<T: Lanes>($x: T, _y: T) -> T {
                $(let $y = _y;)?
                $e
            }
        }
        $(#[$doc])*
        pub const $TABLE: &$Loops = {
            const LOOPS: &$Loops = expressions!(@loops $class $x $($y)? => $e);
            &$Loops { formula: $Name::FORMULA, ..*LOOPS }
        };
    )* };
    (@operands $x:ident) => { 1 };
    (@operands $x:ident $y:ident) => { 2 };
    (@loops $class:ident $x:ident => $e:expr) => { unary_loops!($class $x => $e) };
    (@loops $class:ident $x:ident $y:ident => $e:expr) => { binary_loops!($class $x, $y => $e) };
}
expressions! {
    /// `x + y`.
    ADD: BinaryLoops Add field x, y => x.add(y);
    /// `x - y`.
    SUBTRACT: BinaryLoops Subtract field x, y => x.sub(y);
    /// `x y`.
    MULTIPLY: BinaryLoops Multiply field x, y => x.mul(y);
    /// `-x`.
    NEGATE: UnaryLoops Negate field x => x.neg();
    /// `x / y`.
    DIVIDE: BinaryLoops Divide inexact x, y => x.div(y);
    /// `√x`.
    SQRT: UnaryLoops Sqrt inexact x => x.sqrt();
    /// `x²`.
    SQUARE: UnaryLoops Square field x => x.mul(x);
    /// `x (2 y)`.
    SQUARE_GRADIENT: BinaryLoops SquareGradient plain x, y => x.mul(y.mul(T::lit(2.0)));
    /// `x / (2 y)`.
    SQRT_GRADIENT: BinaryLoops SqrtGradient plain x, y => x.div(y.mul(T::lit(2.0)));
    /// `|x|`.
    ABSOLUTE: UnaryLoops Absolute num x => x.abs();
}

/// Formulas that give or read truth values: their loops compute any dtype.
macro_rules! of_truth {
    ($operands:literal, [$x:ident, $y:ident, $z:ident] $T:ident => $e:expr) => {{
        struct Own;
        /// # Safety
        /// As [`Run`] says, for numbers of type `T`.
        unsafe fn run<$T: Copy + PartialOrd>(list: &[Cells], cells: *mut u8) {
            // SAFETY: as the function's `# Safety` section requires.
            unsafe { each(list, cells, |[$x, $y, $z]| $e) }
        }
        const OWN: Arithmetic = Arithmetic {
            operands: $operands,
            is_wide: false,
            runs: [run::<f32> as Run, run::<f64>],
            nodes: None,
        };
        Formula::of::<Own>(Some(&OWN))
    }};
}

/// `x < y`.
pub const LESS: &BinaryLoops = {
    const LOOPS: &BinaryLoops = binary_loops!(test x, y => truth(x < y));
    &BinaryLoops { formula: of_truth!(2, [x, y, _z] T => *x.cast::<T>() < *y.cast::<T>()), ..*LOOPS }
};
/// `x ≤ y`.
pub const LESS_EQUAL: &BinaryLoops = {
    const LOOPS: &BinaryLoops = binary_loops!(test x, y => truth(x <= y));
    &BinaryLoops { formula: of_truth!(2, [x, y, _z] T => *x.cast::<T>() <= *y.cast::<T>()), ..*LOOPS }
};
/// `y` where the truth value `x` holds, else `z`.
pub const SELECT: Formula = of_truth!(3, [x, y, z] T => *if *x != 0 { y } else { z }.cast::<T>());
/// `log x`.
pub const LOG: &UnaryLoops = unary_loops!(analytic x => x.ln());
