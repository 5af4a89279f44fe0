//! How the steps of a program are run: those that compute element by element are gathered into clusters, with the folds
//! of their results.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::gather::{Parts, gathered};
use super::order::asked_for;
use super::parts::{Applied, Id, Made, Memory, Piece, Step, Value};
use super::schedule::alone;
use super::way::{Pointwise, Way};
use crate::kernel::reduce::tiles::Lengths;
use crate::kernel::sequence::Part;

/// The work of a program, in an order in which everything is made before it is read.
pub(super) fn planned(values: &[Value], steps: Vec<(Step, Way)>, outputs: &[Id]) -> Vec<Piece> {
    let memory = Memory(values);
    let mut maker: FxHashMap<Id, usize> = FxHashMap::default();
    for (i, (step, _)) in steps.iter().enumerate() {
        step.outs.iter().for_each(|&id| _ = maker.insert(id, i));
    }
    let groups = grouped(memory, &steps, &maker);
    let mut group_of = vec![0; steps.len()];
    for (g, members) in groups.iter().enumerate() {
        members.iter().for_each(|&i| group_of[i] = g);
    }
    // What is read outside of the group that makes it.
    let mut outside: FxHashSet<Id> = outputs.iter().map(|&id| memory.whole(id).0).collect();
    let mut before: Vec<FxHashSet<usize>> = vec![FxHashSet::default(); groups.len()];
    let mut last_in_order = None;
    for (i, (step, _)) in steps.iter().enumerate() {
        for &id in &step.ins {
            let whole = memory.whole(id).0;
            if let Some(&m) = maker.get(&whole).filter(|&&m| group_of[m] != group_of[i]) {
                outside.insert(whole);
                before[group_of[i]].insert(group_of[m]);
            }
        }
        if step.is_in_order()
            && let Some(last) = last_in_order.replace(group_of[i])
        {
            before[group_of[i]].insert(last);
        }
    }
    let order = ordered(&groups, &before);
    let mut steps: Vec<_> = steps.into_iter().map(Some).collect();
    let mut work = vec![];
    for g in order {
        let (mut members, mut folds, mut packs) = (vec![], vec![], vec![]);
        for (step, way) in groups[g].iter().map(|&i| steps[i].take().expect("it is in one group")) {
            match way {
                Way::Pointwise(p) => members.push((step, p)),
                Way::Fold(fold) if !members.is_empty() => folds.push((step, fold)),
                Way::Pack => packs.push(step),
                Way::Kernel(kernel, other) => {
                    let ops = [Applied::of(&step), other].into_iter().collect();
                    let made = Made { outs: step.outs, ops };
                    work.push(Piece { part: Part::Kernel(kernel), ins: step.ins.into_vec(), made });
                }
                _ => work.push(alone(values, step)),
            }
        }
        let outside = made_for(&members, &outside);
        let folded = folds.iter().map(|(step, _)| memory.whole(step.ins[0]).0);
        let packed = packs.iter().flat_map(|step| &step.ins).map(|&id| memory.whole(id).0);
        let asked =
            asked_for(memory, members, &outside.iter().copied().chain(packed).collect(), &folded.collect());
        if asked.is_empty() && packs.is_empty() {
            continue;
        }
        clusters(memory, Parts { members: asked, folds, packs }, &outside, &mut work);
    }
    work
}

/// The results of steps that are among these.
fn made_for(members: &[(Step, Pointwise)], among: &FxHashSet<Id>) -> FxHashSet<Id> {
    members.iter().map(|(step, _)| step.outs[0]).filter(|id| among.contains(id)).collect()
}

