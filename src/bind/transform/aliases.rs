//! Results of a function that share memory, of which a program makes one. The others are views of it, which are made anew
//! in each call.

use pyo3::prelude::*;

use crate::array::Layout;
use crate::bind::value::var::{Value, Var};
use crate::ops::movement::strided;

/// Which elements of which memory a tensor has.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct Alias {
    /// The number of the memory, as long as it exists.
    #[pyo3(get)]
    memory: usize,
    /// The number of its history: a tensor and its views have one, and a detached tensor has another one.
    #[pyo3(get)]
    history: usize,
    /// Whether these are all elements, in their order.
    #[pyo3(get)]
    is_whole: bool,
    /// The tensor that it is a view of.
    #[pyo3(get)]
    base: Option<Py<PyAny>>,
    layout: Layout,
}

#[pymethods]
impl Alias {
    /// The same elements of the memory of another tensor, which has all of it: a view of that tensor.
    fn of<'py>(&self, whole: &Bound<'py, Var>) -> PyResult<Bound<'py, Var>> {
        Var::view_or_result(whole, |t| strided(t, &self.layout))
    }
}

/// What a tensor shares with others; None if nobody shares its memory.
#[pyfunction]
pub fn alias(x: &Bound<'_, Var>) -> Option<Alias> {
    let state = x.get().lock();
    let Value::Shared(p) = &state.value else { return None };
    let (memory, history, is_whole) = (p.place_of_part().key(), p.history(), p.place().is_some());
    let (layout, base) = (p.layout.clone(), p.base.as_ref().map(|base| base.clone_ref(x.py())));
    Some(Alias { memory, history, is_whole, base, layout })
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Alias>()?;
    m.add_function(wrap_pyfunction!(alias, m)?)
}
