//! What a program consists of: values, and the work that makes them.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::{Array, Layout};
use crate::dtype::DType;
use crate::graph::Op;
use crate::graph::site::Site;
use crate::kernel::sequence::{Part, Sequence};
use crate::shape::{self, Dims, Strides};

/// The number of a value of a program.
pub type Id = u32;

/// Where the numbers of a value come from.
pub enum Origin {
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

pub struct Value {
    pub origin: Origin,
    pub dtype: DType,
    pub dims: Dims,
    pub strides: Strides,
}

impl Value {
    /// The dtype, and the layout without the offset of a view.
    pub fn laid_out(&self) -> (DType, Layout) {
        (self.dtype, Layout { dims: self.dims.clone(), strides: self.strides.clone(), offset: 0 })
    }

    /// How many elements after the beginning of its memory it begins.
    pub fn begin(&self) -> isize {
        match self.origin {
            Origin::View { offset, .. } => offset,
            _ => 0,
        }
    }

    /// The bytes of its elements.
    pub fn bytes(&self) -> usize {
        shape::len(&self.dims).saturating_mul(self.dtype.size())
    }

    /// Whether it is a constant whose elements all have the bits of this number. 0 and -0 differ.
    pub fn is_all(&self, number: f64) -> bool {
        let Origin::Constant(a) = &self.origin else { return false };
        a.len() > 0
            && a.dims().iter().zip(a.strides()).all(|(&d, s)| d == 1 || s == 0)
            && a.item().to_f64().is_some_and(|x| x.to_bits() == number.to_bits())
    }

    /// The number of the value whose memory this one, which has number `id`, lies in.
    pub fn whole(&self, id: Id) -> Id {
        match self.origin {
            Origin::View { of, .. } => of,
            _ => id,
        }
    }
}

/// Where values lie: in the memory of others, or in their own.
#[derive(Clone, Copy)]
pub struct Memory<'a>(pub &'a [Value]);

impl Memory<'_> {
    /// The value that has the memory, and how many bytes after its beginning the value begins.
    pub fn whole(&self, id: Id) -> (Id, isize) {
        let value = &self.0[id as usize];
        (value.whole(id), value.begin() * value.dtype.size() as isize)
    }

    pub fn dtype(&self, id: Id) -> DType {
        self.0[id as usize].dtype
    }
}

/// An op, applied to values.
#[derive(Clone)]
pub struct Step {
    pub op: Arc<dyn Op>,
    pub batch_ndim: usize,
    pub ins: SmallVec<[Id; 4]>,
    pub outs: SmallVec<[Id; 1]>,
    pub site: Site,
}

impl Step {
    /// Whether it stays behind all steps like it that the trace met before: it draws random numbers, and so has no inputs;
    /// tells the user something, or refuses numbers, and so has no outputs; or calls Python, which may do all of that.
    pub fn is_in_order(&self) -> bool {
        self.ins.is_empty() || self.outs.is_empty() || self.op.calls_host()
    }
}

/// An op of a step, and the line of the user's program that applied it.
#[derive(Clone)]
pub struct Applied {
    pub op: Arc<dyn Op>,
    pub site: Site,
}

impl Applied {
    pub fn of(step: &Step) -> Applied {
        Applied { op: step.op.clone(), site: step.site }
    }

    pub fn named(&self) -> (&'static str, Site) {
        (self.op.name(), self.site)
    }
}

/// What computes steps, with the values that it reads and what it makes.
pub struct Piece {
    pub part: Part,
    pub ins: Vec<Id>,
    pub made: Made,
}

/// The work of a program: a sequence, and the values that it reads and makes. What it reads are whole values, no views.
pub struct Schedule {
    pub sequence: Sequence,
    pub reads: Vec<Id>,
    pub results: Vec<Id>,
    pub items: Vec<Made>,
}

/// What an item of a sequence makes, and its ops.
pub struct Made {
    pub outs: SmallVec<[Id; 1]>,
    pub ops: SmallVec<[Applied; 1]>,
}
