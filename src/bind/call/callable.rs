//! The functions and methods that Python can call.

use std::sync::LazyLock;

use crate::bind::python::dialect::Dialect;
use crate::ops::entry::{Conventions, Entry};
use crate::ops::registry;

/// An op under one of its names, which is the name in errors.
pub struct Callable {
    pub entry: &'static Entry,
    pub name: &'static str,
    /// Where the function differs from the native one, by dialect.
    conventions: [Conventions; Dialect::ALL.len()],
}

impl Callable {
    pub fn conventions(&self, dialect: Dialect) -> Conventions {
        self.conventions[dialect as usize]
    }
}

/// What Python can call. A C function leads to one by its number in this list.
pub static CALLABLES: LazyLock<Vec<Callable>> = LazyLock::new(|| {
    let callable = |entry: &'static Entry, name: &'static str| {
        let conventions = Dialect::ALL.map(|dialect| dialect.conventions(entry, name));
        Callable { entry, name, conventions }
    };
    registry().flat_map(|entry| entry.names.iter().map(move |name| callable(entry, name))).collect()
});
