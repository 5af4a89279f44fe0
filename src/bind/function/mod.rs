//! Functions that Python defines with a gradient of their own.

pub mod call;
pub mod op;
