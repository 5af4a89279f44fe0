//! Elements picked, written and added up by position. Works on element size; only sums know the dtype.

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;

use super::map::Shared;
use super::num::Num;
use super::par;
use crate::array::{Array, Layout, by_size, copy};
use crate::dtype::{Bool8, DType, Element, dispatch};
use crate::error::{Result, bail};
use crate::shape::{self, Dims, Strides};

/// Which axes of an array one list of positions speaks of: `merged` axes after `outer` others (not counting hidden
/// ones), taken together in C order. The axes of the positions stand in their place in the values.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    pub outer: usize,
    pub merged: usize,
}

impl Rows {
    /// The shape of the values, given the shapes of the whole and of the positions (both without hidden axes).
    pub fn values(self, whole: &[usize], positions: &[usize]) -> Dims {
        let (outer, rest) = whole.split_at(self.outer);
        outer.iter().chain(positions).chain(&rest[self.merged..]).copied().collect()
    }
}

/// One axis of a walk over two arrays: its size, and the strides of the whole and of the values.
type Axis = (usize, isize, isize);

/// A walk over all pairs of an element of the whole and one of the values.
struct Plan<'a> {
    /// The axes before the positions: sizes, strides of the whole and of the values, and of the lists of positions.
    outer: SmallVec<[(usize, isize, isize, isize); 4]>,
    /// The lists of positions, one after another, as offsets in units of `step`.
    positions: Cow<'a, [i64]>,
    /// The length of one list.
    n: usize,
    step: isize,
    /// How far the values of neighbouring positions are apart.
    value_step: isize,
    inner: SmallVec<[Axis; 2]>,
}

