"""Random sizes and tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ferrograd import _core, _public
from ferrograd._core import torch as ops
from ferrograd._dialects.numbers import TORCH

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias"]


class ParameterAlias:
    """A value of a distribution that is the value of another parameter."""

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A random number: ``"uniform"`` or ``"loguniform"`` between two bounds, or a value of a dict by its weight."""

    def __init__(
        self, name: str, minval: Any = None, maxval: Any = None, distribution: Any = None, strict: bool = False
    ) -> None:
        if distribution is None or (not isinstance(distribution, dict) and (minval is None or maxval is None)):
            raise ValueError("`distribution` must be specified, and `minval` and `maxval` unless it is a dict.")
        if not isinstance(distribution, dict) and distribution not in ("uniform", "loguniform"):
            raise ValueError(f"Unknown distribution: {distribution}")
        if isinstance(distribution, dict) and not math.isclose(sum(distribution.values()), 1, rel_tol=1e-6):
            raise ValueError("the weights of the values must sum to 1")
        self.name, self.minval, self.maxval, self.strict = name, minval, maxval, strict
        self._distribution = distribution

    def sample(self, state: np.random.RandomState) -> Any:
        """A value."""
        if isinstance(self._distribution, dict):
            values = list(self._distribution)
            return values[int(state.choice(len(values), p=[float(w) for w in self._distribution.values()]))]
        integers = isinstance(self.minval, int) and isinstance(self.maxval, int)
        if self._distribution == "uniform":
            return (
                int(state.randint(self.minval, self.maxval + 1))
                if integers
                else state.uniform(self.minval, self.maxval)
            )
        base = np.exp if not integers else np.exp2
        log = np.log if not integers else np.log2
        found = base(state.uniform(log(self.minval), log(self.maxval)))
        if integers:
            return max(self.minval, min(self.maxval, round(float(found))))
        return float(found)


class FuzzedTensor:
    """A random tensor whose sizes and steps are numbers or names of parameters.

    It is contiguous with the given probability; otherwise its axes lie in memory in another order.
    """

    def __init__(
        self,
        name: str,
        size: tuple[Any, ...],
        steps: tuple[Any, ...] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: Any = "float32",
        cuda: bool = False,
        tensor_constructor: Callable[..., Any] | None = None,
    ) -> None:
        self.name, self._size, self._steps, self._contiguous = name, size, steps, probability_contiguous
        self._min, self._max, self._max_bytes = min_elements, max_elements, max_allocation_bytes
        self._dim, self._dtype, self._make = dim_parameter, np.dtype(dtype), tensor_constructor
        if cuda:
            raise ValueError("FuzzedTensor: there is no GPU")

    def sizes(self, params: dict[str, Any]) -> tuple[list[int], list[int], list[int]]:
        """The sizes, the steps, and the sizes of the memory."""
        count = None if self._dim is None else params[self._dim]
        given: tuple[Any, ...] = self._steps or (1,) * len(self._size)
        size, steps = ([int(params.get(n, n)) for n in one[:count]] for one in (self._size, given))
        return size, steps, [n * step for n, step in zip(size, steps, strict=True)]

    def fits(self, params: dict[str, Any]) -> bool:
        """Whether the number of elements and the memory are within the bounds."""
        size, _, memory = self.sizes(params)
        if (self._min is not None and math.prod(size) < self._min) or (
            self._max is not None and math.prod(size) > self._max
        ):
            return False
        return self._max_bytes is None or math.prod(memory) * self._dtype.itemsize <= self._max_bytes

    def make(self, params: dict[str, Any], state: np.random.RandomState) -> tuple[Any, dict[str, Any]]:
        """The tensor, and facts about it."""
        size, steps, memory = self.sizes(params)
        order = np.arange(len(size))
        if len(size) > 1 and state.rand() >= self._contiguous:
            while (order == np.arange(len(size))).all():
                order = state.permutation(order)
        shape = [memory[i] for i in order]
        if self._make is not None:
            raw = self._make(size=shape, dtype=self._dtype, **params)
        elif self._dtype.kind == "f":
            raw = _core.make(state.random_sample(shape).astype(self._dtype), None, False, TORCH)
        elif self._dtype.kind == "b":
            raw = _core.make(state.rand(*shape) > 0.5, None, False, TORCH)
        else:
            raw = _core.make(state.randint(0, 127, size=shape).astype(self._dtype), None, False, TORCH)
        found = ops.permute(raw, [int(i) for i in np.argsort(order)])[tuple(slice(None, None, step) for step in steps)]
        return found, {
            "numel": int(found.numel()),
            "order": order,
            "steps": tuple(steps),
            "is_contiguous": bool(found.is_contiguous()),
            "dtype": str(found.dtype),
        }


class Fuzzer:
    """Draws parameters and tensors until the tensors fit their bounds and all ``constraints`` hold.

    >>> from ferrograd.torch.utils.benchmark import FuzzedParameter, FuzzedTensor, Fuzzer
    >>> n = FuzzedParameter("n", 4, 8, distribution="uniform")
    >>> fuzzer = Fuzzer([n], [FuzzedTensor("x", size=("n", 2))], seed=0)
    >>> [tensors["x"].shape[1] for tensors, facts, params in fuzzer.take(3)]
    [2, 2, 2]
    """

    def __init__(
        self,
        parameters: list[Any],
        tensors: list[Any],
        constraints: list[Callable[..., bool]] | None = None,
        seed: int | None = None,
    ) -> None:
        self._parameters = _flat(parameters, FuzzedParameter)
        self._tensors = _flat(tensors, FuzzedTensor)
        self._constraints = constraints or []
        names = [one.name for one in (*self._parameters, *self._tensors)]
        if len(set(names)) < len(names):
            raise ValueError("Duplicate names are not allowed.")
        self._seed = int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64)) if seed is None else seed
        self._taken = self._rejected = 0

    @property
    def rejection_rate(self) -> float:
        """The share of draws that did not fit."""
        drawn = self._taken + self._rejected
        return self._rejected / drawn if drawn else 0.0

    def take(self, n: int) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
        """``n`` draws: the tensors, facts about them, and the parameters."""
        state = np.random.RandomState(self._seed)
        for _ in range(n):
            params = self._params(state)
            made = {one.name: one.make(params, state) for one in self._tensors}
            yield {name: t for name, (t, _) in made.items()}, {name: facts for name, (_, facts) in made.items()}, params

    def _params(self, state: np.random.RandomState) -> dict[str, Any]:
        for _ in range(1000):
            params = {one.name: one.sample(state) for one in self._parameters}
            for name, value in params.items():
                while isinstance(value, ParameterAlias):
                    value = params[value.alias_to]
                params[name] = value
            if all(one.fits(params) for one in self._tensors) and all(f(**params) for f in self._constraints):
                self._taken += 1
                return params
            self._rejected += 1
        raise ValueError("Fuzzer: none of 1000 draws fits the bounds of the tensors and the constraints")


def _flat(values: list[Any], kind: type) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found += [value] if isinstance(value, kind) else list(value)
    return found


__dir__ = _public.names(globals())
