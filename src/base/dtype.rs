//! Element types, their promotion, and the macro that turns a dtype into a Rust type.

use std::fmt;

pub use half::{bf16, f16};
use num_complex::Complex;

/// The type of an array's elements. The discriminant is the index into tables by dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    BF16,
    F32,
    F64,
    C64,
    C128,
}

/// The number of dtypes, which is the length of a table by dtype.
pub const DTYPES: usize = 15;

/// The kinds of dtypes, weakest first. A result of two kinds has the dtype of the stronger kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DTypeKind {
    Bool,
    Int,
    Float,
    Complex,
}

use DType::*;

impl DType {
    pub const ALL: [DType; DTYPES] =
        [Bool, U8, I8, U16, I16, U32, I32, U64, I64, F16, BF16, F32, F64, C64, C128];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Bool | U8 | I8 => 1,
            U16 | I16 | F16 | BF16 => 2,
            U32 | I32 | F32 => 4,
            U64 | I64 | F64 | C64 => 8,
            C128 => 16,
        }
    }

    pub const fn kind(self) -> DTypeKind {
        match self {
            Bool => DTypeKind::Bool,
            F16 | BF16 | F32 | F64 => DTypeKind::Float,
            C64 | C128 => DTypeKind::Complex,
            _ => DTypeKind::Int,
        }
    }

    /// Whether values of the dtype can have a gradient.
    pub const fn is_differentiable(self) -> bool {
        matches!(self, F16 | BF16 | F32 | F64 | C64 | C128)
    }

    pub const fn is_float(self) -> bool {
        matches!(self, F16 | BF16 | F32 | F64)
    }

    /// Whether elements are stored in two bytes and computed with in float32.
    #[inline(always)]
    pub const fn is_half(self) -> bool {
        matches!(self, F16 | BF16)
    }

    pub const fn is_complex(self) -> bool {
        matches!(self, C64 | C128)
    }

    /// The dtype of the real part of a complex number; any other dtype itself.
    pub const fn real(self) -> DType {
        match self {
            C64 => F32,
            C128 => F64,
            real => real,
        }
    }

    /// The complex dtype whose parts have this dtype, which is a float; a complex dtype itself.
    pub const fn complex(self) -> DType {
        match self {
            F64 | C128 => C128,
            _ => C64,
        }
    }

    pub const fn is_unsigned(self) -> bool {
        matches!(self, U8 | U16 | U32 | U64)
    }

    /// NumPy's name of the dtype.
    pub const fn name(self) -> &'static str {
        match self {
            Bool => "bool",
            U8 => "uint8",
            I8 => "int8",
            U16 => "uint16",
            I16 => "int16",
            U32 => "uint32",
            I32 => "int32",
            U64 => "uint64",
            I64 => "int64",
            F16 => "float16",
            BF16 => "bfloat16",
            F32 => "float32",
            F64 => "float64",
            C64 => "complex64",
            C128 => "complex128",
        }
    }

    /// The dtype of a name, in the spelling of NumPy, Paddle or PyTorch.
    pub fn parse(name: &str) -> Option<DType> {
        Some(match name {
            "half" => F16,
            "float" => F32,
            "double" => F64,
            "cfloat" => C64,
            "cdouble" => C128,
            "int" => I32,
            "long" => I64,
            _ => *DType::ALL.iter().find(|d| d.name() == name)?,
        })
    }

    /// The dtype of a result of two arrays. Within a kind it follows the Python array API standard (and is float64 for
    /// uint64 with a signed integer, as in NumPy). Across kinds it is the dtype of the stronger kind, but complex128
    /// for float64 with complex64. Neither half dtype holds the other's numbers, so both together give float32.
    pub fn promote(self, other: DType) -> DType {
        if self == other {
            return self;
        }
        if self.is_complex() || other.is_complex() {
            return if [self.real(), other.real()].contains(&F64) { C128 } else { C64 };
        }
        match self.kind().cmp(&other.kind()) {
            std::cmp::Ordering::Greater => return self,
            std::cmp::Ordering::Less => return other,
            std::cmp::Ordering::Equal => {}
        }
        if self.is_half() && other.is_half() {
            return F32;
        }
        let (small, large) = if self.size() <= other.size() { (self, other) } else { (other, self) };
        if self.is_unsigned() == other.is_unsigned() || (large.size() > small.size() && !large.is_unsigned())
        {
            return large;
        }
        match large.size() {
            1 => I16,
            2 => I32,
            4 => I64,
            _ => F64,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A truth value in one byte. Unlike Rust's `bool`, every byte is valid, so bytes from outside are never undefined
/// behaviour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Bool8(pub u8);

impl From<bool> for Bool8 {
    #[inline(always)]
    fn from(b: bool) -> Self {
        Bool8(u8::from(b))
    }
}

impl fmt::Display for Bool8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0 != 0).fmt(f)
    }
}

