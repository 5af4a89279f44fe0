//! How pieces of work become sequences, between whose items values need no arrays.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::parts::{Gathered, Group, Id, Made, Origin, Piece, Step, Value, Work};
use crate::array::{Array, Layout};
use crate::dtype::DType;
use crate::error::Error;
use crate::graph::computed;
use crate::kernel::copy::Moves;
use crate::kernel::reduce;
use crate::kernel::sequence::{Arrays, Item, Kernel, Out, Part, Sequence, Source};
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
            Piece::Cluster(gathered) => (&gathered.reads, &gathered.outs),
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
            Piece::Cluster(gathered) => {
                !gathered.cluster.is_shared() && gathered.outs.iter().all(|&id| bytes(values, id) <= SMALL)
            }
        };
        if !is_small {
            end_run(values, &mut run, i, &last, &mut work);
        }
        match piece {
            Piece::Op(step) if !is_small => work.push(Work::Op(step)),
            Piece::Op(step) => run.push((ready_step(values, &step), Some(step))),
            Piece::Cluster(gathered) => {
                let Gathered { cluster, reads, outs, ops } = gathered;
                let ins = reads.into_iter().map(|id| (id, 0)).collect();
                let made = Made { outs: outs.into(), ops: ops.into() };
                run.push((Ready { part: Part::Cluster(cluster), ins, made }, None));
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

fn bytes(values: &[Value], id: Id) -> usize {
    let value = &values[id as usize];
    shape::len(&value.dims).saturating_mul(value.dtype.size())
}

/// Whether a step can be an item of a sequence, and what it makes is small.
fn is_small_step(values: &[Value], step: &Step) -> bool {
    let is_dense = |id: &Id| {
        let value = &values[*id as usize];
        let layout = Layout { dims: value.dims.clone(), strides: value.strides.clone(), offset: 0 };
        matches!(value.origin, Origin::Made) && layout.dense_order().is_some()
    };
    let fits = |id: &Id| (1..=SMALL).contains(&bytes(values, *id));
    let is_input = |id: &Id| !matches!(values[values[*id as usize].whole(*id) as usize].origin, Origin::Made);
    !step.is_in_order()
        && !step.op.decides()
        && step.outs.iter().all(|id| fits(id) && is_dense(id))
        && step.ins.iter().all(|id| fits(id) || is_input(id) && bytes(values, *id) > 0)
}

fn ready_step(values: &[Value], step: &Step) -> Ready {
    let place = |&id: &Id| {
        let value = &values[id as usize];
        let start = match value.origin {
            Origin::View { offset, .. } => offset * value.dtype.size() as isize,
            _ => 0,
        };
        (value.whole(id), start)
    };
    let part = match kernel(values, step) {
        Some(kernel) => Part::Kernel(kernel),
        None => {
            let (op, batch_ndim) = (step.op.clone(), step.batch_ndim);
            Part::Arrays(Arrays {
                name: op.name(),
                compute: Box::new(move |ins| Ok(computed(&*op, ins, batch_ndim)?.into_iter().collect())),
                ins: step.ins.iter().map(|&id| values[id as usize].kind()).collect(),
            })
        }
    };
    let made = Made { outs: step.outs.clone(), ops: [(step.op.name(), step.site)].into_iter().collect() };
    Ready { part, ins: step.ins.iter().map(place).collect(), made }
}

/// The kernel that computes the one result of a step.
fn kernel(values: &[Value], step: &Step) -> Option<Box<dyn Kernel>> {
    let of = |id: Id| {
        let Value { dtype, dims, strides, .. } = &values[id as usize];
        (*dtype, Layout { dims: dims.clone(), strides: strides.clone(), offset: 0 })
    };
    let [out] = step.outs[..] else { return None };
    let (ins, out): (Vec<_>, _) = (step.ins.iter().map(|&id| of(id)).collect(), of(out));
    if ins.iter().any(|(dtype, _)| dtype.is_half()) {
        return None;
    }
    if let [x] = &ins[..]
        && let Some((table, axes)) = step.op.fold(&x.1.dims, step.batch_ndim)
    {
        let is_alike = out.0 == table.out.unwrap_or(x.0);
        return is_alike.then(|| reduce::kernel(table, x, &axes, &out.1)).flatten();
    }
    if step.op.moves() {
        return moves(values, step).map(|moves| Box::new(moves) as _);
    }
    step.op.kernel(&ins, &out, step.batch_ndim).filter(|_| out.1.is_contiguous())
}

/// The moves of a step that only moves elements: it is asked where it moves the numbers from 1 on.
fn moves(values: &[Value], step: &Step) -> Option<Moves> {
    let out = &values[step.outs[0] as usize];
    let (mut places, mut reach): (Vec<(usize, isize)>, Vec<_>) = (vec![], vec![]);
    let mut numbers: SmallVec<[Array; 4]> = SmallVec::new();
    for (k, &id) in step.ins.iter().enumerate() {
        let value = &values[id as usize];
        let (n, size) = (shape::len(&value.dims), value.dtype.size());
        if value.dtype != out.dtype || n * size > SMALL {
            return None;
        }
        let own: Vec<f64> = (0..n).map(|i| (places.len() + 1 + i) as f64).collect();
        // The step may take another way where the elements lie in another order, but not to other elements.
        numbers.push(Array::from_slice(&own, &value.dims).ok()?);
        let at = |i: usize| (k, shape::offset(i, &value.dims, &value.strides) * size as isize);
        places.extend((0..n).map(at));
        reach.push(value.kind().bytes());
    }
    // Where a file says what no trace says, an op may find that out by a panic.
    let refs: SmallVec<[&Array; 4]> = numbers.iter().collect();
    let made = Error::catch(|| computed(&*step.op, &refs, step.batch_ndim)).ok()?;
    let made = made.iter().next()?;
    let layout = Layout { dims: out.dims.clone(), strides: out.strides.clone(), offset: 0 };
    if made.dims() != out.dims.as_slice() || made.dtype() != DType::F64 {
        return None;
    }
    // The elements in the order in which they lie in memory.
    let made = made.permute(&layout.dense_order()?).to_vec::<f64>();
    let place = |v: f64| match v {
        0.0 => Some(None),
        _ => places.get((v as usize).checked_sub(1)?).map(|&place| Some(place)),
    };
    let elements = made.into_iter().map(place).collect::<Option<Vec<_>>>()?;
    Moves::new(out.dtype.size(), reach, &elements)
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
    work.push(Work::Sequence(Group { sequence, reads, writes, last: vec![], items: made }));
}

/// Notes the values that each work is the last to read, or that nothing reads.
fn mark_last(values: &[Value], work: &mut [Work], outputs: &[Id]) {
    let whole = |id: &Id| values[*id as usize].whole(*id);
    let mut read: rustc_hash::FxHashSet<Id> = outputs.iter().map(whole).collect();
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
