"""``torch.Generator``: a stream of random numbers of its own."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError
from ferrograd._core import torch as ops
from ferrograd._dialects.numbers import TORCH
from ferrograd._tensor.device import TorchDevice
from ferrograd.torch._tensor import Tensor

__all__ = [
    "Generator",
    "default_generator",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

#: The seed of a generator that nobody seeded.
_UNSEEDED = 67280421310721
_WORD = 1 << 64
_lock = threading.RLock()


class Generator:
    """A stream of random numbers with a seed and a position of its own.

    Functions that draw random numbers take it as ``generator=``. The same seed gives the same numbers as
    ``manual_seed`` gives without a generator. While a draw from a generator runs, no other thread should draw: the
    streams share the place where the numbers are made.

    >>> import ferrograd.torch as torch
    >>> g = torch.Generator().manual_seed(3)
    >>> first = torch.rand(2, generator=g).tolist()
    >>> torch.rand(2, generator=g.manual_seed(3)).tolist() == first
    True
    """

    def __init__(self, device: Any = "cpu") -> None:
        if str(getattr(device, "type", device)).partition(":")[0] != "cpu":
            raise ArgumentError(f"Generator: the CPU is the only device here, not {device!r:.60}")
        self._seed, self._block = _UNSEEDED, 0

    @property
    def device(self) -> TorchDevice:
        """The device, which is the CPU."""
        return TorchDevice("cpu")

    def manual_seed(self, seed: int) -> Generator:
        """Goes to the beginning of the stream of a seed, an integer from -2**63 to 2**64 - 1; returns the generator."""
        self._place(_checked_seed(seed), 0)
        return self

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self._places()[0]

    def seed(self) -> int:
        """Seeds the stream with a number that the system drew; returns it."""
        found = secrets.randbits(64)
        self.manual_seed(found)
        return found

    def get_state(self) -> Tensor:
        """The state: the bytes of the seed and of the position, 16 numbers of uint8."""
        return _state(*self._places())

    def set_state(self, new_state: Tensor) -> Generator:
        """Goes back to a state that :meth:`get_state` gave."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"Generator.set_state: expected a tensor, but got {type(new_state).__name__}")
        if str(new_state.dtype).rpartition(".")[2] != "uint8" or tuple(new_state.shape) != (16,):
            raise ArgumentError("Generator.set_state: a state is what get_state() gave: 16 numbers of uint8")
        words = np.array(new_state.tolist(), np.uint8).view("<u8")
        self._place(int(words[0]), int(words[1]))
        return self

    def clone_state(self) -> Generator:
        """A generator with the same state that goes on independently."""
        return _restored(*self._places())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._places()

    def _places(self) -> tuple[int, int]:
        return self._seed, self._block

    def _place(self, seed: int, block: int) -> None:
        self._seed, self._block = seed, block


class _Default(Generator):
    """The stream of draws without a generator."""

    def _places(self) -> tuple[int, int]:
        seed, block = ops.get_rng_state().tolist()
        return seed, block

    def _place(self, seed: int, block: int) -> None:
        ops.set_rng_state(_core.make(np.array([seed, block], np.uint64), None, False, TORCH))


#: The stream of draws without a generator.
default_generator = _Default()


def _state(seed: int, block: int) -> Tensor:
    return _core.make(np.array([seed, block], "<u8").view(np.uint8), None, False, TORCH)


def _restored(seed: int, block: int) -> Generator:
    made = Generator()
    made._place(seed, block)
    return made


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise ArgumentError(f"manual_seed expected a long, but got {type(seed).__name__}")
    number = seed.__index__()
    if not -(1 << 63) <= number < _WORD:
        raise ValueError("Overflow when unpacking long long")
    return int(number % _WORD)


def manual_seed(seed: int) -> Generator:
    """Seeds the draws without a generator: the same draws after it give the same numbers, on any number of threads.

    Of a float, such as a time, the whole part is taken.
    """
    if isinstance(seed, float) and not math.isfinite(seed):
        raise ArgumentError(f"manual_seed: a seed is a finite number, not {seed}")
    return default_generator.manual_seed(int(seed))


def get_rng_state() -> Tensor:
    """The state of the draws without a generator, as 16 numbers of uint8.

    >>> import ferrograd.torch as torch
    >>> state = torch.get_rng_state()
    >>> first = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(torch.rand(2), first)
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Goes back to a state that :func:`get_rng_state` gave."""
    default_generator.set_state(new_state)


def initial_seed() -> int:
    """The seed of the draws without a generator."""
    return default_generator.initial_seed()


def seed() -> int:
    """Seeds the draws without a generator with a number that the system drew; returns it."""
    return default_generator.seed()


@contextmanager
def drawing(generator: Any, function: str) -> Iterator[None]:
    """Inside it the core draws from a generator; from the default one for None."""
    if generator is None or isinstance(generator, _Default):
        yield
        return
    if not isinstance(generator, Generator):
        raise TypeError(f"{function}: generator must be a torch.Generator, not {type(generator).__name__}")
    with _lock:
        before = default_generator._places()
        default_generator._place(*generator._places())
        try:
            yield
        finally:
            generator._place(*default_generator._places())
            default_generator._place(*before)
