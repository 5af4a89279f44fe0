//! Arrays of few columns are computed column by column. The gradient of a column is an array whose other columns are zeros, and
//! a trace adds such arrays. A program adds the columns alone, in one loop with other formulas of as many elements.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::parts::{Id, Origin, Step, Value};
use super::way::{Pointwise, Way};
use crate::array::{Array, Layout};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Cotangents, Grads, Loops, NeedsGrad, Op, Operands, Outputs, Saved, Saves};
use crate::kernel::copy::{IndexMap, Part, assemble};
use crate::kernel::pointwise::expressions::ADD;
use crate::shape::{self, Dims};

/// The fewest elements of a column.
const FEWEST: usize = 8;
/// The most columns of an array.
const COLUMNS: usize = 8;
/// The most elements of an array.
const ELEMENTS: usize = 4096;

/// A column: where it lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Column {
    Zero,
    /// In the memory of a value: the place of its first element, and how far the next one is from there.
    At(Id, isize, isize),
}

/// About how many elements are moved in the time in which a kernel or a loop is called.
const CALL: usize = 30;

/// What is known of the numbers of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Zero,
    /// None is -0.
    Unsigned,
    Any,
}

/// What a step that computes columns reads: by column, each operand. There are at most three.
type ColumnOperands = Vec<[Column; 3]>;

/// The number of elements and of columns of a value. None if it is not to be taken apart.
fn sizes(value: &Value) -> Option<(usize, usize)> {
    let (&n, rest) = value.dims.split_first()?;
    let columns = shape::len(rest);
    let is_float = matches!(value.dtype, DType::F32 | DType::F64);
    let fits = n >= FEWEST && (1..=COLUMNS).contains(&columns) && n * columns <= ELEMENTS;
    (is_float && fits && shape::are_contiguous(&value.dims, &value.strides)).then_some((n, columns))
}

/// The columns that a step moves to the columns of its result.
fn of_moves(values: &[Value], step: &Step) -> Option<ColumnOperands> {
    let &[out] = &step.outs[..] else { return None };
    let (n, columns) = sizes(&values[out as usize]).filter(|(_, columns)| *columns > 1)?;
    let are_alike = |id: &Id| {
        let x = &values[*id as usize];
        x.dtype == values[out as usize].dtype && shape::len(&x.dims) <= ELEMENTS
    };
    if !step.ins.iter().all(are_alike) {
        return None;
    }
    let places = step.moved(values).filter(|places| places.len() == n * columns)?;
    let at = |i: usize| {
        places[i].map(|(k, place)| {
            let (id, x) = (step.ins[k], &values[step.ins[k] as usize]);
            (x.whole(id), x.begin() + shape::offset(place, &x.dims, &x.strides))
        })
    };
    let mut all = vec![];
    for c in 0..columns {
        let (column, place) = match at(c) {
            None => (Column::Zero, None),
            Some((id, first)) => {
                let apart = at(columns + c)?.1 - first;
                (Column::At(id, first, apart), Some((id, first, apart)))
            }
        };
        let is_there = |i: usize| {
            at(i * columns + c) == place.map(|(id, first, apart)| (id, first + i as isize * apart))
        };
        if !(1..n).all(is_there) {
            return None;
        }
        all.push([column, Column::Zero, Column::Zero]);
    }
    Some(all)
}

/// The columns that a step computes those of its result from.
fn of_formula(values: &[Value], step: &Step) -> Option<ColumnOperands> {
    let out = &values[step.outs[0] as usize];
    let (_, columns) = sizes(out)?;
    let mut all: ColumnOperands = vec![[Column::Zero; 3]; columns];
    for (k, &id) in step.ins.iter().enumerate() {
        let x = &values[id as usize];
        let whole = x.whole(id);
        let layout = x.laid_out().1.broadcast(&out.dims, step.batch_ndim)?;
        let (&apart, rest) = layout.strides.split_first()?;
        // A loop may treat one number for all elements in its own way.
        let is_one = shape::len(&x.dims) == 1;
        if values[whole as usize].dtype != x.dtype || apart == 0 && !is_one {
            return None;
        }
        for (c, own) in all.iter_mut().enumerate() {
            own[k] = Column::At(whole, x.begin() + shape::offset(c, &out.dims[1..], rest), apart);
        }
    }
    Some(all)
}

struct Taken<'a> {
    values: &'a mut Vec<Value>,
    /// By value that is taken apart: the place of its columns in the list.
    taken: FxHashMap<Id, usize>,
    columns: Vec<Vec<Column>>,
    /// By value and place: the column that begins there, as a value that was met last.
    views: FxHashMap<(Id, isize), Id>,
    zeros: FxHashMap<DType, Id>,
    /// The values without an element that is -0.
    unsigned: FxHashSet<Id>,
    steps: Vec<(Step, Way)>,
}

