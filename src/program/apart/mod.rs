//! Arrays taken apart, as compilers replace a structure by scalars. An op on a few elements takes longer to call than to
//! compute. The gradient of a column is an array whose other columns are zeros, and a trace adds such arrays. So an array of
//! few elements becomes single numbers, and one of few columns becomes columns, which others then read.
//!
//! Both are parts of a value. A step becomes a step for each part of its result. A part that is only moved, or to which zero is
//! added, takes no step. Where others read the array, its parts are joined. Steps that read parts of each other are a set. A
//! set is rewritten as a whole, and left as it was if its steps on arrays take no longer.

mod joined;
mod replacement;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use self::joined::Joined;
pub(super) use self::replacement::numbers;
use super::parts::{Id, Origin, Step, Value};
use super::way::{Pointwise, Way};
use crate::array::Array;
use crate::dtype::DType;
use crate::kernel::pointwise::expressions::{ABSOLUTE, ADD, MULTIPLY, SQUARE};
use crate::kernel::pointwise::row::Row;
use crate::shape;

/// The most elements of a result that are computed one by one.
const RESULTS: usize = 9;
/// The most elements of an array that such results are computed from.
const OPERANDS: usize = 16;
/// The most multiplications of a matrix product that is taken apart.
const PRODUCTS: usize = 64;
/// What a step gains by being taken apart into numbers, and what each of these costs: of a step of arithmetic, and of one that
/// calls a function. In tenths of a nanosecond, so as to prefer loops where both take about the same time.
const GAIN: (i64, i64) = (40, 8);
const GAIN_OF_CALLS: (i64, i64) = (150, 70);

/// The fewest elements of a column.
const FEWEST: usize = 8;
/// The most columns of an array.
const COLUMNS: usize = 8;
/// The most elements of an array of columns, and of one that columns are moved from.
const ELEMENTS: usize = 4096;
/// About how many elements are moved in the time in which a kernel or a loop is called.
const CALL: usize = 30;

/// The bits of -0.
const NEGATIVE_ZERO: u64 = 1 << 63;

type Steps = Vec<(Step, Way)>;

/// Elements of a value that lie at one distance in its memory: a column, or a number, which may stand for equal ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Part {
    /// The value that has the memory.
    of: Id,
    /// How many elements lie before the first one.
    offset: isize,
    /// How far each element is from the next one; zero of a number.
    stride: isize,
    len: usize,
}

/// What arrays are taken apart into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grain {
    Columns,
    Numbers,
}

/// The arrays of a program that are taken apart.
struct Apart<'a> {
    grain: Grain,
    values: &'a mut Vec<Value>,
    /// By value: its parts. The elements of these take turns in its memory.
    parts: FxHashMap<Id, Box<[Part]>>,
    /// Parts of other values, as values.
    views: FxHashMap<Part, Id>,
    zeros: FxHashMap<DType, Id>,
    /// The values without an element that is -0.
    unsigned: FxHashSet<Id>,
    /// Those that replace the step at hand.
    steps: Steps,
}

/// The steps of a program with those on few columns and on few elements taken apart. New values are put behind the others.
pub(super) fn taken_apart(values: &mut Vec<Value>, steps: Steps, outputs: &[Id]) -> Steps {
    let steps = in_parts(Grain::Columns, values, steps, outputs);
    in_parts(Grain::Numbers, values, steps, outputs)
}

fn in_parts(grain: Grain, values: &mut Vec<Value>, steps: Steps, outputs: &[Id]) -> Steps {
    let before = values.len();
    let mut all = Apart {
        grain,
        values,
        parts: FxHashMap::default(),
        views: FxHashMap::default(),
        zeros: FxHashMap::default(),
        unsigned: FxHashSet::default(),
        steps: vec![],
    };
    let mut replaced: Vec<_> = steps.iter().map(|(step, way)| all.replacement(step, way)).collect();
    let sets = all.sets(&steps, &replaced);
    // The values that others read as arrays.
    let others = steps.iter().zip(&replaced).filter(|(_, own)| own.is_none());
    let read = others.flat_map(|((step, _), _)| &step.ins).chain(outputs);
    let read: FxHashSet<Id> = read.map(|&id| all.values[id as usize].whole(id)).collect();
    let mut gains = vec![0i64; steps.len()];
    for (i, ((step, _), own)) in steps.iter().zip(&mut replaced).enumerate() {
        let Some(own) = own else { continue };
        if read.contains(&step.outs[0]) {
            all.join(step, own);
        }
        gains[sets[i]] = gains[sets[i]].saturating_add(own.1);
    }
    if gains.iter().all(|&gain| gain <= 0) {
        all.values.truncate(before);
        return steps;
    }
    let mut rewritten = vec![];
    for (i, (kept, own)) in steps.into_iter().zip(replaced).enumerate() {
        match own.filter(|_| gains[sets[i]] > 0) {
            Some((own, _)) => rewritten.extend(own),
            None => rewritten.push(kept),
        }
    }
    rewritten
}

