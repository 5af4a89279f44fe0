//! The nodes of a parallel backward pass that can run now, and who takes them: the calling thread and its helpers.
//!
//! A helper that finds no ready node gives its thread back, because a kernel of the caller may be waiting for one, and is
//! called again when a node is ready. Only the caller sleeps here.
//!
//! Nodes that call the host language are only taken by the caller, in descending order: so programs in several
//! processes that record the same graph communicate in the same order.

use std::collections::BinaryHeap;
use std::sync::PoisonError;

use smallvec::SmallVec;

use super::interrupt::PERIOD;
use crate::error::{Error, Result};
use crate::kernel::par::{SPIN_TIME, while_blocked};
use crate::sync::{Condvar, Deadline, Mutex, MutexGuard, yield_now};

/// The nodes that became ready when a node was done.
pub(super) type Nodes = SmallVec<[u32; 4]>;

pub(super) struct Queue<'a> {
    ready: Mutex<Ready>,
    /// Wakes the calling thread.
    wake: Condvar,
    /// How many helpers may be at work at a time.
    most_helpers: usize,
    /// Whether a node calls the host language. It may begin to do so while the pass runs, by hooks that it gets.
    calls_host: &'a (dyn Fn(u32) -> bool + Sync),
}

struct Ready {
    /// For every thread.
    nodes: BinaryHeap<u32>,
    /// For the calling thread.
    for_caller: BinaryHeap<u32>,
    /// The nodes for the calling thread that have not begun, in ascending order. The last one runs next.
    order: Vec<u32>,
    /// Nodes for the calling thread that got hooks during the pass. They have no place in the order.
    late: Vec<u32>,
    /// Nodes that are ready or running.
    left: usize,
    /// Helpers that were called and have not returned.
    helpers: usize,
    /// Whether the calling thread sleeps.
    asleep: bool,
    error: Option<Box<Error>>,
}

impl Ready {
    /// Whether the next node in order is ready.
    fn has_next_in_order(&self) -> bool {
        self.for_caller.peek().is_some_and(|i| self.order.last() == Some(i))
    }

    fn has_for_caller(&self) -> bool {
        self.has_next_in_order() || !self.late.is_empty()
    }

    fn next_of_caller(&mut self) -> Option<u32> {
        if self.has_next_in_order() {
            self.order.pop();
            return self.for_caller.pop();
        }
        self.late.pop().or_else(|| self.nodes.pop())
    }

    fn is_over(&self) -> bool {
        self.left == 0 || self.error.is_some()
    }
}

