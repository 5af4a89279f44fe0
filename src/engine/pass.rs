//! One node of a backward pass: its hooks and its rule, with gradients brought into the shapes and levels of their
//! values.

use std::sync::Arc;

use smallvec::SmallVec;

use super::arena::{Arena, NONE};
use super::checks::Checks;
use super::request::{Request, conjugated, takes_any_dtype};
use crate::error::{Error, Result, bail};
use crate::graph::modes;
use crate::graph::site::Site;
use crate::graph::{Edge, Grads, HookContext, HookState, Hooks, Levels, Meta, Node, NodeKind, Saved, Tensor};
use crate::ops::batch::{expand_batch, sum_batch};
use crate::ops::movement::{broadcast_to, sum_to, tracked_cast};
use crate::shape;

/// What all nodes of one backward pass share.
pub(super) struct Pass<'a> {
    pub(super) arena: Arena<'a>,
    pub(super) create_graph: bool,
    /// The call site of the pass, where nodes free what they save; none where the graph is retained.
    free_at: Option<Site>,
    /// The vmap levels whose calls are running: gradients keep their hidden axes.
    pub(super) live: Levels,
    /// Whether leaves accumulate their gradients, and whether the wanted values do.
    leaves: bool,
    accumulates: bool,
    /// Whether wanted values are where the pass ends.
    stops: bool,
    pub(super) hooks: HookState,
    pub(super) checks: Checks<'a>,
}

pub(super) type NodeCotangents = SmallVec<[Option<Tensor>; 1]>;

impl<'a> Pass<'a> {
    /// A pass in the modes of this thread.
    pub(super) fn new(request: &'a Request<'_>) -> Result<Pass<'a>> {
        Ok(Pass {
            arena: Arena::new(request)?,
            create_graph: request.create_graph,
            free_at: (!request.retain_graph).then(Site::current),
            live: modes::live_levels(),
            leaves: request.leaves,
            accumulates: request.accumulates,
            stops: request.stops,
            hooks: HookState::default(),
            checks: Checks::new(request.names),
        })
    }

    /// Calls the hooks that see the complete gradients of a node's outputs; at a node that does not run, also those
    /// that see what it accumulates.
    pub(super) fn run_tensor_hooks(&self, i: usize, hooks: &dyn Hooks, g: &mut NodeCotangents) -> Result<()> {
        let node = self.arena.node(i);
        if self.stops && self.is_wanted(i) {
            return Ok(());
        }
        self.call_hooks(node, g, |at, g| hooks.tensor_hooks(at, g))?;
        if self.arena.works(i) || !self.accumulates_at(i) || g.iter().all(Option::is_none) {
            return Ok(());
        }
        if !node.is_leaf() {
            // The node's gradient is accumulated as it is, so what these hooks make of it is dropped.
            return self.call_hooks(node, &mut g.clone(), |at, g| hooks.pre_hooks(at, g));
        }
        self.call_hooks(node, g, |at, g| hooks.pre_hooks(at, g))?;
        self.call_hooks(node, g, |at, g| {
            g[0] = g[0].take().map(|t| hooks.accumulate_grad(at, t)).transpose()?.flatten();
            Ok(())
        })
    }

    /// Whether a gradient of the node is accumulated.
    fn accumulates_at(&self, i: usize) -> bool {
        if self.is_wanted(i) { self.accumulates } else { self.leaves && self.arena.node(i).is_leaf() }
    }

    /// Whether the caller wants the gradient of an output of the node.
    fn is_wanted(&self, i: usize) -> bool {
        let outs = self.arena.outs(i);
        self.arena.wanted.iter().any(|&s| s != NONE && outs.contains(&(s as usize)))
    }

    /// Calls hooks of a node on gradients of its outputs and checks the gradients that they leave.
    fn call_hooks(
        &self,
        node: &Arc<Node>,
        g: &mut [Option<Tensor>],
        f: impl FnOnce(&HookContext<'_>, &mut [Option<Tensor>]) -> Result<()>,
    ) -> Result<()> {
        conjugate(g)?;
        f(&self.hook_context(node, &|e| self.arena.reaches(e)), g)?;
        conjugate(g)?;
        for (t, meta) in g.iter_mut().zip(node.outs.iter()) {
            if let Some(t) = t {
                self.accept_from_hook(t, meta, node, node)?;
            }
        }
        Ok(())
    }

    fn hook_context<'b>(
        &'b self,
        node: &'b Arc<Node>,
        reaches: &'b dyn Fn(&Edge) -> bool,
    ) -> HookContext<'b> {
        HookContext {
            node,
            create_graph: self.create_graph,
            accumulates: self.accumulates || self.leaves,
            pass: &self.hooks,
            reaches,
        }
    }

    /// Checks a gradient of an output of `of` after hooks of `node` have seen it.
    ///
    /// # Errors
    /// [`Error::Shape`] where the hooks changed its shape or dtype.
    fn accept_from_hook(&self, t: &mut Tensor, meta: &Meta, of: &Node, node: &Node) -> Result<()> {
        if t.dims() != meta.dims.as_slice() || !has_dtype(t, meta, of) {
            let (dims, dtype) = (&meta.dims, meta.dtype);
            bail!(
                Shape,
                node.name(),
                "a hook made {:?} of dtype {} of a gradient of shape {dims:?} and dtype {dtype}",
                t.dims(),
                t.dtype()
            );
        }
        if !self.create_graph {
            t.edge = None;
        }
        sum_to_meta(t, meta, of, &self.live, node)
    }

    /// The gradients of a node's inputs, each in the shape and levels of its input.
    pub(super) fn differentiate(&self, node: &Arc<Node>, g: &mut [Option<Tensor>]) -> Result<Grads> {
        let NodeKind::Op(op) = &node.kind else { unreachable!("leaves have no rule") };
        if g.iter().all(Option::is_none) {
            return Ok(no_grads(node));
        }
        let saved = node.take_saved(self.free_at).map_err(|e| self.checks.renamed(e, node))?;
        for (g, meta) in g.iter_mut().zip(node.outs.iter()).filter(|(_, meta)| !meta.levels.is_empty()) {
            if let Some(t) = g {
                *t = expand_batch(t, &closed_levels(meta, &self.live))?;
            }
        }
        let mut removed = false;
        if let Some(hooks) = node.hooks() {
            self.call_hooks(node, g, |at, g| hooks.pre_hooks(at, g))?;
            removed = !op.calls_host() && g.iter().all(Option::is_none);
        }
        let rule = || match removed {
            true => Ok(no_grads(node)),
            false => op.vjp(
                g,
                &Saved {
                    node,
                    arrays: &saved,
                    edges: &node.inputs,
                    record: self.create_graph,
                    transposed: None,
                    pull,
                    is_read: None,
                },
            ),
        };
        // Completed in place, because a list of gradients is many words to move.
        let mut result = if self.checks.is_watching() { self.checks.watched(node, g, rule) } else { rule() };
        let Ok(grads) = &mut result else { return result };
        debug_assert_eq!(grads.len(), node.inputs.len(), "{}: one gradient an input", node.name());
        for (grad, edge) in grads.iter_mut().zip(&node.inputs) {
            match (grad.as_mut(), edge) {
                (Some(t), Some(edge)) => sum_to_meta(t, edge.meta(), &edge.node, &self.live, node)?,
                _ => *grad = None,
            }
        }
        if let Some(hooks) = node.hooks() {
            conjugate(grads)?;
            conjugate(g)?;
            hooks.post_hooks(&self.hook_context(node, &|e| self.arena.reaches(e)), grads, g)?;
            conjugate(grads)?;
            for (grad, edge) in grads.iter_mut().zip(&node.inputs) {
                match (grad.as_mut(), edge) {
                    (Some(t), Some(edge)) => self.accept_from_hook(t, edge.meta(), &edge.node, node)?,
                    _ => *grad = None,
                }
            }
        }
        result
    }
}

