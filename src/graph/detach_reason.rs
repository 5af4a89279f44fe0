//! Why a value is not tracked although something that it was computed from was: remembered for the texts of errors.

use super::Tensor;
use super::site::Site;

/// What cut a value off, and where, in one number; zero where nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DetachReason(u32);

/// The bits that say what it was.
const BITS: u32 = 3;

impl DetachReason {
    fn new(what: u32, site: Site) -> DetachReason {
        let site = if site.0 >> (u32::BITS - BITS) == 0 { site.0 } else { 0 };
        DetachReason(site << BITS | what)
    }

    /// The value was detached there.
    pub fn detached(site: Site) -> DetachReason {
        DetachReason::new(1, site)
    }

    /// The tensor was told there to be tracked no longer.
    pub fn stopped(site: Site) -> DetachReason {
        DetachReason::new(2, site)
    }

    /// An op met it while nothing was recorded, which began there.
    pub fn unrecorded(site: Site) -> DetachReason {
        DetachReason::new(3, site)
    }

    /// The op's result has no derivative.
    pub fn by_dtype() -> DetachReason {
        DetachReason::new(4, Site::default())
    }

    /// It is a gradient that was asked for there, not to be differentiated again.
    pub fn gradient(site: Site) -> DetachReason {
        DetachReason::new(5, site)
    }

    pub fn is_known(self) -> bool {
        self != DetachReason::default()
    }

    /// The first that is known of some values that are not tracked.
    pub fn among(values: &[&Tensor]) -> DetachReason {
        values
            .iter()
            .filter(|t| t.edge.is_none())
            .map(|t| t.detach_reason)
            .find(|c| c.is_known())
            .unwrap_or_default()
    }

    /// What happened, as a clause; none where that is not known.
    pub fn describe(self) -> Option<String> {
        let at = |word: &str| {
            Site(self.0 >> BITS).describe().map_or(String::new(), |site| format!(" {word} {site}"))
        };
        Some(match self.0 & ((1 << BITS) - 1) {
            1 => format!("detach(){} cut it off", at("at")),
            2 => format!("it was made untracked{} (detach_() or stop_gradient=True)", at("at")),
            3 => format!("recording was off (no_grad{})", at("since")),
            4 => "integers and booleans have no derivative".to_owned(),
            5 => format!("a gradient was made without create_graph=True{}", at("at")),
            _ => return None,
        })
    }
}
