"""Random programs, indexes, formulas, files, capsules, calls and changed examples for a given time.

``python -m tests.reliability.fuzz MINUTES SEED`` (or ``make fuzz MINUTES=10 SEED=1``) prints the seed, gives each
target its share of the time, and prints how many inputs it tried. Hypothesis shrinks an input that fails. Each target
runs in a process of its own, which leaves its running input in a file, so that a crash shows it too.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import io
import itertools
import json
import operator
import os
import pickle
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import hypothesis.extra.numpy as hnp
import numpy as np
from ferrograd import _core, func
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

from tests.reliability import damaged_programs, lying_programs, writes

#: What a wrong call may raise.
REFUSALS = (_core.FerrogradError, TypeError, ValueError, MemoryError, OverflowError, RecursionError)

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 1e300, 1e308, float("inf"), -float("inf"), float("nan")]

#: Functions of one array: ours and NumPy's, and whether the values are so exact that infinities can be compared.
UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "exp": (fg.exp, np.exp),
    "sin": (fg.sin, np.sin),
    "tanh": (fg.tanh, np.tanh),
    "abs": (fg.abs, np.abs),
    "negative": (operator.neg, operator.neg),
    "square": (lambda x: x**2, lambda x: x * x),
    "sqrt": (fg.sqrt, np.sqrt),
    "log": (fg.log, np.log),
    "half": (lambda x: x * 0.5, lambda x: x * 0.5),
    "sum": (fg.sum, np.sum),
    "max": (fg.max, np.max),
    "rows": (lambda x: fg.sum(x, axis=0), lambda x: np.sum(x, axis=0)),
    "means": (lambda x: fg.mean(x, axis=-1, keepdims=True), lambda x: np.mean(x, axis=-1, keepdims=True)),
    "cumsum": (lambda x: fg.cumsum(x, axis=-1), lambda x: np.cumsum(x, axis=-1)),
    "transpose": (lambda x: x.mT, lambda x: np.swapaxes(x, -1, -2)),
    "reverse": (lambda x: x[::-1], lambda x: x[::-1]),
    "first": (lambda x: x[0], lambda x: x[0]),
    "last column": (lambda x: x[..., -1], lambda x: x[..., -1]),
    "new axis": (lambda x: x[None], lambda x: x[None]),
    "flat": (lambda x: fg.reshape(x, (-1,)), lambda x: np.reshape(x, (-1,))),
    "broadcast": (lambda x: fg.broadcast_to(x, (2, *x.shape)), lambda x: np.broadcast_to(x, (2, *x.shape))),
}
BINARY: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "add": (operator.add, operator.add),
    "subtract": (operator.sub, operator.sub),
    "multiply": (operator.mul, operator.mul),
    "divide": (operator.truediv, operator.truediv),
    "maximum": (fg.maximum, np.maximum),
    "matmul": (operator.matmul, operator.matmul),
    "where": (lambda x, y: fg.where(x > y, x, y * 2.0), lambda x, y: np.where(x > y, x, y * 2.0)),
}
#: NumPy takes a scalar for a row.
OF_AN_AXIS = ("cumsum", "means", "rows")
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {**UNARY, **BINARY}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(sorted(UNARY)), st.integers(0, 9)),
        st.tuples(st.sampled_from(sorted(BINARY)), st.integers(0, 9), st.integers(0, 9)),
    ),
    min_size=1,
    max_size=8,
)
NUMBERS = st.one_of(st.floats(-4, 4, width=32), st.sampled_from(SPECIAL))
ARRAYS = hnp.arrays(
    st.sampled_from([np.float64, np.float64, np.float32]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    elements=st.one_of(st.floats(-4, 4, width=32), st.sampled_from([0.0, -0.0, 1.0, 1e30, np.inf, -np.inf, np.nan])),
)


def same(got: Any, want: Any, rtol: float) -> None:
    got = np.asarray(got.detach())
    assert got.shape == np.shape(want), f"shape {got.shape}, NumPy has {np.shape(want)}"
    assert got.dtype == np.asarray(want).dtype, f"dtype {got.dtype}, NumPy has {np.asarray(want).dtype}"
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol, equal_nan=True)


def programs(inputs: list[Any], steps: list[Any], draw: int) -> None:
    """A program gives NumPy's values, and its gradients in reverse and forward mode agree."""
    tensors, arrays = [fg.tensor(a, requires_grad=True) for a in inputs], list(inputs)
    leaves = list(tensors)
    for name, *which in steps:
        ours, numpys = FUNCTIONS[name]
        at = [w % len(tensors) for w in which]
        if name in OF_AN_AXIS and not arrays[at[0]].ndim:
            continue
        try:
            want = numpys(*(arrays[i] for i in at))
        except (ValueError, IndexError):
            try:
                made = ours(*(tensors[i] for i in at))
            except (IndexError, *REFUSALS):
                continue
            raise AssertionError(f"{name} of what NumPy refuses gives {made!r}") from None
        made = ours(*(tensors[i] for i in at))
        single = any(a.dtype == np.float32 for a in arrays)
        finite = np.isfinite(want).all() and np.max(np.abs(want), initial=0) < 1e3
        # Errors grow in a long program, and past this size infinities come a little earlier or later.
        if not finite and np.max(np.abs(np.nan_to_num(want, nan=0, posinf=0, neginf=0)), initial=0) > 1e3:
            return
        same(made, want, 2e-4 if single else 1e-9)
        tensors.append(made)
        arrays.append(np.asarray(want))
    out = tensors[-1]
    if out is leaves[-1] or any(a.dtype == np.float32 for a in arrays) or not all(np.isfinite(a).all() for a in arrays):
        return
    # The derivative of x / x is the difference of two terms of size 1 / x, of which only rounding is left.
    if any(np.min(np.abs(a), initial=1, where=a != 0) < 1e-5 for a in arrays):
        return
    rng = np.random.default_rng(draw)
    v = fg.tensor(np.asarray(rng.uniform(-1, 1, out.shape)))
    us = [fg.tensor(np.asarray(rng.uniform(-1, 1, x.shape))) for x in leaves]
    grads = fg.grad(out, leaves, v, allow_unused=True)
    back = sum(float((g * u).sum()) for g, u in zip(grads, us, strict=True) if g is not None)

    def again(*xs: Any) -> Any:
        found = list(xs)
        for name, *which in steps:
            at = [w % len(found) for w in which]
            if name in OF_AN_AXIS and not found[at[0]].ndim:
                continue
            try:
                found.append(FUNCTIONS[name][0](*(found[i] for i in at)))
            except (IndexError, *REFUSALS):
                continue
        return found[-1]

    _, tangent = func.jvp(again, tuple(x.detach() for x in leaves), tuple(us))
    along = float((tangent * v).sum())
    if np.isfinite(back) and np.isfinite(along) and max(abs(back), abs(along)) < 1e6:
        assert abs(back - along) <= 1e-8 * max(1.0, abs(back)), f"reverse mode has {back}, forward mode {along}"