/// Keeps [`Element`] from being implemented outside the crate.
#[doc(hidden)]
pub mod sealed {
    pub trait Sealed {}
}

/// A Rust type that an array can hold. Only this crate implements it:
///
/// ```compile_fail,E0277
/// use ferrograd::dtype::{DType, Element};
///
/// #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
/// struct Wide([u64; 8]);
///
/// // An array of bytes, read and written as elements of 64 bytes, would overrun its memory.
/// unsafe impl Element for Wide {
///     const DTYPE: DType = DType::U8;
///     fn from_f64(_: f64) -> Wide { Wide::default() }
///     fn from_i64(_: i64) -> Wide { Wide::default() }
/// }
/// ```
///
/// # Safety
/// The type has the size and at most the alignment of an element of [`Element::DTYPE`], and every bit pattern of that
/// size is a value of the type.
pub unsafe trait Element:
    sealed::Sealed + Copy + Default + PartialEq + Send + Sync + fmt::Debug + 'static
{
    const DTYPE: DType;
    /// The nearest element: integers saturate, truth values are `v != 0`, an imaginary part is 0.
    fn from_f64(v: f64) -> Self;
    /// The element congruent to `v`; truth values are `v != 0`.
    fn from_i64(v: i64) -> Self;
}

/// An element that is one real number: of all dtypes but the complex ones.
pub trait Ordered: Element + PartialOrd {
    fn to_f64(self) -> f64;
    fn to_i64(self) -> i64;
}

macro_rules! element {
    ($($t:ty => $dtype:ident),*) => { $(
        impl sealed::Sealed for $t {}
        // SAFETY: the dtype is that of this primitive number, all of whose bit patterns are values.
        unsafe impl Element for $t {
            const DTYPE: DType = $dtype;
            #[inline(always)] fn from_f64(v: f64) -> Self { v as $t }
            #[inline(always)] fn from_i64(v: i64) -> Self { v as $t }
        }
        impl Ordered for $t {
            #[inline(always)] fn to_f64(self) -> f64 { self as f64 }
            #[inline(always)] fn to_i64(self) -> i64 { self as i64 }
        }
    )* };
}
element!(u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64, f32 => F32, f64 => F64);

macro_rules! half {
    ($($t:ident => $dtype:ident),*) => { $(
        impl sealed::Sealed for $t {}
        // SAFETY: 16 bits in a transparent struct, all of whose patterns are values.
        unsafe impl Element for $t {
            const DTYPE: DType = $dtype;
            #[inline(always)] fn from_f64(v: f64) -> Self { $t::from_f32(rounded_to_odd(v)) }
            #[inline(always)] fn from_i64(v: i64) -> Self { Self::from_f64(v as f64) }
        }
    )* };
}
half!(f16 => F16, bf16 => BF16);

/// A number in float32, so that the next rounding to 16 bits gives the 16 bits that are nearest to the number: where it
/// is not exact, the last bit is 1, and the result is on no boundary between two shorter numbers (S. Boldo, G.
/// Melquiond, 2008).
#[inline(always)]
#[doc(hidden)]
pub fn rounded_to_odd(v: f64) -> f32 {
    let near = v as f32;
    let bits = near.to_bits();
    let odd = if f64::from(near).abs() > v.abs() { bits.wrapping_sub(1) } else { bits | 1 };
    f32::from_bits(if f64::from(near) == v || bits & 1 == 1 { bits } else { odd })
}

