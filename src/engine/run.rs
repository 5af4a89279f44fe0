//! The run over the arena.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use smallvec::SmallVec;

use super::arena::{Arena, NONE};
use super::request::seed;
use super::{Answer, Request};
use crate::error::{Error, Result};
use crate::graph::site::Site;
use crate::graph::{Grads, Keep, Kept, Kind, Levels, Live, Meta, Node, Saved, Tensor};
use crate::ops::arithmetic::add_same;
use crate::ops::lanes::{spread_lanes, sum_lanes};
use crate::ops::reduce::sum_to;

pub(super) fn run(request: Request<'_>) -> Result<Answer> {
    let site = Site::current();
    catch_unwind(AssertUnwindSafe(|| site.within(|| sequential(&request))))
        .unwrap_or_else(|panic| Err(Error::from_panic(panic)))
}

fn sequential(request: &Request<'_>) -> Result<Answer> {
    let arena = Arena::new(request);
    let live_levels = Live::all();
    let mut sums: Vec<Option<Tensor>> = vec![None; arena.slots()];
    for (&slot, (edge, g)) in arena.roots.iter().zip(&request.roots) {
        if slot != NONE {
            let g = seed(edge, g)?;
            add_into(
                &mut sums[slot as usize],
                if request.create_graph { g } else { g.detach() },
                request.create_graph,
            )?;
        }
    }
    let mut answer = Answer { wanted: vec![None; request.wanted.len()], ..Answer::default() };
    answer.reached = arena.wanted.iter().map(|&s| s != NONE).collect();
    let mut wanted: Vec<(u32, usize)> =
        arena.wanted.iter().copied().zip(0..).filter(|w| w.0 != NONE).collect();
    wanted.sort_unstable();
    for i in (0..arena.nodes.len()).rev().filter(|&i| arena.live[i]) {
        let node = &arena.nodes[i];
        let outs = arena.outs(i);
        let g: SmallVec<[Option<Tensor>; 1]> = outs.clone().map(|s| sums[s].take()).collect();
        let mut asked = false;
        while let Some(&(slot, k)) = wanted.last().filter(|w| w.0 as usize >= outs.start) {
            answer.wanted[k] = g[slot as usize - outs.start].clone();
            asked = true;
            wanted.pop();
        }
        if node.is_leaf() {
            if let (true, false, Some(g)) = (request.leaves, asked, &g[0]) {
                answer.leaves.push((node.clone(), g.clone()));
            }
            continue;
        }
        if g.iter().all(Option::is_none) || arena.ins(i).iter().all(|&t| t == NONE) {
            continue;
        }
        let grads = differentiate(node, g, request, &live_levels)?;
        for (&t, grad) in arena.ins(i).iter().zip(grads) {
            if let (Some(grad), true) = (grad, t != NONE) {
                add_into(&mut sums[t as usize], grad, request.create_graph)?;
            }
        }
    }
    Ok(answer)
}

/// The gradients of a node's inputs, each in the shape and levels of its input.
fn differentiate(
    node: &Arc<Node>,
    mut g: SmallVec<[Option<Tensor>; 1]>,
    request: &Request<'_>,
    live: &Levels,
) -> Result<Grads> {
    let Kind::Op(op) = &node.kind else { unreachable!("leaves end a path") };
    let kept = take_kept(node, request.retain_graph)?;
    for (g, meta) in g.iter_mut().zip(&node.outs).filter(|(_, meta)| !meta.levels.is_empty()) {
        let closed = Levels::new(meta.levels.as_slice().iter().copied().filter(|l| !live.contains(*l)));
        if let Some(t) = g {
            *t = spread_lanes(t, &closed)?;
        }
    }
    let mut grads = op.vjp(&g, &Saved { node, kept: &kept, record: request.create_graph })?;
    debug_assert_eq!(grads.len(), node.inputs.len(), "{}: one gradient an input", node.name());
    for (grad, edge) in grads.iter_mut().zip(&node.inputs) {
        match (grad.as_mut(), edge) {
            (Some(t), Some(edge)) => fit(t, edge.meta(), live, node)?,
            _ => *grad = None,
        }
    }
    Ok(grads)
}

/// What the node kept: taken out, so that it is freed afterwards, unless the graph is to be retained.
fn take_kept(node: &Node, retain: bool) -> Result<SmallVec<[Option<Keep>; 2]>> {
    let mut kept = node.kept();
    match &mut *kept {
        Kept::Freed => {
            let made =
                node.site.describe().map_or(String::new(), |at| format!(" The node was made at {at}."));
            Err(Error::Freed { op: node.name(), made })
        }
        Kept::Live(list) if retain || list.is_empty() => Ok(list.clone()),
        Kept::Live(list) => {
            let list = std::mem::take(list);
            *kept = Kept::Freed;
            Ok(list)
        }
    }
}

/// Broadcasting undone: the gradient summed over the logical axes that its input had not, and over the hidden axes
/// of levels that its input had not, unless the level's call is still running.
#[inline]
fn fit(t: &mut Tensor, meta: &Meta, live: &Levels, node: &Node) -> Result<()> {
    assert_eq!(t.dtype(), meta.dtype, "{}: a gradient has its input's dtype", node.name());
    if t.dims() != meta.dims.as_slice() {
        *t = sum_to(t, &meta.dims)?;
    }
    if !t.levels.is_empty() {
        let strange =
            t.levels.as_slice().iter().copied().filter(|l| !meta.levels.contains(*l) && !live.contains(*l));
        *t = sum_lanes(t, &Levels::new(strange))?;
    }
    Ok(())
}

/// Adds a cotangent to a slot: in place where nobody else holds the sum.
#[inline]
fn add_into(slot: &mut Option<Tensor>, g: Tensor, record: bool) -> Result<()> {
    *slot = Some(match slot.take() {
        None => g,
        Some(sum) => accumulate(sum, g, record)?,
    });
    Ok(())
}

fn accumulate(mut sum: Tensor, g: Tensor, record: bool) -> Result<Tensor> {
    if !record && sum.levels == g.levels && crate::ops::arithmetic::add_in_place(&mut sum.array, &g.array) {
        return Ok(sum);
    }
    add_same(&sum, &g)
}
