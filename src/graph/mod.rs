//! What is recorded: tensors, nodes and edges, the contract of an op, and the one door through which ops are applied.

mod apply;
mod hooks;
mod host;
mod levels;
mod node;
mod op;
mod pack;
pub mod site;
mod tensor;
pub mod watch;

pub(crate) use apply::{align, make_node, recorded};
pub use apply::{apply, apply_all};
pub use hooks::{Hooks, Passing};
pub use host::held_by;
pub use levels::{Draws, Level, Levels, Live};
pub use node::{Edge, Keep, Kind, Meta, Node, live_nodes};
pub(crate) use node::{Kept, KeptList};
pub use op::{Cotangents, Grads, Keeps, Needs, Op, Outs, Saved, Tangents};
pub use pack::{Packed, Packer, set_packer};
pub(crate) use pack::{is_packing, kept, unpack};
pub use tensor::Tensor;
