//! Applying ops: every op is computed and recorded here.

use std::sync::Arc;

use smallvec::SmallVec;

use super::compute::{align, computed};
use super::detach_reason::DetachReason;
use super::integers::{OfIntegers, is_tracked_integer};
use super::levels::Levels;
use super::lower::{Loops, Operands};
use super::made::Made;
use super::modes::{self, Flags};
use super::record::{Cotangents, Edge, Grads, Node, Op, Outputs, Saved, Tensor};
use super::saved::{self, SavedArray, SavedList, SavedState};
use super::saves::{NeedsGrad, Saves};
use super::site::Site;
use super::stems::Stems;
use super::stored::Formula;
use super::takers;
use super::traced::{self, Shared};
use super::watch;
use crate::array::Array;
use crate::dtype::{DType, DTypeKind};
use crate::error::Result;
use crate::host;
use crate::kernel::pointwise::row::Pass;
use crate::memory;
use crate::shape::Dims;
use crate::stored::Stored;

/// Applies an op and returns its first output. It is recorded if an input has an edge and the output's dtype can have a
/// gradient (see [`Op::carries_integers`] for integers).
///
/// # Errors
/// Whatever the op refuses. Nothing is recorded then.
#[inline]
pub fn apply<O: Op>(op: O, ins: &[&Tensor]) -> Result<Tensor> {
    let modes = modes::flags();
    if modes.has(Flags::TRACING.and(Flags::TAKERS)) {
        return Ok(special(Arc::new(op), ins, modes)?.swap_remove(0));
    }
    let (outs, levels) = forward(&op, ins, modes)?;
    let modes = of_result(&op, modes);
    first(boxed(op, ins, modes), ins, outs, levels, modes)
}

/// Applies an op as [`apply`] does and returns all its outputs.
///
/// # Errors
/// Whatever the op refuses. Nothing is recorded then.
#[inline]
pub fn apply_all<O: Op>(op: O, ins: &[&Tensor]) -> Result<SmallVec<[Tensor; 1]>> {
    let modes = modes::flags();
    if modes.has(Flags::TRACING.and(Flags::TAKERS)) {
        return special(Arc::new(op), ins, modes);
    }
    let (outs, levels) = forward(&op, ins, modes)?;
    let modes = of_result(&op, modes);
    all(boxed(op, ins, modes), ins, outs, levels, modes)
}

/// Applies an op of `N` outputs as [`apply`] does and returns these.
///
/// # Errors
/// Whatever the op refuses. Nothing is recorded then.
///
/// # Panics
/// If the op has fewer outputs.
pub fn apply_each<O: Op, const N: usize>(op: O, ins: &[&Tensor]) -> Result<[Tensor; N]> {
    let mut outs = apply_all(op, ins)?.into_iter();
    Ok(std::array::from_fn(|_| outs.next().expect("the op has so many outputs")))
}

/// Applies an op while a program is traced, or for some examples of a batch alone. A view computes nothing, so it stays
/// one of its operand.
#[cold]
fn special(op: Arc<dyn Op>, ins: &[&Tensor], modes: Flags) -> Result<SmallVec<[Tensor; 1]>> {
    if !modes.has(Flags::TAKERS) || op.is_view() {
        return traced(op, ins, modes);
    }
    let taken = takers::operands(ins)?;
    traced(op, &taken.iter().collect::<SmallVec<[&Tensor; 4]>>(), modes)
}

/// Applies an op, as one that is traced where a program is.
#[cold]
fn traced(op: Arc<dyn Op>, ins: &[&Tensor], modes: Flags) -> Result<SmallVec<[Tensor; 1]>> {
    let (outs, levels) = match modes::trace() {
        Some(trace) => traced::forward(&trace, &op, ins)?,
        None => forward(&*op, ins, modes)?,
    };
    let modes = of_result(&*op, modes);
    all(boxed(Shared(op), ins, modes), ins, outs, levels, modes)
}

/// Applies an op without outputs, which refuses some of the numbers of its input. A program that this thread traces applies
/// it in each run.
///
/// # Errors
/// Those of the op.
#[doc(hidden)]
pub fn checked<O: Op>(op: O, x: &Tensor) -> Result<()> {
    let x = &takers::operand(x)?;
    computed(&op, &[x.array.unsealed()], x.levels.len())?;
    if x.array.is_sealed()
        && let Some(trace) = modes::trace()
    {
        trace.effect(Arc::new(op), &[&x.array]);
    }
    Ok(())
}

