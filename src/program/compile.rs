//! Programs of functions in Rust.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::file::{Input, Output, ProgramFile, Source};
use super::{Program, SavedProgram};
use crate::error::{Error, Result, bail};
use crate::graph::{Modes, Tensor, Trace};

impl SavedProgram {
    /// Compiles a function of tensors: calls it once, with tensors like `arguments`, and keeps what it computed. A run computes the
    /// same ops on other numbers, with the bits of the function. What the function does besides ops is not part of the program,
    /// and other tensors that it uses are constants.
    ///
    /// ```
    /// use ferrograd::{Program, Tensor, grad};
    /// let slope = |x: &[Tensor]| {
    ///     let x = x[0].leaf();
    ///     let y = (x.sin()? * &x).sum_all()?;
    ///     Ok(grad(&[&y], &[&x], false)?.into_iter().flatten().collect())
    /// };
    /// let x = Tensor::new(&[0.0, 1.0], &[2])?;
    /// let program = Program::compile(slope, &[&x])?;
    /// assert_eq!(program.run(&[&x])?[0].to_vec::<f64>()?, slope(&[x])?[0].to_vec::<f64>()?);
    /// # Ok::<(), Box<ferrograd::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of the function; the function reads the numbers of a tensor, by which it could decide what to compute.
    pub fn compile(
        f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
        arguments: &[&Tensor],
    ) -> Result<SavedProgram> {
        const NAME: &str = "Program::compile";
        if arguments.iter().any(|x| !x.levels.is_empty()) {
            bail!(Argument, NAME, "an argument is inside vmap");
        }
        let trace = Trace::new(Box::new(()));
        let sealed = |x: &&Tensor| Ok(Tensor::constant(trace.seal(x.array.packed()?)));
        let arguments = arguments.iter().map(sealed).collect::<Result<Vec<_>>>()?;
        let results = {
            let _traced = Modes::enter(|m| m.trace = Some(trace.clone()));
            f(&arguments)?
        };
        let Some(calls) = trace.end() else {
            let reason = trace.given_up().map_or("it has ended", |given_up| given_up.reason);
            bail!(Argument, NAME, "what the function computes depends on more than its arguments: {reason}");
        };
        Program::ensure_room(&calls)?;
        let arrays = |list: &[Tensor]| list.iter().map(|t| t.array.unsealed().clone()).collect::<Vec<_>>();
        let Some(forward) = Program::new(&arrays(&arguments), &calls, &arrays(&results)) else {
            bail!(Argument, NAME, "a result is a view that no program makes: return it packed");
        };
        let input = |i| Input { source: Source::Argument(i), tracked: false, written: None };
        let file = ProgramFile {
            forward: Arc::new(forward),
            backward: None,
            inputs: (0..arguments.len()).map(input).collect(),
            state: vec![],
            outputs: (0..results.len()).map(|i| Output::New(i, NATIVE)).collect(),
            saved_from: results.len(),
            grads: vec![],
            leaves: vec![],
            tracked: vec![],
            arguments: arguments.len(),
            host: described(arguments.len(), results.len()),
        };
        Ok(SavedProgram { file, state: Mutex::default(), writes: false })
    }

    /// Writes the program to a file, which [`Program::load`](SavedProgram::load) reads, as `load_compiled` does in Python and the
    /// C interface.
    ///
    /// # Errors
    /// The file cannot be written; the program has an op that files do not know.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let written = std::fs::write(path, self.to_bytes()?);
        written.map_err(|e| Box::new(Error::ProgramFile(format!("{}: {e}", path.display()))))
    }

    /// The bytes of a file with the program.
    ///
    /// # Errors
    /// The program has an op that files do not know.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let state = self.state();
        ProgramFile { state: state.clone(), ..self.file.clone() }.write()
    }
}

/// The number of the native dialect in files.
const NATIVE: u8 = 0;

/// What Python keeps with a function of some tensors that returns a tuple of tensors.
fn described(arguments: usize, results: usize) -> String {
    let tuple = |n: usize| {
        let parts: Vec<String> = (0..n).map(|i| format!("[\"tensor\", {i}]")).collect();
        format!("[\"tuple\", [{}]]", parts.join(", "))
    };
    let (arguments, results) = (tuple(arguments), tuple(results));
    format!(
        "{{\"name\": \"program\", \"arguments\": {arguments}, \"keywords\": [\"dict\", []], \"result\": {results}}}"
    )
}
