//! Backward passes with several threads. A queue holds the nodes that are ready; the calling thread and one helper on
//! each other thread of the pool take the highest node from it until it is empty.
//!
//! Nodes are not jobs of the pool, so a kernel that waits in the pool picks up only pieces of kernels. A helper that
//! finds no ready node gives its thread back, because a kernel of the caller may be waiting for one, and is called
//! again when a node is ready. Only the caller sleeps here.
//!
//! Nodes that call the host language have a queue of their own, which only the caller takes from.

use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use smallvec::SmallVec;

use super::arena::{Arena, NONE, bytes};
use super::interrupt::{Interrupt, PERIOD};
use super::pass::{NodeCotangents, Pass};
use super::request::Request;
use super::sum::{Sum, Sums};
use crate::error::{Error, Result};
use crate::graph::Modes;
use crate::kernel::par::{self, Team};

/// One backward pass and the threads that run its nodes.
struct Scheduler<'a> {
    pass: &'a Pass<'a>,
    /// By edge: its position among the edges that lead to the same slot, in descending order of their consumers.
    positions: Vec<u32>,
    /// By slot.
    sums: Vec<Sum>,
    /// By node: how many of the edges that lead to it have not been added yet.
    pending: Vec<AtomicU32>,
    ready: Mutex<Ready>,
    /// Wakes the calling thread.
    wake: Condvar,
    /// One bit for each thread that ran a node.
    ran: AtomicU64,
    /// The modes of the calling thread.
    modes: Modes,
}

/// The nodes that can run, and the threads that run them.
struct Ready {
    nodes: BinaryHeap<u32>,
    /// Nodes that only the calling thread may run.
    for_caller: BinaryHeap<u32>,
    /// Nodes that are ready or running.
    left: usize,
    /// Helpers that were called and have not returned.
    helpers: usize,
    /// Whether the calling thread sleeps.
    asleep: bool,
    error: Option<Box<Error>>,
}

impl Ready {
    fn add(&mut self, arena: &Arena<'_>, i: u32) {
        let list =
            if arena.nodes[i as usize].runs_on_caller() { &mut self.for_caller } else { &mut self.nodes };
        list.push(i);
        self.left += 1;
    }
}

type Nodes = SmallVec<[u32; 4]>;

/// Runs all nodes. Returns, by slot, the sums that are part of the answer, and how many threads ran nodes.
pub(super) fn run_parallel(pass: &Pass<'_>, request: &Request<'_>, seeds: Sums) -> Result<(Sums, usize)> {
    let scheduler = Scheduler::new(pass, seeds);
    let caller = |team: Team<'_>| scheduler.caller(team, Interrupt::new(request.interrupt));
    par::team(&|team| scheduler.helper(team), caller);
    if let Some(error) = scheduler.lock().error.take() {
        return Err(error);
    }
    let sums =
        scheduler.sums.iter().zip(&pass.arena.asked).map(|(s, asked)| s.take(false).filter(|_| *asked));
    Ok((sums.collect(), scheduler.ran.load(Relaxed).count_ones() as usize))
}

