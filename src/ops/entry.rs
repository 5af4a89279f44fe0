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
    /// Whether the host calls it with [`as_pytorch`](super::random::as_pytorch) in a dialect that draws PyTorch's numbers.
    pub draws: bool,
    pub work: Work,
    /// Whether it may read memory that another library writes to: it takes no number from there as a count or a place. Where
    /// another thread writes meanwhile, some numbers of the result are others, and nothing else happens.
    pub reads_lent: bool,
    /// How Paddle's function differs from the native one, and under which name alone.
    pub paddle: &'static [(Convention, Option<&'static str>)],
    /// The same of PyTorch's function.
    pub torch: &'static [(Convention, Option<&'static str>)],
    pub call: fn(&[Arg]) -> Result<Value>,
}

/// Where the function of another library differs from the native one of its name. The host keeps the convention.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// Sums and products of unsigned integers are of int64; natively of uint64, as NumPy's.
    SignedSums,
    /// The mean of integers, or in an integer dtype, is the whole part of it; natively it is a float, and no integer dtype is
    /// accepted.
    WholeMean,
    /// A test of bytes gives bytes; natively truth values.
    ByteTest,
    /// An empty list of axes stands for all of them; natively for none.
    AllAxes,
    /// An empty list of axes is refused.
    NeedsAxes,
    /// One of the arguments after the first one is given; natively all may be None.
    NeedsOther,
    /// Where there is nothing to do, the result is the operand; natively a new tensor.
    GivesBack,
    /// Results share no memory with the operand; natively they are views where they can be.
    Copies,
    /// The quotient is the one that goes with the remainder; natively the floor of the quotient, also where an operand is
    /// infinite.
    QuotientOfRemainder,
    /// A negative index is refused; natively it counts from the end.
    FromZero,
    /// A number beside integers that their dtype does not hold is taken modulo 2 to the power of their bits; natively it is refused.
    Wraps,
    /// The same for a negative number that is written to unsigned integers, down to minus the largest one.
    WrapsNegative,
    /// A tensor for the result may follow the operands; natively it has a name.
    TakesOut,
    /// A cast of complex numbers to a real dtype takes their real part, with a warning; natively it is refused.
    TakesRealPart,
    /// With a dtype of integers the operand is cast to it first, and these integers go on with its history; natively they
    /// have none.
    TracksIntegers,
    /// Results lie in the order of the operands that are not broadcast, as those of what is computed element by element.
    /// Natively the order is any that is fast; without one of these words it is C order, or that of the elements if the
    /// in-place form keeps the shape.
    LaidByElements,
    /// Results have the strides of the operand, if its elements lie without gaps; else as those of what is computed element by element.
    LaidAsOperand,
    /// The same as `LaidByElements`, where the last operand comes first.
    LaidByLastElements,
    /// Results lie with the channels last in memory if those of the first operand do, else in C order.
    LaidAsImages,
    /// The same, if those of the first or of the second operand do.
    LaidAsImagesByWeight,
    /// The same, if those of all operands do.
    LaidIfAll,
    /// Results lie in C order.
    LaidInCOrder,
}

/// A set of conventions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Conventions(u32);

impl Conventions {
    pub const NONE: Conventions = Conventions(0);

    /// Those of the function of this name, in a list of an entry.
    pub fn of(list: &[(Convention, Option<&str>)], name: &str) -> Conventions {
        let own = list.iter().filter(|(_, only)| only.is_none_or(|only| only == name));
        own.fold(Conventions::NONE, |all, (convention, _)| all.and(*convention))
    }

    #[must_use]
    pub const fn and(self, convention: Convention) -> Conventions {
        Conventions(self.0 | 1 << convention as u32)
    }

    pub const fn has(self, convention: Convention) -> bool {
        self.0 & 1 << convention as u32 != 0
    }

    pub const fn has_any(self, of: Conventions) -> bool {
        self.0 & of.0 != 0
    }
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
