//! The family of functions of two tensors, element by element, broadcast against each other.

use smallvec::smallvec;

use crate::array::Array;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, only,
};
use crate::kernel::pointwise::binary::{self, BinaryLoops};
use crate::ops::integers::in_floats;
use crate::ops::terms::add_terms;

/// A row of the family.
pub(in crate::ops) trait Binary: Send + Sync + 'static {
    const NAME: &'static str;
    const TABLE: &'static BinaryLoops;
    /// What the derivatives with respect to the first and the second input read.
    const SAVES: [Saves; 2];
    /// Whether both derivatives are zero.
    const IS_FLAT: bool;
    /// Whether both rules hold for integers too.
    const CARRIES_INTEGERS: bool;
    /// `g` times the derivative with respect to input `i`; None for zero. It is linear in `g`, so it is both
    /// the vjp and the jvp.
    fn rule(i: usize, g: &Tensor, s: &Saved<'_>) -> Result<Option<Tensor>>;
    /// The tangent if both inputs have one.
    fn both(a: &Tensor, b: &Tensor, s: &Saved<'_>) -> Result<Option<Tensor>> {
        Ok(add_terms([Self::rule(0, a, s)?, Self::rule(1, b, s)?]))
    }
}

pub(in crate::ops) struct BinaryOp<B>(pub std::marker::PhantomData<fn(B)>);

impl<B: Binary> Op for BinaryOp<B> {
    fn name(&self) -> &'static str {
        B::NAME
    }

    #[inline]
    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([binary::apply(B::NAME, B::TABLE, ins[0], ins[1], batch_ndim)?].into())
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    #[inline]
    fn is_flat(&self) -> bool {
        B::IS_FLAT
    }

    fn carries_integers(&self) -> u64 {
        3 * u64::from(B::CARRIES_INTEGERS)
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        B::TABLE.row(*ins.dtypes.first()?, [0.0; 3]).map(Loops::Pointwise)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        // A division whose divisors are looked at first is no loop of a program.
        Loops::Pointwise(B::TABLE.any_row(*ins.dtypes.first()?, [0.0; 3])?).makes(ins)
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        B::SAVES[0].when(needs.has(0)).and(B::SAVES[1].when(needs.has(1)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let mut grads = Grads::from_buf([None, None]);
        if s.needs(0) {
            grads[0] = B::rule(0, g, s)?;
        }
        if s.needs(1) {
            grads[1] = B::rule(1, g, s)?;
        }
        Ok(grads)
    }

    fn vjp_of_integers(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        in_floats(self, g, s)
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![match (&t[0], &t[1]) {
            (Some(a), Some(b)) => B::both(a, b, s)?,
            (Some(a), None) => B::rule(0, a, s)?,
            (None, Some(b)) => B::rule(1, b, s)?,
            (None, None) => None,
        }])
    }
}

