//! Programs in files: values and steps, each op by the name under which `stored_op` made it known. A file holds no
//! code. Whoever reads one believes nothing that it says: each value lies where it may, is made before it is read, and has the dtype and
//! shape that its op makes of what it reads ([`Op::makes`]). Where numbers decide the shape of a result, it is compared
//! with the value when the program runs.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::parts::{Id, Origin, Step, Value};
use super::{Counts, Program};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::site::Site;
use crate::graph::{Op, read_op, write_op};
use crate::shape::{Dims, Strides};
use crate::stored::{Reader, Stored, checksum};

/// The first bytes of a file.
const MAGIC: &[u8] = b"ferrograd program\n";
/// The version of what follows. A reader knows one.
const FORMAT: u32 = 1;
/// No array has more axes.
const MOST_AXES: usize = 1024;

/// What a file holds: a function of tensors, with the tensors that it keeps.
#[derive(Clone)]
pub struct ProgramFile {
    pub forward: Arc<Program>,
    /// Computes the gradients of the leaves from what `forward` saves and the gradients of the results.
    pub backward: Option<Arc<Program>>,
    pub inputs: Vec<Input>,
    /// The tensors from outside of the function: their values when the file was written.
    pub state: Vec<Array>,
    pub outputs: Vec<Output>,
    /// Which outputs of `forward` are saved for `backward`: all from this index on.
    pub saved_from: usize,
    /// By leaf: the output of `backward` that is its gradient.
    pub grads: Vec<Option<usize>>,
    /// The tensors by which gradients are computed.
    pub leaves: Vec<Source>,
    /// The results that have gradients.
    pub tracked: Vec<usize>,
    /// How many arguments the function has.
    pub arguments: usize,
    /// What the host keeps with the program.
    pub host: String,
}

/// An input of the forward program.
#[derive(Clone, Stored)]
pub struct Input {
    pub source: Source,
    pub tracked: bool,
    /// The output that is written back.
    pub written: Option<usize>,
}

#[derive(Clone, Copy, Stored)]
pub enum Source {
    Argument(usize),
    State(usize),
}

/// A result of the function.
#[derive(Clone, Copy, Stored)]
pub enum Output {
    /// An output of the forward program, as a tensor of a dialect.
    New(usize, u8),
    Argument(usize),
    /// A tensor of the state, which is of this dialect.
    State(usize, u8),
}

impl ProgramFile {
    /// The bytes of the file.
    ///
    /// # Errors
    /// An op that files do not know.
    pub fn write(&self) -> Result<Vec<u8>> {
        let mut body = vec![];
        self.forward.write_to(&mut body)?;
        self.backward.is_some().write(&mut body);
        if let Some(backward) = &self.backward {
            backward.write_to(&mut body)?;
        }
        self.inputs.write(&mut body);
        self.state.write(&mut body);
        self.outputs.write(&mut body);
        self.saved_from.write(&mut body);
        self.grads.write(&mut body);
        self.leaves.write(&mut body);
        self.tracked.write(&mut body);
        self.arguments.write(&mut body);
        self.host.write(&mut body);
        let mut file = MAGIC.to_vec();
        file.extend(FORMAT.to_le_bytes());
        file.extend((body.len() as u64).to_le_bytes());
        file.extend(checksum(&body).to_le_bytes());
        file.extend(body);
        Ok(file)
    }

    /// The program in the bytes of a file.
    ///
    /// # Errors
    /// Bytes that are no program, or one of another version.
    pub fn read(bytes: &[u8]) -> Result<ProgramFile> {
        let refused = |what: &str| Err(Box::new(Error::ProgramFile(what.to_owned())));
        let mut from = Reader(bytes);
        if from.take(MAGIC.len()) != Some(MAGIC) {
            return refused("this is no file of a program");
        }
        let mut number = |n: usize| {
            let bytes = from.take(n)?;
            Some(bytes.iter().rev().fold(0u64, |number, &b| number << 8 | u64::from(b)))
        };
        let (format, len, sum) = (number(4), number(8), number(8));
        if format.is_some_and(|format| format != u64::from(FORMAT)) {
            return refused(
                "the file was written by another version of this library, in a format that this one does not know",
            );
        }
        if len != Some(from.0.len() as u64) {
            return refused("the file is cut off, or longer than it was");
        }
        if sum != Some(checksum(from.0)) {
            return refused("the file has been changed since it was written");
        }
        let read = Error::catch(|| Ok(ProgramFile::read_body(&mut from).filter(|_| from.0.is_empty())));
        match read {
            Ok(Some(file)) => Ok(file),
            Err(e) if e.is_of_the_caller() => Err(e),
            _ => refused("what the file says is no program that this version of the library can run"),
        }
    }

