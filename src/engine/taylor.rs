//! Taylor mode: derivatives of high order along a direction, by power series pushed from inputs to outputs, in
//! polynomial time.
//!
//! Values are power series in one variable `t`. Where `z = op(x)`, the op's `jvp` `R` gives `z' = R(x; x')` for every
//! `t`. So `R` determines the series of `z`, in one of three ways, and ops need no code for series:
//! * `R` reads nothing that depends on `t`: `z_k = R(x_k)`.
//! * For each input, `R` reads one other input, and vice versa: the op is a product, so `z_k` is a sum of `R` applied to
//!   coefficients of both.
//! * Otherwise `R` is recorded once, as a graph of `x`, `z` and `x'`. Their series are known one order ahead, so the series
//!   of `z'` follows from that graph, whose nodes are treated in the same ways to one order less.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::arena::{Arena, NONE};
use super::forward::transposed;
use super::pass::{broadcast_to_meta, pull};
use super::request::Request;
use super::sum::added;
use crate::dtype::{Bool8, DType};
use crate::error::{Error, Result};
use crate::graph::modes;
use crate::graph::{Edge, Grads, Levels, NeedsGrad, Node, NodeKind, Saved, SavedArray, SavedList, Tensor};
use crate::ops::copy::alias;
use crate::ops::movement::{broadcast_to, cast};

/// By order from 1 to `order`: the derivatives of `outputs` by `t`, where each of `inputs` is its value plus `t` times
/// its direction. None is zero. The inputs are leaves or results of [`alias`]. Frees nothing. With `create_graph` the
/// results can be differentiated.
///
/// # Errors
/// What the rules report; [`Error::Freed`] where an earlier call has freed the graph.
pub fn taylor(
    outputs: &[Edge],
    inputs: &[(Edge, Tensor)],
    order: usize,
    create_graph: bool,
) -> Result<Vec<Vec<Option<Tensor>>>> {
    let _site = modes::fix_site();
    Error::catch(|| derivatives(outputs, inputs, order, create_graph))
}

fn derivatives(
    outputs: &[Edge],
    inputs: &[(Edge, Tensor)],
    order: usize,
    record: bool,
) -> Result<Vec<Vec<Option<Tensor>>>> {
    let request = Request {
        roots: outputs.iter().map(|e| (e.clone(), Tensor::scalar(0.0))).collect(),
        wanted: inputs.iter().map(|(e, _)| e.clone()).collect(),
        stops: true,
        ..Request::default()
    };
    let arena = Arena::new(&request)?;
    let mut series = Series { record, live: modes::live_levels(), ..Series::default() };
    for (&slot, (edge, t)) in arena.wanted.iter().zip(inputs) {
        if slot != NONE {
            let t = cast(&if record { t.clone() } else { t.detach() }, edge.meta().dtype)?;
            series.place(edge, Some(Line::Input(t)));
        }
    }
    let mut steps = vec![];
    for (i, node) in arena.nodes().enumerate().filter(|(i, _)| arena.works(*i)) {
        if matches!(node.kind, NodeKind::Op(_)) && !series.places.contains_key(&key(node, 0)) {
            debug_assert!(!arena.ins(i).is_empty());
            steps.extend(series.step(node, order)?);
        }
    }
    let ends: Vec<Option<usize>> = outputs.iter().map(|e| series.line(e)).collect();
    let mut found = vec![];
    let mut factorial = 1.0;
    for k in 1..=order {
        for &s in &steps {
            series.advance(s)?;
        }
        factorial *= k as f64;
        let scaled = |t: Tensor| if k > 1 { t * factorial } else { t };
        found.push(ends.iter().map(|&l| Some(scaled(series.coefficient(l?, k)?))).collect());
    }
    Ok(found)
}

type Key = (*const Node, u32);

fn key(node: &Arc<Node>, out: u32) -> Key {
    (Arc::as_ptr(node), out)
}

/// The series of a value that depends on `t`.
enum Line {
    /// `x + t v`, given `v`.
    Input(Tensor),
    /// The derivative of another series.
    Velocity(usize),
    /// An output of a step.
    Out(usize, usize),
}

