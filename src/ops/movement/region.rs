//! Regions of an array, as layouts: [`views`] reads them without a copy, and [`place`] writes tensors into
//! regions of a larger tensor. Each is the transpose of the other. Slicing, splitting, joining, padding and
//! diagonals are made of them.

use smallvec::{SmallVec, smallvec};

use crate::array::{Array, Layout};
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply,
    apply_all, only,
};
use crate::kernel::broadcast::{dense_order, inverse};
use crate::kernel::copy::{self, IndexMap, Part};
use crate::shape::{Dims, Strides};
use crate::stored::Stored;

/// What a region takes of one axis. Axes after the last listed part are taken whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Stored)]
pub(in crate::ops) enum AxisPart {
    /// One element; the axis is removed.
    At(usize),
    /// `count` elements from `start` on, `step` apart.
    Span { start: usize, step: isize, count: usize },
    /// A new axis of size 1.
    New,
}

impl AxisPart {
    /// An axis of this size, untouched.
    pub fn whole(size: usize) -> AxisPart {
        AxisPart::Span { start: 0, step: 1, count: size }
    }

    pub fn is_whole(self, size: usize) -> bool {
        self == AxisPart::whole(size)
    }
}

pub(in crate::ops) type AxisParts = SmallVec<[AxisPart; 2]>;

/// A region of an array. It contains no element twice.
#[derive(Clone, Debug, Stored)]
pub(in crate::ops) enum Region {
    Box(AxisParts),
    /// The diagonal of two axes, which are removed; it becomes the last axis. The offset counts to the right
    /// of the main diagonal.
    Diagonal {
        axes: (usize, usize),
        offset: i64,
    },
    /// The elements at a layout of the C order, of a contiguous array.
    At(Layout),
}

impl Region {
    /// One span of one axis.
    pub fn span(dims: &[usize], axis: usize, start: usize, count: usize) -> Region {
        let mut parts: AxisParts = dims[..axis].iter().map(|&d| AxisPart::whole(d)).collect();
        parts.push(AxisPart::Span { start, step: 1, count });
        Region::Box(parts)
    }

    /// One element of one axis, which is removed.
    pub fn at(dims: &[usize], axis: usize, i: usize) -> Region {
        let mut parts: AxisParts = dims[..axis].iter().map(|&d| AxisPart::whole(d)).collect();
        parts.push(AxisPart::At(i));
        Region::Box(parts)
    }

    /// The region of an array of this layout; its first `batch_ndim` axes are hidden and stay. None if it is of other axes.
    pub fn of(&self, whole: &Layout, batch_ndim: usize) -> Option<Layout> {
        if let Region::At(layout) = self {
            let is_layout = layout.dims.len() == layout.strides.len();
            return is_layout.then(|| layout.under(&whole.dims, batch_ndim));
        }
        let mut offset = whole.offset;
        let mut dims: Dims = whole.dims[..batch_ndim].into();
        let mut strides: Strides = whole.strides[..batch_ndim].into();
        let mut axes =
            whole.dims[batch_ndim..].iter().copied().zip(whole.strides[batch_ndim..].iter().copied());
        match self {
            Region::Box(parts) => {
                for part in parts {
                    if *part == AxisPart::New {
                        // The step over the axis that follows, which is what PyTorch gives it.
                        dims.push(1);
                        strides.push(
                            axes.clone().next().map_or(1, |(d, stride)| (d as isize).wrapping_mul(stride)),
                        );
                        continue;
                    }
                    let (_, stride) = axes.next()?;
                    // Whoever reads the elements looks whether they are there.
                    let step_to = |i: usize| (i as isize).wrapping_mul(stride);
                    match *part {
                        AxisPart::At(i) => offset = offset.wrapping_add(step_to(i)),
                        AxisPart::Span { start, step, count } => {
                            if count > 0 {
                                offset = offset.wrapping_add(step_to(start));
                            }
                            dims.push(count);
                            strides.push(stride.wrapping_mul(step));
                        }
                        AxisPart::New => {}
                    }
                }
                let (d, s): (Dims, Strides) = axes.unzip();
                dims.extend(d);
                strides.extend(s);
            }
            Region::Diagonal { axes: (a, b), offset: k } => {
                let all: SmallVec<[(usize, isize); 4]> = axes.collect();
                let (first, second) = (*all.get(*a)?, *all.get(*b)?);
                for (_, &(d, s)) in all.iter().enumerate().filter(|(i, _)| i != a && i != b) {
                    dims.push(d);
                    strides.push(s);
                }
                let (count, row, column) = diagonal_of(first.0, second.0, *k);
                if count > 0 {
                    offset += row as isize * first.1 + column as isize * second.1;
                }
                dims.push(count);
                strides.push(first.1.wrapping_add(second.1));
            }
            Region::At(_) => unreachable!("answered above"),
        }
        Some(Layout { dims, strides, offset })
    }
}

