//! A hook on the gradients of several tensors. It is called when all of them have been computed, or with the first.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bind::value::var::Var;
use crate::graph::{Edge, HookContext, Node};

/// A hook on several tensors, with the gradients that it has received in each pass.
pub struct MultiHook {
    /// Weak references, because the nodes hold this.
    tensors: Vec<(Weak<Node>, u32)>,
    any: bool,
    passes: Mutex<Vec<Pass>>,
}

/// The gradients of one pass.
struct Pass {
    run: Weak<()>,
    /// How many tensors are still to come in this pass.
    left: usize,
    called: bool,
    found: Vec<Option<Py<Var>>>,
}

impl MultiHook {
    /// With `any` the hook is called with the first gradient of a pass, otherwise with the list of all.
    pub fn new(tensors: &[Edge], any: bool) -> MultiHook {
        let tensors = tensors.iter().map(|e| (Arc::downgrade(&e.node), e.out)).collect();
        MultiHook { tensors, any, passes: Mutex::default() }
    }

    /// Notes the gradient of tensor `i`. Returns the argument of the hook, if it is to be called now.
    pub fn arrived<'py>(
        &self,
        py: Python<'py>,
        at: &HookContext<'_>,
        i: usize,
        g: Option<Py<Var>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let run = at.pass_token();
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = passes.iter().position(|pass| pass.run.as_ptr() == Arc::as_ptr(run));
        let known = known.unwrap_or_else(|| {
            let expected = |(node, out): &&(Weak<Node>, u32)| {
                node.upgrade().is_some_and(|node| at.reaches(&Edge { node, out: *out }))
            };
            let left = self.tensors.iter().filter(expected).count();
            let found = self.tensors.iter().map(|_| None).collect();
            passes.push(Pass { run: Arc::downgrade(run), left, called: false, found });
            passes.len() - 1
        });
        let pass = &mut passes[known];
        pass.left = pass.left.saturating_sub(1);
        let first = g.is_some() && !pass.called;
        pass.called |= first;
        let (mut one, mut all) = (None, vec![]);
        if self.any {
            one = g.filter(|_| first);
        } else {
            pass.found[i] = g;
        }
        if pass.left == 0 {
            if !self.any && pass.called {
                all = std::mem::take(&mut pass.found);
            }
            // Forgets this pass, which is complete, and those that have ended in an error.
            let over: Vec<Pass> =
                passes.extract_if(.., |s| s.left == 0 || s.run.strong_count() == 0).collect();
            drop(passes);
            drop(over);
        }
        Ok(match (one, all.is_empty()) {
            (Some(g), _) => Some(g.into_bound(py).into_any()),
            (None, false) => Some(PyList::new(py, all)?.into_any()),
            (None, true) => None,
        })
    }
}