/// What computes a gradient in one pass over memory and has no rule of its own.
#[doc(hidden)]
pub trait Kernel: Send + Sync + 'static {
    fn name(&self) -> &'static str;

    /// See [`Op::forward`].
    ///
    /// # Errors
    /// As [`Op::forward`].
    fn compute(&self, ins: &[&Array], batch_ndim: usize) -> Result<Array>;

    /// See [`Op::lower`].
    fn lower(&self, _ins: &Operands<'_>) -> Option<Loops> {
        None
    }

    /// See [`Op::makes`].
    fn makes(&self, _ins: &Operands<'_>) -> Option<Made> {
        None
    }
}

/// Applies a kernel. None if an operand has an edge, because the result would have to be recorded.
#[doc(hidden)]
pub fn unrecorded(kernel: impl Kernel, ins: &[&Tensor]) -> Option<Result<Tensor>> {
    without_rule(Unrecorded(kernel), ins)
}

/// [`unrecorded`] for a formula that is applied element by element.
#[doc(hidden)]
pub fn unrecorded_pass(name: &'static str, ins: &[&Tensor], pass: Pass) -> Option<Result<Tensor>> {
    unrecorded(Formula { name, key: name, pass }, ins)
}

/// [`unrecorded_pass`] for a formula that files know by another name than the op's.
#[doc(hidden)]
pub fn unrecorded_pass_of(
    (name, key): (&'static str, &'static str),
    ins: &[&Tensor],
    pass: Pass,
) -> Option<Result<Tensor>> {
    unrecorded(Formula { name, key, pass }, ins)
}

impl Kernel for Formula {
    fn name(&self) -> &'static str {
        self.name
    }

    fn compute(&self, ins: &[&Array], batch_ndim: usize) -> Result<Array> {
        self.pass.apply(self.name, ins, batch_ndim)
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        self.pass.row(ins.dtypes).map(Loops::Pointwise)
    }
}

super::stored::stored_op!("Unrecorded(Formula)" => Unrecorded<Formula>);

fn without_rule<O: Op>(op: O, ins: &[&Tensor]) -> Option<Result<Tensor>> {
    if ins.iter().any(|t| t.edge.is_some()) {
        return None;
    }
    let modes = modes::flags();
    if modes.has(Flags::TRACING.and(Flags::TAKERS)) {
        return Some(special(Arc::new(op), ins, modes).map(|mut outs| outs.swap_remove(0)));
    }
    let made = forward(&op, ins, modes);
    Some(made.and_then(|(outs, levels)| first(None, ins, outs, levels, modes)))
}

/// A kernel as an op, which has no rules.
#[derive(Stored)]
#[doc(hidden)]
pub struct Unrecorded<K>(K);

impl<K: Kernel> Op for Unrecorded<K> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([self.0.compute(ins, batch_ndim)?].into())
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        self.0.lower(ins)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        self.0.makes(ins)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no node")
    }
}

/// Records an op that has been computed, if it needs a node: for ops that change levels, which [`apply`] cannot
/// compute.
#[doc(hidden)]
pub fn recorded<O: Op>(
    op: O,
    ins: &[&Tensor],
    outs: Outputs,
    levels: Levels,
) -> Result<SmallVec<[Tensor; 1]>> {
    let modes = modes::flags();
    all(boxed(op, ins, modes), ins, outs, levels, modes)
}

/// The op in a box if it will be recorded. The functions that follow are not generic over the op, so that they are
/// compiled once. A host gives operands without edges while nothing is recorded; in Rust the mode decides.
#[inline]
fn boxed<O: Op>(op: O, ins: &[&Tensor], modes: Flags) -> Option<Box<dyn Op>> {
    let records = host::is_present() || !modes.has(Flags::NOT_RECORDING);
    if records && ins.iter().any(|t| t.edge.is_some()) { Some(Box::new(op)) } else { None }
}

fn first(
    op: Option<Box<dyn Op>>,
    ins: &[&Tensor],
    outs: Outputs,
    levels: Levels,
    modes: Flags,
) -> Result<Tensor> {
    let array = match outs {
        Outputs::One(array) => array,
        several => return Ok(all(op, ins, several, levels, modes)?.swap_remove(0)),
    };
    let op = match op {
        Some(op) if ins.iter().any(is_tracked_integer) => {
            return Ok(with_integers(op, ins, [array].into(), levels, modes)?.swap_remove(0));
        }
        Some(op) if array.dtype().is_differentiable() || op.gives_integers_history() => op,
        op => {
            let detach_reason = why_untracked(op.is_some(), ins, array.dtype(), modes);
            return Ok(Tensor { array, edge: None, levels, detach_reason });
        }
    };
    let node = record(op, ins, std::slice::from_ref(&array), &levels, modes)?;
    Ok(Tensor { array, edge: Some(Edge { node, out: 0 }), levels, detach_reason: DetachReason::default() })
}

