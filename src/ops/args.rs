//! Arguments by type, the Rust types of parameters, and results.

use smallvec::SmallVec;

use crate::array::Item;
use crate::dtype::DType;
use crate::error::{Error, Result, bail};
use crate::graph::Tensor;

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamType {
    pub base: ParamKind,
    /// Whether it may be None.
    pub optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    Tensor,
    /// A tensor or a number. A number is weak: it can raise the kind of the result's dtype, never its width.
    Operand,
    Tensors,
    /// All further arguments: tensors, or one list of them. Always the last parameter.
    Rest,
    Bool,
    Int,
    Float,
    /// A number of any kind.
    Number,
    /// A list of integers, or one integer.
    Ints,
    /// A list of integers, one integer, or a string.
    IntsOrStr,
    /// A list of integers, or one integer; the op sees which.
    Count,
    /// Pairs of integers: a list of pairs, one pair, or one number for both sides.
    Widths,
    /// An integer, or two lists of integers.
    Pairs,
    Str,
    /// A flag or a name.
    Choice,
    /// The order of a norm: a number or a name.
    Order,
    DType,
    Index,
}

/// A default.
#[derive(Clone, Copy, Debug)]
pub enum Lit {
    None,
    False,
    True,
    Int(i64),
    Float(f64),
    Str(&'static str),
    Ints(&'static [i64]),
}

/// One element of an index expression `x[...]`.
#[derive(Clone)]
pub enum Index {
    /// An integer, which beside index arrays counts as one of them, as in NumPy.
    Int(i64),
    /// An integer that is applied before the index arrays, as in PyTorch and Paddle.
    Select(i64),
    Slice {
        start: Option<i64>,
        stop: Option<i64>,
        step: Option<i64>,
    },
    NewAxis,
    Ellipsis,
    /// Integers or truth values.
    Tensor(Tensor),
}

/// An argument, converted by the host to its parameter's type. The tag takes a word, because the compiler copies a smaller
/// one with the bytes behind it, in words that are not aligned and so wait for what was stored before.
#[derive(Clone)]
#[repr(u64)]
pub enum Arg {
    None,
    Bool(bool),
    Int(i64),
    /// A number as an operand.
    Number(Item),
    Float(f64),
    Ints(SmallVec<[i64; 4]>),
    Pairs(Vec<i64>, Vec<i64>),
    Widths(Vec<(i64, i64)>),
    Str(String),
    DType(DType),
    Tensor(Tensor),
    Tensors(Vec<Tensor>),
    Index(Vec<Index>),
}

impl From<Lit> for Arg {
    fn from(lit: Lit) -> Arg {
        match lit {
            Lit::None => Arg::None,
            Lit::False => Arg::Bool(false),
            Lit::True => Arg::Bool(true),
            Lit::Int(i) => Arg::Int(i),
            Lit::Float(f) => Arg::Float(f),
            Lit::Str(s) => Arg::Str(s.to_owned()),
            Lit::Ints(i) => Arg::Ints(i.into()),
        }
    }
}

/// What an op returns. The tag is as wide as that of [`Arg`].
#[repr(u64)]
pub enum Value {
    Tensor(Tensor),
    List(Vec<Tensor>),
    Tuple(Vec<Tensor>),
    Bool(bool),
    DType(DType),
    None,
}

impl From<Tensor> for Value {
    fn from(t: Tensor) -> Value {
        Value::Tensor(t)
    }
}
impl From<Vec<Tensor>> for Value {
    fn from(list: Vec<Tensor>) -> Value {
        Value::List(list)
    }
}
impl From<(Tensor, Tensor)> for Value {
    fn from((a, b): (Tensor, Tensor)) -> Value {
        Value::Tuple(vec![a, b])
    }
}
impl From<(Tensor, Tensor, Tensor)> for Value {
    fn from((a, b, c): (Tensor, Tensor, Tensor)) -> Value {
        Value::Tuple(vec![a, b, c])
    }
}
impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Bool(b)
    }
}

