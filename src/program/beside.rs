//! Two formulas of the rows of one value that are computed together.

use rustc_hash::{FxHashMap, FxHashSet};

use super::parts::{Applied, Id, Step, Value};
use super::schedule::kernel_for;
use super::way::Way;
use crate::graph::Loops;
use crate::kernel::softmax::{self, Formula};
use crate::shape;

/// The steps of a program, where two formulas of the rows of one value are one step if a kernel computes both. Only small results
/// come earlier than before, since they are kept until they are read.
pub(super) fn beside(values: &[Value], steps: Vec<(Step, Way)>) -> Vec<(Step, Way)> {
    let mut all: Vec<Option<(Step, Way)>> = steps.into_iter().map(Some).collect();
    // By value: the formulas of its rows alone, each with the number of its step.
    let mut readers: FxHashMap<Id, Vec<(usize, Formula)>> = FxHashMap::default();
    for (k, step) in all.iter().enumerate() {
        if let Some((step, Way::Op)) = step
            && let ([x], [_]) = (&step.ins[..], &step.outs[..])
            && let Some(Loops::Rows(formula)) = step.lowered(values)
        {
            readers.entry(*x).or_default().push((k, formula));
        }
    }
    let mut lists: Vec<Vec<(usize, Formula)>> = readers.into_values().filter(|list| list.len() > 1).collect();
    shape::sort_by_key(&mut lists, |list| list[0].0);
    for list in lists {
        let mut taken: FxHashSet<usize> = FxHashSet::default();
        for (&(a, first), &(b, second)) in list.iter().flat_map(|a| list.iter().map(move |b| (a, b))) {
            let together = match (&all[a], &all[b]) {
                (Some((x, _)), Some((y, _))) if a != b && !taken.contains(&a) && !taken.contains(&b) => {
                    first.with(second).and_then(|formula| together(values, formula, x, y))
                }
                _ => None,
            };
            if let Some(together) = together {
                all[a.max(b)] = None;
                all[a.min(b)] = Some(together);
                taken.extend([a, b]);
            }
        }
    }
    all.into_iter().flatten().collect()
}

/// The step that computes what two steps of one value do, by one formula. None if no kernel does, as for large results.
fn together(values: &[Value], formula: Formula, x: &Step, y: &Step) -> Option<(Step, Way)> {
    let outs = [x.outs[0], y.outs[0]];
    let kernel = kernel_for(values, &x.ins, &outs, |ins| softmax::kernel(formula, ins))?;
    let step = Step { outs: outs.into_iter().collect(), ..x.clone() };
    (x.batch_ndim == y.batch_ndim).then(|| (step, Way::Kernel(kernel, Applied::of(y))))
}
