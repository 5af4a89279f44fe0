//! Forward mode over a recorded graph: tangents pushed from inputs to outputs by the ops' `jvp`.

use super::arena::{Arena, NONE};
use super::checks::keep_zero;
use super::pass::{broadcast_to_meta, pull};
use super::request::{Request, conjugated};
use super::sum::added;
use crate::error::{Error, Result};
use crate::graph::modes;
use crate::graph::{Edge, Grads, Meta, Modes, NodeKind, Op, Recording, Saved, Tangents, Tensor};
use crate::ops::movement::{broadcast_to, cast};

/// The tangents of `outputs`, given tangents of `inputs`. None: no tangent arrives. An input may be an interior value
/// of the graph: its tangent takes the place of one that would arrive from below. Frees nothing. With `create_graph` the
/// results can be differentiated, by either mode.
///
/// ```
/// use ferrograd::{Tensor, push};
/// let x = Tensor::scalar(3.0).leaf();
/// let y = &x * &x;
/// let dy = push(&[y.edge().unwrap().clone()], &[(x.edge().unwrap().clone(), Tensor::scalar(10.0))], false)?;
/// assert_eq!(dy[0].as_ref().unwrap().array().to_vec::<f64>(), [60.0]);
/// # Ok::<(), Box<ferrograd::Error>>(())
/// ```
///
/// # Errors
/// What the rules report; [`Error::Freed`] where an earlier call has freed the graph.
pub fn push(outputs: &[Edge], inputs: &[(Edge, Tensor)], create_graph: bool) -> Result<Vec<Option<Tensor>>> {
    let _site = modes::fix_site();
    Error::catch(|| push_all(outputs, inputs, create_graph))
}

fn push_all(outputs: &[Edge], inputs: &[(Edge, Tensor)], record: bool) -> Result<Vec<Option<Tensor>>> {
    let request = Request {
        // Forward mode needs no cotangents.
        roots: outputs.iter().map(|e| (e.clone(), Tensor::scalar(0.0))).collect(),
        wanted: inputs.iter().map(|(e, _)| e.clone()).collect(),
        // A node is passed where another output of it may have a tangent from below.
        stops: inputs.iter().all(|(e, _)| e.node.outs.len() == 1),
        ..Request::default()
    };
    let arena = Arena::new(&request)?;
    let live = modes::live_levels();
    let mut tangents: Vec<Option<Tensor>> = vec![None; arena.slots()];
    for (&slot, (edge, t)) in arena.wanted.iter().zip(inputs).filter(|(s, _)| **s != NONE) {
        let t = cast(&if record { t.clone() } else { t.detach() }, edge.meta().dtype)?;
        let sum = &mut tangents[slot as usize];
        *sum = added(sum.take(), Some(t), record)?;
    }
    let mut uses = uses(&arena);
    let safe = modes::with(|m| m.watch.safe_gradients);
    for (i, node) in arena.nodes().enumerate().filter(|(i, _)| arena.works(*i)) {
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
        let arrays = node.take_saved(None)?;
        let is_read = |out: usize| is_read(&arena, arena.outs(i).start + out);
        let (edges, transposed, is_read) = (&node.inputs[..], Some(transposed as _), Some(&is_read as _));
        let saved = Saved { node, arrays: &arrays, edges, record, transposed, pull, is_read };
        let outs = if safe && op.is_pointwise() {
            jvp_keeping_zeros(op.as_ref(), &t, &saved)?
        } else {
            op.jvp(&t as &Tangents, &saved)?
        };
        debug_assert_eq!(outs.len(), node.outs.len(), "{}: one tangent an output", node.name());
        for ((slot, t), meta) in arena.outs(i).zip(outs).zip(node.outs.iter()) {
            if let Some(t) = t.filter(|_| !arena.asked[slot]) {
                assert_eq!(t.dtype(), meta.dtype, "{}: a tangent has its output's dtype", node.name());
                let t = broadcast_to_meta(&t, meta, &live)?;
                tangents[slot] = added(tangents[slot].take(), Some(t), record)?;
            }
        }
    }
    let found = |&s: &u32| (s != NONE).then(|| tangents[s as usize].clone()).flatten();
    Ok(arena.roots.iter().map(found).collect())
}

