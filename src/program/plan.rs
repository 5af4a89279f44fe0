//! How the steps of a program are run: those that compute element by element are gathered into clusters, with the folds
//! of their results.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::parts::{Gathered, Id, Origin, Piece, Step, Value};
use crate::array::Layout;
use crate::dtype::DType;
use crate::kernel::broadcast::joined;
use crate::kernel::pointwise::cluster::{Cluster, End, Read, Reading, Walk, Write};
use crate::kernel::pointwise::expressions::{ADD, MULTIPLY, SUBTRACT};
use crate::kernel::pointwise::formula::Kind;
use crate::kernel::pointwise::machine;
use crate::kernel::pointwise::pairs;
use crate::kernel::pointwise::power;
use crate::kernel::pointwise::row::{Address, Instruction, Loop, Operand, PairLoop, Row};
use crate::kernel::reduce::ReduceLoops;
use crate::kernel::reduce::tiles::{Lengths, RowFold};
use crate::shape;

/// How a plan runs a step.
pub(super) enum Way {
    Pointwise(Pointwise),
    /// A fold of rows, which can come in tiles.
    Fold(RowFold),
    /// An array of single numbers, which are the inputs of the step in the order of the array's memory.
    Pack,
    /// Whatever its op does.
    Op,
}

impl Way {
    fn pointwise(&self) -> Option<&Pointwise> {
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
    row: Row,
    ins: SmallVec<[Place; 3]>,
    /// The number of elements.
    n: usize,
    /// Whether it computes a single number, and that or an operand does not fit into a cell.
    is_wide: bool,
    /// Whether the second operand is one number for all elements, which some loops look at first.
    has_single: bool,
}

/// How a step reads an operand: the axes in the order of the memory of its results, outermost first. None where the
/// elements lie as those of the results do.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    id: Id,
    axes: Option<Box<[(usize, isize)]>>,
}

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

    /// A step that computes one number, of an array whose elements are computed with one second operand or several.
    pub fn of_numbers(row: Row, ids: &[Id], has_single: bool) -> Pointwise {
        let ins = ids.iter().map(|&id| Place { id, axes: None }).collect();
        Pointwise { row, ins, n: 1, is_wide: false, has_single }
    }

    pub fn row(&self) -> Row {
        self.row
    }

    /// Whether a sum or product has its second operand, which is one number for all elements, in a register. If both
    /// operands are NaN, it is that one which such a loop gives back.
    pub fn repeats_second(&self) -> bool {
        let commutes = [ADD.formula, MULTIPLY.formula].contains(&self.row.formula);
        self.n > 1 && commutes && self.has_single && !self.ins[0].is_one_element(self.n)
    }

    /// Whether the second operand is one number for all elements.
    pub fn has_single(&self) -> bool {
        self.has_single
    }

    /// What steps of one cluster have in common: the number of elements, and whether a single one is too wide for a cell.
    fn kind(&self) -> (usize, bool) {
        (self.n, self.is_wide)
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.n
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
    fn pair(&self, other: &Pointwise) -> Option<PairLoop> {
        let (x, same) = (self.ins.first()?, other.ins.last()?);
        let is_one = self.n == 1 || x.is_one_element(self.n);
        (!is_one && self.n == other.n && x == same).then(|| pairs::pair(&self.row, &other.row))?
    }

    /// What makes two steps compute the same.
    pub fn key(&self) -> impl Eq + std::hash::Hash + use<> {
        (self.row.key(), self.ins.clone(), self.n)
    }
}

impl Place {
    fn is_one_element(&self, n: usize) -> bool {
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

/// Where values lie: in the memory of others, or in their own.
struct Memory<'a>(&'a [Value]);

impl Memory<'_> {
    /// The value that has the memory, and how many bytes after its beginning the value begins.
    fn whole(&self, id: Id) -> (Id, isize) {
        match self.0[id as usize].origin {
            Origin::View { of, offset } => (of, offset * self.0[id as usize].dtype.size() as isize),
            _ => (id, 0),
        }
    }

