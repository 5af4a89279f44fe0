//! A list that nearly always has one element, which is stored in place.

use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

/// `OneOrMany<Array>` is two words, so it is returned in registers.
pub enum OneOrMany<T> {
    One(T),
    Many(Box<[T]>),
}

impl<T, const N: usize> From<[T; N]> for OneOrMany<T> {
    #[inline]
    fn from(elements: [T; N]) -> OneOrMany<T> {
        let mut elements = elements.into_iter();
        match (elements.next(), N) {
            (Some(one), 1) => OneOrMany::One(one),
            (first, _) => first.into_iter().chain(elements).collect(),
        }
    }
}

impl<T> FromIterator<T> for OneOrMany<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> OneOrMany<T> {
        OneOrMany::Many(elements.into_iter().collect())
    }
}

impl<T> IntoIterator for OneOrMany<T> {
    type Item = T;
    type IntoIter = smallvec::IntoIter<[T; 1]>;

    fn into_iter(self) -> Self::IntoIter {
        match self {
            OneOrMany::One(one) => SmallVec::from_buf([one]).into_iter(),
            OneOrMany::Many(many) => SmallVec::from_vec(many.into_vec()).into_iter(),
        }
    }
}

impl<T> Default for OneOrMany<T> {
    #[inline]
    fn default() -> OneOrMany<T> {
        OneOrMany::Many(Box::default())
    }
}

impl<T> Deref for OneOrMany<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

impl<T> DerefMut for OneOrMany<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            OneOrMany::One(one) => std::slice::from_mut(one),
            OneOrMany::Many(many) => many,
        }
    }
}
