"""Which op of aten a call of a function of torch is, for modes that see ops.

A call is one op, as the program makes it. Products and convolutions are the ops that compute them, so ``linear`` of a
matrix is ``aten.addmm.default``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ferrograd._core import TorchTensor as Tensor
from ferrograd.torch._base import overriding
from ferrograd.torch.ops import OpOverload, aten

__all__ = ["call", "current"]

#: A function that takes an op and its arguments and returns the result.
Caller = Callable[..., Any]

#: The names of ops by those of functions that are called otherwise.
_NAMES = {
    **overriding.OPERATORS,
    **{"__itruediv__": "div_", "__rsub__": "rsub", "true_divide": "div", "divide": "div"},
    **{
        "multiply": "mul",
        "subtract": "sub",
        "negative": "neg",
        "absolute": "abs",
        "concat": "cat",
        "concatenate": "cat",
    },
    **{"permute_dims": "permute", "swapaxes": "transpose", "swapdims": "transpose", "to": "_to_copy"},
}
#: The overloads of ops, where not ``default``, by how they are called.
_OVERLOADS: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], str]] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "remainder", "floor_divide", "split"), lambda args, _: "Tensor"),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "rsub"), lambda args, _: _kinds(args[1:2])),
    **dict.fromkeys(("var", "std", "var_mean", "std_mean"), lambda args, _: "correction"),
    **dict.fromkeys(("softmax", "log_softmax", "transpose", "select", "unbind"), lambda args, _: "int"),
    **dict.fromkeys(("mean", "any", "all", "squeeze"), lambda args, given: _by_axis(args, given, "dim")),
    **dict.fromkeys(("max", "min", "median"), lambda args, given: _by_axis(args, given, "dim", "other")),
    "sum": lambda args, given: _by_axis(args, given, "dim_IntList"),
    "pow": lambda args, _: f"{_kinds(args[:1])}_{_kinds(args[1:2])}".replace("Scalar_Tensor", "Scalar"),
    "prod": lambda args, given: _by_axis(args, given, "dim_int"),
    "where": lambda args, _: "self",
}


def _kinds(args: tuple[Any, ...]) -> str:
    return "Tensor" if any(isinstance(x, Tensor) for x in args) else "Scalar"


def _by_axis(args: tuple[Any, ...], given: dict[str, Any], with_axis: str, with_tensor: str = "") -> str:
    if with_tensor and (isinstance(given.get("other"), Tensor) or (len(args) > 1 and isinstance(args[1], Tensor))):
        return with_tensor
    return with_axis if len(args) > 1 or "dim" in given or "axis" in given else "default"


def _op(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
    plain = name.removesuffix("_")
    overload = _OVERLOADS.get(plain)
    found: OpOverload = getattr(getattr(aten, name), overload(args, kwargs) if overload else "default")
    return found


def _name(function: Any) -> str:
    """The name of the op of a function, with its namespace where this is one of torch's."""
    name = _NAMES.get(function.__name__, function.__name__)
    space = (getattr(function, "__module__", "") or "").split(".")
    own = [part for part in ("linalg", "fft", "special") if part in space]
    return f"{own[0]}_{name}" if own and not name.startswith(f"{own[0]}_") else name


def _shaped(x: Tensor, method: str, *args: Any) -> Tensor:
    """What a method makes of the shape of a tensor, which no mode sees."""
    with overriding.nobody():
        shaped: Tensor = getattr(x, method)(*args)
    return shaped


def _linear(run: Caller, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    if weight.ndim != 2 or input.ndim < 1:
        return run(aten.linear.default, input, weight, bias)
    rows = input if input.ndim == 2 else _shaped(input, "reshape", -1, input.shape[-1])
    across = _shaped(weight, "t")
    out = run(aten.mm.default, rows, across) if bias is None else run(aten.addmm.default, bias, rows, across)
    return out if input.ndim == 2 else _shaped(out, "reshape", *input.shape[:-1], weight.shape[0])


def _matmul(run: Caller, input: Tensor, other: Tensor) -> Any:
    a, b = input, other
    if not isinstance(a, Tensor) or not isinstance(b, Tensor) or not a.ndim or not b.ndim:
        return run(aten.matmul.default, a, b)
    plain = {(2, 2): aten.mm, (3, 3): aten.bmm, (1, 1): aten.dot, (2, 1): aten.mv}.get((a.ndim, b.ndim))
    if plain is not None and (plain is not aten.bmm or a.shape[0] == b.shape[0]):
        return run(plain.default, a, b)
    if a.ndim > 2 and b.ndim == 2:
        out = run(aten.mm.default, _shaped(a, "reshape", -1, a.shape[-1]), b)
        return _shaped(out, "reshape", *a.shape[:-1], b.shape[1])
    if a.ndim < 2 or b.ndim < 2:
        return run(aten.matmul.default, a, b)
    batch = _broadcast(a.shape[:-2], b.shape[:-2])
    count = math.prod(batch)
    spread = [_shaped(x, "expand", *batch, *x.shape[-2:]) for x in (a, b)]
    out = run(aten.bmm.default, *(_shaped(x, "reshape", count, *x.shape[-2:]) for x in spread))
    return _shaped(out, "reshape", *batch, a.shape[-2], b.shape[-1])


def _broadcast(a: Any, b: Any) -> list[int]:
    count = max(len(a), len(b))
    pairs = zip([1] * (count - len(a)) + list(a), [1] * (count - len(b)) + list(b), strict=True)
    return [max(m, n) if 0 not in (m, n) else 0 for m, n in pairs]


def _convolution(run: Caller, input: Tensor, weight: Tensor, bias: Any = None, *options: Any, **named: Any) -> Any:
    names = ("stride", "padding", "dilation", "groups")
    given = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1} | dict(zip(names, options, strict=False)) | named
    axes = weight.ndim - 2
    if isinstance(given["padding"], str) or input.ndim != weight.ndim:
        function = getattr(aten, f"conv{axes}d").default
        return run(function, input, weight, bias, *(given[name] for name in names))
    sides = [[x] * axes if isinstance(x, int) else list(x) for x in (given[name] for name in names[:3])]
    return run(aten.convolution.default, input, weight, bias, *sides, False, [0] * axes, given["groups"])


#: Functions that are computed by ops of other names, or take their arguments in another order.
_COMPUTED_BY: dict[str, Callable[..., Any]] = {
    "__rpow__": lambda run, x, y: run(aten.pow.Scalar, y, x),
    "__rtruediv__": lambda run, x, y: run(aten.div.Tensor, y, x),
    "linear": _linear,
    **dict.fromkeys(("matmul", "__matmul__"), _matmul),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _convolution),
}


def call(mode: Any, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function of torch that a mode sees as an op."""
    name = getattr(function, "__name__", "")
    if name == "__get__" or (name.startswith("__") and name not in _NAMES and name not in _COMPUTED_BY):
        # Attributes and subscripts are views, which are no calls of ops here.
        return function(*args, **kwargs)

    def run(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
        return mode.__torch_dispatch__(op, types, args, kwargs)

    if isinstance(function, OpOverload):
        return run(function, *args, **kwargs)
    if name in _COMPUTED_BY:
        return _COMPUTED_BY[name](run, *args, **kwargs)
    op = _op(_name(function), args, kwargs)
    with op.calling(function):
        return run(op, *args, **kwargs)


def current() -> Any:
    """The innermost mode that sees ops on this thread; None if there is none."""
    return next((mode for mode in reversed(overriding.modes()) if hasattr(mode, "__torch_dispatch__")), None)