    fn dtype(&self, id: Id) -> DType {
        self.0[id as usize].dtype
    }
}

/// The work of a program, in an order in which everything is made before it is read.
pub(super) fn planned(values: &[Value], steps: Vec<(Step, Way)>, outputs: &[Id]) -> Vec<Piece> {
    let memory = Memory(values);
    let mut maker: FxHashMap<Id, usize> = FxHashMap::default();
    for (i, (step, _)) in steps.iter().enumerate() {
        step.outs.iter().for_each(|&id| _ = maker.insert(id, i));
    }
    let groups = grouped(&memory, &steps, &maker);
    let mut group_of = vec![0; steps.len()];
    for (g, members) in groups.iter().enumerate() {
        members.iter().for_each(|&i| group_of[i] = g);
    }
    // What is read outside of the group that makes it.
    let mut outside: FxHashSet<Id> = outputs.iter().map(|&id| memory.whole(id).0).collect();
    let mut before: Vec<FxHashSet<usize>> = vec![FxHashSet::default(); groups.len()];
    let mut last_in_order = None;
    for (i, (step, _)) in steps.iter().enumerate() {
        for &id in &step.ins {
            let whole = memory.whole(id).0;
            if let Some(&m) = maker.get(&whole).filter(|&&m| group_of[m] != group_of[i]) {
                outside.insert(whole);
                before[group_of[i]].insert(group_of[m]);
            }
        }
        if step.is_in_order()
            && let Some(last) = last_in_order.replace(group_of[i])
        {
            before[group_of[i]].insert(last);
        }
    }
    let order = ordered(&groups, &before);
    let mut steps: Vec<_> = steps.into_iter().map(Some).collect();
    let mut work = vec![];
    for g in order {
        let (mut members, mut folds, mut packs) = (vec![], vec![], vec![]);
        for (step, way) in groups[g].iter().map(|&i| steps[i].take().expect("it is in one group")) {
            match way {
                Way::Pointwise(p) => members.push((step, p)),
                Way::Fold(fold) if !members.is_empty() => folds.push((step, fold)),
                Way::Pack => packs.push(step),
                _ => work.push(Piece::Op(step)),
            }
        }
        let outside = made_for(&members, &outside);
        let folded = folds.iter().map(|(step, _)| memory.whole(step.ins[0]).0);
        let packed = packs.iter().flat_map(|step| &step.ins).map(|&id| memory.whole(id).0);
        let asked =
            asked_for(&memory, members, &outside.iter().copied().chain(packed).collect(), &folded.collect());
        if asked.is_empty() && packs.is_empty() {
            continue;
        }
        let is_of_numbers = asked.first().is_none_or(|(_, p)| p.n == 1);
        let in_loops = is_of_numbers && !machine::is_for_this_processor();
        let members = if in_loops { in_runs(&memory, asked) } else { asked };
        clusters(&memory, Parts { members, folds, packs }, &outside, &mut work);
    }
    work
}

/// The results of steps that are among these.
fn made_for(members: &[(Step, Pointwise)], among: &FxHashSet<Id>) -> FxHashSet<Id> {
    members.iter().map(|(step, _)| step.outs[0]).filter(|id| among.contains(id)).collect()
}

