//! What is recorded: tensors, nodes and edges, the contract of an op, and the one door through which ops are applied.

mod apply;
mod detach_reason;
mod hooks;
mod host;
mod levels;
mod meta;
pub mod modes;
mod node;
mod one_or_many;
mod op;
mod pack;
pub mod site;
mod tensor;
pub mod watch;

#[cfg(feature = "python")]
pub(crate) use apply::saved_state;
pub(crate) use apply::{align, recorded, unrecorded};
pub use apply::{apply, apply_all};
pub use detach_reason::DetachReason;
pub(crate) use hooks::Run;
pub use hooks::{GradOwner, HookContext, Hooks};
pub use host::{Late, held_by};
pub use levels::{Level, Levels, LiveLevel, Randomness};
pub use meta::{Meta, Metas};
pub use modes::{Modes, ModesGuard, Recording};
pub use node::{Edge, Node, NodeKind, Owner, SavedArray, SavedKind, live_nodes};
pub(crate) use node::{SavedList, SavedState};
pub use op::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tangents, only};
#[cfg(feature = "python")]
pub(crate) use pack::unpack;
pub use pack::{Observer, Packed, Packer};
pub use tensor::Tensor;
