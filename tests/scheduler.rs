//! Backward passes: the same bits for any number of threads, errors and panics, deep graphs, and the options of a
//! request.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferrograd::engine::{Answer, Reached, Request};
use ferrograd::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tangents, apply, apply_all};
use ferrograd::ops::contract::matmul;
use ferrograd::ops::pointwise::sin;
use ferrograd::{Array, Error, Result, Tensor, par};

/// Sets the number of threads, which is global: the tests that set it run one after another.
fn threads(n: usize) -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    par::set_threads(n);
    turn
}

fn request<'a>(outputs: &[&Tensor], wanted: &[&Tensor]) -> Request<'a> {
    Request {
        roots: outputs
            .iter()
            .map(|t| (t.edge().unwrap().clone(), Tensor::constant(Array::full_of(t.dtype(), t.dims(), 1.0))))
            .collect(),
        wanted: wanted.iter().map(|t| t.edge().unwrap().clone()).collect(),
        ..Request::default()
    }
}

fn value(t: &Tensor) -> f64 {
    t.array().item().to_f64().expect("a real number")
}

/// Numbers of different sizes, so that another order of addition gives other bits.
fn ragged(n: usize) -> Tensor {
    let data: Vec<f32> = (0..n).map(|i| ((i * 7919 % 1000) as f32 / 997.0 + 0.001).sqrt()).collect();
    Tensor::constant(Array::from_slice(&data, &[n]).unwrap()).leaf()
}

/// Branches of different lengths from one leaf, summed one after another.
fn wide(x: &Tensor, branches: usize) -> Tensor {
    let branch = |k: usize| {
        let mut t = x * (0.1 + 0.37 * k as f64);
        for _ in 0..k % 5 {
            t = &(&sin(&t).unwrap() * x) * (1.01 - 0.003 * k as f64);
        }
        t
    };
    (1..branches).fold(branch(0), |s, k| s + branch(k))
}

fn bits(t: &Tensor) -> Vec<u32> {
    t.array().to_vec::<f32>().iter().map(|v| v.to_bits()).collect()
}

#[test]
fn three_derivatives_have_the_same_bits_from_any_number_of_threads() {
    let _turn = threads(1);
    let mut first: Option<Vec<Vec<u32>>> = None;
    for n in [1, 2, 4] {
        par::set_threads(n);
        let mut several = [false; 3];
        // On a busy machine the calling thread may run a pass alone: repeat until a second thread helped with each order.
        for round in 0..200 {
            let x = ragged(2000);
            let mut g = wide(&x, 32);
            let mut found = vec![];
            for (order, several) in several.iter_mut().enumerate() {
                let mut asked = request(&[&g], &[&x]);
                (asked.create_graph, asked.retain_graph) = (order < 2, true);
                let answer = asked.run().unwrap();
                *several |= answer.threads > 1;
                g = answer.wanted[0].clone().unwrap();
                found.push(bits(&g));
            }
            assert_eq!(*first.get_or_insert_with(|| found.clone()), found, "{n} threads, round {round}");
            if round >= 5 && (n == 1 || several == [true; 3]) {
                break;
            }
            assert!(round < 199, "{n} threads: no second thread ran a node in 200 rounds");
        }
    }
}

/// The identity with a rule that calls a function.
struct Rule(fn() -> Result<()>);

impl Op for Rule {
    fn name(&self) -> &'static str {
        "rule"
    }
    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([ins[0].clone()].into())
    }
    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }
    fn vjp(&self, g: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        (self.0)()?;
        Ok(g.iter().cloned().collect())
    }
    fn jvp(&self, t: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(t.iter().cloned().collect())
    }
}

#[test]
fn errors_and_panics_of_a_rule_reach_the_caller_and_the_engine_keeps_working() {
    type Outcome = fn() -> Result<()>;
    let rules: [(Outcome, &str); 3] = [
        (|| Err(Error::Interrupted.into()), "interrupted"),
        (|| panic!("a rule panics"), "a rule panics"),
        (|| Box::new(Error::Interrupted).throw(), "interrupted"),
    ];
    for n in [1, 2, 4] {
        let _turn = threads(n);
        for (rule, text) in rules {
            let x = ragged(2000);
            let y = wide(&apply(Rule(rule), &[&x]).unwrap(), 16) + wide(&x, 32);
            let error = request(&[&y], &[&x]).run().err().expect("the rule fails");
            assert!(error.to_string().contains(text), "{error}");
            let mut again = request(&[&wide(&x, 32)], &[&x]);
            again.retain_graph = true;
            assert!(again.run().unwrap().wanted[0].is_some());
        }
    }
}

