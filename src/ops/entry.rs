//! How an op is offered to a host language: its names, its parameters with their types and defaults, and one
//! function to call. The host converts its objects to `Arg`s by type and a `Value` to its own object. It
//! knows no op by name.

pub use super::args::{
    Arg, Axes, Choice, Count, FromArg, IntsOrStr, Lit, Operand, Order, Pairs, ParamKind, ParamType, Rest,
    Value, Widths, take,
};
use crate::error::Result;

/// Offers a function as an [`Entry`].
pub(crate) use ferrograd_macros::op;

/// One public function.
pub struct Entry {
    /// Its names, the native one first.
    pub names: &'static [&'static str],
    pub params: &'static [Param],
    /// What the host shows as documentation.
    pub doc: &'static str,
    /// Whether it is also a method of the tensor given first.
    pub method: bool,
    /// Whether its results may be views, which share memory with an input: a write to either is seen in both.
    pub views: bool,
    pub in_place: InPlace,
    /// Whether `call` takes float16 and bfloat16 as they are. [`half::call`](super::half::call) converts them where not.
    pub takes_half: bool,
    /// Whether all that it does to floats of one dtype is to apply one op, element by element or a sum.
    pub is_row: bool,
    /// Whether the host calls it with [`from_zero`](super::index::from_zero) in a dialect whose library refuses negative
    /// indices there.
    pub from_zero: bool,
    /// Whether the host calls it with [`as_pytorch`](super::random::as_pytorch) in a dialect that draws PyTorch's numbers.
    pub draws: bool,
    pub work: Work,
    /// Whether it may read memory that another library writes to: it takes no number from there as a count or a place. Where
    /// another thread writes meanwhile, some numbers of the result are others, and nothing else happens.
    pub reads_lent: bool,
    pub call: fn(&[Arg]) -> Result<Value>,
}

/// How long an entry takes for the size of its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// About as long as to read them, such as a sum.
    Light,
    /// Some ten times as long, such as the sine of each element.
    Usual,
    /// Longer for larger operands, such as a product of matrices.
    Heavy,
}

/// The in-place form of an entry, which writes the result over its first tensor (`sin_`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InPlace {
    None,
    /// The result has the shape of the tensor.
    SameShape,
    /// The result may have another shape.
    AnyShape,
}

pub struct Param {
    pub name: &'static str,
    pub kind: ParamType,
    /// None where the caller must give it.
    pub default: Option<Lit>,
}

inventory::collect!(Entry);
