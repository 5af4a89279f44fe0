//! The graph: tensors, nodes and edges, the contract of an op, how ops are applied and recorded, and the modes of a
//! thread.

mod apply;
mod compute;
mod detach_reason;
mod drop;
mod hooks;
mod host;
mod host_call;
mod integers;
mod levels;
mod lower;
mod made;
mod meta;
pub mod modes;
mod node;
mod one_or_many;
mod op;
mod reading;
mod record;
mod saved;
mod saves;
pub mod site;
mod stems;
mod stored;
mod takers;
mod tensor;
pub mod trace;
mod traced;
pub mod watch;

#[doc(hidden)]
pub use apply::saved_state;
pub(crate) use apply::{
    Kernel, Unrecorded, checked, recorded, unrecorded, unrecorded_pass, unrecorded_pass_of,
};
pub use apply::{apply, apply_all, apply_each};
#[cfg(test)]
pub(crate) use compute::applied;
#[doc(hidden)]
pub use compute::{align, computed, made_by};
pub use detach_reason::DetachReason;
pub use host::{LateHostObject, visit_owned_host_objects};
pub use host_call::{HostCall, HostRule};
pub use levels::{Level, Levels, LiveLevel, Randomness};
#[doc(hidden)]
pub use lower::{Loops, Operands};
#[doc(hidden)]
pub use made::Made;
pub use meta::{Meta, Metas};
pub use modes::{Conversion, Modes, ModesGuard, Observer, Recording, Takers, Watch, no_grad};
pub use node::live_nodes;
pub use op::only;
pub use record::{
    Cotangents, Edge, GradOwner, Grads, HookContext, Hooks, Node, NodeKind, Op, Outputs, Owner, Saved,
    Tangents, Tensor,
};
#[doc(hidden)]
pub use record::{HookState, no_rule_of_integers};
#[doc(hidden)]
pub use saved::SavedList;
pub use saved::{Packed, Packer, SavedArray, SavedKind};
#[doc(hidden)]
pub use saved::{SavedState, unpack};
pub use saves::{NeedsGrad, Saves};
pub use stems::Stems;
#[cfg(test)]
pub(crate) use stored::names;
#[doc(hidden)]
pub use stored::ready;
pub(crate) use stored::{
    StoredLoops, StoredOp, StoredPass, StoredRows, read_op, stored_op, stored_pass, stored_rows, write_op,
};
#[doc(hidden)]
pub use takers::{for_all, operand, takers};
pub use trace::Trace;
