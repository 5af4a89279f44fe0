//! Where the elements of torch's results lie in memory, if an operand is not in C order: in the order that PyTorch gives them.
//!
//! Kernels write C order, or an order of an operand's that is fast. What differs from PyTorch is copied here. An op on operands in C
//! order never comes here. Under `vmap` and while a program is traced, results lie as they were computed.

use pyo3::prelude::*;

use crate::array::{Array, Layout};
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::gil::{ask_in_turn, listening};
use crate::bind::value::var::Var;
use crate::error::Result;
use crate::graph::Tensor;
use crate::kernel::broadcast::inverse;
use crate::ops::copy::copy;
use crate::ops::entry::{Arg, Convention, Conventions, Entry, InPlace, Value};
use crate::ops::movement::permute_dims;
use crate::shape::{self, Dims, Strides};

/// Where the elements of a result lie.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// In the order of the operands that are not broadcast, as those of what is computed element by element.
    Elements,
    /// The same, where the last operand comes first.
    Backwards,
    /// With the strides of the operand, if its elements lie without gaps.
    Operand,
    /// With the channels last in memory, if one of the first operands has them so (of how many, is the number); else in C order.
    Images(usize),
    /// With the channels last in memory, if all operands have them so; else in C order.
    Joined,
    COrder,
}

fn rule(conventions: Conventions, entry: &Entry) -> Rule {
    match () {
        () if conventions.has(Convention::LaidByElements) => Rule::Elements,
        () if conventions.has(Convention::LaidByLastElements) => Rule::Backwards,
        () if conventions.has(Convention::LaidAsOperand) => Rule::Operand,
        () if conventions.has(Convention::LaidAsImages) => Rule::Images(1),
        () if conventions.has(Convention::LaidAsImagesByWeight) => Rule::Images(2),
        () if conventions.has(Convention::LaidIfAll) => Rule::Joined,
        () if conventions.has(Convention::LaidInCOrder) => Rule::COrder,
        () if entry.in_place == InPlace::SameShape => Rule::Elements,
        () => Rule::COrder,
    }
}

/// The result of an op of torch's, laid out as PyTorch's. A view stays what it is.
#[cold]
pub fn result(conventions: Conventions, entry: &Entry, args: &[Arg], value: Value) -> Result<Value> {
    if entry.views {
        return Ok(value);
    }
    let mut operands: Vec<&Tensor> = vec![];
    for arg in args {
        match arg {
            Arg::Tensor(t) => operands.push(t),
            Arg::Tensors(list) => operands.extend(list),
            _ => {}
        }
    }
    let rule = rule(conventions, entry);
    let each = |t: Tensor| by_rule(rule, &operands, t);
    let all = |list: Vec<Tensor>| list.into_iter().map(each).collect::<Result<Vec<_>>>();
    Ok(match value {
        Value::Tensor(t) => Value::Tensor(each(t)?),
        Value::List(list) => Value::List(all(list)?),
        Value::Tuple(list) => Value::Tuple(all(list)?),
        value => value,
    })
}

/// Lays out a result that was computed element by element, as PyTorch does.
pub fn elements(operands: &[&Tensor], t: Tensor) -> Result<Tensor> {
    by_rule(if operands.len() == 1 { Rule::Operand } else { Rule::Elements }, operands, t)
}

/// Lays out a result that PyTorch has in C order.
pub fn c_order(operands: &[&Tensor], t: Tensor) -> Result<Tensor> {
    by_rule(Rule::COrder, operands, t)
}

fn by_rule(rule: Rule, operands: &[&Tensor], t: Tensor) -> Result<Tensor> {
    if operands.iter().any(|x| !x.levels.is_empty()) {
        return Ok(t);
    }
    if let (Rule::Operand, [x]) = (rule, operands) {
        return laid_out_like(t, &x.array.layout());
    }
    let mut layouts = operands.iter().map(|x| x.array.layout());
    let channels_last = match rule {
        Rule::Elements | Rule::Backwards | Rule::Operand => {
            let mut layouts: Vec<Layout> = layouts.filter(|l| l.broadcast(t.dims(), 0).is_some()).collect();
            if rule == Rule::Backwards {
                layouts.reverse();
            }
            return laid(t, |dims| by_elements(dims, &layouts));
        }
        Rule::Images(n) => layouts.take(n).any(|l| has_channels_last(&l)),
        Rule::Joined => layouts.all(|l| has_channels_last(&l)),
        Rule::COrder => false,
    };
    laid(t, |dims| {
        if channels_last && let Some(order) = channels_last_order(dims.len()) {
            return in_order(dims, order);
        }
        shape::contiguous_strides(dims)
    })
}

/// The tensor with these strides. Its edge stays, since the values do. What has levels or is traced lies as it is.
fn laid(t: Tensor, strides: impl FnOnce(&[usize]) -> Strides) -> Result<Tensor> {
    if !t.levels.is_empty() || t.array.is_sealed() {
        return Ok(t);
    }
    let strides = strides(t.dims());
    Ok(Tensor { array: with_strides(&t.array, &strides)?, ..t })
}

/// The elements with strides that leave no gaps: a copy where they lie in another order.
fn with_strides(x: &Array, strides: &Strides) -> Result<Array> {
    let same = |((&d, own), new): ((&usize, &isize), &isize)| d == 1 || own == new;
    if x.len() == 0 || x.dims().iter().zip(&x.strides()).zip(strides).all(same) {
        return Ok(x.restride(x.dims(), strides, 0));
    }
    let array = x.with_strides(strides)?.expect("the strides are those of an order of axes");
    Ok(array.restride(x.dims(), strides, 0))
}

