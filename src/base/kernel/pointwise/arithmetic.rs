//! The expressions of the formulas of arithmetic.

use crate::kernel::pointwise::expressions::{self, Expression};
use crate::kernel::pointwise::formula::Arithmetic;
use crate::kernel::pointwise::power;

/// What is done with any expression.
pub trait Visitor {
    type Out;
    fn visit<E: Expression>(self) -> Self::Out;
}

macro_rules! visited {
    ($($Name:ident: $module:ident;)*) => {
        impl Arithmetic {
            /// Calls a visitor with its expression. None if it has none: it gives or reads truth values, or it is called as a loop.
            pub fn visit<V: Visitor>(self, visitor: V) -> Option<V::Out> {
                match self {
                    $(Arithmetic::$Name => Some(visitor.visit::<$module::$Name>()),)*
                    _ => None,
                }
            }

            /// How many numbers its expression reads, and whether it computes with twice the digits of float32.
            pub fn reads(self) -> Option<(usize, bool)> {
                match self {
                    $(Arithmetic::$Name => Some(($module::$Name::OPERANDS, $module::$Name::IS_WIDE)),)*
                    _ => None,
                }
            }
        }
    };
}
visited! {
    Add: expressions;
    Subtract: expressions;
    Multiply: expressions;
    Negate: expressions;
    Divide: expressions;
    Sqrt: expressions;
    Square: expressions;
    Absolute: expressions;
    SquareGradient: expressions;
    SqrtGradient: expressions;
    Cube: power;
    Fourth: power;
    ThreeHalves: power;
    CubeGradient: power;
    FourthGradient: power;
    ThreeHalvesGradient: power;
}
