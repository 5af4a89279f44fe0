//! A trace as a program.

use std::any::TypeId;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::apart::{numbers, taken_apart};
use super::beside::beside;
use super::lowered::{loops_of, way_of};
use super::outer::outer_products;
use super::parts::{Id, Origin, Schedule, Step, Value};
use super::plan::planned;
use super::way::{PointwiseKey, Way, share_slopes};
use super::{Counts, Program};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::modes;
use crate::graph::trace::Call;
use crate::graph::write_op;
use crate::kernel::sequence::Loop;
use crate::memory;

/// The values of a trace, found by the memory they lie in.
#[derive(Default)]
struct Values {
    values: Vec<Value>,
    /// By buffer: the value that was made in it, and the bytes from the buffer to its first element, which may lie before it.
    memory: FxHashMap<usize, (Id, isize)>,
    views: FxHashMap<View, Id>,
    /// The constants, which keep their address while the values are looked for.
    constants: FxHashMap<usize, Id>,
    /// Those of one float, by its bits.
    numbers: FxHashMap<(DType, SmallVec<[usize; 4]>, u64), Id>,
}

/// What tells a view of a value from another.
#[derive(PartialEq, Eq, Hash)]
struct View {
    of: Id,
    offset: isize,
    dims: SmallVec<[usize; 4]>,
    strides: SmallVec<[isize; 4]>,
    is_real_part: bool,
}

impl Values {
    fn add(&mut self, a: &Array, origin: Origin) -> Id {
        let id = self.values.len() as Id;
        self.values.push(Value { origin, dtype: a.dtype(), dims: a.dims().into(), strides: a.strides() });
        id
    }

    /// A value that has memory of its own.
    fn made(&mut self, a: &Array, origin: Origin) -> Id {
        let id = self.add(a, origin);
        let (buffer, offset) = a.place();
        self.memory.insert(buffer, (id, offset as isize));
        id
    }

    /// The value of an array that was sealed in the trace: one that an op made, or a view of such.
    fn find(&mut self, a: &Array) -> Option<Id> {
        if !a.has_place() {
            return None;
        }
        let (buffer, start) = a.place();
        let &(of, first) = self.memory.get(&buffer)?;
        let whole = &self.values[of as usize];
        let offset = (start as isize - first) / a.dtype().size() as isize;
        if offset == 0
            && whole.dtype == a.dtype()
            && whole.dims.as_slice() == a.dims()
            && whole.strides == a.strides()
        {
            return Some(of);
        }
        let key = View {
            of,
            offset,
            dims: a.dims().into(),
            strides: a.strides().as_slice().into(),
            is_real_part: whole.dtype != a.dtype(),
        };
        if let Some(&id) = self.views.get(&key) {
            return Some(id);
        }
        let id = self.add(a, Origin::View { of, offset });
        self.views.insert(key, id);
        Some(id)
    }

    /// Whether arrays have the layouts of values.
    fn are_like(&self, arrays: &[Array], ids: &[Id]) -> bool {
        arrays.len() == ids.len()
            && arrays.iter().zip(ids).all(|(x, &id)| {
                let value = &self.values[id as usize];
                x.has_place()
                    && value.dtype == x.dtype()
                    && value.dims.as_slice() == x.dims()
                    && value.strides == x.strides()
            })
    }

    /// Notes that an array holds a value that was made elsewhere.
    fn also(&mut self, x: &Array, id: Id) {
        let (buffer, start) = x.place();
        // Views of the array are views of what the value is a view of.
        let at = match self.values[id as usize].origin {
            Origin::View { of, offset } => (of, start as isize - offset * x.dtype().size() as isize),
            _ => (id, start as isize),
        };
        self.memory.insert(buffer, at);
    }

    fn find_or_constant(&mut self, a: &Array) -> Id {
        if let Some(id) = self.find(a) {
            return id;
        }
        if let Some(&id) = self.constants.get(&a.identity()) {
            return id;
        }
        let number = (a.len() == 1 && matches!(a.dtype(), DType::F32 | DType::F64))
            .then(|| a.item().to_f64())
            .flatten()
            .filter(|x| !x.is_nan())
            .map(|x| (a.dtype(), a.dims().into(), x.to_bits()));
        if let Some(&id) = number.as_ref().and_then(|number| self.numbers.get(number)) {
            return id;
        }
        let id = self.add(a, Origin::Constant(a.clone()));
        self.constants.insert(a.identity(), id);
        if let Some(number) = number {
            self.numbers.insert(number, id);
        }
        id
    }

