//! Hooks that pack and unpack the tensors which nodes save, and tensors saved in the way of a node.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

use pyo3::PyTraverseError;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;

use crate::array::Array;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::OrRaise;
use crate::bind::python::gil::call_python;
use crate::bind::value::var::Var;
use crate::error::Result;
use crate::graph::{
    Edge, Modes, Packed, Packer, Recording, SavedArray, SavedList, SavedState, Tensor, saved_state, unpack,
};

/// A pair of functions: one packs a tensor, the other unpacks it.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct SavedTensorsHooks {
    #[pyo3(get)]
    pack: Py<PyAny>,
    #[pyo3(get)]
    unpack: Py<PyAny>,
    dialect: Dialect,
}

/// The pair in the form that the graph calls.
struct HookPair(Py<SavedTensorsHooks>);

/// The value that a pack hook returned for a tensor.
struct PackedTensor {
    value: Py<PyAny>,
    hooks: Py<SavedTensorsHooks>,
}

/// The hooks of a context that was entered, and the contexts around it.
struct Entered {
    hooks: Py<SavedTensorsHooks>,
    around: Stack,
}

type Stack = Option<Arc<Entered>>;

/// Contexts that a hook enters or leaves are those of the hook alone: afterwards those are entered that were before.
struct KeptHooks(Stack);

impl KeptHooks {
    fn now() -> KeptHooks {
        KeptHooks(HOOKS.with_borrow(Clone::clone))
    }
}

impl Drop for KeptHooks {
    fn drop(&mut self) {
        drop(HOOKS.replace(self.0.take()));
    }
}

thread_local! {
    /// The contexts that this thread has entered.
    static HOOKS: RefCell<Stack> = const { RefCell::new(None) };
    /// The reason why hooks are not allowed on this thread.
    static DISABLED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A pair of functions in the form that the graph calls.
pub fn packer(
    pack: &Bound<'_, PyAny>,
    unpack: &Bound<'_, PyAny>,
    dialect: Dialect,
) -> PyResult<impl Packer + use<>> {
    let hooks = SavedTensorsHooks { pack: pack.clone().unbind(), unpack: unpack.clone().unbind(), dialect };
    Ok(HookPair(Py::new(pack.py(), hooks)?))
}

/// The modes in which the functions run: their ops are not recorded, and nothing is packed.
fn hook_modes(m: &mut Modes) {
    (m.recording, m.packer) = (Recording::from(false), None);
}

impl Packer for HookPair {
    fn pack(&self, array: &Array) -> Result<Box<dyn Packed>> {
        call_python(hook_modes, |py| {
            let hooks = self.0.get();
            let _hooks = KeptHooks::now();
            let x = Var::result(py, Tensor::constant(array.clone()), hooks.dialect)?;
            let value = hooks.pack.call1(py, (&x,))?;
            if hooks.dialect.refuses_writes_of_pack_hooks() && x.get().lock().version() != 0 {
                let text = "A saved tensor pack hook is modifying its input in place. Tensors provided as input to a \
                            pack hook can not be modified by in-place operations, as this can lead to unexpected \
                            side-effects: clone() them before";
                return Err(PyRuntimeError::new_err(text));
            }
            Ok(Box::new(PackedTensor { value, hooks: self.0.clone_ref(py) }) as Box<dyn Packed>)
        })
    }
}

impl Packed for PackedTensor {
    fn unpack(&self) -> Result<Array> {
        call_python(hook_modes, |py| {
            let _hooks = KeptHooks::now();
            let x = self.hooks.get().unpack.bind(py).call1((&self.value,))?;
            let Ok(x) = x.cast::<Var>() else {
                return Err(PyTypeError::new_err(format!(
                    "Output of saved tensor unpack_hook expected to be a Tensor but got result of type {}",
                    x.get_type().name()?
                )));
            };
            Ok(x.get().tensor().array)
        })
    }

    fn visit_host_objects(&self, visit: &mut dyn FnMut(&dyn Any)) {
        visit(&self.value);
        visit(self.hooks.as_any());
    }
}

#[pymethods]
impl SavedTensorsHooks {
    #[new]
    fn new(pack: Py<PyAny>, unpack: Py<PyAny>, dialect: Dialect) -> SavedTensorsHooks {
        SavedTensorsHooks { pack, unpack, dialect }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.pack)?;
        visit.call(&self.unpack)
    }
}

