//! What a tensor object of Python holds: its value, the memory that it may share, and its gradient.

pub mod accumulate;
pub mod capture;
pub mod classes;
pub mod conversion;
pub mod inference;
pub mod kept;
pub mod leaf;
pub mod slot;
pub mod stems;
pub mod storage;
pub mod transformed;
pub mod user_attributes;
pub mod var;
pub mod view;
