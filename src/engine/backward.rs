//! Backward passes: on the calling thread alone, or with other threads.

use std::sync::{Arc, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::arena::{Arena, NONE, bytes};
use super::interrupt::Interrupt;
use super::parallel::run_parallel;
use super::pass::{NodeCotangents, Pass};
use super::request::{Answer, Reached, Request, conjugated, seed};
use super::sum::Sums;
use crate::error::{Error, Result, bail};
use crate::graph::modes::{self, Flags, Modes};
use crate::graph::site::Site;
use crate::graph::{Edge, Meta, Node, NodeKind, Tensor, Watch};
use crate::kernel::par;
use crate::ops::movement::broadcast_to;

impl Request<'_> {
    /// Runs a backward pass.
    ///
    /// # Errors
    /// What the rules and hooks report; [`Error::Freed`] where an earlier pass has freed the graph.
    pub fn run(self) -> Result<Answer> {
        let _site = modes::fix_site();
        let mut found = Error::catch(|| answer(&self))?;
        if modes::flags().has(Flags::TAKERS) {
            // A gradient by a value of all examples is none of the takers' values yet.
            let grads = found.wanted.iter_mut().flatten();
            grads.for_each(|g| g.levels = g.levels.of_takers(0));
        }
        Ok(found)
    }
}

/// Ones in the shape of a tensor: the cotangent of the sum of its elements.
fn ones(t: &Tensor) -> Result<Tensor> {
    broadcast_to(&Tensor::scalar_of(t.dtype(), 1.0), t.dims())
}

/// The roots of a request for the sum of all elements of `outputs`.
fn sum_roots(outputs: &[&Tensor]) -> Result<Vec<(Edge, Tensor)>> {
    outputs.iter().filter_map(|t| Some((t.edge.clone()?, t))).map(|(edge, t)| Ok((edge, ones(t)?))).collect()
}

/// The gradients of the sum of all elements of `outputs` with respect to each of `inputs`. None: the input was not
/// used. With `create_graph` the gradients can be differentiated.
///
/// ```
/// use ferrograd::{Tensor, grad};
/// let x = Tensor::scalar(3.0).leaf();
/// let y = &x * &x * &x;
/// let dy = grad(&[&y], &[&x], true)?[0].clone().unwrap();
/// let ddy = grad(&[&dy], &[&x], false)?[0].clone().unwrap();
/// assert_eq!((dy.array().to_vec::<f64>(), ddy.array().to_vec::<f64>()), (vec![27.0], vec![18.0]));
/// # Ok::<(), Box<ferrograd::Error>>(())
/// ```
///
/// # Errors
/// As [`Request::run`].
pub fn grad(outputs: &[&Tensor], inputs: &[&Tensor], create_graph: bool) -> Result<Vec<Option<Tensor>>> {
    let roots = sum_roots(outputs)?;
    // A fresh leaf, which nothing reaches, stands in for an untracked input.
    let wanted = inputs.iter().filter_map(|t| t.edge.clone().or_else(|| t.leaf().edge)).collect();
    let request = Request { roots, wanted, create_graph, retain_graph: create_graph, ..Request::default() };
    Ok(request.run()?.wanted)
}

/// The gradients of the sum of all elements of `outputs` with respect to all leaves below. The graph is freed.
///
/// ```
/// use ferrograd::{Tensor, backward};
/// let (x, y) = (Tensor::scalar(3.0).leaf(), Tensor::scalar(4.0).leaf());
/// let gradients = backward(&[&(&x * &x + &y)])?;
/// assert_eq!(gradients.get(&x).unwrap().array().to_vec::<f64>(), [6.0]);
/// # Ok::<(), Box<ferrograd::Error>>(())
/// ```
///
/// # Errors
/// As [`Request::run`].
pub fn backward(outputs: &[&Tensor]) -> Result<Gradients> {
    let request = Request { roots: sum_roots(outputs)?, leaves: true, ..Request::default() };
    Ok(Gradients(
        request.run()?.leaves.into_iter().map(|(node, g)| (Arc::as_ptr(&node).addr(), (node, g))).collect(),
    ))
}

/// The gradients that [`backward`] found.
pub struct Gradients(FxHashMap<usize, (Arc<Node>, Tensor)>);

impl Gradients {
    /// The gradient of a leaf; none where no gradient arrived, or `x` is not a leaf.
    pub fn get(&self, x: &Tensor) -> Option<&Tensor> {
        let node = Arc::as_ptr(&x.edge.as_ref()?.node).addr();
        self.0.get(&node).map(|(_, g)| g)
    }
}

