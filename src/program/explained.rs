//! Programs as text.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Program;
use super::bound::Machine;
use super::parts::{Applied, Id, Origin, Step, Value};
use crate::array::Layout;
use crate::error::Result;
use crate::graph::Loops;
use crate::graph::site::Site;
use crate::kernel::copy::{IndexMap, Part};
use crate::shape;

/// A pass over memory.
pub struct Pass {
    /// By op: its name, what it computes, and the line of the user's program that applied it.
    pub ops: Vec<(&'static str, String, Site)>,
    /// How many bytes of values it reads that another pass or the caller has made, and how many it makes for others.
    pub read: usize,
    pub written: usize,
    /// How many seconds this machine takes at least for these bytes and for the products of matrices.
    pub least: f64,
}

/// The axes of a result, outermost first, and those that are folded. More have numbers.
const AXES: [&str; 6] = ["i", "j", "k", "l", "m", "n"];
const FOLDED: [&str; 3] = ["r", "s", "t"];

fn letter(letters: &[&str], k: usize) -> String {
    letters.get(k).map_or_else(|| format!("{}{k}", letters[0]), |&letter| letter.to_owned())
}

/// An index, how far apart its elements lie, and how many there are.
struct Term {
    name: String,
    step: isize,
    size: usize,
    is_folded: bool,
}

impl Program {
    /// The passes over memory, in the order in which they run. A value that a caller gives is `x0`, `x1`, …, one that an op has
    /// made is `v0`, `v1`, …, and an array of constants is `c`. `v1[i, 2j + 1]` is an element of a value, `v1{2i + 1}` one at this
    /// place of its memory, and a colon stands for an axis that is folded.
    ///
    /// # Errors
    /// For want of memory to measure the machine.
    pub fn explained(&self) -> Result<Vec<Pass>> {
        let mut machine = Machine::default();
        let names = self.names();
        // Steps are known by their op. One that was taken apart has several.
        let of: FxHashMap<*const (), &Step> =
            self.steps.iter().map(|step| (Arc::as_ptr(&step.op).cast(), step)).collect();
        let mut pass = |outs: &[Id], ops: &[Applied]| -> Result<Pass> {
            let found = |applied: &Applied| of.get(&Arc::as_ptr(&applied.op).cast()).copied();
            let steps: Vec<&Step> = ops.iter().filter_map(found).collect();
            let text = |own: &Applied| {
                found(own).map_or_else(String::new, |step| self.text(step, &names) + &self.shape(step))
            };
            let read = self.bytes_read(&steps);
            let written = outs.iter().map(|&id| self.values[id as usize].bytes()).sum();
            let least = machine.least(&self.values, &steps, read, written)?;
            let ops = ops.iter().map(|own| (own.op.name(), text(own), own.site)).collect();
            Ok(Pass { ops, read, written, least })
        };
        self.schedule.items.iter().map(|made| pass(&made.outs, &made.ops)).collect()
    }

    /// The bytes of what these steps read and do not make.
    fn bytes_read(&self, steps: &[&Step]) -> usize {
        let made: FxHashSet<Id> = steps.iter().flat_map(|step| &step.outs).copied().collect();
        let mut read: FxHashSet<Id> = FxHashSet::default();
        let is_new = |id: &&Id| !made.contains(&self.values[**id as usize].whole(**id)) && read.insert(**id);
        steps
            .iter()
            .flat_map(|step| &step.ins)
            .filter(is_new)
            .map(|&id| self.values[id as usize].bytes())
            .sum()
    }

    /// By value that has memory of its own: its name.
    fn names(&self) -> FxHashMap<Id, String> {
        let inputs = (0..self.inputs).map(|k| (k as Id, format!("x{k}")));
        let made = self.steps.iter().flat_map(|step| &step.outs).enumerate();
        inputs.chain(made.map(|(k, &id)| (id, format!("v{k}")))).collect()
    }

