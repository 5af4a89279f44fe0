//! Functions that derivatives read, which are 0 where their formula is not finite.

use super::unary::unary_rows;
use crate::error::Result;
use crate::graph::{Saved, Saves, Tensor, apply};

unary_rows! {
    /// The natural logarithm, and 0 at 0.
    LogOrZero log_or_zero: analytic [x] x => if x == T::ZERO { x } else { x.ln() }; g => g * reciprocal_or_zero(x)?;
    /// The reciprocal, and 0 at 0.
    ReciprocalOrZero reciprocal_or_zero: inexact [y] x => if x == T::ZERO { x } else { T::ONE.div(x) }; g => -(g * y * y);
    /// `x - 1`, and 0 at 0, so that the exponents of repeated derivatives of a power stop at 0.
    OneLess one_less: inexact [] x => if x == T::ZERO { x } else { x.sub(T::ONE) }; g => g.clone();
}
