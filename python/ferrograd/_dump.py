"""The graph of a backward pass written to files."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor


def write(path: str, outputs: Sequence[Tensor]) -> None:
    """Writes ``…backward_graph.dot``, ``…ref_forward_graph.dot`` and ``…call_stack.log`` into the directory ``path``.

    The directory is made if it is not there. Each name starts with the time, so that later calls add files.

    Raises:
        ArgumentError: the path is no string.
        NotADirectoryError: the path is a file.
        OSError: the directory cannot be made.
    """
    if not isinstance(path, str):
        raise ArgumentError(f"path must be string type, not {type(path).__name__}")
    if os.path.exists(path) and not os.path.isdir(path):
        raise NotADirectoryError(f" path:'{path}' must be directory ")
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise OSError(f"Create '{path}' failed : {error}") from error
    stamp = f"{time.strftime('%Y-%m-%d_%H-%M-%S')}_{time.perf_counter_ns()}"
    names = ("backward_graph.dot", "ref_forward_graph.dot", "call_stack.log")
    for name, text in zip(names, _core.dump(list(outputs)), strict=True):
        with open(os.path.join(path, f"{stamp}_{name}"), "w", encoding="utf-8") as file:
            file.write(text)
