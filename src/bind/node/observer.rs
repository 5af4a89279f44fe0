//! Hooks that are called with every new node of the graph.

use std::sync::Arc;

use pyo3::prelude::*;

use super::object::object;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::check_callable;
use crate::bind::python::gil::call_python;
use crate::error::Result;
use crate::graph::{Edge, Modes, Node, Observer, Recording};

struct NodeHook {
    hook: Py<PyAny>,
    dialect: Dialect,
}

impl Observer for NodeHook {
    /// Calls the hook. What it computes is neither recorded nor observed.
    fn recorded(&self, node: &Arc<Node>) -> Result<()> {
        let edge = Edge { node: node.clone(), out: 0 };
        let modes = |m: &mut Modes| {
            m.recording = Recording::from(false);
            m.observers.clear();
        };
        call_python(modes, |py| {
            let node = object(py, &edge, self.dialect)?;
            self.hook.bind(py).call1((node,)).map(drop)
        })
    }
}

/// From now on calls `hook` with every node that this thread records, after the hooks that are set already.
#[pyfunction]
fn push_node_hook(hook: &Bound<'_, PyAny>, dialect: Dialect) -> PyResult<()> {
    check_callable("node_creation_hook", hook)?;
    let hook = NodeHook { hook: hook.clone().unbind(), dialect };
    Modes::update(|m| m.observers.push(Arc::new(hook)));
    Ok(())
}

/// Ends the work of the hook that was set last.
#[pyfunction]
fn pop_node_hook() {
    drop(Modes::update(|m| m.observers.pop()));
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(push_node_hook, m)?)?;
    m.add_function(wrap_pyfunction!(pop_node_hook, m)?)
}