impl From<DType> for Value {
    fn from(d: DType) -> Value {
        Value::DType(d)
    }
}

/// A tensor, or a weak number.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    Tensor(&'a Tensor),
    Number(Item),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(t: &'a Tensor) -> Operand<'a> {
        Operand::Tensor(t)
    }
}
impl From<f64> for Operand<'_> {
    fn from(v: f64) -> Self {
        Operand::Number(Item::Float(v))
    }
}

/// Tensors given one after another, or as one list.
#[derive(Clone, Copy)]
pub struct Rest<'a>(pub &'a [Tensor]);

/// A number or a name: the order of a norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order<'a> {
    Number(f64),
    Name(&'a str),
}

impl<'a> FromArg<'a> for Order<'a> {
    const KIND: ParamType = ParamType { base: ParamKind::Order, optional: false };
    fn from_arg(arg: &'a Arg) -> Option<Self> {
        match arg {
            Arg::Str(s) => Some(Order::Name(s)),
            Arg::Number(i) => i.to_f64().map(Order::Number),
            Arg::Float(f) => Some(Order::Number(*f)),
            Arg::Int(i) => Some(Order::Number(*i as f64)),
            _ => None,
        }
    }
}

/// A flag, or a name where there are more than two choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    Bool(bool),
    Name(&'a str),
}

/// Which axes: none means all.
pub type Axes<'a> = Option<&'a [i64]>;

/// A number, or a list of them.
#[derive(Clone, Copy, Debug)]
pub enum Count<'a> {
    One(i64),
    Many(&'a [i64]),
}

/// Pairs of numbers, such as the padding before and after the elements of each axis.
pub type Widths<'a> = &'a [(i64, i64)];

/// A Rust type that a parameter can have.
pub trait FromArg<'a>: Sized {
    const KIND: ParamType;
    /// None if the argument has another type, which the host's conversion rules out.
    fn from_arg(arg: &'a Arg) -> Option<Self>;
}

macro_rules! from_arg {
    ($($base:ident $t:ty: $p:pat => $e:expr),* $(,)?) => { $(
        impl<'a> FromArg<'a> for $t {
            const KIND: ParamType = ParamType { base: ParamKind::$base, optional: false };
            fn from_arg(arg: &'a Arg) -> Option<Self> {
                match arg { $p => $e, _ => None }
            }
        }
    )* };
}
from_arg! {
    Tensor &'a Tensor: Arg::Tensor(t) => Some(t),
    Tensors &'a [Tensor]: Arg::Tensors(t) => Some(t),
    Bool bool: Arg::Bool(b) => Some(*b),
    Int i64: Arg::Int(i) => Some(*i),
    Ints &'a [i64]: Arg::Ints(i) => Some(i),
    Str &'a str: Arg::Str(s) => Some(s),
    DType DType: Arg::DType(d) => Some(*d),
    Index &'a [Index]: Arg::Index(i) => Some(i),
    Widths Widths<'a>: Arg::Widths(w) => Some(w),
}

impl<'a> FromArg<'a> for Count<'a> {
    const KIND: ParamType = ParamType { base: ParamKind::Count, optional: false };
    fn from_arg(arg: &'a Arg) -> Option<Self> {
        match arg {
            Arg::Int(i) => Some(Count::One(*i)),
            Arg::Ints(list) => Some(Count::Many(list)),
            _ => None,
        }
    }
}

impl<'a> FromArg<'a> for Operand<'a> {
    const KIND: ParamType = ParamType { base: ParamKind::Operand, optional: false };
    fn from_arg(arg: &'a Arg) -> Option<Self> {
        match arg {
            Arg::Tensor(t) => Some(Operand::Tensor(t)),
            Arg::Number(i) => Some(Operand::Number(*i)),
            Arg::Int(i) => Some(Operand::Number(Item::Int(i128::from(*i)))),
            Arg::Float(f) => Some(Operand::Number(Item::Float(*f))),
            _ => None,
        }
    }
}

