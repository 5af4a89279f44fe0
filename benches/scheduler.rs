//! Backward passes over independent branches, with one thread and with two.

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use ferrograd::{Array, Tensor, grad, par};

/// `branches` independent chains from one leaf, summed.
fn wide(x: &Tensor, branches: usize, depth: usize) -> Tensor {
    let branch = |i: usize| (0..depth).fold(x * (1.0 + i as f64), |y, _| &y * &y * 0.5);
    (1..branches).fold(branch(0), |sum, i| sum + branch(i))
}

fn branches(c: &mut Criterion) {
    let mut group = c.benchmark_group("64 branches of 4 squares");
    group.sample_size(20);
    for elements in [1, 1_000, 20_000] {
        let data: Vec<f32> = (0..elements).map(|i| 1.0 / (1.0 + i as f32)).collect();
        let x = Tensor::constant(Array::from_slice(&data, &[elements]).unwrap()).leaf();
        for threads in [1, 2] {
            let id =
                BenchmarkId::new(format!("backward of {elements} elements"), format!("{threads} threads"));
            group.bench_function(id, |b| {
                par::set_threads(threads);
                let run = |y: Tensor| grad(&[&y], &[&x], false).unwrap();
                b.iter_batched(|| wide(&x, 64, 4), run, BatchSize::LargeInput);
            });
        }
    }
    group.finish();
}

criterion_group!(benches, branches);
criterion_main!(benches);
