"""A program of several processes that make mistakes: in debug mode all raise, and then go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import FerrogradError, distributed, func

w = distributed.world()
n, after, before = w.size, (w.rank + 1) % w.size, (w.rank - 1) % w.size
other = w.rank > 0


def slope(f: Callable[[Any], Any]) -> Any:
    x = fg.ones(3).requires_grad_()
    return fg.grad(f(x).sum(), x)


def in_part() -> Any:
    part = w.split(0, -w.rank)
    assert part is not None
    return part.allreduce(fg.ones(2 + (part.rank > 0)))


#: A call, and what all processes say about it.
MISTAKES: list[tuple[Callable[[], Any], str]] = [
    # Shapes, dtypes, functions and their arguments.
    (
        lambda: w.allreduce(fg.ones(3 + other)),
        r"ranks 0 and 1 differ: rank 0 calls AllReduce.*3.* at .*mistakes.py:\d+, ",
    ),
    (lambda: w.allgather(fg.ones(3).astype(["float32", "float64"][other])), "float32.*float64"),
    (lambda: w.allreduce(fg.ones(3)) if other else w.barrier(), r"rank 0 calls barrier\(\).*rank 1 calls AllReduce"),
    (lambda: w.allreduce(fg.ones(3).requires_grad_(w.rank == 0)), "recorded at .*rank 1 calls AllReduce"),
    (lambda: w.allreduce(fg.ones(3), "max" if other else "min"), "rank 0 calls .*'min'.*rank 1 calls .*'max'"),
    (lambda: w.allreduce(fg.ones(3), "sum" if other else "mean"), "rank 0 calls .*'mean'.*rank 1 calls .*'sum'"),
    (lambda: w.reduce(fg.ones(3), w.rank), r"rank 0 calls Reduce.*0\].*rank 1 calls Reduce.*1\]"),
    (lambda: w.broadcast(fg.ones(3), w.rank), r"broadcast\(0\).*broadcast\(1\)"),
    (lambda: w.broadcast(fg.ones(3 + other)), r"rank 0 calls broadcast\(0, float32\[3\]\).*rank 1 .*float32\[4\]"),
    (lambda: w.scatter(fg.ones([n, 2 + other])), r"rank 0 calls scatter\(0, .*, 2\]\).*rank 1 .*, 3\]\)"),
    (lambda: w.broadcast(None), "a Tensor is expected of rank 0"),
    (lambda: w.split(0) if other else w.allgather_object(1), "allgather_object.*split"),
    (lambda: w.sum_in_order([fg.ones(2)]) if other else w.allgather_object(1), "allgather_object.*sum_in_order"),
    (lambda: w.sum_in_order([fg.ones(2 + other)]), "one shape and dtype"),
    # Partners.
    (lambda: w.sendrecv(fg.ones([2, 3] if other else [3, 2]), after, before), r"ranks 0 .*\[3, 2\].*\[2, 3\]"),
    (lambda: w.sendrecv(fg.ones(2 + other), after, before), r"rank 0 calls SendReceive .*\[2\].* calls .*\[3\]"),
    (lambda: w.sendrecv(fg.ones(2), after if other else None, before), r"ranks 0 and 1 differ: .* to None .* from 0"),
    # Inside transforms.
    (lambda: slope(w.allreduce if other else w.scan), "rank 0 calls Scan.*rank 1 calls AllReduce"),
    (lambda: func.vmap(w.allreduce)(fg.ones([2 + other, 3])), r"rank 0 calls .*\[2, 3\].*rank 1 calls .*\[3, 3\]"),
    (lambda: func.vmap(w.scan)(fg.ones([3, 3])) if other else w.scan(fg.ones(3)), r"rank 1 calls Scan.*\[3, 3\]"),
    (in_part, "ranks 0 and 1 differ"),
]


def main() -> None:
    for call, text in MISTAKES:
        with pytest.raises(FerrogradError, match=text):
            call()
    w.barrier()
    if w.rank == 0:
        print("all raised")


if __name__ == "__main__":
    main()
