"""The three namespaces behind one interface, for tests that hold in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ferrograd as fg
import numpy as np
from ferrograd import paddle, torch


class Dialect:
    """One namespace: how it makes tracked tensors and computes gradients."""

    def __init__(self, name: str, module: Any) -> None:
        self.name, self.module = name, module

    def __repr__(self) -> str:
        return self.name

    def tensor(self, data: Any, track: bool = False, dtype: Any = None) -> Any:
        if self.name == "paddle":
            return paddle.to_tensor(data, dtype, stop_gradient=not track)
        return self.module.tensor(data, dtype=dtype, requires_grad=track)

    def leaf(self, data: Any, dtype: Any = None) -> Any:
        return self.tensor(data, True, dtype)

    def grad(self, outputs: Sequence[Any], inputs: Sequence[Any], seeds: Any = None, **options: Any) -> list[Any]:
        """The gradients as a list. Without seeds, each output starts from ones."""
        if seeds is None and self.name != "paddle":
            seeds = [None if o.stop_gradient else self.like(o) for o in outputs]
        if self.name == "torch":
            return list(torch.autograd.grad(outputs, inputs, seeds, **options))
        return list(self.module.grad(list(outputs), list(inputs), seeds, **options))

    def backward(self, outputs: Sequence[Any], seeds: Any = None, **options: Any) -> None:
        if seeds is None and self.name != "paddle":
            seeds = [None if o.stop_gradient else self.like(o) for o in outputs]
        if self.name == "native":
            fg.backward(list(outputs), seeds, **options)
        else:
            self.module.autograd.backward(list(outputs), seeds, **options)

    def like(self, t: Any) -> Any:
        """Ones with a tensor's shape and dtype."""
        return self.tensor(np.ones(t.shape), dtype=t.dtype)


ALL = [Dialect("native", fg), Dialect("paddle", paddle), Dialect("torch", torch)]


def values(t: Any) -> Any:
    """A tensor's numbers as nested lists; None for None."""
    return None if t is None else np.asarray(t).tolist()
