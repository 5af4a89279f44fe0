//! Tensors that share memory: views, detached tensors, `.data`.

use pyo3::prelude::*;

use super::convert::lift;
use super::dialect::Dialect;
use super::error::raise;
use super::var::{Value, Var};
use crate::error::Result;
use crate::graph::site::Site;
use crate::graph::{DetachReason, Tensor};
use crate::ops::alias::alias;

impl Var {
    /// Makes the memory such that views can share it. The value and its edge stay.
    pub fn share(&self) -> Result<()> {
        match &mut self.lock().value {
            Value::Own(t) => t.array = t.array.shareable()?,
            Value::Part(p) => p.share()?,
        }
        Ok(())
    }

    /// What an op made of `base`: a view where it shares the memory, else a tensor of its own.
    pub fn view_of<'py>(base: &Bound<'py, Var>, t: Tensor, dialect: Dialect) -> PyResult<Bound<'py, Var>> {
        let py = base.py();
        // A view of a leaf is none, even where there was nothing to do.
        let leaf = t.edge.as_ref().is_some_and(|e| e.node.is_leaf());
        let t = if leaf { lift(alias(&t))? } else { t };
        let value = match base.get().lock().see(&t) {
            None => Value::Own(t),
            Some((part, layout)) => {
                let root = part.base.as_ref().map_or_else(|| base.clone().unbind(), |b| b.clone_ref(py));
                Value::Part(Box::new(part.view(layout, t.edge, t.detach_reason, root)))
            }
        };
        Var::object(py, value, dialect)
    }

    /// The result of a movement op: a view where it shares this tensor's memory.
    pub fn seen<'py>(
        slf: &Bound<'py, Var>,
        f: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> PyResult<Bound<'py, Var>> {
        lift(slf.get().share())?;
        let t = lift(f(&slf.get().operand()))?;
        Var::view_of(slf, t, slf.get().dialect())
    }
}

#[pymethods]
impl Var {
    /// The same memory without its history: an untracked leaf. Writes to either are seen by both; what was computed
    /// before keeps the values that it used.
    fn detach<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let site = Site::current();
        let part = {
            let mut state = slf.get().lock();
            let part = state.part();
            let detach_reason =
                if part.edge_seen().is_some() { DetachReason::detached(site) } else { part.detach_reason };
            part.detached(None, detach_reason)
        };
        Var::object(slf.py(), Value::Part(Box::new(part)), slf.get().dialect())
    }

    /// Forgets how this tensor was computed: it becomes an untracked leaf.
    fn detach_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        Var::track(slf, false)?;
        Ok(slf.clone())
    }

    /// The values without their history, in the same memory. Set to a tensor, this one takes that one's memory and stays
    /// the leaf, or the result, that it is.
    #[getter]
    fn data<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        Var::detach(slf)
    }

    #[setter]
    fn set_data(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        let Ok(source) = value.cast::<Var>() else {
            let text = format!("data: a Tensor is wanted, not {}", value.get_type().name()?);
            return Err(raise(py, "ArgumentError", text));
        };
        let (old, new) = (slf.get().tensor(), source.get().tensor());
        let inner = old.edge.as_ref().is_some_and(|e| !e.node.is_leaf());
        if old.is_tracked() && new.dtype() != old.dtype() || old.levels != new.levels {
            let text = format!(
                "data: a tracked tensor of dtype {} cannot take values of dtype {}; what is set as the data of one must be \
                 floating point or complex dtype",
                old.dtype(),
                new.dtype()
            );
            return Err(raise(py, "DtypeError", text));
        }
        if inner && new.dims() != old.dims() {
            let text =
                format!("data: a result of shape {:?} cannot take the shape {:?}", old.dims(), new.dims());
            return Err(raise(py, "ShapeError", text));
        }
        slf.get().take(source.get(), &old, &new)
    }

    #[deleter(data)]
    fn delete_data(slf: &Bound<'_, Self>) -> PyResult<()> {
        Err(raise(slf.py(), "ArgumentError", "Deleting tensor data is not allowed. Delete tensor instead!"))
    }

    /// The tensor that this one is a view of, or None.
    #[getter]
    fn _base(&self, py: Python<'_>) -> Option<Py<Var>> {
        match &self.lock().value {
            Value::Own(_) => None,
            Value::Part(p) => p.base.as_ref().map(|b| b.clone_ref(py)),
        }
    }

    /// Whether this is a view of another tensor.
    fn _is_view(&self, py: Python<'_>) -> bool {
        self._base(py).is_some()
    }

    /// The address of the first element, as its views see it. A write may move it.
    fn data_ptr(&self) -> PyResult<usize> {
        lift(self.share())?;
        Ok(self.tensor().array.ptr() as usize)
    }

    /// How many elements of its memory lie before the first one of this tensor.
    fn storage_offset(&self) -> isize {
        match &self.lock().value {
            Value::Own(_) => 0,
            Value::Part(p) => p.layout.offset,
        }
    }
}

impl Var {
    /// Takes the memory of another tensor, whose value is `new`, and goes on with the history of `old`, its own value.
    fn take(&self, source: &Var, old: &Tensor, new: &Tensor) -> PyResult<()> {
        let same = match (self.mark(), source.mark()) {
            (Some(own), Some(other)) => own.is_same_place(&other),
            _ => std::ptr::eq(self, source),
        };
        if same {
            return Ok(());
        }
        let edge = match &old.edge {
            Some(e) if e.node.is_leaf() => self.lock().slot.as_ref().and_then(|slot| slot.leaf(new).edge),
            edge => edge.clone(),
        };
        let inner = edge.as_ref().is_some_and(|e| !e.node.is_leaf());
        let part = {
            let mut state = source.lock();
            let part = state.part();
            // The history of a result is that of a whole storage.
            (!inner || part.all(|_| ()).is_some())
                .then(|| part.detached(edge.clone(), DetachReason::default()))
        };
        let value = match part {
            Some(part) => Value::Part(Box::new(part)),
            None => Value::Own(Tensor::made(lift(new.array.packed())?, edge, new.levels.clone())),
        };
        let before = std::mem::replace(&mut self.lock().value, value);
        drop(before);
        Ok(())
    }
}
