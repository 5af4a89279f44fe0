//! What programs read: arguments, tensors from outside and gradients. A program is for those of one kind.

use std::sync::Arc;

use pyo3::prelude::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::program::{Compiled, GradInput, Input, Origin, Output};
use crate::array::{Array, Layout};
use crate::bind::hooks::list::HookList;
use crate::bind::python::error::OrRaise;
use crate::bind::value::storage::Place;
use crate::bind::value::var::{Slot, Value, Var};
use crate::graph::{Edge, Tensor, modes};

/// By tensor: the first one that has the same memory.
pub(super) fn same_memory<'a>(tensors: impl Iterator<Item = &'a Var>) -> SmallVec<[usize; 8]> {
    let key = |v: &Var| match &v.lock().value {
        // Nobody shares its memory.
        Value::Own(_) => std::ptr::from_ref(v).addr(),
        Value::Shared(p) => p.place_of_part().key(),
    };
    let keys: SmallVec<[usize; 8]> = tensors.map(key).collect();
    if keys.len() <= FEW {
        return keys.iter().map(|key| keys.iter().position(|k| k == key).expect("it is there")).collect();
    }
    let mut first = FxHashMap::default();
    keys.iter().enumerate().map(|(i, &key)| *first.entry(key).or_insert(i)).collect()
}

/// So many tensors are compared one by one rather than by a table.
pub(super) const FEW: usize = 16;

impl Input {
    /// Whether a value is of the kind that the program reads.
    #[inline]
    fn takes(&self, t: &Tensor) -> bool {
        t.dtype() == self.dtype
            && t.levels.is_empty()
            && t.array.dims() == self.dims.as_slice()
            && t.array.has_strides(&self.strides)
            && (t.is_tracked() == self.tracked || matches!(self.source, Origin::Given(_)))
            && self.hooks.as_ref().is_none_or(|hooks| *hooks == hooks_of(t.edge.as_ref()))
            && !t.array.is_sealed()
    }
}

/// By tensor that is the first one that has its memory: how many have it.
pub(super) fn counts(same_memory: &[usize]) -> SmallVec<[usize; 8]> {
    let mut counts = SmallVec::from_elem(0, same_memory.len());
    same_memory.iter().for_each(|&first| counts[first] += 1);
    counts
}

/// The arguments that share memory with others: the index of each, its layout in that memory, and whether it is tracked.
pub(super) fn shared_layouts<'a>(
    arguments: impl Iterator<Item = &'a Var>,
    same_memory: &[usize],
) -> Vec<(usize, Layout, bool)> {
    let mut found = vec![];
    let counts = counts(same_memory);
    for (i, v) in arguments.enumerate() {
        if counts[same_memory[i]] > 1
            && let Value::Shared(p) = &v.lock().value
        {
            let layout = p.layout.clone();
            found.push((i, layout, p.last_edge().is_some()));
        }
    }
    found
}

/// Whether a tensor is a part of a larger one.
pub(super) fn is_part(v: &Var) -> bool {
    matches!(&v.lock().value, Value::Shared(p) if p.place().is_none())
}

/// The hooks on the gradient of a value.
pub(super) fn hooks_of(edge: Option<&Edge>) -> SmallVec<[u64; 1]> {
    edge.map_or_else(SmallVec::new, |e| HookList::ids(&e.node))
}

/// The memory of a tensor that a program reads as a whole.
fn place_of(v: &Var) -> Option<Place> {
    v.lock().shared().place()
}

/// The array of an argument in the layout that the program reads: copied if it lies otherwise. None if the argument has
/// another shape or dtype, or the layout is not one that a copy can have.
pub(super) fn laid_out(x: &Array, input: &Input) -> crate::error::Result<Option<Array>> {
    let fits = x.dtype() == input.dtype && x.dims() == input.dims.as_slice();
    if fits { x.with_strides(&input.strides) } else { Ok(None) }
}

/// Whether a run changes no memory, differentiates nothing and returns no views, and all that it reads are whole tensors.
pub(super) fn only_reads(inputs: &[Input], outputs: &[Output]) -> bool {
    let is_read = |input: &Input| {
        let is_whole = matches!(input.source, Origin::Argument(_) | Origin::Memory(_));
        !input.tracked && input.written.is_none() && is_whole
    };
    let is_new = |output: &Output| {
        matches!(
            output,
            Output::New(..)
                | Output::Expanded(..)
                | Output::Argument(_)
                | Output::Object(_)
                | Output::Again(_)
        )
    };
    inputs.iter().all(is_read) && outputs.iter().all(is_new)
}

