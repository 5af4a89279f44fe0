//! How pieces of work become sequences, between whose items values need no arrays.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::parts::{Applied, Gathered, Group, Id, Made, Memory, Origin, Piece, Step, Value, Work};
use crate::array::Layout;
use crate::dtype::DType;
use crate::graph::{Loops, computed};
use crate::kernel::copy::{IndexMap, Moves};
use crate::kernel::matmul;
use crate::kernel::reduce::{self, dot};
use crate::kernel::sequence::{Arrays, Item, Kernel, Kind, Loop, Out, Part, Sequence, Source};
use crate::kernel::softmax;
use crate::shape;

/// A program whose clusters together write fewer bytes is short.
pub(super) const SHORT: usize = 16 << 10;

/// The most bytes of a value that lies in the memory of a sequence.
const SMALL: usize = 16 << 10;

/// How much a work does, in bytes that it writes.
pub(super) fn weight(work: &Work) -> usize {
    match work {
        Work::Op(_) => SHORT,
        Work::Sequence(group) => group
            .sequence
            .parts()
            .map(|part| match part {
                Part::Cluster(cluster) => cluster.bytes(),
                _ => SHORT,
            })
            .sum(),
    }
}

/// A piece that can be an item of a sequence.
struct Ready {
    part: Part,
    /// The values that have the memory of the operands, and how many bytes after their beginning those begin.
    ins: Vec<(Id, isize)>,
    made: Made,
}

/// The pieces of a program as works. Small ones that follow each other become a sequence.
pub(super) fn sequenced(values: &[Value], pieces: Vec<Piece>, outputs: &[Id]) -> Vec<Work> {
    let whole = |id: Id| values[id as usize].whole(id);
    // By value: the number of the last piece that reads it.
    let mut last: FxHashMap<Id, usize> = FxHashMap::default();
    for (i, piece) in pieces.iter().enumerate() {
        let (reads, outs): (&[Id], &[Id]) = match piece {
            Piece::Op(step) => (&step.ins, &step.outs),
            Piece::Together(_, of) => (&of.reads, &of.outs),
        };
        for &id in reads.iter().chain(outs) {
            last.insert(whole(id), i);
        }
    }
    for &id in outputs {
        last.insert(whole(id), usize::MAX);
    }
    let mut work = vec![];
    let mut run: Vec<(Ready, Option<Step>)> = vec![];
    for (i, piece) in pieces.into_iter().enumerate() {
        let is_small = match &piece {
            Piece::Op(step) => is_small_step(values, step),
            Piece::Together(_, of) => of.outs.iter().all(|&id| values[id as usize].bytes() <= SMALL),
        };
        if !is_small {
            end_run(values, &mut run, i, &last, &mut work);
        }
        match piece {
            Piece::Op(step) if !is_small => work.push(Work::Op(step)),
            Piece::Op(step) => run.push((ready_step(values, &step), Some(step))),
            Piece::Together(part, Gathered { reads, outs, ops }) => {
                let ins = reads.into_iter().map(|id| Memory(values).whole(id)).collect();
                run.push((Ready { part, ins, made: Made { outs: outs.into(), ops: ops.into() } }, None));
            }
        }
        if !is_small {
            end_run(values, &mut run, i + 1, &last, &mut work);
        }
    }
    end_run(values, &mut run, usize::MAX, &last, &mut work);
    mark_last(values, &mut work, outputs);
    work
}

/// Whether a step can be an item of a sequence, and what it makes is small.
fn is_small_step(values: &[Value], step: &Step) -> bool {
    let is_dense = |id: &Id| {
        let value = &values[*id as usize];
        matches!(value.origin, Origin::Made) && value.laid_out().1.dense_order().is_some()
    };
    let fits = |id: &Id| (1..=SMALL).contains(&values[*id as usize].bytes());
    let is_input = |id: &Id| !matches!(values[values[*id as usize].whole(*id) as usize].origin, Origin::Made);
    !step.is_in_order()
        && !step.op.decides()
        && step.outs.iter().all(|id| fits(id) && is_dense(id))
        && step.ins.iter().all(|id| fits(id) || is_input(id) && values[*id as usize].bytes() > 0)
}

