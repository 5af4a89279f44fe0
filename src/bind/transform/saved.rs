//! Compiled programs in files.

use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::inputs::laid_out;
use super::program::{Compiled, GradWrite, Input, Origin, Output};
use crate::array::Layout;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::OrRaise;
use crate::bind::python::gil::without_gil;
use crate::bind::value::var::{Value, Var};
use crate::error::{Error, Result, bail};
use crate::graph::Tensor;
use crate::memory;
use crate::program::file::{self, ProgramFile, Source};

/// `save` of a program that a file cannot hold.
macro_rules! refuse {
    ($($text:tt)*) => { bail!(Argument, "save", $($text)*) };
}

/// What a file holds, for Python: a program, the number of its results, its leaves (the number of an argument, or a
/// tensor), the results that have gradients, the tensors that the program keeps, and the text that Python keeps with it.
type Loaded<'py> = (Compiled, usize, Vec<LoadedLeaf<'py>>, Vec<usize>, Vec<Bound<'py, Var>>, String);

#[derive(IntoPyObject)]
enum LoadedLeaf<'py> {
    Argument(usize),
    State(Bound<'py, Var>),
}

/// A leaf: one of the arguments of the trace, or a tensor from outside.
#[derive(FromPyObject)]
enum Leaf<'py> {
    Argument(usize),
    Outside(Bound<'py, Var>),
}

impl Compiled {
    /// The first arguments of the trace are those of the function, and `outside` are the others.
    fn file(
        &self,
        py: Python<'_>,
        arguments: usize,
        outside: &[Bound<'_, Var>],
        leaves: &[Leaf<'_>],
        tracked: Vec<usize>,
        host: String,
    ) -> Result<ProgramFile> {
        let all = arguments.checked_add(outside.len());
        let is_one = |leaf: &Leaf<'_>| !matches!(leaf, Leaf::Argument(i) if *i >= self.same_memory.len());
        if all != Some(self.same_memory.len()) || !leaves.iter().all(is_one) {
            refuse!("the program has {} arguments", self.same_memory.len());
        }
        if !self.hosts.is_empty() {
            refuse!("the program asks Python for numbers, such as the step of an optimizer, in each run");
        }
        if self.slots.iter().any(|slot| !matches!(slot.written, GradWrite::Keep)) {
            refuse!(
                "the program writes to the .grad of a tensor: return the gradient instead, as func.grad does"
            );
        }
        if !self.shared.is_empty() {
            refuse!("arguments share memory: call the function with tensors that have memory of their own");
        }
        let (mut inputs, mut state, mut places) = (vec![], vec![], vec![]);
        for input in &self.inputs {
            let layout = Layout { dims: input.dims.clone(), strides: input.strides.clone(), offset: 0 };
            let source = match &input.source {
                Origin::Value(i) if *i < arguments && !layout.is_contiguous() => {
                    refuse!(
                        "an argument is a view whose elements do not lie in C order: give save the arguments, so that \
                         it makes a program for such that do"
                    )
                }
                Origin::Argument(i) | Origin::Value(i) | Origin::Given(i) if *i < arguments => {
                    Source::Argument(*i)
                }
                source => {
                    let (array, key) = match source {
                        Origin::Memory(place) => {
                            let Some(place) = place.upgrade() else {
                                refuse!("a tensor that the program reads from outside exists no more");
                            };
                            (place.read().array, place.key())
                        }
                        Origin::Argument(i) | Origin::Value(i) | Origin::Given(i) => {
                            let v = outside[*i - arguments].get();
                            (v.tensor().array, v.lock().shared().place_of_part().key())
                        }
                        Origin::Larger(_) => refuse!("arguments share memory"),
                        Origin::Grad(_) => {
                            refuse!(
                                "the program reads the .grad of a tensor: give it the gradient as an argument"
                            )
                        }
                    };
                    let Some(array) =
                        (!array.is_sealed()).then(|| laid_out(&array, input)).transpose()?.flatten()
                    else {
                        refuse!(
                            "a tensor that the program reads from outside has another shape now: call the function again"
                        );
                    };
                    places.push(key);
                    state.push(array);
                    Source::State(state.len() - 1)
                }
            };
            inputs.push(file::Input { source, tracked: input.tracked, written: input.written });
        }
        let state_of = |v: &Var| {
            let key = v.lock().shared().place_of_part().key();
            places.iter().position(|&k| k == key)
        };
        let mut outputs = vec![];
        for output in &self.outputs {
            let v = match output {
                Output::New(i, dialect) | Output::Expanded(i, _, _, dialect) => {
                    outputs.push(file::Output::New(*i, *dialect as u8));
                    continue;
                }
                Output::Argument(i) if *i < arguments => {
                    outputs.push(file::Output::Argument(*i));
                    continue;
                }
                Output::Argument(i) => outside[*i - arguments].get(),
                Output::ViewOfArgument(..)
                | Output::ViewOfNew(..)
                | Output::ViewOfEarlier(..)
                | Output::Again(_) => {
                    refuse!(
                        "it returns a view of an argument or of another result, or a result twice: return a clone()"
                    )
                }
                Output::Object(object) => object.bind(py).cast::<Var>().expect("a tensor from outside").get(),
            };
            let Some(i) = state_of(v) else {
                refuse!("it returns a tensor from outside that it does not read")
            };
            outputs.push(file::Output::State(i, v.dialect() as u8));
        }
        let mut found = vec![];
        for leaf in leaves {
            let v = match leaf {
                Leaf::Argument(i) if *i < arguments => {
                    found.push(Source::Argument(*i));
                    continue;
                }
                Leaf::Argument(i) => outside[*i - arguments].get(),
                Leaf::Outside(v) => v.get(),
            };
            let Some(i) = state_of(v) else { refuse!("a tensor that a gradient is computed by is not read") };
            found.push(Source::State(i));
        }
        let (forward, backward) = (self.forward.clone(), self.backward.clone());
        let (saved_from, grads) = (self.saved_from, self.grads.clone());
        let leaves = found;
        Ok(ProgramFile {
            forward,
            backward,
            inputs,
            state,
            outputs,
            saved_from,
            grads,
            leaves,
            tracked,
            arguments,
            host,
        })
    }

    fn of_file<'py>(file: ProgramFile, py: Python<'py>) -> PyResult<Loaded<'py>> {
        let refused = || Box::new(Error::ProgramFile("it names a dialect that there is not".to_owned()));
        let dialect = |number: u8| Dialect::ALL.get(usize::from(number)).copied().ok_or_else(refused);
        let mut dialects = vec![Dialect::Native; file.state.len()];
        for output in &file.outputs {
            if let file::Output::State(i, number) = *output {
                dialects[i] = dialect(number).or_raise()?;
            }
        }
        let mut state = vec![];
        for (array, dialect) in file.state.into_iter().zip(dialects) {
            state.push(Var::object(py, Value::Own(Tensor::constant(array)), dialect)?);
        }
        let (mut inputs, mut is_leaf) = (vec![], vec![false; state.len()]);
        for (k, input) in file.inputs.iter().enumerate() {
            let source = match (input.source, input.written) {
                (Source::Argument(i), None) => Origin::Given(i),
                (Source::Argument(i), Some(_)) => Origin::Argument(i),
                (Source::State(i), _) => {
                    if input.tracked && !std::mem::replace(&mut is_leaf[i], true) {
                        Var::make_leaf(&state[i])?;
                    }
                    let place = state[i].get().lock().shared().place();
                    Origin::Memory(place.expect("it is no part of another tensor").downgrade())
                }
            };
            let (dtype, dims, strides) = file.forward.input(k);
            let (dims, strides) = (dims.into(), strides.into());
            inputs.push(Input {
                source,
                dtype,
                dims,
                strides,
                tracked: input.tracked,
                hooks: None,
                written: input.written,
            });
        }
        let mut outputs = vec![];
        for output in &file.outputs {
            outputs.push(match *output {
                file::Output::New(i, number) => Output::New(i, dialect(number).or_raise()?),
                file::Output::Argument(i) => Output::Argument(i),
                file::Output::State(i, _) => Output::Object(state[i].clone().into_any().unbind()),
            });
        }
        let compiled = Compiled {
            forward: file.forward,
            backward: file.backward,
            is_fresh: AtomicBool::new(false),
            draws: true,
            only_reads: false,
            inputs,
            hosts: vec![],
            slots: vec![],
            same_memory: (0..file.arguments).collect(),
            shared: vec![],
            outputs,
            saved_from: file.saved_from,
            grads: file.grads,
            becomes_leaf: vec![],
            stops_tracking: false,
        };
        let leaf = |source: &Source| match *source {
            Source::Argument(i) => LoadedLeaf::Argument(i),
            Source::State(i) => LoadedLeaf::State(state[i].clone()),
        };
        let leaves = file.leaves.iter().map(leaf).collect();
        Ok((compiled, file.outputs.len(), leaves, file.tracked, state, file.host))
    }
}

