//! Kernels on arrays larger than the cache, called through the public functions without recording.

use std::hint::black_box;
use std::sync::Mutex;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ferrograd::ops::{contract, movement, pointwise, reduce};
use ferrograd::{Array, Result, Tensor, par};

fn ramp(dims: &[usize]) -> Tensor {
    let n: usize = dims.iter().product();
    let data: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 / 500.0 - 1.0).collect();
    Tensor::constant(Array::from_slice(&data, dims).unwrap())
}

fn kernels(c: &mut Criterion) {
    let (x, row) = (ramp(&[2048, 2048]), ramp(&[2048]));
    let transposed = movement::permute_dims(&x, &[1, 0]).unwrap();
    let mut group = c.benchmark_group("4 M f32");
    group.throughput(Throughput::Elements(4 << 20)).sample_size(20);
    let mut run = |name: &str, f: &dyn Fn() -> Result<Tensor>| {
        group.bench_function(name, |b| b.iter(|| f().unwrap()));
    };
    run("multiply", &|| Ok(&x * &x));
    run("add a row", &|| Ok(&x + &row));
    run("add the transpose", &|| Ok(&x + &transposed));
    run("exp", &|| pointwise::exp(&x));
    run("sin", &|| pointwise::sin(&x));
    run("sum", &|| reduce::sum(&x, None, false, None));
    run("sum over axis 0", &|| reduce::sum(&x, Some(&[0]), false, None));
    run("sum over axis 1", &|| reduce::sum(&x, Some(&[1]), false, None));
    group.finish();

    let mut group = c.benchmark_group("matmul f32");
    for n in [64, 512, 1024] {
        let a = ramp(&[n, n]);
        group.throughput(Throughput::Elements(2 * (n as u64).pow(3)));
        group.bench_function(n.to_string(), |b| {
            b.iter(|| contract::matmul((&a).into(), (&a).into()).unwrap());
        });
    }
    group.finish();
}

/// The speed that the machine allows: bare loops over memory that is allocated before.
fn bare(c: &mut Criterion) {
    const N: usize = 4 << 20;
    let x: Vec<f32> = (0..N).map(|i| (i % 1000) as f32 / 500.0 - 1.0).collect();
    let out: Vec<Mutex<Vec<f32>>> = (0..par::threads()).map(|_| Mutex::new(Vec::new())).collect();
    let part = N.div_ceil(out.len());
    let mut group = c.benchmark_group("bare loops over 4 M f32");
    group.throughput(Throughput::Elements(N as u64)).sample_size(20);
    group.bench_function("multiply", |b| {
        b.iter(|| {
            par::pieces(N, part, &|r| {
                let mut out = out[r.start / part].lock().unwrap();
                out.resize(r.len(), 0.0);
                out.iter_mut().zip(&x[r]).for_each(|(o, &v)| *o = v * v);
            });
        });
    });
    group.bench_function("sum", |b| {
        b.iter(|| {
            par::pieces(N, part, &|r| {
                let mut sums = [0.0_f32; 32];
                for line in x[r].as_chunks().0 {
                    sums.iter_mut().zip(line as &[f32; 32]).for_each(|(s, &v)| *s += v);
                }
                black_box(sums);
            });
        });
    });
    group.finish();
}

criterion_group!(benches, kernels, bare);
criterion_main!(benches);