/// The steps that are run together, each list in the order of the program.
fn grouped(memory: &Memory<'_>, steps: &[(Step, Way)], maker: &FxHashMap<Id, usize>) -> Vec<Vec<usize>> {
    // Each step has a stage. What a cluster waits for is in an earlier one.
    let mut stage = vec![0usize; steps.len()];
    let mut groups: Vec<Vec<usize>> = vec![];
    let mut group_of = vec![0; steps.len()];
    // The lengths that the tiles of each group can have.
    let mut lengths: Vec<Lengths> = vec![];
    let mut known: FxHashMap<(usize, (usize, bool)), usize> = FxHashMap::default();
    // The stage of the last step that stays in order.
    let mut last = 0;
    for (i, (step, way)) in steps.iter().enumerate() {
        let mut joined = None;
        for (k, &id) in step.ins.iter().enumerate() {
            let (whole, byte) = memory.whole(id);
            let Some(&m) = maker.get(&whole) else { continue };
            let in_order = byte == 0 && memory.dtype(id) == memory.dtype(whole);
            let together = steps[m].1.pointwise().filter(|_| in_order).is_some_and(|other| match way {
                Way::Pointwise(own) => own.kind() == other.kind() && own.ins[k].axes.is_none(),
                Way::Pack => other.kind() == (1, false),
                Way::Fold(fold) if fold.elements() == other.n => {
                    let g = group_of[m];
                    lengths[g].with(fold).inspect(|&with| (joined, lengths[g]) = (Some(g), with)).is_some()
                }
                _ => false,
            });
            stage[i] = stage[i].max(stage[m] + usize::from(!together));
        }
        // These stay in order, so what waits for one of them does not share a cluster with what an earlier one reads.
        if step.is_in_order() {
            stage[i] = stage[i].max(last);
            last = stage[i];
        }
        let g = match way {
            Way::Pointwise(p) => known.get(&(stage[i], p.kind())).copied(),
            Way::Pack => known.get(&(stage[i], (1, false))).copied(),
            _ => joined,
        };
        group_of[i] = g.unwrap_or(groups.len());
        match g {
            Some(g) => groups[g].push(i),
            None => {
                groups.push(vec![i]);
                lengths.push(Lengths::ANY);
                match way {
                    Way::Pointwise(p) => _ = known.insert((stage[i], p.kind()), group_of[i]),
                    Way::Pack => _ = known.insert((stage[i], (1, false)), group_of[i]),
                    _ => {}
                }
            }
        }
    }
    groups
}

/// The groups in an order in which each comes after those `before` it, and otherwise as late as its last step.
fn ordered(groups: &[Vec<usize>], before: &[FxHashSet<usize>]) -> Vec<usize> {
    let mut waits: Vec<usize> = before.iter().map(FxHashSet::len).collect();
    let mut after = vec![vec![]; groups.len()];
    for (g, b) in before.iter().enumerate() {
        let mut b: Vec<usize> = b.iter().copied().collect();
        b.sort_unstable();
        b.iter().for_each(|&b| after[b].push(g));
    }
    let last = |g: usize| Reverse((groups[g].last().copied(), g));
    let mut ready: BinaryHeap<_> = (0..groups.len()).filter(|&g| waits[g] == 0).map(last).collect();
    let mut order = vec![];
    while let Some(Reverse((_, g))) = ready.pop() {
        order.push(g);
        for &a in &after[g] {
            waits[a] -= 1;
            if waits[a] == 0 {
                ready.push(last(a));
            }
        }
    }
    order
}

/// The steps of a group.
struct Parts {
    /// In the order of their results.
    members: Vec<(Step, Pointwise)>,
    folds: Vec<(Step, RowFold)>,
    packs: Vec<Step>,
}

/// The steps of a group as clusters: one, or several if one would need too many registers.
fn clusters(memory: &Memory<'_>, mut parts: Parts, outside: &FxHashSet<Id>, work: &mut Vec<Piece>) {
    if let Some(group) = cluster(memory, &parts, outside) {
        work.push(Piece::Cluster(group));
        return;
    }
    let Parts { members, folds, packs } = &mut parts;
    if members.len() == 1 {
        // The rows are too long for its registers.
        let read: Vec<Id> = folds.iter().map(|(step, _)| memory.whole(step.ins[0]).0).collect();
        let outside = outside.iter().copied().chain(read).collect();
        let folds = std::mem::take(folds);
        let alone = cluster(memory, &parts, &outside).expect("there is room for one step");
        work.push(Piece::Cluster(alone));
        work.extend(folds.into_iter().map(|(step, _)| Piece::Op(step)));
        return;
    }
    let second = members.split_off(members.len() / 2);
    // What the first half makes for the second goes through memory.
    let made: FxHashSet<Id> = members.iter().map(|(s, _)| s.outs[0]).collect();
    let readers = second.iter().map(|(step, _)| step).chain(&*packs);
    let read: Vec<Id> = readers.flat_map(|step| &step.ins).map(|&id| memory.whole(id).0).collect();
    let outside = outside.iter().copied().chain(read.into_iter().filter(|id| made.contains(id))).collect();
    let (for_first, for_second) = (made_for(members, &outside), made_for(&second, &outside));
    let (of_first, of_second) =
        parts.folds.into_iter().partition(|(step, _)| made.contains(&memory.whole(step.ins[0]).0));
    clusters(memory, Parts { members: parts.members, folds: of_first, packs: vec![] }, &for_first, work);
    clusters(memory, Parts { members: second, folds: of_second, packs: parts.packs }, &for_second, work);
}

