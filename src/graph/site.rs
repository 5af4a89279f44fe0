//! Call sites: which call in the user's program made a node. The host language knows; this room only carries the number.

use std::cell::Cell;
use std::sync::OnceLock;

use super::Rare;

/// A call site interned by the host; zero where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site(pub u32);

/// What a host language offers: the running call, and its place as text.
#[derive(Clone, Copy)]
pub struct Host {
    /// Called on threads that run the host's code, whenever a node is recorded.
    pub current: fn() -> Site,
    /// Called on any thread: `file:line`, where the site is still known.
    pub describe: fn(Site) -> Option<String>,
}

static HOST: OnceLock<Host> = OnceLock::new();

thread_local! {
    static FIXED: Cell<Option<Site>> = const { Cell::new(None) };
}

static FIXING: Rare = Rare::new();

/// Puts the thread's site back when dropped.
struct Restore(Option<Site>);

impl Drop for Restore {
    fn drop(&mut self) {
        FIXING.change(FIXED.replace(self.0).is_some(), self.0.is_some());
    }
}

/// Fixes the thread's site, or no longer, until what it returns is dropped.
fn fix(site: Option<Site>) -> Restore {
    let before = FIXED.replace(site);
    FIXING.change(before.is_some(), site.is_some());
    Restore(before)
}

/// Makes a host known. The first one stays.
pub fn set_host(host: Host) {
    let _ = HOST.set(host);
}

impl Site {
    /// The site of the running call.
    #[inline]
    pub fn current() -> Site {
        match (FIXING.ask(|| FIXED.get()), HOST.get()) {
            (Some(site), _) => site,
            (None, Some(host)) => (host.current)(),
            (None, None) => Site(0),
        }
    }

    /// Runs `f` as if it were called from this site: for threads that do not run the host's code.
    pub fn within<R>(self, f: impl FnOnce() -> R) -> R {
        let _restore = fix(Some(self));
        f()
    }

    /// Runs `f` in the host's own code again, inside [`Site::within`].
    pub fn outside<R>(f: impl FnOnce() -> R) -> R {
        let _restore = fix(None);
        f()
    }

    /// `file:line` of the site, where the host knows it.
    pub fn describe(self) -> Option<String> {
        (self.0 != 0).then(|| HOST.get().and_then(|h| (h.describe)(self))).flatten()
    }
}
