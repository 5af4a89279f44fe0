//! What debugging modes check at the gradients of a node: NaN, infinity, and zeros that must stay zeros.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::error::{Error, Result, bail, interned};
use crate::graph::modes::{self, Flags};
use crate::graph::watch::{self, FirstNonFinite};
use crate::graph::{Cotangents, Grads, Node, NodeKind, Tensor, Watch};
use crate::kernel::reduce::non_finite;
use crate::ops::entry::Operand;
use crate::ops::movement::broadcast_to;
use crate::ops::pointwise::compare::equal;
use crate::ops::pointwise::select::select;

/// The checks of one backward pass.
pub(super) struct Checks<'a> {
    pub(super) watch: Watch,
    /// The first value or gradient that was not finite.
    first: Mutex<Option<FirstNonFinite>>,
    names: Option<&'a (dyn Fn(&Node) -> String + Sync)>,
}

impl<'a> Checks<'a> {
    /// As the modes of this thread ask for it. `names` are the names of nodes in errors.
    pub(super) fn new(names: Option<&'a (dyn Fn(&Node) -> String + Sync)>) -> Checks<'a> {
        let watching = modes::flags().has(Flags::WATCHING);
        let watch = if watching { modes::with(|m| m.watch) } else { Watch::NOTHING };
        let first = if watching { watch::first_non_finite() } else { None };
        Checks { watch, first: Mutex::new(first), names }
    }

    pub(super) fn is_watching(&self) -> bool {
        self.watch != Watch::NOTHING
    }

    fn name_of(&self, node: &Node) -> String {
        self.names.map_or_else(|| node.name().to_owned(), |name_of| name_of(node))
    }

    /// The error that a node was freed, with the caller's name of the node.
    #[cold]
    pub(super) fn renamed(&self, mut error: Box<Error>, node: &Node) -> Box<Error> {
        if let Error::Freed { op, .. } = &mut *error {
            *op = interned(&self.name_of(node));
        }
        error
    }

    /// Runs the rule of a node and watches it.
    ///
    /// # Errors
    /// Those of the rule; [`Error::NotFinite`] for what the modes do not allow.
    #[cold]
    pub(super) fn watched(
        &self,
        node: &Node,
        g: &Cotangents,
        rule: impl FnOnce() -> Result<Grads>,
    ) -> Result<Grads> {
        let start = Instant::now();
        let is_checked = self.watch.debug_nans || self.watch.debug_infs;
        let mut grads = if is_checked { self.located(node, rule)? } else { rule()? };
        watch::count_rule(self.watch, node, start, grads.iter().flatten().map(|t| &t.array));
        if self.watch.safe_gradients {
            keep_zeros(node, g, &mut grads)?;
        }
        if self.watch.detect_anomaly {
            self.find_anomaly(node, g, &grads)?;
        }
        Ok(grads)
    }

    /// Runs a rule. Where an op of the rule makes a NaN, the error says in which node's gradient.
    fn located(&self, node: &Node, rule: impl FnOnce() -> Result<Grads>) -> Result<Grads> {
        Error::catch(rule).map_err(|mut error| {
            if let Error::NotFinite { what, .. } = &mut *error {
                let at = node.site().describe().map_or(String::new(), |at| format!(", recorded at {at}"));
                *what = format!("{what}, in the gradient of {}{at}", self.name_of(node));
            }
            error
        })
    }

    /// Remembers the first gradient that is not finite. A NaN is an error.
    fn find_anomaly(&self, node: &Node, g: &Cotangents, grads: &Grads) -> Result<()> {
        let is_new = |t: &Tensor| !g.iter().flatten().any(|g| g.array.is_same(&t.array));
        for (i, t) in grads.iter().enumerate() {
            let Some(t) = t.as_ref().filter(|t| is_new(t)) else { continue };
            if !non_finite::contains(&t.array, non_finite::NonFinite::Any) {
                continue;
            }
            let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            if has_nan(t) {
                let name = self.name_of(node);
                let at =
                    node.site().describe().map_or(String::new(), |at| format!(" It was recorded at {at}."));
                let first = first.map_or(String::new(), |first| format!(" {first}"));
                bail!(
                    NotFinite,
                    "detect_anomaly",
                    "Function '{name}' returned nan values in its {i}th output.{at}{first}"
                );
            }
            first.get_or_insert(FirstNonFinite { op: node.name(), site: node.site(), backward: true });
        }
        Ok(())
    }
}

fn has_nan(t: &Tensor) -> bool {
    non_finite::contains(&t.array, non_finite::NonFinite::Nan)
}

/// Sets gradients to zero that are NaN only because a rule multiplied a cotangent of zero: each element of a pointwise
/// op by itself, other ops where all their cotangents are zero.
fn keep_zeros(node: &Node, g: &Cotangents, grads: &mut Grads) -> Result<()> {
    let NodeKind::Op(op) = &node.kind else { unreachable!("leaves have no rule") };
    if op.is_pointwise() {
        if let [Some(g)] = g {
            for t in grads.iter_mut().flatten().filter(|t| t.dims() == g.dims()) {
                keep_zero(t, g)?;
            }
        }
    } else if grads.iter().flatten().any(has_nan) && g.iter().flatten().all(|g| non_finite::is_zero(&g.array))
    {
        grads.iter_mut().for_each(|t| *t = None);
    }
    Ok(())
}

/// Sets `t`, which a pointwise rule made of `from`, to zero where `from` is zero. Skipped where `t` has no NaN and will
/// not be differentiated.
pub(super) fn keep_zero(t: &mut Tensor, from: &Tensor) -> Result<()> {
    if t.is_tracked() || has_nan(t) {
        let zero = Tensor::scalar_of(t.dtype(), 0.0);
        let is_zero = equal(Operand::Tensor(&broadcast_to(from, t.dims())?), Operand::Tensor(&zero))?;
        *t = select(&is_zero, &zero, t)?;
    }
    Ok(())
}