impl<'a> Queue<'a> {
    /// A queue that begins with these nodes. All nodes that call the host language are in `order`, ascending, and each
    /// must become ready at some time.
    pub(super) fn new(
        nodes: impl IntoIterator<Item = u32>,
        order: Vec<u32>,
        most_helpers: usize,
        calls_host: &'a (dyn Fn(u32) -> bool + Sync),
    ) -> Queue<'a> {
        let ready = Ready {
            nodes: BinaryHeap::new(),
            for_caller: BinaryHeap::new(),
            order,
            late: vec![],
            left: 0,
            helpers: 0,
            asleep: false,
            error: None,
        };
        let queue = Queue { ready: Mutex::new(ready), wake: Condvar::new(), most_helpers, calls_host };
        nodes.into_iter().for_each(|i| queue.add(&mut queue.lock(), i));
        queue
    }

    fn add(&self, ready: &mut Ready, i: u32) {
        if ready.order.binary_search(&i).is_ok() {
            ready.for_caller.push(i);
        } else if (self.calls_host)(i) {
            ready.late.push(i);
        } else {
            ready.nodes.push(i);
        }
        ready.left += 1;
    }

    fn lock(&self) -> MutexGuard<'_, Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the node was one of those that call the host language when the pass began, and has not run. It must become
    /// ready also if its hooks were removed since, because the next one in order waits for it.
    pub(super) fn expects(&self, i: u32) -> bool {
        self.lock().order.binary_search(&i).is_ok()
    }

    /// Ends the work of one thread. After an error no further node is begun.
    pub(super) fn end(&self, result: Result<()>) {
        if let Err(error) = result {
            let mut ready = self.lock();
            ready.nodes.clear();
            ready.for_caller.clear();
            ready.late.clear();
            ready.error.get_or_insert(error);
            self.wake.notify_one();
        }
    }

    pub(super) fn take_error(&self) -> Option<Box<Error>> {
        self.lock().error.take()
    }

    /// The next node for a helper, after it has run one. `call` asks for one more helper.
    pub(super) fn next_of_helper(&self, done: Option<Nodes>, call: impl FnOnce()) -> Option<u32> {
        let mut ready = self.lock();
        self.finish(&mut ready, done);
        let mut next = ready.nodes.pop();
        while let Some(i) = next.filter(|&i| (self.calls_host)(i)) {
            ready.late.push(i);
            next = ready.nodes.pop();
        }
        if next.is_none() {
            ready.helpers -= 1;
        }
        self.wake_one(ready, call);
        next
    }

    /// The next node for the calling thread, after it has run one; none when all are done or one has failed. While the
    /// thread waits it `ask`s from time to time whether to go on.
    pub(super) fn next_of_caller(
        &self,
        mut done: Option<Nodes>,
        call: impl FnOnce(),
        mut ask: impl FnMut() -> Result<()>,
    ) -> Result<Option<u32>> {
        let until = Deadline::after(SPIN_TIME);
        loop {
            let mut ready = self.lock();
            self.finish(&mut ready, done.take());
            if let Some(next) = ready.next_of_caller() {
                self.wake_one(ready, call);
                return Ok(Some(next));
            }
            if ready.is_over() {
                return Ok(None);
            }
            // Most nodes that helpers run take less time than waking up.
            if !until.is_over() {
                drop(ready);
                while_blocked(yield_now);
                continue;
            }
            ready.asleep = true;
            let (mut ready, _) = while_blocked(|| self.wake.wait_timeout(ready, PERIOD))
                .unwrap_or_else(PoisonError::into_inner);
            ready.asleep = false;
            drop(ready);
            ask()?;
        }
    }

    /// Puts the nodes into the queue that became ready when a node was done.
    fn finish(&self, ready: &mut Ready, done: Option<Nodes>) {
        if let (Some(nodes), None) = (done, &ready.error) {
            nodes.into_iter().for_each(|i| self.add(ready, i));
            ready.left -= 1;
        }
    }

    /// Gets one more thread for the nodes that are ready: the calling thread if it sleeps, otherwise a helper, which
    /// gets the next one in turn.
    fn wake_one(&self, mut ready: MutexGuard<'_, Ready>, call: impl FnOnce()) {
        let over = ready.is_over();
        if ready.asleep && (over || !ready.nodes.is_empty() || ready.has_for_caller()) {
            self.wake.notify_one();
        } else if !over && !ready.nodes.is_empty() && ready.helpers < self.most_helpers {
            ready.helpers += 1;
            drop(ready);
            call();
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc as StdArc;

    use loom::model::Builder;
    use loom::thread::{JoinHandle, spawn};

    use super::*;
    use crate::sync::Arc;
    use crate::sync::atomic::{AtomicU32, Ordering::AcqRel};

    /// A pass whose nodes only note that they ran.
    struct Pass {
        queue: Queue<'static>,
        /// By node: the nodes that it leads to.
        inputs: &'static [&'static [u32]],
        pending: Vec<AtomicU32>,
        ran: Mutex<Vec<u32>>,
        helpers: Mutex<Vec<JoinHandle<()>>>,
        fails_at: Option<u32>,
    }

    impl Pass {
        fn node(&self, i: u32) -> Result<Nodes> {
            if self.fails_at == Some(i) {
                return Err(Error::NoMemory.into());
            }
            self.ran.lock().unwrap().push(i);
            let is_last = |j: &u32| self.pending[*j as usize].fetch_sub(1, AcqRel) == 1;
            Ok(self.inputs[i as usize].iter().copied().filter(is_last).collect())
        }

        fn call(this: &Arc<Pass>) {
            let pass = this.clone();
            let helper = spawn(move || {
                let drive = || -> Result<()> {
                    let mut done = None;
                    while let Some(i) = pass.queue.next_of_helper(done, || Pass::call(&pass)) {
                        done = Some(pass.node(i)?);
                    }
                    Ok(())
                };
                pass.queue.end(drive());
            });
            this.helpers.lock().unwrap().push(helper);
        }
    }

    /// Runs the nodes in every order with one helper at a time. `host` are the nodes that call the host language. Returns
    /// the orders in which the nodes ran.
    fn orders(
        inputs: &'static [&'static [u32]],
        host: &'static [u32],
        fails_at: Option<u32>,
    ) -> Vec<Vec<u32>> {
        let found = StdArc::new(std::sync::Mutex::new(vec![]));
        let (mut builder, all) = (Builder::new(), found.clone());
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let uses = |i: u32| inputs.iter().flat_map(|to| to.iter()).filter(|j| **j == i).count() as u32;
            let nodes = 0..inputs.len() as u32;
            let roots = nodes.clone().filter(|&i| uses(i) == 0);
            let calls_host: &'static (dyn Fn(u32) -> bool + Sync) =
                Box::leak(Box::new(|i| host.contains(&i)));
            let pass = Arc::new(Pass {
                queue: Queue::new(roots, host.to_vec(), 1, calls_host),
                inputs,
                pending: nodes.map(|i| AtomicU32::new(uses(i))).collect(),
                ran: Mutex::new(vec![]),
                helpers: Mutex::new(vec![]),
                fails_at,
            });
            let drive = || -> Result<()> {
                let mut done = None;
                while let Some(i) = pass.queue.next_of_caller(done, || Pass::call(&pass), || Ok(()))? {
                    done = Some(pass.node(i)?);
                }
                Ok(())
            };
            pass.queue.end(drive());
            loop {
                let Some(helper) = pass.helpers.lock().unwrap().pop() else { break };
                helper.join().unwrap();
            }
            assert_eq!(pass.queue.take_error().is_some(), fails_at.is_some());
            all.lock().unwrap().push(pass.ran.lock().unwrap().clone());
        });
        let mut found = found.lock().unwrap().clone();
        found.sort();
        found.dedup();
        found
    }

    /// Two branches, which meet in node 0.
    const BRANCHES: &[&[u32]] = &[&[], &[0], &[0], &[1, 2]];

    #[test]
    fn every_node_runs_once_after_its_users_and_nobody_waits_for_ever() {
        let found = orders(BRANCHES, &[], None);
        assert_eq!(found, [[3, 1, 2, 0], [3, 2, 1, 0]]);
    }

    #[test]
    fn nodes_that_call_the_host_run_in_descending_order() {
        // Nodes 3 and 1 become ready at once. Node 1 waits for node 2.
        assert_eq!(orders(&[&[], &[0], &[0], &[2], &[3, 1]], &[1, 2], None), [[4, 3, 2, 1, 0]]);
    }

    #[test]
    fn after_an_error_everyone_returns() {
        for at in [1, 2, 3] {
            assert!(orders(BRANCHES, &[2], Some(at)).iter().all(|ran| !ran.contains(&0)));
        }
    }
}
