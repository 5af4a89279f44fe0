"""Writes ``docs/numpy.md``: ``python -m tests.interop.numpy_page``.

The page says what becomes of a tracked tensor in each function of NumPy and at each other border. It is made from what
happened when the function was called: with arrays first, to find arguments that it takes, and then with a tracked
tensor in the place of each float array.
"""

from __future__ import annotations

import copy
import io
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ferrograd as fg
import numpy as np

VERSION = ".".join(np.__version__.split(".")[:2])
PAGE = Path(__file__).parents[2] / "docs/numpy.md"

#: What can happen to a tracked tensor, and the heading that the page has for it.
TRACKS, PLAIN, RAISES = "tracks", "plain values", "raises"

MODULES = {"": np, "linalg.": np.linalg, "fft.": np.fft}
DISPATCHER = type(np.sum)


def functions() -> dict[str, Any]:
    """NumPy's universal functions and the functions of its protocol, by name."""
    return {
        prefix + name: getattr(module, name)
        for prefix, module in MODULES.items()
        for name in sorted(dir(module))
        if isinstance(getattr(module, name), (DISPATCHER, np.ufunc)) and not name.startswith("_")
    }


VECTOR = np.array([0.25, 0.5, 0.75])
MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
CUBE = np.arange(1.0, 9.0).reshape(2, 2, 2)
INDEX = np.array([2, 0, 1])

#: What every refusal says.
REFUSAL = re.compile(r"detach\(\)|no gradient|no counterpart")

#: Arguments that are tried in this order, until NumPy's function takes one of them.
ARGUMENTS: list[tuple[Any, ...]] = [
    (VECTOR,),
    (MATRIX,),
    (VECTOR, VECTOR),
    (MATRIX, MATRIX),
    ([VECTOR, VECTOR],),
    (VECTOR, 1),
    (VECTOR, INDEX),
    (MATRIX, 0, 1),
    (VECTOR, (3, 1)),
    (VECTOR, INDEX, 0),
    (VECTOR > 0.3, VECTOR),
    (VECTOR, VECTOR, VECTOR),
    (VECTOR, VECTOR > 0.3, VECTOR),
    (MATRIX, 0, 0),
    (INDEX, INDEX),
    (INDEX,),
    (CUBE,),
    (CUBE, CUBE),
]

