//! The Python interpreter: exceptions, the GIL, call sites, the modes of a thread, and the Python package.

pub mod capi;
pub mod dialect;
pub mod error;
pub mod facade;
pub mod gil;
pub mod modes;
pub mod once;
pub mod scope;
pub mod settings;
pub mod site;
pub mod stack;
pub mod watch;
