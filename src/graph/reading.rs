//! The numbers of tensors, for users of Rust.

use std::fmt;

use super::record::Tensor;
use crate::array::Item;
use crate::dtype::{Element, dispatch};
use crate::error::{Result, bail};

impl Tensor {
    /// The number in a tensor of one element, whatever its dtype. Of a bool, `true` is 1.
    ///
    /// ```
    /// let x = ferrograd::Tensor::new(&[1.0f32, 2.0], &[2])?;
    /// assert_eq!(x.sum_all()?.item()?, 3.0);
    /// # Ok::<(), Box<ferrograd::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is more than one element, or none; it is complex; `vmap` runs, where it is one number for each example.
    pub fn item(&self) -> Result<f64> {
        self.outside_of_vmap("item")?;
        if self.array.len() != 1 {
            bail!(Shape, "item", "the tensor of shape {:?} has {} elements", self.dims(), self.array.len());
        }
        match self.array.item() {
            Item::Complex(z) => bail!(Dtype, "item", "{z} is complex: read it with to_vec"),
            number => Ok(number.to_f64().expect("a real number")),
        }
    }

    /// The elements in C order.
    ///
    /// ```
    /// let x = ferrograd::Tensor::new(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert_eq!(x.square()?.to_vec::<f64>()?, [1.0, 4.0, 9.0, 16.0]);
    /// # Ok::<(), Box<ferrograd::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The elements are of another type; `vmap` runs.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.outside_of_vmap("to_vec")?;
        if T::DTYPE != self.dtype() {
            bail!(Dtype, "to_vec", "the tensor is {}, not {}", self.dtype(), T::DTYPE);
        }
        Ok(self.array.to_vec())
    }

    /// The rows of a matrix.
    ///
    /// ```
    /// let x = ferrograd::Tensor::new(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert_eq!(x.to_vec2::<f64>()?, [[1.0, 2.0], [3.0, 4.0]]);
    /// # Ok::<(), Box<ferrograd::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The tensor has not two axes; the elements are of another type; `vmap` runs.
    pub fn to_vec2<T: Element>(&self) -> Result<Vec<Vec<T>>> {
        let &[rows, columns] = self.dims() else {
            bail!(Shape, "to_vec2", "a matrix has two axes, and {:?} is no shape of one", self.dims());
        };
        let elements = self.to_vec::<T>()?;
        Ok((0..rows).map(|i| elements[i * columns..(i + 1) * columns].to_vec()).collect())
    }

    fn outside_of_vmap(&self, name: &'static str) -> Result<()> {
        if !self.levels.is_empty() {
            bail!(
                Argument,
                name,
                "a tensor inside vmap has a number for each example: return it from the function"
            );
        }
        Ok(())
    }
}

/// The elements, nested as the axes are. Long axes are cut short, unless the format is the alternate one (`{:#}`).
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dispatch!(self.dtype(), all T => self.array.view::<T>().fmt(f))
    }
}
