//! Formulas of arithmetic. Each is written once: loops over arrays compute it with numbers of each dtype, and the code generator with
//! terms.

use crate::kernel::pointwise::binary::{BinaryLoops, binary_loops};
use crate::kernel::pointwise::formula::{Arithmetic, Formula};
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
        nodes: Some(|| recorded(|x, y| _ = Self::of(x, y))),
    };
    const FORMULA: Formula = Formula::of::<Self>(Some(&Self::ARITHMETIC));
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

/// A formula that gives or reads truth values: the code generator knows it by its name.
macro_rules! of_truth {
    ($operands:literal) => {{
        struct Own;
        const OWN: Arithmetic = Arithmetic { operands: $operands, is_wide: false, nodes: None };
        Formula::of::<Own>(Some(&OWN))
    }};
}

/// `x < y`.
pub const LESS: &BinaryLoops = {
    const LOOPS: &BinaryLoops = binary_loops!(test x, y => truth(x < y));
    &BinaryLoops { formula: of_truth!(2), ..*LOOPS }
};
/// `x ≤ y`.
pub const LESS_EQUAL: &BinaryLoops = {
    const LOOPS: &BinaryLoops = binary_loops!(test x, y => truth(x <= y));
    &BinaryLoops { formula: of_truth!(2), ..*LOOPS }
};
/// `y` where the truth value `x` holds, else `z`.
pub const SELECT: Formula = of_truth!(3);
/// `log x`.
pub const LOG: &UnaryLoops = unary_loops!(analytic x => x.ln());
