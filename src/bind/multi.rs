//! A hook on the gradients of several tensors: called when all of them have been computed, or with the first.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::var::Var;
use crate::graph::{Edge, HookContext, Node};

/// What one such hook has seen, run by run.
pub struct Multi {
    /// Weak, since the nodes hold this.
    tensors: Vec<(Weak<Node>, u32)>,
    any: bool,
    runs: Mutex<Vec<Seen>>,
}

/// The gradients that one run has brought.
struct Seen {
    run: Weak<()>,
    /// How many tensors the run has yet to pass.
    left: usize,
    called: bool,
    found: Vec<Option<Py<Var>>>,
}

impl Multi {
    /// With `any` the first gradient of a run is the argument, else the list of all.
    pub fn new(tensors: &[Edge], any: bool) -> Multi {
        let tensors = tensors.iter().map(|e| (Arc::downgrade(&e.node), e.out)).collect();
        Multi { tensors, any, runs: Mutex::default() }
    }

    /// Notes the gradient of tensor `i`. Returns what the hook is to be called with, if it is time.
    pub fn arrived<'py>(
        &self,
        py: Python<'py>,
        at: &HookContext<'_>,
        i: usize,
        g: Option<Py<Var>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let run = at.run();
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let known = runs.iter().position(|seen| seen.run.as_ptr() == Arc::as_ptr(run));
        let known = known.unwrap_or_else(|| {
            let expected = |(node, out): &&(Weak<Node>, u32)| {
                node.upgrade().is_some_and(|node| at.expects(&Edge { node, out: *out }))
            };
            let left = self.tensors.iter().filter(expected).count();
            let found = self.tensors.iter().map(|_| None).collect();
            runs.push(Seen { run: Arc::downgrade(run), left, called: false, found });
            runs.len() - 1
        });
        let seen = &mut runs[known];
        seen.left = seen.left.saturating_sub(1);
        let first = g.is_some() && !seen.called;
        seen.called |= first;
        let (mut one, mut all) = (None, vec![]);
        if self.any {
            one = g.filter(|_| first);
        } else {
            seen.found[i] = g;
        }
        if seen.left == 0 {
            if !self.any && seen.called {
                all = std::mem::take(&mut seen.found);
            }
            // This run is done, and so are those that have ended in an error.
            let over: Vec<Seen> = runs.extract_if(.., |s| s.left == 0 || s.run.strong_count() == 0).collect();
            drop(runs);
            drop(over);
        }
        Ok(match (one, all.is_empty()) {
            (Some(g), _) => Some(g.into_bound(py).into_any()),
            (None, false) => Some(PyList::new(py, all)?.into_any()),
            (None, true) => None,
        })
    }
}
