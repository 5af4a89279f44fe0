"""``torch.library``: ops of one's own, which run any Python on the numbers and have a gradient of one's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ferrograd import _public, _tree
from ferrograd._autograd.modes import is_grad_enabled, no_grad
from ferrograd._core import ArgumentError, NotDifferentiableError
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.autograd import Function

__all__ = ["CustomOpDef", "custom_op", "register_autograd", "register_fake"]

#: The ops that have been defined, by their names.
_ops: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """An op that :func:`custom_op` has defined. It is called like its function.

    >>> import ferrograd.torch as torch
    >>> @torch.library.custom_op("example::cube", mutates_args=())
    ... def cube(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(x.numpy() ** 3)
    >>> cube
    <CustomOpDef(example::cube)>
    """

    def __init__(self, name: str, fn: Callable[..., Any], mutates_args: str | Iterable[str]) -> None:
        self._name, self._fn, self._signature = name, fn, inspect.signature(fn)
        self._mutates = tuple(self._signature.parameters) if mutates_args == "unknown" else tuple(mutates_args)
        self._parts: dict[str, Any] = {}
        self._function: Any = None

    def __repr__(self) -> str:
        """The name of the op."""
        return f"<CustomOpDef({self._name})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function, with the gradient that was registered.

        Raises:
            NotDifferentiableError: in the backward pass, if there is none.
        """
        given = self._signature.bind(*args, **kwargs)
        given.apply_defaults()
        if given.kwargs:
            raise ArgumentError(f"{self._name}: parameters that are given by name only are not supported")
        for name, value in given.arguments.items():
            is_lost = name in self._mutates or not isinstance(value, Tensor)
            if is_lost and is_grad_enabled() and any(_is_tracked(x) for x in _tree.leaves(value)):
                how = "is written to" if name in self._mutates else "holds several tensors"
                raise ArgumentError(f"{self._name}: {name} {how}, and its gradient would be lost")
        if self._mutates:
            with no_grad():
                return self._fn(*given.args)
        if self._function is None:
            self._function = self._made()
        return self._function.apply(*given.args)

    def _made(self) -> Any:
        """The function with a gradient."""
        parts, name = dict(self._parts), self._name

        def forward(*args: Any) -> Any:
            return self._fn(*args)

        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            if "setup_context" in parts:
                parts["setup_context"](ctx, inputs, output)

        def backward(ctx: Any, *grads: Any) -> Any:
            if "backward" not in parts:
                raise NotDifferentiableError(f"{name} has no gradient: register_autograd gives it one")
            return parts["backward"](ctx, *grads)

        members = {"forward": forward, "setup_context": setup_context, "backward": backward}
        members.update({key: parts[key] for key in ("vmap",) if key in parts})
        return type(name.rpartition("::")[2], (Function,), {key: staticmethod(f) for key, f in members.items()})

    def _register(self, **parts: Any) -> None:
        self._parts.update({key: part for key, part in parts.items() if part is not None})
        self._function = None

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """Gives the op a gradient: ``setup_context(ctx, inputs, output)`` saves for ``backward(ctx, *grads)``."""
        self._register(backward=backward, setup_context=setup_context)

    def register_vmap(self, func: Any = None) -> Any:
        """Gives the op a rule for batches, ``func(info, in_dims, *args)``; a decorator."""
        if func is None:
            return self.register_vmap
        self._register(vmap=func)
        return func

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """The function itself: shapes are those of the results."""
        return fn

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """Takes ``fn`` in the place of the function on the CPU; a decorator."""
        if fn is None:
            return lambda fn: self.register_kernel(device_types, fn)
        kinds = [device_types] if isinstance(device_types, str | None) else device_types
        if any(kind in (None, "cpu") for kind in kinds):
            self._fn, self._function = fn, None
        return fn


def _is_tracked(x: object) -> bool:
    return isinstance(x, Tensor) and bool(x.requires_grad)


def custom_op(
    name: str,
    fn: Any = None,
    /,
    *,
    mutates_args: str | Iterable[str] = (),
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """An op ``"namespace::name"`` of a function of tensors; a decorator. ``torch.ops.namespace.name`` is it, too.

    The function runs on the values, so it may compute with NumPy. ``mutates_args`` names the parameters it writes to.

    Raises:
        ArgumentError: the name has no namespace.

    >>> import ferrograd.torch as torch
    >>> @torch.library.custom_op("example::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(2 * x.numpy())
    >>> twice.register_autograd(lambda ctx, g: 2 * g)
    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.ops.example.twice(x).backward()
    >>> x.grad.item()
    2.0
    """
    if "::" not in name:
        raise ArgumentError(f"custom_op: the name of an op is 'namespace::name', not {name!r}")
    if fn is None:
        return lambda fn: custom_op(name, fn, mutates_args=mutates_args)
    found = _ops[name] = CustomOpDef(name, fn, mutates_args)
    return found


def _op(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    return _ops[op] if op in _ops else _unknown(op)


def _unknown(name: object) -> NoReturn:
    raise ArgumentError(f"torch.library: custom_op has defined no op {name!r:.60}")


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None) -> None:
    """Gives an op, or the op of a name, a gradient: see :meth:`CustomOpDef.register_autograd`.

    >>> import ferrograd.torch as torch
    >>> negated = torch.library.custom_op("example::negated", lambda x: -x.detach())
    >>> torch.library.register_autograd("example::negated", lambda ctx, g: -g)
    >>> x = torch.ones(1, requires_grad=True)
    >>> negated(x).backward()
    >>> x.grad.item()
    -1.0
    """
    _op(op).register_autograd(backward, setup_context=setup_context)


def register_fake(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """The function itself, or a decorator that returns it: shapes are those of the results.

    >>> import ferrograd.torch as torch
    >>> halved = torch.library.custom_op("example::halved", lambda x: x.detach() / 2)
    >>> torch.library.register_fake("example::halved", len) is len
    True
    """
    _op(op)
    return (lambda func: func) if func is None else func


__dir__ = _public.names(globals())
