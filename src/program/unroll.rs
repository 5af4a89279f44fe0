//! Small arrays as single numbers. An op on a few elements takes longer to call than to compute, so it becomes a step for
//! each element, and all such steps run together as one cluster of single numbers.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::lowered::loops_of;
use super::parts::{Id, Origin, Step, Value};
use super::way::{Pointwise, Way};
use crate::array::Array;
use crate::dtype::DType;
use crate::graph::Loops;
use crate::graph::trace::Call;
use crate::kernel::matmul;
use crate::kernel::pointwise::binary::BinaryLoops;
use crate::kernel::pointwise::expressions::{ABSOLUTE, ADD, MULTIPLY, SQUARE};
use crate::kernel::pointwise::row::Row;
use crate::kernel::reduce::ReduceLoops;
use crate::kernel::reduce::pairwise::ROWS;
use crate::shape;

/// The most elements of a result that are computed one by one.
const RESULTS: usize = 9;
/// What a step gains by being taken apart, and what each of its elements costs: of a step of arithmetic, and of one that calls
/// a function. In tenths of a nanosecond, so as to prefer loops where both take about the same time.
const GAIN: (i64, i64) = (40, 8);
const GAIN_OF_CALLS: (i64, i64) = (150, 70);
/// The most elements of an array that such results are computed from.
const OPERANDS: usize = 16;
/// The bits of -0.
const NEGATIVE_ZERO: u64 = 1 << 63;
/// The most multiplications of a matrix product that is taken apart.
const PRODUCTS: usize = 64;

/// How an element of a result is computed. An operand is told by the input that it is an element of, and by its place there
/// in C order.
enum Formula {
    Zero,
    Element(usize, usize),
    /// The sum in this order, beginning with zero.
    Sum(Vec<usize>),
    /// The sum of products in this order, beginning with zero.
    Products(Vec<(usize, usize)>),
}

/// What is known of the numbers that small arrays were taken apart into.
struct Unrolled<'a> {
    values: &'a mut Vec<Value>,
    /// By value: its elements in the order of memory.
    elements: FxHashMap<Id, Box<[Id]>>,
    /// Elements of other values, by the value and the place in its memory.
    views: FxHashMap<(Id, isize), Id>,
    zeros: FxHashMap<DType, Id>,
    /// The numbers that are never -0.
    unsigned: FxHashSet<Id>,
    steps: Vec<(Step, Way)>,
}