/// The steps that are run together, each list in the order of the program.
fn grouped(memory: Memory<'_>, steps: &[(Step, Way)], maker: &FxHashMap<Id, usize>) -> Vec<Vec<usize>> {
    // Each step has a stage. What a cluster waits for is in an earlier one.
    let mut stage = vec![0usize; steps.len()];
    let mut groups: Vec<Vec<usize>> = vec![];
    let mut group_of = vec![0; steps.len()];
    // The lengths that the tiles of each group can have.
    let mut lengths: Vec<Lengths> = vec![];
    let mut known: FxHashMap<(usize, (usize, bool)), usize> = FxHashMap::default();
    // The stage of the last step that stays in order.
    let mut last = 0;
    for (i, (step, way)) in steps.iter().enumerate() {
        let mut joined = None;
        for (k, &id) in step.ins.iter().enumerate() {
            let (whole, byte) = memory.whole(id);
            let Some(&m) = maker.get(&whole) else { continue };
            let in_order = byte == 0 && memory.dtype(id) == memory.dtype(whole);
            let together = steps[m].1.pointwise().filter(|_| in_order).is_some_and(|other| match way {
                Way::Pointwise(own) => own.kind() == other.kind() && own.ins[k].axes.is_none(),
                Way::Pack => other.kind() == (1, false),
                Way::Fold(fold) if fold.elements() == other.n => {
                    let g = group_of[m];
                    lengths[g].with(fold).inspect(|&with| (joined, lengths[g]) = (Some(g), with)).is_some()
                }
                _ => false,
            });
            stage[i] = stage[i].max(stage[m] + usize::from(!together));
        }
        // These stay in order, so what waits for one of them does not share a cluster with what an earlier one reads.
        if step.is_in_order() {
            stage[i] = stage[i].max(last);
            last = stage[i];
        }
        let g = match way {
            Way::Pointwise(p) => known.get(&(stage[i], p.kind())).copied(),
            Way::Pack => known.get(&(stage[i], (1, false))).copied(),
            _ => joined,
        };
        group_of[i] = g.unwrap_or(groups.len());
        match g {
            Some(g) => groups[g].push(i),
            None => {
                groups.push(vec![i]);
                lengths.push(Lengths::ANY);
                match way {
                    Way::Pointwise(p) => _ = known.insert((stage[i], p.kind()), group_of[i]),
                    Way::Pack => _ = known.insert((stage[i], (1, false)), group_of[i]),
                    _ => {}
                }
            }
        }
    }
    groups
}

/// The groups in an order in which each comes after those `before` it, and otherwise as late as its last step.
fn ordered(groups: &[Vec<usize>], before: &[FxHashSet<usize>]) -> Vec<usize> {
    let mut waits: Vec<usize> = before.iter().map(FxHashSet::len).collect();
    let mut after = vec![vec![]; groups.len()];
    for (g, b) in before.iter().enumerate() {
        let mut b: Vec<usize> = b.iter().copied().collect();
        b.sort_unstable();
        b.iter().for_each(|&b| after[b].push(g));
    }
    let last = |g: usize| Reverse((groups[g].last().copied(), g));
    let mut ready: BinaryHeap<_> = (0..groups.len()).filter(|&g| waits[g] == 0).map(last).collect();
    let mut order = vec![];
    while let Some(Reverse((_, g))) = ready.pop() {
        order.push(g);
        for &a in &after[g] {
            waits[a] -= 1;
            if waits[a] == 0 {
                ready.push(last(a));
            }
        }
    }
    order
}

/// The steps of a group as clusters: one, or several if one would need too many registers.
fn clusters(memory: Memory<'_>, mut parts: Parts, outside: &FxHashSet<Id>, work: &mut Vec<Piece>) {
    if let Some(cluster) = gathered(memory, &parts, outside) {
        work.push(cluster);
        return;
    }
    let Parts { members, folds, packs } = &mut parts;
    if members.len() == 1 {
        // The rows are too long for its registers.
        let read: Vec<Id> = folds.iter().map(|(step, _)| memory.whole(step.ins[0]).0).collect();
        let outside = outside.iter().copied().chain(read).collect();
        let folds = std::mem::take(folds);
        work.push(gathered(memory, &parts, &outside).expect("there is room for one step"));
        work.extend(folds.into_iter().map(|(step, _)| alone(memory.0, step)));
        return;
    }
    let second = members.split_off(members.len() / 2);
    // What the first half makes for the second goes through memory.
    let made: FxHashSet<Id> = members.iter().map(|(s, _)| s.outs[0]).collect();
    let readers = second.iter().map(|(step, _)| step).chain(&*packs);
    let read: Vec<Id> = readers.flat_map(|step| &step.ins).map(|&id| memory.whole(id).0).collect();
    let outside = outside.iter().copied().chain(read.into_iter().filter(|id| made.contains(id))).collect();
    let (for_first, for_second) = (made_for(members, &outside), made_for(&second, &outside));
    let (of_first, of_second) =
        parts.folds.into_iter().partition(|(step, _)| made.contains(&memory.whole(step.ins[0]).0));
    clusters(memory, Parts { members: parts.members, folds: of_first, packs: vec![] }, &for_first, work);
    clusters(memory, Parts { members: second, folds: of_second, packs: parts.packs }, &for_second, work);
}