/// How the coefficients of a node's outputs follow from those of its inputs.
enum Recurrence {
    Linear,
    /// By input: the other input that its part of the rule reads.
    Bilinear(SmallVec<[Option<usize>; 2]>),
    /// The steps of the recorded rule in order, and the series of its results. Filled in with the first coefficient.
    General(Vec<usize>, Vec<Option<usize>>),
}

/// A node and the coefficients of its outputs that are known so far, from the first on.
struct Step {
    node: Arc<Node>,
    ins: SmallVec<[Option<usize>; 2]>,
    saved: SavedList,
    how: Recurrence,
    order: usize,
    coefficients: Vec<Grads>,
}

#[derive(Default)]
struct Series {
    steps: Vec<Step>,
    lines: Vec<Line>,
    /// By edge: its series, or none if it is constant. The node is kept alive so that no other gets its address.
    places: FxHashMap<Key, (Option<usize>, Arc<Node>)>,
    /// By series and number: the coefficients of derivatives that a product has read, since it reads each of them again
    /// for every later coefficient of its own.
    velocities: RefCell<FxHashMap<(usize, usize), Tensor>>,
    record: bool,
    live: Levels,
}

impl Series {
    fn place(&mut self, edge: &Edge, line: Option<Line>) {
        let line = line.map(|line| {
            self.lines.push(line);
            self.lines.len() - 1
        });
        self.places.insert(key(&edge.node, edge.out), (line, edge.node.clone()));
    }

    fn line(&self, edge: &Edge) -> Option<usize> {
        self.places.get(&key(&edge.node, edge.out)).and_then(|(line, _)| *line)
    }

    /// Coefficient `k` of a series. None is zero. The coefficient of a step's output is known already.
    fn coefficient(&self, line: usize, k: usize) -> Option<Tensor> {
        match &self.lines[line] {
            Line::Input(v) => (k == 1).then(|| v.clone()),
            Line::Velocity(of) => self.velocity(*of, k),
            Line::Out(step, out) => self.steps[*step].coefficients[k - 1][*out].clone(),
        }
    }

    /// Coefficient `p` of the derivative of a series.
    fn velocity(&self, line: usize, p: usize) -> Option<Tensor> {
        if p == 0 {
            return self.coefficient(line, 1);
        }
        if let Some(known) = self.velocities.borrow().get(&(line, p)) {
            return Some(known.clone());
        }
        let velocity = self.coefficient(line, p + 1)? * (p + 1) as f64;
        self.velocities.borrow_mut().insert((line, p), velocity.clone());
        Some(velocity)
    }

    /// Adds a node whose inputs have been added. Returns none if it is constant.
    fn step(&mut self, node: &Arc<Node>, order: usize) -> Result<Option<usize>> {
        let ins: SmallVec<[Option<usize>; 2]> =
            node.inputs.iter().map(|e| e.as_ref().and_then(|e| self.line(e))).collect();
        let moves = ins.iter().any(Option::is_some);
        let at = self.steps.len();
        for (out, meta) in node.outs.iter().enumerate() {
            let edge = Edge { node: node.clone(), out: out as u32 };
            self.place(&edge, (moves && meta.dtype.is_differentiable()).then_some(Line::Out(at, out)));
        }
        if !moves {
            return Ok(None);
        }
        let saved = node.take_saved(None)?;
        let mut step =
            Step { node: node.clone(), ins, saved, how: Recurrence::Linear, order, coefficients: vec![] };
        step.how = self.how(&step)?;
        self.steps.push(step);
        Ok(Some(at))
    }

