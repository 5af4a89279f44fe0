//! How the threads of a pool find work and end it: teams of a leader and its helpers, and idle threads that spin for a
//! while before they sleep.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::sync::atomic::AtomicIsize;
use std::time::Duration;

use super::interrupt::{Stopped, following};
use crate::sync::atomic::{AtomicUsize, Ordering::*};
use crate::sync::{Arc, Condvar, Deadline, Mutex, MutexGuard, yield_now};

/// How long an idle thread spins before it sleeps. Waking a thread takes longer than many kernels run.
pub const SPIN_TIME: Duration = Duration::from_micros(100);

/// What a helper does.
type Work = &'static (dyn Fn(Team<'_>) + Sync);

/// A request for one helper.
pub struct Call {
    team: Arc<TeamState>,
    work: Work,
    request: fn(Call),
}

impl Call {
    /// Does the work, unless its team has ended.
    pub fn answer(self) {
        TeamState::help(&self.team, self.work, self.request);
    }
}

/// Pool threads that have just finished work and spin while they wait for more.
#[derive(Default)]
pub struct Spinners {
    /// Idle workers spinning for work that no caller has claimed.
    unclaimed: AtomicUsize,
    /// The length of `posts`, readable without the lock.
    posted: AtomicUsize,
    posts: Mutex<Vec<Call>>,
    /// How often the spinning workers were asked to go back to the pool.
    dismissed: AtomicUsize,
}

impl Spinners {
    pub fn are_there(&self) -> bool {
        self.unclaimed.load(Relaxed) > 0
    }

    /// Claims one spinning worker, if there is one. The claimer then posts a call, or is itself the worker and leaves.
    pub fn claim(&self) -> bool {
        self.unclaimed.fetch_update(AcqRel, Relaxed, |n| n.checked_sub(1)).is_ok()
    }

    fn posts(&self) -> MutexGuard<'_, Vec<Call>> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts a call for a worker that was claimed.
    pub fn post(&self, call: Call) {
        self.posts().push(call);
        self.posted.fetch_add(1, Release);
    }

    /// Asks the workers that spin to go back to the pool.
    pub fn dismiss(&self) {
        self.dismissed.fetch_add(1, Release);
    }

    /// Spins and answers calls until none has come for [`SPIN_TIME`].
    pub fn spin(&self) {
        let (mut until, mut asked) = (Deadline::after(SPIN_TIME), self.dismissed.load(Acquire));
        self.unclaimed.fetch_add(1, AcqRel);
        loop {
            // The lock on the list is released before the work starts.
            let call = if self.posted.load(Acquire) > 0 { self.posts().pop() } else { None };
            if let Some(call) = call {
                self.posted.fetch_sub(1, AcqRel);
                call.answer();
                (until, asked) = (Deadline::after(SPIN_TIME), self.dismissed.load(Acquire));
                self.unclaimed.fetch_add(1, AcqRel);
            }
            if (until.is_over() || self.dismissed.load(Acquire) != asked) && self.claim() {
                return;
            }
            yield_now();
        }
    }
}

/// Helpers at work in all teams. The thread that leads a team is not counted.
pub static BUSY: AtomicIsize = AtomicIsize::new(0);

/// To be called in the child of a fork, which has no helpers.
#[doc(hidden)]
pub fn after_fork_in_child() {
    BUSY.store(0, Relaxed);
}

/// Runs `f`, in which the leader only waits, so that kernels on other threads may use its processor.
pub fn while_blocked<R>(f: impl FnOnce() -> R) -> R {
    BUSY.fetch_sub(1, Relaxed);
    let result = f();
    BUSY.fetch_add(1, Relaxed);
    result
}

/// The pool threads that help one [`lead`] call until it returns.
struct TeamState {
    members: Mutex<Members>,
    left: Condvar,
    stopped: Stopped,
}

struct Members {
    /// Whether the leader still runs. A helper that comes later must touch nothing.
    open: bool,
    at_work: usize,
    panic: Option<Box<dyn Any + Send>>,
}

/// A handle on the running team, to request more helpers.
#[derive(Clone, Copy)]
pub struct Team<'a> {
    state: &'a Arc<TeamState>,
    work: Work,
    request: fn(Call),
}

