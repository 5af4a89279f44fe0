//! Programs from files, for users of Rust and C.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::file::{Output, ProgramFile, Source};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result, bail};
use crate::graph::Tensor;

/// A compiled function: one of Rust's, which [`SavedProgram::compile`] made, or one that Python saved with `save`. It computes
/// the bits of the function.
///
/// The arguments and results of one from Python are the tensors in the arguments and the result of the Python function, in their order. Tensors
/// that the function wrote to are a state, which each run goes on with. The results do not depend on the arguments as far as
/// gradients are concerned: to have a gradient, save the function that computes it.
///
/// ```no_run
/// use ferrograd::{Program, Tensor};
/// let step = Program::load("step.program")?;
/// let x = Tensor::new(&[1.0f32, 2.0], &[2])?;
/// let results = step.run(&[&x])?;
/// println!("{}", results[0]);
/// # Ok::<(), Box<ferrograd::Error>>(())
/// ```
pub struct SavedProgram {
    /// Without its state.
    pub(super) file: ProgramFile,
    pub(super) state: Mutex<Vec<Array>>,
    pub(super) writes: bool,
}

/// What is known of a tensor before there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorKind {
    pub dtype: DType,
    pub dims: Vec<usize>,
}

impl SavedProgram {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or is no program that this version of the library can run.
    pub fn load(path: impl AsRef<Path>) -> Result<SavedProgram> {
        let path = path.as_ref();
        let bytes = std::fs::read(path);
        let bytes = bytes.map_err(|e| Box::new(Error::ProgramFile(format!("{}: {e}", path.display()))))?;
        SavedProgram::from_bytes(&bytes)
    }

    /// The program in the bytes of a file.
    ///
    /// # Errors
    /// They are no program that this version of the library can run, or one that writes to its arguments.
    pub fn from_bytes(bytes: &[u8]) -> Result<SavedProgram> {
        let mut file = ProgramFile::read(bytes)?;
        let writes_to =
            |is: fn(&Source) -> bool| file.inputs.iter().any(|i| i.written.is_some() && is(&i.source));
        if writes_to(|source| matches!(source, Source::Argument(_))) {
            let what = "the program writes to its arguments, which only Python has tensors for";
            return Err(Box::new(Error::ProgramFile(what.to_owned())));
        }
        let writes = writes_to(|source| matches!(source, Source::State(_)));
        let state = Mutex::new(std::mem::take(&mut file.state));
        Ok(SavedProgram { file, state, writes })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, Vec<Array>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The arguments, in order.
    pub fn arguments(&self) -> Vec<TensorKind> {
        (0..self.file.arguments).map(|i| self.argument(i)).collect()
    }

    fn argument(&self, i: usize) -> TensorKind {
        let is_it = |source: Source| matches!(source, Source::Argument(k) if k == i);
        let k = self.file.inputs.iter().position(|input| is_it(input.source)).expect("each has an input");
        let (dtype, dims, _) = self.file.forward.input(k);
        TensorKind { dtype, dims: dims.to_vec() }
    }

    /// The results, in order.
    pub fn results(&self) -> Vec<TensorKind> {
        let state = self.state();
        let kind = |output: &Output| match *output {
            Output::New(i, _) => {
                let (dtype, dims) = self.file.forward.output(i);
                TensorKind { dtype, dims: dims.to_vec() }
            }
            Output::Argument(i) => self.argument(i),
            Output::State(i, _) => TensorKind { dtype: state[i].dtype(), dims: state[i].dims().to_vec() },
        };
        self.file.outputs.iter().map(kind).collect()
    }

    /// Computes the results.
    ///
    /// # Errors
    /// Arguments of other shapes or dtypes, what the ops refuse, and want of memory.
    pub fn run(&self, arguments: &[&Tensor]) -> Result<Vec<Tensor>> {
        const NAME: &str = "Program::run";
        if arguments.len() != self.file.arguments {
            bail!(Argument, NAME, "{} tensors are wanted, not {}", self.file.arguments, arguments.len());
        }
        let state = self.state();
        let mut inputs = vec![];
        for (k, input) in self.file.inputs.iter().enumerate() {
            inputs.push(match input.source {
                Source::State(i) => state[i].clone(),
                Source::Argument(i) => {
                    let (x, (dtype, dims, strides)) = (arguments[i], self.file.forward.input(k));
                    if x.dtype() != dtype || x.array.dims() != dims {
                        let given = x.array.dims();
                        bail!(Shape, NAME, "argument {i} is {dtype} {dims:?}, not {} {given:?}", x.dtype());
                    }
                    let Some(array) = x.array.with_strides(&strides.into())? else {
                        bail!(Argument, NAME, "argument {i} has memory that no other tensor can have");
                    };
                    array
                }
            });
        }
        // Runs that write to the state come one after the other.
        let mut kept = if self.writes {
            Some(state)
        } else {
            drop(state);
            None
        };
        let Some(found) = self.file.forward.run(&inputs)? else {
            bail!(
                Argument,
                NAME,
                "what is computed depends on numbers, and the file has the program for others"
            );
        };
        if let Some(state) = &mut kept {
            for input in &self.file.inputs {
                if let (Source::State(i), Some(k)) = (input.source, input.written) {
                    state[i] = found[k].clone();
                }
            }
        }
        let state = match kept {
            Some(state) => state,
            None => self.state(),
        };
        let result = |output: &Output| match *output {
            Output::New(i, _) => Tensor::constant(found[i].clone()),
            Output::Argument(i) => arguments[i].clone(),
            Output::State(i, _) => Tensor::constant(state[i].clone()),
        };
        Ok(self.file.outputs.iter().map(result).collect())
    }
}
