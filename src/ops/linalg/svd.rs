//! The singular value decomposition and what follows from it.

use smallvec::smallvec;

use super::matrices;
use super::parts::{equal_values, reciprocal_gaps, reciprocal_sums, weigh};
use super::qr::with_complement;
use super::spectrum::{place, slopes, undetermined};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply,
    apply_each, only, recorded,
};
use crate::linalg as kernel;
use crate::ops::entry::op;
use crate::ops::linalg::{h, like, matrix, mm, over_columns, skew, sym, t};
use crate::ops::movement::{broadcast_to, conj, diagonal_of, on_diagonal, real};
use crate::ops::promote::promoted_inexact;
use crate::ops::terms::add_terms;
use crate::stored::Stored;

/// The reduced decomposition `u @ diag(s) @ vh`. Where singular values are equal (or zero) the vectors of their space are
/// not determined, and are differentiated as if they did not turn in it.
#[derive(Stored)]
#[stored(op)]
struct Svd;

/// The values that the rule uses: `D[i, j] = 1 / (s[j] - s[i])`, `E[i, j] = 1 / (s[j] + s[i])`, `r = 1 / s`;
/// zeros for poles.
struct Frame {
    u: Tensor,
    s: Tensor,
    vh: Tensor,
    gaps: Tensor,
    sums: Tensor,
    reciprocals: Tensor,
}

impl Frame {
    fn of([u, s, vh]: [Tensor; 3]) -> Result<Frame> {
        let sums = reciprocal_sums(&s)?;
        let reciprocals = over_columns(&(diagonal_of(&sums)? * 2.0))?;
        let gaps = like(&u, &reciprocal_gaps(&s)?)?;
        let (sums, reciprocals) = (like(&u, &sums)?, like(&u, &reciprocals)?);
        Ok(Frame { u, s, vh, gaps, sums, reciprocals })
    }

    /// Which values are equal, and which pairs are both 0, as ones and zeros.
    fn equal(&self) -> Result<(Tensor, Tensor)> {
        let s = self.s.detach();
        Ok((equal_values(&s, false)?, equal_values(&s, true)?))
    }

    /// The gradient of the matrix from cotangents of the vectors; NaN where there are cotangents of the values too
    /// (`has_values`) and vectors of equal values turn.
    fn turned(&self, gu: Option<Tensor>, gv: Option<Tensor>, has_values: bool) -> Result<Option<Tensor>> {
        let Frame { u, s: _, vh, gaps, sums, reciprocals } = self;
        let m = gu.as_ref().map(|g| mm(&h(u)?, g)).transpose()?;
        let n = gv.as_ref().map(|g| mm(vh, g)).transpose()?;
        let both = add_terms([m.clone(), n.clone()]);
        let apart = add_terms([m, n.map(|n| -n)]);
        let mut left = gu.map(|g| beside(u, &g)).transpose()?;
        let mut right = gv.map(|g| beside(&h(vh)?, &g)).transpose()?;
        let mut nan = [None, None, None, None];
        if has_values {
            let (same, opposite) = self.equal()?;
            let of_zero = over_columns(&diagonal_of(&opposite)?)?;
            let within = |x: &Option<Tensor>, pairs: &Tensor| {
                x.as_ref().map(|x| undetermined(x, pairs, true)).transpose()
            };
            let beside = |x: &Option<Tensor>| {
                let all = |x: &Tensor| undetermined(x, &broadcast_to(&of_zero, x.dims())?, false);
                x.as_ref().map(all).transpose()
            };
            nan = [within(&both, &same)?, within(&apart, &opposite)?, beside(&left)?, beside(&right)?];
        }
        let [of_both, of_apart, of_left, of_right] = nan;
        let both = add_terms([both.map(|x| x * gaps), of_both]).as_ref().map(sym).transpose()?;
        let apart = add_terms([apart.map(|x| x * sums), of_apart]).as_ref().map(skew).transpose()?;
        left = add_terms([left.map(|x| x * reciprocals), of_left]);
        right = add_terms([right.map(|x| x * reciprocals), of_right]);
        let inner = add_terms([both, apart]).map(|p| mm(&mm(u, &p)?, vh)).transpose()?;
        let left = left.map(|x| mm(&x, vh)).transpose()?;
        let right = right.map(|x| mm(u, &h(&x)?)).transpose()?;
        Ok(add_terms([inner, left, right]))
    }
}

