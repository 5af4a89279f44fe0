//! Steps of optimizers, which change tensors in place.

use pyo3::prelude::*;

use crate::array::Array;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::value::var::{Value, Var};
use crate::dtype::{DType, Element, dispatch};
use crate::graph::Tensor;
use crate::kernel::optimizer::{Adam, Sgd, adam, sgd};
use crate::kernel::pointwise::half;

/// Tensors whose values are changed together. The values are taken out of the tensors, and the drop puts them back. Those
/// of a half dtype are copied in float32 instead, and [`TakenValues::finish`] writes them back.
struct TakenValues<'a, 'py> {
    vars: Vec<&'a Bound<'py, Var>>,
    arrays: Vec<Array>,
    /// Whether the arrays are copies in float32, which are not put back.
    copied: bool,
}

impl<'a, 'py> TakenValues<'a, 'py> {
    /// Takes the values out of tensors that have the shape and dtype of `g`. An array that others hold is copied first.
    fn new(op: &str, vars: Vec<&'a Bound<'py, Var>>, g: &Tensor) -> PyResult<TakenValues<'a, 'py>> {
        let py = vars[0].py();
        for (i, v) in vars.iter().enumerate() {
            let t = v.get().look();
            if t.dims() != g.dims() || t.dtype() != g.dtype() || !t.dtype().is_float() {
                let text = format!(
                    "{op}: a parameter, its gradient and what belongs to it have one shape and floating dtype, not \
                     {:?} {} and {:?} {}",
                    t.dims(),
                    t.dtype(),
                    g.dims(),
                    g.dtype()
                );
                return Err(raise(py, "ShapeError", text));
            }
            if !t.levels.is_empty() || !g.levels.is_empty() {
                return Err(raise(py, "VmapError", format!("{op}: inside vmap an optimizer takes no step")));
            }
            if vars[..i].iter().any(|other| other.is(*v)) {
                return Err(raise(py, "ArgumentError", format!("{op}: a tensor is given twice")));
            }
        }
        if g.dtype().is_half() {
            let wide = vars.iter().map(|v| half::widened(&v.get().tensor().array)?.packed());
            return Ok(TakenValues {
                arrays: wide.collect::<crate::error::Result<_>>().or_raise()?,
                vars,
                copied: true,
            });
        }
        let mut taken = TakenValues { vars, arrays: vec![], copied: false };
        for v in taken.vars.clone() {
            let mut state = v.get().lock();
            let array = match &mut state.value {
                Value::Own(t) => std::mem::replace(&mut t.array, Array::scalar(0.0)),
                Value::Shared(p) => p.read().0.array,
            };
            drop(state);
            taken.arrays.push(array);
        }
        for i in 0..taken.arrays.len() {
            if !taken.arrays[i].is_writable() {
                taken.arrays[i] = taken.arrays[i].packed().or_raise()?;
            }
        }
        Ok(taken)
    }

    /// Writes float32 values to tensors of a half dtype: all of them, or none if there is no memory.
    fn finish(mut self, dtype: DType) -> PyResult<()> {
        if self.copied {
            let narrow = self.arrays.iter().map(|a| half::narrowed(a, dtype));
            self.arrays = narrow.collect::<crate::error::Result<_>>().or_raise()?;
            self.copied = false;
        }
        Ok(())
    }
}

impl Drop for TakenValues<'_, '_> {
    fn drop(&mut self) {
        if self.copied {
            return;
        }
        for (v, array) in self.vars.iter().zip(self.arrays.drain(..)) {
            let old = v.get().lock().assign(&Tensor::constant(array), false);
            drop(old);
        }
    }
}

/// The elements of arrays that nobody else holds.
fn elements<T: Element>(arrays: &mut [Array]) -> impl Iterator<Item = &mut [T]> {
    arrays.iter_mut().map(|a| a.as_mut_slice::<T>().expect("taken arrays are writable"))
}

/// One step of gradient descent, in place. `buffer` is given if there is momentum.
#[pyfunction]
#[pyo3(signature = (p, g, buffer, rate, momentum, fresh, nesterov, decay))]
#[allow(clippy::too_many_arguments)]
fn sgd_step(
    p: &Bound<'_, Var>,
    g: &Bound<'_, Var>,
    buffer: Option<&Bound<'_, Var>>,
    rate: f64,
    momentum: f64,
    fresh: f64,
    nesterov: bool,
    decay: f64,
) -> PyResult<()> {
    let rule = Sgd { rate, momentum, fresh, nesterov, decay };
    let g = g.get().tensor().detach();
    let packed = half::widened(&g.array).or_raise()?.contiguous().or_raise()?;
    let mut taken = TakenValues::new("sgd", std::iter::once(p).chain(buffer).collect(), &g)?;
    dispatch!(packed.dtype(), float T => {
        let mut parts = elements::<T>(&mut taken.arrays);
        let p = parts.next().expect("the parameter");
        sgd(rule, p, packed.as_slice().expect("packed"), parts.next());
    }, else unreachable!("a floating dtype"));
    taken.finish(g.dtype())
}

/// One step of Adam, in place. `largest` is given for AMSGrad.
#[pyfunction]
#[pyo3(signature = (p, g, m, v, largest, speed, root, shrink, betas, epsilon, decay))]
#[allow(clippy::too_many_arguments)]
fn adam_step(
    p: &Bound<'_, Var>,
    g: &Bound<'_, Var>,
    m: &Bound<'_, Var>,
    v: &Bound<'_, Var>,
    largest: Option<&Bound<'_, Var>>,
    speed: f64,
    root: f64,
    shrink: f64,
    betas: (f64, f64),
    epsilon: f64,
    decay: f64,
) -> PyResult<()> {
    let rule = Adam { speed, root, shrink, betas, epsilon, decay };
    let g = g.get().tensor().detach();
    let packed = half::widened(&g.array).or_raise()?.contiguous().or_raise()?;
    let mut taken = TakenValues::new("adam", [p, m, v].into_iter().chain(largest).collect(), &g)?;
    dispatch!(packed.dtype(), float T => {
        let mut parts = elements::<T>(&mut taken.arrays);
        let mut next = || parts.next().expect("as many arrays as tensors");
        let (p, m, v) = (next(), next(), next());
        adam(rule, p, packed.as_slice().expect("packed"), m, v, parts.next());
    }, else unreachable!("a floating dtype"));
    taken.finish(g.dtype())
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(sgd_step, m)?)?;
    m.add_function(wrap_pyfunction!(adam_step, m)?)
}