    fn is_constant(&self, id: Id) -> bool {
        matches!(self.values[self.whole(id) as usize].origin, Origin::Constant(_))
    }

    /// Notes an array that depends on constants alone, so that it is one itself.
    fn computed(&mut self, x: &Array) {
        if self.find(x).is_none() {
            self.made(x, Origin::Constant(x.clone()));
        }
    }

    /// How a call is run, from these values.
    fn way(&self, call: &Call, ins: &[Id]) -> Way {
        let [out] = &call.outs[..] else { return Way::Op };
        // A view is no step, or a copy.
        let loops = if call.op.is_view() { None } else { loops_of(call) };
        let out = (out.dtype(), out.layout());
        loops.map_or(Way::Op, |loops| way_of(&self.values, &loops, ins, &out, call.batch_ndim))
    }

    /// The value whose memory a value lies in.
    fn whole(&self, id: Id) -> Id {
        self.values[id as usize].whole(id)
    }
}

/// What computes the same as another step with an equal one.
#[derive(PartialEq, Eq, Hash)]
enum Expression {
    Pointwise(PointwiseKey),
    Op(TypeId, Vec<u8>, SmallVec<[Id; 4]>, usize),
}

/// The steps of a trace that are no views, no repetitions and no constants.
#[derive(Default)]
struct Building {
    values: Values,
    steps: Vec<(Step, Way)>,
    /// By expression: the values that have been computed by it.
    known: FxHashMap<Expression, SmallVec<[Id; 1]>>,
}

impl Building {
    /// None if an op makes some of its results, and others are views.
    fn add(&mut self, call: &Call) -> Option<()> {
        let v = &mut self.values;
        let ins: SmallVec<[Id; 4]> = call.ins.iter().map(|x| v.find_or_constant(x)).collect();
        let way = v.way(call, &ins);
        let is_all = |k: usize, number| v.values[ins[k] as usize].is_all(number);
        let same = way.pointwise().and_then(|p| p.unchanged(is_all));
        if let Some(id) = same.map(|k| ins[k])
            && v.are_like(&call.outs, &[id])
        {
            v.also(&call.outs[0], id);
            return Some(());
        }
        let expression = match way.pointwise() {
            Some(p) => Some(Expression::Pointwise(p.key())),
            None => fields(call)
                .map(|fields| Expression::Op(call.op.kind(), fields, ins.clone(), call.batch_ndim)),
        };
        if let Some(outs) = expression.as_ref().and_then(|e| self.known.get(e))
            && v.are_like(&call.outs, outs)
        {
            call.outs.iter().zip(outs).for_each(|(x, &id)| v.also(x, id));
            return Some(());
        }
        if expression.is_some() && ins.iter().all(|&id| v.is_constant(id)) {
            call.outs.iter().for_each(|x| v.computed(x));
            return Some(());
        }
        let before = v.values.len();
        let outs: SmallVec<[Id; 1]> =
            call.outs.iter().map(|x| v.find(x).unwrap_or_else(|| v.made(x, Origin::Made))).collect();
        // An op that only views its input makes nothing.
        let makes = |&id: &Id| id as usize >= before && matches!(v.values[id as usize].origin, Origin::Made);
        if !outs.iter().all(makes) {
            return (!outs.iter().any(makes)).then_some(());
        }
        if let Some(expression) = expression {
            self.known.insert(expression, outs.clone());
        }
        let Call { op, batch_ndim, site, .. } = call;
        let (op, batch_ndim, site) = (op.clone(), *batch_ndim, *site);
        self.steps.push((Step { op, batch_ndim, ins, outs, site }, way));
        Some(())
    }
}

/// The bytes that a call takes while a program is made, and each number that it is taken apart into.
const ROOM: (usize, usize) = (8 << 10, 1 << 10);

impl Program {
    /// Looks whether there is room to make a program of these calls, which cannot report that there is none.
    ///
    /// # Errors
    /// There is none.
    pub fn ensure_room(calls: &[Call]) -> Result<()> {
        let (of_call, of_number) = ROOM;
        Ok(memory::ensure(calls.iter().map(|call| of_call + of_number * numbers(call)).sum())?)
    }

