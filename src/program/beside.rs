//! Two formulas of the rows of one value that are computed together.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;

use super::parts::{Applied, Id, Step, Value};
use super::schedule::kernel_for;
use super::way::Way;
use crate::graph::Loops;
use crate::kernel::softmax;
use crate::shape;

/// The steps of a program, where two formulas of the rows of one value are one step if a kernel computes both. Only small results
/// come earlier than before, since they are kept until they are read.
pub(super) fn beside(values: &[Value], steps: Vec<(Step, Way)>) -> Vec<(Step, Way)> {
    let mut all: Vec<Option<(Step, Way)>> = steps.into_iter().map(Some).collect();
    // By value: the steps that are ops of it alone.
    let mut readers: FxHashMap<Id, Vec<usize>> = FxHashMap::default();
    for (k, step) in all.iter().enumerate() {
        if let Some((Step { ins, outs, .. }, Way::Op)) = step
            && let ([x], [_]) = (&ins[..], &outs[..])
        {
            readers.entry(*x).or_default().push(k);
        }
    }
    let mut lists: Vec<Vec<usize>> = readers.into_values().filter(|list| list.len() > 1).collect();
    shape::sort_by_key(&mut lists, |list| list[0]);
    for list in lists {
        let mut taken: FxHashSet<usize> = FxHashSet::default();
        for (&a, &b) in list.iter().flat_map(|a| list.iter().map(move |b| (a, b))) {
            let together = match (&all[a], &all[b]) {
                (Some((x, _)), Some((y, _))) if a != b && !taken.contains(&a) && !taken.contains(&b) => {
                    together(values, x, y)
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

/// The step that computes what two steps of one value do. None if no kernel computes both, as for large results.
fn together(values: &[Value], x: &Step, y: &Step) -> Option<(Step, Way)> {
    let (Loops::Rows(first), Loops::Rows(second)) = (x.lowered(values)?, y.lowered(values)?) else {
        return None;
    };
    let formula = first.with(second).filter(|_| x.batch_ndim == y.batch_ndim)?;
    let kernel = kernel_for(values, &x.ins, &[x.outs[0], y.outs[0]], |ins| softmax::kernel(formula, ins))?;
    let step = Step { outs: smallvec![x.outs[0], y.outs[0]], ..x.clone() };
    Some((step, Way::Kernel(kernel, Applied::of(y))))
}
