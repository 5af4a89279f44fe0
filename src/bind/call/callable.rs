//! The functions and methods that Python can call.

use std::sync::LazyLock;

use crate::ops::entry::Entry;
use crate::ops::registry;

/// An op under one of its names, which is the name in errors.
pub struct Callable {
    pub entry: &'static Entry,
    pub name: &'static str,
}

/// What Python can call. A C function leads to one by its number in this list.
pub static CALLABLES: LazyLock<Vec<Callable>> = LazyLock::new(|| {
    registry().flat_map(|entry| entry.names.iter().map(move |name| Callable { entry, name })).collect()
});
