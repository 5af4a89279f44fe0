//! The errors that a caller can cause. Each names the op, what it got and what it expected.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashSet;

use crate::dtype::DType;
use crate::fork;
use crate::host;
use crate::memory::{self, NoMemory};

/// The error is boxed, so that results are no larger than their values.
pub type Result<T, E = Box<Error>> = std::result::Result<T, E>;

/// What went wrong. Only the binding looks inside, to choose the Python exception.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An invalid value, flag or combination of arguments.
    #[error("{op}: {what}")]
    Argument { op: &'static str, what: String },
    /// Shapes that do not match, or an axis that does not exist.
    #[error("{op}: {what}")]
    Shape { op: &'static str, what: String },
    /// A dtype that the op is not defined for.
    #[error("{op}: {what}")]
    Dtype { op: &'static str, what: String },
    /// What has no answer for a whole batch of `vmap`.
    #[error("{op}: {what}")]
    Vmap { op: &'static str, what: String },
    /// An index outside its axis.
    #[error("{op}: {what}")]
    Index { op: &'static str, what: String },
    /// An axis that is not there.
    #[error("{op}: axis {axis} is out of range for {rank} dimensions")]
    Axis { op: &'static str, axis: i64, rank: usize },
    /// A matrix without the property that a factorisation needs.
    #[error("{op}: {what}")]
    Singular { op: &'static str, what: String },
    /// An array too large for memory.
    #[error("{op}: no memory for an array of shape {dims:?} and dtype {dtype}")]
    Memory { op: &'static str, dims: Vec<usize>, dtype: DType },
    /// No memory is left, even for a small block.
    #[error("no memory is left")]
    NoMemory,
    /// A second backward pass through a node whose saved arrays were freed by the first.
    #[error(
        "{op}: Trying to backward through the graph a second time (or directly access saved tensors after they have \
         already been freed): what this node kept was freed by an earlier grad() or backward(){freed}. Specify \
         retain_graph=True if you need to backward through the graph a second time. {node}"
    )]
    Freed { op: &'static str, freed: String, node: String },
    /// A NaN or infinity that the caller asked to be told about.
    #[error("{op}: {what}")]
    NotFinite { op: &'static str, what: String },
    /// A derivative of an op that has none.
    #[error("{op}: {what}")]
    NotDifferentiable { op: &'static str, what: String },
    /// A file that is no program, or not one that this version of the library can run.
    #[error("load_compiled: {0}")]
    ProgramFile(String),
    /// The caller asked to stop (Ctrl-C).
    #[error("interrupted")]
    Interrupted,
    /// An exception of the host language, passed on unchanged.
    #[error("an exception of the caller's")]
    Foreign(Box<dyn Any + Send + Sync>),
    /// A bug in this library.
    #[error("internal error (a defect of ferrograd, please report it): {0}")]
    Internal(String),
}

/// Returns an `Err` of the named variant with a formatted text: `bail!(Shape, "matmul", "inner sizes {a} and {b}
/// differ")`.
#[macro_export]
macro_rules! bail {
    ($kind:ident, $op:expr, $($text:tt)*) => {
        return Err(Box::new($crate::error::Error::$kind { op: $op, what: format!($($text)*) }))
    };
}
pub use bail;

static NAMES: Mutex<Option<FxHashSet<&'static str>>> = Mutex::new(None);

/// Holds the names while the process forks: see [`crate::fork`].
#[doc(hidden)]
pub fn hold() -> Option<Box<dyn Any>> {
    fork::hold(&NAMES)
}

/// A copy of the name that lives as long as the process. Meant for names of classes, of which there are few.
pub fn interned(name: &str) -> &'static str {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = String::leak(name.to_owned());
    names.insert(name);
    name
}

impl From<NoMemory> for Box<Error> {
    fn from(_: NoMemory) -> Box<Error> {
        Box::new(Error::NoMemory)
    }
}

impl Error {
    /// Whether the error is the caller's wish or a want of memory, not the fault of what was computed.
    #[doc(hidden)]
    pub fn is_of_the_caller(&self) -> bool {
        matches!(self, Error::Interrupted | Error::NoMemory | Error::Memory { .. } | Error::Foreign(_))
    }

    /// [`Error::Memory`] for an array of this shape and dtype.
    pub fn memory(op: &'static str, dims: Vec<usize>, dtype: DType) -> Box<Self> {
        Box::new(Error::Memory { op, dims, dtype })
    }

    /// The error of a caught panic: an `Error` thrown by [`Error::throw`], or else [`Error::Internal`].
    pub fn from_panic(payload: Box<dyn Any + Send>) -> Box<Self> {
        match payload.downcast::<Error>() {
            Ok(error) => error,
            Err(payload) => {
                let text = (payload.downcast_ref::<&str>().map(|s| (*s).to_owned()))
                    .or_else(|| payload.downcast_ref::<String>().cloned())
                    .unwrap_or_else(|| "panic".to_owned());
                Box::new(Error::Internal(text))
            }
        }
    }

    /// This error in the name of the public function that was called.
    pub fn of(mut self: Box<Self>, name: &'static str) -> Box<Self> {
        match &mut *self {
            Error::Argument { op, .. }
            | Error::Shape { op, .. }
            | Error::Dtype { op, .. }
            | Error::Index { op, .. }
            | Error::Axis { op, .. }
            | Error::Singular { op, .. }
            | Error::Memory { op, .. }
            | Error::NotDifferentiable { op, .. } => *op = name,
            _ => {}
        }
        self
    }

    /// Looks whether this many bytes can be allocated, for kernels that return no `Result`. Unwinds if they cannot.
    pub fn ensure_memory(bytes: usize) {
        if let Err(error) = memory::ensure(bytes) {
            Box::<Error>::from(error).throw();
        }
    }

    /// Leaves a function that returns no `Result` with this error. Inside [`Error::catch`], as gradient rules are, the
    /// error goes to the caller of `catch` without a word; elsewhere it is a panic with the error's text.
    pub fn throw(self: Box<Self>) -> ! {
        if host::is_present() || CATCHES.get() > 0 {
            std::panic::resume_unwind(self)
        } else {
            panic!("{self}")
        }
    }

    /// Calls `f` and turns its panics into errors, those of [`Error::throw`] into the error that was thrown.
    ///
    /// # Errors
    /// The error of `f`, or that of its panic.
    #[inline]
    pub fn catch<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
        struct Leave<'a>(&'a Cell<usize>);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() - 1);
            }
        }
        CATCHES.with(|catches| {
            catches.set(catches.get() + 1);
            let _leave = Leave(catches);
            catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| Err(Error::from_panic(panic)))
        })
    }
}

thread_local! {
    /// How many calls of [`Error::catch`] run on this thread.
    static CATCHES: Cell<usize> = const { Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_rules_are_caught_and_carried_by_any_error_type() {
        fn fails() -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
            Error::catch(|| Error::memory("sin", vec![3], DType::F64).throw())?;
            Ok(())
        }
        assert_eq!(
            fails().unwrap_err().to_string(),
            "sin: no memory for an array of shape [3] and dtype float64"
        );
        assert_eq!(CATCHES.get(), 0);
    }

    #[test]
    #[should_panic(expected = "sin: no memory for an array of shape [3]")]
    fn an_error_that_nobody_catches_is_a_panic_with_its_text() {
        Error::memory("sin", vec![3], DType::F64).throw()
    }
}