/// How many numbers a call is taken apart into at most.
pub(super) fn numbers(call: &Call) -> usize {
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

/// The steps of a program with those of few elements taken apart. New values are put behind the others.
pub(super) fn unrolled(values: &mut Vec<Value>, steps: Vec<(Step, Way)>, outputs: &[Id]) -> Vec<(Step, Way)> {
    let mut formulas: Vec<Option<Formulas>> =
        steps.iter().map(|(step, way)| Formulas::of(values, step, way)).collect();
    leave_to_loops(values, &steps, &mut formulas);
    let is_alone = |step: &(Step, Way)| matches!(&step.1, Way::Pointwise(p) if p.n == 1);
    let many = formulas.iter().zip(&steps).filter(|(f, step)| f.is_some() && !is_alone(step)).count();
    if many == 0 {
        return steps;
    }
    // The values that someone reads as arrays.
    let mut whole: FxHashSet<Id> = outputs.iter().map(|&id| values[id as usize].whole(id)).collect();
    for ((step, _), _) in steps.iter().zip(&formulas).filter(|(_, f)| f.is_none()) {
        whole.extend(step.ins.iter().map(|&id| values[id as usize].whole(id)));
    }
    let mut all = Unrolled {
        values,
        elements: FxHashMap::default(),
        views: FxHashMap::default(),
        zeros: FxHashMap::default(),
        unsigned: FxHashSet::default(),
        steps: vec![],
    };
    for ((step, way), formulas) in steps.into_iter().zip(formulas) {
        let Some(formulas) = formulas else {
            all.steps.push((step, way));
            continue;
        };
        let out = step.outs[0];
        let elements = match (formulas, way) {
            (Formulas::Pointwise, Way::Pointwise(p)) => all.pointwise(&step, &p),
            (Formulas::Each(formulas), _) => all.each(&step, formulas),
            (Formulas::Pointwise, _) => unreachable!("only these are computed element by element"),
        };
        if whole.contains(&out) && elements[..] != [out] {
            let step = Step { ins: elements.iter().copied().collect(), ..step };
            all.steps.push((step, Way::Pack));
        }
        all.elements.insert(out, elements);
    }
    all.steps
}

/// Leaves steps as they are where loops on arrays take no longer: in parts of the program that compute element by element
/// or sum, and neither move elements nor multiply matrices.
fn leave_to_loops(values: &[Value], steps: &[(Step, Way)], formulas: &mut [Option<Formulas>]) {
    // By step: another step of its part, or the step itself where it stands for the part.
    let mut part: Vec<usize> = (0..steps.len()).collect();
    fn found(part: &mut [usize], mut i: usize) -> usize {
        while part[i] != i {
            part[i] = part[part[i]];
            i = part[i];
        }
        i
    }
    let mut maker: FxHashMap<Id, usize> = FxHashMap::default();
    for (i, (step, _)) in steps.iter().enumerate().filter(|(i, _)| formulas[*i].is_some()) {
        for &id in &step.ins {
            if let Some(&m) = maker.get(&values[id as usize].whole(id)) {
                let (a, b) = (found(&mut part, i), found(&mut part, m));
                part[a] = b;
            }
        }
        maker.insert(step.outs[0], i);
    }
    // The most elements of a step's values.
    let most = |step: &Step| {
        let elements = |&id: &Id| shape::len(&values[id as usize].dims);
        step.ins.iter().chain(&step.outs).map(elements).max().unwrap_or(0)
    };
    let mut gains = vec![0i64; steps.len()];
    for (i, (f, (step, way))) in formulas.iter().zip(steps).enumerate() {
        let (gain, cost) = match way {
            Way::Pointwise(p) if p.row.arithmetic().is_none() => GAIN_OF_CALLS,
            _ => GAIN,
        };
        let own = match f {
            Some(Formulas::Each(each)) if !each.iter().all(|f| matches!(f, Formula::Sum(_))) => i64::MAX,
            Some(_) if most(step) > 1 => gain - cost * most(step) as i64,
            _ => 0,
        };
        let sum = &mut gains[found(&mut part, i)];
        *sum = sum.saturating_add(own);
    }
    for (i, (step, _)) in steps.iter().enumerate() {
        if most(step) > 1 && gains[found(&mut part, i)] <= 0 {
            formulas[i] = None;
        }
    }
}

/// How the elements of the one result of a step are computed.
enum Formulas {
    /// By the row of the step.
    Pointwise,
    /// In C order.
    Each(Vec<Formula>),
}

impl Formulas {
    /// None if the step is not to be taken apart.
    fn of(values: &[Value], step: &Step, way: &Way) -> Option<Formulas> {
        let [out] = step.outs[..] else { return None };
        let fits = |id: Id| {
            let value = &values[id as usize];
            let whole = &values[value.whole(id) as usize];
            value.dtype == whole.dtype && value.dtype.size() <= size_of::<u64>() && !value.dtype.is_half()
        };
        if step.ins.is_empty() || !fits(out) || !step.ins.iter().all(|&id| fits(id)) {
            return None;
        }
        if let Way::Pointwise(p) = way {
            return (p.n <= RESULTS).then_some(Formulas::Pointwise);
        }
        let dims = |id: Id| &values[id as usize].dims[..];
        let to = &values[out as usize];
        let is_small = |id: Id| shape::len(dims(id)) <= OPERANDS;
        if !matches!(to.dtype, DType::F32 | DType::F64)
            || !(1..=RESULTS).contains(&shape::len(&to.dims))
            || !step.ins.iter().all(|&id| is_small(id) && values[id as usize].dtype == to.dtype)
            || !shape::are_contiguous(&to.dims, &to.strides)
        {
            return None;
        }
        let formulas = match (step.lowered(values)?, &step.ins[..]) {
            (Loops::Fold(table, axes), &[x]) => sums(table, &axes, &values[x as usize])?,
            (Loops::Product | Loops::Dot, &[x, y]) if step.batch_ndim == 0 => products(dims(x), dims(y))?,
            (Loops::Moves(map), ins) => {
                let formula = |place: Option<_>| place.map_or(Formula::Zero, |(k, i)| Formula::Element(k, i));
                map.places(ins.iter().map(|&id| shape::len(dims(id))))?.into_iter().map(formula).collect()
            }
            _ => return None,
        };
        (formulas.len() == shape::len(&to.dims)).then_some(Formulas::Each(formulas))
    }
}

/// The formulas of a step that sums rows which are too short to be summed in another order than their own.
fn sums(table: &ReduceLoops, axes: &[usize], x: &Value) -> Option<Vec<Formula>> {
    let (&first, &last) = (axes.first()?, axes.last()?);
    let n: usize = x.dims.get(first..=last)?.iter().product();
    let is_in_order = axes.len() == last + 1 - first && shape::are_contiguous(&x.dims, &x.strides);
    if table.sums.is_none() || !is_in_order || n >= ROWS {
        return None;
    }
    let (outer, inner): (usize, usize) =
        (x.dims[..first].iter().product(), x.dims[last + 1..].iter().product());
    let rows = (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i)));
    Some(rows.map(|(o, i)| Formula::Sum((0..n).map(|j| (o * n + j) * inner + i).collect())).collect())
}