impl<'a> FromArg<'a> for Rest<'a> {
    const KIND: ParamType = ParamType { base: ParamKind::Rest, optional: false };
    fn from_arg(arg: &'a Arg) -> Option<Self> {
        match arg {
            Arg::Tensors(t) => Some(Rest(t)),
            _ => None,
        }
    }
}

/// Sizes, or the name of a rule for them.
#[derive(Clone, Copy)]
pub enum IntsOrStr<'a> {
    Ints(&'a [i64]),
    Str(&'a str),
}

impl<'a> FromArg<'a> for IntsOrStr<'a> {
    const KIND: ParamType = ParamType { base: ParamKind::IntsOrStr, optional: false };
    fn from_arg(arg: &'a Arg) -> Option<Self> {
        match arg {
            Arg::Ints(i) => Some(IntsOrStr::Ints(i)),
            Arg::Int(i) => Some(IntsOrStr::Ints(std::slice::from_ref(i))),
            Arg::Str(s) => Some(IntsOrStr::Str(s)),
            _ => None,
        }
    }
}

/// Pairs of axes of two tensors: lists of both, or a number `n` that pairs the last `n` axes of the first
/// with the first `n` of the second.
#[derive(Clone, Copy)]
pub enum Pairs<'a> {
    Count(i64),
    Named(&'a [i64], &'a [i64]),
}

impl<'a> FromArg<'a> for Pairs<'a> {
    const KIND: ParamType = ParamType { base: ParamKind::Pairs, optional: false };
    fn from_arg(arg: &'a Arg) -> Option<Self> {
        match arg {
            Arg::Int(n) => Some(Pairs::Count(*n)),
            Arg::Pairs(x, y) => Some(Pairs::Named(x, y)),
            _ => None,
        }
    }
}

impl<'a> FromArg<'a> for Item {
    const KIND: ParamType = ParamType { base: ParamKind::Number, optional: false };
    fn from_arg(arg: &'a Arg) -> Option<Self> {
        // A default arrives as an integer or a float.
        match arg {
            Arg::Number(n) => Some(*n),
            Arg::Int(i) => Some(Item::Int(i128::from(*i))),
            Arg::Float(f) => Some(Item::Float(*f)),
            _ => None,
        }
    }
}

impl<'a> FromArg<'a> for f64 {
    const KIND: ParamType = ParamType { base: ParamKind::Float, optional: false };
    fn from_arg(arg: &'a Arg) -> Option<Self> {
        match arg {
            Arg::Float(f) => Some(*f),
            Arg::Int(i) => Some(*i as f64),
            _ => None,
        }
    }
}

impl<'a> FromArg<'a> for Choice<'a> {
    const KIND: ParamType = ParamType { base: ParamKind::Choice, optional: false };
    fn from_arg(arg: &'a Arg) -> Option<Self> {
        match arg {
            Arg::Bool(b) => Some(Choice::Bool(*b)),
            Arg::Str(s) => Some(Choice::Name(s)),
            _ => None,
        }
    }
}

impl<'a, T: FromArg<'a>> FromArg<'a> for Option<T> {
    const KIND: ParamType = ParamType { optional: true, ..T::KIND };
    fn from_arg(arg: &'a Arg) -> Option<Self> {
        match arg {
            Arg::None => Some(None),
            arg => T::from_arg(arg).map(Some),
        }
    }
}

/// Argument `i` as a function's own parameter type.
pub fn take<'a, T: FromArg<'a>>(op: &'static str, args: &'a [Arg], i: usize) -> Result<T> {
    let Some(arg) = args.get(i) else { bail!(Argument, op, "argument {i} is missing") };
    T::from_arg(arg).ok_or_else(|| {
        Error::Internal(format!("{op}: argument {i} came as another kind than its own")).into()
    })
}
