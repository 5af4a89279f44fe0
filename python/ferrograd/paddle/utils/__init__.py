"""``paddle.utils``."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from ferrograd._core import ArgumentError, Tensor, paddle as ops
from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd.paddle._functions.predicates import VERSION
from ferrograd.paddle.utils import dlpack, unique_name

__all__ = [
    "assert_same_structure",
    "deprecated",
    "dlpack",
    "flatten",
    "map_structure",
    "pack_sequence_as",
    "require_version",
    "run_check",
    "try_import",
    "unique_name",
]

F = TypeVar("F", bound=Callable[..., Any])


def _parts(nest: Any) -> list[Any] | None:
    """The parts of a list, a tuple or a dict, which is sorted by its keys; None for a leaf."""
    if isinstance(nest, Mapping):
        return [nest[key] for key in sorted(nest)]
    is_leaf = isinstance(nest, str | bytes | Tensor | np.ndarray) or not isinstance(nest, Sequence)
    return None if is_leaf else list(nest)


def flatten(nest: Any) -> list[Any]:
    """The leaves of lists, tuples and dicts, those of a dict in the order of its keys.

    >>> import ferrograd.paddle as paddle
    >>> paddle.utils.flatten({"b": [1, (2, 3)], "a": 4})
    [4, 1, 2, 3]
    """
    parts = _parts(nest)
    return [nest] if parts is None else [leaf for part in parts for leaf in flatten(part)]


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    parts = _parts(structure)
    if parts is None:
        return next(leaves)
    made = [_packed(part, leaves) for part in parts]
    if isinstance(structure, Mapping):
        by_key = dict(zip(sorted(structure), made, strict=True))
        return type(structure)({key: by_key[key] for key in structure})  # type: ignore[call-arg]
    return type(structure)(*made) if hasattr(structure, "_fields") else type(structure)(made)


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any]) -> Any:
    """The structure with its leaves replaced; the inverse of :func:`flatten`.

    Raises:
        ArgumentError: There are not as many leaves.

    >>> import ferrograd.paddle as paddle
    >>> paddle.utils.pack_sequence_as({"b": [0, (0, 0)], "a": 0}, [1, 2, 3, 4])
    {'b': [2, (3, 4)], 'a': 1}
    """
    leaves = len(flatten(structure))
    if leaves != len(flat_sequence):
        raise ArgumentError(f"pack_sequence_as: {len(flat_sequence)} values for a structure of {leaves} leaves")
    return _packed(structure, iter(flat_sequence))


def map_structure(func: Callable[..., Any], *structure: Any) -> Any:
    """The first structure with ``func`` of the leaves of all structures at the same place.

    Raises:
        ArgumentError: There is no structure, or they have different numbers of leaves.

    >>> import ferrograd.paddle as paddle
    >>> paddle.utils.map_structure(lambda a, b: a + b, [1, (2, 3)], [10, (20, 30)])
    [11, (22, 33)]
    """
    if not structure:
        raise ArgumentError("map_structure: give at least one structure")
    leaves = [flatten(one) for one in structure]
    if len({len(one) for one in leaves}) > 1:
        raise ArgumentError(f"map_structure: structures of {[len(one) for one in leaves]} leaves")
    return pack_sequence_as(structure[0], [func(*each) for each in zip(*leaves, strict=True)])


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, skip_if: Any = None) -> None:
    """Raises unless two structures of lists, tuples and dicts differ in their leaves only.

    Raises:
        ValueError: One has other parts than the other one.
        TypeError: Parts at one place have other types, and ``check_types`` is True.

    >>> import ferrograd.paddle as paddle
    >>> paddle.utils.assert_same_structure([1, (2, 3)], [4, (5, 6)])
    """
    if skip_if is not None and skip_if(nest1):
        return
    ours, theirs = _parts(nest1), _parts(nest2)
    if (ours is None) != (theirs is None) or len(ours or ()) != len(theirs or ()):
        raise ValueError(f"The two structures don't have the same nested structure: {nest1!r:.60} and {nest2!r:.60}")
    if ours is None or theirs is None:
        return
    if check_types and type(nest1) is not type(nest2):
        raise TypeError(
            f"The two structures don't have the same sequence type: {type(nest1).__name__} and {type(nest2).__name__}"
        )
    if isinstance(nest1, Mapping) and set(nest1) != set(nest2):
        raise ValueError(f"The two dictionaries don't have the same set of keys: {list(nest1)} and {list(nest2)}")
    for one, other in zip(ours, theirs, strict=True):
        assert_same_structure(one, other, check_types, skip_if)


def try_import(module_name: str, err_msg: str | None = None) -> ModuleType:
    """The module; raises ImportError with ``err_msg`` if it is not installed."""
    if not isinstance(module_name, str) or not module_name:
        raise ArgumentError(f"try_import: module_name must be the name of a module, not {module_name!r:.40}")
    try:
        return import_module(module_name)
    except ImportError:
        raise ImportError(err_msg or f"{module_name} is not installed; try: pip install {module_name}") from None


def _numbers(version: str, function: str) -> list[int]:
    if not isinstance(version, str) or not re.fullmatch(r"\d+(\.\d+){0,3}", version):
        raise ArgumentError(f"{function}: a version is like '2.5.0', not {version!r:.40}")
    found = [int(n) for n in version.split(".")]
    return found + [0] * (4 - len(found))


def require_version(min_version: str, max_version: str | None = None) -> None:
    """Raises ImportError unless the release of Paddle that this dialect follows is between the two."""
    own = _numbers(VERSION.partition("+")[0], "require_version")
    least = _numbers(min_version, "require_version")
    most = own if max_version is None else _numbers(max_version, "require_version")
    if not least <= own <= most:
        wanted = f"{min_version} or higher" if max_version is None else f"{min_version} to {max_version}"
        raise ImportError(f"require_version: Paddle {wanted} is wanted; this dialect follows {VERSION}")


def run_check() -> None:
    """Computes a gradient and says that the library works."""
    x = ops.ones([2, 2])
    x.stop_gradient = False
    ops.sum(ops.matmul(x, x)).backward()
    if x.grad is None or not bool(ops.all(x.grad == 4)):
        raise RuntimeError("run_check: the gradient of a matrix product is wrong")
    print("ferrograd works on 1 CPU, as PaddlePaddle.")


def deprecated(update_to: str = "", since: str = "", reason: str = "", level: int = 0) -> Callable[[F], F]:
    """A decorator: the function warns that it will be taken away, or with ``level=2`` raises RuntimeError."""

    def decorate(function: F) -> F:
        text = f"{function.__module__}.{function.__qualname__} is deprecated"
        text += f" since {since}" if since else ""
        text += f", and will be removed; use {update_to}" if update_to else ""
        text += f". Reason: {reason}" if reason else ""

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if level == 2:
                raise RuntimeError(text)
            warn(text, DeprecationWarning)
            return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]

    return decorate


__dir__ = _public.names(globals())
