"""Where the names are that a module of the package lacks."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from ferrograd._numpy import table
from ferrograd._numpy.functions import SPECIAL

# Where names are, below ``ferrograd``, by library. A name is looked for in this order.
_PLACES = {
    "": ("", "func", "linalg", "fft", "optim", "testing", "distributed"),
    "torch": (
        "torch",
        "torch.autograd",
        "torch.nn",
        "torch.optim",
        "torch.nn.functional",
        "torch.linalg",
        "torch.fft",
        "torch.special",
        "torch.utils.data",
        "torch.distributions",
    ),
    "paddle": (
        "paddle",
        "paddle.nn",
        "paddle.optimizer",
        "paddle.autograd",
        "paddle.nn.functional",
        "paddle.linalg",
        "paddle.fft",
        "paddle.io",
        "paddle.distribution",
    ),
}


def found(module: str, name: str) -> list[str]:
    """Where a name is: in the library of the module, or else in the others."""

    def within(library: str) -> list[str]:
        paths = [f"ferrograd.{place}".rstrip(".") for place in _PLACES[library]]
        return [f"{path}.{name}" for path in paths if name in import_module(path).__all__]

    own = module.split(".")[1:2]
    if own:
        return within(own[0])[:1] or within("")[:1]
    # Two native places may have a function of one name: one of a function, say, and one of a matrix.
    places = within("") or _of_numpy(name) or within("torch")[:1] + within("paddle")[:1]
    function = getattr(np, name, None)
    if places or isinstance(function, type) or not callable(function):
        return places
    return [f"numpy.{name}(x.detach()), without a gradient"]


def _of_numpy(name: str) -> list[str]:
    """What has the meaning that the name has in NumPy: a function here, or NumPy's own, which knows tensors."""
    if name in table.RENAMED:
        return [f"ferrograd.{table.RENAMED[name]}"]
    function = getattr(np, name, None)
    if callable(function) and (name in table.FUNCTIONS or name in table.NO_DERIVATIVE or function in SPECIAL):
        return [f"numpy.{name}, which takes tensors"]
    return []
