"""A program of several processes that make mistakes: in debug mode all raise, and then go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import FerrogradError, distributed

w = distributed.world()


#: A call, and what all processes say about it.
MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: w.allreduce(fg.ones(3 + w.rank)),
        r"ranks 0 and 1 differ: rank 0 calls AllReduce.*3.* at .*mistakes.py:\d+, ",
    ),
    (lambda: w.allgather(fg.ones(3).astype(["float32", "float64"][w.rank])), "float32.*float64"),
    (lambda: w.allreduce(fg.ones(3)) if w.rank else w.barrier(), r"rank 0 calls barrier\(\).*rank 1 calls AllReduce"),
    (lambda: w.allreduce(fg.ones(3).requires_grad_(w.rank == 0)), "recorded at .*rank 1 calls AllReduce"),
    (lambda: w.broadcast(fg.ones(3), w.rank), r"broadcast\(0\).*broadcast\(1\)"),
    (lambda: w.split(0) if w.rank else w.allgather_object(1), "allgather_object.*split"),
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