/// The formulas of a product of matrices or vectors that is computed by the definition.
fn products(x: &[usize], y: &[usize]) -> Option<Vec<Formula>> {
    if let (&[n], &[_]) = (x, y) {
        // The inner product of two vectors is summed in a tree; that of short ones in their order.
        return (n < 4).then(|| vec![Formula::Products((0..n).map(|i| (i, i)).collect())]);
    }
    let (&[m, k], &[rows, n]) = (x, y) else { return None };
    if rows != k || m * k * n > PRODUCTS || !matmul::is_by_definition(m, k, n) {
        return None;
    }
    let at = |i: usize| (i / n, i % n);
    let terms = |(r, c): (usize, usize)| (0..k).map(move |p| (r * k + p, p * n + c)).collect();
    Some((0..m * n).map(|i| Formula::Products(terms(at(i)))).collect())
}

impl Unrolled<'_> {
    fn add(&mut self, dtype: DType, origin: Origin) -> Id {
        let id = self.values.len() as Id;
        self.values.push(Value { origin, dtype, dims: smallvec![], strides: smallvec![] });
        id
    }

    /// The number that lies this many elements after the first of a value.
    fn element(&mut self, id: Id, offset: isize) -> Id {
        let value = &self.values[id as usize];
        let (dtype, whole) = (value.dtype, value.whole(id));
        let at = offset + value.begin();
        if let Some(elements) = self.elements.get(&whole) {
            return elements[at as usize];
        }
        if let Some(&id) = self.views.get(&(whole, at)) {
            return id;
        }
        let id = self.add(dtype, Origin::View { of: whole, offset: at });
        self.views.insert((whole, at), id);
        id
    }

    /// The number at a place of a value in C order.
    fn at(&mut self, id: Id, place: usize) -> Id {
        let value = &self.values[id as usize];
        let offset = shape::offset(place, &value.dims, &value.strides);
        self.element(id, offset)
    }

    fn zero(&mut self, dtype: DType) -> Id {
        if let Some(&id) = self.zeros.get(&dtype) {
            return id;
        }
        let id = self.add(dtype, Origin::Constant(Array::full_of(dtype, &[], 0.0)));
        self.zeros.insert(dtype, id);
        id
    }

    /// The number that a value is, if that is a constant.
    fn constant(&self, id: Id) -> Option<f64> {
        let value = &self.values[id as usize];
        match (&value.origin, &self.values[value.whole(id) as usize].origin) {
            (Origin::Constant(a), _) if a.len() == 1 => a.item().to_f64(),
            (&Origin::View { offset, .. }, Origin::Constant(a)) if a.dtype() == value.dtype => {
                a.restride(&[], &[], offset).item().to_f64()
            }
            _ => None,
        }
    }

    /// A step that computes one number from others, in the place of `of`. Where a sum is one of its operands as it is, it takes no
    /// step.
    fn push(
        &mut self,
        of: &Step,
        (row, has_single): (Row, bool),
        ins: SmallVec<[Id; 4]>,
        out: Option<Id>,
    ) -> Id {
        let is_unsigned = |id: Id| {
            let is_one = |x: f64| x.to_bits() != NEGATIVE_ZERO && !x.is_nan();
            self.unsigned.contains(&id) || self.constant(id).is_some_and(is_one)
        };
        let mut gets_no_sign = false;
        if row.formula == ADD.formula {
            let is_zero = |id: Id| self.constant(id).is_some_and(|x| x.to_bits() == 0);
            // Only -0 has other bits after 0 has been added.
            if let Some(k) = (0..2).find(|&k| is_zero(ins[1 - k]) && is_unsigned(ins[k])) {
                return ins[k];
            }
            gets_no_sign = ins.iter().any(|&id| is_unsigned(id));
        } else if row.formula == MULTIPLY.formula {
            gets_no_sign = ins[0] == ins[1];
        } else if row.formula == SQUARE.formula || row.formula == ABSOLUTE.formula {
            gets_no_sign = true;
        }
        let out = out.unwrap_or_else(|| self.add(row.out, Origin::Made));
        let way = Way::Pointwise(Pointwise::of_numbers(row, &ins, has_single));
        let step = Step { op: of.op.clone(), batch_ndim: 0, ins, outs: smallvec![out], site: of.site };
        self.steps.push((step, way));
        if gets_no_sign {
            self.unsigned.insert(out);
        }
        out
    }

    fn pointwise(&mut self, step: &Step, p: &Pointwise) -> Box<[Id]> {
        let n = p.n;
        let own = (n == 1).then_some(step.outs[0]);
        (0..n)
            .map(|i| {
                let mut ins: SmallVec<[Id; 4]> =
                    p.places(i).map(|(id, offset)| self.element(id, offset)).collect();
                if p.repeats_second() {
                    ins.swap(0, 1);
                }
                self.push(step, (p.row, p.has_single), ins, own)
            })
            .collect()
    }

    fn each(&mut self, step: &Step, formulas: Vec<Formula>) -> Box<[Id]> {
        let out = step.outs[0];
        let dtype = self.values[out as usize].dtype;
        let own = (formulas.len() == 1).then_some(out);
        let row =
            |table: &BinaryLoops| (table.row(dtype, [0.0; 3]).expect("there are loops for floats"), true);
        let (add, multiply) = (row(ADD), row(MULTIPLY));
        let mut elements = vec![];
        for formula in formulas {
            let mut sum = self.zero(dtype);
            match formula {
                Formula::Zero => {}
                Formula::Element(k, place) => sum = self.at(step.ins[k], place),
                Formula::Sum(places) => {
                    let last = places.len().wrapping_sub(1);
                    for (j, place) in places.into_iter().enumerate() {
                        let x = self.at(step.ins[0], place);
                        sum = self.push(step, add, smallvec![sum, x], own.filter(|_| j == last));
                    }
                }
                Formula::Products(places) => {
                    let last = places.len().wrapping_sub(1);
                    for (j, (x, y)) in places.into_iter().enumerate() {
                        let (x, y) = (self.at(step.ins[0], x), self.at(step.ins[1], y));
                        let product = self.push(step, multiply, smallvec![x, y], None);
                        sum = self.push(step, add, smallvec![sum, product], own.filter(|_| j == last));
                    }
                }
            }
            elements.push(sum);
        }
        elements.into()
    }
}
