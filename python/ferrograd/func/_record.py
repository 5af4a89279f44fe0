"""A function recorded at fresh leaves, and the derivatives computed from that graph: the base of all transforms."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Concatenate, TypeVar

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import is_grad_enabled
from ferrograd._core import ArgumentError, DtypeError, ShapeError, Tensor
from ferrograd._kit import arguments as _arguments, tree as _tree
from ferrograd._kit.dialect import NATIVE


class _Thread(threading.local):
    inside = False


_thread = _Thread()


def is_inside() -> bool:
    """Whether this thread is inside a function that a transform differentiates."""
    return _thread.inside


Seeds = Sequence[Tensor | None]
_NO_SCOPE: AbstractContextManager[Any] = nullcontext()


def tensor(value: Any, what: str) -> Tensor:
    """A tensor, number or array as a tensor."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        return _core.make(value, None, False, NATIVE)
    raise ArgumentError(f"{what}: a tensor, or a structure of tensors, is expected, not {_arguments.kind_of(value)}")


def real(value: Any, what: str) -> Tensor:
    """The value as a tensor of floats or complex numbers; raises ``DtypeError`` otherwise."""
    x = tensor(value, what)
    if x.dtype.kind not in "fc":
        raise DtypeError(
            f"{what}: only Tensors of floating point and complex dtype can require gradients, not {x.dtype}: write "
            "the numbers with a point (1.0), or give dtype='float32'"
        )
    return x


def matching(tree: Any, like: Any, shapes: Sequence[Tensor], what: str) -> list[Tensor]:
    """The tensors of ``tree``, which must have the structure of ``like`` and these shapes."""
    found = [tensor(t, what) for t in _tree.matched(tree, like, what)]
    for i, (t, x) in enumerate(zip(found, shapes, strict=True)):
        if tuple(t.shape) != tuple(x.shape):
            raise ShapeError(f"{what}: element {i} has shape {tuple(t.shape)}, {tuple(x.shape)} is expected")
    return found


def several(primals: Any, others: Any) -> tuple[tuple[Any, ...], Any]:
    """Primals and their tangents or cotangents as tuples. A value that is not a sequence is a single argument."""
    if isinstance(primals, (tuple, list, Iterator)):
        return tuple(primals), tuple(others) if isinstance(others, (list, Iterator)) else others
    return (primals,), (others,)


def write(x: Tensor, value: Tensor) -> None:
    """Writes to an argument what the function wrote to its stand-in: the values, and the shape if it changed."""
    old, new = list(x.shape), list(value.shape)
    if [d for d in old if d != 1] == [d for d in new if d != 1]:
        x.copy_(value.reshape(old))
        if old != new:
            _core.overwrite(x, "reshape", True, _core.native.reshape, (new,), {})
    else:
        _core.overwrite(x, "reshape", True, lambda _: value, (), {})


def zeros(like: Tensor, *batch: int) -> Tensor:
    """Zeros in the shape of a tensor, with a leading axis for each of ``batch``."""
    zero = _core.native.zeros_like(like)
    return zero if not batch else _core.native.broadcast_to(zero, [*batch, *like.shape])


def check_function(what: str, f: Any) -> None:
    """Raises unless ``f`` can be called, as what a function has returned cannot."""
    if not callable(f):
        raise ArgumentError(f"{what}: a function is wanted, not {type(f).__name__}: pass f itself, not f(x)")


def chosen(what: str, args: tuple[Any, ...], argnums: int | Sequence[int]) -> list[int]:
    """The positions of the arguments that ``argnums`` selects, not negative."""
    places = []
    for i in argnums if not isinstance(argnums, int) and isinstance(argnums, Iterable) else [argnums]:
        if not isinstance(i, int):
            raise ArgumentError(f"{what}: argnums must be int or ints, got {argnums!r}")
        if not -len(args) <= i < len(args):
            raise ArgumentError(f"{what}: Got argnum={i}, but only {len(args)} positional inputs")
        places.append(i % len(args))
    if not args:
        raise ArgumentError(f"{what}: there is nothing to differentiate by, because the function is given no argument")
    if not places:
        raise ArgumentError(f"{what}: argnums must be non-empty")
    if len(set(places)) != len(places):
        raise ArgumentError(f"{what}: argnums elements must be unique, got {argnums}")
    return places


