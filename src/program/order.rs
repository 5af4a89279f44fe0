//! The order of the members of a cluster.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::parts::{Id, Memory, Step};
use super::way::Pointwise;
use crate::shape;

/// The members in the order in which their results are asked for: an operand right before it is read, first the one that
/// needs more registers. `roots` are asked for, and then what is only `folded`.
pub(super) fn asked_for(
    memory: Memory<'_>,
    members: Vec<(Step, Pointwise)>,
    roots: &FxHashSet<Id>,
    folded: &FxHashSet<Id>,
) -> Vec<(Step, Pointwise)> {
    let made: FxHashMap<Id, usize> =
        members.iter().enumerate().map(|(k, (step, _))| (step.outs[0], k)).collect();
    let below: Vec<SmallVec<[usize; 3]>> = members
        .iter()
        .map(|(step, _)| step.ins.iter().filter_map(|&id| made.get(&memory.whole(id).0).copied()).collect())
        .collect();
    let mut need = vec![1usize; members.len()];
    for k in 0..members.len() {
        let mut needs: SmallVec<[usize; 3]> = below[k].iter().map(|&b| need[b]).collect();
        shape::sort_by_key(&mut needs, |&n| Reverse(n));
        need[k] = needs.iter().enumerate().map(|(i, n)| n + i).max().unwrap_or(1);
    }
    let is_in = |ids: &FxHashSet<Id>, k: usize| ids.contains(&members[k].0.outs[0]);
    let pairs = Pairs::of(&members, &below, |k| is_in(roots, k));
    let mut roots: Vec<usize> = (0..members.len()).filter(|&k| is_in(roots, k) || is_in(folded, k)).collect();
    // The value of a pair is then asked for together with its gradient.
    if let Some(pairs) = &pairs {
        shape::sort_by_key(&mut roots, |&k| pairs.is_for_folds[k]);
    }
    let mut done = vec![false; members.len()];
    let mut order = vec![];
    for root in roots {
        let mut stack = vec![(root, false)];
        while let Some((k, ready)) = stack.pop() {
            if done[k] {
                continue;
            }
            if ready {
                match &pairs {
                    Some(pairs) => pairs.add(k, &below, &mut order, &mut done),
                    None => {
                        done[k] = true;
                        order.push(k);
                    }
                }
                continue;
            }
            stack.push((k, true));
            let mut next: SmallVec<[usize; 3]> = below[k].iter().copied().filter(|&b| !done[b]).collect();
            // The last one that is pushed is visited first.
            shape::sort_by_key(&mut next, |&b| need[b]);
            stack.extend(next.into_iter().map(|b| (b, false)));
        }
    }
    let mut members: Vec<_> = members.into_iter().map(Some).collect();
    order.into_iter().filter_map(|k| members[k].take()).collect()
}

/// The members that are computed in pairs: a value and a gradient, right after each other.
struct Pairs {
    /// By gradient, its value, and the other way round.
    other: Vec<Option<usize>>,
    /// Whether each is a gradient.
    is_gradient: Vec<bool>,
    /// Which members read each.
    users: Vec<SmallVec<[usize; 2]>>,
    /// Which members lead to nothing but folds.
    is_for_folds: Vec<bool>,
}

impl Pairs {
    /// None if there are no pairs.
    fn of(
        members: &[(Step, Pointwise)],
        below: &[SmallVec<[usize; 3]>],
        is_root: impl Fn(usize) -> bool,
    ) -> Option<Pairs> {
        let mut values: FxHashMap<Id, Vec<usize>> = FxHashMap::default();
        for (k, (_, p)) in members.iter().enumerate().filter(|(_, (_, p))| p.ins.len() == 1 && p.n > 1) {
            values.entry(p.ins[0].id).or_default().push(k);
        }
        let mut other = vec![None; members.len()];
        let mut is_gradient = vec![false; members.len()];
        for (k, (_, p)) in members.iter().enumerate() {
            let Some(known) = p.ins.last().and_then(|x| values.get_mut(&x.id)) else { continue };
            if let Some(at) = known.iter().position(|&v| members[v].1.pair(p).is_some()) {
                let value = known.swap_remove(at);
                (other[k], other[value], is_gradient[k]) = (Some(value), Some(k), true);
            }
        }
        other.iter().any(Option::is_some).then_some(())?;
        let mut users = vec![SmallVec::new(); members.len()];
        for (k, below) in below.iter().enumerate() {
            below.iter().for_each(|&b: &usize| users[b].push(k));
        }
        let mut is_for_folds = vec![false; members.len()];
        for k in (0..members.len()).rev() {
            is_for_folds[k] = !is_root(k) && users[k].iter().all(|&u: &usize| is_for_folds[u]);
        }
        Some(Pairs { other, is_gradient, users, is_for_folds })
    }

    /// Adds a member to the order: a gradient after its value, and a value with its gradient, if what that reads is there.
    /// What can be computed of these and leads to folds alone comes next, so that no register is kept for it.
    fn add(&self, k: usize, below: &[SmallVec<[usize; 3]>], order: &mut Vec<usize>, done: &mut [bool]) {
        let first = order.len();
        let there = |&k: &usize, done: &[bool]| below[k].iter().all(|&b| done[b]);
        let other = self.other[k].filter(|other| !done[*other] && there(other, done));
        let pair = if self.is_gradient[k] { [other, Some(k)] } else { [Some(k), other] };
        order.extend(pair.into_iter().flatten());
        let mut at = first;
        while let Some(&k) = order.get(at) {
            done[k] = true;
            let users = self.users[k].iter().copied().filter(|&user| self.is_for_folds[user]);
            for user in users {
                let is_new = !done[user] && !order[at..].contains(&user);
                if is_new && there(&user, done) {
                    order.push(user);
                }
            }
            at += 1;
        }
    }
}