    /// What a step computes: its results and its operands with their indices.
    fn text(&self, step: &Step, names: &FxHashMap<Id, String>) -> String {
        let name = |id: Id| self.name(id, names);
        let outs: Vec<String> = step.outs.iter().map(|&id| name(id)).collect();
        let (mut left, op) = (outs.join(", "), step.op.name());
        let value = |id: Id| &self.values[id as usize];
        let list = |axes: &dyn Fn(usize, &Value) -> Vec<Axis>| -> String {
            let operand = |(k, &id): (usize, &Id)| {
                let element = || name(id) + &self.element(value(id), axes(k, value(id)));
                self.number(id).unwrap_or_else(element)
            };
            format!("{op}({})", step.ins.iter().enumerate().map(operand).collect::<Vec<_>>().join(", "))
        };
        let along = |x: &Value, folded: &[usize]| -> Vec<Axis> {
            let axis = |a| if folded.contains(&a) { Axis::Folded } else { Axis::Result(a) };
            (0..x.dims.len()).map(axis).collect()
        };
        let right = match (step.lowered(&self.values), &step.outs[..]) {
            (Some(Loops::Pointwise(_)), &[out]) => {
                left += &self.element(value(out), along(value(out), &[]));
                let behind = |x: &Value| value(out).dims.len() - x.dims.len();
                let axis = |x: &Value, a: usize| if a < step.batch_ndim { a } else { a + behind(x) };
                list(&|_, x| (0..x.dims.len()).map(|a| Axis::Result(axis(x, a))).collect())
            }
            (Some(Loops::Fold(_, axes, _)), _) => list(&|_, x| along(x, &axes)),
            (Some(Loops::Product), _) => list(&|k, x| along(x, &[x.dims.len().saturating_sub(1 + k)])),
            (Some(Loops::Dot), _) => list(&|_, x| along(x, &[x.dims.len().saturating_sub(1)])),
            (Some(Loops::Moves(map)), &[_]) => return self.moves(&map, step, names),
            _ => list(&|_, x| if let Origin::View { .. } = x.origin { along(x, &[]) } else { vec![] }),
        };
        format!("{left} = {right}")
    }

    /// The elements of a result, and those of its operands that they are.
    fn moves(&self, map: &IndexMap, step: &Step, names: &FxHashMap<Id, String>) -> String {
        let out = self.name(step.outs[0], names);
        let part = |Part { operand, from, to }: &Part| {
            let x = &self.values[step.ins[*operand] as usize];
            let name = self.name(step.ins[*operand], names);
            let own = || self.element(x, (0..x.dims.len()).map(Axis::Result).collect());
            let from = match x.origin {
                Origin::View { .. } if from.is_contiguous() && from.dims == x.dims => own(),
                // The elements of a view have no other names.
                Origin::View { .. } if from.is_contiguous() => own() + " in C order",
                Origin::View { .. } => format!("{} in C order, {}", own(), braces(&terms(from), from.offset)),
                _ => indexed(Some(&x.dims), &terms(from), from.offset),
            };
            let to = bracketed(&map.dims, &terms(to), to.offset);
            format!("{out}{} = {name}{from}", to.unwrap_or_default())
        };
        let covered = map.parts.iter().map(|part| shape::len(&part.to.dims)).sum::<usize>();
        let zeros = (covered < shape::len(&map.dims)).then(|| "zeros elsewhere".to_owned());
        map.parts.iter().map(part).chain(zeros).collect::<Vec<_>>().join(", ")
    }

    /// The element of a value with these indices, after its name. Without indices it is the whole value.
    fn element(&self, x: &Value, axes: Vec<Axis>) -> String {
        let (dims, strides, offset) = match x.origin {
            Origin::View { of, offset } => {
                let whole = &self.values[of as usize];
                let is_in_order =
                    whole.dtype == x.dtype && shape::are_contiguous(&whole.dims, &whole.strides);
                (is_in_order.then_some(&whole.dims), x.strides.clone(), offset)
            }
            _ if axes.is_empty() => return String::new(),
            _ => (Some(&x.dims), shape::contiguous_strides(&x.dims), 0),
        };
        let mut folded = 0;
        let mut all = vec![];
        for ((axis, step), &size) in axes.into_iter().zip(strides).zip(&x.dims) {
            let (name, is_folded) = match axis {
                Axis::Result(a) => (letter(&AXES, a), false),
                Axis::Folded => {
                    folded += 1;
                    (letter(&FOLDED, folded - 1), true)
                }
            };
            all.push(Term { name, step, size, is_folded });
        }
        indexed(dims.map(|dims| &dims[..]), &all, offset)
    }

