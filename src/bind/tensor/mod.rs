//! The methods and attributes of the tensor class that are no ops.

pub mod attributes;
pub mod buffer;
pub mod create;
pub mod dlpack;
pub mod interop;
pub mod step;
pub mod text;
pub mod view;
