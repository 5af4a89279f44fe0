//! The integer keys of elements, and what is sorted: keys with the indices of their elements.

use crate::dtype::{Bool8, Ordered};
use crate::kernel::num::Bits;
use crate::kernel::{interrupt, simd};

/// Maps elements to integers of the same order. NaN comes after all numbers. Both zeros have the same key, and so have all NaNs.
pub(super) trait Key: Ordered {
    type Bits: Bits + Ord + Into<u64>;
    /// What is sorted if an index fits into 32 bits.
    type KeyAndIndex: KeyAndIndex<Self::Bits>;
    fn key(self) -> Self::Bits;
}

/// A key and an index, ordered by key, then index.
pub(super) trait KeyAndIndex<K>: Ord + Copy {
    fn new(key: K, at: usize) -> Self;
    fn key(&self) -> K;
    fn at(&self) -> i64;
}

impl<K: Ord + Copy> KeyAndIndex<K> for (K, usize) {
    #[inline(always)]
    fn new(key: K, at: usize) -> Self {
        (key, at)
    }
    #[inline(always)]
    fn key(&self) -> K {
        self.0
    }
    #[inline(always)]
    fn at(&self) -> i64 {
        self.1 as i64
    }
}

/// Key and index in one word.
impl KeyAndIndex<u32> for u64 {
    #[inline(always)]
    fn new(key: u32, at: usize) -> u64 {
        u64::from(key) << 32 | at as u64
    }
    #[inline(always)]
    fn key(&self) -> u32 {
        (self >> 32) as u32
    }
    #[inline(always)]
    fn at(&self) -> i64 {
        i64::from(*self as u32)
    }
}

macro_rules! keys {
    ($($t:ty, $bits:ty, $place:ty: $x:ident => $e:expr;)*) => { $(
        impl Key for $t {
            type Bits = $bits;
            type KeyAndIndex = $place;
            #[inline(always)]
            fn key(self) -> $bits { let $x = self; $e }
        }
    )* };
}
keys! {
    Bool8, u32, u64: x => u32::from(x.0);
    u8, u32, u64: x => u32::from(x);
    u16, u32, u64: x => u32::from(x);
    u32, u32, u64: x => x;
    u64, u64, (u64, usize): x => x;
    i8, u32, u64: x => i32::from(x).key();
    i16, u32, u64: x => i32::from(x).key();
    i32, u32, u64: x => (x ^ i32::MIN) as u32;
    i64, u64, (u64, usize): x => (x ^ i64::MIN) as u64;
    // Adding zero turns -0 into 0. For negative numbers all bits are inverted, for others only the sign bit.
    f32, u32, u64: x => if x.is_nan() { u32::MAX } else {
        let bits = (x + 0.0).to_bits();
        if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
    };
    f64, u64, (u64, usize): x => if x.is_nan() { u64::MAX } else {
        let bits = (x + 0.0).to_bits();
        if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
    };
}

/// Calls `f` with each block of a row's keys and the index of the block's first element.
#[inline(always)]
pub(super) fn keyed<T: Key>(row: &[T], descending: bool, mut f: impl FnMut(usize, &[T::Bits])) {
    let mut keys = [T::Bits::default(); simd::BLOCK];
    for (block, part) in row.chunks(simd::BLOCK).enumerate() {
        if block % 256 == 255 {
            interrupt::listen();
        }
        let keys = &mut keys[..part.len()];
        if descending {
            keys.iter_mut().zip(part).for_each(|(key, v)| *key = v.key().not());
        } else {
            keys.iter_mut().zip(part).for_each(|(key, v)| *key = v.key());
        }
        f(block * simd::BLOCK, keys);
    }
}
