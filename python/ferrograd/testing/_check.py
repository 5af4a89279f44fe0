"""``check``: derivatives of any order, in every mode, against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import tree as _tree
from ferrograd.testing._compare import Matrix, compare
from ferrograd.testing._gradcheck import _deterministic
from ferrograd.testing._jacobians import WIDE, FunctionAtPoint, RecordedFunction, dialect, in_reals

MODES = ("reverse", "forward", "batched")


def check(
    f: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    order: int = 1,
    modes: str | Sequence[str] = MODES,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    step: float = 1e-4,
) -> None:
    """Checks the derivatives of ``f(*inputs)`` of orders 1 to ``order`` against finite differences.

    ``inputs`` is a tensor, or a list of values and nested structures. All float and complex tensors in it are
    differentiated, tracked or not; complex ones as pairs of their parts along a new last axis. Each further order
    checks the gradient of the randomly weighted outputs of the order before.

    * ``modes``: one or several of ``"reverse"``, ``"forward"`` and ``"batched"`` (both modes, all rows or columns in
      one pass).
    * ``step``: the step of the fourth-order central differences, multiplied by the largest absolute input if that is
      above 1. Differences of float32 functions are computed in float64 if ``f`` computes in it.
    * ``rtol``, ``atol``: two numbers agree if they differ by at most ``atol + rtol * |numerical|``. ``rtol`` is 1e-6 by
      default (2e-4 for float32), ``atol`` is ``rtol`` times the largest absolute element if that is above 1.

    Raises:
        GradcheckError: a derivative and its difference quotient disagree (the message has the order, the worst element
            and both values), or ``f`` returned different values for the same inputs.

    >>> from ferrograd.testing import check
    >>> check(lambda x, y: fg.tanh(x * y).sum(), [fg.tensor([0.3, -1.2]), fg.tensor(0.5)], order=2)
    """
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ArgumentError(f"check: order must be a positive int, not {order!r}")
    modes = (modes,) if isinstance(modes, str) else modes
    unknown = set(modes) - set(MODES)
    if unknown or not modes:
        raise ArgumentError(f"check: modes are some of {MODES}, not {tuple(modes)!r}")
    f, inputs = in_reals(*_flat(f, [inputs] if isinstance(inputs, Tensor) else inputs))
    which = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.dtype.kind == "f"]
    if not which:
        raise ArgumentError("check: none of the inputs is a tensor of floats or complex numbers")
    single = any(inputs[i].dtype != np.float64 for i in which)
    rtol = (2e-4 if single else 1e-6) if rtol is None else rtol
    for k in range(1, order + 1):
        _once(f, inputs, which, k, modes, rtol, atol, step)
        if k < order:
            f = _weighted(f, which, k)


def _flat(f: Callable[..., Any], inputs: Sequence[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """The function as one of the leaves of its arguments, and these leaves."""
    args = tuple(inputs)
    return lambda *values: f(*_tree.rebuilt(args, iter(values))), _tree.leaves(args)


def _once(
    f: Callable[..., Any],
    inputs: Sequence[Any],
    which: list[int],
    order: int,
    modes: Sequence[str],
    rtol: float,
    atol: float | None,
    step: float,
) -> None:
    """Checks one order."""
    problem = FunctionAtPoint(f, inputs, which)
    _deterministic(problem, 0.0)
    analytic = RecordedFunction(problem)
    numerical = _differences(problem, step)
    columns = analytic.columns(problem) if "forward" in modes else None
    by_input = [analytic.batched_columns(j) for j in range(len(which))] if "batched" in modes else None
    for i, y in enumerate(analytic.outputs):
        if y.dtype.kind != "f":
            continue
        found: list[tuple[str, list[Matrix]]] = []
        if "reverse" in modes:
            found.append(("in reverse mode", analytic.rows(i)))
        if columns is not None:
            found.append(("in forward mode", columns[i]))
        if by_input is not None:
            found.append(("in batched reverse mode", analytic.batched_rows(i)))
            found.append(("in batched forward mode", [blocks[i] for blocks in by_input]))
        for mode, matrices in found:
            for j, (a, n) in enumerate(zip(matrices, numerical[i], strict=True)):
                finite = np.abs(n[np.isfinite(n)])
                allowed = rtol * max(1.0, float(finite.max(initial=0.0))) if atol is None else atol
                shapes = (tuple(y.shape), problem.at[j].shape)
                compare(a, n, shapes, (i, j), f"of order {order} {mode} ", rtol, allowed)


def _differences(problem: FunctionAtPoint, step: float) -> list[list[Matrix]]:
    """The Jacobians by differences: in float64 if the function computes in it, else in float32 with a larger step."""
    largest = max((float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in problem.at), default=0.0)
    scale = max(1.0, largest)
    if all(a.dtype == np.float64 for a in problem.at):
        return problem.numerical(step * scale, WIDE)
    wide = FunctionAtPoint(problem.f, problem.inputs, problem.which)
    wide.at = [a.astype(np.float64) for a in problem.at]
    outputs = wide.call(wide.places(wide.at))
    if all(y.dtype != np.float32 for y in outputs):
        return wide.numerical(step * scale, WIDE)
    return problem.numerical(max(step, 2e-2) * scale, WIDE)


def _weighted(f: Callable[..., Any], which: list[int], seed: int) -> Callable[..., Any]:
    """The gradient of the randomly weighted outputs of ``f``, as a function of the same inputs."""

    def gradients(*args: Any) -> list[Tensor]:
        places = [_core.fresh(args[i]) for i in which]
        inside = list(args)
        for i, x in zip(which, places, strict=True):
            inside[i] = x
        outputs = [y for y in FunctionAtPoint(f, inside, []).call([]) if y.requires_grad]
        if not outputs:
            return [_core.native.zeros_like(x) for x in places]
        generator = np.random.default_rng(seed)
        weights = [generator.uniform(0.5, 1.5, y.shape).astype(y.dtype) for y in outputs]
        seeds = [_core.make(w, None, False, dialect(y)) for w, y in zip(weights, outputs, strict=True)]
        found: list[Tensor] = _core.grad(outputs, places, seeds, 0, create_graph=True, unused="zeros")
        return found

    return gradients


__all__ = ["check"]
