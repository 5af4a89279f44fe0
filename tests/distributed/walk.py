"""A program of several processes: every communication with every dtype and kind of shape, inside every transform."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import DtypeError, FerrogradError, ShapeError, distributed, func, torch as _torch
from ferrograd.torch.distributed.fsdp import FullyShardedDataParallel

from tests.distributed.derivatives import CASES, NONLINEAR, RANK, N, numbers, orders, same, world

torch: Any = _torch
dist = torch.distributed
EVERYTHING = {**CASES, **NONLINEAR}
FLOATS = (fg.float16, fg.bfloat16, fg.float32, fg.float64)
COMPLEX = (fg.complex64, fg.complex128)
WHOLE = (fg.bool, fg.int8, fg.int16, fg.int32, fg.int64, fg.uint8, fg.uint16, fg.uint32, fg.uint64)
#: The largest error of a gradient relative to its size.
ROUNDING = {fg.float16: 2e-2, fg.bfloat16: 1e-1, fg.float32: 1e-3, fg.complex64: 1e-3}
#: What adds up truth values counts them.
COUNTED = ("sum", "reduce_scatter", "reduce", "scan", "prod")


def complex_values(x: Any) -> Any:
    return np.asarray(x.detach().astype(fg.complex128))


def values() -> None:
    """The values and dtypes of all functions: numbers without axes or elements, and tensors that are not contiguous."""
    drawn = np.random.default_rng(5)
    for name, (call, stack, stacked) in EVERYTHING.items():
        for dtype in (*WHOLE, *FLOATS, *COMPLEX):
            refused = dtype in WHOLE if name == "mean" else dtype in COMPLEX if name in ("max", "min") else False
            for shape in ([3], [], [0], [2, 0], "a view"):
                outer = [N, N] if stacked else [N]
                sizes = [4, 3] if shape == "a view" else shape
                xs = fg.tensor(drawn.integers(0, 3, [*outer, *sizes])).astype(dtype)
                xs = xs.mT if shape == "a view" else xs
                if refused:
                    with pytest.raises(DtypeError):
                        call(world, xs[RANK])
                    continue
                y = call(world, xs[RANK])
                wanted = stack(xs.astype(fg.int64) if dtype in WHOLE else xs)[RANK]
                np.testing.assert_array_equal(complex_values(y), complex_values(wanted), f"{name} of {dtype}{shape}")
                assert y.dtype == (fg.int64 if dtype == fg.bool and name in COUNTED else dtype), (name, y.dtype)
    assert world.sum_in_order([fg.tensor([True, False])]).tolist() == [N, 0]


def gradients() -> None:
    """Derivatives in the dtypes of lower precision; ``derivatives.py`` has the others."""
    for name, (call, stack, stacked) in EVERYTHING.items():
        for dtype, tolerance in ROUNDING.items():
            if not (dtype in COMPLEX and name in ("max", "min")):
                orders(name, call, stack, stacked, dtype, 0.5, tolerance)


def transforms() -> None:
    """Batches of any size with other transforms inside and outside, Jacobians, checkpoints in checkpoints."""
    for name, (call, _, stacked) in EVERYTHING.items():
        x = numbers([N, 3] if stacked else [3], RANK)

        def loss(x: Any, call: Any = call) -> Any:
            return fg.sum(fg.sin(call(world, x * x)))

        def run(x: Any, call: Any = call) -> Any:
            return call(world, fg.sin(x))

        empty = func.vmap(run)(fg.ones([0, *x.shape]))
        assert tuple(empty.shape) == (0, *run(x).shape), name
        unbatched = func.vmap(lambda t, x=x, run=run: run(x) * t)(fg.tensor([0.0, 1.0], dtype=fg.float64))
        same(unbatched[1], run(x), name)
        xs = fg.stack([x, 2 * x])
        for transform in (func.grad, func.hessian):
            batched = func.vmap(transform(loss))(xs)
            for found, one in zip(batched, xs, strict=True):
                same(found, transform(loss)(one), f"{name}, vmap of {transform}")
        tangents = func.jvp(func.vmap(run), (xs,), (xs,))[1]
        for found, one in zip(tangents, xs, strict=True):
            same(found, func.jvp(run, (one,), (one,))[1], f"{name}, jvp of vmap")
        # Rows are of the sum over all processes, columns of all processes' inputs together.
        rows, columns = (world.allreduce(jacobian(run)(x)) for jacobian in (func.jacrev, func.jacfwd))
        same(rows, columns, f"{name}, Jacobian")
        plain, kept = x.clone().requires_grad_(), x.clone().requires_grad_()
        slopes = [
            fg.grad(loss(plain), plain, create_graph=True),
            fg.grad(fg.checkpoint(lambda x, loss=loss: fg.checkpoint(loss, x) * 1, kept), kept, create_graph=True),
        ]
        same(slopes[1], slopes[0], f"{name}, checkpoint", 0)
        same(fg.grad(fg.sum(slopes[1] ** 2), kept), fg.grad(fg.sum(slopes[0] ** 2), plain), f"{name}, its gradient")


def given_up(call: Callable[..., Any], x: Any) -> Any:
    """The result of a compiled function's first call, which says that it communicates."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call(x)
    assert len(caught) == 1, [str(w.message) for w in caught]
    assert "runs uncompiled: it communicates at" in str(caught[0].message)
    return found