/// Why a region that is applied has a layout.
const IS_OF: &str = "the region is of an array with these axes";

/// How many elements a diagonal has, and the row and column of the first.
fn diagonal_of(rows: usize, columns: usize, offset: i64) -> (usize, usize, usize) {
    let shift = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    let (row, column) = if offset < 0 { (shift, 0) } else { (0, shift) };
    (rows.saturating_sub(row).min(columns.saturating_sub(column)), row, column)
}

/// Regions of one tensor, each an output; they do not overlap.
#[derive(Clone, Stored)]
#[stored(op)]
struct Views {
    name: &'static str,
    regions: SmallVec<[Region; 1]>,
}

impl Op for Views {
    fn name(&self) -> &'static str {
        self.name
    }

    fn takes_half(&self) -> bool {
        true
    }

    fn is_view(&self) -> bool {
        true
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        let [region] = &self.regions[..] else { return None };
        Some(Loops::Moves(IndexMap::of(region.of(&Layout::contiguous(ins.dims.first()?), ins.batch_ndim)?)))
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        ins.each::<1>()?;
        let whole = Layout::contiguous(ins.dims[0]);
        let one = |r: &Region| Loops::Moves(IndexMap::of(r.of(&whole, ins.batch_ndim)?)).makes(ins);
        self.regions.iter().map(|r| one(r)?.pop()).collect()
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let packs = self.regions.iter().any(|r| matches!(r, Region::At(_)));
        let x = if packs { ins[0].contiguous()? } else { ins[0].clone() };
        let whole = x.layout();
        Ok(self.regions.iter().map(|r| x.at(&r.of(&whole, batch_ndim).expect(IS_OF))).collect())
    }

    fn carries_integers(&self) -> u64 {
        1
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (regions, parts): (_, SmallVec<[&Tensor; 4]>) =
            self.regions.iter().zip(g).filter_map(|(r, g)| Some((r.clone(), g.as_ref()?))).unzip();
        let dims = s.dims(0).into();
        Ok(smallvec![Some(apply(Embed { name: self.name, dims, regions, fill: None }, &parts)?)])
    }

    fn jvp(&self, t: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        let t = only(t);
        Ok(apply_all(self.clone(), &[t])?.into_iter().map(Some).collect())
    }
}

/// Tensors written into a larger one, each at its region. The regions do not overlap.
#[derive(Clone, Stored)]
#[stored(op)]
struct Embed {
    name: &'static str,
    dims: Dims,
    regions: SmallVec<[Region; 1]>,
    /// The 0-d value of the elements outside of the regions; None for zero.
    fill: Option<Array>,
}

impl Embed {
    /// The shape of the result, with the hidden axes of its inputs.
    fn all_dims<'a>(&self, ins: impl Iterator<Item = &'a [usize]> + Clone, batch_ndim: usize) -> Dims {
        (0..batch_ndim).map(|a| hidden_size(ins.clone(), a)).chain(self.dims.iter().copied()).collect()
    }

    /// From where the elements come that are not filled in.
    fn map(&self, ins: &Operands<'_>) -> Option<IndexMap> {
        if ins.dims.len() != self.regions.len() {
            return None;
        }
        let dims = self.all_dims(ins.dims.iter().copied(), ins.batch_ndim);
        let whole = Layout::contiguous(&dims);
        let part = |(operand, (region, x)): (usize, (&Region, &&[usize]))| {
            let to = region.of(&whole, ins.batch_ndim)?;
            let from = Layout::contiguous(x).broadcast(&to.dims, ins.batch_ndim)?;
            Some(Part { operand, from, to })
        };
        let parts = self.regions.iter().zip(ins.dims).enumerate().map(part).collect::<Option<_>>()?;
        Some(IndexMap { dims, parts })
    }

    /// The order of axes in which all parts lie in memory, if it is not C order. The result lies so too.
    fn order(&self, ins: &[&Array], dims: &[usize]) -> Option<Dims> {
        let order = dense_order(ins[0])?;
        let lies_so = |x: &&Array| x.rank() == order.len() && x.permute(&order).is_contiguous();
        let keeps_axes = |region: &Region| matches!(region, Region::Box(parts) if parts.iter().all(|part| matches!(part, AxisPart::Span { .. })));
        let fits =
            order.len() == dims.len() && ins.iter().all(lies_so) && self.regions.iter().all(keeps_axes);
        fits.then_some(order)
    }
}

