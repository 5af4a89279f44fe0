"""``paddle.incubate.optimizer.modelaverage``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd.paddle.optimizer.optimizer import Optimizer

__all__ = ["ModelAverage"]


class ModelAverage(Optimizer):
    """The mean of the values that parameters had after the last steps of another optimizer.

    ``step`` after each step of that optimizer adds the values to a sum; ``apply`` gives the parameters their means, and
    ``restore`` gives them back what they had. Once a sum has ``min_average_window`` terms, and as many as the smaller
    one of ``max_average_window`` and the share ``average_window_rate`` of all steps, it is closed and a new one begins.
    The mean is that of the closed sum and the new one.

    Raises:
        ArgumentError: there are no parameters.

    >>> import ferrograd.paddle as paddle
    >>> w = paddle.to_tensor([4.0], stop_gradient=False)
    >>> average = ModelAverage(0.5, parameters=[w])
    >>> for value in (1.0, 3.0):
    ...     w.set_value(paddle.to_tensor([value]))
    ...     average.step()
    >>> with average.apply():
    ...     print(w.item())
    2.0
    >>> w.item()
    3.0
    """

    _accumulators: Mapping[str, str] = {"new": "sum_1", "closed": "sum_3"}

    def __init__(
        self,
        average_window_rate: float,
        parameters: Sequence[Any] | None = None,
        min_average_window: int = 10000,
        max_average_window: int = 10000,
        name: str | None = None,
    ) -> None:
        if parameters is None:
            raise ArgumentError("ModelAverage: the parameters are wanted")
        super().__init__(0.0, parameters, name=name)
        self.average_window, self.min_average_window = average_window_rate, min_average_window
        self.max_average_window = max_average_window
        self._updates = self._new = self._closed = 0
        self._fg_kept: dict[int, Any] = {}

    @no_grad()
    def step(self) -> None:
        """Adds the values of the parameters to their sums."""
        _core.give_up_trace("it takes a step of ModelAverage")
        self._updates, self._new = self._updates + 1, self._new + 1
        for p in self._parameter_list:
            if not p.stop_gradient:
                state = self._state[p]
                state["new"] = p.detach() + state["new"] if "new" in state else p.detach().clone()
        if self._new >= self.min_average_window and self._new >= self._window():
            self._close()

    def _window(self) -> float:
        return min(self.max_average_window, self._updates * self.average_window)

    def _close(self) -> None:
        self._closed, self._new = self._new, 0
        for p in self._parameter_list:
            state = self._state[p]
            if "new" in state:
                state["closed"] = state.pop("new")

    def minimize(self, loss: Any, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None) -> Any:
        """Adds the values of the parameters to their sums, as :meth:`step`."""
        self.step()

    @contextmanager
    def apply(self, executor: Any = None, need_restore: bool = True) -> Iterator[None]:
        """A context in which the parameters have their means; they keep them unless ``need_restore``."""
        with no_grad():
            for p in self._parameter_list:
                terms = [x for key in ("closed", "new") if (x := self._state[p].get(key)) is not None]
                if terms:
                    self._fg_kept[id(p)] = p.detach().clone()
                    p.set_value(sum(terms[1:], terms[0]) / (self._closed + self._new))
        try:
            yield
        finally:
            if need_restore:
                self.restore()

    def restore(self, executor: Any = None) -> None:
        """Gives the parameters the values that they had before :meth:`apply`."""
        for p in self._parameter_list:
            if (kept := self._fg_kept.pop(id(p), None)) is not None:
                p.set_value(kept)


__dir__ = _public.names(globals())
