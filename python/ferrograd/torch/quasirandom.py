"""``torch.quasirandom``: points that fill a cube evenly, drawn by SciPy."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.dialect import TORCH
from ferrograd.torch._tensor import Tensor

__all__ = ["SobolEngine"]


class SobolEngine:
    """The Sobol sequence of points in the unit cube, with the numbers of PyTorch unless it is scrambled.

    It needs SciPy. ``seed`` decides how ``scramble`` shifts the points.

    >>> import ferrograd.torch as torch
    >>> torch.quasirandom.SobolEngine(2).draw(3).tolist()
    [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25]]
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= _arguments.integer(dimension, "SobolEngine", "dimension") <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        try:
            qmc = import_module("scipy.stats.qmc")
        except ImportError as error:
            raise ImportError("SobolEngine draws with SciPy; install it with: pip install scipy") from error
        if scramble and seed is None:
            seed = int(_core.torch.randint(0, 2**31 - 1, []).item())
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self._engine: Any = qmc.Sobol(dimension, scramble=scramble, bits=self.MAXBIT, seed=seed)

    @property
    def num_generated(self) -> int:
        """The number of points so far."""
        return int(self._engine.num_generated)

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Tensor:
        """The next ``n`` points: [n, dimension], by default of the default dtype; written to ``out`` if that is given.

        >>> import ferrograd.torch as torch
        >>> engine = torch.quasirandom.SobolEngine(3, scramble=True, seed=1)
        >>> engine.draw(4).shape, engine.num_generated
        (torch.Size([4, 3]), 4)
        """
        if n < 0:
            raise ArgumentError(f"SobolEngine.draw: the number of points must not be negative, got {n}")
        with warnings.catch_warnings():
            # SciPy warns of numbers that are no power of two.
            warnings.simplefilter("ignore", UserWarning)
            points = self._engine.random(n) if n else np.empty((0, self.dimension))
        found: Any = _core.make(points, _core.torch.get_default_dtype() if dtype is None else dtype, False, TORCH)
        if out is None:
            return found
        return out.resize_as_(found).copy_(found)

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Tensor:
        """The next ``2**m`` points, if their number in total stays a power of two.

        >>> import ferrograd.torch as torch
        >>> torch.quasirandom.SobolEngine(1).draw_base2(2).flatten().tolist()
        [0.0, 0.5, 0.75, 0.25]
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}="
                f"{total}. If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Goes back to the first point; returns the engine.

        >>> import ferrograd.torch as torch
        >>> engine = torch.quasirandom.SobolEngine(1)
        >>> engine.draw(3).shape, engine.reset().num_generated
        (torch.Size([3, 1]), 0)
        """
        self._engine.reset()
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves ``n`` points out; returns the engine.

        >>> import ferrograd.torch as torch
        >>> torch.quasirandom.SobolEngine(1).fast_forward(2).draw().item()
        0.75
        """
        self._engine.fast_forward(n)
        return self

    def __repr__(self) -> str:
        scrambled = f", scramble=True, seed={self.seed}" if self.scramble else ""
        return f"SobolEngine(dimension={self.dimension}{scrambled})"


__dir__ = _public.names(globals())