#: Arguments of the functions for which those above are no fair test.
OWN_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "apply_along_axis": (np.sum, 0, VECTOR),
    "apply_over_axes": (np.sum, MATRIX, 0),
    "array2string": (VECTOR,),
    "astype": (VECTOR, np.float32),
    "bincount": (INDEX, VECTOR),
    "block": ([[VECTOR, VECTOR]],),
    "broadcast_to": (VECTOR, (2, 3)),
    "can_cast": (np.float64(1.0), np.float32),
    "choose": (INDEX, [VECTOR, VECTOR, VECTOR]),
    "compress": (VECTOR > 0.3, VECTOR),
    "copyto": (np.zeros(3), VECTOR),
    "cross": (VECTOR, VECTOR),
    "dsplit": (CUBE, 2),
    "einsum": ("i,i", VECTOR, VECTOR),
    "einsum_path": ("i,i", VECTOR, VECTOR),
    "expand_dims": (VECTOR, 0),
    "extract": (VECTOR > 0.3, VECTOR),
    "fill_diagonal": (MATRIX, VECTOR[0]),
    "histogram2d": (VECTOR, VECTOR),
    "insert": (VECTOR, 1, VECTOR[0]),
    "interp": (VECTOR, VECTOR, VECTOR),
    "intersect1d": (VECTOR, VECTOR + 0.1),
    "linalg.cross": (VECTOR, VECTOR),
    "linalg.matrix_power": (MATRIX, 2),
    "linalg.multi_dot": ([MATRIX, MATRIX],),
    "linalg.tensorsolve": (MATRIX, VECTOR[:2]),
    "linalg.tensorinv": (MATRIX.reshape(2, 1, 2), 2),
    "lexsort": ((VECTOR,),),
    "logspace": (VECTOR, 1.0),
    "matvec": (MATRIX, VECTOR[:2]),
    "moveaxis": (MATRIX, 0, 1),
    "pad": (VECTOR, 1),
    "percentile": (VECTOR, 50),
    "nanpercentile": (VECTOR, 50),
    "piecewise": (VECTOR, [VECTOR > 0.3], [np.sin, 1.0]),
    "place": (VECTOR, VECTOR > 0.3, VECTOR),
    "polyint": (VECTOR,),
    "put": (VECTOR, 0, VECTOR[0]),
    "put_along_axis": (VECTOR, INDEX, 1.0, 0),
    "putmask": (VECTOR, VECTOR > 0.3, VECTOR),
    "quantile": (VECTOR, 0.5),
    "nanquantile": (VECTOR, 0.5),
    "roll": (VECTOR, 1),
    "save": (io.BytesIO(), VECTOR),
    "savetxt": (io.BytesIO(), VECTOR),
    "savez": (io.BytesIO(), VECTOR),
    "savez_compressed": (io.BytesIO(), VECTOR),
    "select": ([VECTOR > 0.3], [VECTOR]),
    "setdiff1d": (VECTOR, VECTOR + 0.1),
    "take": (VECTOR, INDEX),
    "tensordot": (VECTOR, VECTOR, 1),
    "trapezoid": (VECTOR,),
    "tril": (MATRIX,),
    "triu": (MATRIX,),
    "union1d": (VECTOR, VECTOR + 0.1),
    "unravel_index": (INDEX, (3,)),
    "vander": (VECTOR,),
    "vecmat": (VECTOR[:2], MATRIX),
    "vsplit": (MATRIX, 2),
    "where": (VECTOR > 0.3, VECTOR, VECTOR),
}


def _tracked(value: Any) -> Any:
    """An argument with tracked tensors in place of its float arrays."""
    if isinstance(value, (np.ndarray, np.float64)) and value.dtype == np.float64:
        return fg.tensor(np.asarray(value), requires_grad=True) * 1.0
    if isinstance(value, np.ndarray):
        return fg.tensor(value) if value.dtype != bool else value
    if isinstance(value, (list, tuple)):
        return type(value)(map(_tracked, value))
    return value


