//! Formulas that take less time where another one of the same numbers is computed too.

use super::numbers::MULTIPLY;
use super::row::{Loop, PairLoop, Row};
use super::tanh::{self, TANH, TANH_GRADIENT, TANH_SLOPE};

/// What computes a value and a gradient, or a derivative, of the same numbers at once. None where there is no loop for
/// both.
pub fn pair(value: &Row, gradient: &Row) -> Option<PairLoop> {
    let dtype = value.of as usize;
    if !is(value, Loop::Unary(TANH.loops[dtype]?)) {
        None
    } else if is(gradient, Loop::Binary(TANH_GRADIENT.loops[dtype]?)) {
        tanh::with_gradients(value.of)
    } else if is(gradient, Loop::Unary(TANH_SLOPE.loops[dtype]?)) {
        tanh::with_slopes(value.of)
    } else {
        None
    }
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
