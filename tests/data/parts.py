"""Datasets that tests of both dialects load, in a module so that a process that is not forked finds them."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
from ferrograd.torch.utils.data import Dataset, IterableDataset, get_worker_info


class Numbers(Dataset[Any]):
    """The number i, and a row of it."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        return i, np.full(2, i, np.float32)


class Stream(IterableDataset[int]):
    """The numbers below n, shared by the workers in turn."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Any:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.n, step))

    def __len__(self) -> int:
        return self.n


class At(Dataset[int]):
    """The numbers below 8; something happens at number 3."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __len__(self) -> int:
        return 8

    def __getitem__(self, i: int) -> int:
        if i == 3:
            if self.what == "exit":
                os._exit(7)
            if self.what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.what == "hang":
                threading.Event().wait()
            if self.what == "key":
                raise KeyError("three")
            if self.what == "stop":
                raise StopIteration
            if self.what == "local":

                class Two(Exception):
                    def __init__(self, a: int, b: int) -> None:
                        super().__init__(a, b)

                raise Two(1, 2)
            if self.what == "lambda":
                return lambda: 3  # type: ignore[return-value]
        return i


class TorchDraws(Dataset[Any]):
    """The seed that a worker knows, that of its stream, and a number of the stream."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        from ferrograd import torch

        info = get_worker_info()
        assert info is not None
        return info.seed, torch.initial_seed(), torch.rand(()).item()


class Draws(Dataset[Any]):
    """Random numbers of Python, NumPy and the library, and what the worker knows."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        import random

        import ferrograd as fg

        info = get_worker_info()
        assert info is not None
        assert fg.get_num_threads() == 1
        known = info.id, info.num_workers, type(info.dataset).__name__
        return random.random(), float(np.random.rand()), fg.rand(()).item(), info.seed, known


def begin_fails(number: int) -> None:
    raise OSError(f"worker {number} has no data")


def as_they_are(samples: Any) -> Any:
    return samples
