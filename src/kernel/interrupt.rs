//! Stopping in the middle of a kernel: a thread that works for a caller asks it now and then whether to go on.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::error::Result;

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
}

/// While it lives, [`check`] asks somebody else on this thread.
#[cfg(feature = "python")]
pub struct Scope(Listening);

/// From now on `ask` is asked on this thread, or nobody.
#[cfg(feature = "python")]
pub fn listen_to(ask: Option<Ask>) -> Scope {
    Scope(LISTENING.replace(Listening { ask, next: None }))
}

#[cfg(feature = "python")]
impl Drop for Scope {
    fn drop(&mut self) {
        LISTENING.set(self.0);
    }
}

/// Asks the caller of this thread, if there is one and it is time.
///
/// # Errors
/// The caller's.
pub fn check() -> Result<()> {
    let Listening { ask: Some(ask), next } = LISTENING.get() else { return Ok(()) };
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
