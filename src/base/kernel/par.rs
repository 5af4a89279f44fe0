//! The library's own thread pool, and the only place where kernels start parallel work.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::interrupt;
use super::team::{self, BUSY, Call, Spinners};
pub use super::team::{SPIN_TIME, Team, after_fork_in_child, while_blocked};
use crate::memory;

/// The largest number of threads that a caller can set.
pub const MAX_THREADS: usize = 64;

struct Pool {
    process: u32,
    rayon: rayon::ThreadPool,
    spinners: Spinners,
}

/// One pool for each number of threads, built on first use and never dropped. A pool belongs to the process that built
/// it: after a fork the child process sees its parent's process id in the pool and builds a new one.
static POOLS: [AtomicPtr<Pool>; MAX_THREADS + 1] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MAX_THREADS + 1];
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// The number of threads that do work, including the calling one: the value set by [`set_threads`], else
/// `FERROGRAD_NUM_THREADS`, else the number of processors.
pub fn threads() -> usize {
    match THREADS.load(Relaxed) {
        0 => {
            let asked = std::env::var("FERROGRAD_NUM_THREADS").ok().and_then(|s| s.parse().ok());
            let n = asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
            THREADS.store(n.clamp(1, MAX_THREADS), Relaxed);
            n.clamp(1, MAX_THREADS)
        }
        n => n,
    }
}

/// Sets the number of threads, clamped to 1 and [`MAX_THREADS`]. Results do not depend on it.
pub fn set_threads(n: usize) {
    THREADS.store(n.clamp(1, MAX_THREADS), Relaxed);
}

/// The rayon pool for the current number of threads, for libraries that use rayon themselves. Workers that spin are
/// sent back to it.
///
/// # Panics
/// If the system refuses threads.
pub fn pool() -> &'static rayon::ThreadPool {
    let pool = current().expect("the system refuses threads");
    pool.spinners.dismiss();
    &pool.rayon
}

/// The pool of this process. None if the system refuses threads, for each of which it needs memory.
fn current() -> Option<&'static Pool> {
    let slot = &POOLS[threads()];
    let process = std::process::id();
    let old = slot.load(Acquire);
    // SAFETY: pools are never freed, so every non-null pointer in `POOLS` is valid.
    if let Some(pool) = unsafe { old.as_ref() }.filter(|p| p.process == process) {
        return Some(pool);
    }
    let rayon = started(threads())?;
    let new = Box::into_raw(Box::new(Pool { process, rayon, spinners: Spinners::default() }));
    match slot.compare_exchange(old, new, AcqRel, Acquire) {
        Ok(_) => {
            if !old.is_null() {
                // A fork copies the counter but not the threads that it counts.
                BUSY.store(0, Relaxed);
            }
            // SAFETY: `new` comes from `Box::into_raw` and is never freed.
            Some(unsafe { &*new })
        }
        Err(other) => {
            // SAFETY: another thread stored its pool first, so this one is unshared and comes from `Box::into_raw`.
            drop(unsafe { Box::from_raw(new) });
            // SAFETY: the pointer comes from `POOLS`, whose pools are never freed.
            Some(unsafe { &*other })
        }
    }
}

/// Bytes for a thread's stack, with some more for its local variables.
const THREAD: usize = 3 << 20;

/// Starts the threads of a pool, and waits until each of them has the memory that it begins with. The C library takes
/// the memory of a thread's local variables where the thread first uses one, and ends the process if there is none. So
/// nobody may use up the memory before that.
fn started(threads: usize) -> Option<rayon::ThreadPool> {
    memory::ensure(memory::SMALL + threads * THREAD).ok()?;
    let running = Arc::new((Mutex::new(0), Condvar::new()));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("ferrograd-{i}"))
        .start_handler({
            let running = running.clone();
            move |_| {
                memory::begin_thread();
                *running.0.lock().unwrap() += 1;
                running.1.notify_one();
            }
        })
        .build()
        .ok()?;
    let count = running.0.lock().unwrap();
    drop(running.1.wait_while(count, |count| *count < threads));
    Some(pool)
}

