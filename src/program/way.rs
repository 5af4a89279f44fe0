//! How the steps of a program can be run: element by element, as a fold, or as its op does.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::parts::{Applied, Id, Step};
use crate::array::Layout;
use crate::dtype::DType;
use crate::kernel::broadcast::joined;
use crate::kernel::pointwise::expressions::{ADD, MULTIPLY, SUBTRACT};
use crate::kernel::pointwise::row::{PairLoop, Row, RowKey};
use crate::kernel::pointwise::{pairs, power};
use crate::kernel::reduce::ReduceLoops;
use crate::kernel::reduce::tiles::RowFold;
use crate::kernel::sequence::Kernel;
use crate::shape;

/// How a plan runs a step.
pub(super) enum Way {
    Pointwise(Pointwise),
    /// A fold of rows, which can come in tiles.
    Fold(RowFold),
    /// An array of single numbers, which are the inputs of the step in the order of the array's memory.
    Pack,
    /// A kernel that computes its results and those of this other op.
    Kernel(Box<dyn Kernel>, Applied),
    /// Whatever its op does.
    Op,
}

impl Way {
    pub fn pointwise(&self) -> Option<&Pointwise> {
        match self {
            Way::Pointwise(p) => Some(p),
            _ => None,
        }
    }

    /// A fold by these loops over these axes, from the dtypes and layouts of its input and of its result. None if the rows that
    /// it folds are not adjacent.
    pub fn fold(
        (table, axes): (&'static ReduceLoops, &[usize]),
        (dtype, x): &(DType, Layout),
        (out_dtype, out): &(DType, Layout),
    ) -> Option<Way> {
        if shape::len(&x.dims) < 2 {
            return None;
        }
        let (&first, &last) = (axes.first()?, axes.last()?);
        let len = |dims: &[usize]| dims.iter().product::<usize>();
        let (rows, n) = (len(x.dims.get(..first)?), len(x.dims.get(first..=last)?));
        let are_adjacent = axes.len() == last + 1 - first && len(&x.dims[last + 1..]) == 1;
        // The sum of all elements is that of the elements in their order in memory.
        let are_in_order = x.is_contiguous() || rows == 1 && x.dense_order().is_some();
        if !are_adjacent || !are_in_order || !out.is_contiguous() {
            return None;
        }
        let fold = RowFold::new(table, *dtype, (rows, n))?;
        (fold.makes(*out_dtype) && shape::len(&out.dims) == rows).then_some(Way::Fold(fold))
    }
}

/// A step that computes element by element.
#[derive(Clone)]
pub(super) struct Pointwise {
    pub row: Row,
    pub ins: SmallVec<[Place; 3]>,
    /// The number of elements.
    pub n: usize,
    /// Whether it computes a single number, and that or an operand does not fit into a cell.
    is_wide: bool,
    /// Whether the second operand is one number for all elements, which some loops look at first.
    pub has_single: bool,
}

/// How a step reads an operand: the axes in the order of the memory of its results, outermost first. None where the
/// elements lie as those of the results do.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub id: Id,
    pub axes: Option<Box<[(usize, isize)]>>,
}

/// What makes two steps compute the same: the formula, the operands and the number of elements.
pub(super) type PointwiseKey = (RowKey, SmallVec<[Place; 3]>, usize);

impl Pointwise {
    /// A step that computes element by element, from the dtypes and layouts of its operands and of its result. None if it
    /// does more than to apply a loop, or if a cluster cannot make its result.
    pub fn new(
        row: Row,
        ins: &[(DType, Layout)],
        ids: &[Id],
        (dtype, out): &(DType, Layout),
        batch_ndim: usize,
    ) -> Option<Pointwise> {
        let (dims, n) = (&out.dims, shape::len(&out.dims));
        // What a program says of its values, a file or a hand-made trace may have said.
        if !row.takes(ins.iter().map(|(d, _)| *d)) {
            return None;
        }
        // Single numbers of half dtypes are no cells that formulas compute with.
        let is_half = dtype.is_half() || ins.iter().any(|(d, _)| d.is_half());
        if n == 0 || (n == 1 && is_half) || row.out != *dtype {
            return None;
        }
        let order = if out.is_contiguous() { None } else { Some(out.dense_order()?) };
        let mut places = SmallVec::new();
        for ((_, x), &id) in ins.iter().zip(ids) {
            let x = x.broadcast(dims, batch_ndim)?;
            let x = order.as_ref().map_or(x.clone(), |order| x.permute(order));
            let axes = joined(&x.dims, &[x.strides]).into_iter().map(|(d, [step])| (d, step));
            let axes: SmallVec<[(usize, isize); 4]> = axes.collect();
            let axes = (!matches!(axes[..], [] | [(_, 1)])).then(|| axes.into_boxed_slice());
            places.push(Place { id, axes });
        }
        let is_wide =
            n == 1 && ins.iter().map(|(d, _)| *d).chain([*dtype]).any(|d| d.size() > size_of::<u64>());
        let has_single = places.get(1).is_some_and(|place: &Place| place.is_one_element(n));
        Some(Pointwise { row, ins: places, n, is_wide, has_single })
    }