fn ready_step(values: &[Value], step: &Step) -> Ready {
    let part = match kernel(values, step) {
        Some(kernel) => Part::Kernel(kernel),
        None => {
            let (op, batch_ndim) = (step.op.clone(), step.batch_ndim);
            Part::Arrays(Arrays {
                name: op.name(),
                compute: Box::new(move |ins| Ok(computed(&*op, ins, batch_ndim)?.into_iter().collect())),
                ins: step.ins.iter().map(|&id| values[id as usize].laid_out().into()).collect(),
            })
        }
    };
    let made = Made { outs: step.outs.clone(), ops: [Applied::of(step)].into_iter().collect() };
    Ready { part, ins: step.ins.iter().map(|&id| Memory(values).whole(id)).collect(), made }
}

/// The kernel that computes the one result of a step.
fn kernel(values: &[Value], step: &Step) -> Option<Box<dyn Kernel>> {
    let &[out] = &step.outs[..] else { return None };
    let loops = step.lowered(values)?;
    // These lay their results out as they have to be.
    let (out, is_laid_out) =
        (values[out as usize].laid_out(), matches!(loops, Loops::Fold(..) | Loops::Moves(_)));
    kernel_for(values, &step.ins, &step.outs, |ins| match (loops, ins) {
        (Loops::Fold(table, axes), [x]) => reduce::kernel(table, x, &axes, &out.1),
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

/// Makes a work of the pieces so far, which end before piece `end`.
fn end_run(
    values: &[Value],
    run: &mut Vec<(Ready, Option<Step>)>,
    end: usize,
    last: &FxHashMap<Id, usize>,
    work: &mut Vec<Work>,
) {
    if let [(Ready { part: Part::Arrays(_), .. }, step)] = &mut run[..] {
        work.extend(step.take().map(Work::Op));
        run.clear();
    }
    if run.is_empty() {
        return;
    }
    let mut sources: FxHashMap<Id, Source> = FxHashMap::default();
    let (mut reads, mut writes, mut items, mut made) = (vec![], vec![], vec![], vec![]);
    let mut count = 0;
    for (Ready { part, ins, made: of }, _) in run.drain(..) {
        let ins = ins.into_iter().map(|(id, start)| {
            let source = *sources.entry(id).or_insert_with(|| {
                reads.push(id);
                Source::Read(reads.len() - 1)
            });
            (source, start)
        });
        let ins = ins.collect();
        let mut outs = vec![];
        for &id in &of.outs {
            let is_result = last[&id] >= end;
            if is_result {
                writes.push(id);
            }
            sources.insert(id, Source::Made(count));
            count += 1;
            let Value { dtype, dims, strides, .. } = &values[id as usize];
            let strides = (!shape::are_contiguous(dims, strides)).then(|| strides.clone());
            outs.push(Out { dtype: *dtype, dims: dims.clone(), strides, is_result });
        }
        items.push(Item { part, ins, outs });
        made.push(of);
    }
    let sequence = Sequence::new(reads.len(), items);
    work.push(Work::Sequence(Group {
        sequence,
        repeated: Loop::default(),
        reads,
        writes,
        last: vec![],
        items: made,
    }));
}

/// Notes the values that each work is the last to read, or that nothing reads.
fn mark_last(values: &[Value], work: &mut [Work], outputs: &[Id]) {
    let whole = |id: &Id| values[*id as usize].whole(*id);
    let mut read: FxHashSet<Id> = outputs.iter().map(whole).collect();
    for w in work.iter_mut().rev() {
        let ins: SmallVec<[Id; 8]> = match w {
            Work::Op(step) => step.ins.iter().map(whole).collect(),
            Work::Sequence(group) => group.reads.iter().copied().collect(),
        };
        let mut last: Vec<Id> = w.outs().iter().copied().filter(|id| !read.contains(id)).collect();
        for id in ins {
            if read.insert(id) && matches!(values[id as usize].origin, Origin::Made) {
                last.push(id);
            }
        }
        match w {
            Work::Op(step) => step.last = last.into(),
            Work::Sequence(group) => group.last = last,
        }
    }
}