#[test]
fn a_million_nodes_on_a_small_stack() {
    fn chain(n: usize) -> (Tensor, Tensor) {
        let x = Tensor::scalar(1.0f32).leaf();
        let c = Tensor::scalar(0.5f32);
        let y = (0..n).fold(x.clone(), |y, _| y + &c);
        (x, y)
    }
    let _turn = threads(2);
    let work = || {
        let (x, y) = chain(1_000_000);
        let g = request(&[&y], &[&x]).run().unwrap().wanted.remove(0).unwrap();
        assert_eq!(value(&g), 1.0);
        drop((x, y));
        drop(chain(1_000_000));
        let x = Tensor::scalar(1.0f32).leaf();
        let y = (0..300_000).fold(x.clone(), |y, _| sin(&y).unwrap());
        let mut again = request(&[&y], &[&x]);
        again.create_graph = true;
        let g = again.run().unwrap().wanted.remove(0).unwrap();
        assert!(g.is_tracked());
        drop(y);
        drop(g);
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(work).unwrap().join().unwrap();
}

#[test]
fn many_callers_share_leaves_and_the_pool() {
    let _turn = threads(2);
    let x = ragged(2000);
    let square = Tensor::constant(Array::full(&[192, 192], 1.0f32).contiguous().unwrap()).leaf();
    let want = request(&[&wide(&x, 32)], &[&x]).run().unwrap().wanted[0].clone().unwrap();
    std::thread::scope(|s| {
        for k in 0..16 {
            let (x, square, want) = (&x, &square, &want);
            s.spawn(move || {
                for _ in 0..3 {
                    let g = request(&[&wide(x, 32)], &[x]).run().unwrap().wanted[0].clone().unwrap();
                    assert_eq!(bits(&g), bits(want));
                    // Every caller sends large products to the pool while other passes run in it.
                    let products: Vec<Tensor> = (0..4)
                        .map(|i| matmul(square.into(), (&(square * f64::from(i + k))).into()).unwrap())
                        .collect();
                    let y = products[1..].iter().fold(products[0].clone(), |s, p| s + p);
                    let g = request(&[&y], &[square]).run().unwrap().wanted[0].clone().unwrap();
                    assert_eq!(value(&g), f64::from(192 * 2 * (6 + 4 * k)));
                }
            });
        }
    });
}

/// An op with two outputs: its input, and twice its input.
struct Pair;

impl Op for Pair {
    fn name(&self) -> &'static str {
        "pair"
    }
    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let x = Tensor::constant(ins[0].clone());
        Ok([x.array().clone(), (&x * 2.0).array().clone()].into_iter().collect())
    }
    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }
    fn vjp(&self, g: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        let second = g[1].as_ref().map(|g| g * 2.0);
        Ok([match (&g[0], second) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.clone().or(b),
        }]
        .into_iter()
        .collect())
    }
    fn jvp(&self, t: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok([t[0].clone(), t[0].as_ref().map(|t| t * 2.0)].into_iter().collect())
    }
}

fn used(answer: &Answer) -> Vec<bool> {
    answer.reached.iter().map(|r| *r == Reached::Used).collect()
}

fn found(answer: &Answer) -> Vec<Option<f64>> {
    answer.wanted.iter().map(|t| t.as_ref().map(value)).collect()
}

#[test]
fn wanted_values_may_be_interior_repeated_or_unused() {
    let x = Tensor::scalar(3.0).leaf();
    let unused = Tensor::scalar(1.0).leaf();
    let y = &x * &x;
    let z = &y * 2.0;
    let answer = request(&[&z, &y], &[&x, &y, &x, &unused, &z]).run().unwrap();
    assert_eq!(found(&answer), [Some(18.0), Some(3.0), Some(18.0), None, Some(1.0)]);
    assert_eq!(used(&answer), [true, true, true, false, true]);
}

#[test]
fn outputs_of_one_node_are_told_apart() {
    let x = Tensor::scalar(3.0).leaf();
    let pair = apply_all(Pair, &[&x]).unwrap();
    let y = &pair[0] * 5.0;
    let answer = request(&[&y], &[&pair[0], &pair[1], &x]).run().unwrap();
    assert_eq!(found(&answer), [Some(5.0), None, Some(5.0)]);
    assert_eq!(used(&answer), [true, false, true]);
    let both = request(&[&(&pair[0] + &pair[1]), &pair[1]], &[&pair[0], &pair[1], &x]).run().unwrap();
    assert_eq!(found(&both), [Some(1.0), Some(2.0), Some(5.0)]);
}

