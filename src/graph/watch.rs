//! What is looked at while a thread computes, if asked: values that are not finite, and the time that ops take.
//! Off, it costs the door one load.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::modes;
use super::site::Site;
use super::{Node, Outputs};
use crate::array::Array;
use crate::error::{Result, bail};
use crate::kernel::reduce::non_finite::{self, NonFinite};

/// What a thread asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// A NaN in a result is an error of the op that made it.
    pub nans: bool,
    /// The first result that is not finite is remembered, and a NaN in a gradient is an error.
    pub anomalies: bool,
    /// A cotangent of zero stays zero, whatever a pointwise op multiplies it with.
    pub safe: bool,
    /// The time and the bytes of every op are added up.
    pub times: bool,
    /// And that for each call site.
    pub sites: bool,
    /// The time that the rule of each node takes is noted.
    pub nodes: bool,
}

impl Watch {
    pub const NOTHING: Watch =
        Watch { nans: false, anomalies: false, safe: false, times: false, sites: false, nodes: false };
}

/// How often an op ran, for how long, and how many bytes its results had.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub calls: u64,
    pub time: Duration,
    pub bytes: u64,
}

impl Cost {
    fn add(&mut self, time: Duration, bytes: usize) {
        self.calls += 1;
        self.time += time;
        self.bytes += bytes as u64;
    }
}

/// By name, and by the call site that recorded it where that is asked: forward and backward.
pub type Profile = FxHashMap<(&'static str, Site), [Cost; 2]>;

/// By the address of a node: how long its rule has run.
pub type NodeTimes = FxHashMap<usize, Duration>;

thread_local! {
    static FIRST: Cell<Option<First>> = const { Cell::new(None) };
    static PROFILE: RefCell<Profile> = RefCell::new(Profile::default());
    static NODES: RefCell<NodeTimes> = RefCell::new(NodeTimes::default());
}

/// Looks for the first value that is not finite from here on.
pub fn forget_first() {
    FIRST.set(None);
}

/// What this thread has measured since it was last asked.
pub fn take_profile() -> Profile {
    PROFILE.take()
}

/// How long rules have run, by node, since this thread was last asked.
pub fn take_node_times() -> NodeTimes {
    NODES.take()
}

/// Computes an op and watches it.
///
/// # Errors
/// Those of `f`; with [`Watch::nans`] also a NaN in a result.
#[cold]
pub(super) fn watched(name: &'static str, f: impl FnOnce() -> Result<Outputs>) -> Result<Outputs> {
    let start = Instant::now();
    let outs = f()?;
    inspect(name, &outs, start)?;
    Ok(outs)
}

fn inspect(name: &'static str, outs: &Outputs, start: Instant) -> Result<()> {
    let watch = modes::with(|m| m.watch);
    if watch.times {
        count((name, site(watch, Site::current)), 0, start, outs.iter());
    }
    if watch.nans && outs.iter().any(|o| non_finite::contains(o, NonFinite::Nan)) {
        bail!(NotFinite, name, "debug_nans: the result holds NaN");
    }
    if watch.anomalies
        && FIRST.get().is_none()
        && outs.iter().any(|o| non_finite::contains(o, NonFinite::Any))
    {
        FIRST.set(Some(First { of: name, site: Site::current(), backward: false }));
    }
    Ok(())
}

/// The site under which something is booked.
fn site(watch: Watch, site: impl FnOnce() -> Site) -> Site {
    if watch.sites { site() } else { Site::default() }
}

fn count<'a>(
    key: (&'static str, Site),
    direction: usize,
    start: Instant,
    arrays: impl Iterator<Item = &'a Array>,
) {
    let (time, bytes) = (start.elapsed(), arrays.map(|a| a.len() * a.dtype().size()).sum());
    PROFILE.with_borrow_mut(|p| p.entry(key).or_default()[direction].add(time, bytes));
}

/// Books the rule of a node that began at `start`.
pub(crate) fn count_rule<'a>(
    watch: Watch,
    node: &Node,
    start: Instant,
    gradients: impl Iterator<Item = &'a Array>,
) {
    if watch.nodes {
        let time = start.elapsed();
        NODES.with_borrow_mut(|n| *n.entry(std::ptr::from_ref(node) as usize).or_default() += time);
    }
    if watch.times {
        count((node.name(), site(watch, || node.site())), 1, start, gradients);
    }
}

/// The first value that is not finite: the op that made it, or (backward) whose gradient it is part of.
#[derive(Clone, Copy)]
pub(crate) struct First {
    pub(crate) of: &'static str,
    pub(crate) site: Site,
    pub(crate) backward: bool,
}

impl std::fmt::Display for First {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = self.of;
        match (self.backward, self.site.describe()) {
            (false, Some(at)) => write!(f, "The first value that is not finite was made by {of} at {at}."),
            (false, None) => write!(f, "The first value that is not finite was made by {of}."),
            (true, Some(at)) => {
                write!(f, "The first gradient that is not finite was made by {of}, recorded at {at}.")
            }
            (true, None) => write!(f, "The first gradient that is not finite was made by {of}."),
        }
    }
}

/// Where the first result that is not finite was made since this thread began to watch for one.
pub(crate) fn first() -> Option<First> {
    FIRST.get()
}