    /// Which of the three ways a node takes, by what its rule reads.
    fn how(&self, step: &Step) -> Result<Recurrence> {
        let general = Ok(Recurrence::General(vec![], vec![]));
        let NodeKind::Op(op) = &step.node.kind else { return general };
        // A rule of the host may read anything, and `Saves` does not tell inputs from 63 on apart.
        if op.calls_host() || step.ins.len() > 63 {
            return general;
        }
        let moves = |i: &usize| step.ins[*i].is_some();
        let moving = (0..step.ins.len()).filter(moves).fold(0u64, |mask, i| mask | 1 << i);
        let mut partners: SmallVec<[Option<usize>; 2]> = step.ins.iter().map(|_| None).collect();
        for i in (0..step.ins.len()).filter(moves) {
            let reads = op.saves(NeedsGrad(1 << i));
            let others = reads.inputs & moving;
            if reads.outputs != 0 || others >> i & 1 == 1 || others.count_ones() > 1 {
                return general;
            }
            partners[i] = (others != 0).then(|| others.trailing_zeros() as usize);
        }
        if partners.iter().all(Option::is_none) {
            return Ok(Recurrence::Linear);
        }
        // The derivative by each factor of a product reads the other factor. A mask is read for the derivative by another
        // operand, but its own derivative, which is zero, reads nothing: the op is not linear in the mask.
        if partners.iter().enumerate().any(|(i, p)| p.is_some_and(|p| partners[p] != Some(i))) {
            return general;
        }
        // What is read both ways is linear up to a constant, which has to be zero.
        for i in 0..partners.len() {
            let Some(partner) = partners[i] else { continue };
            let full = |j: usize, value: f64| {
                let edge = step.node.inputs[j].as_ref().expect("a line has an edge");
                broadcast_to(&Tensor::scalar_of(edge.meta().dtype, value), &edge.meta().dims)
            };
            let mut t: Grads = step.ins.iter().map(|_| None).collect();
            t[i] = Some(full(i, 1.0)?);
            let zero = [(partner, full(partner, 0.0)?)];
            let rest = self.rule(step, &t, &zero, false)?;
            for t in rest.iter().flatten() {
                if cast(t, DType::Bool)?.array.to_vec::<Bool8>().iter().any(|v| v.0 != 0) {
                    return general;
                }
            }
        }
        Ok(Recurrence::Bilinear(partners))
    }

    /// The `jvp` of a step, which reads the values of `instead` in place of those inputs.
    fn rule(&self, step: &Step, t: &Grads, instead: &[(usize, Tensor)], record: bool) -> Result<Grads> {
        let NodeKind::Op(op) = &step.node.kind else { unreachable!("leaves are no steps") };
        if t.iter().all(Option::is_none) {
            return Ok(step.node.outs.iter().map(|_| None).collect());
        }
        let (mut arrays, mut edges) = (step.saved.clone(), step.node.inputs.clone());
        for (i, value) in instead {
            arrays[*i] = Some(SavedArray::new(value.array.clone(), &value.levels));
            edges[*i] = value.edge.clone();
        }
        let saved = Saved {
            node: &step.node,
            arrays: &arrays,
            edges: &edges,
            record,
            transposed: Some(transposed),
            pull,
            is_read: None,
        };
        let outs = op.jvp(t, &saved)?;
        let shaped = |(t, meta)| Option::map(t, |t| broadcast_to_meta(&t, meta, &self.live)).transpose();
        outs.into_iter().zip(step.node.outs.iter()).map(shaped).collect()
    }

    /// Computes the next coefficient of a step, unless it has all. Those of its inputs are known.
    fn advance(&mut self, s: usize) -> Result<()> {
        let step = &self.steps[s];
        let k = step.coefficients.len() + 1;
        if k > step.order {
            return Ok(());
        }
        let coefficients = |k: usize| step.ins.iter().map(|l| self.coefficient((*l)?, k)).collect();
        let next: Grads = match &step.how {
            Recurrence::Linear => self.rule(step, &coefficients(k), &[], self.record)?,
            Recurrence::Bilinear(partners) => self.product(step, partners, k)?,
            Recurrence::General(..) if k == 1 => self.recorded(s)?,
            Recurrence::General(rule, ends) => {
                let (rule, ends) = (rule.clone(), ends.clone());
                for d in rule {
                    self.advance(d)?;
                }
                let part = |l: &Option<usize>| Some(self.coefficient((*l)?, k - 1)? / k as f64);
                ends.iter().map(part).collect()
            }
        };
        self.steps[s].coefficients.push(next);
        Ok(())
    }

