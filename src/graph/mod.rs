//! What is recorded: tensors, nodes and edges, the contract of an op, and the one door through which ops are applied.

mod apply;
mod detach_reason;
mod hooks;
mod host;
mod levels;
mod meta;
mod node;
mod one_or_many;
mod op;
mod pack;
mod rare;
pub mod site;
mod tensor;
pub mod watch;

pub(crate) use apply::{align, recorded, unrecorded};
pub use apply::{apply, apply_all};
pub use detach_reason::DetachReason;
pub(crate) use hooks::Run;
pub use hooks::{GradOwner, HookContext, Hooks};
pub use host::{Late, held_by};
pub use levels::{Level, Levels, LiveLevel, Randomness};
pub use meta::{Meta, Metas};
pub use node::{Edge, Node, NodeKind, Owner, SavedArray, SavedKind, live_nodes};
pub(crate) use node::{SavedList, SavedState};
pub use op::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tangents};
pub use pack::{Observer, Packed, Packer, is_packing, set_observers, set_packer};
#[cfg(feature = "python")]
pub(crate) use pack::{kept, unpack};
pub use rare::Rare;
pub use tensor::Tensor;
