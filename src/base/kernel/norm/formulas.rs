//! The formulas of batch normalisation, for elements and the numbers of their channels.

use crate::kernel::num::Real;

/// Lists of numbers, each laid out by `f`. A loop, because a build may not inline `map` of arrays.
#[inline(always)]
pub fn each_laid<T: Real, const N: usize, const M: usize>(
    numbers: [&[T]; M],
    f: impl Fn(&[T]) -> [T; N],
) -> [[T; N]; M] {
    let mut laid = [[T::ZERO; N]; M];
    for k in 0..M {
        laid[k] = f(numbers[k]);
    }
    laid
}

#[inline(always)]
pub fn square<T: Real>([x]: [T; 1], [mean]: [T; 1]) -> [T; 1] {
    [x.sub(mean).mul(x.sub(mean))]
}

#[inline(always)]
pub fn scaled<T: Real>([x]: [T; 1], [mean, root, w, b]: [T; 4]) -> T {
    x.sub(mean).mul(root).mul(w).add(b)
}

/// What is summed for the gradients of the weight and of the shift.
#[inline(always)]
pub fn products<T: Real>([g, x]: [T; 2], [mean, root]: [T; 2]) -> [T; 2] {
    [g.mul(x.sub(mean).mul(root)), g]
}

/// The gradient of an element. `along` and `middle` are the means of [`products`].
#[inline(always)]
pub fn gradient<T: Real>([g, x]: [T; 2], [mean, root, factor, along, middle]: [T; 5]) -> T {
    factor.mul(g.sub(middle).sub(x.sub(mean).mul(root).mul(along)))
}