/// The members in the order in which their results are asked for: an operand right before it is read, first the one that
/// needs more registers. `roots` are asked for, and then what is only `folded`.
fn asked_for(
    memory: &Memory<'_>,
    members: Vec<(Step, Pointwise)>,
    roots: &FxHashSet<Id>,
    folded: &FxHashSet<Id>,
) -> Vec<(Step, Pointwise)> {
    let made: FxHashMap<Id, usize> =
        members.iter().enumerate().map(|(k, (step, _))| (step.outs[0], k)).collect();
    let below: Vec<SmallVec<[usize; 3]>> = members
        .iter()
        .map(|(step, _)| step.ins.iter().filter_map(|&id| made.get(&memory.whole(id).0).copied()).collect())
        .collect();
    let mut need = vec![1usize; members.len()];
    for k in 0..members.len() {
        let mut needs: SmallVec<[usize; 3]> = below[k].iter().map(|&b| need[b]).collect();
        shape::sort_by_key(&mut needs, |&n| Reverse(n));
        need[k] = needs.iter().enumerate().map(|(i, n)| n + i).max().unwrap_or(1);
    }
    let is_in = |ids: &FxHashSet<Id>, k: usize| ids.contains(&members[k].0.outs[0]);
    let pairs = Pairs::of(&members, &below, |k| is_in(roots, k));
    let mut roots: Vec<usize> = (0..members.len()).filter(|&k| is_in(roots, k) || is_in(folded, k)).collect();
    // The value of a pair is then asked for together with its gradient.
    if let Some(pairs) = &pairs {
        shape::sort_by_key(&mut roots, |&k| pairs.is_for_folds[k]);
    }
    let mut done = vec![false; members.len()];
    let mut order = vec![];
    for root in roots {
        let mut stack = vec![(root, false)];
        while let Some((k, ready)) = stack.pop() {
            if done[k] {
                continue;
            }
            if ready {
                match &pairs {
                    Some(pairs) => pairs.add(k, &below, &mut order, &mut done),
                    None => {
                        done[k] = true;
                        order.push(k);
                    }
                }
                continue;
            }
            stack.push((k, true));
            let mut next: SmallVec<[usize; 3]> = below[k].iter().copied().filter(|&b| !done[b]).collect();
            // The last one that is pushed is visited first.
            shape::sort_by_key(&mut next, |&b| need[b]);
            stack.extend(next.into_iter().map(|b| (b, false)));
        }
    }
    let mut members: Vec<_> = members.into_iter().map(Some).collect();
    order.into_iter().filter_map(|k| members[k].take()).collect()
}

/// The members that are computed in pairs: a value and a gradient, right after each other.
struct Pairs {
    /// By gradient, its value, and the other way round.
    other: Vec<Option<usize>>,
    /// Whether each is a gradient.
    is_gradient: Vec<bool>,
    /// Which members read each.
    users: Vec<SmallVec<[usize; 2]>>,
    /// Which members lead to nothing but folds.
    is_for_folds: Vec<bool>,
}

