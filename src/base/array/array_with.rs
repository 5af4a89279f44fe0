//! An array with optional extra data, in one word.

use triomphe::{Arc, ArcUnion, ArcUnionBorrow};

use super::{Array, Inner};

/// An array, and perhaps a `T`. Without a `T` it is the array's own pointer.
pub struct ArrayWith<T>(ArcUnion<Inner, (Array, T)>);

impl<T> ArrayWith<T> {
    #[inline]
    pub fn new(array: Array, other: Option<T>) -> ArrayWith<T> {
        ArrayWith(match other {
            None => ArcUnion::from_first(array.0),
            Some(other) => ArcUnion::from_second(Arc::new((array, other))),
        })
    }

    #[inline]
    pub fn array(&self) -> Array {
        match self.0.borrow() {
            ArcUnionBorrow::First(inner) => Array(inner.clone_arc()),
            ArcUnionBorrow::Second(both) => both.get().0.clone(),
        }
    }

    #[inline]
    pub fn other(&self) -> Option<&T> {
        self.0.as_second().map(|both| &both.get().1)
    }
}

impl<T> Clone for ArrayWith<T> {
    fn clone(&self) -> ArrayWith<T> {
        ArrayWith(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parts_come_back() {
        let array = Array::scalar(2.0f64);
        let (alone, both) =
            (ArrayWith::<u8>::new(array.clone(), None), ArrayWith::new(array.clone(), Some(7u8)));
        for (beside, other) in [(alone.clone(), None), (alone, None), (both, Some(7))] {
            assert!(beside.array().is_same(&array));
            assert_eq!(beside.other().copied(), other);
        }
        assert_eq!(size_of::<Option<ArrayWith<u8>>>(), size_of::<usize>());
    }
}
