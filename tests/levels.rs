//! `vmap` and batched cotangents against plain loops: gradients inside, outside and across levels, in the 17
//! combinations of live and closed levels that a wrong rule would fail.

use ferrograd::engine::Request;
use ferrograd::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tangents, apply};
use ferrograd::ops::copy::alias;
use ferrograd::ops::pointwise::{cos, sin};
use ferrograd::ops::reduce;
use ferrograd::transform::{batched, vmap};
use ferrograd::{Array, Result, Tensor};

const B: usize = 3;
const C: usize = 2;
const D: usize = 4;

/// Pseudo-random numbers in [-1, 1), the same in every run.
fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31) * 2.0 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn tensor(data: &[f64], dims: &[usize]) -> Tensor {
    Tensor::constant(Array::from_slice(data, dims).unwrap())
}

fn eye(n: usize) -> Tensor {
    let data: Vec<f64> = (0..n * n).map(|i| f64::from(u8::from(i % (n + 1) == 0))).collect();
    tensor(&data, &[n, n])
}

fn sum(x: &Tensor) -> Tensor {
    reduce::sum(x, None, false, None).unwrap()
}

/// The gradient of `y` with respect to `x`.
fn grad(y: &Tensor, x: &Tensor, create_graph: bool) -> Result<Tensor> {
    Ok(ferrograd::grad(&[y], &[x], create_graph)?.remove(0).expect("x was used"))
}

fn grad_batched(y: &Tensor, x: &Tensor, seeds: &Tensor, create_graph: bool) -> Tensor {
    let request = Request {
        roots: vec![(y.edge().unwrap().clone(), seeds.clone())],
        wanted: vec![x.edge().unwrap().clone()],
        create_graph,
        retain_graph: true,
        ..Request::default()
    };
    batched(request).unwrap().wanted.remove(0).expect("x was used")
}

/// The gradient of `f` at `w`, taken with respect to an alias of `w`.
fn gradient(f: impl Fn(&Tensor) -> Tensor, w: &Tensor) -> Result<Tensor> {
    let w = alias(w)?;
    grad(&f(&w), &w, true)
}

fn one(f: impl FnOnce(&[Tensor]) -> Result<Tensor>, x: &Tensor) -> Tensor {
    vmap(|t| Ok(vec![f(t)?]), &[(x, Some(0))], 0).unwrap().remove(0)
}

#[track_caller]
fn check(got: &Tensor, dims: &[usize], want: &[f64], tolerance: f64) {
    assert!(got.levels().is_empty(), "levels left over");
    assert_eq!(got.dims(), dims);
    for (g, w) in got.array().to_vec::<f64>().iter().zip(want) {
        assert!((g - w).abs() <= tolerance, "{g} instead of {w}");
    }
}

const EXACT: f64 = 1e-12;
const DIFFERENCES: f64 = 1e-5;

/// The central differences of a function of D numbers.
fn differences(f: impl Fn(&[f64]) -> f64, at: &[f64]) -> Vec<f64> {
    let e = 1e-6;
    let shifted = |i: usize, by: f64| {
        let mut x = at.to_vec();
        x[i] += by;
        f(&x)
    };
    (0..at.len()).map(|i| (shifted(i, e) - shifted(i, -e)) / (2.0 * e)).collect()
}

struct Data {
    x: Vec<f64>,
    w: Vec<f64>,
    z: Vec<f64>,
}

impl Data {
    fn new() -> Data {
        Data { x: numbers(B * D, 1), w: numbers(D, 2), z: numbers(C * D, 3) }
    }
    fn xs(&self) -> Tensor {
        tensor(&self.x, &[B, D])
    }
    fn zs(&self) -> Tensor {
        tensor(&self.z, &[C, D])
    }
    fn leaf(&self) -> Tensor {
        tensor(&self.w, &[D]).leaf()
    }
    /// `f(w, x)` for each sample and element.
    fn table(&self, f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        (0..B * D).map(|i| f(self.w[i % D], self.x[i])).collect()
    }
    /// The sum of `f(w, x)` over the batch.
    fn summed(&self, w: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        (0..D).map(|d| (0..B).map(|b| f(w[d], self.x[b * D + d])).sum()).collect()
    }
}

fn f(w: &Tensor, x: &Tensor) -> Tensor {
    sum(&sin(&(w * x)).unwrap())
}

/// The derivative of `sin(w x)` by `w`.
fn slope(w: f64, x: f64) -> f64 {
    (w * x).cos() * x
}

fn squares(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum()
}

/// A diagonal as a matrix.
fn diagonal(v: &[f64]) -> Vec<f64> {
    let n = v.len();
    (0..n * n).map(|i| if i % (n + 1) == 0 { v[i / n] } else { 0.0 }).collect()
}

