//! Puts the functions and methods of ops where Python finds them: in the namespaces of the dialects, and on the tensor
//! class.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyList, PyString, PyTuple};

use super::callable::{CALLABLES, Callable};
use super::inplace;
use super::parameters::{DEVICE, makes, signature};
use super::shims::{self, AUGMENTED, IN_PLACE_METHODS, METHODS, NAMESPACES};
use crate::bind::python::dialect::Dialect;
use crate::bind::python::once::once;
use crate::bind::value::var::Var;
use crate::ops::entry::{Entry, InPlace, Param};
use crate::ops::registry;

/// A parameter for Python: its name, its type, whether it may be None, and its default (None where there is none).
type Parameter = (&'static str, String, bool, Option<String>);

/// Every op that Python can call: its names, its parameters and whether it is a method. Tests walk through it.
#[pyfunction(name = "registry")]
fn list_entries() -> Vec<(Vec<&'static str>, Vec<Parameter>, bool)> {
    let param = |p: &Param| {
        (p.name, format!("{:?}", p.kind.base), p.kind.optional, p.default.map(|d| format!("{d:?}")))
    };
    let device = || (DEVICE, "Object".to_owned(), true, Some("None".to_owned()));
    let entry = |e: &Entry| {
        let params = e.params.iter().map(param).chain(makes(e).then(device));
        (e.names.to_vec(), params.collect(), e.method)
    };
    registry().map(entry).collect()
}

/// The documentation of a function or method, which begins with its signature as CPython expects it.
fn doc(entry: &Entry, name: &str, is_method: bool) -> String {
    let mut parameters = signature(entry);
    if is_method {
        parameters = parameters.replacen(entry.params[0].name, "$self", 1);
    }
    format!("{name}{parameters}\n--\n\n{}", entry.doc)
}

/// Puts every op that is a method on the tensor class, under all its names, and its in-place form under the name with
/// an underscore; and the augmented assignments.
fn add_methods(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<Var>();
    assert!(CALLABLES.len() <= METHODS.len(), "more ops than C functions");
    for (i, Callable { entry, name, .. }) in CALLABLES.iter().enumerate() {
        if !entry.method || name.contains('.') {
            continue;
        }
        class.setattr(*name, shims::method(&class, name, doc(entry, name, true), METHODS[i])?)?;
        if entry.in_place != InPlace::None {
            let name = format!("{name}_");
            let method = shims::method(&class, &name, doc(entry, &name, true), IN_PLACE_METHODS[i])?;
            class.setattr(name, method)?;
        }
    }
    for (i, (name, _)) in inplace::AUGMENTED.iter().enumerate() {
        let doc = "Writes the result over the tensor on the left; in the Paddle dialect, makes a new one.";
        class.setattr(*name, shims::method(&class, name, doc.to_owned(), AUGMENTED[i])?)?;
    }
    Ok(())
}

/// The modules of a dialect's namespace: `ferrograd._core.native` (`paddle`, `torch`), and modules below it for the names
/// with dots. They are filled when one of their names is first asked for, since few programs need all dialects.
fn add_namespace<'py>(core: &Bound<'py, PyModule>, dialect: Dialect) -> PyResult<Vec<Bound<'py, PyModule>>> {
    let root = submodule(core, dialect.name())?;
    let mut modules = vec![root.clone()];
    for Callable { name, .. } in CALLABLES.iter() {
        let (module, _) = module_of(&root, name)?;
        if !modules.iter().any(|m| m.is(&module)) {
            modules.push(module);
        }
    }
    for module in &modules {
        let (root, own) = (root.clone().unbind(), module.clone().unbind());
        let get = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            let name: Bound<'_, PyString> = args.get_item(0)?.cast_into()?;
            late_name(root.bind(args.py()), dialect, own.bind(args.py()), &name).map(Bound::unbind)
        };
        module.setattr("__getattr__", PyCFunction::new_closure(module.py(), None, None, get)?)?;
    }
    Ok(modules)
}

/// What a module of a dialect's namespace has under a name that it lacked when it was asked. Python's import system asks
/// for names with underscores of modules that nobody uses.
fn late_name<'py>(
    root: &Bound<'py, PyModule>,
    dialect: Dialect,
    module: &Bound<'py, PyModule>,
    name: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    static FILLED: [PyOnceLock<()>; Dialect::ALL.len()] = [const { PyOnceLock::new() }; Dialect::ALL.len()];
    if name == "__all__" || !name.to_str()?.starts_with("__") {
        once(&FILLED[dialect as usize], root.py(), || fill_namespace(root))?;
    }
    match module.dict().get_item(name)? {
        Some(found) => Ok(found),
        None => {
            Err(PyAttributeError::new_err(format!("module '{}' has no attribute '{name}'", module.name()?)))
        }
    }
}

/// Puts every op as a function into the namespace of a dialect.
fn fill_namespace(root: &Bound<'_, PyModule>) -> PyResult<()> {
    for (i, Callable { entry, name, .. }) in CALLABLES.iter().enumerate() {
        let (module, short) = module_of(root, name)?;
        let function = shims::function(i, short, doc(entry, short, false), &module)?;
        module.setattr(short, function)?;
        if !module.dict().contains("__all__")? {
            module.setattr("__all__", PyList::empty(root.py()))?;
        }
        module.index()?.append(short)?;
    }
    Ok(())
}

/// The module below `root` that the function of that name is in, and the name there.
fn module_of<'py, 'n>(
    root: &Bound<'py, PyModule>,
    name: &'n str,
) -> PyResult<(Bound<'py, PyModule>, &'n str)> {
    Ok(match name.rsplit_once('.') {
        Some((path, short)) => (path.split('.').try_fold(root.clone(), |m, p| submodule(&m, p))?, short),
        None => (root.clone(), name),
    })
}

/// The module of that name below another. It is made, and made importable, when it is first asked for.
fn submodule<'py>(parent: &Bound<'py, PyModule>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    if let Ok(known) = parent.getattr(name) {
        return Ok(known.cast_into()?);
    }
    let py = parent.py();
    let path = format!("{}.{name}", parent.name()?);
    let path = path.strip_prefix("_core").map_or(path.clone(), |rest| format!("ferrograd._core{rest}"));
    let module = PyModule::new(py, &path)?;
    py.import("sys")?.getattr("modules")?.set_item(&path, &module)?;
    parent.setattr(name, &module)?;
    Ok(module)
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    add_methods(m.py())?;
    let mut namespaces = vec![];
    for dialect in Dialect::ALL {
        namespaces.extend(add_namespace(m, dialect)?.into_iter().map(|module| (module.unbind(), dialect)));
    }
    NAMESPACES.get_or_init(m.py(), || namespaces);
    m.add_function(wrap_pyfunction!(list_entries, m)?)
}
