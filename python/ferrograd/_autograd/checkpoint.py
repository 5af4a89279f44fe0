"""Gradient checkpointing: a call saves its arguments only and runs again when a gradient needs its inner values."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad
from ferrograd._autograd.nested import collect_tensors, replace_tensors
from ferrograd._autograd.saved_tensors import saved_tensors_hooks
from ferrograd._core import ArgumentError, FerrogradError, Tensor

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "set_option"]

T = TypeVar("T")


class CheckpointError(FerrogradError, RuntimeError):
    """The recomputation of a checkpoint did not match its first run.

    >>> sizes = iter([2, 3])
    >>> x = fg.tensor(1.0, requires_grad=True)
    >>> y = fg.checkpoint(lambda x: fg.sum(fg.sin(x * fg.ones(next(sizes)))), x)
    >>> try:
    ...     fg.backward(y)
    ... except fg.CheckpointError as e:
    ...     print("the second run differs")
    the second run differs
    """

    __module__ = "ferrograd"


class _Settings(threading.local):
    """Options that a context sets for all calls of this thread; None leaves them to the calls."""

    early_stop: bool | None = None
    debug: bool | None = None


_settings = _Settings()


@contextlib.contextmanager
def set_option(name: str, value: bool | None) -> Iterator[None]:
    """A context in which ``early_stop`` or ``debug`` of all checkpoints of this thread has this value."""
    before = getattr(_settings, name)
    setattr(_settings, name, value)
    try:
        yield
    finally:
        setattr(_settings, name, before)


class _Complete(Exception):
    """Ends the second run of a call, all of whose arrays are there."""

    def __init__(self, call: _Call) -> None:
        super().__init__("a checkpoint has recomputed what it needs")
        self.call = call


class _Placeholder:
    """Stands for an array that was not saved. Holds the recomputed array until the rule reads it."""

    __slots__ = ("__weakref__", "value")

    def __init__(self) -> None:
        self.value: Tensor | None = None


class _Call:
    """One checkpointed call. Its inner arrays are recomputed when a rule reads them."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any, options: dict[str, Any]) -> None:
        found: list[Tensor] = []
        self._positions = collect_tensors([args, kwargs], found, True)
        # Saved like the inputs of a node, so an outer checkpoint packs them too.
        self._tensors = [_core.SavedTensor(x) for x in found]
        empty: Any = [None] * len(found)
        self._args, self._kwargs = replace_tensors((args, kwargs), self._positions, empty)
        self._function = function
        self._scope = _core.scope()
        self._check = options["determinism_check"] != "none"
        self._early_stop, self._debug = options["early_stop"], options["debug"]
        self._context = options["recompute_context"]
        self._random = _core.native.mersenne.streams() if options["preserve_rng_state"] else None
        self._autocast = _core.autocast_dtype()
        self._takers = _core.takers()
        # For each saved array in order: its placeholder while a node holds it, and its shape and dtype.
        self._places: list[weakref.ref[_Placeholder]] = []
        self._kinds: list[tuple[Any, Any]] = []
        #: What the first context notes of the arrays that are saved, and the list of it.
        self._note: Callable[[Tensor], Any] | None = None
        self._noted: list[Any] = []
        #: The hook of the second run, while it runs, and the kinds of what it has found.
        self._keep: Callable[[Tensor], Tensor] | None = None
        self._found: list[tuple[Any, Any]] = []
        self.ended = False

    def pack(self, x: Tensor) -> _Placeholder:
        """The hook that replaces an array by a placeholder."""
        if self._note is not None:
            self._noted.append(self._note(x))
        place = _Placeholder()
        self._places.append(weakref.ref(place))
        self._kinds.append((tuple(x.shape), x.dtype))
        return place

    def unpack(self, place: _Placeholder) -> Tensor:
        """The array of a placeholder, which is empty afterwards; runs the call again if it was empty."""
        if place.value is None:
            self._again()
        value, place.value = place.value, None
        if value is None:
            raise CheckpointError("checkpoint: what was kept the first time was not kept when the call was made again")
        return value

    @property
    def saved(self) -> int:
        """How many arrays the first run has saved."""
        return len(self._places)

    @property
    def recomputed(self) -> int:
        """How many arrays the second run has found."""
        return len(self._found)

    @contextlib.contextmanager
    def noting(self, note: Callable[[Tensor], Any]) -> Iterator[list[Any]]:
        """A context in which the first run lists what ``note`` says of each array that is saved."""
        self._note, self._noted = note, []
        try:
            yield self._noted
        finally:
            self._note = None

    def ends_with(self, count: int) -> bool:
        """Whether the second run ends as soon as it has found so many more arrays."""
        return self._early_stop and self.ended and len(self._found) + count == len(self._places)

    def supply(self, values: Iterable[Tensor]) -> None:
        """Gives the second run arrays that it does not compute."""
        if self._keep is not None:
            for x in values:
                self._keep(x.detach())

    def _again(self) -> None:
        """Runs the call again and fills the placeholders that nodes still hold."""
        found: list[tuple[Any, Any]] = []
        before_keep = self._keep, self._found

        def keep(x: Tensor) -> Tensor:
            at, kind = len(found), (tuple(x.shape), x.dtype)
            found.append(kind)
            if at < len(self._places):
                if self._check and kind != self._kinds[at]:
                    raise self._differs(
                        "Recomputed values for the following tensors have different metadata than during the forward "
                        f"pass: tensor {at} was {self._kinds[at]}, recomputed {kind}",
                        found,
                    )
                place = self._places[at]()
                if place is not None:
                    place.value = x
            # A gradient computed inside the call recomputes it before its first run has ended.
            if self._early_stop and self.ended and len(found) == len(self._places):
                raise _Complete(self)
            return x

        args, kwargs = replace_tensors((self._args, self._kwargs), self._positions, [x.get() for x in self._tensors])
        before = _core.native.mersenne.streams()
        if self._random is not None:
            _core.native.mersenne.set_streams(self._random)
        outside = _core.set_autocast(self._autocast)
        self._keep, self._found = keep, found
        try:
            with enable_grad(), self._takers, saved_tensors_hooks(keep, lambda x: x), self._context:
                _core.call_in_scope(self._scope, self._function, args, kwargs)
        except _Complete as done:
            if done.call is not self:
                raise
        finally:
            self._keep, self._found = before_keep
            _core.set_autocast(outside)
            if self._random is not None:
                _core.native.mersenne.set_streams(before)
        if self._check and self.ended and len(found) != len(self._places):
            more = ". It is trying to save more tensors during recomputation" if len(found) > len(self._places) else ""
            raise self._differs(
                "A different number of tensors was saved during the original forward and recomputation: "
                f"{len(self._places)} and {len(found)}{more}",
                found,
            )

    def _differs(self, how: str, found: list[tuple[Any, Any]]) -> CheckpointError:
        """The error that the two runs differ. ``found`` are the shapes and dtypes of what the second has saved."""
        if not self._debug:
            return CheckpointError(f"checkpoint: {how}")
        runs = "\n".join(
            f"{run} run saved:\n" + "\n".join(f"    {i}: {shape} {dtype}" for i, (shape, dtype) in enumerate(kinds))
            for run, kinds in (("The first", self._kinds), ("The second", found))
        )
        return CheckpointError(
            f"checkpoint: {how}\n\nYou are seeing this error because you passed `debug=True` to checkpoint, which "
            f"lists the tensors that both runs saved until they differ.\n{runs}"
        )


