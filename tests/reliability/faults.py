"""The same loads and faults for several libraries: ``python tests/reliability/faults.py LIBRARY PROGRAM``.

The file imports nothing of this package, so the interpreter of another environment can run it. A program prints one
line of JSON; a crash or a hang is for the caller to see. ``tests/reliability/page.py`` makes a table of the results.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


class Library:
    """What the programs need of a library that records as it computes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module: Any = importlib.import_module(name)

    def leaf(self, values: Any) -> Any:
        values = np.asarray(values, np.float32)
        if "paddle" in self.name:
            return self.module.to_tensor(values, stop_gradient=False)
        return self.module.tensor(values, requires_grad=True)

    def ones(self, shape: tuple[int, ...]) -> Any:
        return self.module.ones(list(shape) if "paddle" in self.name else shape)

    def backward(self, y: Any) -> None:
        y.backward()

    def grad(self, y: Any, x: Any) -> Any:
        if self.name == "torch":
            return self.module.autograd.grad(y, x)[0]
        found = self.module.grad(y, x)
        return found[0] if isinstance(found, list) else found


def memory() -> int:
    """The bytes that the process has in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def chain(lib: Library, n: int) -> str:
    """Records, differentiates and drops a chain of n products."""
    x = lib.leaf(1.0)
    before, start = memory(), time.process_time()
    y = x
    for _ in range(n):
        y = y * 1.0000001
    lib.backward(y)
    used = memory() - before
    del y
    return f"{time.process_time() - start:.2g} s, {used / 1e9:.2f} GB"


def jax_chain(n: int) -> str:
    import jax

    def f(x: Any) -> Any:
        for _ in range(n):
            x = x * 1.0000001
        return x

    before, start = memory(), time.process_time()
    jax.grad(f)(1.0)
    return f"{time.process_time() - start:.2g} s, {(memory() - before) / 1e9:.2f} GB"


def fork(lib: Library, n: int) -> str:
    """Forks n times after parallel work; the child computes a gradient."""
    warnings.simplefilter("ignore")

    def work() -> bytes:
        x = lib.leaf(np.linspace(0, 1, 300_000))
        y = lib.leaf(np.ones((400, 400)))
        lib.backward((x * x).sum() + (y @ y).sum())
        return np.asarray(x.grad).tobytes()

    want, good = work(), 0
    for _ in range(n):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(work() != want)
        good += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        if good == 0:
            return "the child hangs or fails"
    return f"{good} of {n} children compute"


def interrupt(lib: Library, n: int) -> str:
    """Presses Ctrl-C during a backward pass of n products of matrices."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    x, m = lib.leaf(np.eye(700)), lib.leaf(np.eye(700) + 1e-4)
    y = x
    for _ in range(n):
        y = y @ m
    y = y.sum()
    sent = [0.0]

    def press() -> None:
        time.sleep(0.3)
        sent[0] = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    try:
        lib.backward(y)
        # A library that hears it only afterwards has arrived here.
        ended = time.perf_counter()
        time.sleep(1)
    except KeyboardInterrupt:
        ended = time.perf_counter()
    stopped = x.grad is None
    return f"{'stops' if stopped else 'goes on to the end,'} {ended - sent[0]:.2g} s later"


def ending(lib: Library, n: int) -> str:
    """Ends while a daemon thread is in a backward pass."""

    def run() -> None:
        while True:
            x = lib.leaf(np.ones(200_000))
            y = x
            for _ in range(50):
                y = y * x
            lib.backward(y.sum())

    threading.Thread(target=run, daemon=True).start()
    time.sleep(0.5)
    return "clean"


def overflow(lib: Library, n: int) -> str:
    """Shapes whose product is no size."""
    found = []
    for shape in ((2**62, 4), (2**32, 2**32), (10**13,)):
        try:
            made = lib.ones(shape)
        except Exception as e:
            found.append(type(e).__name__)
        else:
            found.append(f"a tensor of {np.prod(made.shape, dtype=object) if made.size else 0} elements")
    return ", ".join(dict.fromkeys(found))


def leak(lib: Library, n: int) -> str:
    """What n rounds with a hook that closes over its tensor leave behind."""

    def run() -> None:
        x = lib.leaf(np.ones(2000))
        y = x * 2.0
        y.register_hook(lambda g, y=y: g)
        lib.backward((y * y).sum())

    # The allocators have all that they keep after some thousand rounds.
    for _ in range(5 * n):
        run()
    before = memory()
    for _ in range(n):
        run()
    return f"{max(0, memory() - before) / n:.0f} bytes a round"


