//! Formulas that take less time where another one of the same numbers is computed too.

use super::numbers::MULTIPLY;
use super::row::{Loop, PairLoop, Row};
use super::tanh::{self, TANH, TANH_GRADIENT, TANH_SLOPE};

/// The loop that computes a value and a gradient, or a value and a derivative, of the same numbers at once. None where
/// there is no such loop.
pub fn pair(value: &Row, gradient: &Row) -> Option<PairLoop> {
    let dtype = value.of as usize;
    if !is(value, Loop::Unary(TANH.loops[dtype]?)) {
        return None;
    }
    let [with_gradient, with_slope] = tanh::pairs(value.of)?;
    if is(gradient, Loop::Binary(TANH_GRADIENT.loops[dtype]?)) {
        return Some(with_gradient);
    }
    is(gradient, Loop::Unary(TANH_SLOPE.loops[dtype]?)).then_some(with_slope)
}

/// The formula of the derivative that a gradient is a product with, and that product, which has the bits of the gradient.
pub fn factors(gradient: &Row) -> Option<(Row, Row)> {
    let dtype = gradient.of;
    let whole = Loop::Binary(TANH_GRADIENT.loops[dtype as usize]?);
    is(gradient, whole).then(|| Some((TANH_SLOPE.row(dtype, [0.0; 3])?, MULTIPLY.row(dtype, [0.0; 3])?)))?
}

/// Whether a formula is a derivative that [`factors`] finds.
pub fn is_derivative(row: &Row) -> bool {
    TANH_SLOPE.loops[row.of as usize].is_some_and(|apply| is(row, Loop::Unary(apply)))
}

fn is(row: &Row, apply: Loop) -> bool {
    row.apply.address() == apply.address()
}
