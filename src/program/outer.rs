//! Outer products as formulas, which can be computed together with what adds them up.

use smallvec::{SmallVec, smallvec};

use super::parts::{Id, Origin, Step, Value};
use super::way::{Pointwise, Way};
use crate::array::{Array, Layout};
use crate::dtype::DType;
use crate::graph::Loops;
use crate::kernel::pointwise::binary::BinaryLoops;
use crate::kernel::pointwise::expressions::{ADD, MULTIPLY};
use crate::shape;

/// The fewest elements of such a product. Smaller ones are computed as single numbers.
const FEWEST: usize = 16;

/// The steps of a program, where a product of a column and a row is two steps: the products of their elements, and zero plus these,
/// since a product of matrices is a sum that begins with zero. New values are put behind the others.
pub(super) fn outer_products(values: &mut Vec<Value>, steps: Vec<(Step, Way)>) -> Vec<(Step, Way)> {
    let mut all = vec![];
    for (step, way) in steps {
        match taken_apart(values, &step) {
            Some(two) => all.extend(two),
            None => all.push((step, way)),
        }
    }
    all
}

/// The two steps. None if this is no such product.
fn taken_apart(values: &mut Vec<Value>, step: &Step) -> Option<[(Step, Way); 2]> {
    let laid_out = |id: Id| values[id as usize].laid_out();
    let (&[x, y], &[out]) = (&step.ins[..], &step.outs[..]) else { return None };
    let (made, pair) = (laid_out(out), [laid_out(x), laid_out(y)]);
    let is_outer = matches!((&pair[0].1.dims[..], &pair[1].1.dims[..]), ([.., _, 1], [.., 1, _]));
    let is_float = matches!(made.0, DType::F32 | DType::F64);
    if !is_outer || !is_float || !made.1.is_contiguous() || shape::len(&made.1.dims) < FEWEST {
        return None;
    }
    let row = |table: &BinaryLoops| table.row(made.0, [0.0; 3]).expect("there are loops for floats");
    if !matches!(step.lowered(values), Some(Loops::Product)) {
        return None;
    }
    let products = Pointwise::new(row(MULTIPLY), &pair, &[x, y], &made, step.batch_ndim)?;
    let add = |values: &mut Vec<Value>, origin, Layout { dims, strides, .. }| {
        values.push(Value { origin, dtype: made.0, dims, strides });
        (values.len() - 1) as Id
    };
    let product = add(values, Origin::Made, made.1.clone());
    let nothing = Array::full_of(made.0, &[], 0.0);
    let zero = add(values, Origin::Constant(nothing), Layout::contiguous(&[]));
    let operands = [(made.0, Layout::contiguous(&[])), made.clone()];
    let sums = Pointwise::new(row(ADD), &operands, &[zero, product], &made, 0)?;
    let of = |ins: SmallVec<[Id; 4]>, out| Step { ins, outs: smallvec![out], ..step.clone() };
    Some([
        (of(smallvec![x, y], product), Way::Pointwise(products)),
        (of(smallvec![zero, product], out), Way::Pointwise(sums)),
    ])
}