def _others(args: tuple[Any, ...], kwargs: dict[str, Any] | None, places: list[int]) -> list[Tensor]:
    """The tensors in the arguments that are not at these places."""
    if len(args) == len(places) and not kwargs:
        return []
    others = [x for i, x in enumerate(args) if i not in places]
    return [x for x in _tree.leaves((others, kwargs)) if isinstance(x, Tensor)]


#: A function whose result and first argument are tensors.
FT = TypeVar("FT", bound=Callable[Concatenate[Tensor, ...], Tensor])


class Record:
    """The graph of one call of ``f``, recorded at fresh leaves (``inside``) for the differentiated arguments.

    * ``wrt``: the differentiated arguments; one argument if ``argnums`` is a number, else a tuple.
    * ``result``: what ``f`` returned, without the auxiliary value; ``outputs``: its tensors.
    * ``writable``: ``f`` may write to these arguments in place, and the caller's tensors change too. Otherwise such a
      write is refused, as for any leaf.
    * ``lasting``: the derivatives are computed later, when recording may be on although it is off now.
    * ``scope``: makes the context in which ``f`` runs, from the tensors in its other arguments.
    """

    def __init__(
        self,
        what: str,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
        writable: bool = False,
        lasting: bool = False,
        scope: Callable[[list[Tensor]], AbstractContextManager[Any]] | None = None,
    ) -> None:
        __tracebackhide__ = True
        self.what = what
        check_function(what, f)
        places = chosen(what, args, argnums)
        self.wrt = args[places[0]] if isinstance(argnums, int) else tuple(args[i] for i in places)
        before, mode = _thread.inside, _core.is_grad_enabled()
        try:
            # The arguments' own history counts only if recording is on here, whatever the mode is inside.
            _core.set_grad_mode(mode or lasting)
            self.inside = [_core.fresh(real(x, what)) for x in _tree.leaves(self.wrt)]
            # The function gets copies of the leaves, so that writing to them does not move the leaves.
            _core.set_grad_mode(True)
            with scope(_others(args, kwargs, places)) if scope else _NO_SCOPE:
                given = [_core.fresh(x) if writable else _core.copy_of(x) for x in self.inside]
                stand_ins = _tree.rebuilt(self.wrt, iter(given))
                inside = list(args)
                for i, part in zip(places, [stand_ins] if isinstance(argnums, int) else stand_ins, strict=True):
                    inside[i] = part
                _thread.inside = True
                with _core.Differentiating(self.inside, what):
                    result = f(*inside, **(kwargs or {}))
        finally:
            _thread.inside = before
            _core.set_grad_mode(mode)
        self.aux = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise ArgumentError(f"{what}: with has_aux the function returns a pair of its output and something")
            result, self.aux = result
        self.result = result
        self.outputs = [tensor(y, f"{what}: the result of the function") for y in _tree.leaves(result)]
        self._beyond: bool | None = None
        for x, new in zip(_tree.leaves(self.wrt), given, strict=True):
            if new.inplace_version and isinstance(x, Tensor):
                write(x, self.settled(new))

    @property
    def beyond(self) -> bool:
        """Whether the outputs depend on other tracked tensors too, so that derivatives must be recorded."""
        if self._beyond is None:
            others = [t for t in _tree.leaves(self.aux) if isinstance(t, Tensor)]
            self._beyond = _core.reaches_other_leaves(self.outputs + others, self.inside)
        return self._beyond

    def recorded(self, others: Seeds = ()) -> bool:
        """Whether a derivative with these seeds must be recorded."""
        return is_grad_enabled() and (self.beyond or any(t is not None and t.requires_grad for t in others))

    def settled(self, tree: Any) -> Any:
        """Results for the caller: detached unless derivatives must be recorded."""
        if self.recorded():
            return tree
        return _tree.mapped(lambda t: t.detach() if isinstance(t, Tensor) and t.requires_grad else t, tree)

    @property
    def value(self) -> Any:
        """The result of the function for the caller."""
        return self.settled(self.result)

    @property
    def with_aux(self) -> Any:
        """The pair of value and auxiliary value for the caller."""
        return self.value, self.settled(self.aux)

    def scalar(self) -> Tensor:
        """The output; raises unless it is a single tensor of one element."""
        if len(self.outputs) != 1 or not isinstance(self.result, Tensor | float | int | np.generic):
            raise ArgumentError(f"{self.what}: the function returns one tensor, not {type(self.result).__name__}")
        (y,) = self.outputs
        if math.prod(y.shape) != 1:
            raise ShapeError(
                f"{self.what}: the function returns one element, not a tensor of shape {tuple(y.shape)}: return its "
                "sum(), or use jacobian for the derivatives of all elements"
            )
        if y.dtype.kind == "c":
            raise ArgumentError(
                f"{self.what}: the function returns a real number, not one of {y.dtype}: differentiate its real part, "
                "its imaginary part or its absolute value, or use vjp with a cotangent"
            )
        return y

    def check_rows(self) -> None:
        """Raises for complex outputs of real arguments: a gradient of one would be the real part of a row."""
        numbers = [y.dtype for y in self.outputs if y.dtype.kind == "c"]
        if numbers and any(x.dtype.kind == "f" for x in self.inside):
            raise ArgumentError(
                f"{self.what}: an output is of {numbers[0]} and an argument is real, and reverse mode would lose the "
                "imaginary part of the derivative: use jacfwd, or differentiate the real and the imaginary part"
            )

    def pull(
        self,
        seeds: Seeds,
        outputs: Sequence[Tensor] | None = None,
        *,
        batch_size: int | None = None,
        retain: bool = True,
        record: bool | None = None,
    ) -> list[Tensor]:
        """The gradients of the arguments from a cotangent for each output.

        With ``batch_size`` the cotangents and the gradients have a leading batch axis of that size.
        """
        record = self.recorded(seeds) if record is None else record
        pairs = zip(self.outputs if outputs is None else outputs, seeds, strict=True)
        found = [(y, g) for y, g in pairs if y.requires_grad and g is not None]
        batch = () if batch_size is None else (batch_size,)
        if not found:
            return [zeros(x, *batch) for x in self.inside]
        outs, starts = zip(*found, strict=True)
        slopes = _core.grad(
            list(outs),
            self.inside,
            list(starts),
            NATIVE,
            retain_graph=retain or record,
            create_graph=record,
            unused="zeros",
            batched=batch_size is not None,
            # The walk ends at the arguments: the graph that they were computed from may be long.
            stops=True,
        )
        # A recorded gradient that depends on nothing is a leaf, which is no result of a function.
        is_constant = record and not any(g.requires_grad for g in starts)
        return [g.detach() if g.is_leaf else g for g in slopes] if is_constant else slopes

    def reached(self, outputs: Sequence[Tensor]) -> list[bool]:
        """For each argument, whether any of ``outputs`` depends on it."""
        outs = [y for y in outputs if y.requires_grad]
        if not outs:
            return [False] * len(self.inside)
        seeds = [_core.native.ones_like(y) for y in outs]
        found = _core.grad(outs, self.inside, seeds, NATIVE, retain_graph=True, unused="none", stops=True)
        return [g is not None for g in found]

    def gradient(self, record: bool | None = None) -> list[Tensor]:
        """The gradients of the scalar output. It frees the graph unless the gradients are recorded."""
        return self.pull([_core.native.ones_like(self.scalar())], retain=False, record=record)

    def push(self, tangents: Seeds, record: bool | None = None) -> list[Tensor | None]:
        """The tangents of the outputs from those of the arguments; None stands for zero in both."""
        record = self.recorded(tangents) if record is None else record
        moving = [(x, t) for x, t in zip(self.inside, tangents, strict=True) if t is not None]
        return _core.push(self.outputs, [x for x, _ in moving], [t for _, t in moving], record)

    def pushed(self, tangents: Seeds, record: bool | None = None) -> Any:
        """The tangents of the outputs in the structure of the result, with zeros for None."""
        return self.filled(self.push(tangents, record))

    def filled(self, moved: Seeds) -> Any:
        """Tangents from :meth:`push` in the structure of the result, with zeros for None."""
        found = zip(moved, self.outputs, strict=True)
        return _tree.rebuilt(self.result, iter([zeros(y) if t is None else t for t, y in found]))

    def as_wrt(self, values: Sequence[Any]) -> Any:
        """One value for each tensor of the differentiated arguments, in their structure."""
        return _tree.rebuilt(self.wrt, iter(values))