impl Team<'_> {
    /// Requests one more helper. It may start late or not at all.
    pub fn call(self) {
        (self.request)(Call { team: self.state.clone(), work: self.work, request: self.request });
    }

    /// Makes long kernels end soon on the threads of all helpers, whose work has failed.
    pub fn stop(self) {
        self.state.stopped.store(true, Relaxed);
    }
}

/// Runs `lead` on the calling thread, and `work` on each thread that `request` gets for the calls of both. The rest is
/// as for [`team`](super::par::team).
pub fn lead<R>(work: &(dyn Fn(Team<'_>) + Sync), lead: impl FnOnce(Team<'_>) -> R, request: fn(Call)) -> R {
    // SAFETY: a helper uses `work` only while it is registered in an open team, and this function returns only when the
    // team is closed and has no registered helpers.
    let work = unsafe { std::mem::transmute::<&(dyn Fn(Team<'_>) + Sync), Work>(work) };
    let state = Arc::new(TeamState {
        members: Mutex::new(Members { open: true, at_work: 0, panic: None }),
        left: Condvar::new(),
        stopped: Stopped::default(),
    });
    let team = Team { state: &state, work, request };
    let led = catch_unwind(AssertUnwindSafe(|| lead(team)));
    if led.is_err() {
        team.stop();
    }
    let mut members = state.lock();
    members.open = false;
    let until = Deadline::after(SPIN_TIME);
    while members.at_work > 0 && !until.is_over() {
        drop(members);
        yield_now();
        members = state.lock();
    }
    while members.at_work > 0 {
        members = state.left.wait(members).unwrap_or_else(PoisonError::into_inner);
    }
    let panic = members.panic.take();
    drop(members);
    match (led, panic) {
        (Ok(result), None) => result,
        (Err(panic), _) | (_, Some(panic)) => resume_unwind(panic),
    }
}

impl TeamState {
    fn lock(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn help(state: &Arc<TeamState>, work: Work, request: fn(Call)) {
        {
            let mut members = state.lock();
            if !members.open {
                return;
            }
            members.at_work += 1;
        }
        BUSY.fetch_add(1, Relaxed);
        let work = || following(&state.stopped, || work(Team { state, work, request }));
        let result = catch_unwind(AssertUnwindSafe(work));
        BUSY.fetch_sub(1, Relaxed);
        let mut members = state.lock();
        members.at_work -= 1;
        if let Err(panic) = result {
            members.panic.get_or_insert(panic);
        }
        if members.at_work == 0 {
            state.left.notify_all();
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::atomic::AtomicBool;
    use loom::thread::spawn;

    use super::*;

    #[test]
    fn no_helper_works_after_its_team_has_ended() {
        loom::model(|| {
            let ended = Arc::new(AtomicBool::new(false));
            let work = |_: Team<'_>| assert!(!ended.load(Acquire), "the work is gone");
            let request = |call: Call| _ = spawn(move || call.answer());
            lead(
                &work,
                |team| {
                    team.call();
                    team.call();
                },
                request,
            );
            ended.store(true, Release);
        });
    }

    #[test]
    fn a_helpers_panic_comes_back() {
        loom::model(|| {
            let begun = AtomicBool::new(false);
            let work = |_: Team<'_>| {
                begun.store(true, Release);
                resume_unwind(Box::new("a panic"));
            };
            let led = catch_unwind(AssertUnwindSafe(|| {
                lead(&work, |team| team.call(), |call| _ = spawn(move || call.answer()));
            }));
            assert_eq!(led.is_err(), begun.load(Acquire));
        });
    }

    loom::lazy_static! {
        static ref SPINNERS: Spinners = Spinners::default();
    }

    #[test]
    fn a_call_is_answered_by_the_thread_that_was_claimed() {
        loom::model(|| {
            let spinner = spawn(|| SPINNERS.spin());
            let request = |call: Call| {
                if SPINNERS.claim() {
                    SPINNERS.post(call);
                } else {
                    spawn(move || call.answer());
                }
            };
            let (answered, arrived) = (Mutex::new(false), Condvar::new());
            let work = |_: Team<'_>| {
                *answered.lock().unwrap() = true;
                arrived.notify_one();
            };
            let wait = |team: Team<'_>| {
                team.call();
                let mut done = answered.lock().unwrap();
                while !*done {
                    done = arrived.wait(done).unwrap();
                }
            };
            lead(&work, wait, request);
            spinner.join().unwrap();
        });
    }
}