impl<'a> Scheduler<'a> {
    fn new(pass: &'a Pass<'a>, mut seeds: Sums) -> Scheduler<'a> {
        let arena = &pass.arena;
        let (positions, pending) = order(arena);
        let mut ready = Ready {
            nodes: BinaryHeap::new(),
            for_caller: BinaryHeap::new(),
            left: 0,
            helpers: 0,
            asleep: false,
            error: None,
        };
        for (i, _) in pending.iter().enumerate().filter(|(i, n)| **n == 0 && runs(arena, *i)) {
            ready.add(arena, i as u32);
        }
        Scheduler {
            pass,
            positions,
            sums: (0..pass.arena.slots()).map(|s| Sum::new(seeds.take(s))).collect(),
            ready: Mutex::new(ready),
            pending: pending.into_iter().map(AtomicU32::new).collect(),
            wake: Condvar::new(),
            ran: AtomicU64::new(0),
            modes: Modes::current(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// On a thread of the pool, in the caller's modes: runs nodes until none is ready.
    fn helper(&self, team: Team<'_>) {
        let drive = || -> Result<()> {
            let mut done = None;
            while let Some(i) = self.next_of_helper(done, team) {
                done = Some(self.node(i)?);
            }
            Ok(())
        };
        let _modes = self.modes.clone().install();
        self.end(Error::catch(drive));
    }

    /// On the calling thread: runs nodes until all are done or one has failed.
    fn caller(&self, team: Team<'_>, mut interrupt: Interrupt<'_>) {
        let drive = || -> Result<()> {
            let mut done = None;
            while let Some(i) = self.next_of_caller(done, team, &mut interrupt)? {
                done = Some(self.node(i)?);
                interrupt.after_node(bytes(self.pass.arena.nodes[i as usize]))?;
            }
            Ok(())
        };
        self.end(Error::catch(drive));
    }

    /// Ends the work of one thread. After an error no further node is begun.
    fn end(&self, result: Result<()>) {
        if let Err(error) = result {
            let mut ready = self.lock();
            ready.nodes.clear();
            ready.for_caller.clear();
            ready.error.get_or_insert(error);
            self.wake.notify_one();
        }
    }

    fn next_of_helper(&self, done: Option<Nodes>, team: Team<'_>) -> Option<u32> {
        let mut ready = self.lock();
        self.finish(&mut ready, done);
        let mut next = ready.nodes.pop();
        // It may have got hooks since it was put into the queue.
        while let Some(i) = next.filter(|&i| self.pass.arena.nodes[i as usize].runs_on_caller()) {
            ready.for_caller.push(i);
            next = ready.nodes.pop();
        }
        if next.is_none() {
            ready.helpers -= 1;
        }
        self.wake_one(ready, team);
        next
    }

    fn next_of_caller(
        &self,
        mut done: Option<Nodes>,
        team: Team<'_>,
        interrupt: &mut Interrupt<'_>,
    ) -> Result<Option<u32>> {
        let until = Instant::now() + par::SPIN_TIME;
        loop {
            let mut ready = self.lock();
            self.finish(&mut ready, done.take());
            if let Some(next) = ready.for_caller.pop().or_else(|| ready.nodes.pop()) {
                self.wake_one(ready, team);
                return Ok(Some(next));
            }
            if ready.left == 0 || ready.error.is_some() {
                return Ok(None);
            }
            // Most nodes that helpers run take less time than waking up.
            if Instant::now() < until {
                drop(ready);
                par::while_blocked(std::thread::yield_now);
                continue;
            }
            ready.asleep = true;
            let (mut ready, _) = par::while_blocked(|| self.wake.wait_timeout(ready, PERIOD))
                .unwrap_or_else(PoisonError::into_inner);
            ready.asleep = false;
            drop(ready);
            interrupt.check()?;
        }
    }

    /// Puts the nodes into the queue that became ready when a node was done.
    fn finish(&self, ready: &mut Ready, done: Option<Nodes>) {
        if let (Some(nodes), None) = (done, &ready.error) {
            nodes.into_iter().for_each(|i| ready.add(&self.pass.arena, i));
            ready.left -= 1;
        }
    }

    /// Gets one more thread for the nodes that are ready: the calling thread if it sleeps, otherwise a helper, which
    /// gets the next one in turn.
    fn wake_one(&self, mut ready: MutexGuard<'_, Ready>, team: Team<'_>) {
        let over = ready.left == 0 || ready.error.is_some();
        if ready.asleep && (over || !ready.nodes.is_empty() || !ready.for_caller.is_empty()) {
            self.wake.notify_one();
        } else if !over && !ready.nodes.is_empty() && ready.helpers + 1 < par::threads() {
            ready.helpers += 1;
            drop(ready);
            team.call();
        }
    }

    /// Runs a node and adds its gradients to their sums. Returns the nodes that this makes ready.
    fn node(&self, i: u32) -> Result<Nodes> {
        self.ran.fetch_or(1 << par::worker_index().min(63), Relaxed);
        let (arena, i) = (&self.pass.arena, i as usize);
        let mut ready = Nodes::new();
        if let Some(hooks) = arena.nodes[i].hooks().filter(|_| arena.is_live(i)) {
            let mut g: NodeCotangents = arena.outs(i).map(|s| self.sums[s].take(false)).collect();
            self.pass.run_tensor_hooks(i, hooks, &mut g)?;
            arena.outs(i).zip(g).for_each(|(s, g)| self.sums[s].put(g));
        }
        if !arena.works(i) {
            return Ok(ready);
        }
        let mut g: NodeCotangents = arena.outs(i).map(|s| self.sums[s].take(arena.asked[s])).collect();
        let grads = self.pass.differentiate(arena.nodes[i], &mut g)?;
        for ((edge, &slot), grad) in arena.edges(i).zip(arena.ins(i)).zip(grads).filter(|e| *e.0.1 != NONE) {
            self.sums[slot as usize].add(self.positions[edge], grad, self.pass.create_graph)?;
            // An edge is counted after its gradient is added or left for another thread to add, which is counted later
            // itself. So whoever counts last knows that all are added.
            let owner = arena.owner(slot);
            if self.pending[owner].fetch_sub(1, AcqRel) == 1 && runs(arena, owner) {
                ready.push(owner as u32);
            }
        }
        Ok(ready)
    }
}

/// Whether a node has a rule or hooks to run once its gradients are complete.
fn runs(arena: &Arena<'_>, i: usize) -> bool {
    arena.works(i) || (arena.nodes[i].hooks().is_some() && arena.is_live(i))
}

/// By edge: its position among the edges that lead to the same slot. By node: how many edges lead to it.
fn order(arena: &Arena<'_>) -> (Vec<u32>, Vec<u32>) {
    let edges = arena.edges(arena.nodes.len() - 1).end;
    let (mut positions, mut pending) = (vec![0; edges], vec![0; arena.nodes.len()]);
    let mut next = vec![0; arena.slots()];
    for i in (0..arena.nodes.len()).rev().filter(|&i| arena.works(i)) {
        for (edge, &slot) in arena.edges(i).zip(arena.ins(i)).filter(|(_, s)| **s != NONE) {
            positions[edge] = next[slot as usize];
            next[slot as usize] += 1;
            pending[arena.owner(slot)] += 1;
        }
    }
    (positions, pending)
}
