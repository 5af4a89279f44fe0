"""``torch.library``: ops that a program defines. They run any Python code on the numbers, and their gradients are the
program's own.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ferrograd._autograd.autocast import cast_all
from ferrograd._autograd.modes import is_grad_enabled, no_grad
from ferrograd._core import ArgumentError, FerrogradError, NotDifferentiableError, autocast_dtype
from ferrograd._kit import public as _public, tree as _tree
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.autograd import Function

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
]

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
        #: Whether the function is differentiated as it is.
        self._is_direct = False
        self._autocast: str | None = None

    def __repr__(self) -> str:
        """The name of the op."""
        return f"<CustomOpDef({self._name})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function, with the gradient that was registered.

        Raises:
            NotDifferentiableError: in the backward pass, if there is none.
        """
        if self._autocast is not None and autocast_dtype() is not None:
            args, kwargs = cast_all(args, self._autocast), cast_all(kwargs, self._autocast)
        if self._is_direct:
            return self._fn(*args, **kwargs)
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

    def _implement(self, fn: Callable[..., Any], key: str) -> None:
        """Takes a function for a key of dispatch."""
        self._fn, self._function, self._is_direct = fn, None, key in _DIRECT_KEYS

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

    The op may be of a library that is compiled for PyTorch, of whose namespace no op is here.

    >>> import ferrograd.torch as torch
    >>> halved = torch.library.custom_op("example::halved", lambda x: x.detach() / 2)
    >>> torch.library.register_fake("example::halved", len) is len
    True
    """
    space = op.partition("::")[0] + "::" if isinstance(op, str) and "::" in op else ""
    if not space or any(name.startswith(space) for name in _ops):
        _op(op)
    return (lambda func: func) if func is None else func


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Takes ``func`` in the place of an op's function on the CPU; a decorator."""
    return _op(op).register_kernel(device_types, func)


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Gives an op a rule for batches, ``func(info, in_dims, *args)``; a decorator."""
    return _op(op).register_vmap(func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Lets an op have its operands in ``cast_inputs`` under ``torch.autocast`` of the CPU."""
    if device_type == "cpu":
        _op(op)._autocast = str(getattr(cast_inputs, "name", cast_inputs))


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """The function itself: ``__torch_dispatch__`` asks no op."""
    return (lambda func: func) if func is None else func


impl_abstract = register_fake


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any = (), schema: str | None = None) -> Any:
    """:func:`custom_op` of a function that is differentiated as it is."""
    if fn is None:
        return lambda fn: triton_op(name, fn, mutates_args=mutates_args, schema=schema)
    found = _ops[name] = CustomOpDef(name, fn, mutates_args)
    found._is_direct = True
    return found


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: Any, op_name: str | None = None) -> str:
    """The parameters of a function as text, with PyTorch's names of types.

    >>> infer_schema(lambda x: x, mutates_args=())
    '(Tensor x) -> Tensor'
    """
    kinds = {int: "SymInt", float: "float", bool: "bool", str: "str", "int": "SymInt"}
    parameters = inspect.signature(prototype_function).parameters.values()

    def shown(p: inspect.Parameter) -> str:
        kind = kinds.get(p.annotation, p.annotation if p.annotation in ("float", "bool", "str") else "Tensor")
        return f"{kind} {p.name}" + ("" if p.default is p.empty else f"={p.default}")

    return f"{op_name or ''}({', '.join(map(shown, parameters))}) -> Tensor"


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """Defines an op ``"namespace::name"`` by its schema, such as ``"(Tensor x, float p=1.0) -> Tensor"``.

    >>> define("example::added", "(Tensor x, Tensor y) -> Tensor")
    >>> impl("example::added", "cpu", lambda x, y: x.detach() + y)
    >>> import ferrograd.torch as torch
    >>> torch.ops.example.added(torch.ones(1), torch.ones(1)).item()
    2.0
    """
    _declare(qualname, schema)


