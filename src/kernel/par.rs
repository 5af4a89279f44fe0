//! Threads: the pool of our own, and the one place where a kernel goes parallel.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

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
        // SAFETY: just stored, never freed.
        Ok(_) => unsafe { &(*new).rayon },
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

/// What a parallel call shares with its helpers. Pieces are claimed from a counter; a helper that starts after
/// the last piece was claimed touches nothing else.
struct Job {
    next: AtomicUsize,
    pieces: usize,
    /// Helpers at work, and the panic of one of them.
    state: Mutex<(usize, Option<Box<dyn Any + Send>>)>,
    idle: Condvar,
}

/// Runs `work` on `0..n` cut into pieces of `piece` elements (the cuts depend on nothing else). The calling thread
/// works too, and waits only for helpers that have begun.
pub fn pieces(n: usize, piece: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    let count = n.div_ceil(piece.max(1));
    let run = |i: usize| work(i * piece..((i + 1) * piece).min(n));
    let helpers = threads().min(count).saturating_sub(1);
    if helpers == 0 {
        (0..count).for_each(run);
        return;
    }
    let job = Arc::new(Job { next: 0.into(), pieces: count, state: Mutex::default(), idle: Condvar::new() });
    let run: &(dyn Fn(usize) + Sync) = &run;
    // SAFETY: a helper uses `run` only between registering in `state` with pieces left and leaving it, and this
    // function returns only when no helper is registered and no piece is left.
    let run_static =
        unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(run) };
    let pool = pool();
    for _ in 0..helpers {
        let job = job.clone();
        pool.spawn(move || job.help(run_static));
    }
    let mine = catch_unwind(AssertUnwindSafe(|| job.claim(run)));
    job.next.store(count, Relaxed);
    let mut state = job.state.lock().unwrap_or_else(PoisonError::into_inner);
    while state.0 > 0 {
        state = job.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    if let Some(panic) = mine.err().or_else(|| state.1.take()) {
        drop(state);
        resume_unwind(panic);
    }
}

impl Job {
    fn claim(&self, run: &(dyn Fn(usize) + Sync)) {
        loop {
            let i = self.next.fetch_add(1, Relaxed);
            if i >= self.pieces {
                return;
            }
            run(i);
        }
    }

    fn help(&self, run: &(dyn Fn(usize) + Sync)) {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if self.next.load(Relaxed) >= self.pieces {
                return;
            }
            state.0 += 1;
        }
        let result = catch_unwind(AssertUnwindSafe(|| self.claim(run)));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 -= 1;
        if let Err(panic) = result {
            self.next.store(self.pieces, Relaxed);
            state.1.get_or_insert(panic);
        }
        if state.0 == 0 {
            self.idle.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_runs_once_and_a_panic_comes_back() {
        for n in [0, 1, 7, 1000] {
            let hits: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
            pieces(n, 3, &|r| r.for_each(|i| drop(hits[i].fetch_add(1, Relaxed))));
            assert!(hits.iter().all(|h| h.load(Relaxed) == 1));
        }
        for at in [0, 999] {
            let caught = catch_unwind(|| pieces(1000, 1, &|r| assert!(r.start != at, "piece {at}")));
            assert!(caught.is_err());
        }
        pieces(10, 1, &|_| ());
    }
}
