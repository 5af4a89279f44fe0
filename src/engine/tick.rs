//! The caller's clock: between nodes it is asked, now and then, whether to go on.

use std::time::{Duration, Instant};

use super::Request;
use crate::error::Result;

/// How often the caller is asked. Asking Python takes the GIL, which another thread may hold for 5 ms: a tenth of this.
pub(super) const PERIOD: Duration = Duration::from_millis(50);

/// How many small nodes pass without a look at the clock, and what is not small.
const LIGHT_NODES: u32 = 32;
const HEAVY_BYTES: usize = 64 << 10;

pub(super) struct Ticker<'a> {
    ask: Option<&'a (dyn Fn() -> Result<()> + Sync)>,
    /// Not known before the first look: most runs are over sooner.
    next: Option<Instant>,
    passed: u32,
}

impl<'a> Ticker<'a> {
    pub(super) fn new(request: &'a Request<'_>) -> Ticker<'a> {
        Ticker { ask: request.tick, next: None, passed: 0 }
    }

    /// After a node with this many bytes.
    #[inline]
    pub(super) fn after(&mut self, bytes: usize) -> Result<()> {
        self.passed += 1;
        if bytes < HEAVY_BYTES && self.passed < LIGHT_NODES { Ok(()) } else { self.look() }
    }

    /// Looks at the clock, and asks if it is time.
    pub(super) fn look(&mut self) -> Result<()> {
        self.passed = 0;
        let Some(ask) = self.ask else { return Ok(()) };
        let now = Instant::now();
        if now < *self.next.get_or_insert(now + PERIOD) {
            return Ok(());
        }
        ask()?;
        self.next = Some(now + PERIOD);
        Ok(())
    }
}
