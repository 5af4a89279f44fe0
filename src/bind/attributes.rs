//! What a tensor says of itself: shape, dtype, place, name; and the same values under another of these.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use numpy::PyArrayDescr;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};

use super::convert::{self, lift};
use super::dialect::Dialect;
use super::error::raise;
use super::var::Var;
use crate::graph::Tensor;
use crate::ops::{copy, movement};
use crate::shape::contiguous_strides;

/// The shape class of each dialect.
static SIZES: PyOnceLock<Py<PyTuple>> = PyOnceLock::new();
/// The device object of each dialect.
static DEVICES: PyOnceLock<Py<PyTuple>> = PyOnceLock::new();
static SIZE_METHOD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

pub fn shape_of<'py>(py: Python<'py>, dims: &[usize], dialect: Dialect) -> PyResult<Bound<'py, PyAny>> {
    let classes = SIZES.import(py, "ferrograd._tensor.shape", "SIZES")?;
    classes.get_borrowed_item(dialect as usize)?.call1((PyTuple::new(py, dims)?,))
}

impl Var {
    /// The value, with its edge where ops are being recorded, and the dialect.
    fn parts(&self) -> (Tensor, Dialect) {
        (self.operand(), self.dialect())
    }

    /// A count in the dialect's manner: Paddle's counts are 0-d tensors.
    fn count<'py>(&self, py: Python<'py>, n: usize, wide: bool) -> PyResult<Bound<'py, PyAny>> {
        let dialect = self.dialect();
        if !dialect.counts_are_tensors() {
            return Ok(n.into_pyobject(py)?.into_any());
        }
        let t = if wide { Tensor::scalar(n as i64) } else { Tensor::scalar(n as i32) };
        Ok(Var::result(py, t, dialect)?.into_any())
    }
}

