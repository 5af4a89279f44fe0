//! Ops called from Python: functions, methods, operators, subscripts and writes in place.

pub mod arguments;
pub mod callable;
pub mod formats;
pub mod indexing;
pub mod inplace;
pub mod invoke;
pub mod operands;
pub mod operators;
pub mod out;
pub mod overrides;
pub mod parameters;
pub mod register;
pub mod shims;
pub mod work;
