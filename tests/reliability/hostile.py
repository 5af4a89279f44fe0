"""Random mixtures of hostile arguments to every public function, in a process with a limit on its memory.

``python -m tests.reliability.hostile BLACKBOX SEED SECONDS`` makes calls for a time. It prints one line of JSON for
every call that neither returned nor raised an exception that a caller can expect, and at the end one with the number
of calls. The file BLACKBOX holds the running call.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import json
import math
import os
import random
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrograd as fg
import numpy as np
from ferrograd import _core

from tests.reliability import limit
from tests.reliability.bad_calls import LEFT_OUT, modules

MEMORY = 3 << 30
#: A call that takes longer is interrupted, as Ctrl-C would, and must have ended two seconds later.
SECONDS = 2


class Liar(list[Any]):
    """A list that lies about its length."""

    def __len__(self) -> int:
        return 2**45


class Names(dict[str, Any]):
    """A dict whose look-ups use the library."""

    def __getitem__(self, key: str) -> Any:
        fg.ones((2,)) * 2
        return dict.__getitem__(self, key)


class Raises:
    """An object whose every use raises."""

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError(name)

    def __index__(self) -> int:
        raise ZeroDivisionError("index")

    def __len__(self) -> int:
        raise ZeroDivisionError("len")


def tensor(rng: random.Random) -> Any:
    """A tensor of an unusual shape, layout or dtype."""
    shape = rng.choice(
        [(), (0,), (1,), (2, 3), (3, 3), (0, 3), (2, 0, 3), (1,) * 8, (1,) * 64, (5,), (2, 2, 2), (2, 3, 4, 4)]
    )
    dtype = rng.choice(["float32", "float64", "float64", "int64", "int8", "uint8", "bool", "uint64"])
    values = np.random.default_rng(rng.randrange(100)).normal(size=shape) * rng.choice([1, 1, 0, 1e300, math.nan])
    with np.errstate(all="ignore"):
        kind = rng.choice(
            [fg, fg, importlib.import_module("ferrograd.torch"), importlib.import_module("ferrograd.paddle")]
        )
        make = kind.to_tensor if hasattr(kind, "to_tensor") else kind.tensor
        t = make(values.astype(dtype))
    if dtype.startswith("float") and rng.random() < 0.5:
        t.stop_gradient = False
        if rng.random() < 0.5:
            t = t * 2
    if rng.random() < 0.25:
        big = rng.choice([(2**40,), (2**20, 2**20), (2**31, 2), (2**62,), (1000, 1000), (2**20, 0)])
        with contextlib.suppress(MemoryError):
            t = fg.broadcast_to(fg.tensor(1.0), big)
    return t.mT if t.ndim == 2 and rng.random() < 0.3 else t


def value(rng: random.Random, depth: int = 0) -> Any:
    """An argument."""
    kind = rng.random()
    if kind < 0.4:
        return tensor(rng)
    if kind < 0.55:
        return rng.choice([0, 1, 2, 3, -1, -2, -7, 2**31, 2**40, 2**62, 2**63, -(2**63), 2**64, 10**30, True, False])
    if kind < 0.62:
        return rng.choice([0.5, math.nan, math.inf, -math.inf, 1e308, -0.0, np.float32(2), np.int8(1), 1j])
    if kind < 0.72:
        return rng.choice(
            [None, "", "mean", "sum", "none", "ij,jk->ik", "float32", "\0", "é" * 99, b"x", ..., slice(None)]
        )
    if kind < 0.78:
        return rng.choice([Raises(), Names(a=1), {}, {"a": 1}, object(), int, print, lambda *a: a[0] if a else None])
    if kind < 0.82:
        return rng.choice(
            [np.ones(3), np.zeros((2, 0)), np.array(["a"]), np.broadcast_to(np.float64(1), (2**20, 2**20))]
        )
    if depth > 2:
        return []
    items = [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    kinds: list[Callable[[list[Any]], Any]] = [list, tuple, Liar, iter]
    return rng.choice(kinds)(items)


def functions() -> list[tuple[str, Callable[..., Any]]]:
    """Every public function, and the methods of tensors."""
    found: dict[str, Any] = {}
    for module in modules():
        place = importlib.import_module(module)
        for name in getattr(place, "__all__", vars(place)):
            f = getattr(place, name)
            own = str(getattr(f, "__module__", "")).startswith("ferrograd")
            if callable(f) and own and name not in LEFT_OUT and not name.startswith(("_", "set_")):
                found[f"{module}.{name}"] = f
    for name, f in vars(fg.Tensor).items():
        if callable(f) and name not in ("__class__", "__init_subclass__", "__subclasshook__", "__reduce__", "__del__"):
            found[f"Tensor.{name}"] = f
    return sorted(found.items())


def brief(o: Any) -> str:
    if isinstance(o, (list, tuple)):
        return "[" + ", ".join(map(brief, list.__iter__(o) if isinstance(o, list) else o)) + "]"
    if isinstance(o, (fg.Tensor, np.ndarray)):
        return f"{type(o).__name__}{tuple(o.shape)}:{o.dtype}"
    return object.__repr__(o) if isinstance(o, Raises) else repr(o)[:40]


def main() -> None:
    """Makes the calls that the command line asks for."""
    limit.memory(MEMORY)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    np.seterr(all="ignore")
    box = os.open(Path(sys.argv[1]), os.O_RDWR | os.O_CREAT)
    rng = random.Random(int(sys.argv[2]))
    every = functions()
    skipped = set(filter(None, os.environ.get("FERROGRAD_SKIP", "").split(",")))
    end, i = time.monotonic() + float(sys.argv[3]), 0
    while time.monotonic() < end:
        i += 1
        name, f = rng.choice(every)
        if name in skipped:
            continue
        args = [value(rng) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4)))]
        named: dict[str, Any] = {}
        if rng.random() < 0.3:
            try:
                wanted = [p for p in inspect.signature(f).parameters if p not in ("args", "kwargs", "self")]
                named = {p: value(rng) for p in rng.sample(wanted, min(2, len(wanted)))}
            except (TypeError, ValueError):
                pass
        label = f"{name}({', '.join(map(brief, args))}, {', '.join(f'{k}={brief(v)}' for k, v in named.items())})"
        os.pwrite(box, label.encode("utf8", "replace").ljust(2000)[:2000], 0)
        try:
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            # A process that does not hear the first signal dies of the second clock.
            try:
                f(*args, **named)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except (SystemError, _core.InternalError) as e:
            # An error of a graph that was freed is a SystemError too, as in Paddle.
            if isinstance(e, _core.InternalError) or not isinstance(e, _core.FerrogradError):
                print(json.dumps({"call": label, "what": f"{type(e).__name__}: {e}"}), flush=True)
        except (Exception, KeyboardInterrupt):
            pass
        except BaseException as e:
            print(json.dumps({"call": label, "what": f"{type(e).__name__}: {e}"}), flush=True)
        _core.set_grad_mode(True)
        _core.set_inference_mode(False)
        if i % 500 == 0:
            gc.collect()
    # What the called functions printed may end without a line break.
    print("\n" + json.dumps({"target": "calls", "inputs": i}), flush=True)


if __name__ == "__main__":
    main()
