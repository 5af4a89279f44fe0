//! `grad` and `backward`: what Python asks, as a request to the engine.

use std::sync::Arc;

use pyo3::prelude::*;

use super::callbacks::Queue;
use super::endpoint::{Endpoint, dialect_of, endpoints, why_unused};
use super::run::run_request;
use crate::bind::convert::list::list;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::facade::{WARN_OF_CREATE_GRAPH, WARN_OF_NOTHING};
use crate::bind::value::accumulate::accumulate_grad;
use crate::bind::value::var::{Slot, Var};
use crate::engine::{Answer, Reached, Request, is_transformed};
use crate::graph::modes::{self, host_call, is_recording};
use crate::graph::site::Site;
use crate::graph::{DetachReason, Edge, GradOwner, Node, Stems, Tensor};
use crate::ops::movement::broadcast_to;
use crate::shape;

/// The gradients of the outputs: none is given, or each is a tensor or None.
pub type Seeds<'py> = Option<Vec<Option<Bound<'py, Var>>>>;

fn some<'py>(given: &Bound<'py, PyAny>) -> PyResult<Seeds<'py>> {
    (!given.is_none()).then(|| list(given)).transpose()
}

/// The edges of the tracked outputs, with the gradient that each starts from.
fn roots(
    py: Python<'_>,
    outputs: &[Endpoint<'_>],
    seeds: &Seeds<'_>,
    batched: bool,
    dialect: Dialect,
) -> PyResult<Vec<(Edge, Tensor)>> {
    if let Some(s) = seeds.as_ref().filter(|s| s.len() != outputs.len()) {
        let text = format!("got {} tensors and {} gradients", outputs.len(), s.len());
        return Err(raise(py, "ArgumentError", text));
    }
    let mut roots = Vec::with_capacity(outputs.len());
    for (i, out) in outputs.iter().enumerate() {
        let given = seeds.as_ref().map(|s| s[i].as_ref());
        let Some(edge) = out.edge() else {
            if dialect.ignores_untracked_root() || matches!(given, Some(None)) {
                continue;
            }
            let text = format!(
                "element {i} of tensors does not require grad and does not have a grad_fn: {}",
                out.why_untracked(py)
            );
            return Err(raise(py, "ArgumentError", text));
        };
        let meta = edge.meta();
        let seed = match given.flatten() {
            Some(g) => g.get().tensor(),
            None if meta.dtype.is_complex() && !dialect.ones_for_any_shape() => {
                let text = format!(
                    "grad can be implicitly created only for real scalar outputs, and the output at index {i} is {}: \
                     differentiate its real part, its imaginary part or its absolute value, or give its gradient",
                    meta.dtype
                );
                return Err(raise(py, "ArgumentError", text));
            }
            None if dialect.ones_for_any_shape() || shape::len(&meta.dims) == 1 => {
                broadcast_to(&Tensor::scalar_of(meta.dtype, 1.0), &meta.dims).or_raise()?
            }
            None => {
                let text = format!(
                    "grad can be implicitly created only for scalar outputs, and the output at index {i} has shape \
                     {}: call .sum() first, or give its gradient, such as y.backward(ones_like(y))",
                    dialect.shape(&meta.dims)
                );
                return Err(raise(py, "ArgumentError", text));
            }
        };
        if seed.dtype().is_complex() && !meta.dtype.is_complex() {
            let text = format!(
                "grad_output and output are required to have the same dtype, or both to be real: grad_output[{i}] has a \
                 dtype of {} and output[{i}] has a dtype of {}; take its real part",
                seed.dtype(),
                meta.dtype
            );
            return Err(raise(py, "DtypeError", text));
        }
        // A batched seed has one more axis. The engine checks it.
        if !batched && seed.dims() != meta.dims.as_slice() {
            return Err(raise(py, "ShapeError", dialect.seed_mismatch(i, seed.dims(), &meta.dims)));
        }
        roots.push((edge, seed));
    }
    Ok(roots)
}

/// Runs a request, once its outputs, inputs and seeds are filled in.
fn answer(
    py: Python<'_>,
    mut request: Request<'_>,
    outputs: &[Endpoint<'_>],
    inputs: &[Endpoint<'_>],
    seeds: &Seeds<'_>,
    batched: bool,
    dialect: Dialect,
) -> PyResult<Answer> {
    request.roots = roots(py, outputs, seeds, batched, dialect)?;
    for (i, input) in inputs.iter().enumerate() {
        let edge = input.edge();
        if edge.is_none() && dialect.refuses_untracked_input() {
            let text = format!(
                "One of the differentiated Tensors does not require grad: the one at index {i}, {}",
                input.why_untracked(py)
            );
            return Err(raise(py, "ArgumentError", text));
        }
        // An untracked input is replaced by a new leaf, which nothing reaches.
        request.wanted.extend(edge.or_else(|| Tensor::scalar(0.0).leaf().edge));
    }
    Queue::note(&request);
    let names_of = dialect_of(outputs).unwrap_or(dialect);
    let names = |node: &Node| names_of.node_name(node).0;
    run_request(py, Request { names: Some(&names), ..request }, batched)
}

/// The gradients of inputs that no gradient reaches.
#[derive(Clone, Copy, PartialEq)]
enum Unused {
    Refused,
    Nothing,
    Zeros,
    /// As nothing, also where an input is used with derivatives that are all zero.
    Missing,
}

fn outputs<'py>(given: &Bound<'py, PyAny>) -> PyResult<Vec<Endpoint<'py>>> {
    endpoints(given, "outputs")
}

fn inputs<'py>(given: &Bound<'py, PyAny>) -> PyResult<Vec<Endpoint<'py>>> {
    endpoints(given, "inputs")
}