#[pymethods]
impl Var {
    /// The sizes of the axes: a tuple that also equals a list of the same numbers.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (dims, dialect) = (self.tensor().dims().to_vec(), self.dialect());
        shape_of(py, &dims, dialect)
    }

    /// The NumPy dtype of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        convert::descr(py, self.tensor().dtype())
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor().rank()
    }

    /// The number of axes.
    fn dim(&self) -> usize {
        self.ndim()
    }

    /// The number of axes.
    fn rank<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.count(py, self.ndim(), false)
    }

    /// The number of elements. For tensors of the torch dialect a method: `size()` is the shape, `size(i)` one of its
    /// numbers.
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (dims, dialect) = (self.tensor().dims().to_vec(), self.dialect());
        if dialect.size_is_a_method() {
            let method = SIZE_METHOD.import(py, "ferrograd._tensor.shape", "SizeMethod")?;
            return method.call1((shape_of(py, &dims, dialect)?,));
        }
        Ok(crate::shape::len(&dims).into_pyobject(py)?.into_any())
    }

    /// The number of elements.
    fn numel<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let n = crate::shape::len(self.tensor().dims());
        self.count(py, n, true)
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.tensor().dtype().size()
    }

    /// Bytes of one element.
    fn element_size(&self) -> usize {
        self.itemsize()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        let t = self.tensor();
        crate::shape::len(t.dims()).saturating_mul(t.dtype().size())
    }

    /// How many elements lie between neighbours along each axis.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let t = self.tensor();
        PyTuple::new(py, &t.array.strides()[t.levels.len()..])
    }

    /// How many elements lie between neighbours along each axis, or along one.
    #[pyo3(signature = (dim=None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        let strides = self.strides(py)?;
        match dim {
            None => Ok(strides.into_any()),
            Some(d) => strides.get_item(lift(crate::shape::axis("stride", d, strides.len()))?),
        }
    }

    /// Whether the elements lie in C order without gaps.
    fn is_contiguous(&self) -> bool {
        let t = self.tensor();
        t.array.is_contiguous() || t.array.strides() == contiguous_strides(t.array.dims())
    }

    /// Where the elements live: always the CPU.
    #[getter]
    fn device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        DEVICES.import(py, "ferrograd._tensor.device", "DEVICES")?.get_item(self.dialect() as usize)
    }

    /// Where the elements live: always the CPU.
    #[getter]
    fn place<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        DEVICES.import(py, "ferrograd._tensor.device", "DEVICES")?.get_item(Dialect::Paddle as usize)
    }

    /// The name given to the tensor, or None. A tensor of the Paddle dialect makes one up when asked.
    #[getter]
    fn name(&self, py: Python<'_>) -> Option<Py<PyString>> {
        let mut state = self.lock();
        if self.dialect().names_itself() {
            state.extras().name.get_or_insert_with(|| fresh_name(py));
        }
        state.extras.as_ref()?.name.as_ref().map(|name| name.clone_ref(py))
    }

    #[setter]
    fn set_name(&self, py: Python<'_>, name: Option<&str>) {
        self.lock().extras().name = name.map(|name| PyString::new(py, name).unbind());
    }

    /// The axes in reversed order.
    #[getter(T)]
    fn reversed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Var>> {
        Var::seen(slf, |t| movement::transpose(t, None))
    }

    /// The last two axes swapped.
    #[getter(mT)]
    fn matrix_transposed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Var>> {
        Var::seen(slf, movement::matrix_transpose)
    }

    /// The same values in C order: this tensor if they are so already.
    fn contiguous<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Var>> {
        if slf.get().is_contiguous() {
            return Ok(slf.clone());
        }
        let (t, dialect) = slf.get().parts();
        Var::result(slf.py(), lift(copy::clone(&t))?, dialect)
    }

    /// The same tensor: it is on the CPU.
    fn cpu<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    /// The same tensor: the only device is the CPU.
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device<'py>(
        slf: &Bound<'py, Self>,
        device: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        if stream.is_some() {
            return Err(PyValueError::new_err("to_device: the CPU has no streams"));
        }
        on_cpu("to_device", device)?;
        Ok(slf.clone())
    }

    /// The tensor with another dtype (`to(dtype)`), another's dtype (`to(tensor)`), or on a device (`to('cpu')`).
    #[pyo3(signature = (*args, **kwargs))]
    fn to<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Var>> {
        let py = slf.py();
        let (mut dtype, mut fresh) = (None, false);
        let own = slf.get().dialect();
        let mut take = |o: &Bound<'py, PyAny>| -> PyResult<()> {
            if o.is_none() || o.is_instance_of::<PyBool>() {
                return Ok(());
            }
            if let Ok(v) = o.cast::<Var>() {
                dtype = Some(v.get().tensor().dtype());
            } else if let Some(d) = convert::dtype_in(o, own)? {
                dtype = Some(d);
            } else {
                on_cpu("to", o)?;
            }
            Ok(())
        };
        for o in args.iter() {
            take(&o)?;
        }
        for (name, o) in kwargs.iter().flat_map(|k| k.iter()) {
            match name.extract::<String>()?.as_str() {
                "dtype" | "device" | "place" | "other" => take(&o)?,
                "copy" => fresh = o.is_truthy()?,
                "non_blocking" | "blocking" => {}
                name => {
                    let text = format!("to() got an unexpected keyword argument '{name}'");
                    return Err(PyTypeError::new_err(text));
                }
            }
        }
        let (t, dialect) = slf.get().parts();
        match dtype.filter(|&d| d != t.dtype()) {
            Some(d) => Var::result(py, lift(movement::cast(&t, d))?, dialect),
            None if fresh => Var::result(py, lift(copy::clone(&t))?, dialect),
            None => Ok(slf.clone()),
        }
    }
}

/// Accepts whatever means the CPU: `"cpu"`, `"cpu:0"`, `Place(cpu)`, `device('cpu')`.
pub fn on_cpu(op: &str, device: &Bound<'_, PyAny>) -> PyResult<()> {
    let text = device.str()?;
    let text = text.to_string_lossy();
    let text = text.strip_prefix("Place(").and_then(|t| t.strip_suffix(")")).unwrap_or(&text);
    if matches!(text, "cpu" | "cpu:0") {
        return Ok(());
    }
    let text = format!("{op}: {text} is neither a dtype nor a device that is here; the only device is 'cpu'");
    Err(raise(device.py(), "ArgumentError", text))
}

/// A name that no tensor has had.
fn fresh_name(py: Python<'_>) -> Py<PyString> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    PyString::new(py, &format!("generated_tensor_{}", NEXT.fetch_add(1, Relaxed))).unbind()
}