#[test]
fn per_sample_gradients() {
    let d = Data::new();
    let w = d.leaf();
    let r = vmap(|t| Ok(vec![gradient(|w| f(w, &t[1]), &t[0])?]), &[(&w, None), (&d.xs(), Some(0))], 0);
    check(&r.unwrap()[0], &[B, D], &d.table(slope), EXACT);
}

#[test]
fn gradient_of_a_sum_over_the_batch() {
    let d = Data::new();
    let w = d.leaf();
    let y = one(|t| Ok(f(&w, &t[0])), &d.xs());
    check(&grad(&sum(&y), &w, false).unwrap(), &[D], &d.summed(&d.w, slope), EXACT);
}

#[test]
fn batched_cotangents() {
    let d = Data::new();
    let w = d.leaf();
    let y = sin(&(&w * &w)).unwrap();
    let want: Vec<f64> = d.w.iter().map(|w| (w * w).cos() * 2.0 * w).collect();
    check(&grad_batched(&y, &w, &eye(D), false), &[D, D], &diagonal(&want), EXACT);
}

#[test]
fn batched_cotangents_through_a_closed_level() {
    let d = Data::new();
    let w = d.leaf();
    let y = one(|t| Ok(f(&w, &t[0])), &d.xs());
    check(&grad_batched(&y, &w, &eye(B), false), &[B, D], &d.table(slope), EXACT);
}

#[test]
fn gradient_of_a_nested_vmap() {
    let d = Data::new();
    let w = d.leaf();
    let y = one(|x| Ok(one(|z| Ok(sum(&sin(&(&(&w * &x[0]) * &z[0])).unwrap())), &d.zs())), &d.xs());
    let term = |w: f64, x: f64, i: usize| {
        (0..C).map(|c| d.z[c * D + i]).map(|z| (w * x * z).cos() * x * z).sum::<f64>()
    };
    let want: Vec<f64> = (0..D).map(|i| (0..B).map(|b| term(d.w[i], d.x[b * D + i], i)).sum()).collect();
    check(&grad(&sum(&y), &w, false).unwrap(), &[D], &want, EXACT);
}

#[test]
fn gradients_of_each_pair_two_levels_deep() {
    let d = Data::new();
    let w = d.leaf();
    let r =
        one(|x| Ok(one(|z| gradient(|w| sum(&sin(&(&(w * &x[0]) * &z[0])).unwrap()), &w), &d.zs())), &d.xs());
    let mut want = vec![];
    for b in 0..B {
        for c in 0..C {
            want.extend((0..D).map(|i| slope(d.w[i], d.x[b * D + i] * d.z[c * D + i])));
        }
    }
    check(&r, &[B, C, D], &want, EXACT);
}

#[test]
fn inner_level_summed_outer_level_kept() {
    let d = Data::new();
    let w = d.leaf();
    let inner = |w: &Tensor, x: &Tensor| sum(&one(|z| Ok(sum(&sin(&(&(w * x) * &z[0]))?)), &d.zs()));
    let r = one(|x| gradient(|w| inner(w, &x[0]), &w), &d.xs());
    let want: Vec<f64> =
        (0..B * D).map(|i| (0..C).map(|c| slope(d.w[i % D], d.x[i] * d.z[c * D + i % D])).sum()).collect();
    check(&r, &[B, D], &want, EXACT);
}

#[test]
fn gradient_inside_vmap_by_a_closed_over_tensor() {
    let d = Data::new();
    let w = d.leaf();
    let r = one(|x| grad(&f(&w, &x[0]), &w, true), &d.xs());
    check(&r, &[B, D], &d.table(slope), EXACT);
}

#[test]
fn second_order_through_per_sample_gradients() {
    let d = Data::new();
    let want =
        differences(|v| squares(&(0..B * D).map(|i| slope(v[i % D], d.x[i])).collect::<Vec<_>>()), &d.w);
    let w = d.leaf();
    let r = one(|x| gradient(|w| f(w, &x[0]), &w), &d.xs());
    check(&grad(&sum(&(&r * &r)), &w, false).unwrap(), &[D], &want, DIFFERENCES);
    let w = d.leaf();
    let r = one(|x| grad(&f(&w, &x[0]), &w, true), &d.xs());
    check(&grad(&sum(&(&r * &r)), &w, false).unwrap(), &[D], &want, DIFFERENCES);
}

#[test]
fn gradient_through_a_batched_jacobian() {
    let d = Data::new();
    let w = d.leaf();
    let j = grad_batched(&sin(&(&w * &w)).unwrap(), &w, &eye(D), true);
    let want = differences(|v| squares(&v.iter().map(|w| (w * w).cos() * 2.0 * w).collect::<Vec<_>>()), &d.w);
    check(&grad(&sum(&(&j * &j)), &w, false).unwrap(), &[D], &want, DIFFERENCES);
}