INDEX = st.one_of(
    hnp.basic_indices((2, 3, 2), allow_newaxis=True, allow_ellipsis=True),
    st.recursive(
        st.one_of(
            st.integers(-4, 4),
            st.none(),
            st.just(...),
            st.booleans(),
            st.builds(slice, *[st.none() | st.integers(-9, 9)] * 3),
            st.lists(st.integers(-3, 3), max_size=3),
            hnp.arrays(bool, hnp.array_shapes(max_dims=3, max_side=3)),
            hnp.arrays(np.int64, hnp.array_shapes(max_dims=2, max_side=3), elements=st.integers(-3, 3)),
            st.sampled_from([2**31, 2**63, -(2**63), 1.5, "a", b"x", slice("a"), slice(2**62, None, -1)]),
        ),
        lambda part: st.tuples(part, part) | st.tuples(part, part, part) | st.tuples(part),
        max_leaves=5,
    ),
)


def nested(key: Any) -> bool:
    return isinstance(key, tuple) and any(isinstance(k, tuple) for k in key)


def indexes(key: Any) -> None:
    """An index takes what NumPy takes, and refuses the rest."""
    a = np.arange(12.0).reshape(2, 3, 2)
    x = fg.tensor(a, requires_grad=True)
    try:
        want = a[key]
    except Exception:
        try:
            got = x[key]
        except (IndexError, *REFUSALS):
            return
        # A dialect of indexing may take more than NumPy, but never out of bounds.
        assert np.isin(np.asarray(got.detach()), a).all()
        return
    try:
        got = x[key]
    except (IndexError, *REFUSALS):
        # NumPy reads nested tuples as arrays, and looks at no index where the result is empty.
        assert nested(key) or has_bools(key) or not want.size, f"x[{key!r}] is refused"
        return
    same(got, want, 0)
    if got.numel():
        g = fg.grad(got.sum(), x)
        counts = np.zeros(12)
        np.add.at(counts, np.arange(12).reshape(2, 3, 2)[key].ravel(), 1)
        np.testing.assert_array_equal(np.asarray(g).ravel(), counts)


