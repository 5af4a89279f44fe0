//! Hooks: functions of the caller's that see the gradients at a node pass, and may change them.

use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{Cotangents, Edge, Node, Tensor};
use crate::error::Result;

/// What hangs on one node. Called on the thread that asked for the gradients, with no lock held and as a part of no
/// kernel: it may record, differentiate, and change what hangs on any node. What it leaves in `g` must have the shape and
/// dtype of what was there.
pub trait Hooks: Any + Send + Sync {
    /// Whether there is nothing to be called at present.
    fn is_empty(&self) -> bool;

    /// Shows what hangs here of the host language's, for the host's collector of cycles.
    fn held(&self, _see: &mut dyn FnMut(&dyn Any)) {}

    /// By the node's outputs: their gradients, complete and not used yet. None where no gradient arrives.
    ///
    /// # Errors
    /// From the host language.
    fn tensor_hooks(&self, at: &HookContext<'_>, g: &mut [Option<Tensor>]) -> Result<()>;

    /// The same gradients before the node's rule reads them, or before a leaf's gradient is added to what it has.
    ///
    /// # Errors
    /// From the host language.
    fn pre_hooks(&self, at: &HookContext<'_>, g: &mut [Option<Tensor>]) -> Result<()>;

    /// By the node's inputs: the gradients that its rule made of `g`.
    ///
    /// # Errors
    /// From the host language.
    fn post_hooks(&self, at: &HookContext<'_>, grads: &mut [Option<Tensor>], g: &Cotangents) -> Result<()>;

    /// A leaf's gradient is about to be added to what it has: given back to be added at the end of the run, with all
    /// others, or none where that has been done.
    ///
    /// # Errors
    /// From the host language.
    fn accumulate_grad(&self, at: &HookContext<'_>, g: Tensor) -> Result<Option<Tensor>>;
}

/// The run that passes a node.
pub struct HookContext<'a> {
    pub node: &'a Arc<Node>,
    /// Whether what the hooks compute is to be recorded.
    pub create_graph: bool,
    pub(crate) run: &'a Run,
    pub(crate) expects: &'a dyn Fn(&Edge) -> bool,
}

/// Who holds a gradient that was laid aside.
pub type GradOwner = Arc<dyn Any + Send + Sync>;

/// What belongs to one run as a whole.
#[derive(Default)]
pub(crate) struct Run {
    token: OnceLock<Arc<()>>,
    pub(crate) aside: Mutex<Vec<(GradOwner, Tensor)>>,
}

impl HookContext<'_> {
    /// Whether this run passes the value at an edge.
    pub fn expects(&self, edge: &Edge) -> bool {
        (self.expects)(edge)
    }

    /// What tells this run from all others, and lives as long as it.
    pub fn run(&self) -> &Arc<()> {
        self.run.token.get_or_init(Arc::default)
    }

    /// Lays a gradient aside for the end of the run: it is part of the answer.
    pub fn lay_aside(&self, holder: GradOwner, g: Tensor) {
        self.run.aside.lock().unwrap_or_else(PoisonError::into_inner).push((holder, g));
    }
}