#[test]
fn no_gradient_flows_through_blocked_values() {
    let x = Tensor::scalar(3.0).leaf();
    let (a, b) = (&x * 2.0, &x * 5.0);
    let y = &a + &b;
    let with = |blocked: &[&Tensor], outputs: &[&Tensor], wanted: &[&Tensor]| {
        let mut r = request(outputs, wanted);
        r.blocked = blocked.iter().map(|t| t.edge().unwrap().clone()).collect();
        r.retain_graph = true;
        let answer = r.run().unwrap();
        (found(&answer), used(&answer))
    };
    assert_eq!(with(&[&b], &[&y], &[&x]), (vec![Some(2.0)], vec![true]));
    assert_eq!(with(&[&b], &[&y, &b], &[&x]), (vec![Some(2.0)], vec![true]));
    assert_eq!(with(&[&x], &[&y], &[&x]), (vec![None], vec![false]));
    assert_eq!(with(&[&a, &b], &[&y], &[&x]), (vec![None], vec![false]));
    assert_eq!(with(&[&y], &[&y], &[&x, &a]), (vec![None, None], vec![false, false]));
    // A value used twice, once directly: `y = (2 x) x`.
    let y = &a * &x;
    assert_eq!(with(&[&x], &[&y], &[&a]), (vec![Some(3.0)], vec![true]));
}

#[test]
fn gradients_of_other_leaves_are_returned_beside_the_wanted_ones() {
    let (x, w) = (Tensor::scalar(3.0).leaf(), Tensor::scalar(4.0).leaf());
    let mut r = request(&[&(&x * &w)], &[&x]);
    r.leaves = true;
    let answer = r.run().unwrap();
    assert_eq!(found(&answer), [Some(4.0)]);
    let leaves: Vec<f64> = answer.leaves.iter().map(|(_, g)| value(g)).collect();
    assert_eq!(leaves, [3.0]);
    assert!(answer.leaves[0].0.is_leaf());
}

#[test]
fn only_nodes_that_saved_something_are_freed() {
    let x = Tensor::scalar(3.0).leaf();
    let sums = &x + &x;
    for _ in 0..2 {
        assert_eq!(found(&request(&[&sums], &[&x]).run().unwrap()), [Some(2.0)]);
    }
    let products = &x * &x;
    request(&[&products], &[&x]).run().unwrap();
    let error = request(&[&products], &[&x]).run().err().expect("freed").to_string();
    assert!(error.starts_with("multiply: Trying to backward through the graph a second time"), "{error}");
}

#[test]
fn seeds_take_the_dtype_of_their_value() {
    let x = Tensor::scalar(3.0f32).leaf();
    let y = &x * &x;
    let mut r = request(&[&y], &[&x]);
    r.roots[0].1 = Tensor::scalar(2.0f64);
    let g = r.run().unwrap().wanted.remove(0).unwrap();
    assert_eq!((g.dtype(), value(&g)), (x.dtype(), 12.0));
}

#[test]
fn the_interrupt_check_runs_on_the_calling_thread_and_can_stop_a_pass() {
    for n in [1, 2] {
        let _turn = threads(n);
        let slow = Rule(|| {
            std::thread::sleep(Duration::from_millis(10));
            Ok(())
        });
        let x = ragged(20_000);
        let one = |k: i32| apply(Rule(slow.0), &[&(&x * f64::from(k))]).unwrap();
        let y = (1..60).fold(one(0), |s, k| s + one(k));
        let (calls, here) = (AtomicUsize::new(0), std::thread::current().id());
        let ask = || {
            assert_eq!(std::thread::current().id(), here);
            if calls.fetch_add(1, Relaxed) == 1 { Err(Error::Interrupted.into()) } else { Ok(()) }
        };
        let mut asked = request(&[&y], &[&x]);
        (asked.retain_graph, asked.interrupt) = (true, Some(&ask as &(dyn Fn() -> Result<()> + Sync)));
        assert!(matches!(asked.run(), Err(e) if matches!(*e, Error::Interrupted)), "{n} threads");
        assert_eq!(calls.load(Relaxed), 2);
        assert!(request(&[&y], &[&x]).run().unwrap().wanted[0].is_some());
    }
}
