"""No call keeps what it was given, also a call that fails: counts of references, nodes and bytes return."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core, func

from tests import check
from tests.cases import all_cases
from tests.engine.test_threads import script


class Twice(fg.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, held: Any) -> Any:
        ctx.held = held
        ctx.save_for_backward(x)
        return x * 2.0

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if ctx.held == "fail":
            raise KeyError
        return g * 2.0, None


def hooked(x: Any, hook: Callable[..., Any]) -> None:
    y = x * 2.0
    y.register_hook(hook)
    y.sum().backward()
    x.grad = None


def packed(x: Any, pack: Callable[..., Any]) -> Any:
    with fg.saved_tensors_hooks(pack, lambda t: t):
        y = (x * x).sum()
    return fg.grad(y, x)


#: Calls with a tensor, an array and an object; some fail.
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "tensor of a list": lambda x, a, o: fg.tensor([[1.0, 2.0], [3.0, 4.0]]),
    "tensor of tensors": lambda x, a, o: fg.tensor([x, x]),
    "tensor of an array": lambda x, a, o: fg.tensor(a),
    "tensor of an object": lambda x, a, o: fg.tensor([1.0, o]),
    "operators": lambda x, a, o: x * a + 2.0 - x,
    "an operator that fails": lambda x, a, o: x * o,
    "a shape that fails": lambda x, a, o: fg.reshape(x, (2**62, 2**62)),
    "a keyword that fails": lambda x, a, o: fg.sum(x, **{"nothing": o}),
    "subscripts": lambda x, a, o: x[np.array([0, 1])][0],
    "a subscript that fails": lambda x, a, o: x[o],
    "a write": lambda x, a, o: (x * 1).__setitem__(0, 5.0),
    "a write that fails": lambda x, a, o: (x * 1).__setitem__(0, o),
    "grad": lambda x, a, o: fg.grad((x * x).sum(), x, create_graph=True),
    "grad that fails": lambda x, a, o: fg.grad((x * x).sum(), [x, o]),
    "backward": lambda x, a, o: (x * x).sum().backward(),
    "a hook": lambda x, a, o: hooked(x, lambda g: (o, g)[1]),
    "a hook that fails": lambda x, a, o: hooked(x, lambda g: o / 1),
    "a function": lambda x, a, o: fg.grad(Twice.apply(x, o).sum(), x),
    "a function that fails": lambda x, a, o: fg.grad(Twice.apply(x, "fail").sum(), x),
    "packed": lambda x, a, o: packed(x, lambda t: (o, t)[1]),
    "packing that fails": lambda x, a, o: packed(x, lambda t: o / 1),
    "vmap": lambda x, a, o: func.vmap(func.grad(lambda y: (y * y).sum()))(fg.stack([x, x])),
    "vmap that fails": lambda x, a, o: func.vmap(lambda y: o / 1)(x),
    "jvp": lambda x, a, o: func.jvp(fg.sin, (x,), (x.detach(),)),
    "hessian": lambda x, a, o: func.hessian(lambda y: (y**3).sum())(x),
    "checkpoint": lambda x, a, o: fg.grad(fg.checkpoint(lambda y: fg.sin(y), x).sum(), x),
    "numpy": lambda x, a, o: np.sum(np.sin(x) * a),
    "an array": lambda x, a, o: (np.asarray(x.detach()), memoryview(x.detach())),
    "a list": lambda x, a, o: (x.tolist(), repr(x), x.numpy()),
    "DLPack": lambda x, a, o: fg.from_dlpack(x.detach()),
    "DLPack that fails": lambda x, a, o: fg.from_dlpack(o),
    "a pickle": lambda x, a, o: __import__("pickle").loads(__import__("pickle").dumps(x)),
    "a copy": lambda x, a, o: __import__("copy").deepcopy({"x": x}),
    "a graph": lambda x, a, o: fg.graph(x * x).to_text(),
    "nodes": lambda x, a, o: (x * x).grad_fn.next_functions,
    "einsum": lambda x, a, o: fg.einsum("i,i->", x, x),
    "einsum that fails": lambda x, a, o: fg.einsum("i,j->k", x, x),
    "an attribute": lambda x, a, o: setattr(x * 1, "anything", o),
    "dtypes": lambda x, a, o: fg.cast(x, "float32").dtype,
    "shapes": lambda x, a, o: fg.zeros((2, 3)).shape,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_keeps_no_reference(name: str) -> None:
    call = CALLS[name]
    x, a, o = fg.tensor([1.0, 2.0], dtype="float64", requires_grad=True), np.ones(2), object()
    dtype, shape = np.dtype("float64"), (12345, 67890)
    shared = [x, a, o, dtype, shape, fg.Tensor, type(x), Twice]

    def run(n: int) -> None:
        for _ in range(n):
            # Some of the calls fail, which is as good a way to lose a reference.
            with contextlib.suppress(Exception):
                call(x, a, o)
        gc.collect()

    def grown(n: int) -> int:
        blocks = sys.getallocatedblocks()
        run(n)
        return sys.getallocatedblocks() - blocks

    run(5)
    counts, nodes = [sys.getrefcount(s) for s in shared], _core.live_nodes()
    # Lists of freed objects fill up in the first rounds. One block for each call would be a hundred in every round.
    assert any(grown(100) < 50 for _ in range(8))
    assert [sys.getrefcount(s) for s in shared] == counts
    assert _core.live_nodes() == nodes


def test_every_op_gives_its_nodes_back() -> None:
    gc.collect()
    gc.disable()
    try:
        for case in [c for c in all_cases() if check.differentiated(c)]:
            before = _core.live_nodes()
            check.gradients(case)
            assert _core.live_nodes() == before, case.id
    finally:
        gc.enable()


#: Each way to use an op a thousand times over; memory does not grow with the number of rounds.
USES = {
    "memory that goes back to the system": "xs = [fg.ones(300) for _ in range(10)]; del xs; fg.empty_cache()",
    "forward": "y = f(x)",
    "backward": "y = f(x).sum(); y.backward(); x.grad = None",
    "create_graph": "y = fg.grad(f(x).sum(), x, create_graph=True); fg.grad(y.sum(), x, allow_unused=True)",
    "a recorded gradient in .grad": "fg.backward(f(x).sum(), create_graph=True); x.grad = None",
    "a hook that closes over its tensor": """y = f(x); y.register_hook(lambda g, y=y: g); y.sum().backward()
    x.grad = None""",
    "an exception in a hook": """y = f(x); y.register_hook(lambda g: 1 / 0)
    try: y.sum().backward()
    except ZeroDivisionError: pass""",
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of the process in /proc")
@pytest.mark.parametrize("use", USES)
def test_memory_does_not_grow(use: str) -> None:
    out = script(f"""
import gc
x = fg.tensor(np.ones(1000), requires_grad=True)
f = lambda x: fg.sin(x) * fg.softmax(x, axis=0) + x
def run():
    {USES[use]}
def used():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096
slopes = []
for _ in range(4):
    before = used()
    for _ in range(1500):
        run()
    slopes.append((used() - before) / 1500)
# In the first rounds the system's allocator takes what it keeps.
print(min(slopes))
""")
    # One array would be 8000 bytes for each round, one node 176.
    assert float(out) < 50