/// No gradient for any input of a node.
#[cold]
fn no_grads(node: &Node) -> Grads {
    node.inputs.iter().map(|_| None).collect()
}

/// See [`Saved::pull`].
pub(super) fn pull(from: &Edge, seed: &Tensor, wanted: &Edge) -> Result<Option<Tensor>> {
    let (roots, wanted) = (vec![(from.clone(), seed.clone())], vec![wanted.clone()]);
    let request = Request { roots, wanted, retain_graph: true, ..Request::default() };
    Ok(request.run()?.wanted.into_iter().next().flatten())
}

/// The gradients of one node's inputs, given cotangents in the shapes of its outputs. Frees nothing.
///
/// # Errors
/// As [`Request::run`].
pub fn single(node: &Arc<Node>, mut g: Vec<Option<Tensor>>, create_graph: bool) -> Result<Grads> {
    let request = Request { create_graph, retain_graph: true, ..Request::default() };
    Error::catch(|| {
        conjugate(&mut g)?;
        let mut grads = Pass::new(&request)?.differentiate(node, &mut g)?;
        conjugate(&mut grads)?;
        Ok(grads)
    })
}

/// [`conjugated`] for each gradient of a list.
fn conjugate(list: &mut [Option<Tensor>]) -> Result<()> {
    for g in list.iter_mut().filter(|g| g.as_ref().is_some_and(|g| g.dtype().is_complex())) {
        *g = g.take().map(conjugated).transpose()?;
    }
    Ok(())
}

/// Whether a gradient has the dtype of its value, an output of `of`, or need not have it.
#[inline]
fn has_dtype(t: &Tensor, meta: &Meta, of: &Node) -> bool {
    t.dtype() == meta.dtype || takes_any_dtype(of)
}

/// The levels of a value whose calls have ended.
fn closed_levels(meta: &Meta, live: &Levels) -> Levels {
    Levels::new(meta.levels.as_slice().iter().copied().filter(|l| !live.contains(*l)))
}

/// Undoes broadcasting: sums a gradient over the axes that its value, an output of `of`, does not have, and over the
/// hidden axes of levels that the value does not have and whose calls have ended. `node` is named in panics.
#[inline]
fn sum_to_meta(t: &mut Tensor, meta: &Meta, of: &Node, live: &Levels, node: &Node) -> Result<()> {
    let is_alike = has_dtype(t, meta, of);
    assert!(is_alike || !meta.dtype.is_differentiable(), "{}: a gradient has its input's dtype", node.name());
    if !shape::same(t.dims(), &meta.dims) {
        *t = sum_to(t, &meta.dims)?;
    }
    if !t.levels.is_empty() {
        let own = t.levels.as_slice().iter().copied();
        let foreign = own.filter(|l| !meta.levels.contains(*l) && !live.contains(*l));
        *t = sum_batch(t, &Levels::new(foreign))?;
    }
    if !meta.dtype.is_differentiable() {
        // The sum of integers of few bits has more of them.
        *t = tracked_cast(t, meta.dtype)?;
    }
    Ok(())
}

/// Does broadcasting: a tangent in the shape of its value and with the hidden axes of the value's levels whose calls
/// have ended.
pub(super) fn broadcast_to_meta(t: &Tensor, meta: &Meta, live: &Levels) -> Result<Tensor> {
    let t = broadcast_to(t, &meta.dims)?;
    if meta.levels.is_empty() { Ok(t) } else { expand_batch(&t, &closed_levels(meta, live)) }
}
