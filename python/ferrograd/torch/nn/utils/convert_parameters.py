"""Parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd._kit.arguments import tensor
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters as one vector.

    >>> import ferrograd.torch as torch
    >>> torch.nn.utils.parameters_to_vector([torch.ones(2, 1), torch.zeros(1)]).tolist()
    [1.0, 1.0, 0.0]
    """
    return ops.concat([ops.reshape(p, [-1]) for p in parameters], 0)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Any]) -> None:
    """Gives the parameters the values in a vector. Nothing is recorded."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    many = [tensor(p, "vector_to_parameters", "each parameter") for p in parameters]
    sizes = [int(p.numel()) for p in many]
    if vec.ndim != 1 or vec.shape[0] < sum(sizes):
        raise ArgumentError(
            f"vector_to_parameters: {sum(sizes)} elements are needed for the parameters, the vector has "
            f"{list(vec.shape)}"
        )
    values = vec.detach()
    for p, part in zip(many, ops.split_sizes(values[: sum(sizes)], sizes, 0), strict=True):
        p.data = ops.reshape(part, list(p.shape))


__dir__ = _public.names(globals())
