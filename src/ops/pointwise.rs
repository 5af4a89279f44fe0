//! Functions of one tensor, element by element. The family answers everything but the row: the number, its
//! derivative, and what the derivative reads.

use smallvec::smallvec;

use super::arithmetic::promoted_float;
use super::entry::{Entry, entry};
use crate::array::Array;
use crate::error::Result;
use crate::graph::{Cotangents, Grads, Keeps, Needs, Op, Outs, Saved, Tangents, Tensor, apply};
use crate::kernel::map::{self, Table, map_table};

/// A row of the family.
trait Unary: Send + Sync + 'static {
    const NAME: &'static str;
    const TABLE: &'static Table;
    const KEEPS: Keeps;
    /// `g` times the derivative. Linear in `g`, so it serves both directions.
    fn rule(g: &Tensor, s: &Saved<'_>) -> Result<Tensor>;
}

struct Map<U>(std::marker::PhantomData<fn(U)>);

impl<U: Unary> Op for Map<U> {
    fn name(&self) -> &'static str {
        U::NAME
    }

    #[inline]
    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outs> {
        Ok(smallvec![map::apply(U::NAME, U::TABLE, ins[0])?])
    }

    fn keeps(&self, _: Needs) -> Keeps {
        U::KEEPS
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![g[0].as_ref().map(|g| U::rule(g, s)).transpose()?])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        self.vjp(t, s)
    }
}

/// Rows `Name function(other names): class [kept] x => number; g => gradient; "documentation"`. The class is that of
/// [`map_table!`]; the kept letters are `x` (the input) and `y` (the output), bound to tensors in the gradient.
/// Integers given to a `real` row are taken as the default float.
macro_rules! unary {
    ($($Row:ident $f:ident $(($($alias:ident),*))?: $class:ident [$($k:ident),*] $x:ident => $e:expr; $g:ident => $rule:expr; $doc:expr)*) => {
        $(
            struct $Row;
            impl Unary for $Row {
                const NAME: &'static str = stringify!($f);
                const TABLE: &'static Table = map_table!($class $x => $e);
                const KEEPS: Keeps = Keeps::NOTHING $(.and(unary!(@keeps $k)))*;
                fn rule($g: &Tensor, _s: &Saved<'_>) -> Result<Tensor> {
                    $( let $k = &unary!(@saved _s $k); )*
                    Ok($rule)
                }
            }
            #[doc = $doc]
            pub fn $f(x: &Tensor) -> Result<Tensor> {
                unary!(@apply $class $Row, x)
            }
        )*
        pub(crate) const ENTRIES: &[Entry] = &[
            $( entry!(method [stringify!($f) $($(, stringify!($alias))*)?] $f (x: &Tensor) $doc) ),*
        ];
    };
    (@keeps x) => { Keeps::inputs(1) };
    (@keeps y) => { Keeps::outputs(1) };
    (@saved $s:ident x) => { $s.input(0) };
    (@saved $s:ident y) => { $s.output(0) };
    (@apply real $Row:ident, $x:ident) => { apply(Map::<$Row>(std::marker::PhantomData), &[&*promoted_float($x)?]) };
    (@apply num $Row:ident, $x:ident) => { apply(Map::<$Row>(std::marker::PhantomData), &[$x]) };
}

unary! {
    Neg negative(neg): num []
        x => x.neg(); g => -g;
        "The additive inverse, element by element."
    Sin sin: real [x]
        x => x.sin(); g => g * cos(x)?;
        "The sine of each element, in radians."
    Cos cos: real [x]
        x => x.cos(); g => -(g * sin(x)?);
        "The cosine of each element, in radians."
    Exp exp: real [y]
        x => x.exp(); g => g * y;
        "e to the power of each element."
}
