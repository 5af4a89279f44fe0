//! Threads: the pool of our own, and the one place where a kernel goes parallel.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicIsize, AtomicPtr, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

/// The largest number of threads that can be asked for.
pub const MAX_THREADS: usize = 64;

struct Pool {
    process: u32,
    rayon: rayon::ThreadPool,
    lookout: Lookout,
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

/// The pool of the current number of threads, for work of rayon's own. Built on first use, and once more after a fork.
pub fn pool() -> &'static rayon::ThreadPool {
    let pool = current();
    pool.lookout.dismissed.fetch_add(1, Release);
    &pool.rayon
}

fn current() -> &'static Pool {
    let slot = &POOLS[threads()];
    let process = std::process::id();
    let old = slot.load(Acquire);
    // SAFETY: pools are leaked, so a pointer once stored stays valid.
    if let Some(pool) = unsafe { old.as_ref() }.filter(|p| p.process == process) {
        return pool;
    }
    let rayon = rayon::ThreadPoolBuilder::new()
        .num_threads(threads())
        .thread_name(|i| format!("ferrograd-{i}"))
        .build()
        .expect("the system refuses threads");
    let new = Box::into_raw(Box::new(Pool { process, rayon, lookout: Lookout::default() }));
    match slot.compare_exchange(old, new, AcqRel, Acquire) {
        Ok(_) => {
            if !old.is_null() {
                // The parent's threads are not in this process.
                BUSY.store(0, Relaxed);
            }
            // SAFETY: just stored, never freed.
            unsafe { &*new }
        }
        Err(other) => {
            // SAFETY: another thread was first; this pool was shown to nobody.
            drop(unsafe { Box::from_raw(new) });
            // SAFETY: stored by that thread, never freed.
            unsafe { &*other }
        }
    }
}

/// Elements in a piece of a parallel kernel.
pub const PIECE: usize = 1 << 15;

/// Work below this many bytes is not worth waking a thread.
pub const MIN_BYTES: usize = 512 << 10;

/// Work below this many bytes is not worth a thread that looks out for it.
const SMALL_BYTES: usize = 64 << 10;

/// Elements in a piece of `n`, where how they are cut changes no result.
pub fn piece(n: usize) -> usize {
    (n / 8).next_multiple_of(64).clamp(1 << 11, PIECE)
}

/// Whether work on this many bytes is worth other threads just now. Only for work whose result is the same either way.
pub fn pays(bytes: usize) -> bool {
    bytes >= MIN_BYTES
        || bytes >= SMALL_BYTES && {
            // SAFETY: pools are leaked, so a pointer once stored stays valid.
            let pool = unsafe { POOLS[threads()].load(Acquire).as_ref() };
            pool.is_some_and(|p| p.lookout.looking.load(Relaxed) > 0)
        }
}

/// How long a thread that has nothing to do looks out for more before it sleeps: to wake one takes longer than many a
/// kernel.
pub const PATIENCE: Duration = Duration::from_micros(100);

/// Where threads of the pool that have just worked look out for more.
#[derive(Default)]
struct Lookout {
    /// How many look out whom nobody counts on.
    looking: AtomicUsize,
    posted: AtomicUsize,
    posts: Mutex<Vec<Call>>,
    /// How often they were asked to go back to the pool.
    dismissed: AtomicUsize,
}

/// A call for one helper.
struct Call {
    crew: Arc<Crew>,
    work: &'static (dyn Fn(Caller<'_>) + Sync),
}

impl Lookout {
    /// Takes one off those who look out, if there is one: who does so posts a call, or is the one that leaves.
    fn claim(&self) -> bool {
        self.looking.fetch_update(AcqRel, Relaxed, |n| n.checked_sub(1)).is_ok()
    }

    fn posts(&self) -> MutexGuard<'_, Vec<Call>> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts a call for one that was claimed.
    fn post(&self, call: Call) {
        self.posts().push(call);
        self.posted.fetch_add(1, Release);
    }

    /// Looks out, and helps whoever calls, until nobody has for a while.
    fn look(&self) {
        let (mut until, mut asked) = (Instant::now() + PATIENCE, self.dismissed.load(Acquire));
        self.looking.fetch_add(1, AcqRel);
        loop {
            // The list is unlocked before the call is followed.
            let call = if self.posted.load(Acquire) > 0 { self.posts().pop() } else { None };
            if let Some(Call { crew, work }) = call {
                self.posted.fetch_sub(1, AcqRel);
                crew.help(work);
                (until, asked) = (Instant::now() + PATIENCE, self.dismissed.load(Acquire));
                self.looking.fetch_add(1, AcqRel);
            }
            if (Instant::now() >= until || self.dismissed.load(Acquire) != asked) && self.claim() {
                return;
            }
            std::thread::yield_now();
        }
    }
}

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
    let until = Instant::now() + PATIENCE;
    while members.at_work > 0 && Instant::now() < until {
        drop(members);
        std::thread::yield_now();
        members = crew.lock();
    }
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
        let (pool, call) = (current(), Call { crew: self.crew.clone(), work: self.work });
        if pool.lookout.claim() {
            return pool.lookout.post(call);
        }
        pool.rayon.spawn(move || {
            call.crew.help(call.work);
            pool.lookout.look();
        });
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
/// works too, and waits only for helpers that have begun. Each thread begins with a stretch of neighbouring pieces, which
/// call after call are near to it in its cache, and then claims what others have left of theirs.
pub fn pieces(n: usize, piece: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    let count = n.div_ceil(piece.max(1));
    let run = |i: usize| work(i * piece..((i + 1) * piece).min(n));
    let helpers = idle().min(count.saturating_sub(1));
    if helpers == 0 {
        (0..count).for_each(run);
        return;
    }
    let stretch = count.div_ceil(helpers + 1);
    let next: SmallVec<[AtomicUsize; 4]> = (0..=helpers).map(|s| AtomicUsize::new(s * stretch)).collect();
    let claim = |own: usize| {
        // After a panic nothing is left to claim.
        let stop = Stop(&next, count);
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
    crew(&|_| claim(came.fetch_add(1, Relaxed)), |crew| {
        (0..helpers).for_each(|_| crew.call());
        claim(0);
    });
}

/// An output address that threads write disjoint parts of.
pub struct Shared(pub *mut u8);
// SAFETY: whoever makes one promises that the parts written are disjoint.
unsafe impl Sync for Shared {}

impl Shared {
    #[inline]
    pub fn get(&self) -> *mut u8 {
        self.0
    }
}

/// Puts counters at their end when dropped.
struct Stop<'a>(&'a [AtomicUsize], usize);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|next| next.store(self.1, Relaxed));
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

    #[test]
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
