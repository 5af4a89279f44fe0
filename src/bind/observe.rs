//! Hooks that are called with every new node of the graph.

use std::sync::Arc;

use pyo3::prelude::*;

use super::dialect::Dialect;
use super::hook_methods::callable;
use super::node::object;
use crate::error::Result;
use crate::graph::{Edge, Modes, Node, Observer, Recording};

struct Hook {
    hook: Py<PyAny>,
    dialect: Dialect,
}

impl Observer for Hook {
    /// Calls the hook: as an ordinary call of the thread, in which nothing is recorded or observed.
    fn made(&self, node: &Arc<Node>) -> Result<()> {
        let edge = Edge { node: node.clone(), out: 0 };
        let call = |py: Python<'_>| {
            let node = object(py, &edge, self.dialect)?;
            self.hook.bind(py).call1((node,)).map(drop)
        };
        let _modes = Modes::enter(|m| {
            (m.site, m.recording) = (None, Recording::from(false));
            m.observers.clear();
        });
        Ok(Python::attach(call)?)
    }
}

/// From now on `hook` is called with every node that this thread records, after the hooks that are so already.
#[pyfunction]
fn push_node_hook(hook: &Bound<'_, PyAny>, dialect: usize) -> PyResult<()> {
    callable("node_creation_hook", hook)?;
    let hook = Hook { hook: hook.clone().unbind(), dialect: Dialect::from_index(dialect) };
    Modes::update(|m| m.observers.push(Arc::new(hook)));
    Ok(())
}

/// Ends what the last [`push_node_hook`] began.
#[pyfunction]
fn pop_node_hook() {
    drop(Modes::update(|m| m.observers.pop()));
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(push_node_hook, m)?)?;
    m.add_function(wrap_pyfunction!(pop_node_hook, m)?)
}
