//! Tensors that share memory: detached tensors, `.data`, and the base of a view.

use pyo3::prelude::*;

use crate::bind::convert::numpy::dtype_in;
use crate::bind::hooks::list::HookList;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::site::is_own_code;
use crate::bind::value::var::{Value, Var};
use crate::graph::site::Site;
use crate::graph::{DetachReason, Tensor, modes};

#[pymethods]
impl Var {
    /// An untracked leaf in the same memory. Writes to either tensor are seen by both. What was computed before keeps
    /// the values that it has used.
    fn detach<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let site = Site::current();
        slf.get().meet_trace();
        // Outside of a function, to detach what it has computed makes a constant of it.
        let stems = slf.get().stems_in_call();
        let shared = {
            let mut state = slf.get().lock();
            let shared = state.shared();
            let detach_reason = if shared.last_edge().is_some() {
                if is_own_code() { DetachReason::by_function(site) } else { DetachReason::detached(site) }
            } else {
                shared.detach_reason
            };
            shared.detached(None, detach_reason.with_stems(stems))
        };
        Var::object(slf.py(), Value::Shared(Box::new(shared)), slf.get().dialect())
    }

    /// Forgets how this tensor was computed: it becomes an untracked leaf.
    fn detach_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        if slf.get().dialect().refuses_to_detach_views() && slf.get()._is_view(slf.py()) {
            let text = "Can't detach views in-place. Use detach() instead";
            return Err(raise(slf.py(), "ArgumentError", text.to_owned()));
        }
        Var::stop_tracking(slf);
        Ok(slf.clone())
    }

    /// The values without their history, in the same memory. If `data` is set to another tensor, this one takes the
    /// memory of that one and keeps its own history.
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
        if let (Some(own), Some(set)) = (slf.get().region(), source.get().region())
            && own.is_same(&set)
        {
            // Python sets this at the end of `x.data += y`, which has already written to the memory.
            return Ok(());
        }
        let (old, new) = (slf.get().look(), source.get().look());
        let inner = old.edge.as_ref().is_some_and(|e| !e.node.is_leaf());
        if old.levels != new.levels {
            let text = "data: a tensor cannot take the values of one of another call of vmap";
            return Err(raise(py, "ArgumentError", text.to_owned()));
        }
        if old.is_tracked() && !new.dtype().is_differentiable() {
            let text = format!(
                "data: a tensor that requires gradients cannot take values of dtype {}, which must be floating point or \
                 complex dtype",
                new.dtype()
            );
            return Err(raise(py, "DtypeError", text));
        }
        if inner && new.dtype() != old.dtype() {
            let text = format!(
                "data: a result of dtype {} cannot take values of dtype {}, because its gradient has its dtype; write \
                 y = y.detach().to(dtype), or cast the leaves before",
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
        if let Some(trace) = modes::trace() {
            trace.give_up("it sets the data of a tensor to those of another; write to them with copy_");
        }
        slf.get().take(source.get(), &old, &new)
    }

    #[deleter(data)]
    fn delete_data(slf: &Bound<'_, Self>) -> PyResult<()> {
        Err(raise(slf.py(), "ArgumentError", "Deleting tensor data is not allowed. Delete tensor instead!"))
    }

    /// The tensor that this one is a view of, or None.
    #[getter]
    fn _base(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        match &self.lock().value {
            Value::Own(_) => None,
            Value::Shared(p) => p.base.as_ref().map(|b| b.clone_ref(py)),
        }
    }

    /// The bytes of an untracked tensor, read as elements of another dtype in the same memory: a write to either tensor is
    /// seen by both. None if they make up no elements of it.
    fn _reread<'py>(slf: &Bound<'py, Self>, dtype: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, Self>>> {
        let v = slf.get();
        let Some(dtype) = dtype_in(dtype, v.dialect())? else { return Ok(None) };
        // A trace is given up here, before the tensor is locked.
        v.values("view")?.ptr();
        let made = v.lock().shared().reread(dtype).or_raise()?;
        made.map(|value| Var::object(slf.py(), Value::Shared(Box::new(value)), v.dialect())).transpose()
    }

    /// All elements of the memory that this tensor lies in, as an untracked vector.
    fn _memory<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        slf.get().meet_trace();
        let memory = slf.get().lock().shared().memory();
        Var::object(slf.py(), Value::Shared(Box::new(memory)), slf.get().dialect())
    }

    /// Whether this is a view of another tensor. Inference tensors are none, since nothing follows what they share.
    fn _is_view(&self, py: Python<'_>) -> bool {
        self._base(py).is_some() && !self.lock().is_inference()
    }

    /// The address of the first element, in memory that views share. A write may move it.
    fn data_ptr(&self) -> PyResult<usize> {
        self.share().or_raise()?;
        Ok(self.look().array.ptr() as usize)
    }

    /// The address of the first element where it lies now, in memory that views may not share yet.
    fn _address(&self) -> usize {
        self.look().array.ptr() as usize
    }

    /// The position of the first element in the memory, in elements.
    fn storage_offset(&self) -> isize {
        match &self.lock().value {
            Value::Own(_) => 0,
            Value::Shared(p) => p.layout.offset,
        }
    }
}

impl Var {
    /// Takes the memory of another tensor, whose value is `new`, and keeps the history of `old`, which is this one's
    /// value.
    fn take(&self, source: &Var, old: &Tensor, new: &Tensor) -> PyResult<()> {
        let same = match (self.region(), source.region()) {
            (Some(own), Some(other)) => own.is_same(&other),
            _ => std::ptr::eq(self, source),
        };
        if same {
            return Ok(());
        }
        let edge = match &old.edge {
            Some(e) if e.node.is_leaf() => self.lock().slot.as_ref().and_then(|slot| {
                slot.keep_hooks(HookList::attached_to(&e.node));
                slot.leaf(new).edge
            }),
            edge => edge.clone(),
        };
        let inner = edge.as_ref().is_some_and(|e| !e.node.is_leaf());
        let shared = {
            let mut state = source.lock();
            let shared = state.shared();
            // The history of a result names an element of the storage once, so the elements may not overlap.
            (!inner || !shared.layout.overlaps())
                .then(|| shared.detached(edge.clone(), DetachReason::default()))
        };
        let value = match shared {
            Some(shared) => Value::Shared(Box::new(shared)),
            None => Value::Own(Tensor::made(new.array.packed().or_raise()?, edge, new.levels.clone())),
        };
        let before = std::mem::replace(&mut self.lock().value, value);
        drop(before);
        Ok(())
    }
}