/// By step that computes columns, what it reads, and the values that are arrays all the same, because others read them. None if
/// arrays take no longer.
fn planned(
    values: &[Value],
    steps: &[(Step, Way)],
    outputs: &[Id],
) -> Option<(Vec<Option<ColumnOperands>>, FxHashSet<Id>)> {
    // By value that can be taken apart: its place in the list of what is known of its columns.
    let mut known: FxHashMap<Id, usize> = FxHashMap::default();
    let mut signs: Vec<Vec<Sign>> = vec![];
    let mut found: Vec<Option<ColumnOperands>> = vec![];
    // How many elements less are moved.
    let mut gain = 0;
    for (step, way) in steps {
        let is_known = |id: &Id| known.contains_key(&values[*id as usize].whole(*id));
        let own = match way {
            Way::Op => of_moves(values, step),
            Way::Pointwise(_) if step.ins.iter().any(is_known) => of_formula(values, step),
            _ => None,
        };
        let is_sum = matches!(way, Way::Pointwise(p) if p.row.formula == ADD.formula);
        let (mut made, mut own_gain, mut fits) = (vec![], CALL as isize, own.is_some());
        for ins in own.iter().flatten() {
            let mut of = [Sign::Zero; 3];
            for (sign, &column) in of.iter_mut().zip(ins) {
                let Column::At(id, place, apart) = column else { continue };
                *sign = Sign::Any;
                if let Some(&list) = known.get(&id) {
                    fits &= apart == signs[list].len() as isize && (0..apart).contains(&place);
                    *sign = if fits { signs[list][place as usize] } else { Sign::Any };
                }
            }
            made.push(match (way, of) {
                (Way::Op, [x, ..]) => {
                    own_gain += values[step.outs[0] as usize].dims[0] as isize;
                    x
                }
                (_, [Sign::Zero, x, _] | [x, Sign::Zero, _]) if is_sum && x != Sign::Any => x,
                (_, [x, y, _]) => {
                    own_gain -= CALL as isize;
                    if is_sum && (x != Sign::Any || y != Sign::Any) { Sign::Unsigned } else { Sign::Any }
                }
            });
        }
        if !fits {
            found.push(None);
            continue;
        }
        gain += own_gain;
        if made.len() > 1 {
            known.insert(step.outs[0], signs.len());
            signs.push(made);
        }
        found.push(own);
    }
    let others = steps.iter().zip(&found).filter(|(_, own)| own.is_none());
    let read = others.flat_map(|((step, _), _)| &step.ins).chain(outputs);
    let whole: FxHashSet<Id> = read.map(|&id| values[id as usize].whole(id)).collect();
    let whole: FxHashSet<Id> = known.keys().copied().filter(|id| whole.contains(id)).collect();
    let joined = whole.iter().map(|id| shape::len(&values[*id as usize].dims) + CALL);
    (gain > joined.sum::<usize>() as isize).then_some((found, whole))
}

/// The steps of a program, where arrays of few columns that are put together from these are taken apart. New values are put
/// behind the others.
pub(super) fn in_columns(
    values: &mut Vec<Value>,
    steps: Vec<(Step, Way)>,
    outputs: &[Id],
) -> Vec<(Step, Way)> {
    let Some((found, whole)) = planned(values, &steps, outputs) else { return steps };
    let mut all = Taken {
        values,
        taken: FxHashMap::default(),
        columns: vec![],
        views: FxHashMap::default(),
        zeros: FxHashMap::default(),
        unsigned: FxHashSet::default(),
        steps: vec![],
    };
    for ((step, way), own) in steps.into_iter().zip(found) {
        match own {
            Some(own) => all.add(step, &way, own, &whole),
            None => all.steps.push((step, way)),
        }
    }
    all.steps
}

