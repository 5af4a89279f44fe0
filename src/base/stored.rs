//! Values as bytes in files. What `#[derive(Stored)]` is put on is written field by field, so a file holds data and never
//! code. Whoever reads believes nothing: the bytes of a damaged file are no value, or another value of the type.

use smallvec::{Array, SmallVec};

use crate::dtype::DType;
use crate::error::interned;

pub use ferrograd_macros::Stored;

/// A value that can be written to a file and read from it.
pub trait Stored: Sized {
    fn write(&self, to: &mut Vec<u8>);

    /// The value at the beginning of what is left. None if there is none.
    fn read(from: &mut Reader<'_>) -> Option<Self>;
}

/// Bytes that have not been read yet.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(n)?;
        self.0 = left;
        Some(taken)
    }
}

/// Seven bits a byte, lowest first.
impl Stored for u64 {
    fn write(&self, to: &mut Vec<u8>) {
        let mut left = *self;
        while left >= 0x80 {
            to.push(left as u8 | 0x80);
            left >>= 7;
        }
        to.push(left as u8);
    }

    fn read(from: &mut Reader<'_>) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = from.take(1)?[0];
            let bits = u64::from(byte & 0x7f);
            value |= bits.checked_shl(shift).filter(|v| v >> shift == bits)?;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

/// The sign is the lowest bit.
impl Stored for i64 {
    fn write(&self, to: &mut Vec<u8>) {
        ((self << 1) ^ (self >> 63)).cast_unsigned().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<i64> {
        let bits = u64::read(from)?;
        Some((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }
}

macro_rules! as_wider {
    ($($T:ty as $Wide:ty),*) => { $(
        impl Stored for $T {
            fn write(&self, to: &mut Vec<u8>) {
                (*self as $Wide).write(to);
            }

            fn read(from: &mut Reader<'_>) -> Option<$T> {
                <$Wide>::read(from)?.try_into().ok()
            }
        }
    )* };
}
as_wider!(u8 as u64, u32 as u64, usize as u64, isize as i64);

impl Stored for f64 {
    fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.to_le_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Option<f64> {
        from.take(8)?.try_into().ok().map(f64::from_le_bytes)
    }
}

impl Stored for bool {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn read(from: &mut Reader<'_>) -> Option<bool> {
        match from.take(1)? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
}

/// The place in `DType::ALL`.
impl Stored for DType {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(*self as u8);
    }

    fn read(from: &mut Reader<'_>) -> Option<DType> {
        DType::ALL.get(usize::from(from.take(1)?[0])).copied()
    }
}

impl Stored for String {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        to.extend(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Option<String> {
        let n = usize::read(from)?;
        std::str::from_utf8(from.take(n)?).ok().map(str::to_owned)
    }
}

/// The name of an op. What is read lives as long as the process, so it is short.
impl Stored for &'static str {
    fn write(&self, to: &mut Vec<u8>) {
        (*self).to_owned().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<&'static str> {
        let name = String::read(from)?;
        (name.len() <= 64 && name.bytes().all(|b| b.is_ascii_graphic() || b == b' ')).then(|| interned(&name))
    }
}

impl<T: Stored> Stored for Option<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.is_some().write(to);
        if let Some(value) = self {
            value.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Option<T>> {
        Some(if bool::read(from)? { Some(T::read(from)?) } else { None })
    }
}

/// The values of a list. Its length is not believed: the list grows as its values are found.
fn read_list<T: Stored, L: Default>(from: &mut Reader<'_>, push: impl Fn(&mut L, T)) -> Option<L> {
    let n = usize::read(from).filter(|&n| n <= from.0.len())?;
    let mut list = L::default();
    for _ in 0..n {
        push(&mut list, T::read(from)?);
    }
    Some(list)
}

impl<T: Stored> Stored for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        self.iter().for_each(|value| value.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Option<Vec<T>> {
        read_list(from, Vec::push)
    }
}

impl<A: Array<Item: Stored>> Stored for SmallVec<A> {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        self.iter().for_each(|value| value.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Option<SmallVec<A>> {
        read_list(from, SmallVec::push)
    }
}

impl<T: Stored, const N: usize> Stored for [T; N] {
    fn write(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|value| value.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Option<[T; N]> {
        let values: Option<SmallVec<[T; 4]>> = (0..N).map(|_| T::read(from)).collect();
        values?.into_iter().collect::<Vec<T>>().try_into().ok()
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
        self.1.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<(A, B)> {
        Some((A::read(from)?, B::read(from)?))
    }
}

impl<T: Stored> Stored for std::ops::Range<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.start.write(to);
        self.end.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<std::ops::Range<T>> {
        Some(T::read(from)?..T::read(from)?)
    }
}

impl<T> Stored for std::marker::PhantomData<T> {
    fn write(&self, _: &mut Vec<u8>) {}

    fn read(_: &mut Reader<'_>) -> Option<Self> {
        Some(std::marker::PhantomData)
    }
}

/// A number that tells whether bytes have changed by accident (FNV-1a).
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &b| (sum ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again<T: Stored>(value: &T) -> Option<T> {
        let mut bytes = vec![];
        value.write(&mut bytes);
        let mut from = Reader(&bytes);
        T::read(&mut from).filter(|_| from.0.is_empty())
    }

    #[test]
    fn numbers_come_back() {
        for x in [0, 1, 127, 128, 16_383, 16_384, u64::MAX - 1, u64::MAX] {
            assert_eq!(again(&x), Some(x));
        }
        for x in [0, -1, 1, 63, -64, 64, i64::MIN, i64::MAX] {
            assert_eq!(again(&x), Some(x));
        }
        assert_eq!(again(&[1.5, -0.0, f64::INFINITY]), Some([1.5, -0.0, f64::INFINITY]));
    }

    #[test]
    fn lists_that_claim_more_than_there_is_are_refused() {
        let mut bytes = vec![];
        u64::MAX.write(&mut bytes);
        bytes.extend([0; 8]);
        assert_eq!(Vec::<u64>::read(&mut Reader(&bytes)), None);
        assert_eq!(String::read(&mut Reader(&bytes)), None);
        // Ten bytes that hold more than 64 bits.
        assert_eq!(u64::read(&mut Reader(&[0xff; 10])), None);
    }
}
