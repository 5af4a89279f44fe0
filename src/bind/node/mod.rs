//! Nodes and edges of the graph as Python objects.

pub mod call;
pub mod object;
pub mod observer;
pub mod saved;
