"""A program of several processes: derivatives of communications, against functions of stacks in one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
from ferrograd import distributed, func
from ferrograd.distributed import Communicator

world = distributed.world()
N, RANK = world.size, world.rank
ROOT = N - 1


def spread(x: Any) -> Any:
    return fg.broadcast_to(x[None], [N, *x.shape])


def only_root(x: Any) -> Any:
    at = fg.tensor([float(r == ROOT) for r in range(N)], dtype=x.dtype)
    return x[None] * at.reshape([N, *[1] * x.ndim])


def shifted(x: Any) -> Any:
    """Each process has what the one before it had, the first zeros."""
    return fg.concat([fg.zeros_like(x[:1]), x[:-1]], 0)


Stack = Callable[[Any], Any]
Call = Callable[[Communicator, Any], Any]
#: By name: what a process calls, the same for a stack of all processes, and whether its input is a stack itself.
CASES: dict[str, tuple[Call, Stack, bool]] = {
    "sum": (lambda c, x: c.allreduce(x), lambda s: spread(fg.sum(s, 0)), False),
    "mean": (lambda c, x: c.allreduce(x, "mean"), lambda s: spread(fg.mean(s, 0)), False),
    "allgather": (lambda c, x: c.allgather(x), spread, False),
    "reduce_scatter": (lambda c, x: c.reduce_scatter(x), lambda s: fg.sum(s, 0), True),
    "alltoall": (lambda c, x: c.alltoall(x), lambda s: fg.moveaxis(s, 0, 1), True),
    "broadcast": (lambda c, x: c.broadcast(x, ROOT), lambda s: spread(s[ROOT]), False),
    "reduce": (lambda c, x: c.reduce(x, ROOT), lambda s: only_root(fg.sum(s, 0)), False),
    "gather": (lambda c, x: c.gather(x, ROOT), only_root, False),
    "scatter": (lambda c, x: c.scatter(x, ROOT), lambda s: s[ROOT], True),
    "scan": (lambda c, x: c.scan(x), lambda s: fg.cumsum(s, 0), False),
    "sendrecv": (
        lambda c, x: c.sendrecv(x, (RANK + 1) % N, (RANK - 1) % N),
        lambda s: fg.roll(s, 1, 0),
        False,
    ),
    "sendrecv to nobody": (
        lambda c, x: c.sendrecv(x, RANK + 1 if RANK + 1 < N else None, RANK - 1 if RANK else None),
        shifted,
        False,
    ),
}
NONLINEAR: dict[str, tuple[Call, Stack, bool]] = {
    "max": (lambda c, x: c.allreduce(x, "max"), lambda s: spread(fg.max(s, 0)), False),
    "min": (lambda c, x: c.allreduce(x, "min"), lambda s: spread(fg.min(s, 0)), False),
    "prod": (lambda c, x: c.allreduce(x, "prod"), lambda s: spread(fg.prod(s, 0)), False),
}


def numbers(shape: list[int], seed: int, dtype: Any = fg.float64) -> Any:
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.kind == "c" else 0)
    return fg.tensor(drawn).astype(dtype)


def same(found: Any, wanted: Any, what: str, tolerance: float = 1e-10) -> None:
    a, b = (np.asarray(x.detach().astype("complex128")) for x in (found, wanted))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=what)


def real(x: Any) -> Any:
    return (x * fg.conj(x)).real if x.dtype.kind == "c" else x


def losses(y: Any, axis: int) -> Any:
    """A loss of each process, of all processes if the axis 0 of ``y`` counts them; their weights differ."""
    weights = fg.tensor(np.arange(1.0, N + 1))
    parts = fg.sum(real(fg.sin(y)).reshape([N, -1] if axis else [1, -1]), 1)
    return fg.sum(parts * (weights if axis else weights[RANK : RANK + 1]))


def orders(
    name: str, call: Call, stack: Stack, stacked: bool, dtype: Any, size: float = 1.0, tolerance: float = 1e-10
) -> None:
    """Three gradients in reverse mode, one tangent, one tangent of a gradient."""
    xs = numbers([N, N, 3] if stacked else [N, 3], 1, dtype) * size
    ts = numbers(list(xs.shape), 2, dtype) * size
    x, all_x = xs[RANK].clone().requires_grad_(), xs.clone().requires_grad_()
    g, all_g = losses(call(world, x * x), 0), losses(stack(all_x * all_x), 1)
    same(call(world, x), stack(all_x)[RANK], name, tolerance)
    for order in (1, 2, 3):
        g = fg.grad(g, x, create_graph=True)
        all_g = fg.grad(all_g, all_x, create_graph=True)
        same(g, all_g[RANK], f"{name}, order {order}", tolerance)
        g, all_g = fg.sum(real(g * ts[RANK])), fg.sum(real(all_g * ts))
    pair = func.jvp(lambda x: call(world, x * x), (xs[RANK],), (ts[RANK],))
    all_pair = func.jvp(lambda x: stack(x * x), (xs,), (ts,))
    for found, wanted in zip(pair, all_pair, strict=True):
        same(found, wanted[RANK], f"{name}, jvp", tolerance)
    if dtype.kind != "c":
        slope = func.grad(lambda x: losses(call(world, x * x), 0))
        all_slope = func.grad(lambda x: losses(stack(x * x), 1))
        _, found = func.jvp(slope, (xs[RANK],), (ts[RANK],))
        same(found, func.jvp(all_slope, (xs,), (ts,))[1][RANK], f"{name}, forward over reverse", tolerance)


def batches(name: str, call: Call, stacked: bool) -> None:
    """A batch, two batch axes, and a batch of cotangents give what a loop gives."""
    xs = numbers([2, 2, *([N, 3] if stacked else [3])], 10 + RANK)
    twice = func.vmap(func.vmap(lambda x: call(world, x), in_axes=-1 if not stacked else 0))
    inside = fg.moveaxis(xs, 1, -1) if not stacked else xs
    found = twice(inside)
    for i, j in ((0, 1), (1, 0)):
        same(found[i, j], call(world, xs[i, j]), f"{name}, vmap", 0)
    x = xs[0, 0].clone().requires_grad_()
    y = call(world, x)
    if not y.requires_grad:
        return
    gs = numbers([2, *y.shape], 20 + RANK)
    found = fg.grad(y, x, gs, is_grads_batched=True, retain_graph=True)
    for i in range(2):
        same(found[i], fg.grad(y, x, gs[i], retain_graph=True), f"{name}, batch of cotangents")


def checkpoints() -> None:
    """A checkpoint communicates again in the backward pass."""

    def f(x: Any) -> Any:
        return fg.sin(world.allreduce(fg.exp(x)))

    x = numbers([3], RANK).requires_grad_()
    kept = fg.grad(fg.sum(f(x)), x)
    same(fg.grad(fg.sum(fg.checkpoint(f, x)), x), kept, "checkpoint", 0)


def accumulated() -> None:
    """``backward`` fills ``.grad`` on all processes, also where None took part."""
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    y = world.broadcast(x if RANK == 0 else None)
    assert y.requires_grad
    (y * (RANK + 1)).sum().backward()
    assert (x.grad is None) == (RANK > 0)
    if RANK == 0:
        assert x.grad.tolist() == [N * (N + 1) / 2] * 2
    z = world.scatter(fg.arange(2 * N).reshape([N, 2]) if RANK == 0 else None)
    assert z.tolist() == [2 * RANK, 2 * RANK + 1]
    assert not z.requires_grad


def kinds() -> None:
    """Every dtype, other dialects, views, and tensors without elements."""
    for dtype in (fg.int8, fg.uint64, fg.float32, fg.complex64, fg.float16, fg.bfloat16, fg.bool):
        x = fg.tensor([1, 0, 1]).astype(dtype)
        total = world.allreduce(x)
        assert total.dtype == (fg.int64 if dtype == fg.bool else dtype)
        assert total.astype(fg.complex64).real.tolist() == [N, 0, N]
        assert world.allgather(x).dtype == dtype
        assert world.scatter(world.allgather(x)).astype(fg.complex64).real.tolist() == [1, 0, 1]
    # In float16 itself, 2048 + 1 is 2048.
    half = fg.tensor([2048.0 if RANK == 0 else 1.0]).astype(fg.float16)
    assert world.allreduce(half).item() == fg.tensor(2048.0 + N - 1).astype(fg.float16).item()
    for dialect in (fg.torch, fg.paddle):
        y = dialect.ones([2])
        assert type(world.allreduce(y)) is type(y)
        assert type(world.gather(y)) is type(y)
    view = fg.arange(12.0).reshape([3, 4]).mT
    assert fg.all(world.allreduce(view) == view * N).item()
    assert fg.all(world.allreduce(view[:, 1:]) == view[:, 1:] * N).item()
    for shape in ([], [0], [2, 0]):
        assert world.allreduce(fg.ones(shape)).shape == tuple(shape)
        assert world.allgather(fg.ones(shape)).shape == (N, *shape)
        assert world.sendrecv(fg.ones(shape), RANK, RANK).shape == tuple(shape)


def groups() -> None:
    """Sub-communicators, whose communications can be differentiated too."""
    pair = world.split(RANK % 2, key=-RANK)
    assert pair is not None
    members = [r for r in range(N - 1, -1, -1) if r % 2 == RANK % 2]
    assert (pair.rank, pair.size) == (members.index(RANK), len(members))
    x = fg.tensor([float(RANK)], requires_grad=True)
    y = pair.allgather(x)
    assert y.flatten().tolist() == members
    g = fg.grad(fg.sum(world.allreduce(y**2 if len(members) == (N + 1) // 2 else y * y)), x)
    assert g.item() == 2 * RANK * N * len(members)
    none = world.split(None if RANK else 0)
    assert (none is None) == (RANK > 0)


def in_order() -> None:
    """A sum whose bits do not depend on who has which term."""
    terms = [numbers([5], 50 + i).astype(fg.float32) for i in range(7)]
    wanted = terms[0]
    for term in terms[1:]:
        wanted = wanted + term
    for cuts in ([7 * r // N for r in range(N + 1)], [0] * N + [7], [0] + [7] * N):
        found = world.sum_in_order(terms[cuts[RANK] : cuts[RANK + 1]])
        assert found.tolist() == wanted.tolist()
        assert found.dtype == fg.float32


def objects() -> None:
    assert world.allgather_object(RANK) == list(range(N))
    assert world.broadcast_object({"from": RANK}, ROOT) == {"from": ROOT}
    world.barrier()


def order_in_backward(threads: int = 1) -> None:
    """The order of communications in a backward pass is that of the graph: latest first, the same on all processes."""
    seen: list[str] = []
    fg.set_num_threads(threads)
    tell, debug = world._agree, distributed.is_debug()
    distributed.set_debug(True)
    world._agree = lambda call, *_: seen.append(call)  # type: ignore[method-assign]
    x = numbers([200, 200], 1).requires_grad_()
    # The branches of the processes differ in how long they take.
    parts = []
    for i in range(6):
        y = x * (i + 1)
        for _ in range((i * 7 + RANK * 5) % 11):
            y = fg.sin(y)
        parts.append(world.allreduce(y[: i + 1]))
    del seen[:]
    fg.grad([fg.sum(part) for part in parts], x)
    world._agree = tell  # type: ignore[method-assign]
    distributed.set_debug(debug)
    fg.set_num_threads(1)
    everyone = world.allgather_object(seen)
    assert len(seen) == 6
    assert all(other == seen for other in everyone), everyone


def main() -> None:
    for name, (call, stack, stacked) in {**CASES, **NONLINEAR}.items():
        orders(name, call, stack, stacked, fg.float64)
        batches(name, call, stacked)
        # Each call takes messages between each two processes.
        if name in CASES and N < 4:
            orders(name, call, stack, stacked, fg.complex128)
    for check in (checkpoints, accumulated, kinds, groups, in_order, objects):
        check()
    for threads in (1, 2, 3):
        order_in_backward(threads)
    if RANK == 0:
        print("all the same")


if __name__ == "__main__":
    main()