impl Pairs {
    /// None if there are no pairs.
    fn of(
        members: &[(Step, Pointwise)],
        below: &[SmallVec<[usize; 3]>],
        is_root: impl Fn(usize) -> bool,
    ) -> Option<Pairs> {
        let mut values: FxHashMap<Id, Vec<usize>> = FxHashMap::default();
        for (k, (_, p)) in members.iter().enumerate().filter(|(_, (_, p))| p.ins.len() == 1 && p.n > 1) {
            values.entry(p.ins[0].id).or_default().push(k);
        }
        let mut other = vec![None; members.len()];
        let mut is_gradient = vec![false; members.len()];
        for (k, (_, p)) in members.iter().enumerate() {
            let Some(known) = p.ins.last().and_then(|x| values.get_mut(&x.id)) else { continue };
            if let Some(at) = known.iter().position(|&v| members[v].1.pair(p).is_some()) {
                let value = known.swap_remove(at);
                (other[k], other[value], is_gradient[k]) = (Some(value), Some(k), true);
            }
        }
        other.iter().any(Option::is_some).then_some(())?;
        let mut users = vec![SmallVec::new(); members.len()];
        for (k, below) in below.iter().enumerate() {
            below.iter().for_each(|&b: &usize| users[b].push(k));
        }
        let mut is_for_folds = vec![false; members.len()];
        for k in (0..members.len()).rev() {
            is_for_folds[k] = !is_root(k) && users[k].iter().all(|&u: &usize| is_for_folds[u]);
        }
        Some(Pairs { other, is_gradient, users, is_for_folds })
    }

    /// Adds a member to the order: a gradient after its value, and a value with its gradient, if what that reads is there.
    /// What can be computed of these and leads to folds alone comes next, so that no register is kept for it.
    fn add(&self, k: usize, below: &[SmallVec<[usize; 3]>], order: &mut Vec<usize>, done: &mut [bool]) {
        let first = order.len();
        let there = |&k: &usize, done: &[bool]| below[k].iter().all(|&b| done[b]);
        let other = self.other[k].filter(|other| !done[*other] && there(other, done));
        let pair = if self.is_gradient[k] { [other, Some(k)] } else { [Some(k), other] };
        order.extend(pair.into_iter().flatten());
        let mut at = first;
        while let Some(&k) = order.get(at) {
            done[k] = true;
            let users = self.users[k].iter().copied().filter(|&user| self.is_for_folds[user]);
            for user in users {
                let is_new = !done[user] && !order[at..].contains(&user);
                if is_new && there(&user, done) {
                    order.push(user);
                }
            }
            at += 1;
        }
    }
}

/// Single numbers in an order in which those that are computed in the same way stand together, and of these each after
/// the one that it reads.
fn in_runs(memory: &Memory<'_>, members: Vec<(Step, Pointwise)>) -> Vec<(Step, Pointwise)> {
    let made: FxHashMap<Id, usize> =
        members.iter().enumerate().map(|(k, (step, _))| (step.outs[0], k)).collect();
    let mut waits = vec![0; members.len()];
    let mut users: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); members.len()];
    for (k, (step, _)) in members.iter().enumerate() {
        for &m in step.ins.iter().filter_map(|&id| made.get(&memory.whole(id).0)) {
            waits[k] += 1;
            users[m].push(k);
        }
    }
    let kinds: Vec<Kind> = members.iter().map(|(_, p)| p.row.kind()).collect();
    let mut ready: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
    for k in (0..members.len()).rev().filter(|&k| waits[k] == 0) {
        ready.entry(kinds[k]).or_default().push(k);
    }
    let mut order = vec![];
    while let Some((&longest, _)) =
        ready.iter().filter(|(_, list)| !list.is_empty()).max_by_key(|(_, list)| list.len())
    {
        while let Some(k) = ready.get_mut(&longest).and_then(Vec::pop) {
            order.push(k);
            for &user in users[k].iter().rev() {
                waits[user] -= 1;
                if waits[user] == 0 {
                    ready.entry(kinds[user]).or_default().push(user);
                }
            }
        }
    }
    let mut members: Vec<_> = members.into_iter().map(Some).collect();
    order.into_iter().filter_map(|k| members[k].take()).collect()
}