def impl(qualname: str, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Gives an op that :func:`define` or a :class:`Library` has defined its function; a decorator."""
    if func is None:
        return lambda func: (impl(qualname, types, func), func)[1]
    kinds = [str(kind) for kind in ([types] if isinstance(types, str) else types)]
    if any(kind.lower() in ("cpu", "default") or kind in _DIRECT_KEYS for kind in kinds):
        _op(qualname)._implement(func, next((kind for kind in kinds if kind in _DIRECT_KEYS), "CPU"))
    return None


#: Keys of dispatch under which a function is differentiated as it is.
_DIRECT_KEYS = ("", "CompositeImplicitAutograd", "Autograd", "AutogradCPU")


def _declare(name: str, schema: str) -> CustomOpDef:
    """An op with the parameters of a schema that has no function yet."""

    def missing(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{name} has been defined by its schema, and no function of it is registered for the CPU"
        )

    found = _ops[name] = CustomOpDef(name, missing, ())
    found._signature = _signature(schema)
    found._mutates = tuple(re.findall(r"Tensor\(\w+!\)\S* (\w+)", schema))
    return found


def _signature(schema: str) -> inspect.Signature:
    """The signature that a schema says; any parameters where it cannot be read."""
    if not isinstance(schema, str):
        raise TypeError(f'define: a schema is text, such as "(Tensor x) -> Tensor", not {type(schema).__name__}')
    inside = schema[schema.find("(") + 1 : schema.rfind("->")].rstrip().removesuffix(")")
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters: list[inspect.Parameter] = []
    for part in re.split(r",\s*(?![^\[(]*[\])])", inside):
        if part.strip() == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif part.strip():
            name, _, default = part.strip().rpartition(" ")[2].partition("=")
            value = inspect.Parameter.empty if not default else _constant(default)
            parameters.append(inspect.Parameter(name, kind, default=value))
    return inspect.Signature(parameters)


def _constant(text: str) -> Any:
    """The value of a default in a schema."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False}.get(text)


class Library:
    """A namespace of ops that are defined by their schemas and get functions in Python.

    ``impl`` of another key than those of the CPU is kept for nothing: there is one device.

    Raises:
        FerrogradError: a function is to replace one of PyTorch's own ops.

    >>> import ferrograd.torch as torch
    >>> library = torch.library.Library("shop", "DEF")
    >>> library.define("price(Tensor x, float rate=2.0) -> Tensor")
    'price'
    >>> library.impl("price", lambda x, rate=2.0: x * rate, "CompositeImplicitAutograd")
    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.ops.shop.price(x).backward()
    >>> x.grad.item()
    2.0
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported kind: ", kind)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Defines an op by its schema, ``"name(Tensor x) -> Tensor"``; returns its name."""
        name = schema.partition("(")[0].strip()
        _declare(f"{self.ns}::{name}", schema)
        return name

    def impl(self, op_name: Any, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False, **others: Any) -> None:
        """Gives an op its function for a key of dispatch."""
        name = str(getattr(op_name, "name", lambda: op_name)()).removeprefix(f"{self.ns}::")
        if self.ns in ("aten", "prim", "prims"):
            raise FerrogradError(
                f"torch.library.Library.impl: {self.ns}::{name} is PyTorch's own and cannot be replaced"
            )
        key = dispatch_key or self.dispatch_key
        if f"{self.ns}::{name}" in _ops and key in (*_DIRECT_KEYS, "CPU", "CompositeExplicitAutograd"):
            _ops[f"{self.ns}::{name}"]._implement(fn, key)

    def _destroy(self) -> None:
        """Takes the ops of the namespace away."""
        for name in [name for name in _ops if name.startswith(f"{self.ns}::")]:
            del _ops[name]


class _scoped_library(Library):
    """A :class:`Library` as a context, after which its ops are gone."""

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_: object) -> None:
        self._destroy()


def fallthrough_kernel() -> None:
    """Stands for no function."""


def opcheck(op: Any, args: tuple[Any, ...], kwargs: Any = None, **others: Any) -> dict[str, str]:
    """Calls an op with the arguments, and its gradient where it has one; returns what has succeeded.

    >>> import ferrograd.torch as torch
    >>> op = torch.library.custom_op("example::same", lambda x: x.clone())
    >>> torch.library.opcheck(op, (torch.ones(1),))
    {'test_schema': 'SUCCESS'}
    """
    result = op(*args, **(kwargs or {}))
    found = {"test_schema": "SUCCESS"}
    if any(_is_tracked(x) for x in _tree.leaves(result)):
        sum(x.sum() for x in _tree.leaves(result) if _is_tracked(x)).backward()
        found["test_autograd_registration"] = "SUCCESS"
    return found


__dir__ = _public.names(globals())
