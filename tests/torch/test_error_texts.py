"""Errors say what PyTorch's say, for programs that look for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import torch as _torch

torch: Any = _torch
F: Any = torch.nn.functional

X, V, S = torch.ones(2, 3), torch.ones(3), torch.tensor(1.0)
INDEX = torch.zeros(2, 3, dtype=torch.long)
RANGE = "Dimension out of range (expected to be in range of [{}, {}], but got {})"

AXES: dict[str, Callable[[int], Any]] = {
    "sum": lambda d: X.sum(d),
    "sum of several": lambda d: X.sum((0, d)),
    "softmax": lambda d: torch.softmax(X, d),
    "cat": lambda d: torch.cat([X, X], d),
    "gather": lambda d: X.gather(d, INDEX),
    "select": lambda d: X.select(d, 0),
    "max": lambda d: torch.max(X, d),
    "sort": lambda d: X.sort(d),
    "cumsum": lambda d: X.cumsum(d),
    "transpose": lambda d: X.transpose(0, d),
    "movedim": lambda d: X.movedim(0, d),
    "split": lambda d: X.split(1, d),
    "fft": lambda d: torch.fft.fft(X, dim=d),
    "normalize": lambda d: F.normalize(X, dim=d),
    "in place": lambda d: X.clone().cumsum_(d),
    "compiled": lambda d: torch.compile(lambda x: x.sum(d))(X),
}

TEXTS: dict[str, tuple[Callable[[], Any], str]] = {
    "view": (lambda: X.view(4, -1), "shape '[4, -1]' is invalid for input of size 6"),
    "reshape": (lambda: X.reshape(5), "shape '[5]' is invalid for input of size 6"),
    "a product": (lambda: X @ X, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    "a layer": (
        lambda: torch.nn.Linear(4, 5)(torch.ones(2, 7, 3)),
        "mat1 and mat2 shapes cannot be multiplied (14x3 and 4x5)",
    ),
    "an axis twice": (lambda: X.sum((0, -2)), "dim 0 appears multiple times in the list of dims"),
    "topk": (lambda: V.topk(4), "selected index k out of range"),
    "kthvalue": (lambda: V.kthvalue(4), "selected number k out of range for dimension 0"),
    "diagonal": (lambda: X.diagonal(0, 1, -1), "diagonal dimensions cannot be identical 1, -1"),
    "movedim": (lambda: X.movedim((0, 1), (0,)), "Invalid source or destination dims: source ([0, 1] dims)"),
    "gather": (lambda: X.gather(1, INDEX[0]), "Index tensor must have the same number of dimensions as self tensor"),
    "gather of more": (lambda: X[:1].gather(1, INDEX), "Size does not match at dimension 0"),
    "an empty list": (lambda: torch.cat([]), "expected a non-empty list of Tensors"),
    "linspace": (lambda: torch.linspace(0, 1, -1), "number of steps must be non-negative"),
    "arange": (lambda: torch.arange(0, 3, 0), "step must be nonzero"),
    "rot90": (lambda: torch.rot90(X, 1, [0]), "expected total rotation dims == 2, but got dims = 1"),
    "masks": (lambda: X.masked_fill(INDEX, 1.0), "only supports boolean masks, but got mask with dtype int64"),
    "masked_fill": (lambda: X.masked_fill(X > 0, V), "only supports a 0-dimensional value tensor"),
    "isclose": (lambda: torch.isclose(X, X, rtol=-1), "rtol must be greater than or equal to zero"),
    "bucketize": (lambda: torch.bucketize(V, X), "boundaries tensor must be 1 dimension"),
    "sum_to_size": (lambda: X.sum_to_size(4, 3), "size [4, 3] is not expandable to size [2, 3]"),
    "cross": (lambda: torch.linalg.cross(X[:, :2], X[:, :2]), "inputs dimension -1 must have length 3"),
    "tril": (lambda: torch.tril(V), "input tensor must have at least 2 dimensions"),
    "a matrix": (lambda: torch.linalg.qr(V), "must have at least 2 dimensions"),
    "amax": (lambda: X[:0].amax(0), "over an empty dimension as the operation has no identity"),
    "diff": (lambda: torch.diff(V, n=-1), "order must be non-negative but got -1"),
    "gelu": (lambda: F.gelu(V, approximate="no"), "approximate argument must be either none or tanh"),
    "reductions": (lambda: F.mse_loss(V, V, reduction="abc"), "abc is not a valid value for reduction"),
    "hardtanh": (lambda: F.hardtanh(V, 1.0, -1.0), "min_val cannot be greater than max_val"),
    "t": (lambda: torch.ones(2, 3, 4).t(), "t() expects a tensor with <= 2 dimensions, but self is 3D"),
    "hsplit": (
        lambda: torch.hsplit(S, 1),
        "requires a tensor with at least 1 dimension, but got a tensor with 0 dimensions",
    ),
    "repeat": (lambda: X.repeat(2), "Number of dimensions of repeat dims can not be smaller than number of dimensions"),
    "margins": (lambda: F.triplet_margin_loss(V, V, V, margin=-1.0), "margin must be greater than 0, got -1.0"),
}


@pytest.mark.parametrize("name", AXES)
def test_axes_that_are_not_there(name: str) -> None:
    for d in (2, -3):
        with pytest.raises(IndexError, match=re.escape(RANGE.format(-2, 1, d))):
            AXES[name](d)


def test_axes_of_what_has_none_or_gets_one() -> None:
    with pytest.raises(IndexError, match=re.escape(RANGE.format(-1, 0, 1))):
        S.sum(1)
    longer: list[Callable[[], Any]] = [lambda: X.unsqueeze(3), lambda: torch.stack([X, X], 3)]
    for new in longer:
        with pytest.raises(IndexError, match=re.escape(RANGE.format(-3, 2, 3))):
            new()
    # The native namespace says axis.
    with pytest.raises(IndexError, match="sum: axis 2 is out of range for 2 dimensions"):
        fg.ones((2, 3)).sum(2)
    with pytest.raises(ValueError, match="sum: axis 0 appears multiple times in the list of axes"):
        fg.ones((2, 3)).sum((0, 0))


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    call, text = TEXTS[name]
    with pytest.raises((RuntimeError, ValueError), match=re.escape(text)):
        call()
