//! Tests of what the ops of files say that they make ([`Op::makes`]).

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::Error;
use crate::graph::{Op, Operands, applied, made_by, names, read_op};
use crate::stored::Reader;

/// Shapes that go together in ops of several operands: of a convolution, a normalization, a recurrent layer, paths.
const TOGETHER: &[&[&[usize]]] = &[
    &[&[2, 3], &[3], &[3]],
    &[&[2, 3, 1], &[3], &[3]],
    &[&[2, 3], &[2, 3], &[3], &[2, 2]],
    &[&[2, 3, 1], &[2, 3, 1], &[3], &[3, 2]],
    &[&[2, 3], &[2, 3], &[2, 1]],
    &[&[2, 3], &[2, 1]],
    &[&[2, 1], &[2, 3], &[2, 1], &[2, 1]],
    &[&[2, 1, 4], &[4, 1], &[1, 1], &[1, 1]],
    &[&[2, 1, 1], &[1, 1], &[2, 1, 4], &[2, 1, 1], &[1, 1], &[4, 1]],
    &[&[3], &[2, 3], &[2, 3]],
    &[&[2, 3, 4], &[2, 4]],
    &[&[2, 3], &[2, 4], &[3, 4]],
    &[&[3], &[2], &[2]],
    &[&[2, 1], &[2, 1]],
    &[&[2, 4, 5], &[6, 2, 3]],
    &[&[2, 4, 5], &[2, 6, 3]],
    &[&[6, 2, 3], &[2, 6, 3]],
];
/// What the fields of some ops begin with, which chance does not find.
const FIELDS: &[(&str, &[u8])] = &[
    ("Conv ", &[0, 2, 4, 6, 2, 1, 1, 1, 5, 1, 1, 3, 1, 1, 3, 1, 1, 1, 1, 1, 1, 0, 0, 0]),
    ("RoundedConv ", &[0, 2, 4, 6, 2, 1, 1, 1, 5, 1, 1, 3, 1, 1, 3, 1, 1, 1, 1, 1, 1, 0, 0, 0]),
    ("ScatterAdd(AlongAxis) ", &[0, 1, 2, 2, 3]),
    ("Unrecorded(Formula)", b"\0\x04clip\x01"),
    ("LinearOp(Sums) ", &[1, 1, 3, 1, 0, 1, 1, 0, 1, 2, 0, 2, 1, 3, 1, 1, 1, 1]),
    ("WithIndicesOp(MaxPool) ", &[0, 1, 1, 3, 1, 0, 1, 1, 0, 1, 2, 0, 2, 1, 3, 1, 1, 1]),
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.next() as usize % of.len()]
    }

    /// An op of this name with fields that hold anything, if they are large mostly numbers that no array bears.
    fn op(&mut self, name: &str, large: bool) -> Option<Arc<dyn Op>> {
        let few = [0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 4, 11, 12];
        let of = |random: &mut Random| {
            if large && random.next().is_multiple_of(4) { random.next() as u8 } else { random.one(&few) }
        };
        let mut bytes: Vec<u8> = (0..120).map(|_| of(self)).collect();
        if let Some((_, first)) = FIELDS.iter().find(|(known, _)| name.starts_with(known) && !large) {
            bytes[..first.len()].copy_from_slice(first);
        }
        read_op(name, &mut Reader(&bytes))
    }

    fn dtype(&mut self, like: DType) -> DType {
        match self.next() % 10 {
            0 => self.one(&DType::ALL),
            1 => DType::I64,
            2 => self.one(&[DType::Bool, DType::F64]),
            _ => like,
        }
    }

    /// The dtypes and shapes of operands, and how many of their axes are hidden.
    fn operands(&mut self, large: bool) -> (Vec<DType>, Vec<Vec<usize>>, usize) {
        let like = self.one(&[DType::F32, DType::F64, DType::C64, DType::I64, DType::Bool, DType::F16]);
        let size = self.one(&[1, 2, 3]);
        let mut dims: Vec<Vec<usize>> = if self.next().is_multiple_of(3) {
            self.one(TOGETHER).iter().map(|dims| dims.to_vec()).collect()
        } else {
            let rank = self.next() % 4;
            (0..self.next() % 4)
                .map(|_| {
                    let rank = if self.next().is_multiple_of(3) { self.next() % 5 } else { rank };
                    (0..rank)
                        .map(|_| if self.next().is_multiple_of(5) { self.one(&[0, 1, 2, 4]) } else { size })
                        .collect()
                })
                .collect()
        };
        let hidden = (self.next() % 3) as usize;
        for dims in &mut dims {
            (0..hidden).for_each(|_| dims.insert(0, self.one(&[1, 3])));
            if large && let Some(size) = dims.first_mut() {
                *size = self.one(&[0, 1 << 40, usize::MAX, isize::MAX as usize]);
            }
        }
        let dtypes = dims.iter().map(|_| self.dtype(like)).collect();
        (dtypes, dims, hidden)
    }
}

fn with<R>(
    (dtypes, dims, batch_ndim): &(Vec<DType>, Vec<Vec<usize>>, usize),
    f: impl FnOnce(&Operands<'_>) -> R,
) -> R {
    let dims: Vec<&[usize]> = dims.iter().map(|dims| &dims[..]).collect();
    f(&Operands { dtypes, dims: &dims, batch_ndim: *batch_ndim })
}

#[test]
fn no_op_of_a_file_panics_where_it_is_asked_what_it_makes() {
    let mut random = Random(1);
    for name in names() {
        for k in 0..3000 {
            let Some(op) = random.op(name, k % 2 == 0) else { continue };
            let operands = random.operands(k % 3 == 0);
            let made = catch_unwind(AssertUnwindSafe(|| with(&operands, |ins| made_by(&*op, ins).is_some())));
            assert!(made.is_ok(), "{name} panics of {operands:?}");
        }
    }
}

/// Whether `forward` makes of such operands what the op says. None if they are refused by either.
fn is_so(op: &dyn Op, operands: &(Vec<DType>, Vec<Vec<usize>>, usize), number: f64) -> Option<bool> {
    let said = with(operands, |ins| made_by(op, ins))?;
    let ins = operands.0.iter().zip(&operands.1);
    let ins: Vec<Array> =
        ins.map(|(&dtype, dims)| Array::full_of(dtype, dims, number).packed().unwrap()).collect();
    let outs = Error::catch(|| applied(op, &ins.iter().collect::<Vec<_>>(), operands.2)).ok()?;
    Some(outs.iter().map(|x| (x.dtype(), x.dims())).eq(said.iter().map(|(dtype, dims)| (*dtype, &dims[..]))))
}

#[test]
fn every_op_of_a_file_makes_what_it_says() {
    let mut random = Random(2);
    let mut missing = BTreeSet::new();
    for name in names() {
        let mut agreed = 0;
        for _ in 0..60_000 {
            let Some(op) = random.op(name, false) else { continue };
            if op.decides() {
                agreed = 1;
                break;
            }
            let (operands, number) = (random.operands(false), random.one(&[0.0, 1.0]));
            match is_so(&*op, &operands, number) {
                Some(true) => agreed += 1,
                Some(false) => panic!("{name} does not make what it says of {operands:?}"),
                None => {}
            }
            if agreed == 20 {
                break;
            }
        }
        if agreed == 0 {
            missing.insert(name);
        }
    }
    assert!(missing.is_empty(), "these ops do not say what they make: {missing:?}");
}