/// A row as a function of two tensors of one dtype: `Name function "public name": class x, y => number;
/// [saved] g => gradient of x; [saved] g => gradient of y;`. A row may say `both [saved] a, b => tangent;`
/// before the gradients, for the tangent of two inputs that is not just their sum. The class is that of
/// [`binary_loops!`](crate::kernel::pointwise::binary); the saved letters are `x`, `y` (the inputs) and `z`
/// (the output). A gradient is a tensor or [`zero()`].
macro_rules! binary_rows {
    ($($(#[$attr:meta])* $Row:ident $same:ident $name:expr, $class:ident $x:ident, $y:ident => $e:expr;
        $(both [$($kb:ident),*] $ga:ident, $gb:ident => $db:expr;)?
        [$($kx:ident),*] $gx:ident => $dx:expr; [$($ky:ident),*] $gy:ident => $dy:expr;)*) => { $(
        // A module of its own gives each row its own codegen unit, so a changed row recompiles no other.
        mod $same {
            #[allow(unused_imports)]
            use super::*;
            pub(in crate::ops) struct $Row;
        impl $crate::ops::pointwise::binary::Binary for $Row {
            const NAME: &'static str = $name;
            const TABLE: &'static $crate::kernel::pointwise::binary::BinaryLoops = $crate::kernel::pointwise::binary::binary_loops!($class $x, $y => $e);
            const IS_FLAT: bool = $crate::ops::pointwise::unary::is_zero(stringify!($dx))
                && $crate::ops::pointwise::unary::is_zero(stringify!($dy));
            const CARRIES_INTEGERS: bool = $crate::ops::pointwise::unary::is_product(stringify!($dx))
                && $crate::ops::pointwise::unary::is_product(stringify!($dy));
            const SAVES: [Saves; 2] = [
                Saves::NOTHING $(.and($crate::ops::pointwise::binary::binary_rows!(@saves $kx)))*,
                Saves::NOTHING $(.and($crate::ops::pointwise::binary::binary_rows!(@saves $ky)))*,
            ];
            fn rule(i: usize, g: &Tensor, _s: &Saved<'_>) -> Result<Option<Tensor>> {
                if i == 0 {
                    $( let $kx = &$crate::ops::pointwise::binary::binary_rows!(@saved _s $kx); )*
                    let $gx = g;
                    Ok(Option::from($dx))
                } else {
                    $( let $ky = &$crate::ops::pointwise::binary::binary_rows!(@saved _s $ky); )*
                    let $gy = g;
                    Ok(Option::from($dy))
                }
            }
            $(fn both($ga: &Tensor, $gb: &Tensor, s: &Saved<'_>) -> Result<Option<Tensor>> {
                $( let $kb = &$crate::ops::pointwise::binary::binary_rows!(@saved s $kb); )*
                Ok(Some($db))
            })?
        }
        }
        $(#[$attr])*
        pub fn $same(x: &Tensor, y: &Tensor) -> Result<Tensor> {
            apply($crate::ops::pointwise::binary::BinaryOp::<$same::$Row>(std::marker::PhantomData), &[x, y])
        }
    )*
        $crate::graph::stored_rows! {
            $(concat!("Binary(", stringify!($same), ")") => $crate::ops::pointwise::binary::BinaryOp::<$same::$Row>(std::marker::PhantomData)),*
        }
    };
    (@saves x) => { Saves::inputs(1) };
    (@saves y) => { Saves::inputs(2) };
    (@saves z) => { Saves::outputs(1) };
    (@saved $s:ident x) => { $s.input(0) };
    (@saved $s:ident y) => { $s.input(1) };
    (@saved $s:ident z) => { $s.output(0) };
}

/// Rows of [`binary_rows!`] that are public: `Name function, same(other names): …; "documentation", "example"
/// => "what it prints";`. The function takes operands and promotes them; `same` takes two tensors of one
/// dtype. After `bools` comes the function that replaces it for two boolean operands.
macro_rules! binary_ops {
    ($($Row:ident $f:ident, $same:ident $(($($alias:ident),*))? $({$($how:tt)*})? $(bools $bools:ident)?: $class:ident $x:ident, $y:ident => $e:expr;
        $(both [$($kb:ident),*] $ga:ident, $gb:ident => $db:expr;)?
        [$($kx:ident),*] $gx:ident => $dx:expr; [$($ky:ident),*] $gy:ident => $dy:expr;
        $doc:expr, $example:expr => $result:expr;)*) => {
        binary_rows! { $(
            #[doc = concat!("[`", stringify!($f), "`] of two tensors of one dtype.")]
            $Row $same stringify!($f), $class $x, $y => $e; $(both [$($kb),*] $ga, $gb => $db;)?
            [$($kx),*] $gx => $dx; [$($ky),*] $gy => $dy;
        )* }
        $(
            #[doc = concat!($doc, binary_ops!(@note $class))]
            #[doc = ""]
            #[doc = "```python"]
            #[doc = concat!(">>> ", $example)]
            #[doc = $result]
            #[doc = "```"]
            #[inline]
            #[op(in_place, names(stringify!($f) $($(, stringify!($alias))*)?), row $(, $($how)*)?)]
            pub fn $f(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
                // Operands that need no conversion are passed on, since a pair in memory costs more than the call.
                let pair;
                let (x, y) = match alike(binary_ops!(@class $class), x, y) {
                    Some(alike) => alike,
                    None => {
                        pair = converted(binary_ops!(@class $class), x, y)?;
                        (&*pair.0, &*pair.1)
                    }
                };
                $(if x.dtype() == DType::Bool {
                    return $bools(x, y);
                })?
                $same(x, y)
            }
        )*
    };
    (@class num) => { Class::Num };
    (@class field) => { Class::Num };
    (@class inexact) => { Class::Real };
    (@class table) => { Class::Num };
    (@class float_table) => { Class::Real };
    (@class special) => { Class::Real };
    (@class plain) => { Class::Real };
    (@class real) => { Class::Real };
    (@class wide32) => { Class::Real };
    (@note num) => { " The shapes broadcast and the dtypes promote." };
    (@note field) => { binary_ops!(@note num) };
    (@note inexact) => { binary_ops!(@note real) };
    (@note table) => { binary_ops!(@note num) };
    (@note float_table) => { binary_ops!(@note real) };
    (@note special) => { $crate::ops::pointwise::binary::binary_ops!(@note real) };
    (@note plain) => { binary_ops!(@note real) };
    (@note wide32) => { binary_ops!(@note real) };
    (@note real) => { " The shapes broadcast, the dtypes promote, and integers are taken as the default float." };
}
pub(in crate::ops) use {binary_ops, binary_rows};
