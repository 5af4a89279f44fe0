//! The modes of a thread: everything besides its operands that decides how an op is computed and recorded.
//!
//! A new mode is a field of [`Modes`], and a bit of [`Flags`] if ops look at it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::detach_reason::DetachReason;
use super::host_call::{HostCall, HostRule};
use super::levels::{Level, Levels, LiveLevel, Randomness};
use super::record::{Node, Tensor};
use super::saved::Packer;
use super::site::{self, Site};
use super::trace::Trace;
use crate::array::trace_number;
use crate::dtype::DType;
use crate::error::Result;

/// The grad mode: whether ops record their tracked operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    #[default]
    On,
    /// `why` is what is said of a value that is not recorded for that. With `tangents` the ops of values that have tangents
    /// are recorded, for these alone.
    Off { why: DetachReason, tangents: bool },
}

impl Recording {
    /// Nothing is recorded.
    pub fn off(why: DetachReason) -> Recording {
        Recording::Off { why, tangents: false }
    }
}

impl From<bool> for Recording {
    fn from(on: bool) -> Recording {
        if on { Recording::On } else { Recording::off(DetachReason::unrecorded(Site::default())) }
    }
}

/// What becomes of a tracked value that is asked for its numbers, so that no gradient can flow through them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conversion {
    #[default]
    Allow,
    Warn,
    Raise,
}

/// What is watched while a thread computes. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// A NaN in a result is an error of the op that computed it.
    pub debug_nans: bool,
    /// So is an infinity that no operand holds.
    pub debug_infs: bool,
    /// The first result that is not finite is remembered, and a NaN in a gradient is an error.
    pub detect_anomaly: bool,
    /// A cotangent of zero stays zero, whatever a pointwise op multiplies it with.
    pub safe_gradients: bool,
    /// Calls, time and bytes of every op are added up.
    pub profile: bool,
    /// The same, separately for each call site.
    pub profile_sites: bool,
    /// The time that the rule of each node takes is added up.
    pub node_times: bool,
}

impl Watch {
    /// What is watched besides the costs of ops.
    #[must_use]
    pub fn without_profile(self) -> Watch {
        Watch { profile: false, profile_sites: false, ..self }
    }

    pub const NOTHING: Watch = Watch {
        debug_nans: false,
        debug_infs: false,
        detect_anomaly: false,
        safe_gradients: false,
        profile: false,
        profile_sites: false,
        node_times: false,
    };
}

/// All modes of one thread. A worker thread takes over those of the thread it works for with [`Modes::install`].
#[derive(Clone)]
pub struct Modes {
    pub recording: Recording,
    /// Inference mode: results are never part of a graph.
    pub inference: bool,
    /// Debugging and profiling.
    pub watch: Watch,
    /// Packs the arrays that new nodes save.
    pub packer: Option<Arc<dyn Packer>>,
    /// Called in this order with every new node.
    pub observers: Vec<Arc<dyn Observer>>,
    /// The call site of all new nodes, on threads that do not run the host's code; otherwise the host is asked.
    pub site: Option<Site>,
    /// The vmap levels whose calls are running, outermost first.
    pub live_levels: Vec<LiveLevel>,
    /// The examples of those levels whose operands ops compute on; all if none.
    pub takers: Option<Arc<dyn Takers>>,
    /// How tracked values become numbers. Ops do not look at it.
    pub conversion: Conversion,
    /// Autocast: the half dtype that products are computed in.
    pub autocast: Option<DType>,
    /// Whether products may round their factors of float32 to bfloat16: in functions that autocast computes in it.
    pub rounds_factors: bool,
    /// Records every op for a program.
    pub trace: Option<Arc<Trace>>,
    /// The function of the host's that runs and records nothing of its own.
    pub host_call: Option<Arc<HostCall>>,
    /// The rule of the host's that runs, if it is recorded.
    pub host_rule: Option<HostRule>,
    /// Programs that are made may round a product and the sum that reads it once. Ops do not look at it.
    pub contracts: bool,
    /// The transforms of torch's whose functions run, outermost first. Ops do not look at them.
    pub transforms: Vec<Transform>,
    /// Where the host switches recording off, tangents go on. Ops do not look at it.
    pub passes_tangents: bool,
}