def has_bools(key: Any) -> bool:
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(k, (bool, list)) or getattr(k, "ndim", None) == 0 for k in parts)


def formulas(text: str, ranks: list[int]) -> None:
    """An einsum formula gives what NumPy gives, or is refused."""
    shapes = [(2, 2, 2, 2)[:r] for r in ranks]
    arrays = [np.arange(1.0, 1 + 2**r).reshape(s) for r, s in zip(ranks, shapes, strict=True)]
    tensors = [fg.tensor(a) for a in arrays]
    try:
        got = fg.einsum(text, *tensors)
    except REFUSALS:
        return
    try:
        want = np.einsum(text, *arrays)
    except Exception:
        # NumPy refuses what is written in other ways; a result must at least be one of sums of products.
        assert np.isfinite(np.asarray(got)).all()
        return
    np.testing.assert_allclose(np.asarray(got), want)


def file() -> bytes:
    state = {"w": torch.ones(2, 3), "b": torch.tensor([1, 2]), "n": [1.5, "text", None], "t": torch.zeros(0)}
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


WHOLE = file()


def files(changes: list[tuple[int, int]], end: int) -> None:
    """A damaged file gives the one error that is documented, or loads."""
    data = bytearray(WHOLE[: len(WHOLE) - end])
    for at, byte in changes:
        if data:
            data[at % len(data)] = byte
    with contextlib.suppress(pickle.UnpicklingError, MemoryError):
        torch.load(io.BytesIO(bytes(data)))


@functools.cache
def whole_programs() -> list[bytes]:
    return [data for _, data in itertools.islice(damaged_programs.programs(), 0, None, 7) if len(data) < 4000]


def saved_programs(number: int, change: int) -> None:
    """A program that somebody hostile has changed gives the one error that is documented, or runs."""
    known = whole_programs()
    whole = known[number % len(known)]
    body = damaged_programs.changed(whole[damaged_programs.HEADER.size :], random.Random(change))
    damaged_programs.read_and_run(damaged_programs.with_body(whole, body))


@functools.cache
def lies(n: int) -> list[tuple[str, bytes]]:
    return [lie for name, whole in lying_programs.programs(n) for lie in lying_programs.lies(name, whole)]


def lying(number: int, n: int) -> None:
    """A program of which one value says another dtype or size reads and writes its own memory alone."""
    known = lies(n)
    lying_programs.outcome(known[number % len(known)][1])


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class DLManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Producer:
    """Gives out a capsule for memory of this process."""

    def __init__(self, capsule: Any, device: tuple[int, int]) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


LENGTHS = st.sampled_from([0, 1, 2, 3, -1, 2**31, 2**40, 2**62, -(2**63), 2**63 - 1])


def capsules(
    rank: int, shape: list[int], strides: list[int] | None, code: int, bits: int, lanes: int, device: int, offset: int
) -> None:
    """A capsule whose description is wrong is refused; the memory that a right one may lie in is large enough."""
    zeros = (ctypes.c_uint8 * 4096)()
    sizes, steps = (ctypes.c_int64 * 80)(*shape), (ctypes.c_int64 * 80)(*(strides or []))
    described = shape[: max(rank, 0)]
    elements = max(1, int(np.prod([max(n, 0) for n in described], dtype=object)))
    reach = sum(abs(s) * max(n - 1, 0) for s, n in zip(strides or [], described, strict=False)) + elements
    if rank <= len(shape) and reach * 16 + offset > 2048 and all(n >= 0 for n in described) and elements < 2**40:
        # A description that is consistent but false cannot be told from a true one.
        return
    if rank > len(shape) or (strides is not None and rank > len(strides)):
        return
    managed = DLManagedTensor(
        DLTensor(
            ctypes.addressof(zeros) + 2048,
            device,
            0,
            rank,
            code,
            bits,
            lanes,
            ctypes.addressof(sizes),
            ctypes.addressof(steps) if strides is not None else None,
            offset,
        ),
        None,
        None,
    )
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = new(ctypes.addressof(managed), b"dltensor", None)
    try:
        x = fg.from_dlpack(Producer(capsule, (device, 0)))
    except (BufferError, NotImplementedError, *REFUSALS):
        return
    # The CPU's memory, also where it is pinned for CUDA or ROCm.
    assert device in (1, 3, 11)
    assert lanes == 1
    assert tuple(x.shape) == tuple(shape[:rank])
    if 0 < x.numel() < 10_000:
        # NumPy alone has no bfloat16.
        assert not np.asarray(x.astype("float32") if x.dtype == "bfloat16" else x).any()


