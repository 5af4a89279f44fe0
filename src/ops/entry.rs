//! How an op is offered to a host language: its names, its parameters with their kinds and defaults, and one call.
//! The host turns its objects into `Arg`s by kind, and a `Value` into its own object; it knows no op by name.

pub use super::args::{
    Arg, Axes, Choice, Count, FromArg, IntsOrStr, Operand, Order, Pairs, Rest, Value, Widths, take,
};
use crate::error::Result;

/// One public function.
pub struct Entry {
    /// Its names, the native one first.
    pub names: &'static [&'static str],
    pub params: &'static [Param],
    /// What the host shows as documentation.
    pub doc: &'static str,
    /// Whether it is also a method of the tensor given first.
    pub method: bool,
    /// Whether its results may be views: where one shares the memory of a tensor that was given, writes to either are
    /// seen by both.
    pub views: bool,
    pub twin: InPlace,
    pub call: fn(&[Arg]) -> Result<Value>,
}

/// Whether an entry has a twin that writes its result over its first tensor (`sin_`).
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

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamType {
    pub base: Base,
    /// Whether it may be None.
    pub optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    Tensor,
    /// A tensor or a number, which is weak: it can raise the kind of the result, never its width.
    Operand,
    Tensors,
    /// All further arguments, tensors; or one list of them. Always the last parameter.
    Rest,
    Bool,
    Int,
    Float,
    /// A number of any kind.
    Number,
    /// A list of integers, or one.
    Ints,
    /// A list of integers, or one, or a word.
    IntsOrStr,
    /// A list of integers, or one, which are told apart.
    Count,
    /// Pairs of integers: a list of them, one, or a number that is both.
    Widths,
    /// An integer, or two lists of integers.
    Pairs,
    Str,
    /// A flag or a name.
    Choice,
    /// A number or a name, as the orders of norms are.
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

/// The entries of a family: `method sum | reduce_sum(x: &Tensor, axis: Axes<'_> = None) "documentation";`, where
/// `sum` is the function, and more names follow bars. `method` makes it a tensor's method too (`function` does not);
/// `view` is a method whose results share the tensor's memory where they can; `twin` a method with a twin that writes
/// in place; `reshaping` a view with a twin that may change the shape.
/// After `in linalg;` the first name of each is `linalg.name`, in a namespace of its own; the names after bars are not.
macro_rules! entries {
    (in $space:ident; $($place:ident $f:ident $(| $alias:ident)* ( $($p:ident : $t:ty $(= $d:ident $(($v:expr))?)?),* $(,)? ) $doc:expr;)*) => {
        pub(crate) const ENTRIES: &[$crate::ops::entry::Entry] = &[ $( $crate::ops::entry::entry!($place [concat!(stringify!($space), ".", stringify!($f)) $(, stringify!($alias))*] $f ( $($p : $t $(= $d $(($v))?)?),* ) $doc) ),* ];
    };
    ($($place:ident $f:ident $(| $alias:ident)* ( $($p:ident : $t:ty $(= $d:ident $(($v:expr))?)?),* $(,)? ) $doc:expr;)*) => {
        pub(crate) const ENTRIES: &[$crate::ops::entry::Entry] = &[ $( $crate::ops::entry::entry!($place [stringify!($f) $(, stringify!($alias))*] $f ( $($p : $t $(= $d $(($v))?)?),* ) $doc) ),* ];
    };
}
/// One entry, for the rows that make their own.
macro_rules! entry {
    ($place:ident [$first:expr $(, $name:expr)*] $f:ident ( $($p:ident : $t:ty $(= $d:ident $(($v:expr))?)?),* ) $doc:expr) => {
        $crate::ops::entry::Entry {
            names: &[$first $(, $name)*],
            params: &[ $( $crate::ops::entry::Param {
                name: stringify!($p),
                kind: <$t as $crate::ops::entry::FromArg<'static>>::KIND,
                default: $crate::ops::entry::default!($($d $(($v))?)?),
            } ),* ],
            doc: $doc,
            method: $crate::ops::entry::place!($place).0,
            views: $crate::ops::entry::place!($place).1,
            twin: $crate::ops::entry::place!($place).2,
            #[allow(unused_assignments, unused_mut, unused_variables, non_snake_case)]
            call: |args| {
                let mut i = 0;
                $( let $p: $t = $crate::ops::entry::take($first, args, i)?; i += 1; )*
                Ok($crate::ops::entry::Value::from($f($($p),*)?))
            },
        }
    };
}
macro_rules! default {
    () => { None };
    ($d:ident $(($v:expr))?) => { Some($crate::ops::entry::Lit::$d $(($v))?) };
}
/// Whether a place in `entries!` makes a method, whether its results may be views, and its twin.
macro_rules! place {
    (function) => {
        (false, false, $crate::ops::entry::InPlace::None)
    };
    (method) => {
        (true, false, $crate::ops::entry::InPlace::None)
    };
    (view) => {
        (true, true, $crate::ops::entry::InPlace::None)
    };
    (twin) => {
        (true, false, $crate::ops::entry::InPlace::SameShape)
    };
    (reshaping) => {
        (true, true, $crate::ops::entry::InPlace::AnyShape)
    };
}
pub(crate) use {default, entries, entry, place};
