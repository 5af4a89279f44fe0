//! What hooks ask of the pass that calls them.

use std::sync::{Arc, PoisonError};

use super::record::{Edge, GradOwner, HookContext, Tensor};

impl HookContext<'_> {
    /// Whether this pass computes the gradient of the value at an edge.
    pub fn reaches(&self, edge: &Edge) -> bool {
        (self.reaches)(edge)
    }

    /// A token that no other pass has, and that lives as long as this one.
    pub fn pass_token(&self) -> &Arc<()> {
        self.pass.token.get_or_init(Arc::default)
    }

    /// Makes a gradient part of the answer, to be accumulated at the end of the pass.
    pub fn defer_grad(&self, owner: GradOwner, g: Tensor) {
        self.pass.deferred.lock().unwrap_or_else(PoisonError::into_inner).push((owner, g));
    }
}
