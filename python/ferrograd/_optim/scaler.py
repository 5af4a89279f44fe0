"""What the scalers of losses of both dialects have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ferrograd._core import Tensor
from ferrograd._optim import fused

__all__ = ["Scaler"]


class Scaler:
    """Divides the gradients of optimizers by a factor, and steps where all of them are finite."""

    _scale: float

    def __init__(self) -> None:
        #: For each optimizer since the last update: whether its gradients were all finite, and whether it has stepped.
        self._seen: dict[int, tuple[bool, bool]] = {}

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the factor, once between two updates."""
        raise NotImplementedError

    def _unscale(self, optimizer: Any, params: Iterable[Tensor]) -> None:
        if id(optimizer) in self._seen:
            stepped = self._seen[id(optimizer)][1]
            raise RuntimeError(
                "unscale_() is being called after step()."
                if stepped
                else "unscale_() has already been called on this optimizer since the last update()."
            )
        grads = [p.grad for p in params if p.grad is not None]
        self._note(optimizer, fused.unscaled(grads, lambda: self._scale), False)

    def _note(self, optimizer: Any, is_finite: bool, has_stepped: bool) -> None:
        """Notes what became of the gradients of an optimizer."""

        def make() -> Any:
            before = self._seen
            self._seen = {**before, id(optimizer): (is_finite, has_stepped)}
            return before

        fused.change(vars(self), make)

    def _step(self, optimizer: Any, step: Callable[[], Any]) -> Any:
        """Divides the gradients if :meth:`unscale_` did not, and calls ``step`` unless one of them is not finite."""
        if self._seen.get(id(optimizer), (True, False))[1]:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._seen:
            self.unscale_(optimizer)
        is_finite, _ = self._seen[id(optimizer)]
        self._note(optimizer, is_finite, True)
        return step() if is_finite else None
