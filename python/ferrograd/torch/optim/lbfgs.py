"""``torch.optim.LBFGS``."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import public as _public
from ferrograd._optim import fused as _fused, lbfgs
from ferrograd.torch.optim._options import given
from ferrograd.torch.optim.optimizer import Closure, Optimizer, Params

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """L-BFGS, with a line search for the strong Wolfe conditions if ``line_search_fn="strong_wolfe"``.

    ``step`` needs a closure that computes the loss and its gradients; it is called several times.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise ArgumentError(f"LBFGS: only 'strong_wolfe' is supported as line_search_fn, not {line_search_fn!r}")
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        options = given(locals())
        _fused.at_least("LBFGS", 0, **{"learning rate": lr})
        super().__init__(params, options)
        if len(self.param_groups) != 1:
            raise ArgumentError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Closure | None = None) -> Any:
        """Runs up to ``max_iter`` iterations; the loss before them."""
        if closure is None:
            raise ArgumentError("LBFGS.step: a closure that computes the loss and its gradients is needed")
        (group,) = self.param_groups
        params = group["params"]

        def gradients() -> list[Tensor]:
            return [_fused.zeros(p) if p.grad is None else p.grad for p in params]

        return lbfgs.step(
            params,
            closure,
            gradients,
            self.state[params[0]],
            sign=-1.0 if group["maximize"] else 1.0,
            rate=float(group["lr"]),
            max_iterations=group["max_iter"],
            max_evaluations=group["max_eval"],
            tolerance_grad=group["tolerance_grad"],
            tolerance_change=group["tolerance_change"],
            history=group["history_size"],
            searches=group["line_search_fn"] is not None,
        )


# The parts of the search, by the names and arguments that packages of minimizers import.


def _cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None) -> Any:
    """The minimizer of the cubic with the values and slopes of two points; see :func:`lbfgs.cubic`."""
    return lbfgs.cubic(lbfgs.Point(x1, f1, g1, g1), lbfgs.Point(x2, f2, g2, g2), bounds)


def _strong_wolfe(
    obj_func: Any,
    x: Any,
    t: Any,
    d: Tensor,
    f: Any,
    g: Tensor,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[Any, Tensor, Any, int]:
    """The value, the gradient and the length of a step along ``d`` for the strong Wolfe conditions, and how often
    ``obj_func(x, t, d)``, which gives the value and the gradient there, was called.
    """

    def at(t: Any) -> lbfgs.Point:
        value, gradient = obj_func(x, t, d)
        return lbfgs.Point(t, value, gradient, gradient.dot(d))

    start, size = lbfgs.Point(0, f, g, gtd), d.abs().max()
    found, calls = lbfgs.search(at, t, start, size, tolerance_change, max_ls, c1, c2)
    return found.value, found.g, found.t, calls


__dir__ = _public.names(globals())
