//! Calls of programs as nodes of a record, whose rule is the program of the gradients.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;

use super::print::with_line;
use crate::array::Array;
use crate::bind::function::call::FunctionCall;
use crate::bind::function::op::PythonOp;
use crate::bind::python::capi::attached;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::OrForeign;
use crate::bind::python::facade::GRADIENT_CONTEXT;
use crate::bind::python::gil::call_python_for;
use crate::dtype::DType;
use crate::engine::conjugated;
use crate::error::Result;
use crate::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, SavedArray, Saves, Tangents, Tensor};
use crate::ops::movement::broadcast_to;
use crate::program::Program;
use crate::shape::Dims;

/// The name of the node.
const NAME: &str = "CompiledFunction";

/// One call of a program.
pub struct ProgramOp {
    /// Computes the gradients from what the node has saved and from those of the outputs.
    pub backward: Arc<Program>,
    /// By leaf: the output of `backward` that is its gradient.
    pub grads: Vec<Option<usize>>,
    /// By leaf: its shape and dtype, and how often it was written to.
    pub leaves: Vec<(Dims, DType, u32)>,
    /// The call in Python. It makes the context whose rules serve where `backward` cannot: for gradients that are recorded,
    /// or of some outputs alone, and for tangents.
    pub call: Py<PyAny>,
    /// Whether an output without a gradient has one of zeros.
    pub materialize: bool,
    pub dialect: Dialect,
    pub rules: OnceLock<PythonOp>,
}

impl ProgramOp {
    /// The gradients, if the program is for these.
    fn by_program(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Option<Grads>> {
        let mut arrays: Vec<Array> = s.arrays.iter().flatten().map(SavedArray::array).collect();
        for (g, meta) in g.iter().zip(s.node.outs.iter()) {
            let seed = match g {
                Some(g) if g.levels.is_empty() => conjugated(g.clone())?,
                None if self.materialize => broadcast_to(&Tensor::scalar_of(meta.dtype, 0.0), &meta.dims)?,
                _ => return Ok(None),
            };
            arrays.push(seed.array.contiguous()?);
        }
        if s.record || arrays.len() != self.backward.inputs() {
            return Ok(None);
        }
        let ran =
            self.backward.run(&arrays).map_err(|error| attached(|py| with_line(py, error))).or_foreign()?;
        let Some(found) = ran else { return Ok(None) };
        let grad = |(i, place): (usize, &Option<usize>)| {
            let place = place.filter(|_| s.needs(i));
            place.map(|k| conjugated(Tensor::constant(found[k].clone()))).transpose()
        };
        self.grads.iter().enumerate().map(grad).collect::<Result<Grads>>().map(Some)
    }

    fn rules(&self, s: &Saved<'_>) -> Result<&PythonOp> {
        if let Some(rules) = self.rules.get() {
            return Ok(rules);
        }
        let context = call_python_for(
            s.node,
            "Error message in backward of",
            || NAME.to_owned(),
            |m| m.recording = s.record.into(),
            |py| {
                let call = FunctionCall::of_node(s.node, s.arrays.len(), self.dialect);
                let needs: Vec<bool> = (0..self.leaves.len()).map(|i| s.needs(i)).collect();
                let versions: Vec<u32> = self.leaves.iter().map(|leaf| leaf.2).collect();
                let counts = (s.arrays.len(), s.node.outs.len());
                Ok(GRADIENT_CONTEXT.get(py)?.call1((&self.call, call, needs, versions, counts))?.unbind())
            },
        )?;
        Ok(self.rules.get_or_init(|| PythonOp {
            call: 0,
            leaves: Box::default(),
            context,
            name: NAME,
            places: (0..self.leaves.len()).collect(),
            inputs: self.leaves.iter().map(|(dims, dtype, _)| (dims.clone(), *dtype)).collect(),
            materialize: self.materialize,
            any_dtype: false,
            dialect: self.dialect,
        }))
    }
}

impl Op for ProgramOp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn calls_host(&self) -> bool {
        true
    }

    fn visit_host_objects(&self, visit: &mut dyn FnMut(&dyn Any)) {
        visit(&self.call);
        if let Some(rules) = self.rules.get() {
            rules.visit_host_objects(visit);
        }
    }

    fn forward(&self, _: &[&Array], _: usize) -> Result<Outputs> {
        unreachable!("a program is computed before the door")
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        match self.by_program(g, s)? {
            Some(grads) => Ok(grads),
            None => self.rules(s)?.vjp(g, s),
        }
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        self.rules(s)?.jvp(t, s)
    }
}
