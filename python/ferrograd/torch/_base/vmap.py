"""``torch.vmap``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, overload

from ferrograd import func as transforms
from ferrograd._autograd.modes import P, R
from ferrograd._core import ArgumentError, IndexOutOfRange, ShapeError
from ferrograd._kit import arguments as _arguments, tree as _tree
from ferrograd.func._record import check_function
from ferrograd.func._vmap import shown_batches
from ferrograd.torch._base import transforming
from ferrograd.torch._tensor import Tensor


@overload
def vmap(func: Callable[P, R], in_dims: Any = ..., out_dims: Any = ..., **options: Any) -> Callable[P, R]: ...
@overload
def vmap(func: Any, in_dims: Any = ..., out_dims: Any = ..., **options: Any) -> Any: ...
def vmap(  # type: ignore[misc]
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that applies ``func`` to every example of a batch at once; see :func:`ferrograd.func.vmap`.

    ``in_dims`` and ``out_dims`` are ``in_axes`` and ``out_axes`` there. The entry of an argument that is not a tensor
    must be None. With ``randomness="error"`` random functions raise; ``"same"`` and ``"different"`` draw the same
    numbers for all examples or different ones.

    >>> import ferrograd.torch as torch
    >>> torch.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3)).tolist()
    [3.0, 3.0]
    """
    check_function("vmap", func)
    name = _name(func)
    if randomness not in ("error", "different", "same"):
        raise ArgumentError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size < 1:
        raise ArgumentError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func)
    def checked(*args: Any, **kwargs: Any) -> Any:
        with transforming.other:
            result = func(*args, **kwargs)
        _check_result(name, out_dims, result)
        return result

    over = transforms.vmap(checked, in_dims, out_dims, chunk_size=chunk_size, randomness=randomness)

    @wraps(func)
    def batched(*args: Any, **kwargs: Any) -> Any:
        _check_arguments(func, in_dims, args)
        return over(*args, **kwargs)

    return batched


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", repr(func))


def _check_result(name: str, out_dims: Any, result: Any) -> None:
    """Raises unless the result fits ``out_dims``."""
    one = isinstance(result, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1
    try:
        dims = _tree.spread(out_dims[0] if one else out_dims, result, "")
    except ArgumentError:
        raise ArgumentError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {_tree.shown(out_dims)} but outputs has structure "
            f"{_tree.shown(result)}."
        ) from None
    for y, dim in zip(_tree.leaves(result), dims, strict=True):
        if dim is not None and not isinstance(dim, int):
            raise ArgumentError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of "
                "ints representing where in the outputs the vmapped dimension should appear."
            )
        if dim is None:
            continue
        if not isinstance(y, Tensor):
            raise ArgumentError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(y)}. "
                "Did you mean to set out_dims= to None for output?"
            )
        rank = len(y.shape)
        if not -rank - 1 <= dim <= rank:
            raise IndexOutOfRange(
                f"Dimension out of range (expected to be in range of [{-rank - 1}, {rank}], but got {dim})"
            )


def _check_arguments(func: Callable[..., Any], in_dims: Any, args: tuple[Any, ...]) -> None:
    """Raises unless the arguments fit ``in_dims``."""
    name = _name(func)

    def call() -> str:
        return f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "

    if not isinstance(in_dims, int | tuple):
        raise ArgumentError(
            f"{call()}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ArgumentError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    try:
        dims = _tree.spread(in_dims, args, "")
    except ArgumentError:
        raise ArgumentError(
            f"{call()}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{_tree.shown(in_dims)} but inputs has structure {_tree.shown(args)}."
        ) from None
    sizes: list[int] = []
    values = _tree.leaves(args)
    for x, dim in zip(values, dims, strict=True):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ArgumentError(
                f"{call()}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(x, Tensor):
            raise ArgumentError(
                f"{call()}Got in_dim={dim} for an input but the input is of type {_arguments.kind_of(x, True)}. "
                "We cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        rank = len(x.shape)
        if not -rank <= dim < rank:
            raise IndexOutOfRange(
                f"{call()}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {rank} so "
                f"expected in_dim to satisfy -{rank} <= in_dim < {rank}."
            )
        sizes.append(x.shape[dim])
    if not sizes:
        raise ArgumentError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ShapeError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, "
            f"got sizes {sizes} for the mapped dimension: {', '.join(shown_batches(func, args, values, dims))}"
        )


__all__ = ["vmap"]
