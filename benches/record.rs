//! The cost of recording one op: the arrays have one element, so only the overhead is measured.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use ferrograd::Tensor;

fn record(c: &mut Criterion) {
    let x = Tensor::scalar(2.0);
    let leaf = x.leaf();
    let mut group = c.benchmark_group("record");
    group.bench_function("multiply, untracked", |b| b.iter(|| black_box(&x) * black_box(&x)));
    group.bench_function("multiply, recorded", |b| b.iter(|| black_box(&leaf) * black_box(&leaf)));
    group.bench_function("add, recorded", |b| b.iter(|| black_box(&leaf) + black_box(&leaf)));
    group.bench_function("leaf", |b| b.iter(|| black_box(&x).leaf()));
    group.finish();
}

criterion_group!(benches, record);
criterion_main!(benches);