    fn read_body(from: &mut Reader<'_>) -> Option<ProgramFile> {
        let forward = Arc::new(Program::read_from(from)?);
        let backward = if bool::read(from)? { Some(Arc::new(Program::read_from(from)?)) } else { None };
        let file = ProgramFile {
            forward,
            backward,
            inputs: Vec::read(from)?,
            state: Vec::read(from)?,
            outputs: Vec::read(from)?,
            saved_from: usize::read(from)?,
            grads: Vec::read(from)?,
            leaves: Vec::read(from)?,
            tracked: Vec::read(from)?,
            arguments: usize::read(from)?,
            host: String::read(from)?,
        };
        file.is_whole().then_some(file)
    }

    /// Whether all that the parts say of each other is so.
    fn is_whole(&self) -> bool {
        if self.inputs.len() != self.forward.inputs {
            return false;
        }
        let results = self.forward.outputs.len();
        let is_argument = |i: usize| i < self.arguments;
        let is_result = |i: usize| i < self.saved_from;
        let is_there = |source: &Source| match *source {
            Source::Argument(i) => is_argument(i),
            Source::State(i) => i < self.state.len(),
        };
        let inputs = self.inputs.iter().enumerate().all(|(k, input)| {
            let fits = is_there(&input.source)
                && match input.source {
                    Source::Argument(_) => true,
                    Source::State(i) => self.forward.fits(k as Id, &self.state[i]),
                };
            let same = |i: usize| {
                let (a, b) =
                    (&self.forward.values[k], &self.forward.values[self.forward.outputs[i] as usize]);
                a.dtype == b.dtype && a.dims == b.dims
            };
            fits && input.written.is_none_or(|i| is_result(i) && same(i))
        });
        let outputs = self.outputs.iter().all(|output| match *output {
            Output::New(i, _) => is_result(i),
            Output::Argument(i) => is_argument(i),
            Output::State(i, _) => i < self.state.len(),
        });
        let gradients = match &self.backward {
            None => self.grads.is_empty() && self.tracked.is_empty() && self.saved_from == results,
            Some(backward) => {
                self.grads.iter().flatten().all(|&i| i < backward.outputs.len())
                    && results.checked_sub(self.saved_from).and_then(|n| n.checked_add(self.tracked.len()))
                        == Some(backward.inputs)
            }
        };
        // An argument count is believed only as far as the inputs bear it out.
        let mut given = vec![false; self.arguments.min(self.inputs.len())];
        for input in &self.inputs {
            if let Source::Argument(i) = input.source
                && let Some(seen) = given.get_mut(i)
            {
                *seen = true;
            }
        }
        self.leaves.len() == self.grads.len()
            && self.leaves.iter().all(is_there)
            && self.tracked.iter().all(|&i| matches!(self.outputs.get(i), Some(Output::New(..))))
            && inputs
            && outputs
            && gradients
            && given.len() == self.arguments
            && given.iter().all(|&seen| seen)
    }
}

impl Program {
    /// Writes the program.
    ///
    /// # Errors
    /// An op that files do not know.
    fn write_to(&self, to: &mut Vec<u8>) -> Result<()> {
        // Values that no step reads or makes are left out.
        let mut numbers: Vec<Option<Id>> = vec![None; self.values.len()];
        let mut kept = vec![];
        let mut keep = |id: Id| {
            let whole = self.values[id as usize].whole(id);
            for id in [whole, id] {
                numbers[id as usize].get_or_insert_with(|| {
                    kept.push(id);
                    kept.len() as Id - 1
                });
            }
        };
        (0..self.inputs as Id).for_each(&mut keep);
        for step in &self.steps {
            step.ins.iter().chain(&step.outs).copied().for_each(&mut keep);
        }
        self.outputs.iter().copied().for_each(&mut keep);
        let number = |id: Id| numbers[id as usize].expect("it is kept");
        self.inputs.write(to);
        kept.len().write(to);
        kept.iter().for_each(|&id| write_value(&self.values[id as usize], number, to));
        self.write_steps(number, to)?;
        self.outputs.iter().map(|&id| number(id)).collect::<Vec<Id>>().write(to);
        Ok(())
    }

    /// Writes the names of ops, and then the steps, in which an op is a number.
    fn write_steps(&self, number: impl Fn(Id) -> Id, to: &mut Vec<u8>) -> Result<()> {
        let mut names: FxHashMap<&'static str, usize> = FxHashMap::default();
        let (mut list, mut steps) = (vec![], vec![]);
        for step in &self.steps {
            let mut fields = vec![];
            let Some(name) = write_op(&*step.op, &mut fields) else {
                return Err(not_for_files(&*step.op, step.site));
            };
            let next = names.len();
            names
                .entry(name)
                .or_insert_with(|| {
                    list.push(name.to_owned());
                    next
                })
                .write(&mut steps);
            steps.extend(fields);
            step.batch_ndim.write(&mut steps);
            for ids in [&step.ins[..], &step.outs[..]] {
                ids.len().write(&mut steps);
                ids.iter().for_each(|&id| number(id).write(&mut steps));
            }
        }
        list.write(to);
        self.steps.len().write(to);
        to.extend(steps);
        Ok(())
    }

