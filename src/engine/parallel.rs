//! The run over the arena by several threads: a list of ready nodes, the highest first, drained by one driver a
//! thread with the caller among them.
//!
//! Nodes are never jobs of the pool, so a kernel that waits inside it picks up only pieces of kernels. A driver on a
//! thread of the pool that finds nothing ready gives the thread back (a kernel of the caller's may be waiting for
//! one) and is called again when there is more; only the caller sleeps here.
//!
//! What calls the host language (hooks, and ops defined there) is on a list of its own, which only the caller drains.

use std::collections::BinaryHeap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use smallvec::SmallVec;

use super::Request;
use super::arena::{Arena, NONE, bytes};
use super::pass::{Cotangents, Pass};
use super::sum::{Sum, Sums};
use super::tick::{PERIOD, Ticker};
use crate::error::{Error, Result};
use crate::graph::Modes;
use crate::kernel::par::{self, Team};

struct Run<'a> {
    pass: &'a Pass<'a>,
    /// By edge: its position among those that lead to the same slot, consumers in descending order.
    positions: Vec<u32>,
    /// By slot.
    sums: Vec<Sum>,
    /// By node: how many edges that lead to it have brought nothing yet.
    pending: Vec<AtomicU32>,
    ready: Mutex<Ready>,
    /// Wakes the caller.
    wake: Condvar,
    /// Which threads ran nodes, one bit each.
    ran: AtomicU64,
    /// Those of the calling thread.
    modes: Modes,
}

struct Ready {
    nodes: BinaryHeap<u32>,
    /// Those that only the caller may run.
    callers: BinaryHeap<u32>,
    /// Nodes that are ready or running.
    left: usize,
    /// Helpers called and not gone again.
    helpers: usize,
    asleep: bool,
    failed: Option<Box<Error>>,
}

impl Ready {
    fn add(&mut self, arena: &Arena<'_>, i: u32) {
        let list = if arena.nodes[i as usize].is_callers() { &mut self.callers } else { &mut self.nodes };
        list.push(i);
        self.left += 1;
    }
}

type Nodes = SmallVec<[u32; 4]>;

/// By slot: the sums that are part of the answer; and how many threads ran nodes.
pub(super) fn run(pass: &Pass<'_>, request: &Request<'_>, seeds: Sums) -> Result<(Sums, usize)> {
    let run = Run::new(pass, seeds);
    par::team(&|crew| run.helper(crew), |crew| run.caller(crew, Ticker::new(request)));
    if let Some(error) = run.lock().failed.take() {
        return Err(error);
    }
    let sums = run.sums.iter().zip(&pass.arena.asked).map(|(s, asked)| s.take(false).filter(|_| *asked));
    Ok((sums.collect(), run.ran.load(Relaxed).count_ones() as usize))
}