/// The usual number of elements in one piece of a parallel kernel.
pub const PIECE: usize = 1 << 15;

/// Work on fewer bytes than this does not pay for waking a thread.
pub const MIN_BYTES: usize = 512 << 10;

/// Work on fewer bytes than this does not pay even for a thread that is spinning.
const SMALL_BYTES: usize = 64 << 10;

/// The piece size for `n` elements, for kernels whose results do not depend on the cuts.
pub fn piece_size(n: usize) -> usize {
    (n / 8).next_multiple_of(64).clamp(1 << 11, PIECE)
}

/// Whether work on this many bytes should use other threads now. The answer depends on which threads are spinning, so
/// it is only for kernels whose results are the same either way.
#[inline]
pub fn is_worthwhile(bytes: usize) -> bool {
    bytes >= MIN_BYTES
        || bytes >= SMALL_BYTES && {
            // SAFETY: pools are never freed, so every non-null pointer in `POOLS` is valid.
            let pool = unsafe { POOLS[threads()].load(Acquire).as_ref() };
            pool.is_some_and(|p| p.spinners.are_there())
        }
}

/// The number of threads that are not at work for any team.
fn idle() -> usize {
    usize::try_from(threads() as isize - 1 - BUSY.load(Relaxed)).unwrap_or(0)
}

/// Runs `lead` on the calling thread. Each [`Team::call`] in `lead` or in `work` requests one pool thread, which runs
/// `work` as soon as it is free. Returns when `lead` and all helpers that have started are done; helpers that have not
/// started by then never do. A helper's panic resumes here.
pub fn team<R>(work: &(dyn Fn(Team<'_>) + Sync), lead: impl FnOnce(Team<'_>) -> R) -> R {
    team::lead(work, lead, request)
}

/// Gets a thread of the pool for a call: one that spins, or else one that rayon wakes.
fn request(call: Call) {
    let Some(pool) = current() else { return };
    if pool.spinners.claim() {
        return pool.spinners.post(call);
    }
    pool.rayon.spawn(move || {
        call.answer();
        pool.spinners.spin();
    });
}

/// The index of the current pool thread, from 1; 0 on any other thread.
pub fn worker_index() -> usize {
    rayon::current_thread_index().map_or(0, |i| i + 1)
}

/// Runs `work` on `0..n` cut into pieces of `piece` elements; the cuts depend on nothing else. The calling thread works
/// too, and waits only for helpers that have started. Each thread starts with a stretch of neighbouring pieces, so that
/// repeated calls find their data in its cache, and then claims pieces that others have left.
pub fn pieces(n: usize, piece: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    let count = n.div_ceil(piece.max(1));
    let run = |i: usize| {
        interrupt::listen();
        work(i * piece..((i + 1) * piece).min(n));
    };
    let helpers = idle().min(count.saturating_sub(1));
    if helpers == 0 {
        (0..count).for_each(run);
        return;
    }
    let stretch = count.div_ceil(helpers + 1);
    let next: SmallVec<[AtomicUsize; 4]> = (0..=helpers).map(|s| AtomicUsize::new(s * stretch)).collect();
    let claim = |own: usize| {
        // A panic drops this guard, and then no piece is left to claim.
        let stop = StopOnPanic(&next, count);
        for s in (own..=helpers).chain(0..own) {
            let end = ((s + 1) * stretch).min(count);
            loop {
                let i = next[s].fetch_add(1, Relaxed);
                if i >= end {
                    break;
                }
                run(i);
            }
        }
        std::mem::forget(stop);
    };
    let came = AtomicUsize::new(1);
    team(&|_| claim(came.fetch_add(1, Relaxed)), |team| {
        (0..helpers).for_each(|_| team.call());
        claim(0);
    });
}

/// Runs `work` that cannot ask whether to go on, on a thread of its own if somebody can stop this one. Then the thread is
/// left alone: it goes on to the end of its work, and nobody gets the result.
pub fn apart<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    if !interrupt::is_heard() {
        return work();
    }
    let result = Arc::new(Mutex::new(None));
    let place = result.clone();
    job_apart(Box::new(move || *lock(&place) = Some(work())));
    lock(&result).take().expect("the job has ended")
}

