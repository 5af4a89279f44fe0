//! What replaces a step: the steps that compute the parts of its result.

use smallvec::{SmallVec, smallvec};

use super::super::costs::{ITEM, MOVED, NUMBER, NUMBER_OF_CALLS, STEP, STEP_OF_CALLS};
use super::super::lowered::loops_of;
use super::super::parts::{Id, Step, Value};
use super::super::way::{Place, Pointwise, Way};
use super::part::{Apart, Grain, Part, Steps};
use crate::array::{Array, Layout};
use crate::dtype::DType;
use crate::graph::Loops;
use crate::graph::trace::Call;
use crate::kernel::copy::IndexMap;
use crate::kernel::matmul;
use crate::kernel::pointwise::binary::BinaryLoops;
use crate::kernel::pointwise::expressions::{ADD, MULTIPLY};
use crate::kernel::reduce::ReduceLoops;
use crate::kernel::reduce::pairwise::ROWS;
use crate::shape;

/// The most elements of a result that are computed one by one.
const RESULTS: usize = 9;
/// The most elements of an array that such results are computed from.
const OPERANDS: usize = 16;
/// The most multiplications of a matrix product that is taken apart.
const PRODUCTS: usize = 64;

/// The fewest elements of a column.
const FEWEST: usize = 8;
/// The most columns of an array.
const COLUMNS: usize = 8;
/// The most elements of an array of columns, and of one that columns are moved from.
const ELEMENTS: usize = 4096;
/// How many numbers a call is taken apart into at most.
pub(in super::super) fn numbers(call: &Call) -> usize {
    let few =
        |arrays: &[Array], most: usize| arrays.iter().map(Array::len).filter(|&n| n <= most).sum::<usize>();
    match (few(&call.outs, RESULTS), &call.ins[..]) {
        (0, _) => 0,
        (results, [x, y]) if matches!(loops_of(call), Some(Loops::Product | Loops::Dot)) => {
            2 * results * (x.len().saturating_mul(y.len()) / results).isqrt().min(PRODUCTS)
        }
        (results, ins) => results + few(ins, OPERANDS),
    }
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

/// The parts of a result, and what is gained by taking it apart.
type Apiece = (Vec<Part>, i64);

impl Apart<'_> {
    /// Takes the result of a step apart: what replaces the step, and how much less that costs. None if the step stays as it is.
    pub fn replacement(&mut self, step: &Step, way: &Way) -> Option<(Steps, i64)> {
        let &[out] = &step.outs[..] else { return None };
        let (len, n) = self.grain.sizes(&self.values[out as usize])?;
        if step.ins.is_empty() || !step.ins.iter().chain(&step.outs).all(|&id| self.fits(id)) {
            return None;
        }
        self.steps.clear();
        let (parts, gain) = match way {
            Way::Pointwise(p) => self.rows(step, p, len, n)?,
            _ => self.others(step, len, n)?,
        };
        if parts.len() != n {
            return None;
        }
        self.parts.insert(out, parts.into());
        Some((std::mem::take(&mut self.steps), gain))
    }

    /// Whether its elements fit into cells, and are those of its memory.
    fn fits(&self, id: Id) -> bool {
        let value = &self.values[id as usize];
        let whole = &self.values[value.whole(id) as usize];
        value.dtype == whole.dtype && value.dtype.size() <= size_of::<u64>() && !value.dtype.is_half()
    }

    /// The parts of a step that computes element by element. Columns are computed only from columns that others moved.
    fn rows(&mut self, step: &Step, p: &Pointwise, len: usize, n: usize) -> Option<Apiece> {
        let is_apart = |place: &Place| {
            let whole = self.values[place.id as usize].whole(place.id);
            self.parts.get(&whole).is_some_and(|parts| parts.len() > 1)
        };
        if self.grain == Grain::Columns && !p.ins.iter().any(is_apart) {
            return None;
        }
        let part = |i: usize| {
            let next = p.places(if len == 1 { i } else { i + n });
            let mut ins: SmallVec<[Part; 3]> = smallvec![];
            for ((place, (id, first)), (_, next)) in p.ins.iter().zip(p.places(i)).zip(next) {
                let stride = next - first;
                let operand = self.part(id, first, stride, if stride == 0 { 1 } else { len })?;
                // A loop may treat one number for all elements in its own way.
                let is_one = stride == 0 || operand.stride == 0 && p.row.has_forms;
                if len > 1 && is_one && !place.is_one_element(p.n) {
                    return None;
                }
                ins.push(operand);
            }
            if len == 1 && p.repeats_second() {
                ins.swap(0, 1);
            }
            Some(self.computed(step, (p.row, p.has_single), ins, len, true))
        };
        let parts = (0..n).map(part).collect::<Option<_>>()?;
        let gain = match self.grain {
            Grain::Columns => ITEM * (1 - self.steps.len() as i64),
            Grain::Numbers if n == 1 => 0,
            Grain::Numbers if p.row.arithmetic().is_none() => STEP_OF_CALLS - NUMBER_OF_CALLS * n as i64,
            Grain::Numbers => STEP - NUMBER * n as i64,
        };
        Some((parts, gain))
    }

    /// The parts of a step that moves floats, or sums them.
    fn others(&mut self, step: &Step, len: usize, n: usize) -> Option<Apiece> {
        let to = &self.values[step.outs[0] as usize];
        let are_columns = self.grain == Grain::Columns;
        let most = if are_columns { ELEMENTS } else { OPERANDS };
        let is_few = |&id: &Id| {
            let x = &self.values[id as usize];
            x.dtype == to.dtype && shape::len(&x.dims) <= most
        };
        if !is_plain(to) || !step.ins.iter().all(is_few) || are_columns && n == 1 {
            return None;
        }
        Some(match (step.lowered(self.values)?, &step.ins[..]) {
            (Loops::Moves(map), _) => {
                let gain = if are_columns { ITEM + MOVED * (len * n) as i64 } else { i64::MAX };
                (self.moves(step, &map, len, n)?, gain)
            }
            (Loops::Fold(table, axes, _), &[x]) if !are_columns => {
                let terms = shape::len(&self.values[x as usize].dims) as i64;
                (self.sums(step, table, &axes, x)?, STEP - NUMBER * terms)
            }
            // Loops on arrays neither move elements nor multiply matrices.
            (Loops::Product | Loops::Dot, &[x, y]) if !are_columns && step.batch_ndim == 0 => {
                (self.products(step, x, y)?, i64::MAX)
            }
            _ => return None,
        })
    }

    /// The parts that a map moves.
    fn moves(&mut self, step: &Step, map: &IndexMap, len: usize, n: usize) -> Option<Vec<Part>> {
        let mut parts = vec![self.zero(self.values[step.outs[0] as usize].dtype); n];
        // The elements of a column lie along the first axis.
        let rows = usize::from(len > 1);
        for moved in &map.parts {
            let (from, to, &id) = (&moved.from, &moved.to, step.ins.get(moved.operand)?);
            let x = &self.values[id as usize];
            let has_columns = to.dims.first() == Some(&len) && to.strides[0].unsigned_abs() == n;
            let fits = to.fits(len * n) && from.fits(shape::len(&x.dims));
            if !fits || from.dims != to.dims || rows > 0 && !has_columns {
                return None;
            }
            for i in 0..shape::len(&to.dims[rows..]) {
                let at = |of: &Layout| of.offset + shape::offset(i, &of.dims[rows..], &of.strides[rows..]);
                let place = |row: usize| {
                    let row = if to.strides.first() < Some(&0) { len - 1 - row } else { row };
                    let place = at(from) + row as isize * from.strides.first().unwrap_or(&0);
                    shape::offset(place as usize, &x.dims, &x.strides)
                };
                let (first, stride) = (place(0), place(rows) - place(0));
                let is_even = shape::are_contiguous(&x.dims, &x.strides)
                    || (2..len).all(|row| place(row) == first + row as isize * stride);
                let len = if stride == 0 { 1 } else { len };
                parts[at(to) as usize % n] = self.part(id, first, stride, len).filter(|_| is_even)?;
            }
        }
        Some(parts)
    }

    /// The number at a place of a value in C order.
    fn number(&self, id: Id, place: usize) -> Option<Part> {
        let Value { dims, strides, .. } = &self.values[id as usize];
        self.part(id, shape::offset(place, dims, strides), 0, 1)
    }

    /// The sum of products of these factors, in this order, beginning with zero.
    fn sum<const F: usize>(
        &mut self,
        of: &Step,
        terms: impl ExactSizeIterator<Item = [(Id, usize); F]>,
    ) -> Option<Part> {
        let dtype = self.values[of.outs[0] as usize].dtype;
        let row =
            |table: &BinaryLoops| (table.row(dtype, [0.0; 3]).expect("there are loops for floats"), true);
        let mut sum = self.zero(dtype);
        let mut left = terms.len();
        for term in terms {
            let factors = term.iter().map(|&(id, place)| self.number(id, place));
            let factors: SmallVec<[Part; 3]> = factors.collect::<Option<_>>()?;
            let x = if F == 1 { factors[0] } else { self.computed(of, row(MULTIPLY), factors, 1, false) };
            left -= 1;
            sum = self.computed(of, row(ADD), smallvec![sum, x], 1, left == 0);
        }
        Some(sum)
    }

    /// The parts of a step that sums rows which are too short to be summed in another order than their own.
    fn sums(&mut self, step: &Step, table: &ReduceLoops, axes: &[usize], id: Id) -> Option<Vec<Part>> {
        let Value { dims, strides, .. } = &self.values[id as usize];
        let (&first, &last) = (axes.first()?, axes.last()?);
        let n = shape::len(dims.get(first..=last)?);
        let is_in_order = axes.len() == last + 1 - first && shape::are_contiguous(dims, strides);
        if table.sums.is_none() || !is_in_order || n >= ROWS {
            return None;
        }
        let (outer, inner) = (shape::len(&dims[..first]), shape::len(&dims[last + 1..]));
        let place = |i: usize, j: usize| (i / inner * n + j) * inner + i % inner;
        (0..outer * inner).map(|i| self.sum(step, (0..n).map(|j| [(id, place(i, j))]))).collect()
    }

    /// The parts of a product of matrices or vectors that is computed by the definition.
    fn products(&mut self, step: &Step, x: Id, y: Id) -> Option<Vec<Part>> {
        let dims = |id: Id| &self.values[id as usize].dims[..];
        let (m, k, n) = match (dims(x), dims(y)) {
            // The inner product of two vectors is summed in a tree; that of short ones in their order.
            (&[k], &[_]) if k < 4 => (1, k, 1),
            (&[m, k], &[rows, n]) if rows == k && m * k * n <= PRODUCTS => (m, k, n),
            _ => return None,
        };
        if dims(x).len() == 2 && !matmul::is_by_definition(m, k, n) {
            return None;
        }
        let term = |i: usize, p: usize| [(x, i / n * k + p), (y, p * n + i % n)];
        (0..m * n).map(|i| self.sum(step, (0..k).map(|p| term(i, p)))).collect()
    }
}