impl Compiled {
    /// The input arrays, with the memory that they lie in where it is shared. None where the arguments or the tensors from
    /// outside are not of the kind that the program is for.
    pub(super) fn read(&self, py: Python<'_>, arguments: &[Bound<'_, Var>]) -> PyResult<Option<ReadInputs>> {
        let mut inputs = ReadInputs::new();
        for input in &self.inputs {
            let (t, place) = match &input.source {
                Origin::Value(i) => {
                    let v = arguments[*i].get();
                    let place = match &v.lock().value {
                        Value::Shared(p) if p.place().is_none() => p.place_of_part(),
                        _ => return Ok(None),
                    };
                    (v.tensor(), Some(place))
                }
                Origin::Given(i) => {
                    let v = arguments[*i].get();
                    if let Some(trace) = modes::trace() {
                        trace.give_up("it calls a program from a file");
                    }
                    let t = v.tensor();
                    // Without a program for its gradient, none may be asked for.
                    if t.is_tracked() && !input.tracked && modes::is_recording() || !t.levels.is_empty() {
                        return Ok(None);
                    }
                    let place = match &v.lock().value {
                        Value::Own(_) => None,
                        Value::Shared(p) => Some(p.place_of_part()),
                    };
                    let Some(array) = laid_out(t.array.unsealed(), input).or_raise()? else {
                        return Ok(None);
                    };
                    (Tensor::constant(array), place)
                }
                Origin::Argument(i) => {
                    let mut state = arguments[*i].get().lock();
                    match &state.value {
                        Value::Own(t) if input.written.is_none() => (t.clone(), None),
                        _ => {
                            let Some(place) = state.shared().place() else { return Ok(None) };
                            (place.read(), Some(place))
                        }
                    }
                }
                Origin::Larger(i) => {
                    let place = arguments[*i].get().lock().shared().place_of_part();
                    (place.read(), Some(place))
                }
                Origin::Memory(place) => {
                    let Some(place) = place.upgrade() else { return Ok(None) };
                    (place.read(), Some(place))
                }
                Origin::Grad(i) => {
                    let grad = self.slot(*i, arguments).and_then(|slot| slot.grad(py));
                    let Some(place) = grad.and_then(|g| place_of(g.get())) else { return Ok(None) };
                    (place.read(), Some(place))
                }
            };
            if !input.takes(&t) {
                return Ok(None);
            }
            inputs.push((t.array, place));
        }
        // Arguments that are read by their values may share memory.
        let by_place = |input: &Input| !matches!(input.source, Origin::Given(_) | Origin::Memory(_));
        if self.inputs.iter().any(by_place)
            && (same_memory(arguments.iter().map(Bound::get)) != self.same_memory
                || shared_layouts(arguments.iter().map(Bound::get), &self.same_memory) != self.shared)
        {
            return Ok(None);
        }
        // An argument may have the memory of a tensor from outside.
        let of_arguments: SmallVec<[(usize, &Input); 8]> = std::iter::zip(&self.inputs, &inputs)
            .filter(|(other, _)| !matches!(other.source, Origin::Memory(_)))
            .filter_map(|(other, (_, place))| Some((place.as_ref()?.key(), other)))
            .collect();
        for (input, (_, place)) in self.inputs.iter().zip(&inputs) {
            let (Some(place), Origin::Memory(_)) = (place, &input.source) else { continue };
            let clashes = |(key, other): &(usize, &Input)| {
                let by_value = matches!(other.source, Origin::Value(_) | Origin::Given(_));
                *key == place.key() && (input.written.is_some() || !by_value)
            };
            if of_arguments.iter().any(clashes) {
                return Ok(None);
            }
        }
        // What it writes to one of them it would not see in the other.
        if Place::overlap(inputs.iter().filter_map(|(_, place)| place.as_ref())) {
            return Ok(None);
        }
        for (i, s) in self.slots.iter().enumerate() {
            let Some(slot) = self.slot(i, arguments) else { return Ok(None) };
            if slot.grad(py).is_some() != s.present {
                return Ok(None);
            }
        }
        Ok(Some(inputs))
    }

    /// Adds the input arrays of a program that only reads. False where they are not of the kind that it is for.
    pub(super) fn read_only(&self, arguments: &[Bound<'_, Var>], arrays: &mut Arrays) -> bool {
        self.inputs.iter().all(|input| {
            // Whoever shares the memory sees no difference.
            let read = |t: &Tensor| {
                let is_right = input.takes(t);
                if is_right {
                    arrays.push(t.array.clone());
                }
                is_right
            };
            let is_right = match &input.source {
                Origin::Argument(i) => arguments[*i].get().lock().with_untracked(read),
                Origin::Memory(place) => place.with_untracked(read),
                _ => None,
            };
            is_right == Some(true)
        })
    }

    pub(super) fn slot(&self, i: usize, arguments: &[Bound<'_, Var>]) -> Option<Arc<Slot>> {
        match &self.slots[i] {
            GradInput { slot: Some(slot), .. } => Some(slot.clone()),
            GradInput { argument: Some(i), .. } => arguments[*i].get().lock().slot.clone(),
            GradInput { .. } => None,
        }
    }
}

/// The input arrays of a run.
pub(super) type Arrays = SmallVec<[Array; 8]>;

/// The inputs of a run, with the memory that they lie in where it is shared.
pub(super) type ReadInputs = SmallVec<[(Array, Option<Place>); 8]>;

/// A number that tells the memory of a tensor from all other.
pub(super) fn key_of(v: &Var) -> usize {
    v.lock().shared().place_of_part().key()
}