def _parts(value: Any) -> Iterator[Any]:
    """The tensors and arrays in a result."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _parts(part)
    else:
        yield value


def outcome(name: str, f: Callable[..., Any]) -> str | None:
    """What becomes of tracked arguments of a NumPy function. None if NumPy takes none of the arguments tried."""
    for arguments in [OWN_ARGUMENTS[name]] if name in OWN_ARGUMENTS else ARGUMENTS:
        if isinstance(f, np.ufunc) and f.nin != len(arguments):
            continue
        try:
            f(*copy.deepcopy(arguments))
        except Exception:
            # NumPy itself does not take these arguments.
            continue
        given = [_tracked(a) for a in arguments]
        try:
            result = f(*given)
        except TypeError as refusal:
            if not REFUSAL.search(str(refusal)):
                raise
            return RAISES
        if any(getattr(part, "requires_grad", False) for part in _parts(result)):
            return TRACKS
        for part in _parts(result):
            # A result of floats that is not tracked is a constant, or it has lost its graph.
            numbers = isinstance(part, (fg.Tensor, np.ndarray, np.generic)) and part.dtype.kind == "f"
            if numbers and not _is_constant(f, arguments):
                raise AssertionError(f"numpy.{name} has lost the graph")
        return PLAIN
    return None


def _is_constant(f: Callable[..., Any], arguments: tuple[Any, ...]) -> bool:
    """Whether a result does not depend on the values of float arguments."""
    moved = [a + 1e-6 if isinstance(a, np.ndarray) and a.dtype == np.float64 else a for a in arguments]
    results = [f(*arguments), f(*moved)]
    return f in (np.empty_like, np.unravel_index) or bool(np.all(np.equal(*results)))


def outcomes() -> dict[str, str]:
    """What becomes of a tracked tensor in each function of NumPy that takes arrays of floats."""
    found = {}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, f in functions().items():
            what = outcome(name, f)
            if what is not None:
                found[name] = what
    return found


#: What asks for the numbers of a tensor, copies it or hands its memory on: the words of the page, and the call.
BORDERS: dict[str, Callable[[Any], Any]] = {
    "an operator beside an array: `np.ones(1) * x`": lambda x: np.ones(1) * x,
    "a universal function: `np.sin(x)`": np.sin,
    "one without a counterpart: `np.spacing(x)`": np.spacing,
    "writing over an array: `np.add(a, x, out=a)`, `a += x`": lambda x: np.add(np.ones(1), x, out=np.ones(1)),
    "a function that has the rule: `np.sum(x)`": np.sum,
    "a function that has none: `np.roots(x)`": np.roots,
    "a comparison, an index: `np.argsort(x)`, `x > 0`": np.argsort,
    "`np.asarray(x)`, `np.array([x, 1.0])`, `x.numpy()`, matplotlib, pandas": np.asarray,
    "writing into an array: `a[:] = x`": lambda x: np.ones(1).__setitem__(slice(None), x),
    "a masked array: `np.ma.ones(1) * x`": lambda x: np.ma.ones(1) * x,
    "a method of an array: `a.dot(x)`": lambda x: np.ones(1).dot(x),
    "`float(x)`, `complex(x)`, `math.sin(x)`": float,
    "`x.item()`, `x.tolist()`": lambda x: x.tolist(),
    "the buffer protocol: `memoryview(x)`": memoryview,
    "files: `np.save(file, x)`": lambda x: np.save(io.BytesIO(), x),
    "`int(x)`, `bool(x)`, `if x > 0`": int,
    "text: `repr(x)`, `print(x)`, `f'{x:.3f}'`": repr,
    "copies: `copy.copy(x)`, `copy.deepcopy(x)`": copy.copy,
    "pickles: `pickle.dumps(x)`, `torch.save`": lambda x: pickle.loads(pickle.dumps(x)).detach(),
    "DLPack: `np.from_dlpack(x)`, `torch.from_dlpack(x)`": np.from_dlpack,
    "`x.detach()`": lambda x: x.detach(),
}


def border(cross: Callable[[Any], Any], x: Any) -> str:
    """What becomes of a tracked tensor at a border."""
    try:
        result = cross(x)
    except (TypeError, BufferError) as refusal:
        if not REFUSAL.search(str(refusal)):
            raise
        return RAISES
    graph = getattr(result, "grad_fn", None) is not None
    leaf = getattr(result, "requires_grad", False)
    return TRACKS if graph else "a leaf of its own" if leaf else "detaches"


def borders() -> dict[str, tuple[str, str, str]]:
    """For each border, what becomes of a tracked tensor: outside, where numbers raise, and in a transform."""
    found = {}
    for name, cross in BORDERS.items():
        x = fg.tensor([2.0], requires_grad=True)
        outside = border(cross, x * 1.0)
        with fg.numpy_conversion("raise"):
            strict = border(cross, x * 1.0)
        found[name] = outside, strict, _inside(cross)
    return found


def _inside(cross: Callable[[Any], Any]) -> str:
    """What becomes of a value at a border inside a transform that differentiates it."""

    def f(x: Any) -> Any:
        return x.sum(), border(cross, x * 1.0)

    _, what = fg.func.grad(f, has_aux=True)(fg.tensor([2.0]))
    return str(what)


HEAD = """# NumPy and other borders