    /// Coefficient `k` where the rule multiplies: the sum over all `p + q = k - 1` of the rule at coefficient `p` of
    /// the velocities, reading coefficient `q`.
    fn product(&self, step: &Step, partners: &[Option<usize>], k: usize) -> Result<Grads> {
        let mut sums: Grads = step.node.outs.iter().map(|_| None).collect();
        for q in 0..k {
            let mut instead = vec![];
            let mut t: Grads = step.ins.iter().map(|_| None).collect();
            for (i, line) in step.ins.iter().enumerate() {
                let Some(line) = *line else { continue };
                if q > 0 {
                    let Some(partner) = partners[i] else { continue };
                    let read = step.ins[partner].and_then(|l| self.coefficient(l, q));
                    let Some(read) = read else { continue };
                    instead.push((partner, read));
                }
                t[i] = self.velocity(line, k - 1 - q);
            }
            for (sum, t) in sums.iter_mut().zip(self.rule(step, &t, &instead, self.record)?) {
                *sum = added(sum.take(), t, self.record)?;
            }
        }
        Ok(sums.into_iter().map(|t| t.map(|t| if k > 1 { t / k as f64 } else { t })).collect())
    }

    /// The first coefficient of a step whose rule is recorded. Adds the steps of the rule.
    fn recorded(&mut self, s: usize) -> Result<Grads> {
        let step = &self.steps[s];
        let (order, node, ins) = (step.order, step.node.clone(), step.ins.clone());
        let mut t: Grads = ins.iter().map(|_| None).collect();
        for (i, line) in ins.iter().enumerate() {
            let Some(line) = *line else { continue };
            let edge = node.inputs[i].as_ref().expect("a line has an edge");
            let first = match self.coefficient(line, 1) {
                Some(first) => first,
                None => broadcast_to(&Tensor::scalar_of(edge.meta().dtype, 0.0), &edge.meta().dims)?,
            };
            t[i] = Some(alias(&first)?);
        }
        let ends = self.rule(&self.steps[s], &t, &[], self.record || order > 1)?;
        if order > 1 {
            for (t, line) in t.iter().zip(&ins) {
                if let (Some(Tensor { edge: Some(edge), .. }), Some(of)) = (t, *line) {
                    let constant = matches!(self.lines[of], Line::Input(_));
                    self.place(edge, (!constant).then_some(Line::Velocity(of)));
                }
            }
            for edge in node.inputs.iter().flatten() {
                self.places.entry(key(&edge.node, edge.out)).or_insert_with(|| (None, edge.node.clone()));
            }
            let rule = self.add_below(&ends, order - 1)?;
            let lines = ends.iter().map(|t| self.line(t.as_ref()?.edge.as_ref()?)).collect();
            self.steps[s].how = Recurrence::General(rule, lines);
        }
        let seen = |t: Tensor| if self.record { t } else { t.detach() };
        Ok(ends.into_iter().map(|t| t.map(seen)).collect())
    }

    /// Adds the nodes below some tensors that have not been added yet, inputs first.
    fn add_below(&mut self, ends: &Grads, order: usize) -> Result<Vec<usize>> {
        let mut steps = vec![];
        let mut stack: Vec<(Arc<Node>, usize)> = vec![];
        for edge in ends.iter().flatten().filter_map(|t| t.edge.as_ref()) {
            if !self.places.contains_key(&key(&edge.node, edge.out)) {
                stack.push((edge.node.clone(), 0));
            }
            while let Some((node, next)) = stack.last_mut() {
                let (node, at) = (node.clone(), *next);
                *next += 1;
                if let Some(input) = node.inputs.get(at) {
                    let open = input.as_ref().filter(|e| !self.places.contains_key(&key(&e.node, e.out)));
                    stack.extend(open.map(|e| (e.node.clone(), 0)));
                    continue;
                }
                stack.pop();
                if node.is_leaf() {
                    self.place(&Edge { node, out: 0 }, None);
                } else if !self.places.contains_key(&key(&node, 0)) {
                    steps.extend(self.step(&node, order)?);
                }
            }
        }
        Ok(steps)
    }
}
