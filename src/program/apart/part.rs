//! Parts of values, and the steps that compute them.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::super::parts::{Id, Origin, Step, Value};
use super::super::way::{Pointwise, Way};
use crate::array::Array;
use crate::dtype::DType;
use crate::kernel::pointwise::expressions::{ABSOLUTE, ADD, MULTIPLY, SQUARE};
use crate::kernel::pointwise::row::Row;
use crate::shape;

/// The bits of -0.
const NEGATIVE_ZERO: u64 = 1 << 63;

pub(super) type Steps = Vec<(Step, Way)>;

/// Elements of a value that lie at one distance in its memory: a column, or a number, which may stand for equal ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Part {
    /// The value that has the memory.
    pub of: Id,
    /// How many elements lie before the first one.
    pub offset: isize,
    /// How far each element is from the next one; zero of a number.
    pub stride: isize,
    pub len: usize,
}

/// What arrays are taken apart into.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Grain {
    Columns,
    Numbers,
}

/// The arrays of a program that are taken apart.
pub(super) struct Apart<'a> {
    pub grain: Grain,
    pub values: &'a mut Vec<Value>,
    /// By value: its parts. The elements of these take turns in its memory.
    pub parts: FxHashMap<Id, Box<[Part]>>,
    /// Parts of other values, as values.
    pub views: FxHashMap<Part, Id>,
    pub zeros: FxHashMap<DType, Id>,
    /// The values without an element that is -0.
    pub unsigned: FxHashSet<Id>,
    /// Those that replace the step at hand.
    pub steps: Steps,
}

impl Apart<'_> {
    /// Elements of a value, the first of which lies so far from the value's own first one, as they are now. None if they are
    /// elements of several parts.
    pub fn part(&self, id: Id, offset: isize, stride: isize, len: usize) -> Option<Part> {
        let value = &self.values[id as usize];
        let (of, offset) = (value.whole(id), value.begin() + offset);
        let Some(parts) = self.parts.get(&of) else { return Some(Part { of, offset, stride, len }) };
        let part = *parts.get(usize::try_from(offset).ok()?)?;
        let is_one = self.grain == Grain::Numbers || stride == parts.len() as isize;
        is_one.then(|| Part { len: len.min(part.len), ..part })
    }

    /// The value of a part.
    pub fn value(&mut self, part: Part) -> Id {
        let Part { of, offset, stride, len } = part;
        let x = &self.values[of as usize];
        let dtype = x.dtype;
        if offset == 0 && shape::len(&x.dims) == len && (len == 1 || x.strides[..] == [stride]) {
            return of;
        }
        if let Some(&id) = self.views.get(&part) {
            return id;
        }
        let id = self.add(Origin::View { of, offset }, dtype, len, stride);
        self.views.insert(part, id);
        id
    }

    fn add(&mut self, origin: Origin, dtype: DType, len: usize, stride: isize) -> Id {
        let layout = || (smallvec![len], smallvec![stride]);
        let (dims, strides) = if len == 1 { Default::default() } else { layout() };
        self.values.push(Value { origin, dtype, dims, strides });
        (self.values.len() - 1) as Id
    }

    pub fn zero(&mut self, dtype: DType) -> Part {
        let of = self.zeros.get(&dtype).copied().unwrap_or_else(|| {
            let id = self.add(Origin::Constant(Array::full_of(dtype, &[], 0.0)), dtype, 1, 0);
            self.zeros.insert(dtype, id);
            id
        });
        Part { of, offset: 0, stride: 0, len: 1 }
    }

    /// The bits of the number that a part is, if that is a constant.
    fn constant(&self, part: Part) -> Option<u64> {
        let Origin::Constant(a) = &self.values[part.of as usize].origin else { return None };
        let number = (part.len == 1).then(|| a.restride(&[], &[], part.offset).item())?;
        number.to_f64().map(f64::to_bits)
    }

    /// Whether no element is -0.
    fn is_unsigned(&self, part: Part) -> bool {
        let is_one = |bits: u64| bits != NEGATIVE_ZERO && !f64::from_bits(bits).is_nan();
        self.unsigned.contains(&part.of) || self.constant(part).is_some_and(is_one)
    }

    /// A part that a row computes from others, in the place of a step. A sum that is one of its operands as it is takes no step.
    pub fn computed(
        &mut self,
        of: &Step,
        (row, has_single): (Row, bool),
        ins: SmallVec<[Part; 3]>,
        len: usize,
        is_result: bool,
    ) -> Part {
        let own = of.outs[0];
        let own = (is_result && shape::len(&self.values[own as usize].dims) == len).then_some(own);
        let is_sum = row.formula == ADD.formula;
        let is_zero = |x: Part| self.constant(x) == Some(0);
        // Only -0 has other bits after 0 has been added.
        let is_same = |&k: &usize| {
            is_zero(ins[1 - k]) && self.is_unsigned(ins[k]) && (ins[k].len == len || is_zero(ins[k]))
        };
        // A result that is a column would have to be copied.
        let may_be_same = is_sum && (own.is_none() || len == 1);
        if let Some(k) = (0..2).filter(|_| may_be_same).find(is_same) {
            return ins[k];
        }
        let is_unsigned = is_sum && ins.iter().any(|&x| self.is_unsigned(x))
            || row.formula == MULTIPLY.formula && ins[0] == ins[1]
            || [SQUARE.formula, ABSOLUTE.formula].contains(&row.formula);
        let ids: SmallVec<[Id; 4]> = ins.iter().map(|&x| self.value(x)).collect();
        let places = ids.iter().zip(&ins).map(|(&id, x)| (id, x.stride));
        let way = Way::Pointwise(Pointwise::of_parts(row, places, len, has_single));
        let stride = isize::from(len > 1);
        let out = own.unwrap_or_else(|| self.add(Origin::Made, row.out, len, stride));
        if is_unsigned {
            self.unsigned.insert(out);
        }
        let (op, outs) = (of.op.clone(), smallvec![out]);
        self.steps.push((Step { op, batch_ndim: 0, ins: ids, outs, site: of.site }, way));
        Part { of: out, offset: 0, stride, len }
    }
}
