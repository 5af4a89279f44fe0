//! The run over the arena: on the calling thread alone, or with others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

use rustc_hash::FxHashSet;

use super::arena::{Arena, NONE, bytes};
use super::parallel;
use super::pass::{Cotangents, Pass};
use super::request::{seed, zeros};
use super::sum::Sums;
use super::tick::Ticker;
use super::{Answer, Reached, Request};
use crate::error::{Error, Result, bail};
use crate::graph::modes::{self, Flags, Modes};
use crate::graph::site::Site;
use crate::graph::watch::Watch;
use crate::graph::{NodeKind, Tensor};
use crate::kernel::par;

pub(super) fn run(request: &Request<'_>) -> Result<Answer> {
    let _site = modes::fix_site();
    catch_unwind(AssertUnwindSafe(|| answer(request))).unwrap_or_else(|panic| Err(Error::from_panic(panic)))
}

fn answer(request: &Request<'_>) -> Result<Answer> {
    let pass = Pass::new(request);
    if request.leaves && !pass.live.is_empty() {
        bail!(
            Argument,
            "backward",
            "inside vmap each lane has its own gradient, and a tensor has one: use grad"
        );
    }
    let seeds = seeds(request, &pass)?;
    // What other threads recorded would be kept as it is.
    // What is watched is known to this thread alone; ops inside of rules are looked at only for NaN.
    let watching = pass.watch != Watch::NOTHING;
    let _unwatched =
        watching.then(|| Modes::enter(|m| m.watch = Watch { nans: pass.watch.nans, ..Watch::NOTHING }));
    let alone = watching || modes::flags().has(Flags::PACKING);
    let wide = !alone && par::threads() > 1 && pass.arena.is_wide(par::MIN_BYTES);
    let begun = Begun(&pass, request.retain_graph);
    let (sums, threads) =
        if wide { parallel::run(&pass, request, seeds)? } else { (sequential(&pass, request, seeds)?, 1) };
    std::mem::forget(begun);
    collect(request, &pass, sums, threads)
}

/// A run that did not come to its end leaves no half of a graph: what is not retained is freed as a whole.
struct Begun<'a>(&'a Pass<'a>, bool);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let (arena, site) = (&self.0.arena, Site::current());
        for (_, node) in arena.nodes.iter().enumerate().filter(|(i, _)| !self.1 && arena.is_live(*i)) {
            node.free(site);
        }
    }
}

/// By slot: the sum of its seeds, in the order of the roots.
fn seeds(request: &Request<'_>, pass: &Pass<'_>) -> Result<Sums> {
    let mut sums = Sums::new(pass.arena.slots());
    for (&slot, (edge, g)) in pass.arena.roots.iter().zip(&request.roots).filter(|(s, _)| **s != NONE) {
        let g = if request.create_graph { seed(edge, g)? } else { seed(edge, &g.detach())? };
        sums.add(slot as usize, g, request.create_graph)?;
    }
    Ok(sums)
}

/// Descending order, in which a node's consumers come before it: no counters, no locks.
fn sequential(pass: &Pass<'_>, request: &Request<'_>, mut sums: Sums) -> Result<Sums> {
    let arena = &pass.arena;
    let mut ticker = Ticker::new(request);
    for (i, &node) in arena.nodes.iter().enumerate().rev() {
        let outs = arena.outs(i);
        if let Some(hooks) = node.hooks().filter(|_| arena.is_live(i)) {
            let mut g: Cotangents = outs.clone().map(|s| sums.take(s)).collect();
            pass.run_tensor_hooks(i, hooks, &mut g)?;
            outs.clone().zip(g).filter_map(|(s, g)| Some((s, g?))).for_each(|(s, g)| sums.put(s, g));
        }
        if !arena.works(i) {
            continue;
        }
        let mut take = |s: usize| if arena.asked[s] { sums.get(s).cloned() } else { sums.take(s) };
        let (mut one, mut several);
        let g: &mut [Option<Tensor>] = if outs.len() == 1 {
            one = [take(outs.start)];
            &mut one
        } else {
            several = outs.map(take).collect::<Vec<_>>();
            &mut several
        };
        if g.iter().all(Option::is_none) {
            continue;
        }
        let mut done = pass.differentiate(node, g);
        let Ok(grads) = &mut done else { return Err(done.expect_err("it failed")) };
        for (&t, grad) in arena.ins(i).iter().zip(grads) {
            if let (true, Some(grad)) = (t != NONE, grad.take()) {
                sums.add(t as usize, grad, pass.create_graph)?;
            }
        }
        ticker.after(bytes(node))?;
    }
    Ok(sums)
}

/// By slot: whether ops lead there from a root. What a function of the caller's calls no gradient is none.
fn below_ops(arena: &Arena<'_>) -> Vec<bool> {
    let mut below = vec![false; arena.slots()];
    arena.roots.iter().filter(|s| **s != NONE).for_each(|&s| below[s as usize] = true);
    for (i, node) in arena.nodes.iter().enumerate().rev() {
        let own = matches!(&node.kind, NodeKind::Op(op) if !op.calls_host());
        if own && arena.outs(i).any(|s| below[s]) {
            arena.ins(i).iter().filter(|t| **t != NONE).for_each(|&t| below[t as usize] = true);
        }
    }
    below
}

fn collect(request: &Request<'_>, pass: &Pass<'_>, mut sums: Sums, threads: usize) -> Result<Answer> {
    let arena = &pass.arena;
    let found = |&s: &u32| (s != NONE).then(|| sums.get(s as usize).cloned()).flatten();
    let wanted: Vec<Option<Tensor>> = arena.wanted.iter().map(found).collect();
    let mut leaves = vec![];
    let mut used = None;
    let reached = arena.wanted.iter().zip(&wanted).map(|(&s, g)| match g {
        _ if s == NONE => Reached::Never,
        None if !used.get_or_insert_with(|| below_ops(arena))[s as usize] => Reached::Unanswered,
        _ => Reached::Used,
    });
    let reached = reached.collect();
    if request.leaves {
        let returned: FxHashSet<u32> = arena.wanted.iter().copied().collect();
        for &i in arena.leaves.iter().rev() {
            let (node, slot) = (arena.nodes[i as usize], arena.outs(i as usize).start);
            if returned.contains(&(slot as u32)) {
                continue;
            }
            match sums.take(slot) {
                Some(g) => leaves.push((node.clone(), g)),
                // The leaf was used, in ways whose derivatives are all zero. A hook may have taken what came.
                None if node.hooks().is_none() && used.get_or_insert_with(|| below_ops(arena))[slot] => {
                    leaves.push((node.clone(), zeros(&node.outs[0])?));
                }
                None => {}
            }
        }
    }
    let aside = std::mem::take(&mut *pass.run.aside.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Answer { wanted, reached, leaves, aside, threads })
}
