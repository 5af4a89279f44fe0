//! One node of a backward pass: its rule applied, and its inputs' gradients brought into their shapes and levels.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use smallvec::SmallVec;

use super::Request;
use super::arena::{Arena, NONE};
use super::request::takes_any_dtype;
use crate::error::{Error, Result, bail, interned};
use crate::graph::modes::{self, Flags};
use crate::graph::site::Site;
use crate::graph::watch::{self, First, Watch};
use crate::graph::{Edge, Grads, HookContext, Hooks, Levels, Meta, Node, NodeKind, Run, Saved, Tensor};
use crate::kernel::reduce::non_finite;
use crate::ops::batch::{spread_lanes, sum_lanes};
use crate::ops::entry::Operand;
use crate::ops::movement::broadcast_to;
use crate::ops::movement::sum_to;
use crate::ops::pointwise::compare::equal;
use crate::ops::pointwise::select::select;
use crate::shape;

/// What every node of a backward pass is told.
pub(super) struct Pass<'a> {
    pub(super) arena: Arena<'a>,
    pub(super) create_graph: bool,
    /// The site of the pass, where it frees what it reads; none where the graph is retained.
    free_at: Option<Site>,
    /// The levels whose calls are running.
    pub(super) live: Levels,
    /// The gradients of all leaves but the wanted ones are added to what they have; and those of the wanted values.
    leaves: bool,
    accumulates: bool,
    pub(super) run: Run,
    pub(super) watch: Watch,
    /// Of values and gradients: the first that was not finite.
    first: Mutex<Option<First>>,
    names: Option<&'a (dyn Fn(&Node) -> String + Sync)>,
}

pub(super) type Cotangents = SmallVec<[Option<Tensor>; 1]>;

