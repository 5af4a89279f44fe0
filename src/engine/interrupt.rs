//! Asking the caller between nodes whether to go on.

use std::time::Instant;

use crate::error::Result;
pub(super) use crate::kernel::interrupt::PERIOD;

/// The clock is read after this many small nodes, and after each node with this many bytes.
const LIGHT_NODES: u32 = 32;
const HEAVY_BYTES: usize = 64 << 10;

type Ask<'a> = &'a (dyn Fn() -> Result<()> + Sync);

pub(super) struct Interrupt<'a> {
    ask: Option<Ask<'a>>,
    /// When to ask next. Unset before the first look at the clock, because most passes end sooner.
    next: Option<Instant>,
    /// Small nodes since the last look at the clock.
    light_nodes: u32,
}

impl<'a> Interrupt<'a> {
    pub(super) fn new(ask: Option<Ask<'a>>) -> Interrupt<'a> {
        Interrupt { ask, next: None, light_nodes: 0 }
    }

    /// Called after each node, with the bytes of its outputs.
    ///
    /// # Errors
    /// The caller's.
    #[inline]
    pub(super) fn after_node(&mut self, bytes: usize) -> Result<()> {
        self.light_nodes += 1;
        if bytes < HEAVY_BYTES && self.light_nodes < LIGHT_NODES { Ok(()) } else { self.check() }
    }

    /// Reads the clock, and asks the caller if it is time.
    ///
    /// # Errors
    /// The caller's.
    pub(super) fn check(&mut self) -> Result<()> {
        self.light_nodes = 0;
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