def recorded_leak(lib: Library, n: int) -> str:
    """What n backward passes with create_graph leave behind without the garbage collector."""
    gc.collect()
    gc.disable()

    def run() -> None:
        x = lib.leaf(np.ones(2000))
        y = (x * x).sum()
        if "paddle" in lib.name:
            lib.module.grad(y, x, create_graph=True)
        else:
            y.backward(create_graph=True)

    def used() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    for _ in range(n // 2):
        run()
    before = used()
    for _ in range(n):
        run()
    return f"{max(0, used() - before) / n:.0f} bytes a round"


def alias(lib: Library, n: int) -> str:
    """An array of NumPy's that the library reads is overwritten between forward and backward."""
    a = np.array([1.0, 2.0], np.float32)
    if lib.name == "torch":
        c = lib.module.from_numpy(a)
    elif "paddle" in lib.name:
        c = lib.module.to_tensor(a)
    else:
        c = lib.module.asarray(a)
    x = lib.leaf([3.0, 4.0])
    y = (x * c).sum()
    a[:] = 100.0
    try:
        lib.backward(y)
    except Exception as e:
        return f"refused ({type(e).__name__})"
    return "right" if np.asarray(x.grad).tolist() == [1.0, 2.0] else "wrong, without a word"


def overwrite(lib: Library, n: int) -> str:
    """A value that backward needs is overwritten through a view."""
    x = lib.leaf([1.0, 2.0])
    y = x * 1.0
    z = y * y
    view = y[0]
    try:
        view.add_(view.detach() * 99.0)
        lib.backward(z.sum())
    except Exception as e:
        return f"refused ({type(e).__name__})"
    return "right" if np.asarray(x.grad).tolist() == [2.0, 4.0] else "wrong, without a word"


def exception(lib: Library, n: int) -> str:
    """A hook raises."""
    x = lib.leaf([1.0])
    error = ZeroDivisionError("mine")

    def hook(g: Any) -> Any:
        raise error

    x.register_hook(hook)
    try:
        lib.backward((x * x).sum())
    except BaseException as e:
        return "the same object" if e is error else f"becomes {type(e).__name__}"
    return "lost"


def out_of_memory(lib: Library, n: int) -> str:
    """Recording and backward under limits on the memory, each in a child."""
    lib.backward(lib.leaf([1.0]).sum())
    outcomes = {"MemoryError": 0, "another error": 0, "ends the process": 0}
    for room in np.linspace(1, 60, n):
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + int(room * 1e6),) * 2)
            code = 0
            try:
                x = lib.leaf(np.ones(1000))
                y = x
                for _ in range(40_000):
                    y = y * x
                lib.backward(y.sum())
            except MemoryError:
                code = 10
            except Exception:
                code = 11
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        what = {0: "", 10: "MemoryError", 11: "another error"}.get(code, "ends the process")
        if what:
            outcomes[what] += 1
    return ", ".join(f"{what}: {count}" for what, count in outcomes.items() if count) or "none ran out"


class Evil:
    """A pickle that runs code when it is loaded."""

    def __reduce__(self) -> Any:
        return exec, ("import os; os.environ['EVIL'] = 'ran'",)


def evil_file(lib: Library, n: int) -> str:
    """A file that runs code is given to the library's own load."""
    module = importlib.import_module("ferrograd.torch") if lib.name == "ferrograd" else lib.module
    path = Path(tempfile.mkdtemp()) / "evil.pdparams"
    path.write_bytes(pickle.dumps({"x": Evil()}, 2))
    with contextlib.suppress(Exception):
        module.load(str(path))
    return "runs it" if "EVIL" in os.environ else "refuses it"


def damaged_files(lib: Library, n: int) -> str:
    """Saved files with changed bytes, each read in this process."""
    module = importlib.import_module("ferrograd.torch") if lib.name == "ferrograd" else lib.module
    rng, path = random.Random(1), str(Path(tempfile.mkdtemp()) / "damaged.pdparams")
    state = {"w": lib.leaf(np.ones((2, 3))), "b": [1.5, "text"]}
    module.save(state, path)
    whole, kinds = Path(path).read_bytes(), set()
    for _ in range(n):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 2, 8))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        Path(path).write_bytes(data)
        try:
            module.load(path)
        except Exception as e:
            kinds.add(type(e).__name__)
    return f"{n} read, {len(kinds)} kinds of errors" if len(kinds) > 1 else f"{n} read, {''.join(kinds)} only"


