//! Call sites: which call in the user's program made a node. The host language knows; this room only carries the number.

use std::sync::OnceLock;

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

/// Makes a host known. The first one stays.
pub fn set_host(host: Host) {
    let _ = HOST.set(host);
}

/// The site of the call that the host runs on this thread.
#[inline]
pub(super) fn of_host() -> Site {
    HOST.get().map_or(Site(0), |host| (host.current)())
}

impl Site {
    /// `file:line` of the site, where the host knows it.
    pub fn describe(self) -> Option<String> {
        (self.0 != 0).then(|| HOST.get().and_then(|h| (h.describe)(self))).flatten()
    }
}
