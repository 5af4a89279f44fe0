//! Backward passes over chains of one-element ops: the time per node, from a hundred nodes to a hundred thousand.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ferrograd::{Tensor, grad};

fn chain(x: &Tensor, n: usize) -> Tensor {
    let factor = Tensor::scalar(0.999);
    (1..n).fold(x * &factor, |y, _| y * &factor)
}

fn chains(c: &mut Criterion) {
    let mut group = c.benchmark_group("chain");
    for n in [100, 1_000, 10_000, 100_000] {
        group.throughput(Throughput::Elements(n as u64));
        let x = Tensor::scalar(1.0).leaf();
        group.bench_with_input(BenchmarkId::new("forward and drop", n), &n, |b, &n| b.iter(|| chain(&x, n)));
        group.bench_with_input(BenchmarkId::new("backward", n), &n, |b, &n| {
            b.iter_batched(|| chain(&x, n), |y| grad(&[&y], &[&x], false).unwrap(), BatchSize::LargeInput);
        });
        group.bench_with_input(BenchmarkId::new("backward, recorded", n), &n, |b, &n| {
            b.iter_batched(|| chain(&x, n), |y| grad(&[&y], &[&x], true).unwrap(), BatchSize::LargeInput);
        });
    }
    group.finish();
}

/// The third derivative of x⁵, written as products.
fn third(c: &mut Criterion) {
    let x = Tensor::scalar(1.5).leaf();
    c.bench_function("third derivative of x^5", |b| {
        b.iter(|| {
            let mut y = &x * &x * &x * &x * &x;
            for order in 0..3 {
                y = grad(&[&y], &[&x], order < 2).unwrap().remove(0).unwrap();
            }
            y
        });
    });
}

criterion_group!(benches, chains, third);
criterion_main!(benches);