/// The part of `x` that is orthogonal to the orthonormal columns of `q`.
fn beside(q: &Tensor, x: &Tensor) -> Result<Tensor> {
    Ok(x - mm(q, &mm(&h(q)?, x)?)?)
}

impl Op for Svd {
    fn name(&self) -> &'static str {
        "linalg.svd"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok(kernel::svd(self.name(), ins[0], true)?.into_iter().collect())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, m, n) = matrices(ins)?;
        let k = m.min(n);
        ins.make(&[(dtype, &[lead, &[m, k]]), (dtype.real(), &[lead, &[k]]), (dtype, &[lead, &[k, n]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(7)
    }

    /// With `m = uᴴ gu` and `n = vᴴ gv`, the part between the spaces of `u` and `v`
    /// is `½ ((m + n)∘D + its transpose + (m - n)∘E - its transpose) + diag(gs)`, where a transpose is a conjugate one.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let gu = g[0].as_ref().map(conj).transpose()?;
        // The conjugate transpose of a conjugate is the transpose.
        let gv = g[2].as_ref().map(t).transpose()?;
        let frame = Frame::of([s.output(0), s.output(1), s.output(2)])?;
        let x = match (&g[1], gu.is_some() || gv.is_some()) {
            (Some(c), false) => Some(gathered(s, &frame, c)?),
            (Some(c), true) => {
                let values = mm(&mm(&frame.u, &like(&frame.u, &on_diagonal(c)?)?)?, &frame.vh)?;
                add_terms([Some(values), frame.turned(gu, gv, true)?])
            }
            (None, _) => frame.turned(gu, gv, false)?,
        };
        Ok(smallvec![x.map(|x| conj(&x)).transpose()?])
    }

    /// The tangents of the vectors are NaN where those of equal values turn, if the values are read too.
    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let mut found = s.transposed.expect("the engine gives it to every jvp")(t, s)?;
        if !s.is_read.is_some_and(|is_read| is_read(1) && (is_read(0) || is_read(2))) {
            return Ok(found);
        }
        let frame = Frame::of([s.output(0).detach(), s.output(1).detach(), s.output(2).detach()])?;
        let (u, vh) = (&frame.u, &frame.vh);
        let inner = mm(&mm(&h(u)?, &only(t).detach())?, &h(vh)?)?;
        let (same, opposite) = frame.equal()?;
        let nan = undetermined(&sym(&inner)?, &same, true)? + undetermined(&skew(&inner)?, &opposite, true)?;
        found[0] = add_terms([found[0].take(), Some(mm(u, &nan)?)]);
        found[2] = add_terms([found[2].take(), Some(mm(&nan, vh)?)]);
        Ok(found)
    }
}

/// `u diag(c) vᴴ` as a gradient of the singular values. Its inputs are `u`, `s`, `vᴴ`, `c` and the matrix, of which it reads
/// nothing.
struct Gathered;

impl Op for Gathered {
    fn name(&self) -> &'static str {
        "linalg.svdvals_gradient"
    }

    fn forward(&self, _: &[&Array], _: usize) -> Result<Outputs> {
        unreachable!("it is computed before it is recorded")
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(0b1111)
    }

    fn reads_tangent(&self, i: usize) -> bool {
        i > 2
    }

    /// The vectors turn as those of [`Svd`]. Those of equal values turn at their slope, and where a value is 0 the one of `c`
    /// stands for `c / s`.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (g, c) = (conj(only(g))?, s.input(3));
        let frame = Frame::of([s.input(0), s.input(1), s.input(2)])?;
        let (u, vh) = (&frame.u, &frame.vh);
        let (of_u, of_v) = (mm(&g, &h(vh)?)?, mm(&h(&g)?, u)?);
        let inner = mm(&h(u)?, &of_u)?;
        let of_c = s.needs(3).then(|| real(&diagonal_of(&inner)?)).transpose()?;
        if !s.needs(4) {
            return Ok(smallvec![None, None, None, of_c, None]);
        }
        let by_column = like(u, &over_columns(&c)?)?;
        let (same, opposite) = frame.equal()?;
        let slopes = over_columns(&slopes(s, (1, 3), &same, Some(&diagonal_of(&opposite)?))?)?;
        let rates = |pairs: &Tensor| like(u, &(pairs * &slopes));
        let (turning, zero) = (rates(&weigh(&same, 1.0, 0.0, 1.0)?)?, rates(&opposite)?);
        let of_zero = like(u, &(over_columns(&diagonal_of(&opposite)?)? * &slopes))?;
        let equal = mm(&mm(u, &(sym(&inner)? * &turning + skew(&inner)? * &zero))?, vh)?;
        let left = mm(&(beside(u, &of_u)? * &of_zero), vh)?;
        let right = mm(u, &h(&(beside(&h(vh)?, &of_v)? * &of_zero))?)?;
        let unequal = frame.turned(Some(&of_u * &by_column), Some(&of_v * &by_column), false)?;
        let of_x = add_terms([unequal, Some(equal), Some(left), Some(right)]);
        Ok(smallvec![None, None, None, of_c, of_x.map(|x| conj(&x)).transpose()?])
    }
}

