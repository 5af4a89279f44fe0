//! Elements moved, repeated or given another type; nothing is computed.

pub(super) mod axes;
mod broadcast;
mod cast;
pub(super) mod diagonal;
mod join;
mod pad;
pub(super) mod parts;
pub(super) mod region;
mod repeat;
mod shapes;
mod split;
pub(super) mod strided;

pub use axes::{matrix_transpose, moveaxis, permute_dims, swapaxes, transpose};
pub(super) use broadcast::SUM;
pub use broadcast::{broadcast_to, expand, meshgrid, sum_to};
pub use cast::cast;
pub use diagonal::{diagonal, tril, triu};
pub(super) use diagonal::{diagonal_of, on_diagonal};
pub use join::{concat, stack};
pub use pad::{flip, pad, roll};
pub use parts::{conj, imag, real, view_as_complex, view_as_real};
pub use repeat::tile;
pub use shapes::{expand_dims, flatten, reshape, reshape_to, squeeze};
pub use split::{split, split_sizes, unbind};
pub use strided::strided;
