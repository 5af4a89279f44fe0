//! Traces: what a thread computes, recorded op by op where ops are applied, so that a program can compute it again with
//! other numbers.
//!
//! A trace is closed: it seals the values that may be others in the next run, and whoever reads the numbers of such a
//! value outside of `apply` makes the trace give up.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use smallvec::SmallVec;

use super::record::Op;
use super::site::Site;
use crate::array::{Array, Seal};
use crate::memory::{NoMemory, TryPush};

/// One op that was applied. The arrays are without seals.
#[derive(Clone)]
pub struct Call {
    pub op: Arc<dyn Op>,
    pub ins: SmallVec<[Array; 2]>,
    pub outs: SmallVec<[Array; 1]>,
    pub batch_ndim: usize,
    pub site: Site,
}

impl Call {
    /// Whether it may draw random numbers: it does so itself, and so has no inputs, or it calls the host's functions.
    pub fn may_draw(&self) -> bool {
        self.ins.is_empty() || self.op.calls_host()
    }
}

/// Why a trace was given up, and the line of the user's program where that was.
#[derive(Clone, Copy, Debug)]
pub struct GivenUp {
    pub reason: &'static str,
    pub site: Site,
}

pub struct Trace {
    number: u32,
    open: AtomicBool,
    calls: Mutex<Vec<Call>>,
    given_up: OnceLock<GivenUp>,
    decisions: Mutex<Decisions>,
    /// What the caller keeps with the trace.
    pub host: Box<dyn Any + Send + Sync>,
}

/// The numbers by which the caller went on, from ops that [decide](Op::decides).
#[derive(Default)]
struct Decisions {
    made: Vec<usize>,
    /// The decisions to take, in reverse order: a call that is traced again may have written to what it decided by.
    given: Vec<usize>,
}

/// The seal on an array whose numbers may differ in the next run: who reads them ends the trace.
struct Guard(Arc<Trace>);

impl Seal for Guard {
    fn read(&self) {
        self.0.give_up("its numbers are read");
    }

    fn trace(&self) -> u32 {
        self.0.number
    }
}

impl Trace {
    pub fn new(host: Box<dyn Any + Send + Sync>) -> Arc<Trace> {
        static NUMBERS: AtomicU32 = AtomicU32::new(1);
        let mut number = NUMBERS.fetch_add(1, Relaxed);
        if number == 0 {
            number = NUMBERS.fetch_add(1, Relaxed);
        }
        Arc::new(Trace {
            number,
            open: AtomicBool::new(true),
            calls: Mutex::default(),
            given_up: OnceLock::new(),
            decisions: Mutex::default(),
            host,
        })
    }

    /// The number of the trace, which is not 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether ops are still recorded.
    pub fn is_open(&self) -> bool {
        self.open.load(Relaxed)
    }

    /// Gives the trace up, if it is open. From now on its seals mean nothing.
    #[cold]
    pub fn give_up(&self, reason: &'static str) {
        if self.open.swap(false, Relaxed) {
            _ = self.given_up.set(GivenUp { reason, site: Site::current() });
            // A thread that records an op now, or that a fork has left behind, keeps what it has recorded.
            let calls = self.calls.try_lock().map(|mut calls| std::mem::take(&mut *calls));
            drop(calls);
        }
    }

    /// Says why an ended trace has no program.
    pub fn note(&self, reason: &'static str) {
        _ = self.given_up.set(GivenUp { reason, site: Site::current() });
    }

    pub fn given_up(&self) -> Option<GivenUp> {
        self.given_up.get().copied()
    }

    /// Ends the trace: what was recorded, or none if it was given up.
    pub fn end(&self) -> Option<Vec<Call>> {
        self.open.swap(false, Relaxed).then(|| std::mem::take(&mut *self.calls()))
    }

    fn decisions(&self) -> MutexGuard<'_, Decisions> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The decisions of the caller so far.
    pub fn decided(&self) -> Vec<usize> {
        self.decisions().made.clone()
    }

    /// Makes the trace take the decisions of another one.
    pub fn follow(&self, mut decided: Vec<usize>) {
        decided.reverse();
        self.decisions().given = decided;
    }

    /// Notes a decision: that of the trace that this one follows, as long as there are any, else what `decide` returns.
    ///
    /// # Errors
    /// What `decide` reports.
    pub fn decide<E>(&self, decide: impl FnOnce() -> Result<usize, E>) -> Result<usize, E> {
        let given = self.decisions().given.pop();
        if let Some(decided) = given {
            return Ok(decided);
        }
        let decided = decide()?;
        self.decisions().made.push(decided);
        Ok(decided)
    }

    /// How many ops were recorded so far.
    pub fn count(&self) -> usize {
        self.calls().len()
    }

    fn calls(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The array under the seal of this trace.
    pub fn seal(self: &Arc<Trace>, array: Array) -> Array {
        array.sealed(Arc::new(Guard(self.clone())))
    }

    /// Records an op that was applied.
    pub(super) fn record(&self, call: Call) -> Result<(), NoMemory> {
        self.calls().try_push(call)
    }

    /// What `f` makes of the ops that were recorded so far.
    pub fn of_calls<R>(&self, f: impl FnOnce(&[Call]) -> R) -> R {
        f(&self.calls())
    }

    /// Whether the array is a value of this trace: sealed by it, or a constant that was made while it was taken.
    pub fn knows(&self, array: &Array) -> bool {
        array.trace() == self.number
    }
}