impl Taken<'_> {
    fn add(&mut self, step: Step, way: &Way, operands: ColumnOperands, whole: &FxHashSet<Id>) {
        let out = step.outs[0];
        let n = self.values[out as usize].dims[0];
        let own = (operands.len() == 1).then_some(out);
        let mut columns = vec![];
        for mut ins in operands {
            for column in &mut ins {
                *column = self.now(*column);
            }
            columns.push(match way {
                Way::Pointwise(p) => self.computed(&step, p, n, &ins[..step.ins.len()], own),
                _ => ins[0],
            });
        }
        if whole.contains(&out) {
            let Value { dtype, dims, .. } = &self.values[out as usize];
            let (dtype, op) = (*dtype, Joined { name: step.op.name(), dims: dims.clone() });
            let ins = columns.iter().map(|&column| self.value(column, n, dtype)).collect();
            self.steps.push((Step { op: Arc::new(op), batch_ndim: 0, ins, ..step }, Way::Op));
        }
        if own.is_none() {
            self.taken.insert(out, self.columns.len());
            self.columns.push(columns);
        }
    }

    /// A column of a value that is taken apart is a value of its own.
    fn now(&self, column: Column) -> Column {
        match column {
            Column::At(id, place, _) => {
                self.taken.get(&id).map_or(column, |&list| self.columns[list][place as usize])
            }
            Column::Zero => column,
        }
    }

    /// The value of a column of `n` elements.
    fn value(&mut self, column: Column, n: usize, dtype: DType) -> Id {
        let Column::At(of, offset, apart) = column else {
            let next = self.values.len() as Id;
            let id = *self.zeros.entry(dtype).or_insert(next);
            if id == next {
                let origin = Origin::Constant(Array::full_of(dtype, &[], 0.0));
                self.values.push(Value { origin, dtype, dims: smallvec![], strides: smallvec![] });
            }
            return id;
        };
        let is_it = |id: Id| {
            let x = &self.values[id as usize];
            x.dtype == dtype && x.dims[..] == [n] && x.strides[..] == [apart]
        };
        if offset == 0 && is_it(of) {
            return of;
        }
        if let Some(&id) = self.views.get(&(of, offset))
            && is_it(id)
        {
            return id;
        }
        let origin = Origin::View { of, offset };
        self.values.push(Value { origin, dtype, dims: smallvec![n], strides: smallvec![apart] });
        let id = (self.values.len() - 1) as Id;
        self.views.insert((of, offset), id);
        id
    }

    /// The column that a formula computes from other columns. A sum with a column of zeros is its other operand, and takes no
    /// step.
    fn computed(&mut self, step: &Step, p: &Pointwise, n: usize, ins: &[Column], own: Option<Id>) -> Column {
        let row = p.row;
        let is_sum = row.formula == ADD.formula;
        let is_unsigned = |column: &Column| match column {
            Column::Zero => true,
            Column::At(id, 0, 1) => self.unsigned.contains(id),
            Column::At(..) => false,
        };
        // Only -0 has other bits after 0 has been added.
        let gets_no_sign = is_sum && ins.iter().any(is_unsigned);
        if let (true, &[x, y], None) = (is_sum, ins, own) {
            match (x, y) {
                (Column::Zero, other) | (other, Column::Zero) if is_unsigned(&other) => return other,
                _ => {}
            }
        }
        let (mut ids, mut layouts): (SmallVec<[Id; 4]>, Vec<(DType, Layout)>) = (smallvec![], vec![]);
        for (&column, &of) in ins.iter().zip(&step.ins) {
            let id = self.value(column, n, self.values[of as usize].dtype);
            layouts.push(self.values[id as usize].laid_out());
            ids.push(id);
        }
        let made = (row.out, Layout::contiguous(&[n]));
        let formula =
            Pointwise::new(row, &layouts, &ids, &made, 0).expect("the formula is that of all columns");
        let out = own.unwrap_or_else(|| {
            let Layout { dims, strides, .. } = made.1;
            self.values.push(Value { origin: Origin::Made, dtype: made.0, dims, strides });
            (self.values.len() - 1) as Id
        });
        let step =
            Step { op: step.op.clone(), batch_ndim: 0, ins: ids, outs: smallvec![out], site: step.site };
        self.steps.push((step, Way::Pointwise(formula)));
        if gets_no_sign {
            self.unsigned.insert(out);
        }
        Column::At(out, 0, 1)
    }
}

/// An array of columns. One that is a single number has that everywhere.
struct Joined {
    name: &'static str,
    dims: Dims,
}

impl Joined {
    /// Where a column lies.
    fn place(&self, column: usize) -> Layout {
        let columns = shape::len(&self.dims[1..]) as isize;
        Layout { dims: smallvec![self.dims[0]], strides: smallvec![columns], offset: column as isize }
    }
}

impl Op for Joined {
    fn name(&self) -> &'static str {
        self.name
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let n = self.dims[0];
        let parts: Vec<_> = ins.iter().enumerate().map(|(c, x)| (self.place(c), x.expand(&[n], 0))).collect();
        Ok([assemble(self.name, ins[0].dtype(), &self.dims, &parts, None)?].into())
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        let part = |(operand, x): (usize, &&[usize])| {
            let from = Layout::contiguous(x).broadcast(&self.dims[..1], 0)?;
            Some(Part { operand, from, to: self.place(operand) })
        };
        let parts = ins.dims.iter().enumerate().map(part).collect::<Option<_>>()?;
        Some(Loops::Moves(IndexMap { dims: self.dims.clone(), parts }))
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no node")
    }
}
