//! Threads: the pool of our own, and the one place where a kernel goes parallel.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicIsize, AtomicPtr, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The largest number of threads that can be asked for.
pub const MAX_THREADS: usize = 64;

struct Pool {
    process: u32,
    rayon: rayon::ThreadPool,
}

/// One pool for each number of threads, built on first use and never dropped. A pool belongs to the process
/// that built it: after a fork the child finds its parent's id in it and builds its own.
static POOLS: [AtomicPtr<Pool>; MAX_THREADS + 1] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MAX_THREADS + 1];
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// How many threads work, the calling one among them: `FERROGRAD_NUM_THREADS` or the number of processors,
/// unless [`set_threads`] said otherwise.
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

/// Sets the number of threads, between 1 and [`MAX_THREADS`]. No result depends on it.
pub fn set_threads(n: usize) {
    THREADS.store(n.clamp(1, MAX_THREADS), Relaxed);
}

/// The pool of the current number of threads. Built on first use, and once more after a fork.
pub fn pool() -> &'static rayon::ThreadPool {
    let slot = &POOLS[threads()];
    let process = std::process::id();
    let old = slot.load(Acquire);
    // SAFETY: pools are leaked, so a pointer once stored stays valid.
    if let Some(pool) = unsafe { old.as_ref() }.filter(|p| p.process == process) {
        return &pool.rayon;
    }
    let rayon = rayon::ThreadPoolBuilder::new()
        .num_threads(threads())
        .thread_name(|i| format!("ferrograd-{i}"))
        .build()
        .expect("the system refuses threads");
    let new = Box::into_raw(Box::new(Pool { process, rayon }));
    match slot.compare_exchange(old, new, AcqRel, Acquire) {
        Ok(_) => {
            if !old.is_null() {
                // The parent's threads are not in this process.
                BUSY.store(0, Relaxed);
            }
            // SAFETY: just stored, never freed.
            unsafe { &(*new).rayon }
        }
        Err(other) => {
            // SAFETY: another thread was first; this pool was shown to nobody.
            drop(unsafe { Box::from_raw(new) });
            // SAFETY: stored by that thread, never freed.
            unsafe { &(*other).rayon }
        }
    }
}

/// Elements in a piece of a parallel kernel.
pub const PIECE: usize = 1 << 15;

/// Work below this many bytes stays on the calling thread.
pub const MIN_BYTES: usize = 512 << 10;

/// Threads of crews at work beyond each crew's first.
static BUSY: AtomicIsize = AtomicIsize::new(0);

/// How many more threads a call could keep busy: none where other calls have them all.
fn idle() -> usize {
    usize::try_from(threads() as isize - 1 - BUSY.load(Relaxed)).unwrap_or(0)
}

/// Threads of the pool that work with a caller until its call ends.
struct Crew {
    members: Mutex<Members>,
    left: Condvar,
}

struct Members {
    /// Whether the caller's call still runs: who comes later touches nothing.
    open: bool,
    at_work: usize,
    panic: Option<Box<dyn Any + Send>>,
}

/// What calls for helpers.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    crew: &'a Arc<Crew>,
    work: &'static (dyn Fn(Caller<'_>) + Sync),
}

/// Runs `lead` on the calling thread. Each [`Caller::call`] in it (or in `work`) sends one thread of the pool, as soon
/// as one is free, into `work`. Returns when `lead` has and all helpers that began have too; those that have not begun
/// by then never will. A helper's panic comes out here.
pub fn crew<R>(work: &(dyn Fn(Caller<'_>) + Sync), lead: impl FnOnce(Caller<'_>) -> R) -> R {
    // SAFETY: a helper uses `work` only between registering as a member of an open crew and leaving it, and this
    // function returns only when the crew is closed and without members.
    let work = unsafe {
        std::mem::transmute::<&(dyn Fn(Caller<'_>) + Sync), &'static (dyn Fn(Caller<'_>) + Sync)>(work)
    };
    let crew = Arc::new(Crew {
        members: Mutex::new(Members { open: true, at_work: 0, panic: None }),
        left: Condvar::new(),
    });
    let led = catch_unwind(AssertUnwindSafe(|| lead(Caller { crew: &crew, work })));
    let mut members = crew.lock();
    members.open = false;
    while members.at_work > 0 {
        members = crew.left.wait(members).unwrap_or_else(PoisonError::into_inner);
    }
    let panic = members.panic.take();
    drop(members);
    match (led, panic) {
        (Ok(result), None) => result,
        (Err(panic), _) | (_, Some(panic)) => resume_unwind(panic),
    }
}

impl Caller<'_> {
    /// Asks for one more helper. It may come late or not at all.
    pub fn call(self) {
        let (crew, work) = (self.crew.clone(), self.work);
        pool().spawn(move || crew.help(work));
    }
}

impl Crew {
    fn lock(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn help(self: &Arc<Crew>, work: &'static (dyn Fn(Caller<'_>) + Sync)) {
        {
            let mut members = self.lock();
            if !members.open {
                return;
            }
            members.at_work += 1;
        }
        BUSY.fetch_add(1, Relaxed);
        let result = catch_unwind(AssertUnwindSafe(|| work(Caller { crew: self, work })));
        BUSY.fetch_sub(1, Relaxed);
        let mut members = self.lock();
        members.at_work -= 1;
        if let Err(panic) = result {
            members.panic.get_or_insert(panic);
        }
        if members.at_work == 0 {
            self.left.notify_all();
        }
    }
}

/// Runs `f`, in which the calling thread only waits: kernels on other threads may take its place.
pub fn waiting<R>(f: impl FnOnce() -> R) -> R {
    BUSY.fetch_sub(1, Relaxed);
    let result = f();
    BUSY.fetch_add(1, Relaxed);
    result
}

/// The number of the pool's thread that runs this, from 1; 0 on any other thread.
pub fn worker() -> usize {
    rayon::current_thread_index().map_or(0, |i| i + 1)
}

/// Runs `work` on `0..n` cut into pieces of `piece` elements (the cuts depend on nothing else). The calling thread
/// works too, and waits only for helpers that have begun. Pieces are claimed from a counter.
pub fn pieces(n: usize, piece: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    let count = n.div_ceil(piece.max(1));
    let run = |i: usize| work(i * piece..((i + 1) * piece).min(n));
    let helpers = idle().min(count.saturating_sub(1));
    if helpers == 0 {
        (0..count).for_each(run);
        return;
    }
    let next = AtomicUsize::new(0);
    let claim = || {
        // After a panic nothing is left to claim.
        let stop = Stop(&next, count);
        loop {
            let i = next.fetch_add(1, Relaxed);
            if i >= count {
                return std::mem::forget(stop);
            }
            run(i);
        }
    };
    crew(&|_| claim(), |crew| {
        (0..helpers).for_each(|_| crew.call());
        claim();
    });
}

/// Puts a counter at its end when dropped.
struct Stop<'a>(&'a AtomicUsize, usize);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(self.1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_runs_once_and_a_panic_comes_back() {
        for n in [0, 1, 7, 1000] {
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
}