    /// The program of a trace: what computes `outputs` from `inputs`, and nothing else. All arrays are without seals.
    /// None if a value is a view that a program cannot make.
    pub fn new(inputs: &[Array], calls: &[Call], outputs: &[Array]) -> Option<Program> {
        let mut all = Building::default();
        for x in inputs {
            all.values.made(x, Origin::Input);
        }
        for call in calls {
            all.add(call)?;
        }
        let Building { values: mut v, steps, .. } = all;
        let outputs: Vec<Id> = outputs.iter().map(|x| v.find_or_constant(x)).collect();
        // A view of another dtype is one of the parts of complex numbers.
        let viewable = |value: &Value| match value.origin {
            Origin::View { of, .. } => {
                let whole = v.values[of as usize].dtype;
                whole == value.dtype || whole.is_complex() && whole.real() == value.dtype
            }
            _ => true,
        };
        if !v.values.iter().all(viewable) {
            return None;
        }
        let distinct = steps.len();
        let steps = needed(&v, steps, &outputs);
        let counts = Counts { recorded: calls.len(), distinct, needed: steps.len() };
        Some(Program::of(inputs.len(), v.values, steps, outputs, counts))
    }
}

impl Program {
    /// The program that consists of these steps, each of which computes what later ones read.
    pub(super) fn of(
        inputs: usize,
        mut values: Vec<Value>,
        steps: Vec<(Step, Way)>,
        outputs: Vec<Id>,
        counts: Counts,
    ) -> Program {
        let all: Vec<Step> = steps.iter().map(|(step, _)| step.clone()).collect();
        let can_repeat = all.iter().all(|step| !step.is_in_order() && !step.op.decides());
        let steps = beside(&values, steps);
        let steps = outer_products(&mut values, steps);
        let mut steps = taken_apart(&mut values, steps, &outputs);
        if modes::with(|m| m.contracts) {
            for (_, way) in &mut steps {
                if let Way::Pointwise(p) = way {
                    p.contract();
                }
            }
        }
        share_slopes(&mut steps);
        let schedule = Schedule::new(&values, planned(&values, steps, &outputs), &outputs);
        let is_short = schedule.is_short();
        let known: FxHashMap<Id, usize> =
            schedule.results.iter().enumerate().map(|(k, &id)| (id, k)).collect();
        let place = |&id: &Id| known.get(&values[id as usize].whole(id)).copied();
        let places = outputs.iter().map(place).collect();
        Program {
            inputs,
            values,
            steps: all,
            schedule,
            repeated: can_repeat.then(Loop::default),
            outputs,
            places,
            is_short,
            is_from_file: false,
            counts,
        }
    }

    /// The values that the second part of a trace reads (or returns, as `outputs`) and the first part, or the inputs of
    /// the trace, have.
    pub fn read_by(inputs: &[Array], first: &[Call], second: &[Call], outputs: &[Array]) -> Vec<Array> {
        let mut own: FxHashMap<usize, &Array> = FxHashMap::default();
        for x in inputs.iter().chain(first.iter().flat_map(|c| &c.outs)).filter(|x| x.has_place()) {
            own.entry(x.place().0).or_insert(x);
        }
        let mut saved = vec![];
        for x in second.iter().flat_map(|c| &c.ins).chain(outputs).filter(|x| x.has_place()) {
            if let Some(x) = own.remove(&x.place().0) {
                saved.push(x.clone());
            }
        }
        saved
    }
}

/// The fields of an op that computes the same for equal fields and inputs: it draws no random numbers, and files know all that
/// it keeps, which is not much.
fn fields(call: &Call) -> Option<Vec<u8>> {
    const FEW: usize = 4096;
    let mut fields = vec![];
    let is_known =
        !call.may_draw() && (size_of_val(&*call.op) == 0 || write_op(&*call.op, &mut fields).is_some());
    (is_known && fields.len() <= FEW).then_some(fields)
}

/// The steps that the outputs depend on.
fn needed(v: &Values, steps: Vec<(Step, Way)>, outputs: &[Id]) -> Vec<(Step, Way)> {
    let mut read = vec![false; v.values.len()];
    outputs.iter().for_each(|&id| read[v.whole(id) as usize] = true);
    let mut kept = vec![];
    for (step, pointwise) in steps.into_iter().rev() {
        // Random numbers that follow depend on how many were drawn, so what stays in order is needed.
        if step.is_in_order() || step.op.decides() || step.outs.iter().any(|&id| read[id as usize]) {
            step.ins.iter().for_each(|&id| read[v.whole(id) as usize] = true);
            kept.push((step, pointwise));
        }
    }
    kept.reverse();
    kept
}
