//! What a function of the host's computes and keeps for its rules. It is untracked there, but depends on the arguments: where
//! a rule is recorded that reads it, no derivative flows through it without an error.

use smallvec::SmallVec;

use crate::array::Array;
use crate::error::{Result, bail};
use crate::graph::modes;
use crate::graph::modes::host_call;
use crate::graph::site::Site;
use crate::graph::{
    Cotangents, DetachReason, Edge, Grads, HostRule, NeedsGrad, Node, Op, Outputs, Saved, Saves, Tangents,
    Tensor,
};

/// Input 0, which a function computed and kept. The other inputs are the arguments that it was computed from.
struct Kept {
    function: &'static str,
}

impl Kept {
    fn refuse<T>(&self) -> Result<T> {
        bail!(
            NotDifferentiable,
            self.function,
            "its rule reads a tensor that forward computed from an argument and kept, and a derivative that flows through \
             that tensor would be lost. Compute it in the rule, from saved arguments and results; detach() it there if it \
             is meant as a constant; or mark backward with once_differentiable"
        )
    }
}

impl Op for Kept {
    fn name(&self) -> &'static str {
        "kept_by_forward"
    }

    fn forward(&self, _: &[&Array], _: usize) -> Result<Outputs> {
        unreachable!("{} is computed before the door", self.name())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        if (1..s.inputs()).any(|i| s.needs(i)) {
            return self.refuse();
        }
        let mut grads: Grads = s.node.inputs.iter().map(|_| None).collect();
        grads[0] = g[0].clone();
        Ok(grads)
    }

    fn jvp(&self, t: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        if t[1..].iter().any(Option::is_some) {
            return self.refuse();
        }
        Ok([t[0].clone()].into_iter().collect())
    }
}

/// A value with an edge that leads to the arguments of `rule` which `is_one` names, besides its own.
fn kept(t: Tensor, rule: &HostRule, is_one: impl Fn(usize) -> bool) -> Tensor {
    let place = |edge: &Edge| Tensor { edge: Some(edge.clone()), ..Tensor::scalar(0.0) };
    let arguments = rule.node.inputs.iter().enumerate().filter(|(i, _)| is_one(*i));
    let arguments: SmallVec<[Tensor; 4]> = arguments.filter_map(|(_, e)| e.as_ref().map(place)).collect();
    if arguments.is_empty() || !t.dtype().is_differentiable() {
        return t;
    }
    let ins: SmallVec<[&Tensor; 4]> = std::iter::once(&t).chain(&arguments).collect();
    let (outs, site) = (std::slice::from_ref(&t.array), Site::current());
    let op = Kept { function: rule.node.name() };
    let node = Node::of_op(Box::new(op), &ins, outs, &t.levels, site, |_| {});
    Tensor::made(t.array.clone(), Some(Edge { node, out: 0 }), t.levels.clone())
}

/// An untracked value as the running rule reads it: with an edge if the function of the rule computed it.
#[cold]
pub fn linked(t: Tensor) -> Tensor {
    let stems = t.detach_reason.stems();
    match modes::with(|m| m.host_rule.clone()) {
        Some(rule) if stems.is_of(rule.call) => kept(t, &rule, |i| stems.has(rule.call, i)),
        _ => t,
    }
}

/// What a rule made of a leaf that its function has made of an argument: no derivative flows to the argument.
pub fn made_of_leaf(t: Tensor, rule: &HostRule) -> Tensor {
    kept(t, rule, |_| true)
}

/// The reason of a value that the host makes of numbers, which it may have read from other values.
pub fn of_numbers(reason: DetachReason) -> DetachReason {
    match host_call() {
        Some(call) => reason.with_stems(reason.stems().or(call.read())),
        None => reason,
    }
}