/// A transform of torch's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// It differentiates. `levels` is how many vmap levels were live before.
    Differentiates { levels: usize },
    /// It does not, such as vmap.
    Other,
}

/// Is shown every node of an op that a thread records, also those that it records itself unless it enters modes without
/// observers.
pub trait Observer: Send + Sync {
    /// # Errors
    /// From the host language.
    fn recorded(&self, node: &Arc<Node>) -> Result<()>;
}

/// The examples that take a side of a branch, or the next step of a loop. While a thread has takers, each op computes on
/// operands of theirs alone: another example gets those of one that takes it, so nothing can happen there that does not
/// happen to a taker.
pub trait Takers: Send + Sync {
    /// By example: whether it is one of them.
    fn mask(&self) -> &Tensor;

    /// Whether a tensor has values of examples that are none of the takers.
    fn has_others(&self, x: &Tensor) -> bool;

    /// The tensor with a taker's values in the place of those of all others. None where it has them already, and where it
    /// is the same for all.
    ///
    /// # Errors
    /// For want of memory.
    fn operand(&self, x: &Tensor) -> Result<Option<Tensor>>;

    /// What a write leaves in a tensor: the new values for the takers, the old ones for all others.
    ///
    /// # Errors
    /// For want of memory.
    fn written(&self, new: &Tensor, old: &Tensor) -> Result<Tensor>;
}

/// Which modes of a thread are not the default ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    pub const NONE: Flags = Flags(0);
    pub const NOT_RECORDING: Flags = Flags(1);
    pub const INFERENCE: Flags = Flags(1 << 1);
    /// The process has been in inference mode, so tensors made in it may exist.
    pub const INFERENCE_TENSORS: Flags = Flags(1 << 2);
    pub const WATCHING: Flags = Flags(1 << 3);
    /// New nodes are packed or observed.
    pub const PACKING: Flags = Flags(1 << 4);
    pub const LIVE_LEVELS: Flags = Flags(1 << 5);
    pub const AUTOCAST: Flags = Flags(1 << 6);
    pub const TRACING: Flags = Flags(1 << 7);
    /// A function of the host's runs.
    pub const HOST_CALL: Flags = Flags(1 << 8);
    /// A rule of the host's runs that is recorded.
    pub const HOST_RULE: Flags = Flags(1 << 9);
    /// Ops compute on operands of some examples of a batch alone.
    pub const TAKERS: Flags = Flags(1 << 10);
    pub const ROUNDS_FACTORS: Flags = Flags(1 << 11);
    /// A function runs that a transform of torch's was given. No op looks at it.
    pub const TRANSFORMED: Flags = Flags(1 << 12);
    /// Ops are recorded for tangents alone; `NOT_RECORDING` is set too.
    pub const TANGENTS: Flags = Flags(1 << 13);

    /// Whether any of `other` is set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    pub const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These without `other`.
    #[inline]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    const fn when(self, condition: bool) -> u16 {
        if condition { self.0 } else { 0 }
    }
}

/// How many threads have modes that are not the default, plus one once the process has been in inference mode. While
/// it is zero, an op finds its modes with this one load.
static SPECIAL: AtomicUsize = AtomicUsize::new(0);
static INFERENCE_USED: AtomicBool = AtomicBool::new(false);

/// How many threads have fixed the site. While it is zero, a node knows by this one load that it must ask the host.
static FIXED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The flags that follow from the modes in `MODES`. Ops read this one word.
    static FLAGS: Cell<Flags> = const { Cell::new(Flags::NONE) };
    static MODES: RefCell<Modes> = const { RefCell::new(Modes::DEFAULT) };
    /// The site in `MODES`, which is kept here alone: each backward pass fixes it, and no other mode changes then.
    static SITE: Cell<Option<Site>> = const { Cell::new(None) };
}

/// The flags of this thread's modes.
#[inline]
pub fn flags() -> Flags {
    #[cold]
    #[inline(never)]
    fn of_thread() -> Flags {
        Flags(FLAGS.get().0 | Flags::INFERENCE_TENSORS.when(INFERENCE_USED.load(Relaxed)))
    }
    if SPECIAL.load(Relaxed) == 0 { Flags::NONE } else { of_thread() }
}

/// Reads this thread's modes. `f` must not change them.
pub fn with<R>(f: impl FnOnce(&Modes) -> R) -> R {
    MODES.with_borrow(f)
}

