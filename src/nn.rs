//! Models: values that hold parameters, their gradients, and layers.
//!
//! ```
//! use ferrograd::nn::{Linear, value_and_grad};
//! use ferrograd::optim::Adam;
//! use ferrograd::{DType, Tensor};
//!
//! let x = Tensor::new(&[0.0f32, 1.0, 2.0, 3.0], &[4, 1])?;
//! let y = (&x * 2.0) - 1.0;
//! let mut line = Linear::new(1, 1, DType::F32)?;
//! let mut adam = Adam::new(0.05);
//! let mut last = f64::INFINITY;
//! for _ in 0..500 {
//!     let (loss, gradients) = value_and_grad(&line, |line| (line.apply(&x)? - &y).square()?.mean_all())?;
//!     adam.step(&mut line, &gradients)?;
//!     last = loss.item()?;
//! }
//! assert!(last < 1e-3, "{last}");
//! # Ok::<(), Box<ferrograd::Error>>(())
//! ```

use crate::dtype::DType;
use crate::engine::grad;
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::contract::linear;
use crate::ops::create::{ones, zeros, zeros_like};
use crate::ops::index::take;
use crate::ops::nn::norm::layers::layer_norm;
use crate::ops::random::{randn, uniform};

/// A value that holds parameters. Tensors, lists, arrays and pairs are models; a struct is one once it says what its parts are:
///
/// ```
/// use ferrograd::Tensor;
/// use ferrograd::nn::{Linear, Model};
///
/// #[derive(Clone)]
/// struct Network {
///     layers: Vec<Linear>,
///     scale: Tensor,
/// }
///
/// impl Model for Network {
///     fn visit(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
///         self.layers.visit(f);
///         self.scale.visit(f);
///     }
/// }
/// ```
pub trait Model {
    /// Calls `f` with each parameter, in the same order every time.
    fn visit(&mut self, f: &mut dyn FnMut(&mut Tensor));

    /// The parameters, in the order of [`Model::visit`].
    fn parameters(&self) -> Vec<Tensor>
    where
        Self: Clone,
    {
        let mut found = vec![];
        self.clone().visit(&mut |parameter| found.push(parameter.clone()));
        found
    }
}

impl Model for Tensor {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        f(self);
    }
}

impl<M: Model> Model for Option<M> {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        self.iter_mut().for_each(|part| part.visit(f));
    }
}

impl<M: Model> Model for Vec<M> {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        self.iter_mut().for_each(|part| part.visit(f));
    }
}

impl<M: Model, const N: usize> Model for [M; N] {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        self.iter_mut().for_each(|part| part.visit(f));
    }
}

impl<A: Model, B: Model> Model for (A, B) {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        self.0.visit(f);
        self.1.visit(f);
    }
}

/// A loss, without a graph, and its gradient by each parameter, in the order of [`Model::visit`]. The gradient by a parameter on
/// which the loss does not depend is zero. `loss` gets a copy of the model whose parameters are the leaves of a new graph.
///
/// # Errors
/// What `loss` reports; a loss of more than one element.
pub fn value_and_grad<M: Model + Clone>(
    model: &M,
    loss: impl FnOnce(&M) -> Result<Tensor>,
) -> Result<(Tensor, Vec<Tensor>)> {
    let mut model = model.clone();
    model.visit(&mut |parameter| *parameter = parameter.leaf());
    let leaves = model.parameters();
    let value = loss(&model)?;
    let gradients = grad(&[&value], &leaves.iter().collect::<Vec<_>>(), false)?;
    let or_zero = |(g, leaf): (Option<Tensor>, &Tensor)| g.map_or_else(|| zeros_like(leaf, None), Ok);
    let gradients = gradients.into_iter().zip(&leaves).map(or_zero).collect::<Result<_>>()?;
    Ok((value.detach(), gradients))
}

/// `x W^T + b`, on the last axis of `x`.
#[derive(Clone, Debug)]
pub struct Linear {
    /// W, of shape `[out, in]`.
    pub weight: Tensor,
    /// b, of shape `[out]`.
    pub bias: Option<Tensor>,
}

impl Linear {
    /// A layer from `inputs` to `outputs` features. Its parameters are uniform within `1 / sqrt(inputs)` of zero, as PyTorch's.
    ///
    /// # Errors
    /// A dtype that is not floating; want of memory.
    pub fn new(inputs: usize, outputs: usize, dtype: DType) -> Result<Linear> {
        let bound = 1.0 / (inputs.max(1) as f64).sqrt();
        let draw = |shape: &[i64]| uniform((-bound).into(), bound.into(), Some(shape), Some(dtype));
        let (inputs, outputs) = (inputs as i64, outputs as i64);
        Ok(Linear { weight: draw(&[outputs, inputs])?, bias: Some(draw(&[outputs])?) })
    }

    /// The value at `x`.
    ///
    /// # Errors
    /// The last axis of `x` has another size than the layer's inputs; the dtypes differ.
    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        linear(x, &self.weight, self.bias.as_ref(), true)
    }
}

impl Model for Linear {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        self.weight.visit(f);
        self.bias.visit(f);
    }
}

/// Layer normalisation (J. L. Ba, J. R. Kiros, G. E. Hinton, 2016) over the last axis.
#[derive(Clone, Debug)]
pub struct LayerNorm {
    /// The factor of each feature.
    pub weight: Tensor,
    /// What is added to each feature.
    pub bias: Tensor,
    /// What is added to the variance.
    pub eps: f64,
}

impl LayerNorm {
    /// A layer of `features` features, which at first scales by one and adds zero.
    ///
    /// # Errors
    /// Want of memory.
    pub fn new(features: usize, dtype: DType) -> Result<LayerNorm> {
        let shape = [features as i64];
        Ok(LayerNorm { weight: ones(&shape, Some(dtype))?, bias: zeros(&shape, Some(dtype))?, eps: 1e-5 })
    }

    /// The value at `x`.
    ///
    /// # Errors
    /// The last axis of `x` has another size than the layer's features.
    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        layer_norm(x, &[self.weight.dims()[0] as i64], Some(&self.weight), Some(&self.bias), self.eps)
    }
}

impl Model for LayerNorm {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        self.weight.visit(f);
        self.bias.visit(f);
    }
}

/// A table of vectors, looked up by number.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// One row for each number.
    pub weight: Tensor,
}

impl Embedding {
    /// `count` vectors of `features` numbers, drawn from the standard normal distribution.
    ///
    /// # Errors
    /// A dtype that is not floating; want of memory.
    pub fn new(count: usize, features: usize, dtype: DType) -> Result<Embedding> {
        Ok(Embedding { weight: randn(&[count as i64, features as i64], Some(dtype))? })
    }

    /// The rows that `indices` name, along a new last axis.
    ///
    /// # Errors
    /// An index out of bounds; indices that are no integers.
    pub fn apply(&self, indices: &Tensor) -> Result<Tensor> {
        take(&self.weight, indices, Some(0))
    }
}

impl Model for Embedding {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        self.weight.visit(f);
    }
}
