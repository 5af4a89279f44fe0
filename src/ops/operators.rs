//! `+ - * /` between tensors and numbers.
//!
//! A gradient rule reads like its formula with them. Inside a rule only memory can fail: an operator throws that error
//! ([`Error::throw`]) and the engine catches it. Elsewhere an operator panics with the text of its error.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::error::{Error, Result};
use crate::graph::Tensor;
use crate::ops::pointwise::arithmetic;
use crate::ops::pointwise::elementary as pointwise;

fn or_throw(result: Result<Tensor>) -> Tensor {
    result.unwrap_or_else(|error: Box<Error>| error.throw())
}

macro_rules! operators {
    ($($Trait:ident $method:ident => $f:path),*) => { $(
        operators!(@ $Trait $method $f, &Tensor, &Tensor);
        operators!(@ $Trait $method $f, &Tensor, Tensor);
        operators!(@ $Trait $method $f, Tensor, &Tensor);
        operators!(@ $Trait $method $f, Tensor, Tensor);
        impl $Trait<f64> for &Tensor {
            type Output = Tensor;
            fn $method(self, o: f64) -> Tensor { or_throw($f(self, &Tensor::scalar_of(self.dtype(), o))) }
        }
        impl $Trait<f64> for Tensor {
            type Output = Tensor;
            fn $method(self, o: f64) -> Tensor { $Trait::$method(&self, o) }
        }
        impl $Trait<&Tensor> for f64 {
            type Output = Tensor;
            fn $method(self, o: &Tensor) -> Tensor { or_throw($f(&Tensor::scalar_of(o.dtype(), self), o)) }
        }
        impl $Trait<Tensor> for f64 {
            type Output = Tensor;
            fn $method(self, o: Tensor) -> Tensor { $Trait::$method(self, &o) }
        }
    )* };
    (@ $Trait:ident $method:ident $f:path, $A:ty, $B:ty) => {
        impl $Trait<$B> for $A {
            type Output = Tensor;
            #[allow(clippy::needless_borrow)]
            fn $method(self, o: $B) -> Tensor { or_throw($f(&self, &o)) }
        }
    };
}
operators!(
    Add add => arithmetic::add_same,
    Sub sub => arithmetic::subtract_same,
    Mul mul => arithmetic::multiply_same,
    Div div => arithmetic::divide_same
);

impl Neg for &Tensor {
    type Output = Tensor;
    fn neg(self) -> Tensor {
        or_throw(pointwise::negative(self))
    }
}

impl Neg for Tensor {
    type Output = Tensor;
    fn neg(self) -> Tensor {
        -&self
    }
}

#[cfg(test)]
mod tests {
    use crate::graph::site::Site;
    use crate::graph::{DetachReason, Tensor};
    use crate::ops::pointwise::compare::greater;
    use crate::ops::pointwise::elementary::sin;

    #[test]
    fn what_cut_a_value_off_is_handed_on() {
        let x = Tensor::scalar(1.0);
        let detach_reason = Tensor { detach_reason: DetachReason::detached(Site(7)), ..x.clone() };
        assert_eq!(sin(&x).unwrap().detach_reason, DetachReason::default());
        assert_eq!((&x * &sin(&detach_reason).unwrap()).detach_reason, detach_reason.detach_reason);
        let product = &x.leaf() * &detach_reason;
        assert_eq!(
            (product.detach_reason, product.edge.unwrap().node.detach_reason()),
            (DetachReason::default(), detach_reason.detach_reason)
        );
        let zero = Tensor::scalar(0.0);
        assert_eq!(
            greater((&x.leaf()).into(), (&zero).into()).unwrap().detach_reason,
            DetachReason::by_dtype(Site::default())
        );
        assert_eq!(DetachReason::detached(Site(u32::MAX)), DetachReason::detached(Site(0)));
    }
}
