//! Making and asking tensors.

use super::detach_reason::DetachReason;
use super::levels::Levels;
use super::meta::Meta;
use super::record::{Edge, Node, Owner, Tensor};
use super::saved::SavedArray;
use super::site::Site;
use crate::array::Array;
use crate::dtype::{DType, Element};
use crate::error::{Result, bail};
use crate::shape::{self, Dims};

impl Tensor {
    /// A constant: a tensor without edge and levels.
    #[inline]
    pub fn constant(array: Array) -> Tensor {
        Tensor::made(array, None, Levels::default())
    }

    /// A value with its edge.
    #[inline]
    pub fn made(array: Array, edge: Option<Edge>, levels: Levels) -> Tensor {
        Tensor { array, edge, levels, detach_reason: DetachReason::default() }
    }

    /// Zeros in the shape of a value, with its hidden axes.
    #[doc(hidden)]
    pub fn zeros_of(meta: &Meta) -> Tensor {
        let batch_sizes = meta.levels.as_slice().iter().map(|l| l.batch_size);
        let dims: Dims = batch_sizes.chain(meta.dims.iter().copied()).collect();
        Tensor::made(Array::full_of(meta.dtype, &dims, 0.0), None, meta.levels.clone())
    }

    /// A constant with these elements in C order.
    ///
    /// ```
    /// let x = ferrograd::Tensor::new(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert_eq!(x.sum(Some(&[0]), false, None)?.array().to_vec::<f64>(), [4.0, 6.0]);
    /// # Ok::<(), Box<ferrograd::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where `data` does not have as many elements as the shape; for want of memory.
    pub fn new<T: Element>(data: &[T], dims: &[usize]) -> Result<Tensor> {
        if shape::checked_len(dims) != Some(data.len()) {
            bail!(Shape, "Tensor::new", "{} elements do not fill the shape {dims:?}", data.len());
        }
        Ok(Tensor::constant(Array::from_slice(data, dims)?))
    }

    /// A constant of rank 0.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        Tensor::constant(Array::scalar(value))
    }

    /// A constant of rank 0 in a dtype given at run time.
    pub fn scalar_of(dtype: DType, value: f64) -> Tensor {
        Tensor::constant(Array::full_of(dtype, &[], value))
    }

    /// A saved value with its edge.
    #[inline]
    #[doc(hidden)]
    pub fn of_saved(saved: &SavedArray, edge: Option<Edge>) -> Tensor {
        Tensor::made(saved.array(), edge, saved.levels())
    }

    /// The same value as the start of a new graph: gradients stop here and can be asked for.
    pub fn leaf(&self) -> Tensor {
        self.leaf_of(None)
    }

    /// [`Tensor::leaf`] with an owner, which the node does not keep alive.
    pub fn leaf_of(&self, owner: Option<Owner>) -> Tensor {
        Tensor { edge: Some(Edge { node: Node::leaf(self, owner), out: 0 }), ..self.clone() }
    }

    /// The same value without its edge.
    pub fn detach(&self) -> Tensor {
        let detach_reason = match self.edge {
            Some(_) => DetachReason::by_function(Site::default()),
            None => self.detach_reason,
        };
        Tensor { edge: None, detach_reason, ..self.clone() }
    }

    /// The shape without the hidden axes of the levels, as an op sees it.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.array.dims()[self.levels.len()..]
    }

    /// The value. Inside `vmap` it begins with one hidden axis for each of [`Tensor::levels`].
    #[inline]
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// The node and output that computed the tensor; none where no gradient flows into it.
    #[inline]
    pub fn edge(&self) -> Option<&Edge> {
        self.edge.as_ref()
    }

    /// The vmap levels that the tensor has a hidden axis for.
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    #[inline]
    pub fn rank(&self) -> usize {
        self.dims().len()
    }

    #[inline]
    pub fn dtype(&self) -> DType {
        self.array.dtype()
    }

    /// Shape, dtype and levels.
    pub fn meta(&self) -> Meta {
        Meta::of(&self.array, &self.levels)
    }

    /// Whether gradients can flow into this tensor.
    #[inline]
    pub fn is_tracked(&self) -> bool {
        self.edge.is_some()
    }

    /// The first known reason why one of these tensors is not tracked.
    #[doc(hidden)]
    pub fn detach_reason_of(tensors: &[&Tensor]) -> DetachReason {
        let reasons = tensors.iter().filter(|t| t.edge.is_none()).map(|t| t.detach_reason);
        reasons.into_iter().find(|r| r.is_known()).unwrap_or_default()
    }
}

/// A constant with the elements of an array, such as one of ndarray's.
///
/// # Panics
/// If there is no memory for a copy of the elements.
impl<A: Into<Array>> From<A> for Tensor {
    fn from(array: A) -> Tensor {
        Tensor::constant(array.into())
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}{}", self.array, if self.is_tracked() { ", tracked" } else { "" })
    }
}