/// The gradient of a matrix from cotangents `c` of its singular values alone.
fn gathered(s: &Saved<'_>, frame: &Frame, c: &Tensor) -> Result<Tensor> {
    let (u, vh) = (frame.u.detach(), frame.vh.detach());
    let y = mm(&mm(&u, &like(&u, &on_diagonal(&c.detach())?)?)?, &vh)?;
    let ins = [&frame.u, &frame.s, &frame.vh, c, &place(&s.edges[0], s.record)];
    Ok(recorded(Gathered, &ins, [y.array.clone()].into(), y.levels.clone())?.swap_remove(0))
}

/// The singular values alone, for an input without a gradient. NaN among them is refused if they are to be compared.
#[derive(Stored)]
#[stored(op)]
struct SvdvalsOnly {
    compared: bool,
}

impl Op for SvdvalsOnly {
    fn name(&self) -> &'static str {
        "linalg.svdvals"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let [_, s, _] = kernel::svd(self.name(), ins[0], false)?;
        let has_nan =
            |s: &Array| dispatch!(s.dtype(), float T => s.view::<T>().iter().any(|s| s.is_nan()), else false);
        if self.compared && has_nan(&s) {
            bail!(
                Singular,
                self.name(),
                "a matrix with NaN or infinity in it has singular values that are NaN"
            );
        }
        Ok([s].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, m, n) = matrices(ins)?;
        ins.make(&[(dtype.real(), &[lead, &[m.min(n)]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("a tracked matrix goes through linalg.svd")
    }
}

/// The reduced decomposition of a matrix of floats or complex numbers.
pub(in crate::ops) fn reduced(x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    Ok(apply_each::<_, 3>(Svd, &[x])?.into())
}

/// The factors u, s, vh of x = u[:, :k] @ diag(s) @ vh[:k, :] with orthonormal u and vh, k = min(m, n), s
/// falling.
///
/// u is [m, m] and vh is [n, n], or [m, k] and [k, n] without full_matrices. Vectors are determined up to a
/// common sign (complex ones up to a common factor of absolute value 1), and only as a space where singular values are equal or zero; a result that depends on more
/// has no derivative. At equal values derivatives are right to second order for what is computed of the values alone, and to first
/// order for what is computed of the vectors alone. For what is computed of both they are NaN, with a warning: polar is right there,
/// and so are the functions of its symmetric factor.
///
/// ```python
/// >>> fg.linalg.svd(2 * fg.ones((1, 1)))[1].tolist()
/// [2.0]
/// ```
#[op(function, in linalg)]
pub fn svd(x: &Tensor, #[default(true)] full_matrices: bool) -> Result<(Tensor, Tensor, Tensor)> {
    let (m, n) = matrix("linalg.svd", x)?;
    let (u, s, vh) = reduced(&*promoted_inexact(x)?)?;
    Ok(match full_matrices {
        true if m > n => (with_complement(&u)?, s, vh),
        true if m < n => (u, s, h(&with_complement(&h(&vh)?)?)?),
        _ => (u, s, vh),
    })
}

/// The singular values, falling.
///
/// ```python
/// >>> fg.linalg.svdvals(2 * fg.ones((1, 1))).tolist()
/// [2.0]
/// ```
#[op(function, in linalg)]
pub fn svdvals(x: &Tensor) -> Result<Tensor> {
    matrix("linalg.svdvals", x)?;
    let x = promoted_inexact(x)?;
    if x.is_tracked() { Ok(reduced(&x)?.1) } else { apply(SvdvalsOnly { compared: false }, &[&x]) }
}

/// The singular values, falling, as constants to compare with.
///
/// # Errors
/// `LinAlgError`, where one is NaN.
pub(super) fn compared_svdvals(x: &Tensor) -> Result<Tensor> {
    apply(SvdvalsOnly { compared: true }, &[&x.detach()])
}