impl Grain {
    /// How many elements each part of such a value has, and how many parts it has. None if it is not to be taken apart.
    fn sizes(self, value: &Value) -> Option<(usize, usize)> {
        if let Grain::Numbers = self {
            let n = shape::len(&value.dims);
            return (1..=RESULTS).contains(&n).then_some((1, n));
        }
        let (&len, rest) = value.dims.split_first()?;
        let columns = shape::len(rest);
        let fits = len >= FEWEST && (1..=COLUMNS).contains(&columns) && len * columns <= ELEMENTS;
        (fits && is_plain(value)).then_some((len, columns))
    }
}

/// Whether it is an array of floats in C order.
fn is_plain(value: &Value) -> bool {
    matches!(value.dtype, DType::F32 | DType::F64) && shape::are_contiguous(&value.dims, &value.strides)
}

impl Apart<'_> {
    /// By step: the first step of its set. All columns are one set, since it is only about known what each of them gains.
    fn sets(&self, steps: &[(Step, Way)], replaced: &[Option<(Steps, i64)>]) -> Vec<usize> {
        if self.grain == Grain::Columns {
            return vec![0; steps.len()];
        }
        fn first(sets: &mut [usize], mut i: usize) -> usize {
            while sets[i] != i {
                sets[i] = sets[sets[i]];
                i = sets[i];
            }
            i
        }
        let mut sets: Vec<usize> = (0..steps.len()).collect();
        let mut makers: FxHashMap<Id, usize> = FxHashMap::default();
        for (i, (step, _)) in steps.iter().enumerate().filter(|(i, _)| replaced[*i].is_some()) {
            for &id in &step.ins {
                if let Some(&maker) = makers.get(&self.values[id as usize].whole(id)) {
                    let (a, b) = (first(&mut sets, i), first(&mut sets, maker));
                    sets[a.max(b)] = a.min(b);
                }
            }
            makers.insert(step.outs[0], i);
        }
        (0..sets.len()).map(|i| first(&mut sets, i)).collect()
    }

    /// Elements of a value, the first of which lies so far from the value's own first one, as they are now. None if they are
    /// elements of several parts.
    fn part(&self, id: Id, offset: isize, stride: isize, len: usize) -> Option<Part> {
        let value = &self.values[id as usize];
        let (of, offset) = (value.whole(id), value.begin() + offset);
        let Some(parts) = self.parts.get(&of) else { return Some(Part { of, offset, stride, len }) };
        let part = *parts.get(usize::try_from(offset).ok()?)?;
        let is_one = self.grain == Grain::Numbers || stride == parts.len() as isize;
        is_one.then(|| Part { len: len.min(part.len), ..part })
    }

    /// The value of a part.
    fn value(&mut self, part: Part) -> Id {
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

    fn zero(&mut self, dtype: DType) -> Part {
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
    fn computed(
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

    /// Joins the parts of a step's result, which others read.
    fn join(&mut self, step: &Step, (steps, gain): &mut (Steps, i64)) {
        let out = step.outs[0];
        let parts = self.parts[&out].clone();
        if parts.len() == 1 && parts[0].of == out {
            return;
        }
        let ins = parts.iter().map(|&part| self.value(part)).collect();
        let mut step = Step { ins, ..step.clone() };
        if self.grain == Grain::Numbers {
            // The cluster that computes numbers puts them where they have to be.
            return steps.push((step, Way::Pack));
        }
        let dims = self.values[out as usize].dims.clone();
        *gain -= (CALL + shape::len(&dims)) as i64;
        (step.op, step.batch_ndim) = (Arc::new(Joined { name: step.op.name(), dims }), 0);
        steps.push((step, Way::Op));
    }
}
