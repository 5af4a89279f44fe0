//! The family of functions of one tensor and a few numbers, such as a slope or bounds. Forward and gradient
//! are one pass each.

use std::marker::PhantomData;

use smallvec::smallvec;

use super::unary::in_one_pass;
use crate::array::Array;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
};
use crate::kernel::pointwise::binary;
use crate::kernel::pointwise::unary::{self, Scalars};
use crate::stored::Stored;

/// A row of the family.
pub(in crate::ops) trait Parametrised: Send + Sync + 'static {
    const NAME: &'static str;
    /// The name of the gradient's loops in files.
    const KEY: &'static str;
    const TABLE: &'static unary::UnaryLoops;
    /// `g` times the derivative, as a function of the numbers `g` and `x`.
    const PASS: &'static binary::BinaryLoops;
    /// The same in ops, for derivatives of higher order. It is linear in `g`, so it is both the vjp and the
    /// jvp.
    fn rule(g: &Tensor, x: &Tensor, p: Scalars) -> Result<Option<Tensor>>;
}

#[derive(Stored)]
pub(in crate::ops) struct ParametrisedOp<B>(Scalars, PhantomData<fn(B)>);

impl<B: Parametrised> Op for ParametrisedOp<B> {
    fn name(&self) -> &'static str {
        B::NAME
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([unary::apply_with(B::NAME, B::TABLE, ins[0], &self.0)?].into())
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        B::TABLE.row(*ins.dtypes.first()?, self.0).map(Loops::Pointwise)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let x = s.input(0);
        Ok(smallvec![match in_one_pass((B::NAME, B::KEY), B::PASS, g, &x, self.0)? {
            Some(grad) => Some(grad),
            None => B::rule(g, &x, self.0)?,
        }])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        self.vjp(t, s)
    }
}

/// Applies a row of the family to a float tensor.
pub(in crate::ops) fn parametrised<B: Parametrised>(x: &Tensor, p: Scalars) -> Result<Tensor> {
    apply(ParametrisedOp::<B>(p, PhantomData), &[x])
}

/// Rows `Name "public name": class x; p => number; pass g, x; p => number; g => gradient;`. The class is that of
/// [`unary_loops!`](crate::kernel::pointwise::unary). The first two expressions compute numbers, and `p` holds the
/// function's parameters in their dtype. Another loop for float32 may follow the first. The gradient is a tensor, written in ops of `g`, `x` and `p`.
macro_rules! parametrised_rows {
    (@table $table:expr) => { $table };
    (@table $table:expr, $quick:expr) => {{
        const EXACT: &$crate::kernel::pointwise::unary::UnaryLoops = $table;
        &EXACT.with_f32($quick)
    }};
    ($($(#[$attr:meta])* $Row:ident $name:literal: $class:ident $x:ident; $p:ident => $e:expr $(, f32 $quick:expr)?;
        pass $pg:ident, $px:ident; $pp:ident => $pass:expr; $g:ident => $rule:expr;)*) => { $(
        $(#[$attr])*
        struct $Row;
        impl $crate::ops::pointwise::parametrised::Parametrised for $Row {
            const NAME: &'static str = $name;
            const KEY: &'static str = stringify!($Row);
            const TABLE: &'static $crate::kernel::pointwise::unary::UnaryLoops = $crate::ops::pointwise::parametrised::parametrised_rows!(@table $crate::kernel::pointwise::unary::unary_loops!($class $x; $p => $e) $(, $quick)?);
            const PASS: &'static $crate::kernel::pointwise::binary::BinaryLoops = $crate::kernel::pointwise::binary::binary_loops!($class $pg, $px; $pp => $pass);
            #[allow(unused_variables)] // Not every gradient reads `p`.
            fn rule($g: &Tensor, $x: &Tensor, $p: $crate::kernel::pointwise::unary::Scalars) -> Result<Option<Tensor>> {
                Ok(Some($rule))
            }
        }
        $crate::graph::stored_op!(concat!("Parametrised(", stringify!($Row), ")") => $crate::ops::pointwise::parametrised::ParametrisedOp<$Row>);
        $crate::graph::stored_pass!(Binary stringify!($Row) => <$Row as $crate::ops::pointwise::parametrised::Parametrised>::PASS);
    )* };
}
pub(in crate::ops) use parametrised_rows;
