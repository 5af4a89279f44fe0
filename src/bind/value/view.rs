//! Results of ops that share memory with their operand.

use pyo3::prelude::*;

use super::var::{Value, Var};
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::OrRaise;
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::copy::{alias, shareable};

impl Var {
    /// Makes the memory such that views can share it. The value and its edge stay.
    pub fn share(&self) -> Result<()> {
        match &mut self.lock().value {
            Value::Own(t) => t.array = shareable(&t.array)?,
            Value::Shared(p) => p.share()?,
        }
        Ok(())
    }

    /// The result of an op on `base` as a Python object: a view where it shares the memory of `base`, otherwise a
    /// tensor of its own. It has a node of its own, even if the op had nothing to do.
    pub fn view_of<'py>(base: &Bound<'py, Var>, t: Tensor, dialect: Dialect) -> PyResult<Bound<'py, Var>> {
        Var::object(base.py(), Var::value_of_view(base, t)?, dialect)
    }

    /// The value of what [`Var::view_of`] makes.
    fn value_of_view(base: &Bound<'_, Var>, t: Tensor) -> PyResult<Value> {
        let same = base.get().lock().has_edge(t.edge.as_ref());
        let t = if same { alias(&t).or_raise()? } else { t };
        let mut state = base.get().lock();
        Ok(match state.locate(&t) {
            None => Value::Own(Tensor { array: t.array.clone().kept().or_raise()?, ..t }),
            Some((shared, layout)) => {
                let root = shared
                    .base
                    .as_ref()
                    .map_or_else(|| base.clone().into_any().unbind(), |b| b.clone_ref(base.py()));
                Value::Shared(Box::new(shared.view(layout, t.edge, t.detach_reason, root)))
            }
        })
    }

    /// The value of a view of all of a tensor.
    pub fn value_of_alias(base: &Bound<'_, Var>) -> PyResult<Value> {
        base.get().share().or_raise()?;
        let t = alias(&base.get().operand_in_place()).or_raise()?;
        Var::value_of_view(base, t)
    }

    /// The result of an op that moves elements: a view where it shares this tensor's memory.
    pub fn view_or_result<'py>(
        slf: &Bound<'py, Var>,
        f: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> PyResult<Bound<'py, Var>> {
        slf.get().share().or_raise()?;
        let t = f(&slf.get().operand_in_place()).or_raise()?;
        Var::view_of(slf, t, slf.get().dialect())
    }
}
