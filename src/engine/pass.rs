//! One node of a backward pass: its rule applied, and its inputs' gradients brought into their shapes and levels.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Request;
use super::arena::Arena;
use crate::error::{Error, Result};
use crate::graph::{Grads, Keep, Kept, Kind, Levels, Live, Meta, Node, Saved, Tensor};
use crate::ops::lanes::{spread_lanes, sum_lanes};
use crate::ops::reduce::sum_to;

/// What every node of a backward pass is told.
pub(super) struct Pass<'a> {
    pub(super) arena: Arena<'a>,
    pub(super) create_graph: bool,
    retain_graph: bool,
    /// The levels whose calls are running.
    pub(super) live: Levels,
}

pub(super) type Cotangents = SmallVec<[Option<Tensor>; 1]>;

impl<'a> Pass<'a> {
    pub(super) fn new(request: &'a Request<'_>) -> Pass<'a> {
        Pass {
            arena: Arena::new(request),
            create_graph: request.create_graph,
            retain_graph: request.retain_graph,
            live: Live::all(),
        }
    }

    /// The gradients of a node's inputs, each in the shape and levels of its input.
    pub(super) fn differentiate(&self, node: &Arc<Node>, mut g: Cotangents) -> Result<Grads> {
        let Kind::Op(op) = &node.kind else { unreachable!("leaves end a path") };
        if g.iter().all(Option::is_none) {
            return Ok(node.inputs.iter().map(|_| None).collect());
        }
        let kept = kept(node, self.retain_graph)?;
        for (g, meta) in g.iter_mut().zip(&node.outs).filter(|(_, meta)| !meta.levels.is_empty()) {
            if let Some(t) = g {
                *t = spread_lanes(t, &closed(meta, &self.live))?;
            }
        }
        let mut grads = op.vjp(&g, &Saved { node, kept: &kept, record: self.create_graph })?;
        debug_assert_eq!(grads.len(), node.inputs.len(), "{}: one gradient an input", node.name());
        for (grad, edge) in grads.iter_mut().zip(&node.inputs) {
            match (grad.as_mut(), edge) {
                (Some(t), Some(edge)) => fit(t, edge.meta(), &self.live, node)?,
                _ => *grad = None,
            }
        }
        Ok(grads)
    }
}

/// The levels of a value whose calls have ended.
pub(super) fn closed(meta: &Meta, live: &Levels) -> Levels {
    Levels::new(meta.levels.as_slice().iter().copied().filter(|l| !live.contains(*l)))
}

/// What the node kept: taken out, so that it is freed afterwards, unless the graph is to be retained. A node that
/// kept nothing is never freed.
pub(super) fn kept(node: &Node, retain: bool) -> Result<SmallVec<[Option<Keep>; 2]>> {
    {
        let mut kept = node.kept();
        match &mut *kept {
            Kept::Freed => (),
            Kept::Live(list) if retain || list.is_empty() => return Ok(list.clone()),
            Kept::Live(list) => {
                let list = std::mem::take(list);
                *kept = Kept::Freed;
                return Ok(list);
            }
        }
    }
    let made = node.site.describe().map_or(String::new(), |at| format!(" The node was made at {at}."));
    Err(Error::Freed { op: node.name(), made })
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
