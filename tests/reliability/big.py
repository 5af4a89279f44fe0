"""Arrays of more than 2**31 elements and 4 GiB: ``python -m tests.reliability.big``. It needs 14 GB of memory."""

from __future__ import annotations

import ferrograd as fg
import numpy as np


def bytes_() -> None:
    """Elements beyond 2**31 are counted, found and written."""
    n = 2**31 + 9
    x = fg.ones((n,), dtype="int8")
    assert x.shape == (n,)
    assert fg.sum(x, dtype="int64").item() == n
    x[-1] = 7
    x[2**31] = 5
    assert x[n - 1].item() == 7
    assert x[2**31 :].tolist() == [5, 1, 1, 1, 1, 1, 1, 1, 7]
    assert fg.argmax(x).item() == n - 1
    strided = x[:: 2**30]
    assert strided.tolist() == [1, 1, 5]
    assert np.asarray(x)[2**31] == 5
    assert fg.take(x, fg.tensor([n - 1, 0, 2**31]), axis=0).tolist() == [7, 1, 5]


def rows() -> None:
    """Strides beyond 2**31."""
    x = fg.zeros((2, 2**31 + 1), dtype="int8")
    x[1, 3] = 4
    assert x.mT[3].tolist() == [0, 4]
    assert fg.max(x, axis=1).tolist() == [0, 4]


def gradient() -> None:
    """The gradient of a buffer of more than 4 GiB."""
    n = 2**30 + 3
    x = fg.ones((n,), dtype="float32").requires_grad_()
    g = fg.grad((x[-2:] * fg.tensor([2.0, 3.0])).sum() + x[0] * 5.0, x)
    assert g.shape == (n,)
    assert g[-3:].tolist() == [0.0, 2.0, 3.0]
    assert g[0].item() == 5.0
    assert fg.sum(g).item() == 10.0


if __name__ == "__main__":
    for part in (bytes_, rows, gradient):
        part()
        fg.empty_cache()
    print("exact")