/// The hooks that are set on this thread.
#[pyfunction]
fn saved_tensors_hooks(py: Python<'_>) -> Option<Py<SavedTensorsHooks>> {
    HOOKS.with_borrow(|entered| entered.as_ref().map(|e| e.hooks.clone_ref(py)))
}

/// Sets the hooks of this thread, until [`pop_saved_tensors_hooks`]. It is an error while hooks are disabled.
#[pyfunction]
fn push_saved_tensors_hooks(py: Python<'_>, hooks: Py<SavedTensorsHooks>) -> PyResult<()> {
    if let Some(why) = DISABLED.with_borrow(Clone::clone) {
        return Err(PyRuntimeError::new_err(why));
    }
    let entered = Entered { hooks: hooks.clone_ref(py), around: HOOKS.take() };
    HOOKS.set(Some(Arc::new(entered)));
    set_packer(Some(hooks));
    Ok(())
}

/// Sets the hooks again that were set before the last ones.
#[pyfunction]
fn pop_saved_tensors_hooks(py: Python<'_>) -> PyResult<()> {
    let Some(last) = HOOKS.take() else {
        return Err(PyRuntimeError::new_err("no hooks on saved tensors are set on this thread"));
    };
    HOOKS.set(last.around.clone());
    set_packer(saved_tensors_hooks(py));
    Ok(())
}

/// The hooks that pack what nodes of this thread save.
fn set_packer(hooks: Option<Py<SavedTensorsHooks>>) {
    let packer = hooks.map(|h| Arc::new(HookPair(h)) as Arc<dyn Packer>);
    drop(Modes::update(|m| std::mem::replace(&mut m.packer, packer)));
}

/// Disables hooks on this thread for a reason, or allows them again. Returns the former reason.
#[pyfunction]
#[pyo3(signature = (why, back=false))]
pub fn disable_saved_tensors_hooks(why: Option<String>, back: bool) -> PyResult<Option<String>> {
    if let (Some(why), true, false) = (&why, HOOKS.with_borrow(Option::is_some), back) {
        return Err(PyRuntimeError::new_err(why.clone()));
    }
    Ok(DISABLED.replace(why))
}

/// A tensor saved in the way of a node: packed if hooks are set. Later writes do not change it.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct SavedTensor {
    state: SavedState,
    edge: Option<Edge>,
    dialect: Dialect,
}

#[pymethods]
impl SavedTensor {
    #[new]
    fn new(x: &Bound<'_, Var>) -> PyResult<SavedTensor> {
        let Tensor { array, edge, levels, .. } = x.get().tensor();
        let list: SavedList = [Some(SavedArray::new(array, &levels))].into_iter().collect();
        Ok(SavedTensor { state: saved_state(list, |_| false).or_raise()?, edge, dialect: x.get().dialect() })
    }

    /// The tensor with its history.
    fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Var>> {
        let list = match &self.state {
            SavedState::Live(list) => list.clone(),
            SavedState::Packed(list) => unpack("saved tensor", list).or_raise()?,
            SavedState::Freed(_) => unreachable!("it is never freed"),
        };
        let saved = list.into_iter().flatten().next().expect("one is saved");
        Var::result(py, Tensor::of_saved(&saved, self.edge.clone()), self.dialect)
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<SavedTensorsHooks>()?;
    m.add_class::<SavedTensor>()?;
    m.add_function(wrap_pyfunction!(saved_tensors_hooks, m)?)?;
    m.add_function(wrap_pyfunction!(push_saved_tensors_hooks, m)?)?;
    m.add_function(wrap_pyfunction!(pop_saved_tensors_hooks, m)?)?;
    m.add_function(wrap_pyfunction!(disable_saved_tensors_hooks, m)?)
}
