//! Forward mode over the record: tangents pushed from inputs to outputs, with each op's tangent rule.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Request;
use super::arena::{Arena, NONE};
use super::pass::{closed, spare};
use super::sum::added;
use crate::error::{Error, Result};
use crate::graph::modes;
use crate::graph::{Edge, Grads, Levels, Meta, NodeKind, Op, Saved, Tangents, Tensor};
use crate::ops::batch::spread_lanes;
use crate::ops::movement::{broadcast_to, cast};

/// The tangents of `outputs` where each of `inputs` moves along its tangent: none where nothing arrives. An input may
/// be an interior value; its tangent is added to what arrives there from below. Frees nothing. With `create_graph` the
/// results can be differentiated again, by either mode.
///
/// ```
/// use ferrograd::{Tensor, push};
/// let x = Tensor::scalar(3.0).leaf();
/// let y = &x * &x;
/// let dy = push(&[y.edge.unwrap()], &[(x.edge.unwrap(), Tensor::scalar(10.0))], false)?;
/// assert_eq!(dy[0].as_ref().unwrap().array.item().to_f64(), 60.0);
/// # Ok::<(), Box<ferrograd::Error>>(())
/// ```
///
/// # Errors
/// What the rules report; [`Error::Freed`] where an earlier call has freed the graph.
pub fn push(outputs: &[Edge], inputs: &[(Edge, Tensor)], create_graph: bool) -> Result<Vec<Option<Tensor>>> {
    let _site = modes::fix_site();
    catch_unwind(AssertUnwindSafe(|| ascend(outputs, inputs, create_graph)))
        .unwrap_or_else(|panic| Err(Error::from_panic(panic)))
}

fn ascend(outputs: &[Edge], inputs: &[(Edge, Tensor)], record: bool) -> Result<Vec<Option<Tensor>>> {
    let request = Request {
        // The way up needs no cotangents.
        roots: outputs.iter().map(|e| (e.clone(), Tensor::scalar(0.0))).collect(),
        wanted: inputs.iter().map(|(e, _)| e.clone()).collect(),
        ..Request::default()
    };
    let arena = Arena::new(&request);
    let live = modes::live_levels();
    let mut tangents: Vec<Option<Tensor>> = vec![None; arena.slots()];
    for (&slot, (edge, t)) in arena.wanted.iter().zip(inputs).filter(|(s, _)| **s != NONE) {
        let t = cast(&if record { t.clone() } else { t.detach() }, edge.meta().dtype)?;
        let sum = &mut tangents[slot as usize];
        *sum = added(sum.take(), Some(t), record)?;
    }
    let mut uses = uses(&arena);
    let safe = modes::with(|m| m.watch.safe);
    for (i, &node) in arena.nodes.iter().enumerate().filter(|(i, _)| arena.works(*i)) {
        let NodeKind::Op(op) = &node.kind else { continue };
        let mut take = |&slot: &u32| {
            let at = (slot != NONE).then_some(slot as usize)?;
            uses[at] -= 1;
            if uses[at] == 0 { tangents[at].take() } else { tangents[at].clone() }
        };
        let t: Grads = arena.ins(i).iter().map(&mut take).collect();
        if t.iter().all(Option::is_none) {
            continue;
        }
        let kept = node.take_saved(None)?;
        let saved = Saved { node, kept: &kept, edges: &node.inputs, record };
        let outs = if safe && op.is_pointwise() {
            safely(op.as_ref(), &t, &saved)?
        } else {
            op.jvp(&t as &Tangents, &saved)?
        };
        debug_assert_eq!(outs.len(), node.outs.len(), "{}: one tangent an output", node.name());
        for ((slot, t), meta) in arena.outs(i).zip(outs).zip(node.outs.iter()) {
            if let Some(t) = t {
                assert_eq!(t.dtype(), meta.dtype, "{}: a tangent has its output's dtype", node.name());
                let t = fit(&t, meta, &live)?;
                tangents[slot] = added(tangents[slot].take(), Some(t), record)?;
            }
        }
    }
    let found = |&s: &u32| (s != NONE).then(|| tangents[s as usize].clone()).flatten();
    Ok(arena.roots.iter().map(found).collect())
}

/// The tangent rule of a pointwise op, in which a tangent of zero stays zero whatever it is multiplied with.
#[cold]
fn safely(op: &dyn Op, t: &Grads, saved: &Saved<'_>) -> Result<Grads> {
    let mut sums: Grads = Grads::new();
    for (i, moves) in t.iter().enumerate() {
        let Some(moves) = moves else { continue };
        let alone: Grads = (0..t.len()).map(|j| (i == j).then(|| moves.clone())).collect();
        let outs = op.jvp(&alone as &Tangents, saved)?;
        sums.resize(outs.len(), None);
        for (sum, out) in sums.iter_mut().zip(outs) {
            let Some(mut out) = out else { continue };
            spare(&mut out, moves)?;
            *sum = added(sum.take(), Some(out), saved.record)?;
        }
    }
    Ok(sums)
}

/// By slot: how many times its tangent is read, the answer among them.
fn uses(arena: &Arena<'_>) -> Vec<u32> {
    let mut uses = vec![0; arena.slots()];
    let edges = (0..arena.nodes.len()).filter(|&i| arena.works(i)).flat_map(|i| arena.ins(i));
    for &s in edges.chain(&arena.roots).filter(|s| **s != NONE) {
        uses[s as usize] += 1;
    }
    uses
}

/// Broadcasting done: the tangent in the shape of its value, and over the lanes of its value's levels, unless their
/// calls are still running.
pub(super) fn fit(t: &Tensor, meta: &Meta, live: &Levels) -> Result<Tensor> {
    let t = broadcast_to(t, &meta.dims)?;
    if meta.levels.is_empty() { Ok(t) } else { spread_lanes(&t, &closed(meta, live)) }
}
