//! The reduction of the losses of samples to one number.

use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::reduce::{mean, sum};

/// How the losses of the samples are reduced.
#[derive(Clone, Copy)]
pub(in crate::ops) enum Reduction {
    None,
    Sum,
    Mean,
}

impl Reduction {
    pub(in crate::ops) fn parse(op: &'static str, name: &str) -> Result<Reduction> {
        Ok(match name {
            "none" => Reduction::None,
            "sum" => Reduction::Sum,
            "mean" => Reduction::Mean,
            _ => bail!(Argument, op, "{name} is not a valid value for reduction, which is none, sum or mean"),
        })
    }

    /// The reduced losses. A mean divides by the sum of `weights` if they are given.
    pub(in crate::ops) fn of(self, loss: &Tensor, weights: Option<&Tensor>) -> Result<Tensor> {
        match (self, weights) {
            (Reduction::None, _) => Ok(loss.clone()),
            (Reduction::Sum, _) => sum(loss, None, false, None),
            (Reduction::Mean, None) => mean(loss, None, false, None),
            (Reduction::Mean, Some(w)) => Ok(sum(loss, None, false, None)? / sum(w, None, false, None)?),
        }
    }
}
