//! The axes that positions index, and the iteration over indexed elements and their values.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use smallvec::SmallVec;

use crate::array::{Array, Layout};
use crate::error::Result;
use crate::kernel::{par, simd};
use crate::shape::{self, Dims, Strides};
use crate::stored::Stored;

/// The axes that a list of positions indexes: `merged` axes after `outer` others (not counting batch axes), flattened
/// in C order. In the shape of the values they are replaced by the axes of the positions.
#[derive(Clone, Copy, Debug, Stored)]
pub struct IndexedAxes {
    pub outer: usize,
    pub merged: usize,
}

impl IndexedAxes {
    /// The shape of the values, from the shapes of the array and of the positions, all without batch axes. None if the array
    /// lacks the axes.
    pub fn values(self, whole: &[usize], positions: &[usize]) -> Option<Dims> {
        let (outer, rest) = whole.split_at_checked(self.outer)?;
        Some(outer.iter().chain(positions).chain(rest.get(self.merged..)?).copied().collect())
    }
}

/// An axis: its size, and its strides in the array and in the values.
pub type Axis = (usize, isize, isize);

/// An iteration over pairs of an indexed element of the array and its value.
pub struct IndexPlan<'a> {
    /// The axes before the indexed ones: size, and strides in the array, the values and the lists of positions.
    pub outer: SmallVec<[(usize, isize, isize, isize); 4]>,
    /// The lists of positions, concatenated, as offsets in units of `step`.
    pub positions: Cow<'a, [i64]>,
    /// The length of one list.
    pub n: usize,
    pub step: isize,
    /// The stride between the values of adjacent positions.
    pub value_step: isize,
    pub inner: SmallVec<[Axis; 2]>,
}

impl<'a> IndexPlan<'a> {
    /// The array and the values have the same batch axes; those of the positions have the same sizes or 1.
    ///
    /// # Panics
    /// If they have not, or a position leaves its axis: no list of positions and no values can make the iteration leave the
    /// arrays.
    pub fn new(
        whole: &Layout,
        rows: IndexedAxes,
        batch_ndim: usize,
        positions: &'a Array,
        values: &Array,
    ) -> IndexPlan<'a> {
        let lead = batch_ndim + rows.outer;
        let (sizes, strides) =
            (&whole.dims[lead..lead + rows.merged], &whole.strides[lead..lead + rows.merged]);
        let n = shape::len(&positions.dims()[batch_ndim..]);
        let list = positions.as_slice::<i64>().expect("positions are contiguous");
        let own = whole.dims[..lead].iter().chain([&n]).chain(&whole.dims[lead + rows.merged..]);
        let are_batches =
            whole.dims.iter().zip(positions.dims()).take(batch_ndim).all(|(d, p)| d == p || *p == 1);
        assert!(own.eq(values.dims()) && are_batches, "{:?} are not the values of {whole:?}", values.dims());
        assert!(inside(list, shape::len(sizes)), "a position leaves its axis");
        let joined = (1..sizes.len()).all(|k| strides[k - 1] == strides[k] * sizes[k] as isize);
        let (list, step) = match (joined, strides.last()) {
            (true, last) => (Cow::Borrowed(list), last.copied().unwrap_or(0)),
            (false, _) => (list.iter().map(|&i| offset(i, sizes, strides)).collect(), 1),
        };
        let value_strides = values.strides();
        let mut own = positions.strides();
        own.truncate(batch_ndim);
        let outer = (0..lead).map(|a| {
            let of_list = if a < batch_ndim && positions.dims()[a] != 1 { own[a] } else { 0 };
            (whole.dims[a], whole.strides[a], value_strides[a], of_list)
        });
        let inner = (lead + rows.merged..whole.dims.len()).zip(lead + 1..);
        IndexPlan {
            outer: outer.filter(|a| a.0 != 1).collect(),
            positions: list,
            n,
            step,
            value_step: value_strides[lead],
            inner: joint(inner.map(|(a, v)| (whole.dims[a], whole.strides[a], value_strides[v]))),
        }
    }

    /// Calls `f` for each index of the outer axes: the offsets in the array and in the values, and the list of
    /// positions.
    pub fn lists(&self, range: Range<usize>, mut f: impl FnMut(isize, isize, &[i64])) {
        for place in range {
            let (mut left, mut x, mut v, mut list) = (place, 0, 0, 0);
            for &(d, sx, sv, sl) in self.outer.iter().rev() {
                let i = (left % d) as isize;
                left /= d;
                (x, v, list) = (x + i * sx, v + i * sv, list + i * sl);
            }
            f(x, v, &self.positions[list as usize..list as usize + self.n]);
        }
    }

    pub fn places(&self) -> usize {
        self.outer.iter().map(|a| a.0).product()
    }

    pub fn block(&self) -> usize {
        self.inner.iter().map(|a| a.0).product()
    }
}

/// Whether all positions are below `places`.
pub fn inside(list: &[i64], places: usize) -> bool {
    let lost = AtomicBool::new(false);
    par::pieces(list.len(), par::PIECE, &|r| {
        let inside = simd::autovectorize(
            #[inline(always)]
            || list[r].iter().fold(true, |all, &i| all & ((i as u64) < places as u64)),
        );
        lost.fetch_or(!inside, Relaxed);
    });
    !lost.into_inner()
}

/// The offset of a position counted in C order.
fn offset(place: i64, sizes: &[usize], strides: &[isize]) -> i64 {
    let (mut left, mut at) = (place as usize, 0);
    for (&d, &s) in sizes.iter().zip(strides).rev() {
        at += (left % d) as isize * s;
        left /= d;
    }
    at as i64
}

/// Coalesces adjacent axes that are one axis in both arrays.
fn joint(axes: impl Iterator<Item = Axis>) -> SmallVec<[Axis; 2]> {
    let mut out: SmallVec<[Axis; 2]> = SmallVec::new();
    for (d, x, v) in axes.filter(|a| a.0 != 1) {
        match out.last_mut() {
            Some((run, px, pv)) if *px == x * d as isize && *pv == v * d as isize => {
                (*run, *px, *pv) = (*run * d, x, v)
            }
            _ => out.push((d, x, v)),
        }
    }
    out
}

/// The positions with all their own axes flattened, in C order.
pub fn flat(positions: &Array, batch_ndim: usize) -> Result<Array> {
    let mut dims: Dims = positions.dims()[..batch_ndim].into();
    dims.push(shape::len(&positions.dims()[batch_ndim..]));
    positions.reshape(&dims)?.contiguous()
}

/// The values with the axes of the positions flattened.
pub fn flat_values(values: &Array, lead: usize, positions: usize) -> Result<Array> {
    let mut dims: Dims = values.dims()[..lead].into();
    dims.push(shape::len(&values.dims()[lead..lead + positions]));
    dims.extend_from_slice(&values.dims()[lead + positions..]);
    values.reshape(&dims)
}

pub fn out_bytes(plan: &IndexPlan<'_>, size: usize) -> usize {
    plan.places() * plan.n * plan.block() * size
}

pub fn unzip(axes: &[Axis]) -> (Dims, Strides, Strides) {
    let (mut dims, mut xs, mut vs) = (Dims::new(), Strides::new(), Strides::new());
    for &(d, x, v) in axes {
        dims.push(d);
        xs.push(x);
        vs.push(v);
    }
    (dims, xs, vs)
}
