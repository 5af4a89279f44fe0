//! Why a value is untracked although it was computed from tracked ones, for the texts of errors.

use super::site::Site;
use super::stems::Stems;

/// The reason, and the arguments of a running function that the value was computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DetachReason {
    why: Why,
    stems: Stems,
}

/// The reason and its call site in one number; zero where nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Why(u32);

impl From<Why> for DetachReason {
    fn from(why: Why) -> DetachReason {
        DetachReason { why, stems: Stems::default() }
    }
}

/// How many bits the reason takes; the others are the site.
const BITS: u32 = 3;

impl DetachReason {
    fn new(reason: u32, site: Site) -> DetachReason {
        let site = if site.0 >> (u32::BITS - BITS) == 0 { site.0 } else { 0 };
        Why(site << BITS | reason).into()
    }

    /// `detach()` was called, or `data` was read.
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

    /// Its dtype has no derivative, or that of what it was computed from, which was made at `site`.
    pub fn by_dtype(site: Site) -> DetachReason {
        DetachReason::new(4, site)
    }

    /// A function of the library, called at `site`, gives results without gradients.
    pub fn by_function(site: Site) -> DetachReason {
        DetachReason::new(6, site)
    }

    /// The forward of a function of the host's computed it, and of a value that is none of its arguments. The function was
    /// applied at `site`.
    pub fn in_function(site: Site) -> DetachReason {
        DetachReason::new(7, site)
    }

    /// Whether a function in Rust has left the edge out and the call site is still to be found.
    pub fn lacks_site(self) -> bool {
        self.why == DetachReason::by_function(Site::default()).why
    }

    /// It is a gradient that was asked for without `create_graph`.
    pub fn gradient(site: Site) -> DetachReason {
        DetachReason::new(5, site)
    }

    pub fn is_known(self) -> bool {
        self.why != Why::default()
    }

    pub(super) fn why(self) -> Why {
        self.why
    }

    /// The arguments of a running function that the value was computed from.
    pub fn stems(self) -> Stems {
        self.stems
    }

    #[must_use]
    pub fn with_stems(self, stems: Stems) -> DetachReason {
        DetachReason { stems, ..self }
    }

    /// This reason, with the stems of a value that was written over a part of the value.
    #[must_use]
    pub fn joined(self, other: DetachReason) -> DetachReason {
        self.with_stems(self.stems.or(other.stems))
    }

    /// The reason as a clause. None where it is not known.
    pub fn describe(self) -> Option<String> {
        let at = |word: &str| {
            Site(self.why.0 >> BITS).describe().map_or(String::new(), |site| format!(" {word} {site}"))
        };
        Some(match self.why.0 & ((1 << BITS) - 1) {
            1 => format!("detach() or .data{} cut it off", at("at")),
            2 => format!(
                "it was made untracked{} (detach_(), requires_grad=False or stop_gradient=True)",
                at("at")
            ),
            3 => format!("recording was off (no_grad{})", at("since")),
            4 => match at("made at") {
                made if made.is_empty() => "integers and booleans have no derivative".to_owned(),
                made => format!("integers and booleans have no derivative, and such were{made}"),
            },
            5 => format!("a gradient was made without create_graph=True{}", at("at")),
            6 => format!("the function called{} has no derivative", at("at")),
            7 => format!("the Function applied{} was not given it as an argument", at("at")),
            _ => return None,
        })
    }
}