impl<'a> Run<'a> {
    fn new(pass: &'a Pass<'a>, mut seeds: Sums) -> Run<'a> {
        let arena = &pass.arena;
        let (positions, pending) = order(arena);
        let mut ready = Ready {
            nodes: BinaryHeap::new(),
            callers: BinaryHeap::new(),
            left: 0,
            helpers: 0,
            asleep: false,
            failed: None,
        };
        for (i, _) in pending.iter().enumerate().filter(|(i, n)| **n == 0 && runs(arena, *i)) {
            ready.add(arena, i as u32);
        }
        Run {
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
    fn helper(&self, crew: Team<'_>) {
        let drive = || -> Result<()> {
            let mut done = None;
            while let Some(i) = self.next_of_helper(done, crew) {
                done = Some(self.node(i)?);
            }
            Ok(())
        };
        let _modes = self.modes.clone().install();
        self.end(catch_unwind(AssertUnwindSafe(drive)));
    }

    /// On the calling thread: until all is done or has failed.
    fn caller(&self, crew: Team<'_>, mut ticker: Ticker<'_>) {
        let drive = || -> Result<()> {
            let mut done = None;
            while let Some(i) = self.next_of_caller(done, crew, &mut ticker)? {
                done = Some(self.node(i)?);
                ticker.after(bytes(self.pass.arena.nodes[i as usize]))?;
            }
            Ok(())
        };
        self.end(catch_unwind(AssertUnwindSafe(drive)));
    }

    /// After an error nothing more is begun.
    fn end(&self, result: std::thread::Result<Result<()>>) {
        if let Err(error) = result.unwrap_or_else(|panic| Err(Error::from_panic(panic))) {
            let mut ready = self.lock();
            ready.nodes.clear();
            ready.callers.clear();
            ready.failed.get_or_insert(error);
            self.wake.notify_one();
        }
    }

    fn next_of_helper(&self, done: Option<Nodes>, crew: Team<'_>) -> Option<u32> {
        let mut ready = self.lock();
        self.finish(&mut ready, done);
        let mut next = ready.nodes.pop();
        // Hooks may have been hung on it since it was found ready.
        while let Some(i) = next.filter(|&i| self.pass.arena.nodes[i as usize].is_callers()) {
            ready.callers.push(i);
            next = ready.nodes.pop();
        }
        if next.is_none() {
            ready.helpers -= 1;
        }
        self.rouse(ready, crew);
        next
    }

    fn next_of_caller(
        &self,
        mut done: Option<Nodes>,
        crew: Team<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<u32>> {
        let until = Instant::now() + par::SPIN_TIME;
        loop {
            let mut ready = self.lock();
            self.finish(&mut ready, done.take());
            if let Some(next) = ready.callers.pop().or_else(|| ready.nodes.pop()) {
                self.rouse(ready, crew);
                return Ok(Some(next));
            }
            if ready.left == 0 || ready.failed.is_some() {
                return Ok(None);
            }
            // What a helper does now is over sooner than a sleeper wakes.
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
            ticker.look()?;
        }
    }

    /// Books a node that has run, with the nodes that this made ready.
    fn finish(&self, ready: &mut Ready, done: Option<Nodes>) {
        if let (Some(nodes), None) = (done, &ready.failed) {
            nodes.into_iter().for_each(|i| ready.add(&self.pass.arena, i));
            ready.left -= 1;
        }
    }

    /// Hands for what is ready: the caller if it sleeps, else one more helper. That one sees to the next.
    fn rouse(&self, mut ready: MutexGuard<'_, Ready>, crew: Team<'_>) {
        let over = ready.left == 0 || ready.failed.is_some();
        if ready.asleep && (over || !ready.nodes.is_empty() || !ready.callers.is_empty()) {
            self.wake.notify_one();
        } else if !over && !ready.nodes.is_empty() && ready.helpers + 1 < par::threads() {
            ready.helpers += 1;
            drop(ready);
            crew.call();
        }
    }

    /// Runs a node's rule and brings its gradients where they belong. Returns the nodes that are ready now.
    fn node(&self, i: u32) -> Result<Nodes> {
        self.ran.fetch_or(1 << par::worker_index().min(63), Relaxed);
        let (arena, i) = (&self.pass.arena, i as usize);
        let mut ready = Nodes::new();
        if let Some(hooks) = arena.nodes[i].hooks().filter(|_| arena.is_live(i)) {
            let mut g: Cotangents = arena.outs(i).map(|s| self.sums[s].take(false)).collect();
            self.pass.run_tensor_hooks(i, hooks, &mut g)?;
            arena.outs(i).zip(g).for_each(|(s, g)| self.sums[s].put(g));
        }
        if !arena.works(i) {
            return Ok(ready);
        }
        let mut g: Cotangents = arena.outs(i).map(|s| self.sums[s].take(arena.asked[s])).collect();
        let grads = self.pass.differentiate(arena.nodes[i], &mut g)?;
        for ((edge, &slot), grad) in arena.edges(i).zip(arena.ins(i)).zip(grads).filter(|e| *e.0.1 != NONE) {
            self.sums[slot as usize].bring(self.positions[edge], grad, self.pass.create_graph)?;
            // Whoever brings last knows that all have been added: an edge is counted only after it has added, for
            // itself and for those that were early.
            let owner = arena.owner(slot);
            if self.pending[owner].fetch_sub(1, AcqRel) == 1 && runs(arena, owner) {
                ready.push(owner as u32);
            }
        }
        Ok(ready)
    }
}

/// Whether there is something to do at a node once its gradients are complete.
fn runs(arena: &Arena<'_>, i: usize) -> bool {
    arena.works(i) || (arena.nodes[i].hooks().is_some() && arena.is_live(i))
}

/// By edge its position among those that lead to the same slot; by node how many edges lead to it.
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