def hammer(lib: Library, n: int) -> str:
    """16 threads make n passes each into one leaf."""
    x = lib.leaf(np.ones(8))

    def run() -> None:
        for _ in range(n):
            lib.backward((x * 2.0).sum())

    threads = [threading.Thread(target=run) for _ in range(16)]
    start = time.process_time()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    took = time.process_time() - start
    exact = (np.asarray(x.grad) == 2.0 * 16 * n).all()
    return f"{'exact' if exact else 'a wrong sum'}, {16 * n / took:.2g} passes a second"


def nested(lib: Library, n: int) -> str:
    """A backward pass within a hook, n levels deep, in a thread whose stack has 1 MiB."""
    sys.setrecursionlimit(100_000)
    found: list[str] = []
    deepest = [0]

    def nest(depth: int) -> None:
        deepest[0] = depth
        if depth == n:
            return
        x = lib.leaf([1.0])
        y = x * 2.0
        y.register_hook(lambda g: within(depth + 1))
        lib.backward((y * y).sum())

    def within(depth: int) -> None:
        with lib.module.set_grad_enabled(True):
            nest(depth)

    def run() -> None:
        try:
            nest(0)
            found.append(f"{n} levels")
        except Exception as e:
            found.append(f"{type(e).__name__} at {deepest[0]}")

    threading.stack_size(1 << 20)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def hostile(lib: Library, n: int) -> str:
    """n calls of the library's functions with random arguments, under a limit on the memory."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    warnings.simplefilter("ignore")
    rng = random.Random(5)
    plain = (
        "abs add argmax argsort clip concat cos cumsum diagonal einsum exp expand_dims flatten flip gather log matmul "
        "max maximum mean min multiply pow prod reshape roll sin sort sqrt squeeze stack subtract sum tanh tile topk "
        "transpose tril triu unbind unsqueeze where"
    )
    names = [name for name in plain.split() if hasattr(lib.module, name)]
    values: list[Callable[[], Any]] = [
        lambda: lib.leaf(np.ones((2, 3))),
        lambda: lib.leaf(np.ones((0, 3))),
        lambda: lib.leaf(1.0),
        lambda: lib.leaf(np.full((3, 3), np.nan)),
        lambda: rng.choice([0, 1, -1, 7, 2**31, 2**40, 2**62, -(2**63), 2**64]),
        lambda: rng.choice([None, "x", "ij,jk->ik", 1.5, float("nan"), True, [], {}, object()]),
        lambda: [rng.choice([0, 1, -1, 2**31, 2**62]) for _ in range(rng.randrange(5))],
        lambda: [lib.leaf(np.ones((2, 3)))] * rng.randrange(3),
    ]
    raised = 0
    for _ in range(n):
        f = getattr(lib.module, rng.choice(names))
        args = [rng.choice(values)() for _ in range(rng.choice((1, 2, 3)))]
        print(f"{f.__name__}", end=" ", file=sys.stderr)
        signal.alarm(20)
        try:
            f(*args)
        except Exception:
            raised += 1
    return f"{n} calls, {raised} raised"


#: By name: the program, its count, and the seconds after which it counts as hanging.
PROGRAMS: dict[str, tuple[Callable[[Library, int], str], int, int]] = {
    "chain of 100 000": (chain, 100_000, 240),
    "chain of 1 000 000": (chain, 1_000_000, 240),
    "fork": (fork, 100, 300),
    "interrupt": (interrupt, 300, 60),
    "ending": (ending, 0, 60),
    "overflow": (overflow, 0, 60),
    "leak": (leak, 1000, 60),
    "recorded leak": (recorded_leak, 1000, 60),
    "alias": (alias, 0, 60),
    "overwrite": (overwrite, 0, 60),
    "exception": (exception, 0, 60),
    "out of memory": (out_of_memory, 10, 100),
    "evil file": (evil_file, 0, 60),
    "damaged files": (damaged_files, 1000, 60),
    "hammer": (hammer, 200, 60),
    "nested": (nested, 1000, 60),
    "hostile": (hostile, 2000, 100),
}


def main() -> None:
    """Runs the program that the command line names and prints its outcome."""
    name, what = sys.argv[1:3]
    program, n, _ = PROGRAMS[what]
    if name == "jax":
        print(json.dumps(jax_chain(n)))
        return
    with contextlib.redirect_stdout(io.StringIO()):
        outcome = program(Library(name), n)
    print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main()
