//! Optimizer steps: one pass over a parameter, its gradient and the optimizer's state.

use std::ops::Range;

use crate::kernel::num::Plain;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::simd;

/// Stochastic gradient descent with momentum.
#[derive(Clone, Copy, Debug)]
pub struct Sgd {
    pub rate: f64,
    pub momentum: f64,
    /// The factor of the gradient that is added to the buffer.
    pub fresh: f64,
    pub nesterov: bool,
    /// The weight decay: this times the parameter is added to the gradient.
    pub decay: f64,
}

/// Adam (D. Kingma, J. Ba, 2015), and AdamW (I. Loshchilov, F. Hutter, 2019) where the decay is decoupled.
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    /// The learning rate, corrected for the bias of the mean of the gradient towards zero.
    pub speed: f64,
    /// The root of what corrects the mean of the squared gradient.
    pub root: f64,
    /// The factor of the parameter before the step: below one where the decay is decoupled.
    pub shrink: f64,
    pub betas: (f64, f64),
    pub epsilon: f64,
    /// The weight decay: this times the parameter is added to the gradient.
    pub decay: f64,
}

/// `b = momentum b + fresh g`. Then `p -= rate (g + momentum b)` with `nesterov`, else `p -= rate b`. Without momentum
/// there is no `b`, and `p -= rate g`.
pub fn sgd<T: Plain + Send + Sync>(rule: Sgd, p: &mut [T], g: &[T], buffer: Option<&mut [T]>) {
    let [rate, momentum, fresh, decay] = [rule.rate, rule.momentum, rule.fresh, rule.decay].map(T::lit);
    let Some(buffer) = buffer else {
        return over(
            [p],
            g,
            #[inline(always)]
            |[p], g| {
                for (p, g) in p.iter_mut().zip(g) {
                    *p = p.sub(rate.mul(g.add(decay.mul(*p))));
                }
            },
        );
    };
    // Two loops, because a branch in the loop would prevent vectorisation.
    if rule.nesterov {
        return over(
            [p, buffer],
            g,
            #[inline(always)]
            |[p, buffer], g| {
                for ((p, b), g) in p.iter_mut().zip(buffer).zip(g) {
                    let g = g.add(decay.mul(*p));
                    *b = momentum.mul(*b).add(fresh.mul(g));
                    *p = p.sub(rate.mul(g.add(momentum.mul(*b))));
                }
            },
        );
    }
    over(
        [p, buffer],
        g,
        #[inline(always)]
        |[p, buffer], g| {
            for ((p, b), g) in p.iter_mut().zip(buffer).zip(g) {
                *b = momentum.mul(*b).add(fresh.mul(g.add(decay.mul(*p))));
                *p = p.sub(rate.mul(*b));
            }
        },
    );
}

/// Updates the running means `m` of `g` and `v` of its square, then `p = shrink p - speed m / (sqrt(v) / root + epsilon)`.
/// With `largest` (AMSGrad) the largest `v` so far replaces `v`.
pub fn adam<T: Plain + Send + Sync>(
    rule: Adam,
    p: &mut [T],
    g: &[T],
    m: &mut [T],
    v: &mut [T],
    largest: Option<&mut [T]>,
) {
    let adam = AdamFactors::<T>::of(rule);
    let Some(largest) = largest else {
        return over(
            [p, m, v],
            g,
            #[inline(always)]
            |[p, m, v], g| {
                for (((p, m), v), g) in p.iter_mut().zip(m).zip(v).zip(g) {
                    adam.means(*p, *g, m, v);
                    *p = adam.stepped(*p, *m, *v);
                }
            },
        );
    };
    over(
        [p, m, v, largest],
        g,
        #[inline(always)]
        |[p, m, v, largest], g| {
            for ((((p, m), v), l), g) in p.iter_mut().zip(m).zip(v).zip(largest).zip(g) {
                adam.means(*p, *g, m, v);
                *l = l.max(*v);
                *p = adam.stepped(*p, *m, *l);
            }
        },
    );
}

/// The constants of one step of Adam.
#[derive(Clone, Copy)]
struct AdamFactors<T> {
    betas: [T; 2],
    fresh: [T; 2],
    speed: T,
    root: T,
    epsilon: T,
    shrink: T,
    decay: T,
}

impl<T: Plain> AdamFactors<T> {
    fn of(rule: Adam) -> Self {
        let (beta1, beta2) = rule.betas;
        AdamFactors {
            betas: [beta1, beta2].map(T::lit),
            fresh: [1.0 - beta1, 1.0 - beta2].map(T::lit),
            speed: T::lit(rule.speed),
            root: T::lit(rule.root),
            epsilon: T::lit(rule.epsilon),
            shrink: T::lit(rule.shrink),
            decay: T::lit(rule.decay),
        }
    }

    #[inline(always)]
    fn means(&self, p: T, g: T, m: &mut T, v: &mut T) {
        let g = g.add(self.decay.mul(p));
        *m = self.betas[0].mul(*m).add(self.fresh[0].mul(g));
        *v = self.betas[1].mul(*v).add(self.fresh[1].mul(g).mul(g));
    }

    #[inline(always)]
    fn stepped(&self, p: T, m: T, v: T) -> T {
        self.shrink.mul(p).sub(self.speed.mul(m).div(v.sqrt().div(self.root).add(self.epsilon)))
    }
}

/// Runs `work` on matching pieces of arrays of the same length, in parallel if they are large.
#[inline(always)]
fn over<T: Send + Sync, const N: usize>(
    written: [&mut [T]; N],
    g: &[T],
    work: impl Fn([&mut [T]; N], &[T]) + Sync,
) {
    let n = g.len();
    assert!(written.iter().all(|w| w.len() == n), "a parameter and what belongs to it have one length");
    let written = written.map(|w| SendPtr(w.as_mut_ptr().cast()));
    let piece = |r: Range<usize>| {
        let part = |w: &SendPtr| {
            // SAFETY: the range is inside a mutably borrowed slice of `n` elements, and pieces do not overlap.
            unsafe { std::slice::from_raw_parts_mut(w.0.cast::<T>().add(r.start), r.len()) }
        };
        simd::autovectorize(
            #[inline(always)]
            || work(written.each_ref().map(part), &g[r.clone()]),
        );
    };
    if size_of_val(g) < par::MIN_BYTES { piece(0..n) } else { par::pieces(n, par::PIECE, &piece) }
}