fn some_inputs<'py>(given: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Endpoint<'py>>>> {
    (!given.is_none()).then(|| inputs(given)).transpose()
}

/// The gradients of `outputs` with respect to `inputs`, each a tensor or None. `outputs` and `inputs` are tensors or
/// gradient edges. With `leaves` all other leaves add to their `.grad`. No gradient flows into the tensors of
/// `blocked`. `unused` says what happens to inputs that no gradient reaches: "refused", "none" or "zeros". Those
/// that are used, but with derivatives that are all zero, get zeros, unless `unused` is "missing": then they get none. With
/// `batched` every seed, and every gradient, has one more axis, the first. With `stops` no gradient flows through an input
/// to what it was computed from, and hooks on inputs are not called. Where nobody says by `create_graph` whether the pass is
/// recorded, it is if a running transform differentiates an output, or an output may have a tangent ([`have_tangents`]).
#[pyfunction]
#[pyo3(signature = (outputs, inputs, seeds, dialect, *, retain_graph=None, create_graph=None, leaves=false,
                    blocked=vec![], unused="none", batched=false, stops=false))]
#[allow(clippy::too_many_arguments)]
fn grad<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = outputs)] outputs: Vec<Endpoint<'py>>,
    #[pyo3(from_py_with = inputs)] inputs: Vec<Endpoint<'py>>,
    #[pyo3(from_py_with = some)] seeds: Seeds<'py>,
    dialect: Dialect,
    retain_graph: Option<bool>,
    create_graph: Option<bool>,
    leaves: bool,
    #[pyo3(from_py_with = list)] blocked: Vec<Endpoint<'py>>,
    unused: &str,
    batched: bool,
    stops: bool,
) -> PyResult<Vec<Option<Bound<'py, Var>>>> {
    let unused = match unused {
        "refused" => Unused::Refused,
        "zeros" => Unused::Zeros,
        "missing" => Unused::Missing,
        _ => Unused::Nothing,
    };
    let moves = have_tangents(&outputs);
    let create_graph = create_graph.unwrap_or_else(|| moves || is_differentiated(&outputs));
    let request = Request {
        retain_graph: moves || retain_graph.unwrap_or(create_graph),
        create_graph,
        leaves,
        blocked: blocked.iter().filter_map(Endpoint::edge).collect(),
        stops,
        ..Request::default()
    };
    let queue = Queue::begin(request.retain_graph);
    let answer = answer(py, request, &outputs, &inputs, &seeds, batched, dialect)?;
    let result = dialect_of(&outputs).unwrap_or(dialect);
    let batch_size = if batched { batch_size_of(&seeds) } else { None };
    let stems = host_call().map_or(Stems::default(), |call| call.all());
    let detach_reason = DetachReason::gradient(Site::current()).with_stems(stems);
    let mut grads = Vec::with_capacity(inputs.len());
    for (i, (g, input)) in answer.wanted.into_iter().zip(&inputs).enumerate() {
        let g = match (g, unused) {
            (Some(g), _) => Some(g),
            (None, Unused::Missing) => None,
            // The input was used, but all its derivatives are zero.
            (None, _) if answer.reached[i] == Reached::Used => Some(zeros(input, batch_size)?),
            (None, Unused::Refused)
                if answer.reached[i] == Reached::Unanswered && dialect.gives_none_for_none() =>
            {
                None
            }
            (None, Unused::Nothing) => None,
            (None, Unused::Zeros)
                if dialect.refuses_zeros_for_edges() && matches!(input, Endpoint::Edge(_)) =>
            {
                let text = "materialize_grads cannot be used when the given input is a GradientEdge";
                return Err(raise(
                    py,
                    "ArgumentError",
                    format!("grad: {text}: no gradient reaches input {i}"),
                ));
            }
            (None, Unused::Zeros) => Some(zeros(input, batch_size)?),
            (None, Unused::Refused) => {
                let why = match answer.reached[i] {
                    Reached::Unanswered => "the functions that use it gave None for its gradient".to_owned(),
                    _ => why_unused(py, input, &blocked, &outputs),
                };
                let text = dialect.unused(i, &why);
                return Err(raise(py, "UnusedInputError", text));
            }
        };
        let var = |g: Tensor| -> PyResult<Bound<'py, Var>> {
            let g = if create_graph { g } else { Tensor { edge: None, detach_reason, ..g } };
            let v = Var::result(py, g, result)?;
            if create_graph {
                Var::make_leaf(&v)?;
            }
            Ok(v)
        };
        grads.push(g.map(var).transpose()?);
    }
    accumulate_grad(py, slots(answer.leaves, answer.deferred), create_graph, result)?;
    queue.finish(py)?;
    Ok(grads)
}

