//! Programs and calls that say what is not so, in safe Rust: each is an error or a panic, and no memory is touched.

#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use ferrograd::array::Item;
use ferrograd::graph::trace::Call;
use ferrograd::graph::{Modes, NodeKind, Trace};
use ferrograd::program::Program;
use ferrograd::{Array, DType, Tensor, ops};

/// More bytes than lie between two blocks.
const N: usize = 256;

fn full(dtype: DType, dims: &[usize]) -> Array {
    Array::full_of(dtype, dims, 1.0).packed().unwrap()
}

/// The calls that compute a function of arrays of ones, with the arrays and the result.
fn traced(
    dims: &[&[usize]],
    f: impl Fn(&[Tensor]) -> ferrograd::Result<Tensor>,
) -> (Vec<Array>, Vec<Call>, Array) {
    let trace = Trace::new(Box::new(()));
    let ins: Vec<Tensor> =
        dims.iter().map(|dims| Tensor::constant(trace.seal(full(DType::F64, dims)))).collect();
    let y = {
        let _traced = Modes::enter(|m| m.trace = Some(trace.clone()));
        f(&ins).unwrap()
    };
    let calls = trace.end().expect("nobody reads its numbers");
    (ins.iter().map(|x| x.array().unsealed().clone()).collect(), calls, y.array().unsealed().clone())
}

/// Runs a program whose last call says that its result is another array.
fn run_with_result(dims: &[&[usize]], made: Array, f: impl Fn(&[Tensor]) -> ferrograd::Result<Tensor>) {
    let (ins, mut calls, _) = traced(dims, f);
    calls.last_mut().unwrap().outs[0] = made.clone();
    let done = catch_unwind(AssertUnwindSafe(|| {
        let program = Program::new(&ins, &calls, &[made]).expect("it needs no view");
        program.run(&ins)
    }));
    assert!(!matches!(done, Ok(Ok(Some(_)))), "{}", calls.last().unwrap().op.name());
}

/// The sum with the identity of eight rows.
fn positive(x: &Tensor) -> ferrograd::Result<Tensor> {
    x.add(&ops::create::eye(8, None, Item::Int(0), Some(DType::F64))?)
}

#[test]
fn a_kernel_of_a_sequence_makes_what_the_program_says() {
    let square: &[usize] = &[32, 32];
    let rows: &[usize] = &[32];
    /// The shapes of arguments and of the result, and the function.
    type Case<'a> = (&'a [&'a [usize]], &'a [usize], fn(&[Tensor]) -> ferrograd::Result<Tensor>);
    let cases: [Case<'_>; 6] = [
        (&[square], square, |x| x[0].softmax(-1)),
        (&[square], rows, |x| x[0].logsumexp(Some(&[-1]), false)),
        (&[square], rows, |x| x[0].sum(Some(&[1]), false, None)),
        (&[square, square], square, |x| x[0].matmul(&x[1])),
        (&[&[8, 8], &[8, 8]], &[8, 8], |x| {
            ops::linalg::solve::solve((&positive(&x[0])?).into(), (&x[1]).into())
        }),
        (&[&[8, 8]], &[8, 8], |x| ops::linalg::cholesky::cholesky(&positive(&x[0])?, false)),
    ];
    for (ins, dims, f) in cases {
        run_with_result(ins, full(DType::F32, dims), f);
        run_with_result(ins, full(DType::F64, &[3]), f);
    }
}

#[test]
fn a_loop_takes_operands_of_its_dtype() {
    let (ins, mut calls, y) = traced(&[&[N]], |x| x[0].add(&x[0]));
    let narrow = full(DType::F32, &[N]);
    calls[0].ins[1] = narrow.clone();
    let done = catch_unwind(AssertUnwindSafe(|| {
        let program = Program::new(&[ins[0].clone(), narrow.clone()], &calls, &[y]).unwrap();
        program.run(&[ins[0].clone(), narrow])
    }));
    assert!(!matches!(done, Ok(Ok(Some(_)))));
}

/// Applies the op of a tensor to other arrays.
fn forward(of: &Tensor, ins: &[&Array]) -> bool {
    let node = of.edge().expect("it is recorded").node.clone();
    let NodeKind::Op(op) = &node.kind else { panic!("a leaf") };
    matches!(catch_unwind(AssertUnwindSafe(|| op.forward(ins, 0))), Ok(Ok(_)))
}

#[test]
fn an_op_looks_at_its_operands() {
    let leaf = |dims: &[usize]| Tensor::constant(full(DType::F64, dims)).leaf();
    let (wide, narrow) = (full(DType::F64, &[N, N]), full(DType::F32, &[N, N]));
    let square = leaf(&[4, 4]);
    let product = square.matmul(&square).unwrap();
    assert!(forward(&product, &[&wide, &wide]) && !forward(&product, &[&wide, &narrow]));
    let eye = ops::create::eye(N as i64, None, Item::Int(0), None).unwrap();
    let few = square.add(&ops::create::eye(4, None, Item::Int(0), None).unwrap()).unwrap();
    let solution = ops::linalg::solve::solve((&few).into(), (&square).into()).unwrap();
    let eye = eye.cast(DType::F64).unwrap();
    assert!(forward(&solution, &[eye.array(), &wide]) && !forward(&solution, &[eye.array(), &narrow]));
    let frequencies = ops::fft::rfft(&leaf(&[1 << 12]), None, -1, Some("backward")).unwrap();
    assert!(!forward(&frequencies, &[&full(DType::F64, &[8])]));
    let at = Tensor::new(&[0i64, 1], &[2]).unwrap();
    let sum = leaf(&[N]).index_add(0, &at, &leaf(&[2])).unwrap();
    let (onto, places) = (full(DType::F32, &[N]), full(DType::I64, &[2]));
    assert!(!forward(&sum, &[&onto, &places, &full(DType::F64, &[2])]));
}