impl sealed::Sealed for Bool8 {}
// SAFETY: one transparent byte, and every byte is a value.
unsafe impl Element for Bool8 {
    const DTYPE: DType = Bool;
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        Bool8::from(v != 0.0)
    }
    #[inline(always)]
    fn from_i64(v: i64) -> Self {
        Bool8::from(v != 0)
    }
}
impl Ordered for Bool8 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self.0)
    }
    #[inline(always)]
    fn to_i64(self) -> i64 {
        i64::from(self.0)
    }
}

macro_rules! complex {
    ($($t:ident => $dtype:ident),*) => { $(
        impl sealed::Sealed for Complex<$t> {}
        // SAFETY: two floats in a row (`repr(C)`), all of whose bit patterns are values.
        unsafe impl Element for Complex<$t> {
            const DTYPE: DType = $dtype;
            #[inline(always)] fn from_f64(v: f64) -> Self { Complex::new(v as $t, 0.0) }
            #[inline(always)] fn from_i64(v: i64) -> Self { Complex::new(v as $t, 0.0) }
        }
    )* };
}
complex!(f32 => C64, f64 => C128);

/// An element of dtype complex64.
#[allow(non_camel_case_types)]
pub type c64 = Complex<f32>;
/// An element of dtype complex128.
#[allow(non_camel_case_types)]
pub type c128 = Complex<f64>;

/// Runs a block with `$T` the Rust type of a dtype: `dispatch!(dtype, all T => block)`. The groups are `all`, `ordered`
/// (all but complex), `field` (all but bool), `num` (integers and floats), `int`, `float`, `inexact` (floats and
/// complex), and `scalar` (floats and complex128). Half dtypes are in `all` only, because nothing computes with them. A
/// dtype outside the group runs the `else` block.
#[macro_export]
macro_rules! dispatch {
    ($d:expr, all $T:ident => $body:expr) => {
        $crate::dtype::dispatch!(@ $d, $T, $body, Bool Bool8, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F16 f16, BF16 bf16, F32 f32, F64 f64, C64 c64, C128 c128;)
    };
    ($d:expr, ordered $T:ident => $body:expr, else $other:expr) => {
        $crate::dtype::dispatch!(@ $d, $T, $body, Bool Bool8, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64; _ => $other)
    };
    ($d:expr, field $T:ident => $body:expr, else $other:expr) => {
        $crate::dtype::dispatch!(@ $d, $T, $body, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64, C64 c64, C128 c128; _ => $other)
    };
    ($d:expr, num $T:ident => $body:expr, else $other:expr) => {
        $crate::dtype::dispatch!(@ $d, $T, $body, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64; _ => $other)
    };
    ($d:expr, int $T:ident => $body:expr, else $other:expr) => {
        $crate::dtype::dispatch!(@ $d, $T, $body, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64; _ => $other)
    };
    ($d:expr, float $T:ident => $body:expr, else $other:expr) => {
        $crate::dtype::dispatch!(@ $d, $T, $body, F32 f32, F64 f64; _ => $other)
    };
    ($d:expr, inexact $T:ident => $body:expr, else $other:expr) => {
        $crate::dtype::dispatch!(@ $d, $T, $body, F32 f32, F64 f64, C64 c64, C128 c128; _ => $other)
    };
    ($d:expr, scalar $T:ident => $body:expr, else $other:expr) => {
        $crate::dtype::dispatch!(@ $d, $T, $body, F32 f32, F64 f64, C128 c128; _ => $other)
    };
    (@ $d:expr, $T:ident, $body:expr, $($V:ident $t:ident),*; $($rest:tt)*) => {{
        #[allow(unused_imports)]
        use $crate::dtype::{Bool8, bf16, c64, c128, f16};
        match $d { $($crate::dtype::DType::$V => { #[allow(dead_code)] type $T = $t; $body })* $($rest)* }
    }};
}
pub use dispatch;