/// Whether a running transform computes derivatives with respect to a value that an output was computed from.
fn is_differentiated(outputs: &[Endpoint<'_>]) -> bool {
    is_recording() && outputs.iter().filter_map(Endpoint::edge).any(|edge| is_transformed(&edge))
}

/// Whether an output may have a tangent where tangents pass through `no_grad`. They are pushed through the graph later, so no
/// pass frees it.
fn have_tangents(outputs: &[Endpoint<'_>]) -> bool {
    modes::with(|m| m.passes_tangents)
        && outputs.iter().filter_map(Endpoint::edge).any(|edge| edge.node.may_have_tangents())
}

/// The size of the first axis of batched seeds.
fn batch_size_of(seeds: &Seeds<'_>) -> Option<usize> {
    seeds.iter().flatten().flatten().find_map(|g| g.get().look().dims().first().copied())
}

/// Zeros in the shape of an input's gradient.
fn zeros(like: &Endpoint<'_>, batch_size: Option<usize>) -> PyResult<Tensor> {
    let (dtype, own) = match like {
        Endpoint::Tensor(v) => {
            let t = v.get().look();
            (t.dtype(), shape::Dims::from_slice(t.dims()))
        }
        Endpoint::Edge(e) => (e.get().edge.meta().dtype, e.get().edge.meta().dims.clone()),
    };
    let dims: shape::Dims = batch_size.into_iter().chain(own).collect();
    broadcast_to(&Tensor::scalar_of(dtype, 0.0), &dims).or_raise()
}

/// The gradients that are to be added to the `.grad` of tensors: those of leaves, and those that hooks retained.
fn slots(leaves: Vec<(Arc<Node>, Tensor)>, aside: Vec<(GradOwner, Tensor)>) -> Vec<(Arc<Slot>, Tensor)> {
    let aside = aside.into_iter().filter_map(|(holder, g)| Some((holder.downcast().ok()?, g)));
    leaves.into_iter().filter_map(|(node, g)| Some((Slot::of(&node)?, g))).chain(aside).collect()
}

/// Differentiates `outputs` and adds the gradients to the `.grad` of every leaf, or of `inputs` alone.
#[pyfunction]
#[pyo3(signature = (outputs, seeds, dialect, *, retain_graph=None, create_graph=false, inputs=None))]
pub fn backward<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = outputs)] outputs: Vec<Endpoint<'py>>,
    #[pyo3(from_py_with = some)] seeds: Seeds<'py>,
    dialect: Dialect,
    retain_graph: Option<bool>,
    create_graph: bool,
    #[pyo3(from_py_with = some_inputs)] inputs: Option<Vec<Endpoint<'py>>>,
) -> PyResult<()> {
    let request = Request {
        retain_graph: retain_graph.unwrap_or(create_graph) || have_tangents(&outputs),
        create_graph,
        leaves: inputs.is_none(),
        accumulates: inputs.is_some(),
        ..Request::default()
    };
    let inputs = inputs.unwrap_or_default();
    if dialect.ignores_untracked_root() && outputs.iter().all(|out| out.edge().is_none()) {
        warn_of_nothing(py, &outputs)?;
    }
    if create_graph && dialect.warns_of_create_graph() {
        WARN_OF_CREATE_GRAPH.get(py)?.call0()?;
    }
    let queue = Queue::begin(request.retain_graph);
    let answer = answer(py, request, &outputs, &inputs, &seeds, false, dialect)?;
    let mut found = slots(answer.leaves, answer.deferred);
    for ((input, g), used) in inputs.iter().zip(answer.wanted).zip(answer.reached) {
        let g = match g {
            None if used == Reached::Used => Some(zeros(input, None)?),
            g => g,
        };
        if let (Some(slot), Some(g)) = (input.slot(), g)
            // The gradient of a tensor that retains it is among them already.
            && !found.iter().any(|(other, _)| Arc::ptr_eq(other, &slot))
        {
            found.push((slot, g));
        }
    }
    accumulate_grad(py, found, create_graph, dialect_of(&outputs).unwrap_or(dialect))?;
    queue.finish(py)
}

/// Warns that a backward pass has nothing to do, since no output is tracked.
#[cold]
fn warn_of_nothing(py: Python<'_>, outputs: &[Endpoint<'_>]) -> PyResult<()> {
    let Some(first) = outputs.first() else { return Ok(()) };
    let text =
        format!("backward() has no effect, and every .grad stays as it is: {}", first.why_untracked(py));
    WARN_OF_NOTHING.get(py)?.call1((text, Site::current().describe())).map(drop)
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(grad, m)?)?;
    m.add_function(wrap_pyfunction!(backward, m)?)
}
