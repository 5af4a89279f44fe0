//! What small computations of compiled programs take, for the constants of `src/program/costs.rs`: formulas of `n` elements, one by
//! one in a cluster, and the cluster itself. `cargo bench --bench costs` prints nanoseconds.

#![allow(clippy::print_stdout, reason = "it prints what it measures")]

use std::hint::black_box;
use std::time::Instant;

use ferrograd_base::dtype::DType;
use ferrograd_base::kernel::par::SendPtr;
use ferrograd_base::kernel::pointwise::cluster::{Cluster, Read, Reading, ScalarProgram, Write};
use ferrograd_base::kernel::pointwise::expressions::{LOG, MULTIPLY};
use ferrograd_base::kernel::pointwise::row::{Instruction, Operand, Row};

fn main() {
    let numbers = [0.0; 3];
    let product = MULTIPLY.row(DType::F64, numbers).expect("there is a loop for floats");
    let logarithm = LOG.row(DType::F64, numbers).expect("there is a loop for floats");
    println!("elements   a cluster of 2 products   a product more   a logarithm more");
    for n in [1, 2, 4, 8, 16] {
        let more = |row| (nanoseconds(n, 34, row) - nanoseconds(n, 2, row)) / 32.0;
        let (first, product, logarithm) = (nanoseconds(n, 2, product), more(product), more(logarithm));
        println!("{n:8} {first:25.1} {product:16.2} {logarithm:18.2}");
    }
}

/// How long a run takes that applies the formula `times` times, each time to the last result. One number runs as a scalar program,
/// several run as a cluster.
fn nanoseconds(n: usize, times: u32, row: Row) -> f64 {
    let operand = |address| Operand { address, step: 1 };
    let register = |i: u32| 2 + i % 2;
    let instruction = |i: u32| {
        let x = if i == 0 { 0 } else { register(i) };
        let to = if i + 1 == times { 1 } else { register(i + 1) };
        Instruction { row, from: [operand(x), operand(0), operand(0)], to, also: to }
    };
    let reads = vec![Read { reading: Reading::Along, dtype: DType::F64, start: 0 }];
    let writes = vec![Write { dtype: DType::F64, from: None }];
    let instructions = (0..times).map(instruction).collect();
    if n == 1 {
        let program = ScalarProgram::new(instructions, &reads, &writes, 2);
        // SAFETY: as `least` says.
        return least(n, program.room(), |x, z, room| unsafe { program.run(x, z, room) });
    }
    let cluster = Cluster::new(n, instructions, reads, writes, vec![], 2);
    // SAFETY: as above.
    least(n, cluster.room(), |x, z, room| unsafe { cluster.run(x, z, room) })
}

/// The shortest time of `run`, which gets an operand and a result of `n` elements, and aligned memory of `bytes` bytes.
fn least(n: usize, bytes: usize, run: impl Fn(&[SendPtr], &[SendPtr], *mut u8)) -> f64 {
    const RUNS: u32 = 1000;
    let (x, mut z) = (vec![1.01f64; n], vec![0.0f64; n]);
    let mut room = vec![0u8; bytes + 64];
    let room = room.as_mut_ptr().wrapping_add(room.as_ptr().align_offset(64));
    let (x, z) = ([SendPtr(x.as_ptr().cast_mut().cast())], [SendPtr(z.as_mut_ptr().cast())]);
    let timed = || {
        let start = Instant::now();
        (0..RUNS).for_each(|_| run(black_box(&x), &z, room));
        start.elapsed().as_secs_f64() * 1e9 / f64::from(RUNS)
    };
    (0..200).map(|_| timed()).fold(f64::INFINITY, f64::min)
}
