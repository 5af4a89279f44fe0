//! Hooks on nodes and ops that call the host language: they run in order on the calling thread, with any number of
//! threads in the engine.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{ThreadId, current};

use ferrograd::engine::Request;
use ferrograd::graph::{
    Cotangents, Grads, HookContext, Hooks, NeedsGrad, Op, Outputs, Saved, Saves, Tangents, apply,
};
use ferrograd::ops::pointwise::sin;
use ferrograd::{Array, Error, Result, Tensor, grad, par};

/// Sets the number of threads, which is global: the tests that set it run one after another.
fn threads(n: usize) -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    par::set_threads(n);
    turn
}

fn request<'a>(output: &Tensor, wanted: &[&Tensor]) -> Request<'a> {
    let seed = Tensor::constant(Array::full_of(output.dtype(), output.dims(), 1.0));
    Request {
        roots: vec![(output.edge().unwrap().clone(), seed)],
        wanted: wanted.iter().map(|t| t.edge().unwrap().clone()).collect(),
        retain_graph: true,
        ..Request::default()
    }
}

fn first(t: &Tensor) -> f64 {
    t.array().to_vec::<f64>()[0]
}

type Log = Arc<Mutex<Vec<String>>>;

/// Logs every call and scales the arriving cotangent.
struct Scale {
    name: &'static str,
    by: f64,
    log: Log,
    thread: ThreadId,
}

impl Scale {
    fn on(t: &Tensor, name: &'static str, by: f64, log: &Log) {
        let hooks = Scale { name, by, log: log.clone(), thread: current().id() };
        t.edge().unwrap().node.attached_or(|| Box::new(hooks));
    }

    fn note(&self, what: &str, g: &[Option<Tensor>]) {
        assert_eq!(current().id(), self.thread);
        let seen: Vec<_> = g.iter().map(|t| t.as_ref().map(first)).collect();
        self.log.lock().unwrap().push(format!("{} {what} {seen:?}", self.name));
    }
}

impl Hooks for Scale {
    fn is_empty(&self) -> bool {
        false
    }
    fn tensor_hooks(&self, _: &HookContext<'_>, g: &mut [Option<Tensor>]) -> Result<()> {
        self.note("arrive", g);
        if let Some(t) = &mut g[0] {
            *t = &*t * self.by;
        }
        Ok(())
    }
    fn pre_hooks(&self, _: &HookContext<'_>, g: &mut [Option<Tensor>]) -> Result<()> {
        self.note("before", g);
        Ok(())
    }
    fn post_hooks(&self, _: &HookContext<'_>, grads: &mut [Option<Tensor>], _: &Cotangents) -> Result<()> {
        self.note("after", grads);
        Ok(())
    }
    fn accumulate_grad(&self, _: &HookContext<'_>, g: Tensor) -> Result<Option<Tensor>> {
        self.note("accumulate_grad", &[Some(g.clone())]);
        Ok(Some(g))
    }
}

fn seen(log: &Log) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap())
}

#[test]
fn a_hook_sees_the_summed_cotangent_once_and_its_result_flows_on() {
    let log = Log::default();
    let x = Tensor::scalar(1.0).leaf();
    let y = &x * 2.0;
    Scale::on(&y, "y", 10.0, &log);
    Scale::on(&x, "x", 3.0, &log);
    let z = &y * &y + &y;
    let answer = request(&z, &[&y, &x]).run().unwrap();
    assert_eq!(first(answer.wanted[0].as_ref().unwrap()), 50.0);
    assert_eq!(first(answer.wanted[1].as_ref().unwrap()), 300.0);
    let inner = [
        "y arrive [Some(5.0)]",
        "y before [Some(50.0)]",
        "y after [Some(100.0), None]",
        "x arrive [Some(100.0)]",
    ];
    assert_eq!(seen(&log), inner);
    // The gradient of `y` is wanted, and the node of `y` need not run.
    request(&z, &[&y]).run().unwrap();
    assert_eq!(seen(&log), ["y arrive [Some(5.0)]"]);
    let mut into = request(&z, &[&y]);
    into.accumulates = true;
    into.run().unwrap();
    assert_eq!(seen(&log), ["y arrive [Some(5.0)]", "y before [Some(50.0)]"]);
    // A leaf whose gradient accumulates, and then a leaf that is not wanted.
    let mut all = request(&z, &[]);
    all.leaves = true;
    assert_eq!(first(&all.run().unwrap().leaves[0].1), 300.0);
    let sink = ["x arrive [Some(100.0)]", "x before [Some(300.0)]", "x accumulate_grad [Some(300.0)]"];
    assert_eq!(seen(&log)[3..], sink);
    let w = Tensor::scalar(1.0).leaf();
    grad(&[&(&x * &w)], &[&w], false).unwrap();
    assert_eq!(seen(&log), [""; 0]);
}

/// The identity; its rule must run on this thread.
struct Host(ThreadId);

impl Op for Host {
    fn name(&self) -> &'static str {
        "host"
    }
    fn calls_host(&self) -> bool {
        true
    }
    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([ins[0].clone()].into())
    }
    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }
    fn vjp(&self, g: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        assert_eq!(current().id(), self.0);
        Ok(g.iter().cloned().collect())
    }
    fn jvp(&self, t: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(t.iter().cloned().collect())
    }
}