/// Where a cluster puts a result.
enum Home {
    Write(usize),
    Register(usize),
}

/// Where a cluster finds an operand: among what it reads, or among the results of its members.
enum From {
    Read(usize),
    Member(usize),
}

/// The steps as one cluster. None if it would need too many registers or addresses.
fn cluster(memory: &Memory<'_>, parts: &Parts, outside: &FxHashSet<Id>) -> Option<Gathered> {
    let Parts { members, folds, packs } = parts;
    let n = members.first().map_or(1, |(_, p)| p.n);
    let lengths = folds.iter().try_fold(Lengths::ANY, |lengths, (_, fold)| lengths.with(fold))?;
    let made: FxHashMap<Id, usize> =
        members.iter().enumerate().map(|(k, (step, _))| (step.outs[0], k)).collect();
    // The last member that reads each result, or the one that makes it.
    let mut last: Vec<usize> = (0..members.len()).collect();
    let mut widest = 1;
    for (k, (step, p)) in members.iter().enumerate() {
        widest = widest.max(p.row.out.size());
        for &id in &step.ins {
            widest = widest.max(memory.dtype(id).size());
            if let Some(&m) = made.get(&memory.whole(id).0) {
                last[m] = k;
            }
        }
    }
    for &id in packs.iter().flat_map(|step| &step.ins) {
        widest = widest.max(memory.dtype(id).size());
        if let Some(&m) = made.get(&memory.whole(id).0) {
            last[m] = usize::MAX;
        }
    }
    // By member, what computes it together with the next one, whose result then needs another register.
    let mut pairs: Vec<Option<PairLoop>> = vec![None; members.len()];
    for (k, two) in members.windows(2).enumerate() {
        let [(value, p), (next, q)] = two else { continue };
        let is_read = next.ins.iter().any(|&id| memory.whole(id).0 == value.outs[0]);
        if !is_read && let Some(both) = p.pair(q) {
            pairs[k] = Some(both);
            last[k] = last[k].max(k + 1);
        }
    }
    let mut reads: Vec<Id> = vec![];
    let mut readings: Vec<Read> = vec![];
    let mut known: FxHashMap<(&Place, bool), usize> = FxHashMap::default();
    let mut writes: Vec<Id> = vec![];
    let (mut registers, mut free) = (0, vec![]);
    let mut homes: Vec<Home> = vec![];
    let mut operands: Vec<SmallVec<[(From, u8); 3]>> = vec![];
    for (k, (step, p)) in members.iter().enumerate() {
        let mut own = SmallVec::new();
        for place in &p.ins {
            let (whole, byte) = memory.whole(place.id);
            if let Some(&m) = made.get(&whole) {
                own.push((From::Member(m), 1));
                continue;
            }
            let once = place.is_one_element(n) && (n == 1 || !matches!(p.row.apply, Loop::Unary(_)));
            let r = *known.entry((place, once)).or_insert_with(|| {
                let reading = match place.axes.as_deref().and_then(Walk::new).filter(|_| !once) {
                    None if once => Reading::Once,
                    None => Reading::Along,
                    Some(walk) => {
                        registers += 1;
                        Reading::Walk(walk, registers as Address - 1)
                    }
                };
                reads.push(whole);
                readings.push(Read { reading, dtype: memory.dtype(place.id), start: byte });
                reads.len() - 1
            });
            own.push((From::Read(r), u8::from(!once)));
        }
        operands.push(own);
        let out = step.outs[0];
        homes.push(if outside.contains(&out) {
            writes.push(out);
            Home::Write(writes.len() - 1)
        } else {
            Home::Register(free.pop().unwrap_or_else(|| {
                registers += 1;
                registers - 1
            }))
        });
        // A result that only a fold reads is free after its own instruction.
        let read = step.ins.iter().filter_map(|&id| made.get(&memory.whole(id).0).copied());
        let mut read: SmallVec<[usize; 3]> = read.chain(k.saturating_sub(1)..=k).collect();
        shape::sort_by_key(&mut read, |&m| m);
        read.dedup();
        for m in read.into_iter().filter(|&m| last[m] == k) {
            if let Home::Register(r) = homes[m] {
                free.push(r);
            }
        }
    }
    let mut packed: Vec<Vec<From>> = vec![];
    for step in packs {
        let place = |&id: &Id| {
            let (whole, start) = memory.whole(id);
            if let Some(&m) = made.get(&whole) {
                return From::Member(m);
            }
            reads.push(whole);
            readings.push(Read { reading: Reading::Once, dtype: memory.dtype(id), start });
            From::Read(reads.len() - 1)
        };
        packed.push(step.ins.iter().map(place).collect());
        writes.push(step.outs[0]);
    }
    let first_register = reads.len() + writes.len();
    if !Cluster::has_room(n, widest, registers, first_register + registers, lengths) {
        return None;
    }
    let home = |at: &Home| match *at {
        Home::Write(w) => reads.len() + w,
        Home::Register(r) => first_register + r,
    };
    for read in &mut readings {
        if let Reading::Walk(_, register) = &mut read.reading {
            *register += first_register as Address;
        }
    }
    let mut instructions: Vec<Instruction> = vec![];
    // By member, the number of its instruction.
    let mut numbers = vec![];
    for (k, (_, p)) in members.iter().enumerate() {
        let operand = |(place, step): &(From, u8)| {
            let address = match *place {
                From::Member(m) => home(&homes[m]),
                From::Read(r) => match readings[r].reading {
                    Reading::Walk(_, register) => register as usize,
                    _ => r,
                },
            };
            Operand { address: address as Address, step: *step }
        };
        let to = home(&homes[k]) as Address;
        let mut from = [Operand::default(); 3];
        from.iter_mut().zip(&operands[k]).for_each(|(from, own)| *from = operand(own));
        if n == 1 {
            from[1].step = u8::from(!p.has_single);
        }
        match k.checked_sub(1).and_then(|before| pairs[before]).zip(instructions.last_mut()) {
            Some((both, own)) => {
                (own.row.apply, own.from, own.also) = (Loop::Pair(both), [from[0], own.from[0], from[2]], to);
            }
            None => instructions.push(Instruction { row: p.row, from, to, also: to }),
        }
        numbers.push(instructions.len() - 1);
    }
    let mut results = vec![];
    for (w, &id) in writes.iter().enumerate() {
        let from = w.checked_sub(writes.len() - packs.len()).map(|p| {
            let address = |from: &From| match *from {
                From::Member(m) => home(&homes[m]) as Address,
                From::Read(r) => r as Address,
            };
            packed[p].iter().map(address).collect()
        });
        results.push(Write { dtype: memory.dtype(id), from });
    }
    let ends = folds.iter().map(|(step, fold)| {
        let of = made[&memory.whole(step.ins[0]).0];
        End { fold: fold.clone(), of: numbers[of], address: home(&homes[of]) as Address }
    });
    let cluster = Cluster::new(n, instructions, readings, results, ends.collect(), registers, widest);
    // The results of folds come in the order of the instructions.
    let mut folds: Vec<&Step> = folds.iter().map(|(step, _)| step).collect();
    shape::sort_by_key(&mut folds, |step| made[&memory.whole(step.ins[0]).0]);
    writes.extend(folds.iter().map(|step| step.outs[0]));
    let steps = members.iter().map(|(step, _)| step).chain(folds).chain(packs);
    // A step that was taken apart is named once.
    let mut named = FxHashSet::default();
    let steps = steps.filter(|step| named.insert(Arc::as_ptr(&step.op).cast::<()>()));
    let ops = steps.map(|step| (step.op.name(), step.site)).collect();
    Some(Gathered { cluster: Box::new(cluster), reads, outs: writes, ops })
}
