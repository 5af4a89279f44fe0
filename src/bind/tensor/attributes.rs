//! The attributes of a tensor, such as shape, dtype, device and name, and conversions between them.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PySequence, PyString, PyTuple};

use crate::bind::call::formats;
use crate::bind::convert::device::on_cpu;
use crate::bind::convert::numpy::{dtype_in, dtype_object};
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::facade;
use crate::bind::python::gil::{ask_in_turn, listening};
use crate::bind::value::var::{Value, Var};
use crate::graph::Tensor;
use crate::ops::pointwise::complex::complex;
use crate::ops::{copy, movement};
use crate::shape::{Strides, contiguous_strides};

impl Var {
    /// The value as an operand, and the dialect.
    fn parts(&self) -> (Tensor, Dialect) {
        (self.operand(), self.dialect())
    }

    /// The strides of this tensor, whose value is given, without hidden axes. Where an op has left the result of torch's in another
    /// order than it says, the elements are copied to C order once somebody else sees the memory.
    fn strides_of(&self, t: &Tensor) -> Strides {
        if self.dialect() != Dialect::Torch || t.array.is_contiguous() || t.array.is_sealed() {
            return t.array.strides()[t.levels.len()..].into();
        }
        match &self.lock().value {
            Value::Own(_) => contiguous_strides(t.dims()),
            Value::Shared(p) => p.layout.strides.clone(),
        }
    }

    /// Writes complex numbers with these parts to a tensor.
    fn set_parts(slf: &Bound<'_, Var>, re: &Bound<'_, Var>, im: &Bound<'_, Var>) -> PyResult<()> {
        let (t, dialect) = slf.get().parts();
        if !t.dtype().is_complex() {
            let text = format!("imag: a tensor of dtype {} has no imaginary parts to write to", t.dtype());
            return Err(raise(slf.py(), "DtypeError", text));
        }
        let z = complex((&re.get().operand()).into(), (&im.get().operand()).into()).or_raise()?;
        slf.call_method1("copy_", (Var::result(slf.py(), z, dialect)?,))?;
        Ok(())
    }