impl Op for Embed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn takes_half(&self) -> bool {
        true
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        if self.fill.is_none() { self.map(ins).map(Loops::Moves) } else { None }
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let fits = self.fill.as_ref().is_none_or(|x| x.rank() == 0 && Some(&x.dtype()) == ins.dtypes.first());
        Loops::Moves(self.map(ins).filter(|_| fits)?).makes(ins)
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let dims = self.all_dims(ins.iter().map(|x| x.dims()), batch_ndim);
        let parts = |whole: &Layout| -> SmallVec<[(Layout, Array); 4]> {
            let part = |(x, region): (&&Array, &Region)| {
                let to = region.of(whole, batch_ndim).expect(IS_OF);
                let x = x.expand(&to.dims, batch_ndim);
                (to, x)
            };
            ins.iter().zip(&self.regions).map(part).collect()
        };
        let assemble = |dims: &[usize], parts: &[(Layout, Array)]| {
            copy::assemble(self.name, ins[0].dtype(), dims, parts, self.fill.as_ref())
        };
        let Some(order) = self.order(ins, &dims) else {
            return Ok([assemble(&dims, &parts(&Layout::contiguous(&dims)))?].into());
        };
        // The axes of all are taken in the order of memory, and those of the result back.
        let (laid, back): (Dims, Dims) = (order.iter().map(|&a| dims[a]).collect(), inverse(&order));
        let mut parts = parts(&Layout::contiguous(&laid).permute(&back));
        for (to, x) in &mut parts {
            (*to, *x) = (to.permute(&order), x.permute(&order));
        }
        Ok([assemble(&laid, &parts)?.permute(&back)].into())
    }

    fn carries_integers(&self) -> u64 {
        u64::MAX
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let needed = self.regions.iter().enumerate().filter(|(i, _)| s.needs(*i));
        let mut parts =
            apply_all(Views { name: self.name, regions: needed.map(|(_, r)| r.clone()).collect() }, &[g])?
                .into_iter();
        Ok((0..self.regions.len()).map(|i| if s.needs(i) { parts.next() } else { None }).collect())
    }

    fn jvp(&self, t: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        let (regions, parts): (_, SmallVec<[&Tensor; 4]>) =
            self.regions.iter().zip(t).filter_map(|(r, t)| Some((r.clone(), t.as_ref()?))).unzip();
        Ok(smallvec![Some(apply(Embed { regions, fill: None, ..self.clone() }, &parts)?)])
    }
}

/// The size of a hidden axis of these shapes: that of any that has it.
pub(in crate::ops) fn hidden_size<'a>(mut shapes: impl Iterator<Item = &'a [usize]>, axis: usize) -> usize {
    shapes.find_map(|dims| Some(dims[axis]).filter(|&d| d != 1)).unwrap_or(1)
}

/// Regions of a tensor that do not overlap, without copies. An output that is not used costs nothing.
pub(in crate::ops) fn views(
    name: &'static str,
    x: &Tensor,
    regions: impl IntoIterator<Item = Region>,
) -> Result<Vec<Tensor>> {
    let regions: SmallVec<[Region; 1]> = regions.into_iter().collect();
    if regions.is_empty() {
        return Ok(vec![]);
    }
    Ok(apply_all(Views { name, regions }, &[x])?.into_vec())
}

/// One region of a tensor, without a copy.
pub(in crate::ops) fn view(name: &'static str, x: &Tensor, region: Region) -> Result<Tensor> {
    apply(Views { name, regions: smallvec![region] }, &[x])
}

/// Tensors of one dtype written into a tensor of this shape, each at its region. The other elements are
/// `fill` (0-d, of that dtype) or zero. The regions do not overlap, and there is at least one.
pub(in crate::ops) fn place(
    name: &'static str,
    dims: &[usize],
    parts: &[&Tensor],
    regions: impl IntoIterator<Item = Region>,
    fill: Option<Array>,
) -> Result<Tensor> {
    apply(Embed { name, dims: dims.into(), regions: regions.into_iter().collect(), fill }, parts)
}
