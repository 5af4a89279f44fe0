//! The absolute value, the angle and the direction of complex numbers. None of them is analytic: what a rule returns is
//! linear in the parts of a cotangent, and so is what it returns for a tangent.

use smallvec::smallvec;

use super::safe::reciprocal_or_zero;
use crate::array::Array;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
};
use crate::kernel::pointwise::{complex, unary};
use crate::ops::movement::parts::{conj, from_parts, imag, real, times_i};
use crate::stored::Stored;

/// Ops of one complex tensor: `Name: name, saves, dtype => that of the result; x => array; g, s => gradient; t, s => tangent;`.
macro_rules! ops {
    ($($Name:ident: $name:literal, $saves:expr, $d:ident => $made:expr; $x:ident => $array:expr; $g:ident, $s:ident => $vjp:expr;
        $t:ident, $r:ident => $jvp:expr;)*) => { $(
        #[derive(Stored)]
        #[stored(op)]
        struct $Name;
        impl Op for $Name {
            fn name(&self) -> &'static str {
                $name
            }
            fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
                let $x = ins[0];
                Ok([$array?].into())
            }
            fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
                let ($d, dims) = ins.alike::<1>()?;
                if $d.is_complex() { ins.make(&[($made, &[dims])]) } else { None }
            }
            fn is_pointwise(&self) -> bool {
                true
            }
            fn saves(&self, _: NeedsGrad) -> Saves {
                $saves
            }
            fn vjp(&self, g: &Cotangents, $s: &Saved<'_>) -> Result<Grads> {
                let $g = only(g);
                Ok(smallvec![Some($vjp)])
            }
            fn jvp(&self, t: &Tangents, $r: &Saved<'_>) -> Result<Grads> {
                let $t = only(t);
                Ok(smallvec![Some($jvp)])
            }
        }
    )* };
}
ops! {
    Modulus: "abs", Saves::inputs(1), d => d.real(); x => complex::abs(x);
        g, s => as_complex(g)? * conj(&sgn(&s.input(0))?)?;
        t, s => real(&(conj(&sgn(&s.input(0))?)? * t))?;
    Angle: "angle", Saves::inputs(1), d => d.real(); x => complex::angles(x);
        g, s => times_i(&-g)? * reciprocal_or_zero(&s.input(0))?;
        t, s => imag(&(t * reciprocal_or_zero(&s.input(0))?))?;
    Sgn: "sgn", Saves::inputs(1).and(Saves::outputs(1)), d => d; x => unary::apply("sgn", complex::SGN, x);
        g, s => turned(&(g * s.output(0)), s)? * conj(&s.output(0))?;
        t, s => turned(&(conj(&s.output(0))? * t), s)? * s.output(0);
}

fn as_complex(x: &Tensor) -> Result<Tensor> {
    from_parts(x, &Tensor::scalar_of(x.dtype(), 0.0))
}

/// `i Im(z) / |x|` for the saved input `x`, and 0 where it is 0.
fn turned(z: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
    times_i(&(imag(z)? * reciprocal_or_zero(&modulus(&s.input(0))?)?))
}

/// The absolute values of complex numbers, with derivative 0 at 0.
pub(in crate::ops) fn modulus(x: &Tensor) -> Result<Tensor> {
    apply(Modulus, &[x])
}

/// The angles of complex numbers, with derivative 0 at 0.
pub(in crate::ops) fn angle(x: &Tensor) -> Result<Tensor> {
    apply(Angle, &[x])
}

/// Complex numbers divided by their absolute values; 0 stays, with derivative 0.
pub(in crate::ops) fn sgn(x: &Tensor) -> Result<Tensor> {
    apply(Sgn, &[x])
}