fn all(
    op: Option<Box<dyn Op>>,
    ins: &[&Tensor],
    outs: Outputs,
    levels: Levels,
    modes: Flags,
) -> Result<SmallVec<[Tensor; 1]>> {
    match op {
        Some(op) if ins.iter().any(is_tracked_integer) => with_integers(op, ins, outs, levels, modes),
        Some(op) if op.gives_integers_history() => results(Some(op), ins, outs, levels, modes, |_, _| true),
        op => results(op, ins, outs, levels, modes, |_, dtype| dtype.is_differentiable()),
    }
}

/// The results of an op with tracked integers among the operands. An op whose rule holds for integers carries their
/// histories on. To every other op they are constants, unless it makes other integers of them and is no step: then its rule
/// of integers is recorded.
#[cold]
fn with_integers(
    op: Box<dyn Op>,
    ins: &[&Tensor],
    outs: Outputs,
    levels: Levels,
    modes: Flags,
) -> Result<SmallVec<[Tensor; 1]>> {
    let carried = op.carries_integers();
    let stays = |i: usize, t: &Tensor| t.dtype().is_differentiable() || carried >> i.min(63) & 1 == 1;
    let kept: SmallVec<[Tensor; 4]> =
        ins.iter().enumerate().map(|(i, t)| if stays(i, t) { (*t).clone() } else { t.detach() }).collect();
    let kept: SmallVec<[&Tensor; 4]> = kept.iter().collect();
    if kept.iter().any(is_tracked_integer) {
        return results(Some(op), &kept, outs, levels, modes, |_, _| true);
    }
    if kept.iter().any(|t| t.edge.is_some()) {
        return results(Some(op), &kept, outs, levels, modes, |_, dtype| dtype.is_differentiable());
    }
    if op.is_flat() {
        return results(None, &kept, outs, levels, modes, |_, _| false);
    }
    let op = Box::new(OfIntegers(op));
    results(Some(op), ins, outs, levels, modes, |i, dtype| i == 0 && dtype.kind() == DTypeKind::Int)
}

/// The results of an op that is recorded if one of them has a history: `has_history` says it, given the place of a result
/// and its dtype.
fn results(
    op: Option<Box<dyn Op>>,
    ins: &[&Tensor],
    outs: Outputs,
    levels: Levels,
    modes: Flags,
    has_history: impl Fn(usize, DType) -> bool,
) -> Result<SmallVec<[Tensor; 1]>> {
    let is_tracked = op.is_some();
    let node = op
        .filter(|_| outs.iter().enumerate().any(|(i, o)| has_history(i, o.dtype())))
        .map(|op| record(op, ins, &outs, &levels, modes))
        .transpose()?;
    let edge = |i: usize, array: &Array| {
        let node = node.as_ref().filter(|_| has_history(i, array.dtype()))?;
        Some(Edge { node: node.clone(), out: i as u32 })
    };
    let tensor = |(i, array): (usize, Array)| {
        let edge = edge(i, &array);
        let detach_reason = match edge {
            Some(_) => DetachReason::default(),
            None => why_untracked(is_tracked, ins, array.dtype(), modes),
        };
        Tensor { array, edge, levels: levels.clone(), detach_reason }
    };
    Ok(outs.into_iter().enumerate().map(tensor).collect())
}

/// The modes in which the result of an op is made: what has no derivative is no part of what a function keeps of its
/// arguments.
#[inline]
fn of_result<O: Op + ?Sized>(op: &O, modes: Flags) -> Flags {
    if op.is_flat() { modes.without(Flags::HOST_CALL) } else { modes }
}

/// Why a result is not tracked: its own dtype where an operand is tracked or was cut off, else what cut an operand off.
#[inline]
fn why_untracked(is_tracked: bool, ins: &[&Tensor], dtype: DType, modes: Flags) -> DetachReason {
    let was_cut_off = |t: &&Tensor| t.detach_reason.is_known();
    if !is_tracked && !modes.has(Flags::HOST_CALL) && !ins.iter().any(was_cut_off) {
        return DetachReason::default();
    }
    let known = Tensor::detach_reason_of(ins).with_stems(Stems::default());
    let reason = if !is_tracked && !known.is_known() {
        known
    } else if !dtype.is_differentiable() {
        DetachReason::by_dtype(Site::current())
    } else if known.lacks_site() {
        DetachReason::by_function(Site::current())
    } else {
        known
    };
    if !is_tracked && modes.has(Flags::HOST_CALL) && dtype.is_differentiable() {
        return reason.with_stems(stems_of(ins));
    }
    reason
}

/// The arguments of the running function that these values were computed from.
fn stems_of(ins: &[&Tensor]) -> Stems {
    modes::with(|m| match &m.host_call {
        Some(call) => ins.iter().fold(Stems::default(), |all, t| call.union(all, t.detach_reason.stems())),
        None => Stems::default(),
    })
}