#[test]
fn hessian() {
    let d = Data::new();
    let w = d.leaf();
    let g = grad(&sum(&sin(&(&w * &w)).unwrap()), &w, true).unwrap();
    let want: Vec<f64> = d.w.iter().map(|w| 2.0 * (w * w).cos() - 4.0 * w * w * (w * w).sin()).collect();
    check(&grad_batched(&g, &w, &eye(D), false), &[D, D], &diagonal(&want), EXACT);
}

#[test]
fn second_order_of_a_batched_loss() {
    let d = Data::new();
    let w = d.leaf();
    let y = sum(&one(|x| Ok(f(&w, &x[0])), &d.xs()));
    let g = grad(&y, &w, true).unwrap();
    let want = differences(|v| squares(&d.summed(v, slope)), &d.w);
    check(&grad(&sum(&(&g * &g)), &w, false).unwrap(), &[D], &want, DIFFERENCES);
}

#[test]
fn hessian_of_a_batched_loss() {
    let d = Data::new();
    let w = d.leaf();
    let y = sum(&one(|x| Ok(f(&w, &x[0])), &d.xs()));
    let g = grad(&y, &w, true).unwrap();
    let want = diagonal(&d.summed(&d.w, |w, x| -(w * x).sin() * x * x));
    check(&grad_batched(&g, &w, &eye(D), false), &[D, D], &want, EXACT);
}

#[test]
fn second_order_of_a_batched_loss_with_products_inside() {
    let d = Data::new();
    let w = d.leaf();
    let y = sum(&one(|x| Ok(sum(&sin(&(&(&w * &w) * &x[0]))?)), &d.xs()));
    let g = grad(&y, &w, true).unwrap();
    let want = differences(|v| squares(&d.summed(v, |w, x| (w * w * x).cos() * 2.0 * w * x)), &d.w);
    check(&grad(&sum(&(&g * &g)), &w, false).unwrap(), &[D], &want, DIFFERENCES);
}

#[test]
fn a_result_that_does_not_depend_on_the_sample() {
    let d = Data::new();
    let w = d.leaf();
    let y = one(|_| Ok(sum(&sin(&(&w * 2.0))?)), &d.xs());
    let want: Vec<f64> = d.w.iter().map(|w| B as f64 * 2.0 * (2.0 * w).cos()).collect();
    check(&grad(&sum(&y), &w, false).unwrap(), &[D], &want, EXACT);
}

/// An op whose rule returns ones for any cotangent: like some custom rules, it is not linear in the cotangent.
struct Stubborn;

impl Op for Stubborn {
    fn name(&self) -> &'static str {
        "stubborn"
    }
    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([ins[0].clone()].into())
    }
    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }
    fn vjp(&self, _: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = Tensor::constant(Array::full(s.out_dims(0), 1.0));
        Ok([Some(g)].into_iter().collect())
    }
    fn jvp(&self, t: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(t.iter().cloned().collect())
    }
}

#[test]
fn a_rule_that_returns_a_constant() {
    // The constant has no batch axis, so it is expanded to the batch before the next rule runs.
    let d = Data::new();
    let w = d.leaf();
    let y = one(|x| Ok(sum(&apply(Stubborn, &[&(&x[0] + &w)])?)), &d.xs());
    check(&grad(&sum(&y), &w, false).unwrap(), &[D], &[B as f64; D], EXACT);
}

#[test]
fn batch_axes_at_other_positions_and_shared_inputs() {
    let d = Data::new();
    let x = d.xs();
    let columns = vmap(|t| Ok(vec![sin(&t[0])?, cos(&t[1])?]), &[(&x, Some(-1)), (&x, None)], 1).unwrap();
    check(&columns[0], &[B, D], &sin(&x).unwrap().array().to_vec::<f64>(), EXACT);
    assert_eq!(columns[1].dims(), [B, D, D]);
}

#[test]
fn errors_name_vmap() {
    let x = tensor(&[1.0, 2.0], &[2]);
    let z = tensor(&[1.0, 2.0, 3.0], &[3]);
    let error = |r: Result<Vec<Tensor>>| r.unwrap_err().to_string();
    let id = |t: &[Tensor]| Ok(t.to_vec());
    assert!(error(vmap(id, &[(&x, None)], 0)).starts_with("vmap: no input has a batch axis"));
    assert!(
        error(vmap(id, &[(&x, Some(0)), (&z, Some(0))], 0)).starts_with("vmap: input 1 has a batch of 3")
    );
    assert!(error(vmap(id, &[(&x, Some(1))], 0)).starts_with("vmap: "));
    assert!(error(vmap(id, &[(&x, Some(0))], 3)).starts_with("vmap: "));
    let w = x.leaf();
    let inside = vmap(|t| ferrograd::backward(&[&(&t[0] * &w)]).map(|_| vec![]), &[(&x, Some(0))], 0);
    assert!(error(inside).contains("inside vmap"));
}
