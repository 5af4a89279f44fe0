"""Forks, other kinds of processes, and the end of the interpreter."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import sys
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

from tests.engine.test_threads import run_program, script
from tests.waiting import LONG

linux = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")

WORK = f"""
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
fg._core.set_num_threads(2)
big, m = np.ones(100_000, dtype=np.float32), np.ones((200, 200), dtype=np.float32)

def work():
    x = fg.tensor(big, requires_grad=True)
    y = fg.tensor(m, requires_grad=True)
    fg.backward([wide(x, 8), (y @ y).sum()])
    return np.asarray(x.grad).tobytes(), np.asarray(y.grad)[0, 0]

def forked(run):
    child = os.fork()
    if child == 0:
        signal.alarm({LONG})
        try:
            run()
        except BaseException as e:
            print(repr(e), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

want = work()
"""


@linux
def test_children_of_children_compute_the_same_numbers() -> None:
    script(f"""{WORK}
def same(depth):
    assert work() == want
    if depth:
        forked(lambda: same(depth - 1))
        assert work() == want
same(4)
""")


@linux
def test_a_fork_while_other_threads_compute() -> None:
    script(f"""{WORK}
going = True
def busy():
    while going:
        assert work() == want
threads = [threading.Thread(target=busy) for _ in range(2)]
for t in threads:
    t.start()
def child():
    assert work() == want
try:
    for _ in range(10):
        forked(child)
finally:
    going = False
    for t in threads:
        t.join()
assert work() == want
""")


STEPPING = f"""{WORK}
import tempfile
import ferrograd.torch as torch

def stops_within(work, every, child):
    # A thread does the work, and stops at one of so many lines of the library for as long as a fork takes.
    here, go_on = threading.Semaphore(0), threading.Semaphore(0)
    lines, running, stops = 0, True, 0
    def at_line(frame, event, arg):
        nonlocal lines
        lines += event == "line"
        if event == "line" and lines % every == 0:
            here.release()
            go_on.acquire()
        return at_line
    def run():
        nonlocal running
        sys.settrace(lambda frame, *_: at_line if "ferrograd" in frame.f_code.co_filename else None)
        try:
            work()
        finally:
            sys.settrace(None)
            running = False
            here.release()
    thread = threading.Thread(target=run)
    thread.start()
    while here.acquire() and running:
        stops += 1
        forked(child)
        go_on.release()
    thread.join()
    return stops

weight = fg.tensor([2.0, 3.0], requires_grad=True)
generator = torch.Generator().manual_seed(1)
folder = tempfile.mkdtemp()

def inner(x):
    return (x * weight).sin()

def outer(x):
    return inner(x).exp().sum() + inner(x + 1).sum()

shared = fg.compile(outer)
saved = os.path.join(folder, "saved")
x, more = fg.tensor([0.5, 1.0]), fg.tensor(np.ones((3, 2)))
with fg.no_grad():
    fg.compile(outer).save(saved, x)
graph = outer(x)
known = shared(x).item()

def child():
    assert shared(x).item() == known
    assert shared(fg.tensor(np.zeros((5, 2)))).shape == ()
    assert fg.compile(lambda x: x + 1)(x).tolist() == [1.5, 2.0]
    assert fg.load_compiled(saved)(x).item() == known
    assert torch.randn(3, generator=generator).shape == (3,)
    assert fg.grad(graph, weight, retain_graph=True).shape == (2,)
    fg.backward(shared(x))
    assert np.isfinite(weight.numpy()).all()
child()
weight.grad = None
"""

#: What a thread is in the middle of, and at how many lines the process forks. A new function is traced in each.
WITHIN = {
    "a trace": ("lambda: fg.compile(lambda x: outer(x) + inner(x).sum())(more)", 150),
    "a trace of a shared function": ("lambda: shared(more)", 150),
    "a compiled call": ("lambda: shared._call(x)", 20),
    "a backward pass": ("lambda: fg.backward(shared(x))", 3),
    "a load": ("lambda: fg.load_compiled(saved)(x)", 10),
    "a draw": ("lambda: [torch.randn(3, generator=generator) for _ in range(3)]", 5),
}


@linux
@pytest.mark.parametrize("within", WITHIN)
def test_a_fork_at_many_points_of_another_thread(within: str) -> None:
    work, every = WITHIN[within]
    script(f"""{STEPPING}
assert stops_within({work}, {every}, child) > 3
child()
""")


@linux
def test_forks_while_another_thread_is_at_work_on_the_same_objects() -> None:
    script(f"""{STEPPING}
going = True
big = fg.tensor(np.ones((300, 2)), requires_grad=True)
wide_graph = wide(big, 30)
def busy():
    k = 0
    while going:
        k += 1
        fg.grad(wide_graph, big, retain_graph=True)
        fg.compile(lambda x: outer(x) * k)(x)
        fg.randn((10_000,))
        torch.randn(1000, generator=generator)
        fg.load_compiled(saved)(x)
def with_the_graph():
    fg.grad(wide_graph, big, retain_graph=True)
    fg.randn((10,))
    child()
threads = [threading.Thread(target=busy) for _ in range(2)]
for t in threads:
    t.start()
try:
    for _ in range(30):
        forked(with_the_graph)
finally:
    going = False
    for t in threads:
        t.join()
with_the_graph()
""")


@linux
def test_a_fork_while_another_thread_imports() -> None:
    script(f"""{WORK}
def load():
    import ferrograd.torch.nn, ferrograd.paddle, ferrograd.distributed
    fg.compile(lambda x: x + 1)(fg.ones(2))
def child():
    load()
thread = threading.Thread(target=load)
thread.start()
while thread.is_alive():
    forked(child)
thread.join()
forked(child)
""")


def square(x: Any) -> Any:
    """A tensor that came through a queue, and its gradient."""
    x = x.detach().requires_grad_()
    return (x * x).detach(), fg.grad((x * x).sum(), x)


@pytest.mark.parametrize("kind", multiprocessing.get_all_start_methods())
def test_tensors_go_through_pools_of_every_kind(kind: str) -> None:
    context = multiprocessing.get_context(kind)
    inputs = [fg.tensor(np.full(1000, float(i))) for i in range(4)]
    with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
        found = list(pool.map(square, inputs))
        assert pool.submit(fg.sin, inputs[0]).result().tolist() == [0.0] * 1000
    for i, (y, dx) in enumerate(found):
        assert y.tolist() == [float(i * i)] * 1000
        assert dx.tolist() == [2.0 * i] * 1000


def test_tensors_go_through_joblib() -> None:
    joblib = pytest.importorskip("joblib", reason="joblib comes with scikit-learn")
    script("""
        import joblib
        from tests.reliability.test_processes import square
        with joblib.parallel_backend("loky"):
            found = joblib.Parallel(2)(joblib.delayed(square)(fg.tensor([float(i)])) for i in range(4))
        assert [dx.item() for _, dx in found] == [0.0, 2.0, 4.0, 6.0]
        from joblib.externals.loky import get_reusable_executor
        get_reusable_executor().shutdown()
    """)
    assert joblib.__version__


#: Ways in which a program can end while the library is at work, or holds something.
ENDINGS = {
    "a daemon thread in backward": """
        begun = threading.Event()
        def run():
            while True:
                x = fg.tensor(np.ones(100_000), requires_grad=True)
                fg.backward(wide(x, 8))
                begun.set()
        threading.Thread(target=run, daemon=True).start()
        begun.wait()
    """,
    "a daemon thread in a product": """
        m = fg.ones((2000, 2000))
        def run():
            while True:
                m @ m
        begin = time.process_time()
        for _ in range(2):
            threading.Thread(target=run, daemon=True).start()
        # Nothing else computes for so long.
        while time.process_time() < begin + 0.2:
            time.sleep(0.001)
    """,
    "a daemon thread in a hook": """
        def run():
            x = fg.tensor([1.0], requires_grad=True)
            x.register_hook(lambda g: begun.set() or threading.Event().wait())
            (x * x).sum().backward()
        begun = threading.Event()
        threading.Thread(target=run, daemon=True).start()
        begun.wait()
    """,
    "tensors and hooks in globals": """
        x = fg.tensor([1.0], requires_grad=True)
        y = x * x
        y.register_hook(lambda g: g * x)
        sys.modules["kept"] = y
        class Last:
            def __del__(self):
                (y * 2).sum().backward()
        last = Last()
        y.kept = last
    """,
    "a backward pass at exit": """
        import atexit
        x = fg.tensor(np.ones(100_000), requires_grad=True)
        atexit.register(lambda: fg.backward(wide(x)))
    """,
    "an exit within a hook": """
        x = fg.tensor([1.0], requires_grad=True)
        x.register_hook(lambda g: sys.exit(0))
        (x * x).sum().backward()
    """,
    "errors after the modules are gone": """
        class Last:
            def __init__(self):
                self.x, self.fg, self.cycle = fg.tensor([1.0, 2.0], requires_grad=True), fg, self
            def __del__(self):
                x, fg = self.x, self.fg
                calls = [lambda: fg.reshape(x, (7,)), lambda: fg.sum(x, nothing=1), lambda: x @ fg.ones((3, 3)),
                         lambda: x[9], lambda: x.backward(), lambda: fg.zeros((2**62, 4)), lambda: float(x)]
                for call in calls:
                    try:
                        call()
                    except (fg.FerrogradError, TypeError, MemoryError):
                        pass
                fg.linalg.svd(fg.ones((50, 50)))
                fg.grad(fg.exp(x).sum(), x)
        sys.modules["kept"] = Last()
    """,
    "a finished pool": "fg.backward(wide(fg.tensor(np.ones(100_000), requires_grad=True)))",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_end_of_the_interpreter(ending: str) -> None:
    for _ in range(3):
        done = run_program(ENDINGS[ending])
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
