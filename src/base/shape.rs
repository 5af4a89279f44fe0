//! Shapes and axes: pure functions of lists of sizes.

use smallvec::SmallVec;

use crate::error::{Error, Result, bail};

pub type Dims = SmallVec<[usize; 2]>;
pub type Strides = SmallVec<[isize; 4]>;

/// A shape from a slice. Short shapes are built without a call of `memcpy`.
#[inline]
pub fn dims(slice: &[usize]) -> Dims {
    match *slice {
        [] => Dims::new(),
        [a] => Dims::from_buf_and_len([a, 0], 1),
        [a, b] => Dims::from_buf([a, b]),
        _ => Dims::from_slice(slice),
    }
}

/// Whether two shapes are equal. For short lists this is faster than a call of `memcmp`.
#[inline]
pub fn same(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

/// The number of elements, or `None` if it does not fit into an `isize`.
#[inline]
pub fn checked_len(dims: &[usize]) -> Option<usize> {
    let product =
        dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n <= isize::MAX as usize);
    product.or_else(|| dims.contains(&0).then_some(0))
}

/// The number of elements of an existing array of this shape.
#[inline]
pub fn len(dims: &[usize]) -> usize {
    match dims {
        [] => 1,
        [n] => *n,
        _ => product(dims),
    }
}

/// A call of its own, because the compiler makes a vectorised loop of it, which is too much code for every caller of `len`.
#[inline(never)]
fn product(dims: &[usize]) -> usize {
    dims.iter().product()
}

/// The strides, in elements, of a C-contiguous array.
pub fn contiguous_strides(dims: &[usize]) -> Strides {
    let mut strides = Strides::from_elem(1, dims.len());
    for i in (1..dims.len()).rev() {
        // It is beyond all numbers only in shapes of no elements, in which no stride is used.
        strides[i - 1] = strides[i].wrapping_mul(dims[i].max(1) as isize);
    }
    strides
}

/// Whether the strides are [`contiguous_strides`].
pub fn are_contiguous(dims: &[usize], strides: &[isize]) -> bool {
    let mut expected = 1;
    dims.len() == strides.len()
        && dims.iter().zip(strides).rev().all(|(&d, &s)| {
            let fits = s == expected;
            expected *= d.max(1) as isize;
            fits
        })
}

/// The offset, in elements, of entry `i` (in C order) of axes with these sizes and strides. Strides beyond `dims` are
/// ignored.
pub fn offset(mut i: usize, dims: &[usize], strides: &[isize]) -> isize {
    let mut at = 0;
    for (&d, &s) in dims.iter().zip(&strides[..dims.len()]).rev() {
        at += (i % d) as isize * s;
        i /= d;
    }
    at
}

/// The shape that two shapes broadcast to.
pub fn broadcast(op: &'static str, a: &[usize], b: &[usize]) -> Result<Dims> {
    let rank = a.len().max(b.len());
    let mut out = Dims::with_capacity(rank);
    for i in 0..rank {
        let x = (i + a.len()).checked_sub(rank).map_or(1, |i| a[i]);
        let y = (i + b.len()).checked_sub(rank).map_or(1, |i| b[i]);
        match (x, y) {
            _ if x == y => out.push(x),
            (1, n) | (n, 1) => out.push(n),
            _ => bail!(
                Shape,
                op,
                "shapes {a:?} and {b:?} do not broadcast. The size of tensor a ({x}) must match the size of tensor b ({y}) at \
                 non-singleton dimension {i}"
            ),
        }
    }
    Ok(out)
}

/// A Python axis (negative counts from the end) as an index below `rank`.
pub fn axis(op: &'static str, axis: i64, rank: usize) -> Result<usize> {
    let n = rank as i64;
    if axis < -n || axis >= n {
        return Err(Box::new(Error::Axis { op, axis, rank }));
    }
    Ok(if axis < 0 { axis + n } else { axis } as usize)
}

/// Whether a list names each of `n` axes once.
pub fn is_order(axes: &[usize], n: usize) -> bool {
    axes.len() == n && (0..n).all(|a| axes.contains(&a))
}

/// The shape with another size on the axis that is `back` from the end. None if there is no such axis.
pub fn resized(dims: &[usize], back: usize, size: usize) -> Option<Dims> {
    let mut all = Dims::from_slice(dims);
    *all.get_mut(dims.len().checked_sub(back)?)? = size;
    Some(all)
}

/// Sorts a short list, such as one of axes; equal ones keep their order. The sort of the standard library would be compiled
/// for each such list, in some thousand bytes.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    for end in 1..list.len() {
        let mut at = end;
        while at > 0 && key(&list[at]) < key(&list[at - 1]) {
            list.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// Several Python axes as sorted indices. A repeated axis is an error.
pub fn axes(op: &'static str, list: &[i64], rank: usize) -> Result<SmallVec<[usize; 4]>> {
    let mut out = list.iter().map(|&a| axis(op, a, rank)).collect::<Result<SmallVec<[usize; 4]>>>()?;
    sort_by_key(&mut out, |&a| a);
    if let Some(w) = out.windows(2).find(|w| w[0] == w[1]) {
        bail!(Argument, op, "axis {} appears multiple times in the list of axes {list:?}", w[0]);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_follows_numpy() {
        assert_eq!(broadcast("t", &[2, 1], &[3]).unwrap().as_slice(), &[2, 3]);
        assert_eq!(broadcast("t", &[0, 1], &[1, 4]).unwrap().as_slice(), &[0, 4]);
        assert_eq!(broadcast("t", &[], &[5]).unwrap().as_slice(), &[5]);
        assert!(broadcast("t", &[2], &[3]).is_err());
    }

    #[test]
    fn lengths_that_overflow_are_none() {
        assert_eq!(checked_len(&[1 << 62, 4]), None);
        assert_eq!(checked_len(&[1 << 62, 4, 0]), Some(0));
    }
}
