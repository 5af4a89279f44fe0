"""A function recorded at places of its own, and the derivatives that can be asked of the record."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ferrograd import _core, _tree
from ferrograd._autograd.modes import enable_grad, is_grad_enabled
from ferrograd._core import ArgumentError, DtypeError, ShapeError, Tensor

NATIVE = 0


class _Thread(threading.local):
    inside = False


_thread = _Thread()


def is_inside() -> bool:
    """Whether this thread runs a function that is being differentiated."""
    return _thread.inside


Seeds = Sequence[Tensor | None]


def tensor(value: Any, what: str) -> Tensor:
    """The value as a tensor: a tensor itself, a number or an array."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        return _core.make(value, None, False, NATIVE)
    raise ArgumentError(f"{what}: a tensor, or a structure of tensors, is expected, not {type(value).__name__}")


def real(value: Any, what: str) -> Tensor:
    """The value as a tensor that derivatives can be taken for."""
    x = tensor(value, what)
    if x.dtype.kind != "f":
        raise DtypeError(f"{what}: only Tensors of floating point dtype can require gradients, not {x.dtype}")
    return x


def matching(tree: Any, like: Any, shapes: Sequence[Tensor], what: str) -> list[Tensor]:
    """The tensors of a structure, which must have the structure and the shapes of another one."""
    found = [tensor(t, what) for t in _tree.matched(tree, like, what)]
    for i, (t, x) in enumerate(zip(found, shapes, strict=True)):
        if tuple(t.shape) != tuple(x.shape):
            raise ShapeError(f"{what}: element {i} has shape {tuple(t.shape)}, {tuple(x.shape)} is expected")
    return found


def several(primals: Any, others: Any) -> tuple[tuple[Any, ...], Any]:
    """Arguments and what goes with them as tuples, if they are not: then they are one argument."""
    if isinstance(primals, (tuple, list, Iterator)):
        return tuple(primals), tuple(others) if isinstance(others, (list, Iterator)) else others
    return (primals,), (others,)


def write(x: Tensor, value: Tensor) -> None:
    """What was written to a stand-in, written to the argument: values, and the shape that it has got."""
    old, new = list(x.shape), list(value.shape)
    if [d for d in old if d != 1] == [d for d in new if d != 1]:
        x.copy_(value.reshape(old))
        if old != new:
            _core.overwrite(x, "reshape", True, _core.native.reshape, (new,), {})
    else:
        _core.overwrite(x, "reshape", True, lambda _: value, (), {})


def zeros(like: Tensor, *lanes: int) -> Tensor:
    """Zeros in the shape of a tensor, with axes before it."""
    zero = _core.native.zeros_like(like)
    return zero if not lanes else _core.native.broadcast_to(zero, [*lanes, *like.shape])


def chosen(what: str, args: tuple[Any, ...], argnums: int | Sequence[int]) -> list[int]:
    """The positions that ``argnums`` names."""
    places = []
    for i in argnums if isinstance(argnums, Iterable) else [argnums]:
        if not isinstance(i, int):
            raise ArgumentError(f"{what}: argnums must be an int or ints, got {argnums!r}")
        if not -len(args) <= i < len(args):
            raise ArgumentError(f"{what}: Got argnum={i}, but only {len(args)} positional inputs")
        places.append(i % len(args))
    if not places:
        raise ArgumentError(f"{what}: argnums must be non-empty")
    if len(set(places)) != len(places):
        raise ArgumentError(f"{what}: argnums elements must be unique, got {argnums}")
    return places