/// Work that leaves its result where its owner finds it.
type Job = Box<dyn FnOnce() + Send>;

/// [`apart`] for all types of results. Where no thread can be had, the job runs on this one.
fn job_apart(job: Job) {
    /// The job until its thread takes it, and how it ended.
    type State = (Mutex<(Option<Job>, Option<std::thread::Result<()>>)>, Condvar);
    if memory::ensure(memory::SMALL + THREAD).is_err() {
        return job();
    }
    let stopped = interrupt::Stopped::default();
    let state: Arc<State> = Arc::new((Mutex::new((Some(job), None)), Condvar::new()));
    let spawned = std::thread::Builder::new().name("ferrograd-apart".to_owned()).spawn({
        let (stopped, state) = (stopped.clone(), state.clone());
        move || {
            memory::begin_thread();
            let job = lock(&state.0).0.take().expect("nobody else takes it from a thread that runs");
            let done = catch_unwind(AssertUnwindSafe(|| interrupt::following(&stopped, job)));
            lock(&state.0).1 = Some(done);
            state.1.notify_one();
        }
    });
    if spawned.is_err() {
        let job = lock(&state.0).0.take().expect("no thread has started");
        return job();
    }
    loop {
        let held = lock(&state.0);
        let (mut held, _) = state
            .1
            .wait_timeout_while(held, interrupt::PERIOD, |(_, done)| done.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(done) = held.1.take() {
            return done.unwrap_or_else(|panic| resume_unwind(panic));
        }
        drop(held);
        if let Err(error) = interrupt::check() {
            stopped.store(true, Relaxed);
            error.throw();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A raw output pointer that several threads may use: each writes its own, disjoint elements.
#[derive(Clone, Copy)]
pub struct SendPtr(pub *mut u8);
// SAFETY: the pointer itself is only data; every write through it is `unsafe` and states why it is disjoint.
unsafe impl Sync for SendPtr {}

impl SendPtr {
    #[inline]
    pub fn get(&self) -> *mut u8 {
        self.0
    }
}

/// Moves every counter to its end when dropped.
struct StopOnPanic<'a>(&'a [AtomicUsize], usize);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|next| next.store(self.1, Relaxed));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::catch_unwind;

    use super::*;
    use crate::memory::sized;

    #[test]
    #[cfg_attr(miri, ignore = "rayon makes pointers of integers, which strict provenance forbids")]
    fn every_piece_runs_once_and_a_panic_comes_back() {
        for n in [0, 1, 7, sized(1000, 40)] {
            let hits: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
            pieces(n, 3, &|r| r.for_each(|i| _ = hits[i].fetch_add(1, Relaxed)));
            assert!(hits.iter().all(|h| h.load(Relaxed) == 1));
        }
        for at in [0, 999] {
            let caught = catch_unwind(|| pieces(1000, 1, &|r| assert!(r.start != at, "piece {at}")));
            assert!(caught.is_err());
        }
        pieces(10, 1, &|_| ());
    }

    #[test]
    #[cfg_attr(miri, ignore = "rayon makes pointers of integers, which strict provenance forbids")]
    fn calls_within_calls_and_work_of_rayons_own_all_end() {
        set_threads(4);
        let hits = AtomicUsize::new(0);
        let inner = || pieces(8, 1, &|_| _ = hits.fetch_add(1, Relaxed));
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    for _ in 0..100 {
                        pieces(4, 1, &|_| inner());
                        pool().install(|| rayon::join(inner, || pieces(2, 1, &|_| inner())));
                    }
                });
            }
        });
        assert_eq!(hits.into_inner(), 3 * 100 * (4 + 1 + 2) * 8);
    }
}