def compiled() -> None:
    """A compiled function communicates in every call, even if nothing that it communicates depends on its inputs."""
    for name, (call, _, stacked) in EVERYTHING.items():
        x = numbers([N, 3] if stacked else [3], RANK)
        slope = func.grad(lambda x, call=call: fg.sum(fg.sin(call(world, x * x))))
        fast = fg.compile(slope)
        same(given_up(fast, x), slope(x), name)
        for k in (2, 3):
            same(fast(x * k), slope(x * k), name)
    outside, count = fg.ones([2]), [0]

    def exchanged(x: Any) -> Any:
        count[0] += 1
        return world.allgather_object(count[0])[-1] * x

    def waited(x: Any) -> Any:
        world.barrier()
        return x * (k + 1)

    for f in (lambda x: world.allreduce(outside) * x, lambda x: world.sum_in_order([outside]) * x, exchanged, waited):
        outside.fill_(1)
        fast, k = fg.compile(f), 0
        first = given_up(fast, fg.ones([2])).tolist()[0]
        for k in (1, 2):
            outside.fill_(k + 1)
            assert fast(fg.ones([2])).tolist() == [first * (k + 1)] * 2


def trained(model: Any, step: Callable[[Any], Any]) -> list[float]:
    torch.manual_seed(3)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.arange(float(p.numel())).reshape(p.shape).sin())
    for k in range(3):
        step(torch.ones(2, 3).double() * (k + RANK))
    return [x for p in model.parameters() for x in p.detach().flatten().tolist()]


def compiled_training() -> None:
    """A compiled module inside or outside of ``DistributedDataParallel``, and a compiled step, train as without."""
    ddp = torch.nn.parallel.DistributedDataParallel

    def stepping(model: Any, parameters: Any) -> Callable[[Any], Any]:
        optimizer = torch.optim.SGD(parameters, lr=0.1)

        def step(x: Any) -> None:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

        return step

    found = []
    for kind in ("plain", "inside", "outside", "step"):
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            runs = ddp(torch.compile(model) if kind == "inside" else model)
            step = stepping(torch.compile(runs) if kind == "outside" else runs, model.parameters())
            found.append(trained(model, torch.compile(step) if kind == "step" else step))
        assert all("runs uncompiled" in str(w.message) for w in caught), [str(w.message) for w in caught]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12)
    everyone = world.allgather_object(found)
    assert all(one == everyone[0] for one in everyone)


def copies() -> None:
    """A copy of a model averages its gradients too. What stands for processes is not pickled."""
    models: list[Any] = [
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1)),
        FullyShardedDataParallel(torch.nn.Linear(2, 1)),
    ]
    for model in models:
        other = copy.deepcopy(model)
        for one in (model, other):
            one(torch.ones(1, 2) * (RANK + 1)).sum().backward()
        for p, q in zip(model.parameters(), other.parameters(), strict=True):
            assert p is not q
            assert p.grad.tolist() == q.grad.tolist()
        with pytest.raises(FerrogradError, match="cannot be pickled"):
            pickle.dumps(model)
    assert copy.deepcopy(world) is world
    with pytest.raises(FerrogradError, match=r"Communicator: .* cannot be pickled; call ferrograd.distributed.world"):
        pickle.dumps(world)
    x = fg.ones([2]).requires_grad_()
    assert pickle.loads(pickle.dumps(world.allreduce(x))).tolist() == [N, N]


def in_a_child() -> str:
    """In a process that a rank has started: what its world says."""
    try:
        fg.distributed.world().barrier()
    except fg.distributed.DistributedError as error:
        return str(error)
    return "no error"


def children() -> None:
    """Processes that a rank starts compute, and refuse to communicate. Those of one rank are enough."""
    refusal = f"was started by process {os.getpid()}, which mpiexec has started: it is no rank"
    kinds = ("fork", "spawn") if RANK == 1 and sys.platform == "linux" else ("spawn",) if RANK == 1 else ()
    for kind in kinds:
        with get_context(kind).Pool(1) as pool:
            assert pool.map(abs, [-1]) == [1]
            assert refusal in pool.apply(in_a_child)
    if RANK == 1:
        code = (
            "import ferrograd as fg\ntry:\n    fg.distributed.world().barrier()\nexcept Exception as e:\n    print(e)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert refusal in done.stdout
        if hasattr(os, "fork"):
            process = os.fork()
            if not process:
                os._exit(0 if refusal in in_a_child() else 1)
            assert os.waitpid(process, 0)[1] == 0
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=1)
    assert [world.allreduce(batch.sum()).item() for (batch,) in loader] == [6 * N, 22 * N]
    assert world.allreduce(fg.ones([])).item() == N


def sizes() -> None:
    """Without debug mode too, what is received must have the size that was expected."""
    debug = distributed.is_debug()
    distributed.set_debug(False)
    group = torch.distributed.new_group([0, 1])
    if RANK < 2:
        for expected in (2, 4):
            work = dist.isend(torch.ones(3), 1 - RANK, group=group)
            with pytest.raises(ShapeError, match=rf"rank {1 - RANK} sent .*bytes to rank {RANK}, whose own array has"):
                dist.recv(torch.zeros(expected), 1 - RANK, group=group)
            work.wait()
        into = torch.zeros(3)
        work = dist.irecv(into, 1 - RANK, group=group)
        dist.send(torch.ones(3) * RANK, 1 - RANK, group=group)
        while not work.is_completed():
            pass
        assert work.wait()
        assert into.tolist() == [1 - RANK] * 3
    world.barrier()
    distributed.set_debug(debug)


def main() -> None:
    dist.init_process_group("gloo")
    checks = (values, gradients, transforms, compiled, compiled_training, copies, children, sizes)
    for check in checks:
        check()
    dist.destroy_process_group()
    if RANK == 0:
        print("all the same")


if __name__ == "__main__":
    main()