/// Whether this thread records ops.
#[inline]
pub fn is_recording() -> bool {
    !flags().has(Flags::NOT_RECORDING)
}

/// The trace that this thread records, unless it was given up.
pub fn trace() -> Option<Arc<Trace>> {
    #[cold]
    fn of_thread() -> Option<Arc<Trace>> {
        with(|m| m.trace.clone()).filter(|t| t.is_open())
    }
    if flags().has(Flags::TRACING) { of_thread() } else { None }
}

/// The function of the host's that runs on this thread, if there is one.
pub fn host_call() -> Option<Arc<HostCall>> {
    if flags().has(Flags::HOST_CALL) { with(|m| m.host_call.clone()) } else { None }
}

/// The vmap levels whose calls are running on this thread.
#[inline]
pub fn live_levels() -> Levels {
    #[cold]
    fn of_thread() -> Levels {
        with(|m| Levels::new(m.live_levels.iter().map(|l| l.level)))
    }
    if flags().has(Flags::LIVE_LEVELS) { of_thread() } else { Levels::default() }
}

/// For each transform of torch's that differentiates a running function of this thread, how many vmap levels were live before.
pub fn differentiated_functions() -> Vec<usize> {
    if !flags().has(Flags::TRANSFORMED) {
        return vec![];
    }
    let levels = |t: &Transform| match *t {
        Transform::Differentiates { levels } => Some(levels),
        Transform::Other => None,
    };
    with(|m| m.transforms.iter().filter_map(levels).collect())
}

/// How random numbers are drawn on a level that is live on this thread; the default for other levels.
pub fn randomness(level: Level) -> Randomness {
    with(|m| m.live_levels.iter().find(|l| l.level == level).map_or(Randomness::default(), |l| l.randomness))
}

/// The levels of random numbers that are drawn for a value with the levels `own`. None: drawing is an error.
pub fn random_levels(own: &Levels) -> Option<Levels> {
    if !flags().has(Flags::LIVE_LEVELS) {
        return Some(own.clone());
    }
    with(|m| m.live_levels.iter().try_fold(own.clone(), |levels, live| live.random_levels(levels)))
}

/// Fixes the site of this thread's new nodes, or asks the host for each of them again. Returns what was before.
fn replace_site(site: Option<Site>) -> Option<Site> {
    let before = SITE.replace(site);
    match (before.is_some(), site.is_some()) {
        (false, true) => _ = FIXED.fetch_add(1, Relaxed),
        (true, false) => _ = FIXED.fetch_sub(1, Relaxed),
        _ => {}
    }
    before
}

/// Fixes the site of the running call, until the guard is dropped.
#[must_use]
pub fn fix_site() -> SiteGuard {
    SiteGuard(replace_site(Some(Site::current())))
}

/// Puts the site of the thread back when dropped.
pub struct SiteGuard(Option<Site>);

impl Drop for SiteGuard {
    fn drop(&mut self) {
        replace_site(self.0);
    }
}

impl Site {
    /// The site of the running call.
    #[inline]
    pub fn current() -> Site {
        #[cold]
        #[inline(never)]
        fn of_thread() -> Option<Site> {
            SITE.get()
        }
        let fixed = if FIXED.load(Relaxed) == 0 { None } else { of_thread() };
        fixed.unwrap_or_else(site::of_host)
    }
}

impl Modes {
    const DEFAULT: Modes = Modes {
        recording: Recording::On,
        inference: false,
        watch: Watch::NOTHING,
        packer: None,
        observers: vec![],
        site: None,
        live_levels: vec![],
        takers: None,
        conversion: Conversion::Allow,
        autocast: None,
        rounds_factors: false,
        trace: None,
        host_call: None,
        host_rule: None,
        contracts: false,
        transforms: vec![],
        passes_tangents: false,
    };

    /// A copy of this thread's modes.
    pub fn current() -> Modes {
        Modes { site: SITE.get(), ..with(Clone::clone) }
    }

    /// Changes this thread's modes until the guard is dropped, which puts all of them back.
    #[must_use]
    pub fn enter(change: impl FnOnce(&mut Modes)) -> ModesGuard {
        let mut modes = Modes::current();
        change(&mut modes);
        modes.install()
    }

