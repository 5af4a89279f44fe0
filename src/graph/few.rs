//! A list that nearly always has one element, which then needs no memory of its own.

use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

/// Of an array two words, which functions return in registers.
pub enum Few<T> {
    One(T),
    Several(Box<[T]>),
}

impl<T, const N: usize> From<[T; N]> for Few<T> {
    #[inline]
    fn from(elements: [T; N]) -> Few<T> {
        let mut elements = elements.into_iter();
        match (elements.next(), N) {
            (Some(one), 1) => Few::One(one),
            (first, _) => first.into_iter().chain(elements).collect(),
        }
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Few<T> {
        Few::Several(elements.into_iter().collect())
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = smallvec::IntoIter<[T; 1]>;

    fn into_iter(self) -> Self::IntoIter {
        match self {
            Few::One(one) => SmallVec::from_buf([one]).into_iter(),
            Few::Several(several) => SmallVec::from_vec(several.into_vec()).into_iter(),
        }
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Few::One(one) => std::slice::from_ref(one),
            Few::Several(several) => several,
        }
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Few::One(one) => std::slice::from_mut(one),
            Few::Several(several) => several,
        }
    }
}