    /// The program that comes next. None if there is none.
    fn read_from(from: &mut Reader<'_>) -> Option<Program> {
        let inputs = usize::read(from)?;
        let count = usize::read(from).filter(|&n| n <= from.0.len())?;
        let mut values: Vec<Value> = vec![];
        for id in 0..count {
            let value = read_value(from, &values)?;
            if matches!(value.origin, Origin::Input) != (id < inputs) {
                return None;
            }
            values.push(value);
        }
        if inputs > count {
            return None;
        }
        let names: Vec<String> = Vec::read(from)?;
        // What there is to read: everything, or a value that a step has made.
        let mut is_there: Vec<bool> =
            values.iter().map(|value| !matches!(value.origin, Origin::Made)).collect();
        let readable = |ids: &[Id], is_there: &[bool]| {
            ids.iter().all(|&id| match values.get(id as usize).map(|value| &value.origin) {
                Some(Origin::View { of, .. }) => is_there[*of as usize],
                Some(_) => is_there[id as usize],
                None => false,
            })
        };
        let count = usize::read(from).filter(|&n| n <= from.0.len())?;
        let mut steps = vec![];
        for _ in 0..count {
            let op = read_op(names.get(usize::read(from)?)?, from)?;
            let batch_ndim = usize::read(from).filter(|&n| n <= MOST_AXES)?;
            let (ins, outs): (SmallVec<[Id; 4]>, SmallVec<[Id; 1]>) =
                (SmallVec::read(from)?, SmallVec::read(from)?);
            if !readable(&ins, &is_there) {
                return None;
            }
            for &id in &outs {
                let is_made = matches!(values.get(id as usize)?.origin, Origin::Made);
                if !is_made || std::mem::replace(&mut is_there[id as usize], true) {
                    return None;
                }
            }
            let step = Step { op, batch_ndim, ins, outs, site: Site(0) };
            let way = if step.is_so(&values) { step.way(&values)? } else { return None };
            steps.push((step, way));
        }
        let outputs: Vec<Id> = Vec::read(from)?;
        if !readable(&outputs, &is_there) {
            return None;
        }
        let n = steps.len();
        let counts = Counts { recorded: n, distinct: n, needed: n };
        let mut program = Program::of(inputs, values, steps, outputs, counts);
        program.is_from_file = true;
        Some(program)
    }
}

/// Writes a value. `number` is the number of another one in the file.
fn write_value(value: &Value, number: impl Fn(Id) -> Id, to: &mut Vec<u8>) {
    match &value.origin {
        Origin::Input => to.push(0),
        Origin::Made => to.push(1),
        Origin::View { of, offset } => {
            to.push(2);
            number(*of).write(to);
            offset.write(to);
        }
        Origin::Constant(array) => {
            to.push(3);
            return array.write(to);
        }
    }
    value.dtype.write(to);
    value.dims.write(to);
    value.strides.write(to);
}

/// The error for an op that no file can hold.
fn not_for_files(op: &dyn Op, site: Site) -> Box<Error> {
    let line = site.describe().map(|line| format!(", applied at {line},")).unwrap_or_default();
    Box::new(Error::Argument {
        op: "save",
        what: format!("{}{line} is an op that a file cannot hold", op.name()),
    })
}

/// The value that comes next, after those before it.
fn read_value(from: &mut Reader<'_>, before: &[Value]) -> Option<Value> {
    let origin = match from.take(1)? {
        [0] => Origin::Input,
        [1] => Origin::Made,
        [2] => Origin::View { of: Id::read(from)?, offset: isize::read(from)? },
        [3] => {
            let x = Array::read(from)?;
            return Some(Value {
                dtype: x.dtype(),
                dims: x.dims().into(),
                strides: x.strides(),
                origin: Origin::Constant(x),
            });
        }
        _ => return None,
    };
    let value =
        Value { origin, dtype: DType::read(from)?, dims: Dims::read(from)?, strides: Strides::read(from)? };
    let layout = value.laid_out().1;
    let (low, high) = layout.reach().filter(|_| value.dims.len() <= MOST_AXES)?;
    layout.bytes(value.dtype.size())?;
    if let Origin::View { of, offset } = value.origin {
        let whole = before.get(of as usize)?;
        let (first, last) =
            whole.laid_out().1.reach().filter(|_| !matches!(whole.origin, Origin::View { .. }))?;
        // A view of another dtype is one of the parts of complex numbers.
        let parts = match value.dtype {
            dtype if dtype == whole.dtype => 1isize,
            dtype if whole.dtype.is_complex() && whole.dtype.real() == dtype => 2,
            _ => return None,
        };
        let is_inside = offset.checked_add(low)? >= first.checked_mul(parts)?
            && offset.checked_add(high)? <= last.checked_mul(parts)?.checked_add(parts - 1)?;
        if !is_inside || whole.dims.contains(&0) && !value.dims.contains(&0) {
            return None;
        }
    }
    Some(value)
}