    /// A step that computes a part of an array, from operands whose elements lie at these distances. One element is computed as
    /// in the array, with one second operand or several.
    pub fn of_parts(
        row: Row,
        ins: impl Iterator<Item = (Id, isize)>,
        n: usize,
        has_single: bool,
    ) -> Pointwise {
        let axes = |stride| (n > 1 && stride != 1).then(|| [(n, stride)].into());
        let ins: SmallVec<[Place; 3]> = ins.map(|(id, stride)| Place { id, axes: axes(stride) }).collect();
        let own = ins.get(1).is_some_and(|place: &Place| place.is_one_element(n));
        Pointwise { row, ins, n, is_wide: false, has_single: if n == 1 { has_single } else { own } }
    }

    /// Whether a sum or product has its second operand, which is one number for all elements, in a register. If both
    /// operands are NaN, it is that one which such a loop gives back.
    pub fn repeats_second(&self) -> bool {
        let commutes = [ADD.formula, MULTIPLY.formula].contains(&self.row.formula);
        self.n > 1 && commutes && self.has_single && !self.ins[0].is_one_element(self.n)
    }

    /// What steps of one cluster have in common: the number of elements, and whether a single one is too wide for a cell.
    pub fn kind(&self) -> (usize, bool) {
        (self.n, self.is_wide)
    }

    /// The operands of element `i` in memory: the values, and how many elements after their first one they lie.
    pub fn places(&self, i: usize) -> impl Iterator<Item = (Id, isize)> {
        self.ins.iter().map(move |place| match &place.axes {
            None => (place.id, i as isize),
            Some(axes) => {
                let (mut left, mut offset) = (i, 0);
                for &(d, step) in axes.iter().rev() {
                    offset += (left % d) as isize * step;
                    left /= d;
                }
                (place.id, offset)
            }
        })
    }

    /// Lets its results be rounded together with those of the step that reads them.
    pub fn contract(&mut self) {
        self.row.contracts = true;
    }

    /// The step, where a power with one of these exponents is a formula of its own.
    pub fn with_exponent(mut self, is_all: impl Fn(usize, f64) -> bool) -> Pointwise {
        // The loop has no such formulas for one base of many results.
        let has_formulas = self.n == 1 || !self.ins[0].is_one_element(self.n);
        if self.row.formula == power::POWER.formula && self.has_single && has_formulas {
            let own = power::EXPONENTS.into_iter().find(|(exponent, _)| is_all(1, *exponent));
            self.row.formula = own.map_or(self.row.formula, |(_, [own, _])| own);
        }
        self
    }

    /// The operand that the step returns as it is, if that is so because of the numbers of the other one: `x * 1`, `1 * x`
    /// and `x - 0` have every bit of `x`.
    pub fn unchanged(&self, is_all: impl Fn(usize, f64) -> bool) -> Option<usize> {
        match self.row.formula {
            product if product == MULTIPLY.formula => (0..2).find(|&k| is_all(1 - k, 1.0)),
            difference if difference == SUBTRACT.formula => is_all(1, 0.0).then_some(0),
            _ => None,
        }
    }

    /// The loop that computes this step and another one, which has the same numbers as its last operand, at once.
    pub fn pair(&self, other: &Pointwise) -> Option<PairLoop> {
        let (x, same) = (self.ins.first()?, other.ins.last()?);
        let is_one = self.n == 1 || x.is_one_element(self.n);
        (!is_one && self.n == other.n && x == same).then(|| pairs::pair(&self.row, &other.row))?
    }

    /// What makes two steps compute the same.
    pub fn key(&self) -> PointwiseKey {
        (self.row.key(), self.ins.clone(), self.n)
    }
}

impl Place {
    pub fn is_one_element(&self, n: usize) -> bool {
        n == 1 || matches!(self.axes.as_deref(), Some([(_, 0)]))
    }
}

/// Makes a step that computes the product of a slope and another number read the slope, if an earlier step computes that.
pub(super) fn share_slopes(steps: &mut [(Step, Way)]) {
    let factors = |way: &Way| pairs::factors(&way.pointwise()?.row);
    if !steps.iter().any(|(_, way)| factors(way).is_some()) {
        return;
    }
    // By value: the last step that reads it alone.
    let mut readers: FxHashMap<Id, usize> = FxHashMap::default();
    for k in 0..steps.len() {
        let (before, rest) = steps.split_at_mut(k);
        let (step, way) = &mut rest[0];
        let factors = factors(way);
        let Way::Pointwise(p) = way else { continue };
        let Some(x) = p.ins.last().map(|x| x.id) else { continue };
        let Some((slope, product)) = factors else {
            if p.ins.len() == 1 && pairs::is_derivative(&p.row) {
                readers.insert(x, k);
            }
            continue;
        };
        let known = readers.get(&x).map(|&k| &before[k]);
        let own = Pointwise { row: slope, ins: p.ins[1..].into(), ..*p };
        if let Some((known, Way::Pointwise(same))) = known
            && same.key() == own.key()
        {
            let id = known.outs[0];
            (p.row, p.ins[1], p.has_single) = (product, Place { id, axes: None }, p.n == 1);
            step.ins[1] = id;
        }
    }
}
