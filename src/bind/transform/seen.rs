//! Programs as graphs, for people.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::program::{Compiled, Origin};
use crate::bind::convert::numpy::dtype_object;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::site;
use crate::program::Source;

#[pymethods]
impl Compiled {
    /// The program, or with ``gradients`` that of its gradients, as a graph: the columns are those of
    /// ``ferrograd._graph.nodes.Record``. None if there is no such program.
    #[pyo3(signature = (gradients=false))]
    fn record<'py>(&self, py: Python<'py>, gradients: bool) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let program = if gradients { self.backward.as_ref() } else { Some(&self.forward) };
        let Some(program) = program else { return Ok(None) };
        let drawn = program.drawn(if gradients { usize::MAX } else { self.saved_from });
        let (mut ops, mut inputs, mut values, mut sites) = (vec![], vec![], vec![], vec![]);
        let places = site::places(py, drawn.nodes.iter().map(|node| node.site))?;
        let names = PyDict::new(py);
        for (i, node) in drawn.nodes.iter().enumerate() {
            ops.push(node.op);
            inputs.push(PyTuple::new(py, node.ins.iter().map(|&(at, out)| Some((at, out))))?);
            let outs = node.outs.iter().map(|(dtype, dims)| {
                let shape = PyTuple::new(py, dims.as_slice())?.into_any();
                let none = PyTuple::empty(py).into_any();
                PyTuple::new(py, [shape, dtype_object(py, *dtype, Dialect::Native)?, none])
            });
            values.push(PyTuple::new(py, outs.collect::<PyResult<Vec<_>>>()?)?);
            sites.push(node.site.0);
            let name = match node.source {
                Source::Input(k) if gradients => Some(format!("saved value {k}")),
                Source::Input(k) => self.inputs.get(k).map(|input| match &input.source {
                    Origin::Argument(i) | Origin::Given(i) | Origin::Larger(i) | Origin::Value(i) => {
                        format!("tensor {i} of the arguments")
                    }
                    Origin::Memory(_) => "from outside".to_owned(),
                    Origin::Grad(_) => "a .grad".to_owned(),
                }),
                Source::Constant => Some("constant".to_owned()),
                Source::Op => None,
            };
            if let Some(name) = name {
                names.set_item((i, 0), name)?;
            }
        }
        let n = ops.len();
        let columns = [
            PyList::new(py, &drawn.roots)?.into_any(),
            PyList::new(py, &ops)?.into_any(),
            PyList::new(py, &ops)?.into_any(),
            PyList::new(py, inputs)?.into_any(),
            PyList::new(py, values)?.into_any(),
            PyList::new(py, vec![0usize; n])?.into_any(),
            PyList::new(py, vec!["live"; n])?.into_any(),
            PyList::new(py, sites)?.into_any(),
            PyList::new(py, 0..n)?.into_any(),
            places.into_any(),
            names.into_any(),
            0usize.into_pyobject(py)?.into_any(),
        ];
        PyTuple::new(py, columns).map(Some)
    }
}