/// The tangents of a node's outputs by its `vjp` alone. A `vjp` is linear: it takes a cotangent `g` to `g J`, so the
/// gradient of `<g J, t>` by `g` is the tangent `J t`, whatever `g` is.
pub(super) fn transposed(t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
    let NodeKind::Op(op) = &s.node.kind else { unreachable!("a leaf has no rules") };
    let _modes = Modes::enter(|m| {
        m.recording = Recording::On;
        m.packer = None;
        m.observers.clear();
    });
    let live = modes::live_levels();
    let cotangent = |meta: &Meta| -> Result<Option<Tensor>> {
        let zero = || broadcast_to_meta(&Tensor::scalar_of(meta.dtype, 0.0), meta, &live);
        Ok(if meta.dtype.is_differentiable() { Some(zero()?.leaf()) } else { None })
    };
    let g = s.node.outs.iter().map(cotangent).collect::<Result<Grads>>()?;
    let mut roots = vec![];
    for (grad, t) in op.vjp(&g, s)?.iter().zip(t) {
        if let (Some(Tensor { array: _, edge: Some(edge), .. }), Some(t)) = (grad, t) {
            // The request takes and gives gradients as users see them.
            roots.push((edge.clone(), conjugated(broadcast_to(t, &edge.meta().dims)?)?));
        }
    }
    let wanted = g.iter().flatten().filter_map(|g| g.edge.clone()).collect();
    let request =
        Request { roots, wanted, create_graph: s.record, retain_graph: s.record, ..Request::default() };
    let mut found = request.run()?.wanted.into_iter();
    let tangent =
        |g: &Option<Tensor>| g.as_ref().and_then(|_| found.next().flatten()).map(conjugated).transpose();
    g.iter().map(tangent).collect()
}

/// The `jvp` of a pointwise op, with tangents of zero kept zero whatever they are multiplied with.
#[cold]
fn jvp_keeping_zeros(op: &dyn Op, t: &Grads, saved: &Saved<'_>) -> Result<Grads> {
    let mut sums: Grads = Grads::new();
    for (i, tangent) in t.iter().enumerate() {
        let Some(tangent) = tangent else { continue };
        let alone: Grads = (0..t.len()).map(|j| (i == j).then(|| tangent.clone())).collect();
        let outs = op.jvp(&alone as &Tangents, saved)?;
        sums.resize(outs.len(), None);
        for (sum, out) in sums.iter_mut().zip(outs) {
            let Some(mut out) = out else { continue };
            keep_zero(&mut out, tangent)?;
            *sum = added(sum.take(), Some(out), saved.record)?;
        }
    }
    Ok(sums)
}

/// Whether a rule, or the answer, reads the tangent of a slot.
fn is_read(arena: &Arena<'_>, slot: usize) -> bool {
    let reads = |i: usize, k: usize| match &arena.node(i).kind {
        NodeKind::Op(op) => op.reads_tangent(k),
        NodeKind::Leaf(..) => false,
    };
    let among = |i: usize| arena.ins(i).iter().enumerate().any(|(k, s)| *s as usize == slot && reads(i, k));
    arena.roots.iter().any(|s| *s as usize == slot) || (0..arena.len()).any(|i| arena.works(i) && among(i))
}

/// By slot: how often its tangent is read, by rules and for the answer.
fn uses(arena: &Arena<'_>) -> Vec<u32> {
    let mut uses = vec![0; arena.slots()];
    let edges = (0..arena.len()).filter(|&i| arena.works(i)).flat_map(|i| arena.ins(i));
    for &s in edges.chain(&arena.roots).filter(|s| **s != NONE) {
        uses[s as usize] += 1;
    }
    uses
}
