"""Threads: ferrograd's and Python's, forked processes and Ctrl-C. A test that could hang or leak runs a subprocess."""

import os
import subprocess
import sys
import textwrap
import threading

import ferrograd as fg
import numpy as np
import pytest

from tests.waiting import LONG

PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
import ferrograd as fg

def wide(x, branches=64):
    parts = [fg.sin(x * (0.1 + k)) * x for k in range(branches)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total.sum()

def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
"""


def run_program(text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs a Python program that begins with the prelude, with options of the interpreter."""
    return subprocess.run(
        [sys.executable, *options, "-c", PRELUDE + textwrap.dedent(text)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )


def script(text: str) -> str:
    """The output of a Python program, which must succeed."""
    done = run_program(text)
    assert done.returncode == 0, f"{done.stdout[-500:]}\n{done.stderr}"
    return done.stdout


def test_any_number_of_threads_gives_the_bits_of_one() -> None:
    out = script("""
        found = set()
        for n in (1, 2, 4):
            fg._core.set_num_threads(n)
            assert fg._core.num_threads() == n
            while True:
                x = fg.tensor(np.linspace(0, 1, 20000, dtype=np.float32), requires_grad=True)
                g = fg.grad(wide(x), x, create_graph=True)
                threads = fg._core.threads_of_last_run()
                found.add(np.asarray(g).tobytes())
                # On a busy machine the first passes may be over before another thread begins.
                if threads > 1 or n == 1:
                    break
            print(n, threads > 1)
        assert len(found) == 1
    """)
    assert out.split("\n")[:3] == ["1 False", "2 True", "4 True"]


@pytest.mark.parametrize("n", [0, -1, 65])
def test_a_number_of_threads_out_of_range(n: int) -> None:
    with pytest.raises(fg.ArgumentError, match="between 1 and 64"):
        fg._core.set_num_threads(n)


def test_many_python_threads_share_leaves() -> None:
    x = fg.tensor(np.arange(1.0, 5.0), requires_grad=True)
    big = fg.tensor(np.ones(20_000), requires_grad=True)
    rounds, workers = 20, 32
    failed: list[BaseException] = []

    def work(k: int) -> None:
        try:
            for _ in range(rounds):
                fg.backward((x * float(k)).sum())
            y = big * 1.0
            for _ in range(20):
                y = y + big * 2.0
            fg.backward(y.sum())
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(workers)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed
    np.testing.assert_array_equal(np.asarray(x.grad), np.full(4, rounds * sum(range(workers))))
    np.testing.assert_array_equal(np.asarray(big.grad), np.full(20_000, workers * 41.0))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_computes() -> None:
    script(
        f"""
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        def work():
            x = fg.tensor(np.ones(200_000, dtype=np.float32), requires_grad=True)
            m = fg.tensor(np.ones((300, 300), dtype=np.float32), requires_grad=True)
            fg.backward([wide(x), (m @ m).sum()])
            assert np.asarray(m.grad)[0, 0] == 600
        fg._core.set_num_threads(2)
        work()
        child = os.fork()
        if child == 0:
            signal.alarm({LONG})
            work()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        work()
        """
    )


def test_other_python_threads_go_on_during_a_backward_pass() -> None:
    script("""
        x = fg.tensor(np.ones(1_000_000), requires_grad=True)
        y = x
        for _ in range(10):
            y = fg.sin(y) * x
        y = y.sum()
        count, going = 0, True
        def counting():
            global count
            while going:
                count += 1
                time.sleep(0.001)
        # From now on a thread goes on only where the other one lets it: in a sleep, or in a pass.
        sys.setswitchinterval(1e6)
        t = threading.Thread(target=counting)
        t.start()
        during = 0
        # On a busy machine the other thread may get no processor during the first passes.
        while during < 3:
            before = count
            fg.backward(y, retain_graph=True)
            during = count - before
        going = False
        t.join()
    """)


LONG_OPS = {
    "tanh": "fg.tanh(fg.ones(100_000))",
    "softmax": "fg.softmax(fg.ones((400, 256)))",
    "sum": "fg.sum(fg.ones(400_000))",
    "layer_norm": "fg.layer_norm(fg.ones((400, 256)), (256,))",
    "conv2d": "fg.conv2d(fg.ones((1, 8, 32, 32)), fg.ones((16, 8, 3, 3)))",
    "linear": "fg.linear(fg.ones((128, 128)), fg.ones((128, 128)))",
    "matmul": "fg.matmul(fg.ones((128, 128)), fg.ones((128, 128)))",
    "svd": "fg.linalg.svd(fg.eye(40))",
    "sort": "fg.sort(fg.ones(10_000))",
    "randn": "fg.randn((100_000,))",
}


@pytest.mark.parametrize("op", LONG_OPS)
def test_other_python_threads_go_on_during_a_long_op(op: str) -> None:
    script(f"""
        count, going = 0, True
        def counting():
            global count
            while going:
                count += 1
                time.sleep(0.001)
        {LONG_OPS[op]}
        # From now on a thread goes on only where the other one lets it: in a sleep, or in an op.
        sys.setswitchinterval(1e6)
        t = threading.Thread(target=counting)
        t.start()
        before, end = count, time.monotonic() + {LONG}
        while count < before + 3:
            {LONG_OPS[op]}
            assert time.monotonic() < end, "the other thread does not go on"
        going = False
        t.join()
    """)


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_backward_pass(threads: int) -> None:
    script(f"""
        # The signal of a clock that counts what the process computes stands for Ctrl-C: other work of the machine does
        # not count.
        signal.signal(signal.SIGPROF, signal.default_int_handler)
        fg._core.set_num_threads({threads})
        m = fg.tensor(np.eye(400))
        x = fg.tensor(np.ones((400, 400)), requires_grad=True)
        def chains(n):
            ys = [x, x]
            for _ in range(n):
                ys = [y @ m for y in ys]
            return (ys[0] + ys[1]).sum()
        n = 50
        while True:
            y = chains(n)
            try:
                signal.setitimer(signal.ITIMER_PROF, 0.1)
                fg.backward(y, retain_graph=True)
                signal.setitimer(signal.ITIMER_PROF, 0)
            except KeyboardInterrupt:
                pass
            if x.grad is None:
                break
            # The pass was over before the signal came, or did not hear it: only a longer one can tell.
            x.grad = None
            n *= 2
            assert n <= 50_000, "not interrupted"
        fg.backward(y)
        assert (np.asarray(x.grad) == 2).all()
    """)


def test_an_error_inside_leaves_gradients_as_they_were() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    w = fg.tensor([3.0, 4.0], requires_grad=True)
    square = x * x
    fg.backward(square.sum())
    before = np.asarray(x.grad).copy()
    for _ in range(2):
        with pytest.raises(fg.FreedGraphError, match=r"multiply: .*retain_graph=True.*test_threads\.py:\d+"):
            fg.backward((square * w + x * w).sum())
        np.testing.assert_array_equal(np.asarray(x.grad), before)
        assert w.grad is None
    fg.backward((x * w).sum())
    np.testing.assert_array_equal(np.asarray(w.grad), [1.0, 2.0])


def test_no_threads_but_ferrograds() -> None:
    out = script("""
        fg._core.set_num_threads(3)
        main = {t for t in os.listdir("/proc/self/task")}
        x = fg.tensor(np.ones((600, 600), dtype=np.float32), requires_grad=True)
        fg.backward(((x @ x) + fg.sin(x)).sum() + wide(fg.tensor(np.ones(50_000), requires_grad=True)))
        for t in set(os.listdir("/proc/self/task")) - main:
            print(open(f"/proc/self/task/{t}/comm").read().strip())
    """)
    names = out.split()
    assert names
    assert all(name.startswith("ferrograd-") for name in names), names
