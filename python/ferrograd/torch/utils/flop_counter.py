"""``torch.utils.flop_counter``: counts the multiplications and additions of products and convolutions."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public, tree as _tree
from ferrograd.torch import ops as _ops
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.compiler import reset
from ferrograd.torch.nn.modules import rnn as _rnn
from ferrograd.torch.nn.modules.module import (
    Module,
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from ferrograd.torch.overrides import TorchFunctionMode

__all__ = ["FlopCounterMode", "register_flop_formula"]

#: What an op is counted as, and its number.
Counts = list[tuple[str, int]]
Shape = Sequence[int]

#: The formulas by the name of a function: of its arguments and its result they make what is counted.
_FORMULAS: dict[str, Callable[..., Counts]] = {}
#: The formulas that programs have registered, by the name of the op.
_registered: dict[str, Callable[..., int]] = {}


def _formula(*names: str) -> Callable[[Callable[..., Counts]], Callable[..., Counts]]:
    def keep(f: Callable[..., Counts]) -> Callable[..., Counts]:
        _FORMULAS.update(dict.fromkeys(names, f))
        return f

    return keep


def _product(a: Shape, b: Shape) -> Counts:
    """The product of two matrices, or of stacks of them."""
    if len(a) < 2 or len(b) < 2:
        return []
    if len(a) == 2 or len(b) == 2:
        # A stack of matrices and one matrix are one product of matrices.
        return [("mm", 2 * math.prod(a) * math.prod(b) // (b[-2] if len(b) == 2 else a[-1]))]
    stack = math.prod(max(m, n) for m, n in _aligned(a[:-2], b[:-2]))
    return [("bmm", 2 * stack * a[-2] * a[-1] * b[-1])]


def _aligned(a: Shape, b: Shape) -> Iterable[tuple[int, int]]:
    """The sizes of axes that are broadcast together."""
    count = max(len(a), len(b))
    return zip([1] * (count - len(a)) + list(a), [1] * (count - len(b)) + list(b), strict=True)


@_formula("matmul", "__matmul__", "mm", "bmm", "sspaddmm")
def _matmul(out: Any, a: Tensor, b: Tensor, **_: Any) -> Counts:
    return _product(a.shape, b.shape)


@_formula("__rmatmul__")
def _rmatmul(out: Any, b: Tensor, a: Tensor) -> Counts:
    return _product(a.shape, b.shape)


@_formula("addmm", "addmm_", "baddbmm", "baddbmm_", "addbmm", "addbmm_")
def _with_addend(out: Any, added: Tensor, a: Tensor, b: Tensor, **_: Any) -> Counts:
    kind = "addmm" if a.ndim == 2 else "baddbmm"
    return [(kind, flops) for _, flops in _product(a.shape, b.shape)]


@_formula("linear")
def _linear(out: Any, x: Tensor, weight: Tensor, bias: Any = None) -> Counts:
    if weight.ndim < 2 or x.ndim < 2:
        return []
    return [("mm" if bias is None else "addmm", 2 * x.numel() * weight.shape[0])]


@_formula("conv1d", "conv2d", "conv3d", "convolution")
def _conv(out: Tensor, x: Tensor, weight: Tensor, *_: Any, **__: Any) -> Counts:
    return [("convolution", 2 * out.numel() * math.prod(weight.shape[1:]))]


@_formula("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(out: Tensor, x: Tensor, weight: Tensor, *_: Any, **__: Any) -> Counts:
    return [("convolution", 2 * x.numel() * math.prod(weight.shape[1:]))]


@_formula("scaled_dot_product_attention")
def _attention(out: Any, query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any) -> Counts:
    stack = math.prod(query.shape[:-2])
    pairs = query.shape[-2] * key.shape[-2]
    flops = 2 * stack * pairs * (query.shape[-1] + value.shape[-1])
    return [("_scaled_dot_product_flash_attention_for_cpu", flops)]


@_formula("multi_head_attention_forward")
def _multi_head(out: Any, query: Tensor, key: Tensor, value: Tensor, embed: int, *_: Any, **__: Any) -> Counts:
    # Axes are (length, batch, features), or (length, features).
    batch = query.shape[1] if query.ndim == 3 else 1
    wide, long = query.shape[0] * batch, key.shape[0] * batch
    projections = wide * 2 * query.shape[-1] + long * (key.shape[-1] + value.shape[-1])
    return [("addmm", 2 * embed * projections), ("bmm", 4 * batch * query.shape[0] * key.shape[0] * embed)]


@_formula("bilinear")
def _bilinear(out: Any, a: Tensor, b: Tensor, weight: Tensor, *_: Any) -> Counts:
    rows = math.prod(a.shape[:-1])
    return [("mm", 2 * rows * weight.numel()), ("bmm", 2 * rows * weight.shape[0] * weight.shape[2])]


@_formula("multi_dot", "chain_matmul")
def _chain(out: Any, tensors: Any, *more: Any, **_: Any) -> Counts:
    shapes = [x.shape for x in ((tensors, *more) if isinstance(tensors, Tensor) else tensors)]
    # A vector is a row at the beginning, and a column at the end.
    sizes = [tuple(s) if len(s) == 2 else (1, s[0]) if i == 0 else (s[0], 1) for i, s in enumerate(shapes)]
    edges = [sizes[0][0], *(s[1] for s in sizes)]

    @functools.cache
    def least(i: int, j: int) -> int:
        """The cost of the best order for the matrices from ``i`` to before ``j``."""
        if j - i < 2:
            return 0
        return min(least(i, k) + least(k, j) + 2 * edges[i] * edges[k] * edges[j] for k in range(i + 1, j))

    return [("mm", least(0, len(sizes)))]


@_formula("tensordot")
def _tensordot(out: Tensor, a: Tensor, b: Tensor, *_: Any, **__: Any) -> Counts:
    # The axes that are summed are in both operands and not in the result.
    summed = math.isqrt(a.numel() * b.numel() // max(out.numel(), 1))
    return [("mm", 2 * out.numel() * summed)]


@_formula("einsum")
def _einsum(out: Any, equation: Any, *operands: Any) -> Counts:
    if not isinstance(equation, str):
        raise FerrogradError("FlopCounterMode: give torch.einsum its equation as a string")
    tensors = operands[0] if len(operands) == 1 and not isinstance(operands[0], Tensor) else operands
    left, _, right = equation.replace(" ", "").partition("->")
    sizes: dict[Any, int] = {}
    labels: list[set[Any]] = []
    for term, x in zip(left.split(","), tensors, strict=True):
        before, dots, after = term.partition("...")
        names: list[Any] = [*before, *range(len(before) + len(after) - x.ndim, 0), *after] if dots else list(term)
        labels.append(set(names))
        for name, size in zip(names, x.shape, strict=True):
            sizes[name] = max(sizes.get(name, 1), size)
    every = "".join(left.split(","))
    kept: set[Any] = set(right) if "->" in equation else {name for name in every if every.count(name) == 1}
    kept |= {name for name in sizes if isinstance(name, int)}
    total = 0
    done = labels[0]
    for i, more in enumerate(labels[1:], 1):
        later = kept.union(*labels[i + 1 :])
        shared = (done & more) - later
        if shared:
            total += 2 * math.prod(sizes[name] for name in (done | more) if name in later or name in shared)
        done = (done | more) & later
    return [("bmm", total)] if total else []


#: The numbers of gates of recurrent layers.
_GATES: dict[type, int] = {_rnn.LSTM: 4, _rnn.GRU: 3, _rnn.RNN: 1, _rnn.LSTMCell: 4, _rnn.GRUCell: 3, _rnn.RNNCell: 1}


def _recurrent(module: Any, x: Any) -> Counts:
    """The products of a recurrent layer, for the input ``x``."""
    gates = next((n for kind, n in _GATES.items() if isinstance(module, kind)), 0)
    if not gates:
        return []
    x = getattr(x, "data", x)
    rows = math.prod(x.shape[:-1])
    weights = [p for name, p in module.named_parameters() if "weight" in name]
    return [("addmm", 2 * rows * sum(w.numel() for w in weights))]


def _scalars(x: Any, of: Callable[[Tensor], Any]) -> Any:
    """An argument with what a function makes of the tensors in it."""
    return _tree.mapped(lambda leaf: of(leaf) if isinstance(leaf, Tensor) else leaf, x)


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A decorator: a function of shapes, with ``out_shape``, counts for an op or a function of torch.

    With ``get_raw`` it is called with tensors, and with ``out_val``.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.utils.flop_counter import FlopCounterMode, register_flop_formula
    >>> @register_flop_formula(torch.ops.aten.sin)
    ... def counted(shape, *, out_shape=None):
    ...     return shape.numel()
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = torch.sin(torch.ones(3))
    >>> counter.get_total_flops()
    3
    """

    def keep(formula: Callable[..., int]) -> Callable[..., int]:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            _registered[_name(target)] = formula if get_raw else _of_shapes(formula)
        return formula

    return keep


