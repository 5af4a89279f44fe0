//! What is recorded: tensors, nodes and edges, the contract of an op, and the one door through which ops are applied.

mod apply;
mod cut;
mod few;
mod hooks;
mod host;
mod levels;
mod meta;
mod node;
mod op;
mod pack;
mod rare;
pub mod site;
mod tensor;
pub mod watch;

pub(crate) use apply::{align, recorded, unrecorded};
pub use apply::{apply, apply_all};
pub use cut::Cut;
pub(crate) use hooks::Run;
pub use hooks::{Holder, Hooks, Passing};
pub use host::{Late, held_by};
pub use levels::{Draws, Level, Levels, Live};
pub use meta::{Meta, Metas};
pub use node::{Edge, Holding, Keep, Kind, Node, Owner, live_nodes};
pub(crate) use node::{Kept, KeptList};
pub use op::{Cotangents, Grads, Keeps, Needs, Op, Outs, Saved, Tangents};
pub use pack::{Observer, Packed, Packer, is_packing, set_observers, set_packer};
#[cfg(feature = "python")]
pub(crate) use pack::{kept, unpack};
pub use rare::Rare;
pub use tensor::Tensor;
