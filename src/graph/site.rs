//! Call sites: the call in the user's program that made a node, as a number that the host language knows the meaning
//! of.

use std::sync::OnceLock;

/// A call site that the host has interned. Zero: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site(pub u32);

/// What a host language answers about call sites.
#[derive(Clone, Copy)]
pub struct Host {
    /// The site of the running call. Asked on threads that run the host's code, for every node that is recorded.
    pub current: fn() -> Site,
    /// `file:line`, where the site is still known. Asked on any thread.
    pub describe: fn(Site) -> Option<String>,
}

static HOST: OnceLock<Host> = OnceLock::new();

/// Sets the host of this process. Only the first call counts.
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