fn leaf(n: usize) -> Tensor {
    let data: Vec<f64> = (0..n).map(|i| ((i * 7919 % 1000) as f64 / 997.0 + 0.001).sqrt()).collect();
    Tensor::constant(Array::from_slice(&data, &[n]).unwrap()).leaf()
}

/// Branches from one leaf: a third goes through `Host`, a third has a hook.
fn wide(x: &Tensor, log: &Log) -> Tensor {
    let branch = |k: usize| {
        let t = sin(&(x * (0.1 + 0.37 * k as f64))).unwrap();
        match k % 3 {
            0 => sin(&apply(Host(current().id()), &[&t]).unwrap()).unwrap(),
            1 => {
                Scale::on(&t, "branch", 1.5, log);
                &t * x
            }
            _ => &sin(&t).unwrap() * x,
        }
    };
    (1..60).fold(branch(0), |s, k| s + branch(k))
}

#[test]
fn host_ops_and_hooks_run_on_the_calling_thread_while_others_work() {
    let _turn = threads(1);
    let mut bits: Option<Vec<u64>> = None;
    for n in [1, 2, 4] {
        par::set_threads(n);
        let mut several = false;
        for round in 0..200 {
            let (x, log) = (leaf(2000), Log::default());
            Scale::on(&x, "x", 2.0, &log);
            let mut asked = request(&wide(&x, &log), &[&x]);
            asked.create_graph = true;
            let answer = asked.run().unwrap();
            several |= answer.threads > 1;
            let again = grad(&[answer.wanted[0].as_ref().unwrap()], &[&x], false).unwrap();
            let found: Vec<u64> =
                again[0].as_ref().unwrap().array().to_vec::<f64>().iter().map(|v| v.to_bits()).collect();
            assert_eq!(*bits.get_or_insert_with(|| found.clone()), found);
            assert_eq!(seen(&log).iter().filter(|line| line.starts_with("x arrive")).count(), 2);
            if round >= 5 && (n == 1 || several) {
                break;
            }
            assert!(round < 199, "{n} threads: no second thread ran a node in 200 rounds");
        }
    }
}

/// A hook made of a function of the arriving cotangents.
struct Act<F>(F);

impl<F: Fn(&HookContext<'_>, &mut [Option<Tensor>]) -> Result<()> + Send + Sync + 'static> Hooks for Act<F> {
    fn is_empty(&self) -> bool {
        false
    }
    fn tensor_hooks(&self, at: &HookContext<'_>, g: &mut [Option<Tensor>]) -> Result<()> {
        (self.0)(at, g)
    }
    fn pre_hooks(&self, _: &HookContext<'_>, _: &mut [Option<Tensor>]) -> Result<()> {
        Ok(())
    }
    fn post_hooks(&self, _: &HookContext<'_>, _: &mut [Option<Tensor>], _: &Cotangents) -> Result<()> {
        Ok(())
    }
    fn accumulate_grad(&self, _: &HookContext<'_>, g: Tensor) -> Result<Option<Tensor>> {
        Ok(Some(g))
    }
}

#[test]
fn a_hook_may_differentiate_add_hooks_to_other_nodes_and_fail() {
    for n in [1, 2] {
        let _turn = threads(n);
        let (x, log, fails) = (leaf(2000), Log::default(), Arc::new(AtomicBool::new(false)));
        let y = sin(&x).unwrap();
        let (leaf, inner, fail, seen_here) = (x.clone(), log.clone(), fails.clone(), log.clone());
        let act = Act(move |at: &HookContext<'_>, g: &mut [Option<Tensor>]| {
            assert!(at.reaches(leaf.edge().unwrap()));
            if fail.load(Relaxed) {
                return Err(Error::Interrupted.into());
            }
            let x = leaf.leaf();
            let nested = grad(&[&wide(&x, &inner)], &[&x], false)?.remove(0).unwrap();
            Scale::on(&leaf, "late", 1.0, &seen_here);
            g[0] = Some(nested);
            Ok(())
        });
        y.edge().unwrap().node.attached_or(|| Box::new(act));
        let root = wide(&y, &log) + wide(&x, &log);
        for failing in [false, true, false] {
            fails.store(failing, Relaxed);
            let answer = request(&root, &[&x, &y]).run();
            let late = seen(&log).iter().filter(|line| line.starts_with("late")).count();
            assert_eq!((answer.is_err(), late), (failing, usize::from(!failing)), "{n} threads");
        }
    }
}

#[test]
fn the_result_of_a_hook_must_have_the_shape_and_dtype_of_the_cotangent() {
    let wrong: [fn(&Tensor) -> Tensor; 2] =
        [|_| Tensor::scalar(1.0f32), |_| Tensor::constant(Array::full(&[2], 1.0f64))];
    for make in wrong {
        let x = Tensor::scalar(1.0).leaf();
        let act = Act(move |_: &HookContext<'_>, g: &mut [Option<Tensor>]| {
            g[0] = g[0].as_ref().map(make);
            Ok(())
        });
        x.edge().unwrap().node.attached_or(|| Box::new(act));
        let error = request(&(&x * 2.0), &[&x]).run().err().expect("refused").to_string();
        assert!(error.contains("leaf: a hook made"), "{error}");
    }
}
