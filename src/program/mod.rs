//! Programs: a trace that runs again with other numbers, without the host language and without a graph. The bits of
//! its results are those of the ops applied one by one.

mod build;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::site::Site;
use crate::graph::{Op, computed};
use crate::kernel::interrupt;
use crate::shape::{Dims, Strides};

/// The number of a value of a program.
type Id = u32;

/// Where the numbers of a value come from.
enum Origin {
    Input,
    Constant(Array),
    /// An output of a step.
    Made,
    /// Other strides over the memory of another value, which is no view.
    View {
        of: Id,
        offset: isize,
    },
}

struct Value {
    origin: Origin,
    dtype: DType,
    dims: Dims,
    strides: Strides,
}

/// An op, applied to values.
struct Step {
    op: Arc<dyn Op>,
    batch_ndim: usize,
    ins: SmallVec<[Id; 4]>,
    outs: SmallVec<[Id; 1]>,
    /// The values that no later step reads.
    last: SmallVec<[Id; 2]>,
    site: Site,
}

/// A list of steps that computes outputs from inputs.
pub struct Program {
    inputs: usize,
    values: Vec<Value>,
    steps: Vec<Step>,
    outputs: Vec<Id>,
}

/// Steps between two looks for an interrupt.
const STRETCH: usize = 256;

impl Program {
    /// Computes the outputs. None where a value has another layout than in the trace: an input, or one whose shape depends
    /// on numbers.
    ///
    /// # Errors
    /// Those of the ops.
    pub fn run(&self, inputs: &[Array]) -> Result<Option<Vec<Array>>> {
        let mut slots: Vec<Option<Array>> = vec![None; self.values.len()];
        assert_eq!(inputs.len(), self.inputs, "a program gets as many inputs as its trace");
        for (id, x) in inputs.iter().enumerate() {
            if !self.fits(id as Id, x) {
                return Ok(None);
            }
            slots[id] = Some(x.clone());
        }
        for (i, step) in self.steps.iter().enumerate() {
            if i % STRETCH == STRETCH - 1 {
                interrupt::check()?;
            }
            let ins: SmallVec<[Array; 4]> = step.ins.iter().map(|&id| self.read(&slots, id)).collect();
            let refs: SmallVec<[&Array; 4]> = ins.iter().collect();
            let outs = computed(&*step.op, &refs, step.batch_ndim)?;
            for (&id, out) in step.outs.iter().zip(outs) {
                if !self.fits(id, &out) {
                    return Ok(None);
                }
                slots[id as usize] = Some(out);
            }
            for &id in &step.last {
                slots[id as usize] = None;
            }
        }
        Ok(Some(self.outputs.iter().map(|&id| self.read(&slots, id)).collect()))
    }

    /// Whether an array has the layout of a value in the trace.
    fn fits(&self, id: Id, x: &Array) -> bool {
        let value = &self.values[id as usize];
        x.dims() == value.dims.as_slice() && x.dtype() == value.dtype && x.strides() == value.strides
    }

    fn read(&self, slots: &[Option<Array>], id: Id) -> Array {
        let value = &self.values[id as usize];
        match &value.origin {
            Origin::Constant(array) => array.clone(),
            Origin::View { of, offset } => {
                let whole = self.read(slots, *of);
                let whole = if whole.dtype() == value.dtype { whole } else { whole.as_real() };
                whole.restride(&value.dims, &value.strides, *offset)
            }
            _ => slots[id as usize].clone().expect("a step made it, and a later one reads it"),
        }
    }

    /// The names of the ops in the order in which they run, each with the line of the user's program that applied it.
    pub fn ops(&self) -> impl Iterator<Item = (&'static str, Site)> + '_ {
        self.steps.iter().map(|s| (s.op.name(), s.site))
    }
}