fn forward(op: &dyn Op, ins: &[&Tensor], modes: Flags) -> Result<(Outputs, Levels)> {
    if ins.iter().any(|t| !t.levels.is_empty()) {
        return forward_batched(op, ins, modes);
    }
    let outs = match ins {
        [x] => outputs(op, &[&x.array], 0, modes),
        [x, y] => outputs(op, &[&x.array, &y.array], 0, modes),
        _ => outputs(op, &ins.iter().map(|t| &t.array).collect::<SmallVec<[&Array; 4]>>(), 0, modes),
    };
    Ok((outs?, Levels::default()))
}

/// What an op computes, watched where this thread watches.
#[inline(always)]
fn outputs(op: &dyn Op, ins: &[&Array], batch_ndim: usize, modes: Flags) -> Result<Outputs> {
    if modes.has(Flags::WATCHING) {
        watch::watched(op, ins, batch_ndim)
    } else {
        computed(op, ins, batch_ndim)
    }
}

fn record(
    op: Box<dyn Op>,
    ins: &[&Tensor],
    outs: &[Array],
    levels: &Levels,
    modes: Flags,
) -> Result<Arc<Node>> {
    memory::check()?;
    let mut needs = 0;
    for (i, t) in ins.iter().enumerate() {
        needs |= u64::from(t.edge.is_some()) << i.min(63);
    }
    let saves = op.saves(NeedsGrad(needs));
    let is_packed = modes.has(Flags::PACKING);
    let mut state = if is_packed { Some(packed(ins, outs, levels, saves)?) } else { None };
    let node = Node::of_op(op, ins, outs, levels, Site::current(), |saved| match (state.take(), saved) {
        (Some(packed), saved) => *saved = packed,
        (None, SavedState::Live(list)) => save(list, saves, ins, outs, levels),
        (None, _) => {}
    });
    if is_packed {
        let observers = modes::with(|m| m.observers.clone());
        observers.iter().try_for_each(|o| o.recorded(&node))?;
    }
    Ok(node)
}

/// Fills the list of what a node saves.
#[inline(always)]
fn save(list: &mut SavedList, saves: Saves, ins: &[&Tensor], outs: &[Array], levels: &Levels) {
    let Saves { inputs, outputs } = saves;
    let named = |mask: u64, i: usize| mask >> i.min(63) & 1 == 1;
    if inputs | outputs != 0 {
        for (i, t) in ins.iter().enumerate() {
            list.push(named(inputs, i).then(|| SavedArray::new(t.array.clone(), &t.levels)));
        }
    }
    if outputs != 0 {
        for (i, o) in outs.iter().enumerate() {
            list.push(named(outputs, i).then(|| SavedArray::new(o.clone(), levels)));
        }
    }
}

/// What a new node saves, where this thread packs or observes new nodes.
#[cold]
fn packed(ins: &[&Tensor], outs: &[Array], levels: &Levels, saves: Saves) -> Result<SavedState> {
    let mut list = SavedList::new();
    save(&mut list, saves, ins, outs, levels);
    // A number among the operands is not a tensor of the user's, so it is not packed.
    let number = |i: usize| ins.get(i).is_some_and(|t| t.edge.is_none() && t.array.rank() == 0);
    saved_state(list, number)
}

/// What a node saves, packed where this thread packs. The arrays in slots that `is_plain` names stay as they are.
///
/// # Errors
/// From the packer.
#[doc(hidden)]
pub fn saved_state(list: SavedList, is_plain: impl Fn(usize) -> bool) -> Result<SavedState> {
    match modes::with(|m| m.packer.clone()).filter(|_| !list.is_empty()) {
        Some(packer) => saved::packed(&list, &*packer, is_plain),
        None => Ok(SavedState::Live(list)),
    }
}

/// Computes an op on operands with levels. Each operand gets the hidden axes of all levels, of size 1 where it lacks a
/// level.
#[cold]
fn forward_batched(op: &dyn Op, ins: &[&Tensor], modes: Flags) -> Result<(Outputs, Levels)> {
    let levels = ins.iter().fold(Levels::default(), |all, t| all.union(&t.levels));
    let aligned: SmallVec<[Array; 4]> = ins.iter().map(|t| align(t, &levels)).collect();
    let arrays: SmallVec<[&Array; 4]> = aligned.iter().collect();
    let mut outs = outputs(op, &arrays, levels.len(), modes)?;
    for out in outs.iter_mut() {
        // Where an output is the same for the whole batch, the op may leave the axis at 1.
        let hidden = levels.as_slice().iter().map(|l| l.batch_size);
        let dims: Dims = hidden.chain(out.dims()[levels.len()..].iter().copied()).collect();
        *out = out.expand(&dims, levels.len());
    }
    Ok((outs, levels))
}