/// The strides of a shape whose elements lie in an order of axes, the innermost first.
fn in_order(dims: &[usize], order: &[usize]) -> Strides {
    let mut strides = Strides::from_elem(1, dims.len());
    let mut step = 1;
    for &axis in order {
        strides[axis] = step;
        step *= dims[axis].max(1) as isize;
    }
    strides
}

/// The order of axes, the innermost first, of images or volumes with their channels last.
fn channels_last_order(rank: usize) -> Option<&'static [usize]> {
    match rank {
        4 => Some(&[1, 3, 2, 0]),
        5 => Some(&[1, 4, 3, 2, 0]),
        _ => None,
    }
}

/// Whether images or volumes lie with their channels last in memory, by their strides alone, as PyTorch tells it.
pub fn has_channels_last(x: &Layout) -> bool {
    let Some(order) = channels_last_order(x.dims.len()) else { return false };
    if x.strides[1] == 0 || x.dims.contains(&0) {
        return false;
    }
    let mut least = 0;
    for &axis in order {
        let (d, step) = (x.dims[axis], x.strides[axis]);
        // Where all axes but that of examples have one element, strides do not tell channels from the others.
        if step < least || (axis == 0 && least == x.strides[1]) {
            return false;
        }
        least = if d > 1 { step.saturating_mul(d as isize) } else { step };
    }
    true
}

/// The strides of what is computed element by element: those of the operands if all have the same, else those of the order of
/// axes in which the first operand lies that has each of two axes, for each two of them.
fn by_elements(dims: &[usize], operands: &[Layout]) -> Strides {
    if let [first, rest @ ..] = operands
        && operands.iter().all(|l| *l.dims == *dims)
    {
        if operands.iter().all(Layout::is_contiguous) {
            return shape::contiguous_strides(dims);
        }
        let is_last = |l: &Layout| l.permute(&[0, 2, 3, 1]).is_contiguous();
        if dims.len() == 4 && operands.iter().all(is_last) {
            return in_order(dims, &[1, 3, 2, 0]);
        }
        if first.dense_order().is_some() && rest.iter().all(|l| l.strides == first.strides) {
            return first.strides.clone();
        }
    }
    in_order(dims, &order_by(dims, operands))
}

/// The order of axes, the innermost first, by the strides of operands that are broadcast to a shape. An axis without a stride, or one
/// that is repeated, compares with no other one: the next operand decides.
fn order_by(dims: &[usize], operands: &[Layout]) -> Dims {
    let operands: Vec<Layout> = operands.iter().filter_map(|l| l.broadcast(dims, 0)).collect();
    let is_outside = |a: usize, b: usize| {
        for l in &operands {
            let (s, t) = (l.strides[a].abs(), l.strides[b].abs());
            if s == 0 || t == 0 {
                continue;
            }
            if s != t {
                return Some(s > t);
            }
            if dims[a] > dims[b] {
                return Some(true);
            }
        }
        None
    };
    let mut order: Dims = (0..dims.len()).rev().collect();
    for i in 1..order.len() {
        let mut at = i;
        for before in (0..i).rev() {
            match is_outside(order[before], order[at]) {
                Some(true) => {
                    order.swap(before, at);
                    at = before;
                }
                Some(false) => break,
                None => {}
            }
        }
    }
    order
}

/// The tensor with the strides that PyTorch gives a copy of `like`: the same, if its elements lie without gaps.
pub fn laid_out_like(t: Tensor, like: &Layout) -> Result<Tensor> {
    laid(t, |dims| {
        if *like.dims == *dims && like.dense_order().is_some() {
            return like.strides.clone();
        }
        by_elements(dims, std::slice::from_ref(like))
    })
}

#[pymethods]
impl Var {
    /// Whether these are images or volumes with their channels last in memory.
    fn _has_channels_last(&self) -> bool {
        let t = self.look();
        t.levels.is_empty() && has_channels_last(&t.array.layout())
    }

    /// The tensor with the strides of a copy of another one of its shape.
    fn _laid_out_like<'py>(slf: &Bound<'py, Self>, like: &Bound<'py, Var>) -> PyResult<Bound<'py, Var>> {
        let like = like.get().look();
        let made = if like.levels.is_empty() {
            laid_out_like(slf.get().operand(), &like.array.layout())
        } else {
            Ok(slf.get().operand())
        };
        Var::laid_out(slf.py(), None, made.or_raise()?, slf.get().dialect())
    }

    /// A copy with its elements in an order of axes, the outermost first, through which the gradient flows.
    fn _clone_in_order<'py>(slf: &Bound<'py, Self>, order: Vec<usize>) -> PyResult<Bound<'py, Var>> {
        let t = slf.get().operand();
        let order: Dims = order.into_iter().rev().collect();
        let mut given = order.to_vec();
        given.sort_unstable();
        if given.iter().copied().ne(0..t.rank()) {
            return Err(raise(slf.py(), "ArgumentError", format!("an order of {} axes is wanted", t.rank())));
        }
        let made = listening(ask_in_turn, || {
            if t.levels.is_empty() && !t.array.is_sealed() {
                return laid(copy(&t)?, |dims| in_order(dims, &order));
            }
            let axes = |order: &[usize]| order.iter().map(|&a| a as i64).collect::<Vec<_>>();
            let outermost: Dims = order.iter().rev().copied().collect();
            permute_dims(&copy(&permute_dims(&t, &axes(&outermost))?)?, &axes(&inverse(&outermost)))
        });
        Var::laid_out(slf.py(), None, made.or_raise()?, slf.get().dialect())
    }
}
