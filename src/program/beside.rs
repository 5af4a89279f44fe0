//! Two ops of one value that are computed together.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;

use super::parts::{Id, Step, Value};
use super::way::Way;
use crate::shape;

/// The steps of a program, where two ops of one value are one step if an op computes both (`Op::beside`). Only small results come
/// earlier than before, since they are kept until they are read.
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
            if let Some(step) = together {
                let (first, second) = (a.min(b), a.max(b));
                let site = all[first].as_ref().map_or(step.site, |(own, _)| own.site);
                all[first] = Some((Step { site, ..step }, Way::Op));
                all[second] = None;
                taken.extend([a, b]);
            }
        }
    }
    all.into_iter().flatten().collect()
}

/// The step that computes what two steps of one value do. None if no op computes both, or their results are large.
fn together(values: &[Value], x: &Step, y: &Step) -> Option<Step> {
    let op = x.op.beside(&*y.op).filter(|_| x.batch_ndim == y.batch_ndim)?;
    let of = values[x.ins[0] as usize].laid_out();
    let is_small = op.kernel(&[of], x.batch_ndim).is_some();
    is_small.then(|| Step { op, outs: smallvec![x.outs[0], y.outs[0]], ..x.clone() })
}
