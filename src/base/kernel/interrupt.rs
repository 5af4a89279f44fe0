//! Stopping in the middle of a kernel: a thread that works for a caller asks it now and then whether to go on.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How often the caller is asked. Asking Python takes the GIL, which another thread may hold for 5 ms, a tenth of this
/// period, so asking costs at most 10 % of the time.
pub const PERIOD: Duration = Duration::from_millis(50);

/// Asks the caller. An error ends the work.
pub type Ask = fn() -> Result<()>;

#[derive(Clone, Copy)]
struct Listening {
    ask: Option<Ask>,
    /// When to ask next. Unset before the first look at the clock, because most work ends sooner.
    next: Option<Instant>,
}

thread_local! {
    static LISTENING: Cell<Listening> = const { Cell::new(Listening { ask: None, next: None }) };
    /// On a thread that helps another one: whether the leader has stopped.
    static LEADER: RefCell<Option<Stopped>> = const { RefCell::new(None) };
}

/// Whether the leader of a team has stopped, so that its helpers shall stop too.
pub type Stopped = Arc<AtomicBool>;

/// Runs `f` on a helper's thread: the work in it ends soon after the leader has stopped.
pub fn following<R>(leader: &Stopped, f: impl FnOnce() -> R) -> R {
    struct Back(Option<Stopped>);
    impl Drop for Back {
        fn drop(&mut self) {
            LEADER.set(self.0.take());
        }
    }
    let _back = Back(LEADER.replace(Some(leader.clone())));
    f()
}

/// While it lives, [`check`] asks somebody else on this thread.
pub struct Scope(Listening);

/// From now on `ask` is asked on this thread, or nobody.
#[inline]
pub fn listen_to(ask: Option<Ask>) -> Scope {
    Scope(LISTENING.replace(Listening { ask, next: None }))
}

impl Drop for Scope {
    fn drop(&mut self) {
        LISTENING.set(self.0);
    }
}

/// Asks the caller of this thread, if there is one and it is time, or looks whether the leader has stopped.
///
/// # Errors
/// The caller's, or [`Error::Interrupted`] where the leader has stopped.
pub fn check() -> Result<()> {
    let Listening { ask: Some(ask), next } = LISTENING.get() else {
        let stopped = LEADER.with_borrow(|leader| leader.as_ref().is_some_and(|s| s.load(Relaxed)));
        return if stopped { Err(Error::Interrupted.into()) } else { Ok(()) };
    };
    let now = Instant::now();
    let due = next.unwrap_or(now + PERIOD);
    LISTENING.set(Listening { ask: Some(ask), next: Some(if now < due { due } else { now + PERIOD }) });
    if now < due { Ok(()) } else { ask() }
}

/// [`check`] for kernels that return no `Result`: unwinds with the error.
#[inline]
pub fn listen() {
    if let Err(error) = check() {
        error.throw();
    }
}

/// So many elements are computed between two looks.
const PART: usize = 1 << 16;

/// A range of rows with `each` elements in parts, between which the caller is asked, for loops that cannot be cut in
/// pieces of work.
pub fn parts(range: Range<usize>, each: usize) -> impl Iterator<Item = Range<usize>> {
    let (Range { start, end }, part) = (range.clone(), PART.div_ceil(each.max(1)));
    range.step_by(part).map(move |from| {
        if from > start {
            listen();
        }
        from..end.min(from.saturating_add(part))
    })
}

/// Adds to the work that was done since the last look, and asks the caller after so much of it.
#[inline(always)]
pub fn count(done: &mut usize, work: usize) {
    *done = done.saturating_add(work);
    if *done >= PART {
        *done = 0;
        listen();
    }
}

/// Whether somebody can stop the work of this thread.
pub fn is_heard() -> bool {
    LISTENING.get().ask.is_some() || LEADER.with_borrow(Option::is_some)
}
