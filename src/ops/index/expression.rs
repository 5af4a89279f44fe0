//! An index expression `x[...]`, with NumPy's meaning: a view, and then positions on some axes of the view.

use smallvec::SmallVec;

use super::rows::{gather_at, join};
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::kernel::index::{IndexedAxes, nonzero};
use crate::ops::Index;
use crate::ops::movement::axes::permuted;
use crate::ops::movement::region::{AxisPart, AxisParts, Region, view};
use crate::shape::Dims;

/// An index expression, resolved against a shape.
pub(in crate::ops) struct Expression {
    /// The view that integers, slices, new axes and the ellipsis select.
    pub parts: AxisParts,
    /// The shape of that view.
    pub dims: Dims,
    pub list: Option<List>,
}

/// Positions on axes of the view.
pub(in crate::ops) struct List {
    /// An order of the view's axes in which the indexed ones are neighbours.
    pub order: SmallVec<[usize; 4]>,
    pub rows: IndexedAxes,
    /// Positions on those axes, taken together in C order.
    pub positions: Tensor,
}

/// An index array: the axes of the view that it indexes (a mask indexes as many as it has), and its
/// positions.
struct Given {
    axes: std::ops::Range<usize>,
    size: usize,
    first: usize,
    numbers: Tensor,
}

/// Whether the index arrays, and the integers among them, are neighbours.
#[derive(PartialEq)]
enum Adjacency {
    Before,
    Inside,
    After,
    Separated,
}

impl Adjacency {
    fn array(&mut self) {
        *self = match self {
            Adjacency::Before | Adjacency::Inside => Adjacency::Inside,
            _ => Adjacency::Separated,
        };
    }

    fn other(&mut self) {
        if *self == Adjacency::Inside {
            *self = Adjacency::After;
        }
    }
}

impl Expression {
    pub fn new(op: &'static str, dims: &[usize], index: &[Index]) -> Result<Expression> {
        let takes = |i: &Index| match i {
            Index::NewAxis | Index::Ellipsis => 0,
            Index::Tensor(t) if t.dtype() == DType::Bool => t.rank(),
            _ => 1,
        };
        let taken: usize = index.iter().map(takes).sum();
        let Some(free) = dims.len().checked_sub(taken) else {
            let rank = dims.len();
            if rank == 0 {
                bail!(Index, op, "invalid index of a 0-dim tensor: its number is item()");
            }
            bail!(
                Index,
                op,
                "too many indices for tensor of dimension {rank}: of the shape {dims:?} {taken} axes are indexed"
            );
        };
        if index.iter().filter(|i| matches!(i, Index::Ellipsis)).count() > 1 {
            bail!(Index, op, "an index can have only one ellipsis ('...')");
        }
        let (mut parts, mut shown) = (AxisParts::new(), Dims::new());
        let mut given: SmallVec<[Given; 2]> = SmallVec::new();
        let (mut adjacency, mut at) = (Adjacency::Before, None);
        let mut axis = 0;
        for i in index {
            match i {
                Index::Int(_) | Index::Tensor(_) => {
                    adjacency.array();
                    at.get_or_insert(shown.len());
                }
                Index::Select(_) => {}
                _ => adjacency.other(),
            }
            match i {
                Index::Int(i) | Index::Select(i) => {
                    let n = dims[axis] as i64;
                    if *i < -n || *i >= n {
                        bail!(Index, op, "index {i} is out of bounds for axis {axis} with size {n}");
                    }
                    parts.push(AxisPart::At(if *i < 0 { i + n } else { *i } as usize));
                    axis += 1;
                }
                Index::Slice { start, stop, step } => {
                    let part = span(op, dims[axis], *start, *stop, *step)?;
                    if let AxisPart::Span { count, .. } = part {
                        shown.push(count);
                    }
                    parts.push(part);
                    axis += 1;
                }
                Index::NewAxis => {
                    parts.push(AxisPart::New);
                    shown.push(1);
                }
                Index::Ellipsis => {
                    for _ in 0..free {
                        parts.push(AxisPart::whole(dims[axis]));
                        shown.push(dims[axis]);
                        axis += 1;
                    }
                }
                Index::Tensor(t) => {
                    let axes = shown.len()..shown.len() + takes(i);
                    for k in 0..takes(i) {
                        parts.push(AxisPart::whole(dims[axis + k]));
                        shown.push(dims[axis + k]);
                    }
                    let size = dims[axis..axis + takes(i)].iter().product();
                    let numbers =
                        if t.dtype() == DType::Bool { marked(op, t, dims, axis)? } else { t.detach() };
                    given.push(Given { axes, size, first: axis, numbers });
                    axis += takes(i);
                }
            }
        }
        shown.extend_from_slice(&dims[axis..]);
        let list = if given.is_empty() {
            None
        } else {
            Some(List::new(op, &given, adjacency, at.unwrap_or(0), shown.len())?)
        };
        Ok(Expression { parts, dims: shown, list })
    }

