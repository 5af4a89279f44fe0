"""The processors of this process, and the number of threads that the environment asks for."""

from __future__ import annotations

import os

from ferrograd import _core

#: The environment variables. The first one that is set counts. The second is OpenMP's, which PyTorch and NumPy obey.
VARIABLES = ("FERROGRAD_NUM_THREADS", "OMP_NUM_THREADS")


def processors() -> set[int]:
    """The processors that this process may use."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def asked() -> int | None:
    """The number of threads that the environment asks for; None if it asks for none.

    Raises:
        ValueError: it is no positive number.
    """
    for name in VARIABLES:
        text = os.environ.get(name, "").strip()
        # OpenMP takes a number for each level of threads inside of threads.
        first = text.partition(",")[0] if name == "OMP_NUM_THREADS" else text
        if text and not (first.strip().isdecimal() and int(first) > 0):
            raise ValueError(f"{name} is {text!r}: a positive number of threads is wanted, such as {name}=4")
        if text:
            return int(first)
    return None


def obey_environment() -> None:
    """Sets the number of threads that the environment asks for."""
    number = asked()
    if number is not None:
        _core.set_num_threads(number)
