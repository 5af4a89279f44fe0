//! `Var`: what Python holds. A lock around a tensor, the place of its gradient and its dialect.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use super::autograd::grad_enabled;
use super::deposit::Slot;
use super::dialect::Dialect;
use crate::graph::Tensor;

pub struct State {
    pub tensor: Tensor,
    /// Where its gradient is put, once it is a leaf.
    pub slot: Option<Arc<Slot>>,
    pub dialect: Dialect,
    /// What the user calls it.
    pub name: Option<Box<str>>,
    /// How often the value was written to.
    pub version: u32,
}

/// An n-dimensional array that knows how it was computed.
#[pyclass(frozen, subclass, weakref, name = "Tensor", module = "ferrograd")]
pub struct Var {
    state: Mutex<State>,
}

impl Var {
    pub fn new(tensor: Tensor, dialect: Dialect) -> Var {
        Var { state: Mutex::new(State { tensor, slot: None, dialect, name: None, version: 0 }) }
    }

    /// A result of an op.
    #[inline]
    pub fn result(py: Python<'_>, tensor: Tensor, dialect: Dialect) -> PyResult<Bound<'_, Var>> {
        let var = dialect.object(py, Var::new(tensor, dialect))?;
        super::convert::untrack(&var);
        Ok(var)
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tensor with its edge.
    #[inline]
    pub fn tensor(&self) -> Tensor {
        self.lock().tensor.clone()
    }

    /// The tensor as an op takes it: without its edge where recording is off.
    #[inline]
    pub fn operand(&self) -> Tensor {
        let t = self.tensor();
        if grad_enabled() { t } else { t.detach() }
    }

    pub fn dialect_of(o: &Bound<'_, PyAny>) -> Option<Dialect> {
        o.cast::<Var>().ok().map(|v| v.get().lock().dialect)
    }
}
