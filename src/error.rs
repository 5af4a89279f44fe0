//! Every way a caller can be wrong, each naming the op, what came and what was expected.

use std::any::Any;
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashSet;

use crate::dtype::DType;

/// The error stands apart, so that results are as small as what they hold.
pub type Result<T, E = Box<Error>> = std::result::Result<T, E>;

/// What went wrong. The binding gives each variant its Python class; nothing else looks inside.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value, flag or combination of arguments that the op does not take.
    #[error("{op}: {what}")]
    Argument { op: &'static str, what: String },
    /// Shapes that do not go together, or an axis that is not there.
    #[error("{op}: {what}")]
    Shape { op: &'static str, what: String },
    /// A dtype the op is not defined for.
    #[error("{op}: {what}")]
    Dtype { op: &'static str, what: String },
    /// An index outside its axis.
    #[error("{op}: {what}")]
    Index { op: &'static str, what: String },
    /// A matrix without the property that the factorisation needs.
    #[error("{op}: {what}")]
    Singular { op: &'static str, what: String },
    /// An array that memory cannot hold.
    #[error("{op}: no memory for an array of shape {dims:?} and dtype {dtype}")]
    Memory { op: &'static str, dims: Vec<usize>, dtype: DType },
    /// A second walk through a node whose kept arrays were freed by the first.
    #[error(
        "{op}: Trying to backward through the graph a second time (or directly access saved tensors after they have \
         already been freed): what this node kept was freed by an earlier grad() or backward(){freed}. Specify \
         retain_graph=True if you need to backward through the graph a second time. {node}"
    )]
    Freed { op: &'static str, freed: String, node: String },
    /// A value that is not a number, where the caller watches for one.
    #[error("{op}: {what}")]
    NotFinite { op: &'static str, what: String },
    /// An op that has no derivative met a request for one.
    #[error("{op}: {what}")]
    NotDifferentiable { op: &'static str, what: String },
    /// The caller asked to stop (Ctrl-C).
    #[error("interrupted")]
    Interrupted,
    /// An exception of the host language, carried through unchanged.
    #[error("an exception of the caller's")]
    Foreign(Box<dyn Any + Send>),
    /// A defect of this library.
    #[error("internal error (a defect of ferrograd, please report it): {0}")]
    Internal(String),
}

/// `Err` of the named variant with a formatted text: `bail!(Shape, "matmul", "inner sizes {a} and {b} differ")`.
macro_rules! bail {
    ($kind:ident, $op:expr, $($text:tt)*) => {
        return Err(Box::new($crate::error::Error::$kind { op: $op, what: format!($($text)*) }))
    };
}
pub(crate) use bail;

/// The name for as long as the process lives: as many as there are names of classes.
pub fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<Option<FxHashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = String::leak(name.to_owned());
    names.insert(name);
    name
}

impl Error {
    /// [`Error::Memory`] for an array of this shape and dtype.
    pub fn memory(op: &'static str, dims: Vec<usize>, dtype: DType) -> Box<Self> {
        Box::new(Error::Memory { op, dims, dtype })
    }

    /// The error that a caught panic stands for: an `Error` that was thrown through infallible code, or a defect.
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

    /// The same refusal in the name of the public function that was called, where it came from a function inside it.
    pub fn of(mut self: Box<Self>, names: &[&'static str]) -> Box<Self> {
        match &mut *self {
            Error::Argument { op, .. }
            | Error::Shape { op, .. }
            | Error::Dtype { op, .. }
            | Error::Index { op, .. }
            | Error::Singular { op, .. }
            | Error::Memory { op, .. }
            | Error::NotDifferentiable { op, .. }
                if !names.contains(op) =>
            {
                *op = names[0];
            }
            _ => {}
        }
        self
    }

    /// Leaves infallible code with this error; [`Error::from_panic`] gets it back where the panic is caught.
    pub fn throw(self: Box<Self>) -> ! {
        std::panic::resume_unwind(self)
    }
}