    /// A count as the dialect gives it: Paddle's counts are 0-d tensors, of int64 if `wide` and of int32 otherwise.
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
        let (dims, dialect) = (self.look().dims().to_vec(), self.dialect());
        facade::shape(py, &dims, dialect)
    }

    /// The dtype of the elements: natively NumPy's, in the other dialects an object of theirs that equals it.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dtype_object(py, self.look().dtype(), self.dialect())
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.look().rank()
    }

    /// The number of axes.
    fn dim(&self) -> usize {
        self.ndim()
    }

    /// The number of axes.
    fn rank<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.count(py, self.ndim(), false)
    }

    /// The number of elements. In the torch dialect it is a method: `size()` is the shape, `size(i)` one of its
    /// numbers.
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (dims, dialect) = (self.look().dims().to_vec(), self.dialect());
        if dialect.size_is_a_method() {
            let method = facade::SIZE_METHOD.get(py)?;
            return method.call1((facade::shape(py, &dims, dialect)?,));
        }
        Ok(crate::shape::len(&dims).into_pyobject(py)?.into_any())
    }

    /// The number of elements.
    fn numel<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let n = crate::shape::len(self.look().dims());
        self.count(py, n, true)
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.look().dtype().size()
    }

    /// Bytes of one element.
    fn element_size(&self) -> usize {
        self.itemsize()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        let t = self.look();
        crate::shape::len(t.dims()).saturating_mul(t.dtype().size())
    }

    /// For each axis: how many elements of the memory lie between neighbours along it.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PySequence>> {
        let t = self.look();
        let strides = &self.strides_of(&t)[..];
        // Paddle's are a list.
        Ok(if self.dialect() == Dialect::Paddle {
            PyList::new(py, strides)?.into_sequence()
        } else {
            PyTuple::new(py, strides)?.into_sequence()
        })
    }

    /// For each axis, or for one: how many elements of the memory lie between neighbours along it.
    #[pyo3(signature = (dim=None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        let strides = self.strides(py)?;
        match dim {
            None => Ok(strides.into_any()),
            Some(d) => strides.get_item(crate::shape::axis("stride", d, strides.len()?).or_raise()?),
        }
    }

    /// Whether the elements lie in C order without gaps.
    fn is_contiguous(&self) -> bool {
        let t = self.look();
        t.array.is_contiguous() || self.strides_of(&t) == contiguous_strides(t.dims())
    }

    /// The device of the elements, which is always the CPU.
    #[getter]
    fn device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        facade::device(py, self.dialect())
    }

    /// The device of the elements, which is always the CPU.
    #[getter]
    fn place<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        facade::device(py, Dialect::Paddle)
    }

    /// The name given to the tensor, or None. A tensor of the Paddle dialect gets one when it is asked for.
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

    /// The real parts of complex numbers; a real tensor itself. Writes to the result are not seen in the tensor; what
    /// is assigned is written to the tensor.
    #[getter]
    fn real<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Var>> {
        if !slf.get().look().dtype().is_complex() {
            return Ok(slf.clone());
        }
        let (t, dialect) = slf.get().parts();
        Var::result(slf.py(), movement::real(&t).or_raise()?, dialect)
    }

    #[setter]
    fn set_real(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let re = Var::real(slf)?;
        re.call_method1("copy_", (value,))?;
        if re.is(slf) { Ok(()) } else { Var::set_parts(slf, &re, &Var::imag(slf)?) }
    }

    /// The imaginary parts of complex numbers; zeros for a real tensor, or (torch) an error. Writes to the result are not seen in the tensor;
    /// what is assigned is written to a complex tensor.
    #[getter]
    fn imag<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Var>> {
        let (t, dialect) = slf.get().parts();
        if dialect.refuses_imag_of_reals() && !t.dtype().is_complex() {
            let text = "imag is not implemented for tensors with non-complex dtypes.";
            return Err(raise(slf.py(), "DtypeError", text.to_owned()));
        }
        Var::result(slf.py(), movement::imag(&t).or_raise()?, dialect)
    }

    #[setter]
    fn set_imag(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let im = Var::imag(slf)?;
        im.call_method1("copy_", (value,))?;
        Var::set_parts(slf, &Var::real(slf)?, &im)
    }

    /// The tensor with its axes in reversed order.
    #[getter(T)]
    fn reversed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Var>> {
        Var::view_or_result(slf, |t| movement::transpose(t, None))
    }

    /// The tensor with its last two axes swapped.
    #[getter(mT)]
    fn matrix_transposed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Var>> {
        Var::view_or_result(slf, movement::matrix_transpose)
    }

    /// The same values in C order: this tensor itself if they are already in that order.
    #[pyo3(signature = (memory_format = None))]
    fn contiguous<'py>(
        slf: &Bound<'py, Self>,
        memory_format: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Var>> {
        // The order is C's, whatever torch's argument says.
        let _ = memory_format;
        if slf.get().is_contiguous() {
            return Ok(slf.clone());
        }
        let (t, dialect) = slf.get().parts();
        Var::result(slf.py(), listening(ask_in_turn, || copy::copy(&t)).or_raise()?, dialect)
    }

    /// The tensor itself: it is on the CPU.
    fn cpu<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    /// The tensor itself: the CPU is the only device.
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

    /// The tensor with another dtype (`to(dtype)`), with the dtype of another tensor (`to(tensor)`), or on a device
    /// (`to('cpu')`).
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
                dtype = Some(v.get().look().dtype());
            } else if let Some(d) = dtype_in(o, own)? {
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
                "non_blocking" | "blocking" | "memory_format" => {}
                name => {
                    let text = format!("to() got an unexpected keyword argument '{name}'");
                    return Err(PyTypeError::new_err(text));
                }
            }
        }
        let (t, dialect) = slf.get().parts();
        let dtype = dtype.filter(|&d| d != t.dtype());
        if dtype.is_none() && !fresh {
            return Ok(slf.clone());
        }
        let made = listening(ask_in_turn, || {
            let made = match dtype {
                Some(d) if dialect.tracks_integers() => movement::tracked_cast(&t, d)?,
                Some(d) => movement::cast(&t, d)?,
                None => copy::copy(&t)?,
            };
            let keeps = dialect == Dialect::Torch && !t.array.is_contiguous() && t.levels.is_empty();
            if keeps { formats::laid_out_like(made, &t.array.layout()) } else { Ok(made) }
        });
        Var::laid_out(py, None, made.or_raise()?, dialect)
    }
}

/// A new name, which no other tensor of this process gets.
fn fresh_name(py: Python<'_>) -> Py<PyString> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    PyString::new(py, &format!("generated_tensor_{}", NEXT.fetch_add(1, Relaxed))).unbind()
}