#[pymethods]
impl Compiled {
    /// The program as the bytes of a file. It gets so many arguments; those of the trace that follow are ``outside``. The
    /// text is one that Python keeps with it.
    fn save<'py>(
        &self,
        py: Python<'py>,
        arguments: usize,
        outside: Vec<Bound<'py, Var>>,
        leaves: Vec<Leaf<'py>>,
        tracked: Vec<usize>,
        host: String,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.file(py, arguments, &outside, &leaves, tracked, host).or_raise()?;
        let constants =
            std::iter::once(&self.forward).chain(&self.backward).map(|p| p.constant_bytes()).sum::<usize>();
        let state = file.state.iter().map(|x| x.len().saturating_mul(x.dtype().size())).sum::<usize>();
        // The bytes are copied when their list grows, when they get a header, and for Python.
        memory::ensure(constants.saturating_add(state).saturating_mul(4))
            .map_err(Box::<Error>::from)
            .or_raise()?;
        let bytes = without_gil(py, || file.write()).or_raise()?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// By argument: its dtype and shape, whether a gradient by it can be computed, and whether the program writes to it.
    fn parameters(&self) -> Vec<(&'static str, Vec<usize>, bool, bool)> {
        let mut found = vec![];
        for (i, _) in self.same_memory.iter().enumerate() {
            let of_argument = |input: &&Input| match input.source {
                Origin::Argument(k) | Origin::Value(k) | Origin::Given(k) | Origin::Larger(k) => k == i,
                _ => false,
            };
            if let Some(input) = self.inputs.iter().find(of_argument) {
                found.push((input.dtype.name(), input.dims.to_vec(), input.tracked, input.written.is_some()));
            }
        }
        found
    }
}

/// The program in the bytes of a file, the tensors that it keeps, and the text that Python kept with it.
#[pyfunction]
fn load_program<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Loaded<'py>> {
    // Values and steps take more memory than their bytes.
    memory::ensure(bytes.len().saturating_mul(2)).map_err(Box::<Error>::from).or_raise()?;
    Compiled::of_file(ProgramFile::read(bytes).or_raise()?, py)
}

/// The names of the dtypes of tensors, which do not depend on the dialect.
#[pyfunction]
fn dtype_names(tensors: Vec<Bound<'_, Var>>) -> Vec<&'static str> {
    tensors.iter().map(|x| x.get().look().dtype().name()).collect()
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(dtype_names, m)?)?;
    m.add_function(wrap_pyfunction!(load_program, m)?)
}
