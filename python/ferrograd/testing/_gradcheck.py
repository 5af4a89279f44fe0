"""``gradcheck`` and ``gradgradcheck``, with PyTorch's arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import tree as _tree
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.warning import warn
from ferrograd.testing._compare import GradcheckError, Matrix, compare
from ferrograd.testing._jacobians import (
    CENTRAL,
    FunctionAtPoint,
    InReals,
    RecordedFunction,
    dialect,
    in_reals,
    real_pairs,
    tracked,
)

Function = Callable[..., Any]

_NOT_DETERMINISTIC = (
    "The function is not deterministic: output {i} differs between two calls with the same inputs. The tolerance for "
    "nondeterminism was {tolerance}."
)
_NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was {tolerance}."
)


def gradcheck(
    func: Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the derivatives of ``func(*inputs)`` agree with central differences of step ``eps``.

    ``inputs`` is a tensor or a tuple. Those with ``requires_grad`` are differentiated. Two numbers agree if they differ
    by at most ``atol + rtol * |numerical|``.

    * ``check_backward_ad``, ``check_forward_ad``: the modes that are checked.
    * ``check_batched_grad``, ``check_batched_forward_grad``: compare batched passes with single ones.
    * ``check_undefined_grad``: an output without a cotangent, and an input without a tangent, must count as zero.
    * ``check_grad_dtypes``: gradients must have the dtypes of their inputs, tangents those of their outputs.
    * ``fast_mode``: compare along one random direction instead of element by element.
    * ``nondet_tol``: the largest difference between two passes.
    * ``masked``: accepted for torch; it concerns sparse tensors and changes nothing.

    Complex inputs and outputs are checked as pairs of their real and imaginary parts along a new last axis.

    Raises:
        GradcheckError: a derivative and its difference quotient disagree; the message has the worst element and both
            values. Without ``raise_exception`` the result is False instead.

    >>> from ferrograd.testing import gradcheck
    >>> gradcheck(fg.sin, (fg.tensor([0.5, 2.0], dtype="float64", requires_grad=True),))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise ArgumentError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise ArgumentError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise ArgumentError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    func, given = in_reals(func, _tuple(inputs))
    problem = FunctionAtPoint(func, given, _differentiated(given))
    modes = [m for m, on in (("reverse", check_backward_ad), ("forward", check_forward_ad)) if on]
    try:
        _deterministic(problem, nondet_tol)
        analytic = RecordedFunction(problem)
        (_fast if fast_mode else _slow)(problem, analytic, modes, eps, rtol, atol)
        if check_forward_ad and check_undefined_grad:
            _undefined_tangents(problem, analytic)
        if check_batched_forward_grad:
            _batched_forward(problem, analytic)
        if check_grad_dtypes:
            _dtypes(problem, analytic, modes)
        if check_backward_ad:
            _reentrant(analytic, nondet_tol)
            if check_batched_grad:
                _batched_reverse(analytic)
            _undefined(analytic, check_undefined_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _tuple(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)


def _differentiated(inputs: Sequence[Any]) -> list[int]:
    """The positions of the tracked inputs."""
    which = tracked(inputs)
    for i in which:
        if dialect(inputs[i]) == TORCH:
            _own_elements(i, inputs[i])
        if inputs[i].dtype != np.float64:
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex. "
            )
    if not which:
        raise ArgumentError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    return which


def _own_elements(i: int, x: Any) -> None:
    """Raises for a tensor some of whose elements are one in memory: PyTorch cannot change one of them alone."""
    if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
        raise ArgumentError(
            f"gradcheck: The {i}th input has a dimension with stride 0. Only inputs whose elements do not overlap are "
            "checked: call .contiguous() on it before"
        )


def _deterministic(problem: FunctionAtPoint, tolerance: float, text: str = _NOT_DETERMINISTIC) -> None:
    """Raises unless the function returns the same values twice."""
    first, second = problem.values(problem.at), problem.values(problem.at)
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        if a.shape != b.shape or _differ(a, b, tolerance):
            raise GradcheckError(text.format(i=i, tolerance=tolerance))


def _differ(a: Matrix, b: Matrix, tolerance: float) -> bool:
    """Whether two results differ by more than a tolerance. NaN does not differ from NaN."""
    with np.errstate(invalid="ignore"):
        near = (np.abs(a - b) <= tolerance) | (a == b) | (np.isnan(a) & np.isnan(b))
    return not np.all(near)


def _slow(
    problem: FunctionAtPoint, analytic: RecordedFunction, modes: list[str], eps: float, rtol: float, atol: float
) -> None:
    """Compares element by element."""
    numerical = problem.numerical(eps, CENTRAL)
    complexes = problem.f.complex_outputs if isinstance(problem.f, InReals) else []
    inputs = [a.shape for a in problem.at]
    if not any(y.requires_grad for y in analytic.outputs):
        if any(np.any(matrix) for row in numerical for matrix in row):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    for mode in modes:
        columns = analytic.columns(problem) if mode == "forward" else []
        how = "computed with forward mode " if mode == "forward" else ""
        for i, y in enumerate(analytic.outputs):
            if not y.requires_grad:
                continue
            found = columns[i] if mode == "forward" else analytic.rows(i)
            for j, (a, n) in enumerate(zip(found, numerical[i], strict=True)):
                is_complex = i < len(complexes) and complexes[i]
                compare(a, n, (tuple(y.shape), inputs[j]), (i, j), how, rtol, atol, is_complex)


def _fast(
    problem: FunctionAtPoint, analytic: RecordedFunction, modes: list[str], eps: float, rtol: float, atol: float
) -> None:
    """Compares along one random direction; if that fails, element by element for the report."""
    generator = np.random.default_rng(0)
    for j, a in enumerate(problem.at):
        u = _length_one(generator.normal(size=a.shape))
        direction = [u if k == j else np.zeros(b.shape) for k, b in enumerate(problem.at)]
        numerical = problem.along(direction, eps, CENTRAL)
        sides = [np.asarray(_length_one(generator.uniform(size=n.shape))) for n in numerical]
        # If each element of the Jacobian is off by atol, its product with both vectors is off by this times their sums.
        room = atol * float(np.abs(u).sum())
        for mode in modes:
            pushed = analytic.pushed(direction) if mode == "forward" else []
            for i, (y, n, v) in enumerate(zip(analytic.outputs, numerical, sides, strict=True)):
                if mode == "forward":
                    found = float(pushed[i] @ v)
                else:
                    seed = _core.make(v.reshape(tuple(y.shape)).astype(y.dtype), None, False, dialect(y))
                    g = analytic.pulled([y], [seed])[j] if y.requires_grad else None
                    found = 0.0 if g is None else float(np.sum(np.asarray(g, np.float64) * u))
                wanted = float(n @ v)
                if math.isnan(wanted):
                    # Not along this direction: element by element, some have a quotient.
                    _slow(problem, analytic, [mode], eps, rtol, atol)
                elif not abs(found - wanted) <= room * float(v.sum()) + rtol * abs(wanted):
                    _slow(problem, analytic, modes, eps, rtol, atol)
                    raise GradcheckError(
                        f"Jacobian mismatch for output {i} with respect to input {j},\nnumerical:{wanted}\n"
                        f"analytical:{found}\nFast gradcheck failed but element-wise differences are small. This "
                        "means that the test might've passed in slow_mode!"
                    )


def _length_one(v: Any) -> Matrix:
    return np.asarray(v) / max(float(np.linalg.norm(v)), 1e-300)


def _seeds(analytic: RecordedFunction, i: int, count: int) -> Matrix:
    y = analytic.outputs[i]
    return np.random.default_rng(i).normal(size=(count, *y.shape)).astype(y.dtype)


def _dtypes(problem: FunctionAtPoint, analytic: RecordedFunction, modes: list[str]) -> None:
    """Raises unless gradients have the dtypes of their inputs and tangents those of their outputs."""
    pairs: list[tuple[Any, Tensor, str]] = []
    if "reverse" in modes:
        outputs = [y for y in analytic.outputs if y.requires_grad]
        found = analytic.pulled(outputs, [_core.native.ones_like(y) for y in outputs])
        pairs += [(g, x, f"gradient of input {j}") for j, (g, x) in enumerate(zip(found, analytic.places, strict=True))]
    if "forward" in modes:
        found = analytic.tangents([np.ones(a.shape) for a in problem.at])
        pairs += [
            (t, y, f"tangent of output {i}") for i, (t, y) in enumerate(zip(found, analytic.outputs, strict=True))
        ]
    for got, like, what in pairs:
        if got is not None and got.dtype != like.dtype:
            raise GradcheckError(f"The {what} has dtype {got.dtype}, not {like.dtype}")


def _reentrant(analytic: RecordedFunction, tolerance: float) -> None:
    """Raises unless two backward passes give the same values."""
    for i, y in enumerate(analytic.outputs):
        seed = _core.make(_seeds(analytic, i, 1)[0], None, False, 0)
        pairs = zip(analytic.pulled([y], [seed]), analytic.pulled([y], [seed]), strict=True)
        for a, b in pairs:
            if a is not None and _differ(np.asarray(a), np.asarray(b), tolerance):
                raise GradcheckError(_NOT_REENTRANT.format(tolerance=tolerance))


def _batched_reverse(analytic: RecordedFunction) -> None:
    """Raises unless one batched pass gives the values of single passes."""
    for i, y in enumerate(analytic.outputs):
        seeds = _seeds(analytic, i, 2)
        single = [analytic.pulled([y], [_core.make(s, None, False, 0)]) for s in seeds]
        batched = analytic.pulled([y], [_core.make(seeds, None, False, 0)], batched=True)
        for j, (got, *want) in enumerate(zip(batched, *single, strict=True)):
            if got is not None:
                _same(np.asarray(got), np.stack([np.asarray(w) for w in want]), i, j, "batched gradient")


def _batched_forward(problem: FunctionAtPoint, analytic: RecordedFunction) -> None:
    """Raises unless one batched pass along two directions of each input gives the values of single passes.

    A rule that draws random numbers is an error of ``vmap`` there.
    """
    generator = np.random.default_rng(0)
    for j, a in enumerate(problem.at):
        directions = generator.normal(size=(2, *a.shape))
        one_by_one = zip(*(analytic.pushed(_at(problem, j, d)) for d in directions), strict=True)
        try:
            batched = analytic.batched_pushed(j, directions, "error")
        except RuntimeError as e:
            raise GradcheckError(f"While computing batched gradients, got: {e}") from e
        for i, (got, want) in enumerate(zip(batched, one_by_one, strict=True)):
            _same(got, np.stack(want), i, j, "batched gradient computation with forward-mode AD")


def _at(problem: FunctionAtPoint, j: int, direction: Matrix) -> list[Matrix]:
    """A direction in which only input ``j`` moves."""
    return [direction if k == j else np.zeros(b.shape) for k, b in enumerate(problem.at)]


def _undefined_tangents(problem: FunctionAtPoint, analytic: RecordedFunction) -> None:
    """Raises unless an input without a tangent gives the tangents of one whose tangent is zero."""
    generator = np.random.default_rng(0)
    moving = [generator.normal(size=a.shape) for a in problem.at]
    for j, a in enumerate(problem.at):
        wanted = analytic.pushed([np.zeros(a.shape) if k == j else d for k, d in enumerate(moving)])
        if len(moving) == 1:
            # Without any tangent there is no pass.
            return
        found = analytic.pushed([None if k == j else d for k, d in enumerate(moving)])
        for i, (got, want) in enumerate(zip(found, wanted, strict=True)):
            if not np.allclose(got, want, equal_nan=True):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {i} when input: {j} has an undefined tangent "
                    f"value. Got: {got} but expected: {want}"
                )


def _same(got: Matrix, want: Matrix, i: int, j: int, what: str) -> None:
    if not np.allclose(got, want, rtol=1e-5, atol=1e-8, equal_nan=True):
        raise GradcheckError(
            f"For output {i} and input {j}:\n\ngradcheck or gradgradcheck failed while testing {what}.\n\n"
            f"Got:\n{got}\n\nExpected:\n{want}"
        )


def _undefined(analytic: RecordedFunction, each: bool) -> None:
    """Raises unless zero and missing cotangents give zero gradients."""
    outputs = [y for y in analytic.outputs if y.requires_grad]
    zeros = [_core.native.zeros_like(y) for y in outputs]
    left_out: list[int | None] = [None, *(range(len(outputs)) if each and len(outputs) > 1 else [])]
    for missing in left_out:
        kept = [k for k in range(len(outputs)) if k != missing]
        try:
            found = analytic.pulled([outputs[k] for k in kept], [zeros[k] for k in kept])
        except (RuntimeError, TypeError, AttributeError) as e:
            if missing is None:
                raise
            raise GradcheckError("Expected backward function to handle undefined output grads.") from e
        if any(g is not None and np.any(np.asarray(g) != 0) for g in found):
            raise GradcheckError(
                "backward not multiplied by grad_output"
                if missing is None
                else "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
            )


def gradgradcheck(
    func: Function,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether second derivatives agree with differences of first ones: :func:`gradcheck` of the gradient.

    The gradient is checked as a function of the inputs and of ``grad_outputs``, which are random by default.
    ``check_rev_over_rev`` and ``check_fwd_over_rev`` select the modes. ``gen_non_contig_grad_outputs`` is accepted for
    torch and changes nothing, as results do not depend on memory layouts.

    >>> from ferrograd.testing import gradgradcheck
    >>> gradgradcheck(fg.sin, (fg.tensor([0.5, 2.0], dtype="float64", requires_grad=True),))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise ArgumentError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise ArgumentError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise ArgumentError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    func, given = in_reals(func, _tuple(inputs))
    which = tracked(given)

    def outputs(*args: Any) -> list[Tensor]:
        return [y for y in _tree.leaves(func(*args)) if isinstance(y, Tensor) and y.requires_grad]

    if grad_outputs is None:
        generator = np.random.default_rng(0)
        seeds: tuple[Any, ...] = tuple(
            _core.make(generator.uniform(-1, 1, y.shape).astype(y.dtype), None, True, dialect(y))
            for y in outputs(*given)
        )
    else:
        seeds = tuple(map(real_pairs, _tuple(grad_outputs)))

    def gradients(*args: Any) -> Any:
        args, starts = args[: len(given)], args[len(given) :]
        found = _core.grad(outputs(*args), [args[i] for i in which], list(starts), 0, create_graph=True, unused="none")
        return tuple(g for g in found if g is not None)

    inputs = (*given, *seeds)
    try:
        _deterministic(FunctionAtPoint(gradients, inputs, tracked(inputs)), nondet_tol, _NOT_REENTRANT)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return gradcheck(
        gradients,
        inputs,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


__all__ = ["gradcheck", "gradgradcheck"]
