//! The ops of functions defined in Python: nodes whose rules call Python.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::convert::lift;
use super::dialect::Dialect;
use super::enter::called_back;
use super::error::raise;
use super::var::Var;
use crate::array::Array;
use crate::dtype::DType;
use crate::engine::seed;
use crate::error::{Error, Result, bail};
use crate::graph::{
    Cotangents, Grads, Meta, NeedsGrad, Node, Op, Outputs, Saved, SavedList, Saves, Tangents, Tensor,
};
use crate::ops::movement::{broadcast_to, cast};
use crate::shape::Dims;

/// An application of a function defined in Python. Its context answers for the rules.
pub struct Defined {
    pub context: Py<PyAny>,
    pub name: &'static str,
    /// By input: its place among the arguments that the user wrote, for errors.
    pub places: Vec<usize>,
    /// By input: its shape and dtype.
    pub inputs: Box<[(Dims, DType)]>,
    /// Whether the rules get zeros where there is no gradient or tangent.
    pub materialize: bool,
    /// Whether backward gets gradients as they come, or in the dtypes of the outputs.
    pub any_dtype: bool,
    pub dialect: Dialect,
}

thread_local! {
    /// The nodes whose rules are running on this thread, with what they keep.
    static RUNNING: RefCell<Vec<(Arc<Node>, SavedList)>> = const { RefCell::new(Vec::new()) };
}

/// While it lives a node is among the running ones.
struct Running;

impl Running {
    fn new(s: &Saved<'_>) -> Running {
        RUNNING.with_borrow_mut(|list| list.push((s.node.clone(), s.kept.into())));
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let done = RUNNING.with_borrow_mut(Vec::pop);
        drop(done);
    }
}

impl Defined {
    /// Calls a method of the context with a tensor or None for each of `given`: the same for each that it returns.
    fn call(
        &self,
        method: &str,
        given: &[Option<Tensor>],
        like: impl Fn(usize) -> (Dims, DType),
        count: usize,
        s: &Saved<'_>,
    ) -> Result<Vec<Option<Tensor>>> {
        let name = || self.name.to_owned();
        called_back(s.node, "Error message in backward of", name, s.record, |py| {
            let var = |(i, t): (usize, &Option<Tensor>)| match t {
                Some(t) => Var::result(py, t.clone(), self.dialect).map(Some),
                None if self.materialize => {
                    let (dims, dtype) = like(i);
                    let zeros = lift(broadcast_to(&Tensor::scalar_of(dtype, 0.0), &dims))?;
                    Var::result(py, zeros, self.dialect).map(Some)
                }
                None => Ok(None),
            };
            let given = given.iter().enumerate().map(var).collect::<PyResult<Vec<_>>>()?;
            let _running = Running::new(s);
            let found = self.context.bind(py).call_method1(method, (PyList::new(py, given)?,))?;
            let found: Vec<Option<Bound<'_, Var>>> = found.extract()?;
            assert_eq!(found.len(), count, "{}: one result each", self.name);
            let tensor = |v: Bound<'_, Var>| {
                let t = v.get().tensor();
                if s.record { t } else { t.detach() }
            };
            Ok(found.into_iter().map(|v| v.map(tensor)).collect())
        })
    }

    fn refuse(&self, text: String) -> Box<Error> {
        Python::attach(|py| raise(py, "ShapeError", text)).into()
    }
}

impl Op for Defined {
    fn name(&self) -> &'static str {
        self.name
    }

    fn calls_host(&self) -> bool {
        true
    }

    fn takes_any_dtype(&self) -> bool {
        self.any_dtype
    }

    fn held(&self, see: &mut dyn FnMut(&dyn Any)) {
        see(&self.context);
    }

    fn forward(&self, _: &[&Array], _: usize) -> Result<Outputs> {
        unreachable!("{} is computed before the door", self.name)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let like = |i: usize| (s.node.outs[i].dims.clone(), s.node.outs[i].dtype);
        let found = self.call("_backward", g, like, s.inputs(), s)?;
        let fit = |(i, t): (usize, Option<Tensor>)| {
            let (Some(t), true) = (t, s.needs(i)) else { return Ok(None) };
            if !broadcasts(s.dims(i), t.dims()) {
                let (got, wanted) = (t.dims(), s.dims(i));
                return Err(self.refuse(format!(
                    "Function {}Backward returned an invalid gradient at index {} - got {got:?} but expected shape \
                     compatible with {wanted:?}",
                    self.name, self.places[i],
                )));
            }
            s.node.inputs[i].as_ref().map(|edge| seed(edge, &t)).transpose()
        };
        found.into_iter().enumerate().map(fit).collect()
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let found = self.call("_jvp", t, |i| self.inputs[i].clone(), s.node.outs.len(), s)?;
        let fit = |(meta, t): (&Meta, Option<Tensor>)| {
            let Some(t) = t.filter(|_| meta.dtype.is_float()) else { return Ok(None) };
            if !broadcasts(t.dims(), &meta.dims) {
                let (name, got, wanted) = (self.name, t.dims(), &meta.dims);
                return Err(self.refuse(format!(
                    "{name}: its jvp gave a tangent of shape {got:?} for an output of shape {wanted:?}"
                )));
            }
            cast(&t, meta.dtype).map(Some)
        };
        s.node.outs.iter().zip(found).map(fit).collect()
    }
}

/// A gradient of a function whose backward is not to be differentiated, and why.
pub struct Once {
    pub name: &'static str,
    pub why: &'static str,
}

impl Once {
    fn refuse<T>(&self) -> Result<T> {
        bail!(NotDifferentiable, self.name, "{}", self.why)
    }
}

impl Op for Once {
    fn name(&self) -> &'static str {
        "once_differentiable"
    }

    fn forward(&self, _: &[&Array], _: usize) -> Result<Outputs> {
        unreachable!("{} is computed before the door", self.name())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        self.refuse()
    }

    fn jvp(&self, _: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        self.refuse()
    }
}

/// Whether a shape broadcasts to another one.
fn broadcasts(from: &[usize], to: &[usize]) -> bool {
    from.len() <= to.len() && from.iter().rev().zip(to.iter().rev()).all(|(f, t)| f == t || *f == 1)
}

/// What a node keeps, also while its rule is running.
pub fn kept(node: &Arc<Node>) -> Result<SavedList> {
    let running = RUNNING.with_borrow(|list| {
        list.iter().rev().find(|(other, _)| Arc::ptr_eq(other, node)).map(|(_, kept)| kept.clone())
    });
    running.map_or_else(|| node.take_saved(None), Ok)
}
