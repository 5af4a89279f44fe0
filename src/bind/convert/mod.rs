//! Python objects as numbers, arrays, tensors and arguments.

pub mod argument;
pub mod array;
pub mod device;
pub mod dlpack;
pub mod index;
pub mod list;
pub mod number;
pub mod numpy;
pub mod tensor;