    /// Whether the view is the tensor itself.
    pub fn is_whole(&self, dims: &[usize]) -> bool {
        self.parts.len() <= dims.len() && self.parts.iter().zip(dims).all(|(p, &d)| p.is_whole(d))
    }

    /// The shape that the expression reads.
    pub fn values(&self) -> Dims {
        match &self.list {
            None => self.dims.clone(),
            Some(list) => {
                let dims: Dims = list.order.iter().map(|&a| self.dims[a]).collect();
                list.rows.values(&dims, list.positions.dims()).expect("they index axes of the view")
            }
        }
    }

    pub fn region(&self) -> Region {
        Region::Box(self.parts.clone())
    }
}

impl List {
    fn new(op: &'static str, given: &[Given], adjacency: Adjacency, at: usize, rank: usize) -> Result<List> {
        let spoken: SmallVec<[usize; 4]> = given.iter().flat_map(|g| g.axes.clone()).collect();
        let numbers: SmallVec<[&Tensor; 4]> = given.iter().map(|g| &g.numbers).collect();
        let sizes = given.iter().map(|g| g.size).collect();
        let positions = join(op, &numbers, sizes, given.iter().map(|g| g.first).collect())?;
        let rest = (0..rank).filter(|a| !spoken.contains(a));
        // If the index arrays are not neighbours their axes come first.
        let (outer, order) = if adjacency == Adjacency::Separated {
            (0, spoken.iter().copied().chain(rest).collect())
        } else {
            (at, (0..rank).collect())
        };
        Ok(List { order, rows: IndexedAxes { outer, merged: spoken.len() }, positions })
    }
}

/// The positions of the true elements of a mask. As in NumPy, an axis of size 0 fits every axis.
fn marked(op: &'static str, mask: &Tensor, dims: &[usize], axis: usize) -> Result<Tensor> {
    let own = &dims[axis..axis + mask.rank()];
    if let Some(k) = (0..own.len()).find(|&k| ![own[k], 0].contains(&mask.dims()[k])) {
        bail!(
            Index,
            op,
            "a mask of shape {:?} does not fit: axis {} has size {}, the mask has {} there",
            mask.dims(),
            axis + k,
            own[k],
            mask.dims()[k]
        );
    }
    if !mask.levels.is_empty() {
        bail!(
            Vmap,
            op,
            "a mask reads as many elements as are true in it, and under vmap that number differs within the batch; use where or masked_fill"
        );
    }
    Ok(Tensor::constant(nonzero(&mask.array)?))
}

/// A slice of an axis, as Python's `slice.indices`.
fn span(
    op: &'static str,
    size: usize,
    start: Option<i64>,
    stop: Option<i64>,
    step: Option<i64>,
) -> Result<AxisPart> {
    let (n, step) = (size as i64, step.unwrap_or(1));
    if step == 0 {
        bail!(Argument, op, "the step of a slice cannot be zero");
    }
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let clamp = |v: i64| if v < 0 { v.saturating_add(n).max(low) } else { v.min(high) };
    let start = start.map_or(if step > 0 { low } else { high }, clamp);
    let stop = stop.map_or(if step > 0 { high } else { low }, clamp);
    let way = if step > 0 { stop - start } else { start - stop };
    let count = if way <= 0 { 0 } else { (way as u64 - 1) / step.unsigned_abs() + 1 };
    let step = isize::try_from(step).unwrap_or(isize::MAX);
    Ok(AxisPart::Span {
        start: start.max(0) as usize,
        // With fewer than two elements the step does not matter.
        step: if count < 2 { 1 } else { step },
        count: count as usize,
    })
}

/// The elements at an index expression. Integers, slices, new axes and an ellipsis give a view; index arrays and masks
/// a copy.
///
/// # Errors
/// [`crate::Error::Index`] for an index that is not there or a mask of another shape.
pub fn get(x: &Tensor, index: &[Index]) -> Result<Tensor> {
    const OP: &str = "getitem";
    // One integer is the most common index.
    if let ([Index::Int(i)], Some(&n)) = (index, x.dims().first()) {
        let n = n as i64;
        if (-n..n).contains(i) {
            let part = AxisPart::At(if *i < 0 { i + n } else { *i } as usize);
            return view(OP, x, Region::Box(AxisParts::from_slice(&[part])));
        }
    }
    let e = Expression::new(OP, x.dims(), index)?;
    let shown = if e.is_whole(x.dims()) && e.list.is_some() { x.clone() } else { view(OP, x, e.region())? };
    match e.list {
        None => Ok(shown),
        Some(list) => {
            gather_at(OP, &permuted(&shown, list.order.iter().copied())?, list.rows, &list.positions)
        }
    }
}