impl<'a> Plan<'a> {
    /// `whole` and `values` begin with the same hidden axes, those of `positions` are each of that size or 1.
    fn new(whole: &Layout, rows: Rows, lanes: usize, positions: &'a Array, values: &Array) -> Plan<'a> {
        let lead = lanes + rows.outer;
        let (sizes, strides) =
            (&whole.dims[lead..lead + rows.merged], &whole.strides[lead..lead + rows.merged]);
        let n = shape::len(&positions.dims()[lanes..]);
        let list = positions.as_slice::<i64>().expect("positions are contiguous");
        // Checked here once more, so that no list from anywhere can make the walk leave the array.
        let places = shape::len(sizes) as u64;
        assert!(list.iter().all(|&i| (i as u64) < places), "a position leaves its axis");
        let joined = (1..sizes.len()).all(|k| strides[k - 1] == strides[k] * sizes[k] as isize);
        let (list, step) = match (joined, strides.last()) {
            (true, last) => (Cow::Borrowed(list), last.copied().unwrap_or(0)),
            (false, _) => (list.iter().map(|&i| offset(i, sizes, strides)).collect(), 1),
        };
        let value_strides = values.strides();
        let mut own = positions.strides();
        own.truncate(lanes);
        let outer = (0..lead).map(|a| {
            let of_list = if a < lanes && positions.dims()[a] != 1 { own[a] } else { 0 };
            (whole.dims[a], whole.strides[a], value_strides[a], of_list)
        });
        let inner = (lead + rows.merged..whole.dims.len()).zip(lead + 1..);
        Plan {
            outer: outer.filter(|a| a.0 != 1).collect(),
            positions: list,
            n,
            step,
            value_step: value_strides[lead],
            inner: joint(inner.map(|(a, v)| (whole.dims[a], whole.strides[a], value_strides[v]))),
        }
    }

    /// Calls `f` with the offsets of the whole and of the values, and the list of positions, of each outer place.
    fn lists(&self, range: Range<usize>, mut f: impl FnMut(isize, isize, &[i64])) {
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

    fn places(&self) -> usize {
        self.outer.iter().map(|a| a.0).product()
    }

    fn block(&self) -> usize {
        self.inner.iter().map(|a| a.0).product()
    }
}

/// The offset of a place counted in C order.
fn offset(place: i64, sizes: &[usize], strides: &[isize]) -> i64 {
    let (mut left, mut at) = (place as usize, 0);
    for (&d, &s) in sizes.iter().zip(strides).rev() {
        at += (left % d) as isize * s;
        left /= d;
    }
    at as i64
}

/// Neighbouring axes that both arrays walk in one run, joined.
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

/// The positions in C order with all their own axes as one.
fn flat(positions: &Array, lanes: usize) -> Result<Array> {
    let mut dims: Dims = positions.dims()[..lanes].into();
    dims.push(shape::len(&positions.dims()[lanes..]));
    positions.reshape(&dims)?.contiguous()
}

/// The values with the axes of the positions as one.
fn flat_values(values: &Array, lead: usize, positions: usize) -> Result<Array> {
    let mut dims: Dims = values.dims()[..lead].into();
    dims.push(shape::len(&values.dims()[lead..lead + positions]));
    dims.extend_from_slice(&values.dims()[lead + positions..]);
    values.reshape(&dims)
}

/// The values at positions.
pub fn pick(op: &'static str, x: &Array, rows: Rows, positions: &Array, lanes: usize) -> Result<Array> {
    let hidden = |a| if x.dims()[a] == 1 { positions.dims()[a] } else { x.dims()[a] };
    let hidden: Dims = (0..lanes).map(hidden).collect();
    let x = x.expand(&hidden.iter().chain(&x.dims()[lanes..]).copied().collect::<Dims>(), lanes);
    let dims: Dims =
        hidden.iter().copied().chain(rows.values(&x.dims()[lanes..], &positions.dims()[lanes..])).collect();
    let (list, lead) = (flat(positions, lanes)?, lanes + rows.outer);
    let mut out = Array::zeros(op, x.dtype(), &dims)?;
    if out.len() == 0 {
        return Ok(out);
    }
    let shown = flat_values(&out, lead, positions.rank() - lanes)?;
    let plan = Plan::new(&x.layout(), rows, lanes, &list, &shown);
    drop(shown);
    let (size, to) = (x.dtype().size(), Shared(out.own()?));
    let whole = plan.places();
    let work = |places: Range<usize>, part: Range<usize>| {
        let to = &to;
        plan.lists(places, |ox, ov, list| {
            let ov = ov + part.start as isize * plan.value_step;
            // SAFETY: `Plan` checked the positions; its strides reach only elements, and each place and position has
            // values of its own.
            unsafe {
                let from = x.ptr().offset(ox * size as isize);
                let to = to.0.offset(ov * size as isize);
                moved(size, &plan, &list[part.clone()], from, to);
            }
        });
    };
    if out_bytes(&plan, size) < par::MIN_BYTES {
        work(0..whole, 0..plan.n);
    } else if whole > 1 {
        par::pieces(whole, par::PIECE.div_ceil(plan.n * plan.block()), &|r| work(r, 0..plan.n));
    } else {
        par::pieces(plan.n, par::PIECE.div_ceil(plan.block()), &|r| work(0..1, r));
    }
    Ok(out)
}

fn out_bytes(plan: &Plan<'_>, size: usize) -> usize {
    plan.places() * plan.n * plan.block() * size
}

/// Copies the block of each position from the whole at `x` to the values at `v`.
///
/// # Safety
/// The offsets reach only elements of `size` bytes; those written belong to no other thread.
unsafe fn moved(size: usize, plan: &Plan<'_>, list: &[i64], x: *const u8, v: *mut u8) {
    let (step, value_step) = (plan.step, plan.value_step);
    // SAFETY: the caller's promise.
    by_size!(size, T => unsafe {
        let (x, v) = (x.cast::<T>(), v.cast::<T>());
        match plan.inner[..] {
            [] => {
                for (k, &i) in list.iter().enumerate() {
                    *v.offset(k as isize * value_step) = *x.offset(i as isize * step);
                }
            }
            [(n, 1, 1)] => {
                for (k, &i) in list.iter().enumerate() {
                    std::ptr::copy_nonoverlapping(x.offset(i as isize * step), v.offset(k as isize * value_step), n);
                }
            }
            ref axes => {
                let (dims, xs, vs) = unzip(axes);
                for (k, &i) in list.iter().enumerate() {
                    let (from, to) = (x.offset(i as isize * step), v.offset(k as isize * value_step));
                    copy(size, &dims, (from.cast(), &xs), (to.cast(), &vs));
                }
            }
        }
    });
}

fn unzip(axes: &[Axis]) -> (Dims, Strides, Strides) {
    let (mut dims, mut xs, mut vs) = (Dims::new(), Strides::new(), Strides::new());
    for &(d, x, v) in axes {
        dims.push(d);
        xs.push(x);
        vs.push(v);
    }
    (dims, xs, vs)
}

/// Writes `values` over the elements of `x` at positions within a layout of its C order: in place where nobody else
/// holds the memory. Where positions repeat, the last one stays. `x` has all hidden axes in full.
pub fn put(
    x: &mut Array,
    to: &Layout,
    rows: Rows,
    positions: &Array,
    values: &Array,
    lanes: usize,
) -> Result<()> {
    assert!(to.fits(x.len()) && x.dtype() == values.dtype(), "put: {to:?} leaves {:?}", x.dims());
    let list = flat(positions, lanes)?;
    let values = flat_values(values, lanes + rows.outer, positions.rank() - lanes)?;
    if values.len() == 0 {
        return Ok(());
    }
    let plan = Plan::new(to, rows, lanes, &list, &values);
    let size = x.dtype().size();
    // SAFETY: a layout that fits begins inside the array.
    let address = unsafe { x.own()?.offset(to.offset * size as isize) };
    plan.lists(0..plan.places(), |ox, ov, list| {
        // SAFETY: as in `pick`; nobody else holds the memory that is written.
        unsafe {
            let to = address.offset(ox * size as isize);
            let from = values.ptr().offset(ov * size as isize);
            by_size!(size, T => {
                let (to, from) = (to.cast::<T>(), from.cast::<T>());
                if plan.inner.is_empty() {
                    for (k, &i) in list.iter().enumerate() {
                        *to.offset(i as isize * plan.step) = *from.offset(k as isize * plan.value_step);
                    }
                    return;
                }
                let (dims, xs, vs) = unzip(&plan.inner);
                for (k, &i) in list.iter().enumerate() {
                    let to = to.offset(i as isize * plan.step);
                    copy(size, &dims, (from.offset(k as isize * plan.value_step).cast(), &vs), (to.cast(), &xs));
                }
            });
        }
    });
    Ok(())
}

/// Zeros of a shape (`dims`, after the hidden axes of the inputs), with `values` added at positions, in the order of
/// the positions: the result does not depend on threads.
pub fn add(
    op: &'static str,
    dims: &[usize],
    rows: Rows,
    positions: &Array,
    values: &Array,
    lanes: usize,
) -> Result<Array> {
    let hidden = |a| if values.dims()[a] == 1 { positions.dims()[a] } else { values.dims()[a] };
    let hidden: Dims = (0..lanes).map(hidden).collect();
    let all: Dims = hidden.iter().chain(&values.dims()[lanes..]).copied().collect();
    let values = flat_values(&values.expand(&all, lanes), lanes + rows.outer, positions.rank() - lanes)?;
    let list = flat(positions, lanes)?;
    let mut out = Array::zeros(op, values.dtype(), &hidden.iter().chain(dims).copied().collect::<Dims>())?;
    if values.len() == 0 {
        return Ok(out);
    }
    let plan = Plan::new(&out.layout(), rows, lanes, &list, &values);
    dispatch!(values.dtype(), num T => sum::<T>(&mut out, &plan, &values)?, else bail!(Dtype, op, "truth values are not added up"));
    Ok(out)
}

fn sum<T: Num>(out: &mut Array, plan: &Plan<'_>, values: &Array) -> Result<()> {
    let to = Shared(out.own()?);
    // The columns of a block are independent of each other, as are the outer places.
    let work = |places: Range<usize>, columns: Range<usize>| {
        let to = &to;
        plan.lists(places, |ox, ov, list| {
            // SAFETY: as in `pick`; this call alone writes the places and columns that it is given.
            unsafe {
                let (to, from) = (to.0.cast::<T>().offset(ox), values.ptr().cast::<T>().offset(ov));
                for (k, &i) in list.iter().enumerate() {
                    let (to, from) =
                        (to.offset(i as isize * plan.step), from.offset(k as isize * plan.value_step));
                    match plan.inner[..] {
                        [] => *to = (*to).add(*from),
                        [(_, x, v)] => {
                            for c in columns.clone() {
                                let to = to.offset(c as isize * x);
                                *to = (*to).add(*from.offset(c as isize * v));
                            }
                        }
                        ref axes => added(axes, to, from),
                    }
                }
            }
        });
    };
    let whole = plan.places();
    let columns = if let [(n, ..)] = plan.inner[..] { n } else { 1 };
    if out_bytes(plan, size_of::<T>()) < par::MIN_BYTES {
        work(0..whole, 0..columns);
    } else if whole > 1 {
        par::pieces(whole, par::PIECE.div_ceil(plan.n * plan.block()), &|r| work(r, 0..columns));
    } else {
        par::pieces(columns, par::PIECE.div_ceil(plan.n).next_multiple_of(64), &|r| work(0..1, r));
    }
    Ok(())
}

/// # Safety
/// The strides reach only elements.
unsafe fn added<T: Num>(axes: &[Axis], to: *mut T, from: *const T) {
    // SAFETY: the caller's promise holds for each part of the shape.
    unsafe {
        match axes {
            [] => *to = (*to).add(*from),
            [(n, x, v), axes @ ..] => {
                for i in 0..*n as isize {
                    added(axes, to.offset(i * x), from.offset(i * v));
                }
            }
        }
    }
}

/// Indices of neighbouring axes of these sizes, broadcast against each other, as positions on all of them in C order.
/// Negative ones count from the end. `first` is the axis that the sizes begin at, for errors.
pub fn join(
    op: &'static str,
    indices: &[&Array],
    sizes: &[usize],
    first: &[usize],
    lanes: usize,
) -> Result<Array> {
    let mut dims = Dims::new();
    for index in indices {
        let lane_first = index.with_rank(indices.iter().map(|i| i.rank()).max().unwrap_or(0), lanes);
        match shape::broadcast(op, &dims, lane_first.dims()) {
            Ok(d) => dims = d,
            Err(_) => {
                let all: Vec<&[usize]> = indices.iter().map(|i| &i.dims()[lanes..]).collect();
                bail!(Index, op, "index arrays of shapes {all:?} do not broadcast against each other");
            }
        }
    }
    let mut out: Option<Array> = None;
    for ((index, &size), &axis) in indices.iter().zip(sizes).zip(first) {
        let whole = normal(op, index, size, axis)?;
        out = Some(match out {
            None => whole.expand(&dims, lanes).contiguous()?,
            Some(mut sum) => {
                let next = whole.expand(&dims, lanes).contiguous()?;
                let n = sum.len();
                let to = sum.own()?.cast::<i64>();
                // SAFETY: contiguous, of this type, made or copied above, and held by nobody else.
                let to = unsafe { std::slice::from_raw_parts_mut(to, n) };
                let from = next.as_slice::<i64>().expect("contiguous");
                to.iter_mut().zip(from).for_each(|(t, &f)| *t = *t * size as i64 + f);
                sum
            }
        });
    }
    match out {
        Some(out) => Ok(out),
        None => Array::zeros(op, DType::I64, &dims),
    }
}

/// Indices of an axis as positions: checked, and negative ones counted from the end.
fn normal(op: &'static str, index: &Array, size: usize, axis: usize) -> Result<Array> {
    let index = index.contiguous()?;
    let n = size as i64;
    let mut wrong = None;
    let out = dispatch!(index.dtype(), int T => {
        let from = index.as_slice::<T>().expect("contiguous");
        Array::build::<i64>(op, index.dims(), |out| {
            for (o, &i) in out.iter_mut().zip(from) {
                let i64_of = i.to_i64();
                let at = if i64_of < 0 && i < T::default() { i64_of + n } else { i64_of };
                // An unsigned index beyond the range of i64 is negative here.
                if (at as u64) >= size as u64 {
                    wrong = Some(i.to_i128());
                    break;
                }
                *o = at;
            }
        })
    }, else bail!(Dtype, op, "indices are integers or truth values, not {}", index.dtype()))?;
    match wrong {
        Some(i) => bail!(Index, op, "index {i} is out of bounds for axis {axis} with size {size}"),
        None => Ok(out),
    }
}

/// The number of an element, exactly.
trait Exact {
    fn to_i128(self) -> i128;
}
macro_rules! exact {
    ($($t:ty)*) => { $( impl Exact for $t { fn to_i128(self) -> i128 { i128::from(self) } } )* };
}
exact!(u8 i8 u16 i16 u32 i32 u64 i64);

/// The positions of the elements that are not zero, in C order, with all axes as one.
pub fn nonzero(x: &Array) -> Result<Array> {
    let x = x.contiguous()?;
    dispatch!(x.dtype(), all T => {
        let from = x.as_slice::<T>().expect("contiguous");
        let count = from.iter().filter(|&&v| v != T::default()).count();
        Array::build::<i64>("nonzero", &[count], |out| {
            let found = from.iter().enumerate().filter(|(_, v)| **v != T::default());
            out.iter_mut().zip(found).for_each(|(o, (i, _))| *o = i as i64);
        })
    })
}

/// Positions in C order as indices of one axis.
pub fn unjoin(positions: &Array, dims: &[usize], axis: usize) -> Result<Array> {
    let (after, size) = (shape::len(&dims[axis + 1..]).max(1) as i64, dims[axis].max(1) as i64);
    let positions = positions.contiguous()?;
    let from = positions.as_slice::<i64>().expect("contiguous");
    Array::build::<i64>("nonzero", positions.dims(), |out| {
        out.iter_mut().zip(from).for_each(|(o, &p)| *o = p / after % size);
    })
}

/// Truth values: which of the positions of a list are not named again later in it. None where all are.
pub fn last(positions: &Array, lanes: usize) -> Result<Option<Array>> {
    let list = flat(positions, lanes)?;
    let n = *list.dims().last().expect("one axis at least");
    let from = list.as_slice::<i64>().expect("contiguous");
    let mut all = true;
    let out = Array::build::<Bool8>("index_put", positions.dims(), |out| {
        for (out, list) in out.chunks_exact_mut(n.max(1)).zip(from.chunks_exact(n.max(1))) {
            let mut seen = rustc_hash::FxHashSet::default();
            for (o, i) in out.iter_mut().zip(list).rev() {
                let first = seen.insert(*i);
                all &= first;
                *o = first.into();
            }
        }
    })?;
    Ok((!all).then_some(out))
}

/// The elements of matrices on one side of their k-th diagonal, that one included; zero on the other side.
pub fn triangle(x: &Array, upper: bool, k: i64) -> Result<Array> {
    let x = x.contiguous()?;
    let mut out = Array::zeros("triangle", x.dtype(), x.dims())?;
    let (rows, columns) = (x.dims()[x.rank() - 2], x.dims()[x.rank() - 1]);
    let (size, bytes) = (x.dtype().size(), x.len() * x.dtype().size());
    if bytes == 0 {
        return Ok(out);
    }
    // SAFETY: both are contiguous with so many bytes, and `out` is held by nobody else.
    let (from, to) = unsafe {
        (std::slice::from_raw_parts(x.ptr(), bytes), std::slice::from_raw_parts_mut(out.own()?, bytes))
    };
    let row = columns * size;
    for (i, (to, from)) in to.chunks_exact_mut(row).zip(from.chunks_exact(row)).enumerate() {
        // The first column of the upper side, or the first after the lower one.
        let edge = ((i % rows) as i64).saturating_add(k).saturating_add(i64::from(!upper));
        let edge = edge.clamp(0, columns as i64) as usize * size;
        let kept = if upper { edge..row } else { 0..edge };
        to[kept.clone()].copy_from_slice(&from[kept]);
    }
    Ok(out)
}
