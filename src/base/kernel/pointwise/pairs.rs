//! Formulas that take less time where another one of the same numbers is computed too.

use super::expressions::MULTIPLY;
use super::row::{PairLoop, Row};
use super::tanh::{self, TANH, TANH_GRADIENT, TANH_SLOPE};

/// The loop that computes a value and a gradient, or a value and a derivative, of the same numbers at once. None where
/// there is no such loop.
pub fn pair(value: &Row, gradient: &Row) -> Option<PairLoop> {
    if value.formula != TANH.formula || gradient.of != value.of {
        return None;
    }
    let [with_gradient, with_slope] = tanh::pairs(value.of)?;
    if gradient.formula == TANH_GRADIENT.formula {
        return Some(with_gradient);
    }
    is_derivative(gradient).then_some(with_slope)
}

/// The formula of the derivative that a gradient is a product with, and that product, which has the bits of the gradient.
pub fn factors(gradient: &Row) -> Option<(Row, Row)> {
    if gradient.formula != TANH_GRADIENT.formula {
        return None;
    }
    Some((TANH_SLOPE.row(gradient.of, [0.0; 3])?, MULTIPLY.row(gradient.of, [0.0; 3])?))
}

/// Whether a formula is a derivative that [`factors`] finds.
pub fn is_derivative(row: &Row) -> bool {
    row.formula == TANH_SLOPE.formula
}
