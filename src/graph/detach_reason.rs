//! Why a value is untracked although it was computed from tracked ones, for the texts of errors.

use super::site::Site;

/// The reason and its call site in one number; zero where nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DetachReason(u32);

/// How many bits the reason takes; the others are the site.
const BITS: u32 = 3;

impl DetachReason {
    fn new(reason: u32, site: Site) -> DetachReason {
        let site = if site.0 >> (u32::BITS - BITS) == 0 { site.0 } else { 0 };
        DetachReason(site << BITS | reason)
    }

    /// `detach()` was called.
    pub fn detached(site: Site) -> DetachReason {
        DetachReason::new(1, site)
    }

    /// The tensor was made untracked.
    pub fn stopped(site: Site) -> DetachReason {
        DetachReason::new(2, site)
    }

    /// An op computed it while recording was off, since a call at `site`.
    pub fn unrecorded(site: Site) -> DetachReason {
        DetachReason::new(3, site)
    }

    /// Its dtype has no derivative.
    pub fn by_dtype() -> DetachReason {
        DetachReason::new(4, Site::default())
    }

    /// It is a gradient that was asked for without `create_graph`.
    pub fn gradient(site: Site) -> DetachReason {
        DetachReason::new(5, site)
    }

    pub fn is_known(self) -> bool {
        self != DetachReason::default()
    }

    /// The reason as a clause. None where it is not known.
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