    /// Makes these the modes of this thread until the guard is dropped.
    #[must_use]
    pub fn install(self) -> ModesGuard {
        ModesGuard(self.replace())
    }

    /// Changes this thread's modes for good: for the host's own scopes, which may end in any order.
    pub fn update<R>(change: impl FnOnce(&mut Modes) -> R) -> R {
        let mut modes = Modes::current();
        let result = change(&mut modes);
        // What the old modes held is dropped here, when nothing is borrowed: that may run the host's code.
        drop(modes.replace());
        result
    }

    /// Makes these the modes of this thread. Returns those before.
    fn replace(self) -> Modes {
        if self.inference && !INFERENCE_USED.swap(true, Relaxed) {
            SPECIAL.fetch_add(1, Relaxed);
        }
        trace_number::set_current(self.trace.as_ref().map_or(0, |t| t.number()));
        let flags = self.flags();
        match (FLAGS.replace(flags) == Flags::NONE, flags == Flags::NONE) {
            (true, false) => _ = SPECIAL.fetch_add(1, Relaxed),
            (false, true) => _ = SPECIAL.fetch_sub(1, Relaxed),
            _ => {}
        }
        let site = replace_site(self.site);
        Modes { site, ..MODES.replace(self) }
    }

    fn flags(&self) -> Flags {
        Flags(
            Flags::NOT_RECORDING.when(self.recording != Recording::On)
                | Flags::INFERENCE.when(self.inference)
                | Flags::WATCHING.when(self.watch != Watch::NOTHING)
                | Flags::PACKING.when(self.packer.is_some() || !self.observers.is_empty())
                | Flags::LIVE_LEVELS.when(!self.live_levels.is_empty())
                | Flags::AUTOCAST.when(self.autocast.is_some())
                | Flags::ROUNDS_FACTORS.when(self.rounds_factors)
                | Flags::TRACING.when(self.trace.is_some())
                | Flags::HOST_CALL.when(self.host_call.is_some())
                | Flags::HOST_RULE.when(self.host_rule.is_some())
                | Flags::TAKERS.when(self.takers.is_some())
                | Flags::TRANSFORMED.when(!self.transforms.is_empty())
                | Flags::TANGENTS.when(matches!(self.recording, Recording::Off { tangents: true, .. })),
        )
    }
}

impl Default for Modes {
    fn default() -> Modes {
        Modes::DEFAULT
    }
}

/// Calls `f` with recording switched off: what it computes is not part of a graph.
///
/// ```
/// use ferrograd::{Tensor, no_grad};
/// let x = Tensor::scalar(2.0).leaf();
/// assert!((&x * &x).is_tracked());
/// assert!(!no_grad(|| &x * &x).is_tracked());
/// ```
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    let _modes = Modes::enter(|m| m.recording = Recording::off(DetachReason::unrecorded(Site::current())));
    f()
}

/// Puts the modes of the thread back when dropped.
pub struct ModesGuard(Modes);

impl Drop for ModesGuard {
    fn drop(&mut self) {
        drop(std::mem::take(&mut self.0).replace());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_puts_all_modes_back_and_a_worker_takes_them_over() {
        let level = LiveLevel { level: Level::new(3), randomness: Randomness::Same };
        let guard = Modes::enter(|m| {
            m.recording = Recording::off(DetachReason::unrecorded(Site(7)));
            m.live_levels.push(level);
        });
        let modes = Modes::current();
        let worker = std::thread::spawn(move || {
            assert!(is_recording());
            let guard = modes.install();
            let seen = (is_recording(), live_levels().len(), randomness(level.level));
            drop(guard);
            (seen, is_recording(), flags())
        });
        let (seen, after, left) = worker.join().unwrap();
        assert_eq!(seen, (false, 1, Randomness::Same));
        assert!(after && !left.has(Flags::NOT_RECORDING.and(Flags::LIVE_LEVELS)));
        drop(guard);
        assert!(is_recording() && live_levels().is_empty());
    }

    #[test]
    fn a_lasting_change_outlives_no_guard_around_it() {
        let guard = Modes::enter(|_| {});
        Modes::update(|m| m.inference = true);
        assert!(flags().has(Flags::INFERENCE));
        drop(guard);
        assert!(!flags().has(Flags::INFERENCE) && flags().has(Flags::INFERENCE_TENSORS));
    }
}