impl<'a> Pass<'a> {
    pub(super) fn new(request: &'a Request<'_>) -> Pass<'a> {
        Pass {
            arena: Arena::new(request),
            create_graph: request.create_graph,
            free_at: (!request.retain_graph).then(Site::current),
            live: modes::live_levels(),
            leaves: request.leaves,
            accumulates: request.accumulates,
            watch: if modes::flags().has(Flags::WATCHING) {
                modes::with(|m| m.watch)
            } else {
                Watch::NOTHING
            },
            first: Mutex::new(watch::first()),
            names: request.names,
            run: Run::default(),
        }
    }

    /// Shows the complete gradients at a node to its hooks.
    pub(super) fn run_tensor_hooks(&self, i: usize, hooks: &dyn Hooks, g: &mut Cotangents) -> Result<()> {
        let node = self.arena.nodes[i];
        self.hooked(node, g, |at, g| hooks.tensor_hooks(at, g))?;
        if self.arena.works(i) || !self.adds(i) || g.iter().all(Option::is_none) {
            return Ok(());
        }
        if !node.is_leaf() {
            // The node does not run, but its gradient goes on, into a tensor.
            return self.hooked(node, &mut g.clone(), |at, g| hooks.pre_hooks(at, g));
        }
        self.hooked(node, g, |at, g| hooks.pre_hooks(at, g))?;
        self.hooked(node, g, |at, g| {
            g[0] = g[0].take().map(|t| hooks.accumulate_grad(at, t)).transpose()?.flatten();
            Ok(())
        })
    }

    /// Whether a gradient at the node is to be added to what a tensor has.
    fn adds(&self, i: usize) -> bool {
        let outs = self.arena.outs(i);
        if self.arena.wanted.iter().any(|&s| s != NONE && outs.contains(&(s as usize))) {
            self.accumulates
        } else {
            self.leaves && self.arena.nodes[i].is_leaf()
        }
    }

    /// Calls hooks of a node on gradients of its outputs, and checks what they made of them.
    fn hooked(
        &self,
        node: &Arc<Node>,
        g: &mut [Option<Tensor>],
        f: impl FnOnce(&HookContext<'_>, &mut [Option<Tensor>]) -> Result<()>,
    ) -> Result<()> {
        f(&self.passing(node, &|e| self.arena.expects(e)), g)?;
        for (t, meta) in g.iter_mut().zip(node.outs.iter()) {
            if let Some(t) = t {
                self.check(t, meta, node, node)?;
            }
        }
        Ok(())
    }

    fn passing<'b>(&'b self, node: &'b Arc<Node>, expects: &'b dyn Fn(&Edge) -> bool) -> HookContext<'b> {
        HookContext { node, create_graph: self.create_graph, run: &self.run, expects }
    }

    /// A gradient of a value of `of` that hooks of `node` have had in their hands.
    fn check(&self, t: &mut Tensor, meta: &Meta, of: &Node, node: &Node) -> Result<()> {
        if t.dims() != meta.dims.as_slice() || !is_of(t, meta, of) {
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
        fit(t, meta, of, &self.live, node)
    }

    /// The gradients of a node's inputs, each in the shape and levels of its input.
    pub(super) fn differentiate(&self, node: &Arc<Node>, g: &mut [Option<Tensor>]) -> Result<Grads> {
        let NodeKind::Op(op) = &node.kind else { unreachable!("leaves end a path") };
        if g.iter().all(Option::is_none) {
            return Ok(no_grads(node));
        }
        let kept = node.take_saved(self.free_at).map_err(|e| self.renamed(e, node))?;
        for (g, meta) in g.iter_mut().zip(node.outs.iter()).filter(|(_, meta)| !meta.levels.is_empty()) {
            if let Some(t) = g {
                *t = spread_lanes(t, &closed(meta, &self.live))?;
            }
        }
        let mut removed = false;
        if let Some(hooks) = node.hooks() {
            self.hooked(node, g, |at, g| hooks.pre_hooks(at, g))?;
            removed = !op.calls_host() && g.iter().all(Option::is_none);
        }
        let start = (self.watch.times || self.watch.nodes).then(Instant::now);
        let rule = || match removed {
            true => Ok(no_grads(node)),
            false => op.vjp(g, &Saved { node, kept: &kept, edges: &node.inputs, record: self.create_graph }),
        };
        // Filled and checked where it is: many words to be moved for each node.
        let mut done = if self.watch.nans { self.named(node, rule) } else { rule() };
        let Ok(grads) = &mut done else { return done };
        if self.watch != Watch::default() {
            self.look(node, g, grads, start)?;
        }
        debug_assert_eq!(grads.len(), node.inputs.len(), "{}: one gradient an input", node.name());
        for (grad, edge) in grads.iter_mut().zip(&node.inputs) {
            match (grad.as_mut(), edge) {
                (Some(t), Some(edge)) => fit(t, edge.meta(), &edge.node, &self.live, node)?,
                _ => *grad = None,
            }
        }
        if let Some(hooks) = node.hooks() {
            hooks.post_hooks(&self.passing(node, &|e| self.arena.expects(e)), grads, g)?;
            for (grad, edge) in grads.iter_mut().zip(&node.inputs) {
                match (grad.as_mut(), edge) {
                    (Some(t), Some(edge)) => self.check(t, edge.meta(), &edge.node, node)?,
                    _ => *grad = None,
                }
            }
        }
        done
    }
}

/// No gradient for any input of a node.
#[cold]
fn no_grads(node: &Node) -> Grads {
    node.inputs.iter().map(|_| None).collect()
}

/// What one node makes of cotangents of its outputs, in their shapes: the gradients of its inputs. Nothing is freed.
///
/// # Errors
/// As [`Request::run`].
pub fn single(node: &Arc<Node>, mut g: Vec<Option<Tensor>>, create_graph: bool) -> Result<Grads> {
    let request = Request { create_graph, retain_graph: true, ..Request::default() };
    let one = || Pass::new(&request).differentiate(node, &mut g);
    catch_unwind(AssertUnwindSafe(one)).unwrap_or_else(|panic| Err(Error::from_panic(panic)))
}

