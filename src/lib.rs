//! Automatic differentiation to any order, forward and reverse, of programs that compute with n-dimensional arrays.
//!
//! A [`Tensor`] is an immutable array that may be part of a graph. [`Tensor::leaf`] begins a graph, ops record
//! themselves in it, and [`grad`] and [`backward`] walk it backwards. A gradient is made of ops too, so it can be
//! differentiated again.
//!
//! ```
//! use ferrograd::{Result, Tensor, grad};
//!
//! fn main() -> Result<()> {
//!     let x = Tensor::new(&[0.0, 1.0, 2.0], &[3])?.leaf();
//!     let y = (x.sin()? * &x).sum_all()?;
//!
//!     let dy = grad(&[&y], &[&x], true)?[0].clone().expect("y depends on x");
//!     let ddy = grad(&[&dy], &[&x], false)?[0].clone().expect("dy depends on x");
//!
//!     let expected = [0.0f64, 1.0, 2.0].map(|x| 2.0 * x.cos() - x * x.sin());
//!     for (got, expected) in ddy.to_vec::<f64>()?.into_iter().zip(expected) {
//!         assert!((got - expected).abs() < 1e-12);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # What is where
//!
//! | to do this | use |
//! | --- | --- |
//! | make a tensor | [`Tensor::new`], [`Tensor::scalar`], `Tensor::from` for arrays of [`ndarray`], [`ops::create`], [`ops::random`] |
//! | read its numbers | [`Tensor::item`], [`Tensor::to_vec`], [`Tensor::to_vec2`], `{}`; without a copy [`Tensor::array`], then [`Array::view`] |
//! | compute | the methods of [`Tensor`], the operators `+ - * /`, and the functions in [`ops`] |
//! | differentiate | [`grad`] for chosen tensors, [`backward`] for all leaves, [`push`] for forward mode, [`engine::taylor()`] for Taylor series |
//! | compute without recording | [`no_grad`], [`Tensor::detach`] |
//! | apply a function to a batch | [`transform::vmap()`] |
//! | train a model | [`nn`] for models, layers and their gradients, [`optim`] for optimizers |
//! | compute the same ops again and again, save them | [`Program::compile`], [`Program::save`], [`Program::load`] |
//! | keep tensors in files | `io`, with the feature `safetensors` |
//! | define an op with rules of its own | [`graph::Op`] and [`graph::apply()`] |
//! | set the number of threads | [`par::set_threads`] |
//!
//! # Errors
//!
//! Functions and methods return a [`Result`] whose error says which op refused what. The operators have no place for an
//! error: they panic with its text, for instance where two shapes do not broadcast. `x.add(&y)?` is the addition that
//! returns it.
//!
//! # Threads and bits
//!
//! Tensors are `Send` and `Sync`. Kernels and backward passes use several threads where it pays, and every result has
//! the same bits whatever their number.

pub mod engine;
pub mod graph;
#[cfg(feature = "safetensors")]
pub mod io;
pub mod nn;
pub mod ops;
pub mod optim;
pub mod program;
pub mod transform;

pub use ferrograd_base::{array, dtype, error, ndarray, shape};
use ferrograd_base::{fork, host, kernel, memory, stored, sync};
use ferrograd_linalg as linalg;

pub use array::Array;
pub use dtype::DType;
pub use engine::{Gradients, backward, grad, push};
pub use error::{Error, Result};
pub use graph::{Tensor, no_grad};
pub use kernel::par;
pub use memory::WithReserve;
pub use program::SavedProgram as Program;

/// The example in the file that a reader of the crate sees first.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
