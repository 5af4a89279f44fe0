//! Backward passes with several threads. A queue holds the nodes that are ready; the calling thread and one helper on
//! each other thread of the pool take the highest node from it until it is empty.
//!
//! Nodes are not jobs of the pool, so a kernel that waits in the pool picks up only pieces of kernels.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use super::arena::{Arena, NONE, bytes};
use super::interrupt::Interrupt;
use super::pass::{NodeCotangents, Pass};
use super::queue::{Nodes, Queue};
use super::request::Request;
use super::sum::{Sum, Sums};
use crate::error::{Error, Result};
use crate::graph::Modes;
use crate::kernel::par::{self, Team};

/// So many threads are told apart. Those beyond share the last place.
const THREADS: usize = 64;

/// One backward pass and the threads that run its nodes.
struct Scheduler<'a> {
    pass: &'a Pass<'a>,
    /// By edge: its position among the edges that lead to the same slot, in descending order of their consumers.
    positions: Vec<u32>,
    /// By slot.
    sums: Vec<Sum>,
    /// By node: how many of the edges that lead to it have not been added yet.
    pending: Vec<AtomicU32>,
    queue: Queue<'a>,
    /// One bit for each thread that ran a node.
    ran: AtomicU64,
    /// By thread: the node that it runs, or [`NONE`].
    running: [AtomicU32; THREADS],
    /// The modes of the calling thread.
    modes: Modes,
}

/// Runs all nodes. Returns, by slot, the sums that are part of the answer, and how many threads ran nodes.
pub(super) fn run_parallel(pass: &Pass<'_>, request: &Request<'_>, seeds: Sums) -> Result<(Sums, usize)> {
    let calls_host = |i: u32| pass.arena.node(i as usize).runs_on_caller();
    let scheduler = Scheduler::new(pass, seeds, &calls_host);
    let caller = |team: Team<'_>| scheduler.caller(team, Interrupt::new(request.interrupt));
    par::team(&|team| scheduler.helper(team), caller);
    if let Some(error) = scheduler.queue.take_error() {
        return Err(error);
    }
    let sums =
        scheduler.sums.iter().zip(&pass.arena.asked).map(|(s, asked)| s.take(false).filter(|_| *asked));
    Ok((sums.collect(), scheduler.ran.load(Relaxed).count_ones() as usize))
}

impl<'a> Scheduler<'a> {
    fn new(
        pass: &'a Pass<'a>,
        mut seeds: Sums,
        calls_host: &'a (dyn Fn(u32) -> bool + Sync),
    ) -> Scheduler<'a> {
        let arena = &pass.arena;
        let (positions, pending) = order(arena);
        let nodes = || (0..arena.len() as u32).filter(|&i| runs(arena, i as usize));
        let ready = nodes().filter(|&i| pending[i as usize] == 0);
        let in_order = nodes().filter(|&i| calls_host(i)).collect();
        Scheduler {
            pass,
            queue: Queue::new(ready, in_order, par::threads() - 1, calls_host),
            positions,
            sums: (0..pass.arena.slots()).map(|s| Sum::new(seeds.take(s))).collect(),
            pending: pending.into_iter().map(AtomicU32::new).collect(),
            ran: AtomicU64::new(0),
            running: [const { AtomicU32::new(NONE) }; THREADS],
            modes: Modes::current(),
        }
    }

    /// On a thread of the pool, in the caller's modes: runs nodes until none is ready.
    fn helper(&self, team: Team<'_>) {
        let drive = || -> Result<()> {
            let mut done = None;
            while let Some(i) = self.queue.next_of_helper(done, || team.call()) {
                done = Some(self.node(i)?);
            }
            Ok(())
        };
        let _modes = self.modes.clone().install();
        self.queue.end(Error::catch(drive));
    }

    /// On the calling thread: runs nodes until all are done or one has failed.
    fn caller(&self, team: Team<'_>, mut interrupt: Interrupt<'_>) {
        let drive = || -> Result<()> {
            let mut done = None;
            while let Some(i) = self.queue.next_of_caller(done, || team.call(), || interrupt.check())? {
                done = Some(self.node(i)?);
                interrupt.after_node(bytes(self.pass.arena.node(i as usize)))?;
            }
            Ok(())
        };
        let done = Error::catch(drive);
        let failed = done.is_err();
        self.queue.end(done);
        if failed {
            team.stop();
        }
    }

    /// Runs a node and adds its gradients to their sums. Returns the nodes that this makes ready.
    fn node(&self, i: u32) -> Result<Nodes> {
        let thread = par::worker_index().min(THREADS - 1);
        self.ran.fetch_or(1 << thread, Relaxed);
        self.running[thread].store(i, Relaxed);
        let _over = Over(&self.running[thread]);
        // Cotangents are added in descending order of the nodes that bring them.
        let comes = || self.running.iter().any(|r| (i + 1..NONE).contains(&r.load(Relaxed)));
        let (arena, i) = (&self.pass.arena, i as usize);
        let mut ready = Nodes::new();
        if let Some(hooks) = arena.node(i).hooks().filter(|_| arena.is_live(i)) {
            let mut g: NodeCotangents = arena.outs(i).map(|s| self.sums[s].take(false)).collect();
            self.pass.run_tensor_hooks(i, hooks, &mut g)?;
            arena.outs(i).zip(g).for_each(|(s, g)| self.sums[s].put(g));
        }
        if !arena.works(i) {
            return Ok(ready);
        }
        let mut g: NodeCotangents = arena.outs(i).map(|s| self.sums[s].take(arena.asked[s])).collect();
        let grads = self.pass.differentiate(arena.node(i), &mut g)?;
        for ((edge, &slot), grad) in arena.edges(i).zip(arena.ins(i)).zip(grads).filter(|e| *e.0.1 != NONE) {
            self.sums[slot as usize].add(self.positions[edge], grad, self.pass.create_graph, comes)?;
            // An edge is counted after its gradient is added or left for another thread to add, which is counted later
            // itself. So whoever counts last knows that all are added.
            let owner = arena.owner(slot);
            if self.pending[owner].fetch_sub(1, AcqRel) == 1
                && (runs(arena, owner) || self.queue.expects(owner as u32))
            {
                ready.push(owner as u32);
            }
        }
        Ok(ready)
    }
}

/// Notes at its end that a thread runs no node any more.
struct Over<'a>(&'a AtomicU32);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(NONE, Relaxed);
    }
}

/// Whether a node has a rule or hooks to run once its gradients are complete.
fn runs(arena: &Arena<'_>, i: usize) -> bool {
    arena.works(i) || (arena.node(i).hooks().is_some() && arena.is_live(i))
}

/// By edge: its position among the edges that lead to the same slot. By node: how many edges lead to it.
fn order(arena: &Arena<'_>) -> (Vec<u32>, Vec<u32>) {
    let edges = arena.edges(arena.len() - 1).end;
    let (mut positions, mut pending) = (vec![0; edges], vec![0; arena.len()]);
    let mut next = vec![0; arena.slots()];
    for i in (0..arena.len()).rev().filter(|&i| arena.works(i)) {
        for (edge, &slot) in arena.edges(i).zip(arena.ins(i)).filter(|(_, s)| **s != NONE) {
            positions[edge] = next[slot as usize];
            next[slot as usize] += 1;
            pending[arena.owner(slot)] += 1;
        }
    }
    (positions, pending)
}
