//! Ops that Python defines: nodes whose rules call Python.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::array::Array;
use crate::bind::convert::list::list;
use crate::bind::python::capi::attached;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, foreign, raise};
use crate::bind::python::gil::call_python_for;
use crate::bind::value::kept::made_of_leaf;
use crate::bind::value::var::Var;
use crate::dtype::DType;
use crate::engine::{By, Differentiating, conjugated, reaches_around, seed};
use crate::error::{Error, Result, bail};
use crate::graph::{
    Cotangents, Edge, Grads, HostRule, Meta, Modes, NeedsGrad, Node, Op, Outputs, Recording, Saved,
    SavedList, Saves, Tangents, Tensor,
};
use crate::ops::movement::{broadcast_to, cast, real};
use crate::shape::Dims;

/// One call of a function defined in Python. Its context has the rules.
pub struct PythonOp {
    pub context: Py<PyAny>,
    pub name: &'static str,
    /// For each input: its position among the arguments that the user wrote, for errors.
    pub places: Vec<usize>,
    /// For each input: its shape and dtype.
    pub inputs: Box<[(Dims, DType)]>,
    /// Whether the rules get zeros for gradients and tangents that are None.
    pub materialize: bool,
    /// Whether the backward rule gets gradients in the dtype that they have, or cast to the dtypes of the outputs.
    pub any_dtype: bool,
    pub dialect: Dialect,
    /// The number of the call.
    pub call: u32,
    /// The leaves that the function has made of its arguments, which the graphs of its rules may end at.
    pub leaves: Box<[Edge]>,
}

thread_local! {
    /// The nodes whose rules are running on this thread, with the tensors that they have saved.
    static RUNNING: RefCell<Vec<(Arc<Node>, SavedList)>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a node among those that are running.
struct Running;

impl Running {
    fn new(s: &Saved<'_>) -> Running {
        RUNNING.with_borrow_mut(|list| list.push((s.node.clone(), s.arrays.into())));
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let done = RUNNING.with_borrow_mut(Vec::pop);
        drop(done);
    }
}

impl PythonOp {
    /// Calls a method of the context with a list of tensors or None. The method returns such a list of `count` items.
    fn call(
        &self,
        method: &str,
        given: &[Option<Tensor>],
        like: impl Fn(usize) -> (Dims, DType),
        count: usize,
        s: &Saved<'_>,
    ) -> Result<Vec<Option<Tensor>>> {
        let name = || self.name.to_owned();
        let _differentiating = s.record.then(|| self.differentiating(given, s));
        let rule = s.record.then(|| HostRule { call: self.call, node: s.node.clone() });
        let modes = |m: &mut Modes| {
            m.recording = Recording::from(s.record);
            m.host_rule.clone_from(&rule);
            m.host_call = None;
        };
        call_python_for(s.node, "Error message in backward of", name, modes, |py| {
            let var = |(i, t): (usize, &Option<Tensor>)| match t {
                Some(t) => Var::result(py, t.clone(), self.dialect).map(Some),
                None if self.materialize => {
                    let (dims, dtype) = like(i);
                    let zeros = broadcast_to(&Tensor::scalar_of(dtype, 0.0), &dims).or_raise()?;
                    Var::result(py, zeros, self.dialect).map(Some)
                }
                None => Ok(None),
            };
            let given = given.iter().enumerate().map(var).collect::<PyResult<Vec<_>>>()?;
            let _running = Running::new(s);
            let found = self.context.bind(py).call_method1(method, (PyList::new(py, given)?,))?;
            let found: Vec<Option<Bound<'_, Var>>> = list(&found)?;
            assert_eq!(found.len(), count, "{}: one result each", self.name);
            let tensor = |v: Bound<'_, Var>| match &rule {
                Some(rule) => self.linked(v.get().operand(), rule),
                None => v.get().tensor().detach(),
            };
            Ok(found.into_iter().map(|v| v.map(tensor)).collect())
        })
    }

    /// What a recorded rule has returned. If its graph ends at a leaf that the function made of an argument, a derivative
    /// with respect to the argument would be lost.
    fn linked(&self, t: Tensor, rule: &HostRule) -> Tensor {
        let ends = |edge| reaches_around(edge, &self.leaves, &rule.node);
        if t.edge.as_ref().is_some_and(ends) { made_of_leaf(t, rule) } else { t }
    }

    /// Says that the derivatives of what a rule computes are being recorded: with respect to the inputs of the node,
    /// and to what the rule was given.
    fn differentiating(&self, given: &[Option<Tensor>], s: &Saved<'_>) -> Differentiating {
        let given = given.iter().flatten().filter_map(|t| t.edge.as_ref());
        Differentiating::new(
            s.node.inputs.iter().flatten().chain(given).cloned().collect(),
            By::Rule(self.name),
        )
    }

    fn refuse(&self, text: String) -> Box<Error> {
        foreign(attached(|py| raise(py, "ShapeError", text)))
    }
}

/// The gradient that a rule returned, in the dtype of its input. A real input gets the real part.
fn fitted(edge: &Edge, g: &Tensor) -> Result<Tensor> {
    if edge.meta().dtype.is_complex() { seed(edge, g) } else { seed(edge, &real(g)?) }
}

impl Op for PythonOp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn calls_host(&self) -> bool {
        true
    }

    fn takes_any_dtype(&self) -> bool {
        self.any_dtype
    }

    fn visit_host_objects(&self, visit: &mut dyn FnMut(&dyn Any)) {
        visit(&self.context);
    }

    fn forward(&self, _: &[&Array], _: usize) -> Result<Outputs> {
        unreachable!("{} is computed before the door", self.name)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let like = |i: usize| (s.node.outs[i].dims.clone(), s.node.outs[i].dtype);
        let g = g.iter().map(|g| g.clone().map(conjugated).transpose()).collect::<Result<Grads>>()?;
        let found = self.call("_backward", &g, like, s.inputs(), s)?;
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
            s.node.inputs[i].as_ref().map(|edge| conjugated(fitted(edge, &t)?)).transpose()
        };
        found.into_iter().enumerate().map(fit).collect()
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let found = self.call("_jvp", t, |i| self.inputs[i].clone(), s.node.outs.len(), s)?;
        let fit = |(meta, t): (&Meta, Option<Tensor>)| {
            let Some(t) = t.filter(|_| meta.dtype.is_differentiable()) else { return Ok(None) };
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

/// The op of a gradient that cannot be differentiated again, and the reason.
pub struct OnceDifferentiable {
    pub name: &'static str,
    pub why: &'static str,
}

impl OnceDifferentiable {
    fn refuse<T>(&self) -> Result<T> {
        bail!(NotDifferentiable, self.name, "{}", self.why)
    }
}

impl Op for OnceDifferentiable {
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

/// The tensors that a node has saved, also while its rule is running.
pub fn saved_by(node: &Arc<Node>) -> Result<SavedList> {
    let running = RUNNING.with_borrow(|list| {
        list.iter().rev().find(|(other, _)| Arc::ptr_eq(other, node)).map(|(_, saved)| saved.clone())
    });
    running.map_or_else(|| node.take_saved(None), Ok)
}
