//! The family of functions of one tensor, element by element. A member is a row of [`unary_rows!`]: the number, its
//! derivative, and what the derivative reads.

use smallvec::smallvec;

use crate::array::Array;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, only,
    unrecorded_pass_of,
};
use crate::kernel::pointwise::binary;
use crate::kernel::pointwise::row::Pass;
use crate::kernel::pointwise::unary::{Scalars, UnaryLoops};
use crate::ops::integers::in_floats;

/// A row of the family.
pub(in crate::ops) trait Unary: Send + Sync + 'static {
    const NAME: &'static str;
    const TABLE: &'static UnaryLoops;
    const SAVES: Saves;
    /// Whether the derivative is zero.
    const IS_FLAT: bool;
    /// Whether the rule holds for integers too.
    const CARRIES_INTEGERS: bool;
    /// The rule as a function of two numbers, `g` and the one that it reads: one pass where the rule takes
    /// several.
    const PASS: Option<&'static binary::BinaryLoops>;
    /// `g` times the derivative; None for zero. It is linear in `g`, so it is both the vjp and the jvp.
    fn rule(g: &Tensor, s: &Saved<'_>) -> Result<Option<Tensor>>;
}

/// The gradient of an op, which files know by a second name, in one pass over `g` and the tensor that the rule reads. None if either is recorded, or if
/// one is broadcast, since the derivative would then be computed once for every repetition.
pub(in crate::ops) fn in_one_pass(
    op: (&'static str, &'static str),
    table: &'static binary::BinaryLoops,
    g: &Tensor,
    x: &Tensor,
    p: Scalars,
) -> Result<Option<Tensor>> {
    // A table without a loop for complex numbers leaves them to the rule.
    if g.dtype() != x.dtype() || g.array.len() != x.array.len() || table.loops[x.dtype() as usize].is_none() {
        return Ok(None);
    }
    unrecorded_pass_of(op, &[g, x], Pass::Binary(table, p)).transpose()
}

pub(in crate::ops) struct UnaryOp<U>(pub std::marker::PhantomData<fn(U)>);

impl<U: Unary> Op for UnaryOp<U> {
    fn name(&self) -> &'static str {
        U::NAME
    }

    #[inline]
    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([crate::kernel::pointwise::unary::apply(U::NAME, U::TABLE, ins[0])?].into())
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    #[inline]
    fn is_flat(&self) -> bool {
        U::IS_FLAT
    }

    fn carries_integers(&self) -> u64 {
        u64::from(U::CARRIES_INTEGERS)
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        U::TABLE.row(*ins.dtypes.first()?, [0.0; 3]).map(Loops::Pointwise)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        U::SAVES
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        if let Some(table) = U::PASS {
            let read = if U::SAVES.inputs != 0 { s.input(0) } else { s.output(0) };
            if let Some(grad) = in_one_pass((U::NAME, U::NAME), table, g, &read, [0.0; 3])? {
                return Ok(smallvec![Some(grad)]);
            }
        }
        Ok(smallvec![U::rule(g, s)?])
    }

    fn vjp_of_integers(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        in_floats(self, g, s)
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        self.vjp(t, s)
    }
}