fn answer(request: &Request<'_>) -> Result<Answer> {
    let pass = Pass::new(request)?;
    if request.leaves && !pass.live.is_empty() {
        bail!(
            Argument,
            "backward",
            "inside vmap each element of the batch has its own gradient, and .grad holds one: use grad"
        );
    }
    let seeds = seeds(request, &pass)?;
    // The pass watches rules as a whole; the ops in them are checked only for NaN and infinities.
    let watching = pass.checks.is_watching();
    let Watch { debug_nans, debug_infs, .. } = pass.checks.watch;
    let checks = Watch { debug_nans, debug_infs, ..Watch::NOTHING };
    let _modes = watching.then(|| Modes::enter(|m| m.watch = checks));
    // Measurements belong to one thread, and packers and observers are called on the thread that records.
    let alone = watching || modes::flags().has(Flags::PACKING.and(Flags::TRACING));
    let wide = !alone && par::threads() > 1 && pass.arena.is_wide(par::MIN_BYTES);
    let unfinished = Unfinished(&pass, request.retain_graph);
    let (sums, threads) =
        if wide { run_parallel(&pass, request, seeds)? } else { (run_alone(&pass, request, seeds)?, 1) };
    std::mem::forget(unfinished);
    collect(request, &pass, sums, threads)
}

/// A pass that fails frees the whole graph, unless it is retained, so that no half of a graph is left.
struct Unfinished<'a>(&'a Pass<'a>, bool);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let (arena, site) = (&self.0.arena, Site::current());
        for (_, node) in arena.nodes().enumerate().filter(|(i, _)| !self.1 && arena.is_live(*i)) {
            node.free(site);
        }
    }
}

/// By slot: the sum of its seeds, in the order of the roots.
fn seeds(request: &Request<'_>, pass: &Pass<'_>) -> Result<Sums> {
    let mut sums = Sums::new(pass.arena.slots());
    for (&slot, (edge, g)) in pass.arena.roots.iter().zip(&request.roots).filter(|(s, _)| **s != NONE) {
        let g = if request.create_graph { seed(edge, g)? } else { seed(edge, &g.detach())? };
        sums.add(slot as usize, conjugated(g)?, request.create_graph)?;
    }
    Ok(sums)
}

/// Runs all nodes in descending order, in which the consumers of a node come before it: without counters and locks.
/// Returns the sums that are part of the answer.
fn run_alone(pass: &Pass<'_>, request: &Request<'_>, mut sums: Sums) -> Result<Sums> {
    let arena = &pass.arena;
    let mut interrupt = Interrupt::new(request.interrupt);
    for (i, node) in arena.nodes().enumerate().rev() {
        let outs = arena.outs(i);
        if let Some(hooks) = node.hooks().filter(|_| arena.is_live(i)) {
            let mut g: NodeCotangents = outs.clone().map(|s| sums.take(s)).collect();
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
        // Read in place, because a list of gradients is many words to move.
        let mut result = pass.differentiate(node, g);
        let Ok(grads) = &mut result else { return Err(result.expect_err("it is not Ok")) };
        for (&t, grad) in arena.ins(i).iter().zip(grads) {
            if let (true, Some(grad)) = (t != NONE, grad.take()) {
                sums.add(t as usize, grad, pass.create_graph)?;
            }
        }
        interrupt.after_node(bytes(node))?;
    }
    Ok(sums)
}

/// By slot: whether a path of the library's ops leads there from a root. A function of the caller's may give no
/// gradient on purpose.
fn below_ops(arena: &Arena<'_>) -> Vec<bool> {
    let mut below = vec![false; arena.slots()];
    arena.roots.iter().filter(|s| **s != NONE).for_each(|&s| below[s as usize] = true);
    for (i, node) in arena.nodes().enumerate().rev() {
        let own = matches!(&node.kind, NodeKind::Op(op) if !op.calls_host());
        if own && arena.outs(i).any(|s| below[s]) {
            arena.ins(i).iter().filter(|t| **t != NONE).for_each(|&t| below[t as usize] = true);
        }
    }
    below
}

/// The gradient of a value that was used, with derivatives that are all zero.
fn zeros(meta: &Meta) -> Result<Tensor> {
    broadcast_to(&Tensor::scalar_of(meta.dtype, 0.0), &meta.dims)
}

fn collect(request: &Request<'_>, pass: &Pass<'_>, mut sums: Sums, threads: usize) -> Result<Answer> {
    let arena = &pass.arena;
    let mut wanted = Vec::with_capacity(arena.wanted.len());
    for &s in &arena.wanted {
        let found = if s == NONE { None } else { sums.get(s as usize).cloned() };
        wanted.push(found.map(conjugated).transpose()?);
    }
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
            let (node, slot) = (arena.node(i as usize), arena.outs(i as usize).start);
            if returned.contains(&(slot as u32)) {
                continue;
            }
            match sums.take(slot) {
                Some(g) => leaves.push((node.clone(), conjugated(g)?)),
                // The leaf was used, with derivatives that are all zero. A hook may have taken its gradient.
                None if node.hooks().is_none() && used.get_or_insert_with(|| below_ops(arena))[slot] => {
                    leaves.push((node.clone(), zeros(&node.outs[0])?));
                }
                None => {}
            }
        }
    }
    let deferred = std::mem::take(&mut *pass.hooks.deferred.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Answer { wanted, reached, leaves, deferred, threads })
}
