//! The schedule of a program: its pieces as the items of one sequence, between which small values need no arrays.

use rustc_hash::{FxHashMap, FxHashSet};

use super::parts::{Applied, Id, Made, Memory, Origin, Piece, Schedule, Step, Value};
use crate::array::Layout;
use crate::dtype::DType;
use crate::graph::{Loops, computed};
use crate::kernel::copy::{IndexMap, Moves};
use crate::kernel::matmul;
use crate::kernel::reduce::{self, dot};
use crate::kernel::sequence::{Arrays, Item, Kernel, Kind, Out, Part, SMALL, Sequence, Source};
use crate::kernel::softmax;
use crate::shape;

/// A program whose items together write fewer bytes is short, if all of them are clusters and scalar programs.
const SHORT: usize = 16 << 10;

impl Schedule {
    /// The schedule of these pieces.
    pub fn new(values: &[Value], pieces: Vec<Piece>, outputs: &[Id]) -> Schedule {
        let whole = |id: &Id| values[*id as usize].whole(*id);
        let outputs: FxHashSet<Id> = outputs.iter().map(whole).collect();
        let mut sources: FxHashMap<Id, Source> = FxHashMap::default();
        let (mut reads, mut results, mut items, mut made) = (vec![], vec![], vec![], vec![]);
        let mut count = 0;
        for Piece { part, ins, made: own } in pieces {
            let operand = |id: Id| {
                let (whole, start) = Memory(values).whole(id);
                let source = sources.entry(whole).or_insert_with(|| {
                    reads.push(whole);
                    Source::Read(reads.len() - 1)
                });
                (*source, start)
            };
            let ins = ins.into_iter().map(operand).collect();
            let mut outs = vec![];
            for &id in &own.outs {
                sources.insert(id, Source::Made(count));
                count += 1;
                let is_result = outputs.contains(&id);
                results.extend(is_result.then_some(id));
                let Value { dtype, dims, strides, .. } = &values[id as usize];
                let strides = (!shape::are_contiguous(dims, strides)).then(|| strides.clone());
                outs.push(Out { dtype: *dtype, dims: dims.clone(), strides, is_result });
            }
            items.push(Item { part, ins, outs });
            made.push(own);
        }
        let sequence = Sequence::new(reads.len(), items);
        Schedule { sequence, reads, results, items: made }
    }

    /// Whether a run takes so little time that nobody need know that it runs.
    pub fn is_short(&self) -> bool {
        let bytes = |part: &Part| match part {
            Part::Cluster(cluster) => cluster.bytes(),
            Part::Scalars(program) => program.bytes(),
            Part::Kernel(_) | Part::Arrays(_) => SHORT,
        };
        self.sequence.parts().map(bytes).sum::<usize>() < SHORT
    }
}

/// Whether what a step reads and makes is small, but for what a caller gives.
fn is_small(values: &[Value], step: &Step) -> bool {
    let fits = |id: &Id| (1..=SMALL).contains(&values[*id as usize].bytes());
    let is_dense = |id: &Id| values[*id as usize].laid_out().1.dense_order().is_some();
    let is_input = |id: &Id| !matches!(values[values[*id as usize].whole(*id) as usize].origin, Origin::Made);
    !step.is_in_order()
        && step.outs.iter().all(|id| fits(id) && is_dense(id))
        && step.ins.iter().all(|id| fits(id) || is_input(id) && values[*id as usize].bytes() > 0)
}

/// A step that runs alone.
pub(super) fn alone(values: &[Value], step: Step) -> Piece {
    let (part, ops) = (part(values, &step), [Applied::of(&step)].into_iter().collect());
    Piece { part, ins: step.ins.into_vec(), made: Made { outs: step.outs, ops } }
}

/// What computes a step: a kernel if it is small and has one, else its op.
fn part(values: &[Value], step: &Step) -> Part {
    if is_small(values, step)
        && let Some(kernel) = kernel(values, step)
    {
        return Part::Kernel(kernel);
    }
    let (op, batch_ndim) = (step.op.clone(), step.batch_ndim);
    Part::Arrays(Arrays {
        name: op.name(),
        compute: Box::new(move |ins| Ok(computed(&*op, ins, batch_ndim)?.into_iter().collect())),
        ins: step.ins.iter().map(|&id| values[id as usize].laid_out().into()).collect(),
    })
}

/// The kernel that computes the one result of a step.
fn kernel(values: &[Value], step: &Step) -> Option<Box<dyn Kernel>> {
    let &[out] = &step.outs[..] else { return None };
    let loops = step.lowered(values)?;
    // These lay their results out as they have to be.
    let (out, is_laid_out) =
        (values[out as usize].laid_out(), matches!(loops, Loops::Fold(..) | Loops::Moves(_)));
    kernel_for(values, &step.ins, &step.outs, |ins| match (loops, ins) {
        (Loops::Fold(table, axes, _), [x]) => reduce::kernel(table, x, &axes, &out.1),
        (Loops::Moves(map), ins) => moves(&map, ins, &out).map(|moves| Box::new(moves) as _),
        (Loops::Product, ins) => matmul::kernel(ins, step.batch_ndim),
        (Loops::Dot, ins) => dot::kernel(ins),
        (Loops::Rows(formula), ins) => softmax::kernel(formula, ins),
        (Loops::Kernel(template), ins) => template(ins),
        _ => None,
    })
    .filter(|_| is_laid_out || out.1.is_contiguous())
}

/// The kernel that is made for these operands, if it makes these results.
pub(super) fn kernel_for(
    values: &[Value],
    ins: &[Id],
    outs: &[Id],
    made: impl FnOnce(&[(DType, Layout)]) -> Option<Box<dyn Kernel>>,
) -> Option<Box<dyn Kernel>> {
    let ins: Vec<_> = ins.iter().map(|&id| values[id as usize].laid_out()).collect();
    let kernel = if ins.iter().any(|(dtype, _)| dtype.is_half()) { None } else { made(&ins) }?;
    // What a program says of its values, a file may have said.
    let outs = outs.iter().map(|&id| &values[id as usize]);
    let written = outs.map(|out| (out.dtype, shape::len(&out.dims)));
    kernel.writes().into_iter().eq(written).then_some(kernel)
}

/// The moves of elements of one dtype by a map.
fn moves(map: &IndexMap, ins: &[(DType, Layout)], (dtype, out): &(DType, Layout)) -> Option<Moves> {
    let size = dtype.size();
    let is_small = |(of, x): &(DType, Layout)| of == dtype && shape::len(&x.dims) * size <= SMALL;
    if !ins.iter().all(is_small) {
        return None;
    }
    let lens = ins.iter().map(|(_, x)| shape::len(&x.dims));
    let places = map.places(lens).filter(|places| places.len() == shape::len(&out.dims))?;
    // The elements in the order in which they lie in memory.
    let mut elements = vec![None; places.len()];
    for (i, place) in places.into_iter().enumerate() {
        elements[shape::offset(i, &out.dims, &out.strides) as usize] = place.map(|(k, i)| {
            let (_, x) = &ins[k];
            (k, shape::offset(i, &x.dims, &x.strides) * size as isize)
        });
    }
    let reach = ins.iter().map(|x| Kind::from(x.clone()).bytes()).collect();
    Moves::new(*dtype, reach, &elements)
}