class Record:
    """What ``f`` computed, from places of its own for the arguments that it is differentiated for.

    ``wrt`` is the structure of these arguments: one argument for a number ``argnums``, a tuple of them otherwise.
    ``result`` is what ``f`` returned, less the auxiliary part with ``has_aux``. With ``writable``, ``f`` may write to
    these arguments in place, which changes what the caller passed too; otherwise that is refused, as for any leaf. A
    ``lasting`` record is asked later, when recording may be on though it is off here.
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
    ) -> None:
        self.what = what
        places = chosen(what, args, argnums)
        self.wrt = args[places[0]] if isinstance(argnums, int) else tuple(args[i] for i in places)
        # What the arguments are tracked for counts only if recording is on here, whatever it is inside.
        with enable_grad() if lasting else nullcontext():
            self.inside = [_core.fresh(real(x, what)) for x in _tree.leaves(self.wrt)]
        # The function gets tensors of their own, so that what it writes there leaves the places where they are.
        with enable_grad():
            given = [_core.fresh(x) if writable else _core.copy_of(x) for x in self.inside]
        stand_ins = _tree.rebuilt(self.wrt, iter(given))
        inside = list(args)
        for i, part in zip(places, [stand_ins] if isinstance(argnums, int) else stand_ins, strict=True):
            inside[i] = part
        before = _thread.inside
        _thread.inside = True
        try:
            with enable_grad():
                result = f(*inside, **(kwargs or {}))
        finally:
            _thread.inside = before
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
        """Whether anything else than these arguments is recorded, so that derivatives are worth recording."""
        if self._beyond is None:
            others = [t for t in _tree.leaves(self.aux) if isinstance(t, Tensor)]
            self._beyond = _core.leads_beyond(self.outputs + others, self.inside)
        return self._beyond

    def recorded(self, others: Seeds = ()) -> bool:
        """Whether a derivative is to be recorded."""
        return is_grad_enabled() and (self.beyond or any(t is not None and t.requires_grad for t in others))

    def settled(self, tree: Any) -> Any:
        """Results as the caller sees them: tracked only if something of the caller's is."""
        if self.recorded():
            return tree
        return _tree.mapped(lambda t: t.detach() if isinstance(t, Tensor) and t.requires_grad else t, tree)

    @property
    def value(self) -> Any:
        """What the function returned, as the caller sees it."""
        return self.settled(self.result)

    @property
    def with_aux(self) -> Any:
        """The value, in a pair with the auxiliary part."""
        return self.value, self.settled(self.aux)

    def scalar(self) -> Tensor:
        """The one output of one element."""
        if len(self.outputs) != 1 or not isinstance(self.result, Tensor | float | int | np.generic):
            raise ArgumentError(f"{self.what}: the function returns one tensor, not {type(self.result).__name__}")
        (y,) = self.outputs
        if math.prod(y.shape) != 1:
            raise ShapeError(f"{self.what}: the function returns one element, not a tensor of shape {tuple(y.shape)}")
        return y

    def pull(
        self,
        seeds: Seeds,
        outputs: Sequence[Tensor] | None = None,
        *,
        lanes: int | None = None,
        retain: bool = True,
        record: bool | None = None,
    ) -> list[Tensor]:
        """The gradients for the arguments, from a cotangent for each output; with ``lanes`` all have one more axis."""
        record = self.recorded(seeds) if record is None else record
        pairs = zip(self.outputs if outputs is None else outputs, seeds, strict=True)
        found = [(y, g) for y, g in pairs if y.requires_grad and g is not None]
        before = () if lanes is None else (lanes,)
        if not found:
            return [zeros(x, *before) for x in self.inside]
        outs, starts = zip(*found, strict=True)
        return _core.run(
            list(outs),
            self.inside,
            list(starts),
            NATIVE,
            retain_graph=retain or record,
            create_graph=record,
            unused="zeros",
            batched=lanes is not None,
        )

    def reached(self, outputs: Sequence[Tensor]) -> list[bool]:
        """By argument: whether any of some tensors computed from them depends on it."""
        outs = [y for y in outputs if y.requires_grad]
        if not outs:
            return [False] * len(self.inside)
        seeds = [_core.native.ones_like(y) for y in outs]
        found = _core.run(outs, self.inside, seeds, NATIVE, retain_graph=True, unused="none")
        return [g is not None for g in found]

    def gradient(self, record: bool | None = None) -> list[Tensor]:
        """The gradients of the scalar output, and the end of the record unless they are recorded."""
        return self.pull([_core.native.ones_like(self.scalar())], retain=False, record=record)

    def push(self, tangents: Seeds, record: bool | None = None) -> list[Tensor | None]:
        """The tangents of the outputs, None where they are constant, from one for each argument that moves."""
        record = self.recorded(tangents) if record is None else record
        moving = [(x, t) for x, t in zip(self.inside, tangents, strict=True) if t is not None]
        return _core.push(self.outputs, [x for x, _ in moving], [t for _, t in moving], record)

    def pushed(self, tangents: Seeds, record: bool | None = None) -> Any:
        """The tangents in the structure of the result, zeros where it is constant."""
        return self.filled(self.push(tangents, record))

    def filled(self, moved: Seeds) -> Any:
        """What :meth:`push` gave, in the structure of the result, zeros where it is constant."""
        found = zip(moved, self.outputs, strict=True)
        return _tree.rebuilt(self.result, iter([zeros(y) if t is None else t for t, y in found]))

    def as_wrt(self, values: Sequence[Any]) -> Any:
        """One value for each tensor of the arguments, in their structure."""
        return _tree.rebuilt(self.wrt, iter(values))