def views_and_writes(number: int, length: int) -> None:
    writes.run(number, length)


#: By target: what it is called with.
TARGETS: dict[str, tuple[Callable[..., None], dict[str, st.SearchStrategy[Any]]]] = {
    "programs": (
        programs,
        {"inputs": st.lists(ARRAYS, min_size=1, max_size=3), "steps": STEPS, "draw": st.integers(0, 9)},
    ),
    "views_and_writes": (views_and_writes, {"number": st.integers(0, 2**40), "length": st.integers(1, 40)}),
    "indexes": (indexes, {"key": INDEX}),
    "formulas": (
        formulas,
        {
            "text": st.text("ijkIé,->. \0", max_size=14)
            | st.from_regex(r"\A[ij]{0,3}(,[ijk]{0,3}){0,2}(->[ijk]{0,3})?\Z"),
            "ranks": st.lists(st.integers(0, 4), min_size=1, max_size=3),
        },
    ),
    "files": (
        files,
        {
            "changes": st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=6),
            "end": st.just(0) | st.integers(0, len(WHOLE)),
        },
    ),
    "saved_programs": (
        saved_programs,
        {"number": st.integers(0, 2**20), "change": st.integers(0, 2**40)},
    ),
    "lying_programs": (lying, {"number": st.integers(0, 2**20), "n": st.sampled_from([5, 12, 64, 200])}),
    "capsules": (
        capsules,
        {
            "rank": st.integers(-2, 70),
            "shape": st.lists(LENGTHS, max_size=70),
            "strides": st.none() | st.lists(LENGTHS, max_size=70),
            "code": st.integers(0, 8),
            "bits": st.sampled_from([0, 1, 4, 8, 16, 32, 64, 128, 255]),
            "lanes": st.sampled_from([0, 1, 2, 65535]),
            "device": st.sampled_from([1, 1, 1, 0, 2, 3, -1, 13]),
            "offset": st.sampled_from([0, 0, 1, 8, 2**40, 2**64 - 1]),
        },
    ),
}
#: Targets that are programs of their own, which print what was wrong.
CALLERS = {"calls": "tests.reliability.hostile", "giants": "tests.reliability.giants"}


def target(name: str, start: int, seconds: float, box: Path) -> None:
    """Tries inputs of one target for a time; prints their number as a line of JSON."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    check, strategies = TARGETS[name]
    count, end = 0, time.monotonic() + seconds
    running = os.open(box, os.O_RDWR | os.O_CREAT)

    def recorded(**inputs: Any) -> None:
        nonlocal count
        os.pwrite(running, f"{name}: {inputs!r}".encode("utf8", "replace").ljust(4000)[:4000], 0)
        count += 1
        check(**inputs)

    while time.monotonic() < end:
        health = list(HealthCheck)
        phases = [Phase.generate, Phase.shrink]
        rounds = settings(max_examples=400, deadline=None, database=None, suppress_health_check=health, phases=phases)
        seed(start)(rounds(given(**strategies)(recorded)))()
        start += 1
    print(json.dumps({"target": name, "inputs": count}), flush=True)


def main() -> None:
    """Runs all targets, or with five arguments one of them."""
    if len(sys.argv) > 4:
        target(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
        return
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    start = int(sys.argv[2]) if len(sys.argv) > 2 else int.from_bytes(os.urandom(4))
    print(f"{minutes:g} minutes from seed {start}", flush=True)
    share, failed = 60 * minutes / (len(TARGETS) + len(CALLERS)), False
    with tempfile.TemporaryDirectory() as folder:
        for name in [*TARGETS, *CALLERS]:
            box = Path(folder) / name
            box.touch()
            own = ["tests.reliability.fuzz", name, str(start), str(share), str(box)]
            other = [CALLERS.get(name, ""), str(box), str(start), str(share)]
            command = [sys.executable, "-X", "faulthandler", "-m", *(other if name in CALLERS else own)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            problems = [line for line in done.stdout.splitlines() if '"what"' in line]
            if done.returncode or problems:
                failed = True
                last = box.read_bytes().rstrip().decode("utf8", "replace")
                print(f"{name}: exit code {done.returncode}, the last input was {last}")
                print("\n".join(problems) or done.stderr[-6000:], flush=True)
            else:
                # What the called functions print is left out.
                print(done.stdout.strip().splitlines()[-1], flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
