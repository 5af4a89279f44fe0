//! Memory that runs out at any request: with `WithReserve` a call ends with an error, the values that it was given are as
//! they were, and the same call works once there is memory again.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};

use ferrograd::ops::create::eye;
use ferrograd::ops::linalg;
use ferrograd::ops::movement::stack;
use ferrograd::{Error, Result, Tensor, WithReserve, grad, par};

/// The system's allocator, which from some request on gives out no more than it had given out then.
struct Limited {
    requests: AtomicUsize,
    live: AtomicUsize,
    most: AtomicUsize,
    full_at: AtomicUsize,
}

/// An allocator that keeps a header before each block, as those do that count. The reserve goes back to where it came from.
struct Headed<A>(A);

#[global_allocator]
static ALLOCATOR: Headed<WithReserve<&Limited>> = Headed(WithReserve::around(&LIMITED));
static LIMITED: Limited = Limited {
    requests: AtomicUsize::new(0),
    live: AtomicUsize::new(0),
    most: AtomicUsize::new(usize::MAX),
    full_at: AtomicUsize::new(usize::MAX),
};

impl Limited {
    /// Counts a request for `more` bytes. Whether they are given.
    fn gives(&self, more: usize) -> bool {
        let live = self.live.fetch_add(more, Relaxed);
        if self.requests.fetch_add(1, Relaxed) == self.full_at.load(Relaxed) {
            self.most.store(live, Relaxed);
        }
        let given = live.saturating_add(more) <= self.most.load(Relaxed);
        if !given {
            self.live.fetch_sub(more, Relaxed);
        }
        given
    }

    /// Runs `f` with memory that is full from the given request on. Returns how many requests there were, too.
    fn full_at<R>(&self, request: usize, f: impl FnOnce() -> R) -> (R, usize) {
        self.requests.store(0, Relaxed);
        self.full_at.store(request, Relaxed);
        let result = f();
        self.end();
        (result, self.requests.load(Relaxed))
    }

    fn end(&self) {
        self.full_at.store(usize::MAX, Relaxed);
        self.most.store(usize::MAX, Relaxed);
    }
}

// SAFETY: every block comes from the system's allocator and goes back to it.
unsafe impl GlobalAlloc for &Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is the system's.
        if self.gives(layout.size()) { unsafe { System.alloc(layout) } } else { null_mut() }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.gives(size) {
            return null_mut();
        }
        self.live.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.live.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The bytes before a block, which leave it aligned.
fn header(layout: Layout) -> usize {
    layout.align().max(16)
}

/// A block of this size with its header.
fn with_header(size: usize, layout: Layout) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(header(layout))?, header(layout)).ok()
}

// SAFETY: every block lies behind its header in one of the inner allocator, which it goes back to.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Headed<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(whole) = with_header(layout.size(), layout) else { return null_mut() };
        // SAFETY: the size is not zero.
        let block = unsafe { self.0.alloc(whole) };
        // SAFETY: the block is longer than the header.
        if block.is_null() { block } else { unsafe { block.add(header(layout)) } }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let whole = with_header(layout.size(), layout).expect("as when it was made");
        // SAFETY: `alloc` made the block, with this layout.
        unsafe { self.0.dealloc(block.sub(header(layout)), whole) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let whole = with_header(layout.size(), layout).expect("as when it was made");
        let Some(new) = with_header(size, layout) else { return null_mut() };
        // SAFETY: as above.
        let block = unsafe { self.0.realloc(block.sub(header(layout)), whole, new.size()) };
        // SAFETY: the block is longer than the header.
        if block.is_null() { block } else { unsafe { block.add(header(layout)) } }
    }
}

type Work = fn(&Tensor) -> Result<Tensor>;

fn square(x: &Tensor) -> Result<Tensor> {
    let n = x.dims()[0];
    let outer = x.reshape(&[-1, 1], None)?.matmul(&x.reshape(&[1, -1], None)?)?;
    outer.add(&eye(n as i64, None, ferrograd::array::Item::Int(0), None)?)
}

/// What a program might do, each with the size of its vector.
const WORK: &[(&str, usize, Work)] = &[
    ("a chain", 2_000, |x| (0..8).try_fold(x.clone(), |y, _| y.sin()?.multiply(x)?.exp()?.tanh())),
    ("a large array", 1_200_000, |x| x.sin()),
    ("small nodes", 3, |x| (0..40).try_fold(x.clone(), |y, _| y.sin()?.multiply(x))),
    ("branches", 70_000, |x| {
        let branch = |k: usize| x.multiply(k as f64)?.sin()?.multiply(x);
        stack(&(0..6).map(branch).collect::<Result<Vec<_>>>()?, 0)
    }),
    ("products", 100, |x| square(x)?.matmul(&square(x)?)),
    ("a factorisation", 40, |x| square(x)?.cholesky(false)),
    ("an inverse", 40, |x| square(x)?.inv()),
    ("a solution", 40, |x| linalg::solve::solve((&square(x)?).into(), x.into())),
    ("orthogonal factors", 40, |x| linalg::qr::qr(&square(x)?, "reduced").map(|f| f.1)),
    ("singular values", 40, |x| linalg::svd::svd(&square(x)?, false).map(|f| f.1)),
    ("eigenvalues", 40, |x| linalg::eigen::eigh(&square(x)?, "L").map(|f| f.0)),
    ("an order", 3_000, |x| x.sort(-1, false, true)),
    ("sums", 3_000, |x| x.cumsum(None, None)?.softmax(-1)),
];

/// One test at a time may say where memory ends.
static ONE: Mutex<()> = Mutex::new(());

#[test]
fn threads_share_the_reserve() {
    let _one = ONE.lock();
    let x = Tensor::new(&[1.0; 3], &[3]).unwrap();
    for request in (0..1000).map(|k| 20 + k % 97) {
        // An op fills the reserve.
        x.sin().unwrap();
        LIMITED.full_at(request, || {
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        let mut kept = Vec::with_capacity(100);
                        kept.extend((0..100).map_while(|_| x.sin().ok()));
                    });
                }
            });
        });
    }
}

#[test]
fn memory_may_end_at_any_request() {
    let _one = ONE.lock();
    // The text of a panic needs memory.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        LIMITED.end();
        print(panic);
    }));
    par::set_threads(2);
    for &(name, n, work) in WORK {
        let data: Vec<f64> = (0..n).map(|i| 0.1 + (i * 7919 % 1009) as f64 / 1009.0).collect();
        let x = Tensor::new(&data, &[n]).unwrap().leaf();
        let run = || -> Result<Tensor> {
            let y = work(&x)?.sum(None, false, None)?;
            Ok(grad(&[&y], &[&x], false)?.remove(0).expect("y depends on x"))
        };
        let bits = |t: Tensor| t.array().to_vec::<f64>();
        let (expected, requests) = LIMITED.full_at(usize::MAX, run);
        let expected = bits(expected.unwrap());
        let mut failed = 0;
        for at in (0..requests).step_by(1 + requests / 15) {
            match LIMITED.full_at(at, run).0.map_err(|e| *e) {
                Ok(found) => assert_eq!(bits(found), expected, "{name}, request {at}"),
                Err(Error::NoMemory | Error::Memory { .. }) => failed += 1,
                Err(other) => panic!("{name}, request {at}: {other:?}"),
            }
            assert_eq!(x.array().to_vec::<f64>(), data, "{name}, request {at}");
            assert_eq!(bits(run().unwrap()), expected, "{name} after request {at}");
        }
        assert!(failed > 0, "{name}: no request of {requests} failed");
    }
}
