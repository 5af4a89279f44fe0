//! Ops that are applied while a trace is taken.

use std::any::Any;
use std::sync::Arc;

use smallvec::SmallVec;

use super::compute::{align, computed};
use super::levels::Levels;
use super::lower::{Loops, Operands};
use super::made::Made;
use super::record::{Cotangents, Grads, Op, Outputs, Saved, Tangents, Tensor};
use super::saves::{NeedsGrad, Saves};
use super::site::Site;
use super::trace::{Call, Trace};
use crate::array::Array;
use crate::error::Result;

impl Trace {
    /// Computes the output of an op without inputs, which is another one in each run, under the seal of this trace.
    ///
    /// # Errors
    /// Those of the op.
    pub fn source(self: &Arc<Trace>, op: Arc<dyn Op>) -> Result<Array> {
        let array = self.seal(computed(&*op, &[], 0)?.into_iter().next().expect("it has one output"));
        let outs = [array.unsealed().clone()].into_iter().collect();
        self.record(Call { op, ins: SmallVec::new(), outs, batch_ndim: 0, site: Site::current() })?;
        Ok(array)
    }
}

impl Trace {
    /// Records an op without outputs, which tells the user something in each run.
    pub fn effect(&self, op: Arc<dyn Op>, ins: &[&Array]) {
        if ins.iter().any(|x| !self.knows(x)) {
            return self.give_up("it reads a value that was computed before, not through a tensor");
        }
        let ins = ins.iter().map(|x| x.unsealed().clone()).collect();
        let call = Call { op, ins, outs: SmallVec::new(), batch_ndim: 0, site: Site::current() };
        if self.record(call).is_err() {
            self.give_up("no memory is left for its trace");
        }
    }
}

/// An op that a node and a trace share.
pub(super) struct Shared(pub Arc<dyn Op>);

impl Op for Shared {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn calls_host(&self) -> bool {
        self.0.calls_host()
    }

    fn takes_any_dtype(&self) -> bool {
        self.0.takes_any_dtype()
    }

    fn takes_half(&self) -> bool {
        self.0.takes_half()
    }

    fn visit_host_objects(&self, visit: &mut dyn FnMut(&dyn Any)) {
        self.0.visit_host_objects(visit);
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        self.0.forward(ins, batch_ndim)
    }

    fn is_pointwise(&self) -> bool {
        self.0.is_pointwise()
    }

    fn is_flat(&self) -> bool {
        self.0.is_flat()
    }

    fn carries_integers(&self) -> u64 {
        self.0.carries_integers()
    }

    fn gives_integers_history(&self) -> bool {
        self.0.gives_integers_history()
    }

    fn vjp_of_integers(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        self.0.vjp_of_integers(g, s)
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        self.0.lower(ins)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        self.0.makes(ins)
    }

    fn is_view(&self) -> bool {
        self.0.is_view()
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        self.0.saves(needs)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        self.0.vjp(g, s)
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        self.0.jvp(t, s)
    }
}

/// The outputs of an op, recorded in the trace of this thread if an input is a value of the trace that may be another
/// one in the next run.
#[cold]
pub(super) fn forward(trace: &Arc<Trace>, op: &Arc<dyn Op>, ins: &[&Tensor]) -> Result<(Outputs, Levels)> {
    let levels = ins.iter().fold(Levels::default(), |all, t| all.union(&t.levels));
    let aligned: SmallVec<[Array; 4]> = ins.iter().map(|t| align(t, &levels)).collect();
    if aligned.iter().any(|x| !trace.knows(x)) {
        trace.give_up("it reads a value that was computed before, not through a tensor");
    }
    let plain: SmallVec<[&Array; 4]> = aligned.iter().map(Array::unsealed).collect();
    let mut outs = computed(&**op, &plain, levels.len())?;
    if !op.is_view() {
        // The next run may not return an input as it is, nor two views of one array.
        for k in 0..outs.len() {
            let shares = |x: &Array| x.shares_memory(&outs[k]);
            if plain.iter().any(|x| shares(x)) || outs[..k].iter().any(shares) {
                outs[k] = outs[k].packed()?;
            }
        }
    }
    if trace.is_open() && aligned.iter().any(Array::is_sealed) {
        for out in outs.iter_mut() {
            *out = trace.seal(out.clone());
        }
        trace.record(Call {
            op: op.clone(),
            ins: plain.iter().map(|&x| x.clone()).collect(),
            outs: outs.iter().map(|x| x.unsealed().clone()).collect(),
            batch_ndim: levels.len(),
            site: Site::current(),
        })?;
    }
    for out in outs.iter_mut().filter(|_| !levels.is_empty()) {
        let hidden = levels.as_slice().iter().map(|l| l.batch_size);
        let dims: crate::shape::Dims = hidden.chain(out.dims()[levels.len()..].iter().copied()).collect();
        *out = out.expand(&dims, levels.len());
    }
    Ok((outs, levels))
}
