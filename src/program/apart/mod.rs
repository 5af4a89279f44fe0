//! Arrays taken apart, as compilers replace a structure by scalars. An op on a few elements takes longer to call than to
//! compute. The gradient of a column is an array whose other columns are zeros, and a trace adds such arrays. So an array of
//! few elements becomes single numbers, and one of few columns becomes columns, which others then read.
//!
//! Both are parts of a value. A step becomes a step for each part of its result. A part that is only moved, or to which zero is
//! added, takes no step. Where others read the array, its parts are joined. Steps that read parts of each other are a set. A
//! set is rewritten as a whole, and left as it was if its steps on arrays take no longer.

mod joined;
mod part;
mod replacement;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::joined::Joined;
use self::part::{Apart, Grain, Steps};
pub(super) use self::replacement::numbers;
use super::costs;
use super::parts::{Id, Step, Value};
use super::way::Way;
use crate::shape;

/// The steps of a program with those on few columns and on few elements taken apart. New values are put behind the others.
pub(super) fn taken_apart(values: &mut Vec<Value>, steps: Steps, outputs: &[Id]) -> Steps {
    let steps = in_parts(Grain::Columns, values, steps, outputs);
    in_parts(Grain::Numbers, values, steps, outputs)
}

fn in_parts(grain: Grain, values: &mut Vec<Value>, steps: Steps, outputs: &[Id]) -> Steps {
    let before = values.len();
    let mut all = Apart {
        grain,
        values,
        parts: FxHashMap::default(),
        views: FxHashMap::default(),
        zeros: FxHashMap::default(),
        unsigned: FxHashSet::default(),
        steps: vec![],
    };
    let mut replaced: Vec<_> = steps.iter().map(|(step, way)| all.replacement(step, way)).collect();
    let sets = all.sets(&steps, &replaced);
    // The values that others read as arrays.
    let others = steps.iter().zip(&replaced).filter(|(_, own)| own.is_none());
    let read = others.flat_map(|((step, _), _)| &step.ins).chain(outputs);
    let read: FxHashSet<Id> = read.map(|&id| all.values[id as usize].whole(id)).collect();
    let mut gains = vec![0i64; steps.len()];
    for (i, ((step, _), own)) in steps.iter().zip(&mut replaced).enumerate() {
        let Some(own) = own else { continue };
        if read.contains(&step.outs[0]) {
            all.join(step, own);
        }
        gains[sets[i]] = gains[sets[i]].saturating_add(own.1);
    }
    if gains.iter().all(|&gain| gain <= 0) {
        all.values.truncate(before);
        return steps;
    }
    let mut rewritten = vec![];
    for (i, (kept, own)) in steps.into_iter().zip(replaced).enumerate() {
        match own.filter(|_| gains[sets[i]] > 0) {
            Some((own, _)) => rewritten.extend(own),
            None => rewritten.push(kept),
        }
    }
    rewritten
}

impl Apart<'_> {
    /// By step: the first step of its set. All columns are one set, since it is only about known what each of them gains.
    fn sets(&self, steps: &[(Step, Way)], replaced: &[Option<(Steps, i64)>]) -> Vec<usize> {
        if self.grain == Grain::Columns {
            return vec![0; steps.len()];
        }
        fn first(sets: &mut [usize], mut i: usize) -> usize {
            while sets[i] != i {
                sets[i] = sets[sets[i]];
                i = sets[i];
            }
            i
        }
        let mut sets: Vec<usize> = (0..steps.len()).collect();
        let mut makers: FxHashMap<Id, usize> = FxHashMap::default();
        for (i, (step, _)) in steps.iter().enumerate().filter(|(i, _)| replaced[*i].is_some()) {
            for &id in &step.ins {
                if let Some(&maker) = makers.get(&self.values[id as usize].whole(id)) {
                    let (a, b) = (first(&mut sets, i), first(&mut sets, maker));
                    sets[a.max(b)] = a.min(b);
                }
            }
            makers.insert(step.outs[0], i);
        }
        (0..sets.len()).map(|i| first(&mut sets, i)).collect()
    }

    /// Joins the parts of a step's result, which others read.
    fn join(&mut self, step: &Step, (steps, gain): &mut (Steps, i64)) {
        let out = step.outs[0];
        let parts = self.parts[&out].clone();
        if parts.len() == 1 && parts[0].of == out {
            return;
        }
        let ins = parts.iter().map(|&part| self.value(part)).collect();
        let mut step = Step { ins, ..step.clone() };
        if self.grain == Grain::Numbers {
            // The cluster that computes numbers puts them where they have to be.
            return steps.push((step, Way::Pack));
        }
        let dims = self.values[out as usize].dims.clone();
        *gain -= costs::ITEM + costs::MOVED * shape::len(&dims) as i64;
        (step.op, step.batch_ndim) = (Arc::new(Joined { name: step.op.name(), dims }), 0);
        steps.push((step, Way::Op));
    }
}
