//! Debugging and profiling of ops, as the thread's modes ask for it: values that are not finite, and the time that ops
//! take.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::compute::computed;
use super::modes::{self, Flags, Watch};
use super::record::{Node, Op, Outputs};
use super::site::Site;
use crate::array::Array;
use crate::error::{Result, bail};
use crate::kernel::reduce::non_finite::{self, NonFinite};

/// How often an op ran, for how long, and the bytes of its results.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpCost {
    pub calls: u64,
    pub time: Duration,
    pub bytes: u64,
    /// When the first call began.
    pub first: Option<Instant>,
}

impl OpCost {
    fn add(&mut self, start: Instant, time: Duration, bytes: usize) {
        self.first.get_or_insert(start);
        self.calls += 1;
        self.time += time;
        self.bytes += bytes as u64;
    }
}

/// By name of the op, and by call site where that is asked for: the costs of its forward and of its rule.
pub type Profile = FxHashMap<(&'static str, Site), [OpCost; 2]>;

/// By address of a node: how long its rule has run.
pub type NodeTimes = FxHashMap<usize, Duration>;

thread_local! {
    static FIRST: Cell<Option<FirstNonFinite>> = const { Cell::new(None) };
    static PROFILE: RefCell<Profile> = RefCell::new(Profile::default());
    static NODES: RefCell<NodeTimes> = RefCell::new(NodeTimes::default());
}

/// Forgets the first value that was not finite, so that a new one is remembered.
pub fn reset_first_non_finite() {
    FIRST.set(None);
}

/// The profile of this thread since this was last called.
pub fn take_profile() -> Profile {
    PROFILE.take()
}

/// How long the rule of each node has run on this thread since this was last called.
pub fn take_node_times() -> NodeTimes {
    NODES.take()
}

/// Computes an op and watches it.
///
/// # Errors
/// Those of the op; with [`Watch::debug_nans`] also a NaN in a result.
#[cold]
pub(super) fn watched(op: &dyn Op, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
    let start = Instant::now();
    let outs = computed(op, ins, batch_ndim)?;
    inspect(op.name(), ins, &outs, start)?;
    Ok(outs)
}

fn inspect(name: &'static str, ins: &[&Array], outs: &Outputs, start: Instant) -> Result<()> {
    let watch = modes::with(|m| m.watch);
    if watch.profile {
        count((name, site(watch, Site::current)), 0, start, outs.iter());
    }
    let is_given = || ins.iter().any(|x| non_finite::contains(x.unsealed(), NonFinite::Any));
    if watch.debug_nans && outs.iter().any(|o| non_finite::contains(o, NonFinite::Nan)) {
        let first = FIRST.get().filter(|_| is_given()).map_or(String::new(), |first| format!(". {first}"));
        bail!(NotFinite, name, "the result holds NaN{first}");
    }
    let is_wanted = watch.debug_nans || watch.debug_infs || watch.detect_anomaly && FIRST.get().is_none();
    if is_wanted && outs.iter().any(|o| non_finite::contains(o, NonFinite::Any)) {
        // An op without operands makes the infinity that it was asked for.
        if watch.debug_infs && !ins.is_empty() && !is_given() {
            bail!(NotFinite, name, "the result holds an infinity, and no operand does");
        }
        if FIRST.get().is_none() {
            FIRST.set(Some(FirstNonFinite { op: name, site: Site::current(), backward: false }));
        }
    }
    Ok(())
}

/// The site that a cost counts for.
fn site(watch: Watch, site: impl FnOnce() -> Site) -> Site {
    if watch.profile_sites { site() } else { Site::default() }
}

fn count<'a>(
    key: (&'static str, Site),
    direction: usize,
    start: Instant,
    arrays: impl Iterator<Item = &'a Array>,
) {
    let (time, bytes) = (start.elapsed(), arrays.map(|a| a.len() * a.dtype().size()).sum());
    PROFILE.with_borrow_mut(|p| p.entry(key).or_default()[direction].add(start, time, bytes));
}

/// Whether the ops of this thread are profiled.
#[doc(hidden)]
pub fn profiles() -> bool {
    modes::flags().has(Flags::WATCHING) && modes::with(|m| m.watch.profile)
}

/// Counts the cost of ops that were computed together since `start`: to each the same share.
#[cold]
#[doc(hidden)]
pub fn count_together(
    ops: impl DoubleEndedIterator<Item = (&'static str, Site)>,
    start: Instant,
    bytes: usize,
) {
    let (watch, time) = (modes::with(|m| m.watch), start.elapsed());
    let ops: Vec<_> = ops.collect();
    let share = time / ops.len().max(1) as u32;
    PROFILE.with_borrow_mut(|profile| {
        for (i, &(name, at)) in ops.iter().enumerate() {
            // The memory is that of what the last one computes.
            let bytes = if i + 1 == ops.len() { bytes } else { 0 };
            profile.entry((name, site(watch, || at))).or_default()[0].add(
                start + share * i as u32,
                share,
                bytes,
            );
        }
    });
}

/// Counts the cost of a node's rule, which began at `start`.
#[doc(hidden)]
pub fn count_rule<'a>(watch: Watch, node: &Node, start: Instant, gradients: impl Iterator<Item = &'a Array>) {
    if watch.node_times {
        let time = start.elapsed();
        NODES.with_borrow_mut(|n| *n.entry(std::ptr::from_ref(node) as usize).or_default() += time);
    }
    if watch.profile {
        count((node.name(), site(watch, || node.site())), 1, start, gradients);
    }
}

/// The first value that was not finite: the op that computed it, or (backward) whose gradient it is part of.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct FirstNonFinite {
    #[doc(hidden)]
    pub op: &'static str,
    #[doc(hidden)]
    pub site: Site,
    #[doc(hidden)]
    pub backward: bool,
}

impl std::fmt::Display for FirstNonFinite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let op = self.op;
        match (self.backward, self.site.describe()) {
            (false, Some(at)) => write!(f, "The first value that is not finite was made by {op} at {at}."),
            (false, None) => write!(f, "The first value that is not finite was made by {op}."),
            (true, Some(at)) => {
                write!(f, "The first gradient that is not finite was made by {op}, recorded at {at}.")
            }
            (true, None) => write!(f, "The first gradient that is not finite was made by {op}."),
        }
    }
}

/// The first value that was not finite since this thread began to watch for one.
#[doc(hidden)]
pub fn first_non_finite() -> Option<FirstNonFinite> {
    FIRST.get()
}
