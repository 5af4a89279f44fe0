//! `Bits`: bitwise operations of integers and truth values.

use crate::dtype::{Bool8, Element};

/// The result of a comparison as an array element.
#[inline(always)]
pub fn truth(b: bool) -> Bool8 {
    Bool8::from(b)
}

/// Bitwise operations of integers and truth values.
pub trait Bits: Element {
    fn and(self, o: Self) -> Self;
    fn or(self, o: Self) -> Self;
    fn xor(self, o: Self) -> Self;
    /// Inverts all bits, or the truth value.
    fn not(self) -> Self;
    /// Shifting by a negative number, or by at least the width, shifts everything out.
    fn shl(self, o: Self) -> Self;
    fn shr(self, o: Self) -> Self;
}

macro_rules! bits {
    ($($t:ty, $fill:expr);* $(;)?) => { $(
        impl Bits for $t {
            #[inline(always)] fn and(self, o: Self) -> Self { self & o }
            #[inline(always)] fn or(self, o: Self) -> Self { self | o }
            #[inline(always)] fn xor(self, o: Self) -> Self { self ^ o }
            #[inline(always)] fn not(self) -> Self { !self }
            #[inline(always)] fn shl(self, o: Self) -> Self {
                u32::try_from(o).ok().and_then(|o| self.checked_shl(o)).unwrap_or(0)
            }
            #[inline(always)] fn shr(self, o: Self) -> Self {
                u32::try_from(o).ok().and_then(|o| self.checked_shr(o)).unwrap_or($fill(self))
            }
        }
    )* };
}
macro_rules! signed_bits {
    ($($t:ty)*) => { bits! { $($t, |x: $t| if x < 0 { -1 } else { 0 };)* } };
}
macro_rules! unsigned_bits {
    ($($t:ty)*) => { bits! { $($t, |_: $t| 0;)* } };
}
signed_bits!(i8 i16 i32 i64);
unsigned_bits!(u8 u16 u32 u64);

impl Bits for Bool8 {
    #[inline(always)]
    fn and(self, o: Self) -> Self {
        Bool8(self.0 & o.0)
    }
    #[inline(always)]
    fn or(self, o: Self) -> Self {
        Bool8(self.0 | o.0)
    }
    #[inline(always)]
    fn xor(self, o: Self) -> Self {
        Bool8(self.0 ^ o.0)
    }
    #[inline(always)]
    fn not(self) -> Self {
        Bool8(self.0 ^ 1)
    }
    #[inline(always)]
    fn shl(self, o: Self) -> Self {
        Bool8(self.0 & (o.0 ^ 1))
    }
    #[inline(always)]
    fn shr(self, o: Self) -> Self {
        Bool8(self.0 & (o.0 ^ 1))
    }
}