def _of_shapes(formula: Callable[..., int]) -> Callable[..., int]:
    def count(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        shapes = [_scalars(x, lambda t: t.shape) for x in (args, kwargs, out_val)]
        return formula(*shapes[0], **shapes[1], out_shape=shapes[2])

    return count


def _name(target: Any) -> str:
    packet = target.overloadpacket if isinstance(target, _ops.OpOverload) else target
    return packet.__name__


class FlopCounterMode(TorchFunctionMode):
    """Counts the operations of products, convolutions and attention in the context, by modules and kinds.

    A multiplication and an addition count as two. Those of a gradient count when it is computed. Functions of
    ``torch.compile`` run op by op, with a warning. ``display`` prints a table at the end, of modules to ``depth``.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.utils.flop_counter import FlopCounterMode
    >>> layer = torch.nn.Linear(3, 4)
    >>> with FlopCounterMode(display=False) as counter:
    ...     layer(torch.ones(2, 3)).sum().backward()
    >>> counter.get_total_flops()
    96
    >>> counter.get_flop_counts()["Linear"]
    {<OpOverloadPacket(op='aten.addmm')>: 48, <OpOverloadPacket(op='aten.mm')>: 48}

    A function that the program imported by name before the first such context, as ``from torch import bmm`` does, is
    not seen.
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
        skip_unsupported: bool = False,
    ) -> None:
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.custom = {
            _name(target): formula if getattr(formula, "_get_raw", False) else _of_shapes(formula)
            for target, formula in (custom_mapping or {}).items()
        }
        #: The modules that run, and the names of all that have been seen.
        self._running: list[str] = []
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []
        self._ends: list[Callable[[], Any]] = []

    def __enter__(self) -> FlopCounterMode:
        """Begins to count from zero."""
        self.flop_counts.clear()
        handles = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        ]
        # Programs would compute without asking.
        reset()
        self._ends = [*(handle.remove for handle in handles), reset]
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        """Ends, and prints the table if ``display`` is set."""
        super().__exit__(*error)
        while self._ends:
            self._ends.pop()()
        self._running.clear()
        if self.display:
            print(self.get_table(self.depth))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The result of a function, whose operations are counted."""
        if _core.is_tracing():
            _core.give_up_trace("FlopCounterMode counts operations as they are computed")
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name = getattr(getattr(func, "overloadpacket", func), "__name__", "")
        given = self.custom.get(name) or _registered.get(name)
        if given is not None:
            self._count([(name, given(*args, **kwargs, out_val=out))], [])
        elif name in _FORMULAS:
            tensors = [x for x in _tree.leaves((args, kwargs)) if isinstance(x, Tensor)]
            self._note(_FORMULAS[name](out, *args, **kwargs), tensors, out)
        return out

    def _note(self, counts: Counts, inputs: list[Tensor], out: Any) -> None:
        """Counts what has been computed, and lets the gradient of the result count what that takes."""
        running = list(dict.fromkeys(self._running))
        self._count(counts, running)
        result = next((x for x in _tree.leaves(out) if isinstance(x, Tensor) and x.requires_grad), None)
        # The gradient of a factor takes as many operations as the product; that of a bias takes no product.
        factors = [x for x in inputs if x.requires_grad and x.ndim > 1]
        if result is None or not counts or not factors:
            return
        times = min(len(factors), 2)
        kinds = {"addmm": "mm", "baddbmm": "bmm", "convolution": "convolution_backward"}
        back = [(kinds.get(kind, kind), flops * times) for kind, flops in counts]
        result.register_hook(lambda _: self._count(back, running) if self._ends else None)

    def _count(self, counts: Counts, running: Iterable[str]) -> None:
        for kind, flops in counts:
            packet = getattr(_ops.aten, kind)
            for name in dict.fromkeys(["Global", *(running or self._running)]):
                self.flop_counts[name][packet] += flops

    def _enter_module(self, module: Module, args: Any) -> None:
        name = self._names.get(id(module))
        if name is None:
            name = self._names[id(module)] = type(module).__name__
            self._kept.append(module)
        for child, inner in module.named_children():
            if id(inner) not in self._names:
                self._names[id(inner)] = f"{name}.{child}"
                self._kept.append(inner)
        self._running.append(name)

    def _leave_module(self, module: Module, args: Any, out: Any) -> None:
        if type(module) in _GATES or isinstance(module, tuple(_GATES)):
            x = args[0]
            self._note(_recurrent(module, x), [getattr(x, "data", x), *module.parameters()], out)
        self._running.pop()

    def get_total_flops(self) -> int:
        """All that has been counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """By module, such as ``"ResNet.layer1"`` or ``"Global"``, and by kind: the number of operations."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_unsupported_ops(self) -> set[Any]:
        """The ops that should be counted and are not: none."""
        return set()

    def get_table(self, depth: int | None = None) -> str:
        """A table of modules to a depth, with the kinds of operations in each."""
        depth = 999999 if depth is None else depth
        total = self.get_total_flops()
        rows = [("Module", "FLOP", "% Total")]
        for name in sorted(self.flop_counts, key=lambda name: (name != "Global", name)):
            level = 0 if name == "Global" else name.count(".") + 1
            if level > depth:
                continue
            counts = self.flop_counts[name]
            rows.append((" " * level + name, _short(sum(counts.values())), _share(sum(counts.values()), total)))
            rows += [(" " * level + f" - aten.{op.__name__}", _short(n), _share(n, total)) for op, n in counts.items()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _short(flops: int) -> str:
    """A number with three digits after the point, in thousands, millions and so on."""
    power = 0 if flops < 10_000 else min((len(str(flops)) - 2) // 3, 4)
    return f"{flops / 1000**power:.3f}{['', 'K', 'M', 'B', 'T'][power]}"


def _share(part: int, total: int) -> str:
    return f"{part / total:.2%}" if total else "0%"


__dir__ = _public.names(globals())
