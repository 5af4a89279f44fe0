//! Steps of optimizers: one pass over a parameter, its gradient and what the rule remembers of earlier ones.

use std::ops::Range;

use super::map::Shared;
use super::num::Real;
use super::{par, simd};

/// Stochastic gradient descent with momentum.
#[derive(Clone, Copy, Debug)]
pub struct Sgd {
    pub rate: f64,
    pub momentum: f64,
    pub dampening: f64,
    pub nesterov: bool,
    /// Times the parameter, added to the gradient.
    pub decay: f64,
}

/// Adam (D. Kingma, J. Ba, 2015), and AdamW (I. Loshchilov, F. Hutter, 2019) where the decay is decoupled.
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    pub rate: f64,
    pub betas: (f64, f64),
    pub epsilon: f64,
    pub decay: f64,
    /// Whether the decay shrinks the parameter itself, and not through the gradient.
    pub decoupled: bool,
    /// Which step this is, from 1.
    pub step: f64,
}

/// `b = momentum b + (1 - dampening) g`, or `g` on the first step; `p -= rate (g + momentum b)` as Nesterov has it,
/// `p -= rate b` else. Without momentum there is no `b`.
pub fn sgd<T: Real + Send + Sync>(rule: Sgd, first: bool, p: &mut [T], g: &[T], buffer: Option<&mut [T]>) {
    let [rate, momentum, fresh, decay] =
        [rule.rate, rule.momentum, 1.0 - rule.dampening, rule.decay].map(T::lit);
    let Some(buffer) = buffer else {
        return over([p], g, |[p], g| {
            for (p, g) in p.iter_mut().zip(g) {
                *p = p.sub(rate.mul(g.add(decay.mul(*p))));
            }
        });
    };
    over([p, buffer], g, |[p, buffer], g| {
        for ((p, b), g) in p.iter_mut().zip(buffer).zip(g) {
            let g = g.add(decay.mul(*p));
            *b = if first { g } else { momentum.mul(*b).add(fresh.mul(g)) };
            let step = if rule.nesterov { g.add(momentum.mul(*b)) } else { *b };
            *p = p.sub(rate.mul(step));
        }
    });
}

/// `m` and `v` become running means of `g` and of its square; `p -= rate m̂ / (sqrt(v̂) + epsilon)`, with the means
/// corrected for beginning at zero. With `largest` the largest `v` so far stands for `v` (AMSGrad).
pub fn adam<T: Real + Send + Sync>(
    rule: Adam,
    p: &mut [T],
    g: &[T],
    m: &mut [T],
    v: &mut [T],
    largest: Option<&mut [T]>,
) {
    let (beta1, beta2) = rule.betas;
    let correction = (1.0 - beta1.powf(rule.step), 1.0 - beta2.powf(rule.step));
    let [b1, b2, fresh1, fresh2] = [beta1, beta2, 1.0 - beta1, 1.0 - beta2].map(T::lit);
    let [rate, root, epsilon] = [rule.rate / correction.0, correction.1.sqrt(), rule.epsilon].map(T::lit);
    let shrink = T::lit(if rule.decoupled { 1.0 - rule.rate * rule.decay } else { 1.0 });
    let decay = T::lit(if rule.decoupled { 0.0 } else { rule.decay });
    let means = |p: T, g: T, m: &mut T, v: &mut T| {
        let g = g.add(decay.mul(p));
        *m = b1.mul(*m).add(fresh1.mul(g));
        *v = b2.mul(*v).add(fresh2.mul(g).mul(g));
    };
    let stepped = |p: T, m: T, v: T| shrink.mul(p).sub(rate.mul(m).div(v.sqrt().div(root).add(epsilon)));
    let Some(largest) = largest else {
        return over([p, m, v], g, |[p, m, v], g| {
            for (((p, m), v), g) in p.iter_mut().zip(m).zip(v).zip(g) {
                means(*p, *g, m, v);
                *p = stepped(*p, *m, *v);
            }
        });
    };
    over([p, m, v, largest], g, |[p, m, v, largest], g| {
        for ((((p, m), v), l), g) in p.iter_mut().zip(m).zip(v).zip(largest).zip(g) {
            means(*p, *g, m, v);
            *l = l.max(*v);
            *p = stepped(*p, *m, *l);
        }
    });
}

/// `work` on pieces of arrays of one length, by several threads where that pays.
#[inline(always)]
fn over<T: Send + Sync, const N: usize>(
    written: [&mut [T]; N],
    g: &[T],
    work: impl Fn([&mut [T]; N], &[T]) + Sync,
) {
    let n = g.len();
    assert!(written.iter().all(|w| w.len() == n), "a parameter and what belongs to it have one length");
    let written = written.map(|w| Shared(w.as_mut_ptr().cast()));
    let piece = |r: Range<usize>| {
        let part = |w: &Shared| {
            // SAFETY: inside of a slice of `n` elements that is borrowed mutably; the pieces do not overlap.
            unsafe { std::slice::from_raw_parts_mut(w.0.cast::<T>().add(r.start), r.len()) }
        };
        simd::run(
            #[inline(always)]
            || work(written.each_ref().map(part), &g[r.clone()]),
            #[inline(always)]
            || work(written.each_ref().map(part), &g[r.clone()]),
        );
    };
    if size_of_val(g) < par::MIN_BYTES { piece(0..n) } else { par::pieces(n, par::PIECE, &piece) }
}