/// Rows `Name function: class [saved] x => number; g => gradient;`, each after its documentation. A gradient
/// of several passes may be given a second time, as `, pass class g, x => number;`: a function of `g` and of
/// the one number that is saved. The class is that of [`unary_loops!`](crate::kernel::pointwise::unary), or
/// `whole`: integers come back as they are, floats as `plain`; or `loops`: a table, for the dtypes that it has. The saved letters are `x` (the input) and `y`
/// (the output). They are tensors in the gradient, which is a tensor or [`zero()`]. Integers given to a
/// `real`, `special`, `plain`, `analytic`, `inexact`, `test` or `table` row are taken as the default float. A row that is another
/// function for complex numbers ends in `, complex x => tensor`.
macro_rules! unary_rows {
    ($($(#[$($attribute:tt)*])* $Row:ident $f:ident: $class:ident [$($k:ident),*] $x:ident => $e:expr;
        $g:ident => $rule:expr $(, pass $by:ident $pg:ident, $pk:ident => $pass:expr)?
        $(, complex $cx:ident => $complex:expr)?;)*) => { $(
        // A module of its own gives each row its own codegen unit, so a changed row recompiles no other.
        mod $f {
            #[allow(unused_imports)]
            use super::*;
            pub(in crate::ops) struct $Row;
        impl $crate::ops::pointwise::unary::Unary for $Row {
            const NAME: &'static str = stringify!($f);
            const TABLE: &'static $crate::kernel::pointwise::unary::UnaryLoops = $crate::ops::pointwise::unary::unary_rows!(@table $class $x => $e);
            const SAVES: Saves = Saves::NOTHING $(.and($crate::ops::pointwise::unary::unary_rows!(@saves $k)))*;
            const IS_FLAT: bool = $crate::ops::pointwise::unary::is_zero(stringify!($rule));
            const CARRIES_INTEGERS: bool = $crate::ops::pointwise::unary::is_product(stringify!($rule));
            const PASS: Option<&'static $crate::kernel::pointwise::binary::BinaryLoops> =
                $crate::ops::pointwise::unary::unary_rows!(@pass $($by $pg, $pk => $pass)?);
            fn rule($g: &Tensor, _s: &Saved<'_>) -> Result<Option<Tensor>> {
                $( let $k = &$crate::ops::pointwise::unary::unary_rows!(@saved _s $k); )*
                Ok(Option::from($rule))
            }
        }
        $crate::ops::pointwise::unary::unary_rows!(@known $Row $f $($by)?);
        }
        $(#[$($attribute)*])*
        pub fn $f(x: &Tensor) -> Result<Tensor> {
            use $f::$Row;
            $(if x.dtype().is_complex() {
                let $cx = x;
                return $complex;
            })?
            $crate::ops::pointwise::unary::unary_rows!(@apply $class $Row, x)
        }
    )*
        $crate::graph::stored_rows! {
            $(concat!("Unary(", stringify!($f), ")") => $crate::ops::pointwise::unary::UnaryOp::<$f::$Row>(std::marker::PhantomData)),*
        }
    };
    (@known $Row:ident $f:ident) => {};
    (@known $Row:ident $f:ident $by:ident) => {
        $crate::graph::stored_pass!(Binary stringify!($f) => <$Row as $crate::ops::pointwise::unary::Unary>::PASS.expect("it has one"));
    };
    (@pass) => { None };
    (@pass $by:ident $g:ident, $k:ident => $pass:expr) => { Some($crate::kernel::pointwise::binary::binary_loops!($by $g, $k => $pass)) };
    (@table loops $x:ident => $e:expr) => { $e };
    (@table whole $x:ident => $e:expr) => { $crate::kernel::pointwise::unary::unary_loops!(plain $x => $e) };
    (@table $class:ident $x:ident => $e:expr) => { $crate::kernel::pointwise::unary::unary_loops!($class $x => $e) };
    (@saves x) => { Saves::inputs(1) };
    (@saves y) => { Saves::outputs(1) };
    (@saved $s:ident x) => { $s.input(0) };
    (@saved $s:ident y) => { $s.output(0) };
    (@apply real $Row:ident, $x:ident) => { apply($crate::ops::pointwise::unary::UnaryOp::<$Row>(std::marker::PhantomData), &[&*$crate::ops::promote::promoted_inexact($x)?]) };
    (@apply analytic $Row:ident, $x:ident) => { $crate::ops::pointwise::unary::unary_rows!(@apply real $Row, $x) };
    (@apply inexact $Row:ident, $x:ident) => { $crate::ops::pointwise::unary::unary_rows!(@apply real $Row, $x) };
    (@apply special $Row:ident, $x:ident) => { $crate::ops::pointwise::unary::unary_rows!(@apply real $Row, $x) };
    (@apply plain $Row:ident, $x:ident) => { $crate::ops::pointwise::unary::unary_rows!(@apply real $Row, $x) };
    (@apply table $Row:ident, $x:ident) => { $crate::ops::pointwise::unary::unary_rows!(@apply real $Row, $x) };
    (@apply test $Row:ident, $x:ident) => { $crate::ops::pointwise::unary::unary_rows!(@apply real $Row, $x) };
    (@apply whole $Row:ident, $x:ident) => {
        if $x.dtype().kind() == DTypeKind::Int { Ok($x.detach()) } else { $crate::ops::pointwise::unary::unary_rows!(@apply num $Row, $x) }
    };
    (@apply $class:ident $Row:ident, $x:ident) => { apply($crate::ops::pointwise::unary::UnaryOp::<$Row>(std::marker::PhantomData), &[$x]) };
}

/// Rows of [`unary_rows!`] that are public: other names in brackets after the function, and after the documentation an
/// example and what it prints.
macro_rules! unary_ops {
    ($($Row:ident $f:ident $(($($alias:ident),*))? $({$($how:tt)*})?: $class:ident [$($k:ident),*] $x:ident => $e:expr;
        $g:ident => $rule:expr $(, pass $by:ident $pg:ident, $pk:ident => $pass:expr)?
        $(, complex $cx:ident => $complex:expr)?;
        $doc:literal, $example:expr => $result:expr;)*) => { $(
        $crate::ops::pointwise::unary::unary_ops! { @row $class {names(stringify!($f) $($(, stringify!($alias))*)?) $(, $($how)*)?}
            #[doc = concat!($doc, $crate::ops::pointwise::unary::unary_ops!(@note $class))]
            #[doc = ""]
            #[doc = "```python"]
            #[doc = concat!(">>> ", $example)]
            #[doc = $result]
            #[doc = "```"]
            $Row $f: $class [$($k),*] $x => $e; $g => $rule $(, pass $by $pg, $pk => $pass)? $(, complex $cx => $complex)?;
        }
    )* };
    (@row test {$($how:tt)*} $($row:tt)*) => {
        $crate::ops::pointwise::unary::unary_rows! { #[$crate::ops::entry::op(method, $($how)*, light, row, torch(LaidByElements))] $($row)* }
    };
    (@row num $how:tt $($row:tt)*) => { $crate::ops::pointwise::unary::unary_ops! { @light $how $($row)* } };
    (@row bits $how:tt $($row:tt)*) => { $crate::ops::pointwise::unary::unary_ops! { @light $how $($row)* } };
    (@row field $how:tt $($row:tt)*) => { $crate::ops::pointwise::unary::unary_ops! { @light $how $($row)* } };
    (@row loops $how:tt $($row:tt)*) => { $crate::ops::pointwise::unary::unary_ops! { @light $how $($row)* } };
    (@row whole $how:tt $($row:tt)*) => { $crate::ops::pointwise::unary::unary_ops! { @light $how $($row)* } };
    (@row $class:ident {$($how:tt)*} $($row:tt)*) => {
        $crate::ops::pointwise::unary::unary_rows! { #[$crate::ops::entry::op(in_place, $($how)*, row)] $($row)* }
    };
    (@light {$($how:tt)*} $($row:tt)*) => {
        $crate::ops::pointwise::unary::unary_rows! { #[$crate::ops::entry::op(in_place, $($how)*, light, row)] $($row)* }
    };
    (@note num) => { "" };
    (@note bits) => { "" };
    (@note field) => { "" };
    (@note loops) => { "" };
    (@note analytic) => { $crate::ops::pointwise::unary::unary_ops!(@note real) };
    (@note inexact) => { $crate::ops::pointwise::unary::unary_ops!(@note real) };
    (@note special) => { $crate::ops::pointwise::unary::unary_ops!(@note real) };
    (@note plain) => { $crate::ops::pointwise::unary::unary_ops!(@note real) };
    (@note table) => { $crate::ops::pointwise::unary::unary_ops!(@note real) };
    (@note real) => { " Integers are taken as the default float." };
    (@note whole) => { " Integers come back as they are; the derivative is zero." };
    (@note test) => { " A tensor of truth values." };
}
pub(in crate::ops) use {unary_ops, unary_rows};

/// Whether the text of a rule is that of [`zero()`].
pub(in crate::ops) const fn is_zero(rule: &str) -> bool {
    matches!(rule.as_bytes(), b"zero()")
}

/// Whether the text of a rule is the cotangent, or its product with an operand, a sign or a quotient without its rest: these are
/// integers where the operands are.
pub(in crate::ops) const fn is_product(rule: &str) -> bool {
    matches!(
        rule.as_bytes(),
        b"g.clone()" | b"-g" | b"g * x" | b"g * y" | b"g * sign(x)?" | b"-(g * floor_with_rest(x, y)?)"
    )
}

/// The derivative of a piecewise constant function.
pub(in crate::ops) fn zero() -> Option<Tensor> {
    None
}
