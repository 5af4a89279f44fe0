"""``torch.Generator``: a stream of random numbers of its own."""

from __future__ import annotations

import math
import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ferrograd._core import ArgumentError, native
from ferrograd._core.torch import mersenne
from ferrograd._kit.forks import Lock
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
#: The size of a state in bytes.
_STATE = 5056
_lock = Lock()


class Generator:
    """A stream of random numbers of its own: that of PyTorch's CPU, a Mersenne Twister.

    Functions that draw random numbers take it as ``generator=``. A seed gives the numbers that it gives in PyTorch, and
    that ``manual_seed`` gives without a generator. While a draw from a generator runs, no other thread should draw: the
    streams share the place where the numbers are made.

    >>> import ferrograd.torch as torch
    >>> g = torch.Generator().manual_seed(3)
    >>> torch.rand(2, generator=g)
    tensor([0.0043, 0.1056])
    """

    def __init__(self, device: Any = "cpu") -> None:
        if str(getattr(device, "type", device)).partition(":")[0] != "cpu":
            raise ArgumentError(f"Generator: the CPU is the only device here, not {device!r:.60}")
        #: The state, or the seed of a generator that nobody drew from yet.
        self._now: Tensor | int = _UNSEEDED

    @property
    def device(self) -> TorchDevice:
        """The device, which is the CPU."""
        return TorchDevice("cpu")

    def manual_seed(self, seed: int) -> Generator:
        """Goes to the beginning of the stream of a seed, an integer from -2**63 to 2**64 - 1; returns the generator."""
        self._now = _checked_seed(seed)
        return self

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return int(np.asarray(self.get_state()[:8]).view("<u8")[0])

    def seed(self) -> int:
        """Seeds the stream with a number that the system drew; returns it."""
        found = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(found)
        return found

    def get_state(self) -> Tensor:
        """The state, as PyTorch writes it: 5056 numbers of uint8."""
        return self._state().clone()

    def _state(self) -> Tensor:
        if isinstance(self._now, int):
            with _lock:
                before = mersenne.state()
                _seed(self._now)
                self._now = mersenne.exchange(before)
        return self._now

    def set_state(self, new_state: Tensor) -> Generator:
        """Goes to a state that :meth:`get_state` gave, here or in PyTorch."""
        state = _checked_state(new_state)
        with _lock:
            # The core refuses what is no state.
            self._now = mersenne.exchange(mersenne.exchange(state))
        return self

    def clone_state(self) -> Generator:
        """A generator with the same state that goes on independently."""
        return _restored(self.get_state())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.get_state(),)


class _Default(Generator):
    """The stream of draws without a generator."""

    def manual_seed(self, seed: int) -> Generator:
        number = _checked_seed(seed)
        _seed(number)
        # What is drawn by functions that know no dialect follows the seed too.
        native.manual_seed(_signed(number))
        return self

    def get_state(self) -> Tensor:
        return mersenne.state()

    def set_state(self, new_state: Tensor) -> Generator:
        mersenne.exchange(_checked_state(new_state))
        return self


#: The stream of draws without a generator.
default_generator = _Default()


def _signed(seed: int) -> int:
    return seed - _WORD if seed >= _WORD // 2 else seed


def _seed(seed: int) -> None:
    mersenne.seed(_signed(seed))


def _checked_state(state: Any) -> Tensor:
    if not isinstance(state, Tensor):
        raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
    if str(state.dtype).rpartition(".")[2] != "uint8" or tuple(state.shape) != (_STATE,):
        raise ArgumentError(f"RNG state is wrong size: a state is what get_state() gave, {_STATE} numbers of uint8")
    return state.detach().clone()


def _restored(state: Tensor) -> Generator:
    return Generator().set_state(state)


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
    """The state of the draws without a generator, as PyTorch writes it: 5056 numbers of uint8.

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


class _Drawing:
    """A context in which the core draws from a generator."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator

    def __enter__(self) -> None:
        _lock.acquire()
        try:
            self.before = mersenne.exchange(self.generator._state())
        except BaseException:
            _lock.release()
            raise

    def __exit__(self, *exc_info: object) -> None:
        try:
            self.generator._now = mersenne.exchange(self.before)
        finally:
            _lock.release()


_DEFAULT = nullcontext()


def drawing(generator: Any, function: str) -> AbstractContextManager[None]:
    """A context in which the core draws from a generator. None is the default one."""
    if generator is None or isinstance(generator, _Default):
        return _DEFAULT
    if not isinstance(generator, Generator):
        raise TypeError(f"{function}: generator must be a torch.Generator, not {type(generator).__name__}")
    return _Drawing(generator)