A tensor can go wherever an array of NumPy can go. What dispatches to this library (operators, universal functions,
NumPy's functions, the array API) keeps the graph or raises. What only asks for numbers (`np.asarray`, `float`, `item`)
detaches: no gradient flows through the numbers. Inside a transform (`func.grad`, `func.vjp`, `func.hessian`, …) and in
a backward of your own that is being recorded, numbers of a value that depends on what is differentiated raise
`ConversionError`, because the derivative would be lost without a word. `x.detach()` says that this is meant.

```python
>>> import ferrograd as fg
>>> import numpy as np
>>> from ferrograd import func
>>> x = fg.tensor([1.0, 2.0], requires_grad=True)
>>> fg.grad(np.sum(np.sin(x) ** 2), x).shape
(2,)
>>> np.asarray(x)
array([1., 2.], dtype=float32)
>>> func.grad(lambda x: fg.sum(x) * float(x[0]))(x)
Traceback (most recent call last):
ferrograd.ConversionError: float at ...: this Tensor depends on what grad differentiates, ...
>>> func.grad(lambda x: fg.sum(x) * float(x[0].detach()))(x).tolist()
[1.0, 1.0]
```

`numpy_conversion` sets what happens outside of transforms when a tracked tensor is asked for its numbers: `"allow"`,
`"warn"` or `"raise"`. It belongs to the thread, and it is a context manager and a decorator too. Under `no_grad`
nothing is lost, so numbers are always given.

```python
>>> with fg.numpy_conversion("raise"):
...     np.asarray(x)
Traceback (most recent call last):
ferrograd.ConversionError: numpy.asarray at ...: the numbers of a Tensor that requires grad are asked for, ...
```

`int(x)` and `bool(x)` are decisions. Their results are constant almost everywhere, so no derivative is lost, and they
are allowed everywhere.

A custom backward that computes with NumPy on saved values gives first derivatives. Second derivatives need a backward
that is recorded, so there it raises; mark it with `once_differentiable` if first derivatives are all you need. A tensor
that `forward` computes from its inputs and keeps, by NumPy too, has no derivative in the backward: a second derivative
through it raises. Save inputs and results instead and compute it in the backward. Only tensors are watched: numbers and
arrays that `forward` keeps on `ctx` are constants for the backward, also where they should have derivatives.

A list of tensors is for NumPy a list of numbers: `np.array([x, 1.0])`, `np.mean([a, b])` and `np.int64(x)` ask each
tensor for its number, as `np.asarray(x)` does. `np.stack([a, b])` and `fg.stack` join tensors and keep the graph.

Columns and tables of pandas are arrays here: `column * x`, `np.multiply(column, x)` and `fg.matmul(table, x)` track.
Products of pandas ask for the numbers of the other operand, as `np.asarray` does: write `table.to_numpy() @ x` for
`table @ x` and `column.dot(x)`.

This page is written by `python -m tests.interop.numpy_page` from what happened when each row was run with NumPy
{version}.

## Borders

| border | a tracked tensor | with `numpy_conversion("raise")` | inside a transform |
| --- | --- | --- | --- |
"""

MEMORY = """
A pickle and a copy are leaves that require a gradient if the tensor does.

Natively and in the Paddle dialect memory goes out read-only. `np.asarray`, `x.numpy()` and `memoryview(x)` share it,
and NumPy cannot write to it; in the Paddle dialect `x.numpy()` is a copy, as Paddle's is. A library that writes to a
read-only buffer all the same changes the tensor: PyTorch does so after a warning in
`torch.from_numpy(np.asarray(x))` and `torch.asarray(x)`, so take `torch.from_dlpack(x)` or `torch.tensor(x)`.

In the torch dialect `x.numpy()`, `np.asarray(x)`, `torch.from_numpy(a)`, `torch.as_tensor(a)` and `torch.frombuffer`
share memory that both sides write to, as PyTorch's do. Gradients do not see it: where a value is used, the graph
keeps a copy, as long as there is such an array. So a step of an optimizer or of a compiled function is seen in the
array, and what NumPy writes is seen in the next step.

```python
>>> a = np.ones(2)
>>> x, w = fg.torch.from_numpy(a), fg.torch.tensor([2.0, 3.0], requires_grad=True)
>>> y = (w * x).sum()
>>> a[:] = 7.0
>>> y.backward()
>>> x.tolist(), w.grad.tolist()
([7.0, 7.0], [1.0, 1.0])
```

* NumPy's writes count no version: `x._version` stays.
* An array that is read-only is copied, with a warning. `memoryview(x)` can be written to, too. DLPack is as below in
  every dialect.
* Two threads that use the same numbers at once, one of them writing, race as in PyTorch.
* While an array of it lives, a tensor pays for a copy where a node may keep it. When the last array is gone it is a
  tensor like any other. A tensor made by `from_numpy` always pays; `torch.tensor(a)` copies once.
* Compiled functions take such tensors. Two arguments that overlap in an array are computed without a program.

Some consumers of DLPack ignore the mark, too, and those from before its version 1.0 know none. They get memory that no
other tensor in reach, graph or array holds, and otherwise a copy (with `copy=False` a `BufferError`). When the tensor
is next used it takes its values back into memory of its own, so what a consumer writes later changes no value here and
no gradient. `from_dlpack` copies.

With `SCIPY_ARRAY_API=1`, SciPy's functions compute with the functions of this library where they can, and keep the
graph: `scipy.stats.ttest_ind` and `pearsonr` do, for example. Where SciPy asks for the numbers of a tracked tensor,
because it has the function for NumPy's arrays only, as `scipy.signal.detrend`, that raises `ConversionError`. Without
that setting, `scipy.special` dispatches like NumPy's universal functions, and the other functions of SciPy ask for
numbers.

Optimizers and solvers of SciPy check whether a function returns arrays, and some refuse tensors (`minimize` by L-BFGS-B
and SLSQP). `func.for_numpy` makes a function of arrays of one of tensors, with its derivatives:

```python
>>> g = func.for_numpy(lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)
>>> g.value_and_grad(np.zeros(2))
(1.0, array([-2.,  0.]))
>>> g.hessp(np.zeros(2), np.ones(2))
array([  2., 200.])
```

So `minimize(g.value_and_grad, x0, jac=True)`, `minimize(g, x0, jac=g.grad, hess=g.hess)` (or `hessp=g.hessp`),
`root(g, x0, jac=g.jac)`, `least_squares(g, x0, jac=g.jac)`, with `argnums=1` `solve_ivp(g, span, y0, jac=g.jac)`, and
with `argnums=(1, 2)` `curve_fit(g, x, y, p0=[1, 1], jac=g.jac)`.

`numpy.polynomial` computes with the operators of tensors and keeps their graph. Its functions ask whether the points
are NumPy's arrays, so coefficients of several axes are not evaluated at each point of a tensor: they broadcast with it,
as with `tensor=False`.

A masked array with a masked element becomes no tensor: the numbers under its mask would be taken for valid ones.
"""

HEADINGS = {
    TRACKS: "Functions that keep the graph",
    PLAIN: "Functions whose results have no derivative",
    RAISES: "Functions that raise for a tracked tensor",
}

TEXTS = {
    TRACKS: "The result is a tensor, and gradients flow through it.",
    PLAIN: "Integers, truth values, text, dtypes, new arrays, and `imag` of real numbers: nothing is lost. Files get\n"
    "the numbers, as above.",
    RAISES: "There is no rule here yet. `detach()` the tensor to compute on its values.",
}


def page() -> str:
    """The text of the page."""
    rows = [f"| {name} | {' | '.join(cells)} |" for name, cells in borders().items()]
    text = HEAD.replace("{version}", VERSION) + "\n".join(rows) + "\n" + MEMORY
    found = outcomes()
    for what, heading in HEADINGS.items():
        names = [f"`{name}`" for name in found if found[name] == what]
        text += f"\n## {heading}\n\n{TEXTS[what]}\n\n" + _wrapped(names) + "\n"
    return text


def _wrapped(names: list[str]) -> str:
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) > 116:
            lines.append("")
        lines[-1] += name + ", "
    return "\n".join(line.strip() for line in lines).rstrip(",")


if __name__ == "__main__":
    PAGE.write_text(page())