def checkpoint(
    function: Callable[..., T],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = False,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> T:
    """Calls ``function(*args, **kwargs)`` and saves only the arguments for its gradient, not the inner arrays.

    The function runs a second time when a gradient is computed: less memory, more time. Gradients of any order, hooks
    and nested checkpoints work as without it. Both runs draw the same random numbers, unless ``preserve_rng_state`` is
    False, and are under the autocast of the call. ``context_fn`` returns two context managers, one for each run.

    * ``early_stop``: the second run ends, by an exception that passes through ``function``, when all inner arrays are
      there. Otherwise it goes to its end, where the numbers of arrays are compared.
    * ``debug``: the error about two runs that differ lists what both have saved.
    * ``use_reentrant`` is accepted for torch and changes nothing.

    Raises:
        CheckpointError: the two runs save different shapes, dtypes or numbers of arrays, unless ``determinism_check``
            is ``"none"``.

    >>> x = fg.tensor([0.5], requires_grad=True)
    >>> y = fg.checkpoint(lambda x: fg.exp(fg.sin(x)), x)
    >>> fg.allclose(fg.grad(y, x), fg.cos(x) * y)
    True
    """
    __tracebackhide__ = True
    if determinism_check not in ("default", "none"):
        raise ArgumentError(f"checkpoint: determinism_check must be 'default' or 'none', not {determinism_check!r}")
    first, second = context_fn() if context_fn else (contextlib.nullcontext(), contextlib.nullcontext())
    # A compiled program plans its memory by itself.
    if not _core.is_grad_enabled() or _core.is_tracing():
        with first:
            return function(*args, **kwargs)
    options = {
        "determinism_check": determinism_check,
        "early_stop": early_stop and _settings.early_stop is not False,
        "debug": debug if _settings.debug is None else _settings.debug,
        "recompute_context": second,
        "preserve_rng_state": preserve_rng_state,
    }
    call = _Call(function, args, kwargs, options)
    for context in (first, second):
        if (attach := getattr(context, "attach", None)) is not None:
            attach(call)
    with saved_tensors_hooks(call.pack, call.unpack), first:
        result = function(*args, **kwargs)
    call.ended = True
    return result


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Applies a list of functions in order, in ``segments`` parts. All but the last part are checkpointed.

    >>> x = fg.tensor([0.5], requires_grad=True)
    >>> y = fg.checkpoint_sequential([fg.sin, fg.exp, fg.tanh, fg.exp], 2, x)
    >>> fg.equal(y, fg.exp(fg.tanh(fg.exp(fg.sin(x))))).item()
    True
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ArgumentError("Unexpected keyword arguments: " + ",".join(kwargs))
    parts = list(functions)
    if not 1 <= segments <= max(len(parts), 1):
        raise ArgumentError(f"checkpoint_sequential: {segments} segments of {len(parts)} functions")

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for f in parts[start:end]:
                x = f(x)
            return x

        return forward

    size = len(parts) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(run(start, start + size), input, preserve_rng_state=preserve)
    return run(size * (segments - 1), len(parts))(input)