impl Pass<'_> {
    /// What the caller calls a node.
    fn name_of(&self, node: &Node) -> String {
        self.names.map_or_else(|| node.name().to_owned(), |name_of| name_of(node))
    }

    /// That the node was freed, in the caller's words.
    #[cold]
    fn renamed(&self, mut error: Box<Error>, node: &Node) -> Box<Error> {
        if let Error::Freed { op, .. } = &mut *error {
            *op = interned(&self.name_of(node));
        }
        error
    }

    /// What a rule gives. A value in it that is not finite is reported with the node whose gradient it was to be.
    #[cold]
    fn named(&self, node: &Node, rule: impl FnOnce() -> Result<Grads>) -> Result<Grads> {
        let done = catch_unwind(AssertUnwindSafe(rule)).unwrap_or_else(|panic| Err(Error::from_panic(panic)));
        done.map_err(|mut error| {
            if let Error::NotFinite { what, .. } = &mut *error {
                let at = node.site().describe().map_or(String::new(), |at| format!(", recorded at {at}"));
                *what = format!("{what}, in the gradient of {}{at}", self.name_of(node));
            }
            error
        })
    }

    /// What the caller watches for, at the gradients that a rule has made.
    #[cold]
    fn look(
        &self,
        node: &Node,
        g: &[Option<Tensor>],
        grads: &mut Grads,
        start: Option<Instant>,
    ) -> Result<()> {
        let NodeKind::Op(op) = &node.kind else { unreachable!("leaves have no rule") };
        if let Some(start) = start {
            watch::count_rule(self.watch, node, start, grads.iter().flatten().map(|t| &t.array));
        }
        if let (true, true, [Some(g)]) = (self.watch.safe, op.is_pointwise(), g) {
            for t in grads.iter_mut().flatten().filter(|t| t.dims() == g.dims()) {
                spare(t, g)?;
            }
        }
        // An op that is not pointwise is spared where nothing at all arrives.
        let is_nan = |t: &Tensor| non_finite::contains(&t.array, non_finite::NonFinite::Nan);
        if self.watch.safe
            && !op.is_pointwise()
            && grads.iter().flatten().any(is_nan)
            && g.iter().flatten().all(|g| non_finite::is_zero(&g.array))
        {
            grads.iter_mut().for_each(|t| *t = None);
        }
        if self.watch.anomalies {
            let is_new = |t: &Tensor| !g.iter().flatten().any(|g| g.array.is_same(&t.array));
            for (i, t) in grads.iter().enumerate() {
                let Some(t) = t.as_ref().filter(|t| is_new(t)) else { continue };
                if !non_finite::contains(&t.array, non_finite::NonFinite::Any) {
                    continue;
                }
                let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
                if non_finite::contains(&t.array, non_finite::NonFinite::Nan) {
                    let name = self.name_of(node);
                    let at = node
                        .site()
                        .describe()
                        .map_or(String::new(), |at| format!(" It was recorded at {at}."));
                    let first = first.map_or(String::new(), |first| format!(" {first}"));
                    bail!(
                        NotFinite,
                        "detect_anomaly",
                        "Function '{name}' returned nan values in its {i}th output.{at}{first}"
                    );
                }
                first.get_or_insert(First { of: node.name(), site: node.site(), backward: true });
            }
        }
        Ok(())
    }
}

/// Saves what a pointwise rule made of `from` zero where that is zero, unless no NaN can come of it.
pub(super) fn spare(t: &mut Tensor, from: &Tensor) -> Result<()> {
    if t.is_tracked() || non_finite::contains(&t.array, non_finite::NonFinite::Nan) {
        let zero = Tensor::scalar_of(t.dtype(), 0.0);
        let still = equal(Operand::Tensor(&broadcast_to(from, t.dims())?), Operand::Tensor(&zero))?;
        *t = select(&still, &zero, t)?;
    }
    Ok(())
}

/// Whether a gradient has the dtype of the value, one of `of`, that it belongs to, or need not have it.
#[inline]
fn is_of(t: &Tensor, meta: &Meta, of: &Node) -> bool {
    t.dtype() == meta.dtype || takes_any_dtype(of)
}

/// The levels of a value whose calls have ended.
pub(super) fn closed(meta: &Meta, live: &Levels) -> Levels {
    Levels::new(meta.levels.as_slice().iter().copied().filter(|l| !live.contains(*l)))
}

/// Broadcasting undone: the gradient summed over the logical axes that its input had not, and over the hidden axes
/// of levels that its input had not, unless the level's call is still running. `of` is what made the input.
#[inline]
fn fit(t: &mut Tensor, meta: &Meta, of: &Node, live: &Levels, node: &Node) -> Result<()> {
    assert!(is_of(t, meta, of), "{}: a gradient has its input's dtype", node.name());
    if !shape::same(t.dims(), &meta.dims) {
        *t = sum_to(t, &meta.dims)?;
    }
    if !t.levels.is_empty() {
        let strange =
            t.levels.as_slice().iter().copied().filter(|l| !meta.levels.contains(*l) && !live.contains(*l));
        *t = sum_lanes(t, &Levels::new(strange))?;
    }
    Ok(())
}