    /// The dtype and shape of the first result of a step.
    fn shape(&self, step: &Step) -> String {
        let out = step.outs.first().map(|&id| &self.values[id as usize]);
        out.map_or_else(String::new, |out| format!("  {} {:?}", out.dtype, &out.dims[..]))
    }

    fn name(&self, id: Id, names: &FxHashMap<Id, String>) -> String {
        let whole = self.values[id as usize].whole(id);
        names.get(&whole).cloned().unwrap_or_else(|| "c".to_owned())
    }

    /// The number that a value is, if that is a constant.
    fn number(&self, id: Id) -> Option<String> {
        let Origin::Constant(a) = &self.values[id as usize].origin else { return None };
        (a.len() == 1).then(|| a.item().to_f64()).flatten().map(|x| x.to_string())
    }
}

/// What an axis of an operand is.
enum Axis {
    /// This axis of the result.
    Result(usize),
    Folded,
}

/// The indices of a layout.
fn terms(layout: &Layout) -> Vec<Term> {
    let axes = layout.dims.iter().zip(&layout.strides).enumerate();
    axes.map(|(a, (&size, &step))| Term { name: letter(&AXES, a), step, size, is_folded: false }).collect()
}

/// The element of an array of this shape that begins so many elements after its first one, by axes. None if that takes more than a
/// sum for each axis.
fn bracketed(dims: &[usize], terms: &[Term], offset: isize) -> Option<String> {
    let strides = shape::contiguous_strides(dims);
    let mut left = usize::try_from(offset).ok()?;
    let mut axes = vec![];
    for (&d, &stride) in dims.iter().zip(&strides) {
        axes.push((left / stride as usize, d, stride, vec![]));
        left %= stride as usize;
    }
    for term in terms.iter().filter(|term| term.size > 1 && term.step != 0) {
        let is_along = |(_, d, stride, _): &&mut (usize, usize, isize, Vec<(&Term, isize)>)| {
            *d > 1 && term.step % *stride == 0
        };
        let (_, _, stride, own) = axes.iter_mut().find(is_along)?;
        own.push((term, term.step / *stride));
    }
    let mut texts = vec![];
    for (start, d, _, own) in axes {
        let reach =
            |sign: isize| own.iter().map(|(t, m)| (m * sign).max(0) * (t.size as isize - 1)).sum::<isize>();
        let start = start as isize;
        if start < reach(-1) || start + reach(1) >= (d as isize).max(1) {
            return None;
        }
        texts.push(match own[..] {
            [(term, 1)] if term.is_folded && term.size == d => ":".to_owned(),
            _ => sum(own.into_iter().map(|(term, m)| (term.name.as_str(), m)), start),
        });
    }
    Some(if texts.is_empty() { String::new() } else { format!("[{}]", texts.join(", ")) })
}

/// The element of an array that begins so many elements after its first one: by axes if it has this shape, in C order, and they name
/// it, else by its place in memory.
fn indexed(dims: Option<&[usize]>, terms: &[Term], offset: isize) -> String {
    dims.and_then(|dims| bracketed(dims, terms, offset)).unwrap_or_else(|| braces(terms, offset))
}

/// The element at this place of memory.
fn braces(terms: &[Term], offset: isize) -> String {
    let terms = terms.iter().filter(|term| term.size > 1);
    format!("{{{}}}", sum(terms.map(|term| (term.name.as_str(), term.step)), offset))
}

/// A sum of multiples of indices and a number.
fn sum<'a>(terms: impl Iterator<Item = (&'a str, isize)>, offset: isize) -> String {
    let mut text = String::new();
    let mut terms: Vec<(&str, isize)> = terms.filter(|(_, times)| *times != 0).collect();
    if offset != 0 {
        // A sum does not begin with a minus sign where it need not.
        let at = if terms.first().is_some_and(|(_, times)| *times < 0) { 0 } else { terms.len() };
        terms.insert(at, ("", offset));
    }
    for (name, times) in terms {
        text += match (text.is_empty(), times < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        let times = times.unsigned_abs();
        if times != 1 || name.is_empty() {
            text += &times.to_string();
        }
        text += name;
    }
    if text.is_empty() { "0".to_owned() } else { text }
}
