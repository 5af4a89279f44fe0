"""What can be watched while a program runs: values that are not finite, gradients of zero, and the time of each op.

Each is a context manager and a decorator, and holds for its own thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ferrograd import _core


@contextmanager
def _watched(what: str, on: bool = True) -> Iterator[None]:
    before = _core.watch(what, on)
    try:
        yield
    finally:
        _core.watch(what, before)


@contextmanager
def detect_anomaly(check_nan: bool = True) -> Iterator[None]:
    """Makes ``backward`` and ``grad`` raise ``NotFiniteError`` (a ``RuntimeError``) where a gradient becomes NaN.

    The text names the op, the line that recorded it, and the op and line that made the first value that is not finite,
    if that was computed inside the context too. With ``check_nan=False`` nothing is checked.

    >>> x = fg.tensor(0.0, requires_grad=True)
    >>> with fg.detect_anomaly():
    ...     y = fg.sqrt(x) * 0.0
    ...     fg.grad(y, x)
    Traceback (most recent call last):
    ...
    ferrograd.NotFiniteError: detect_anomaly: Function 'sqrt', ... returned nan values in its 0th output.
    """
    with _watched("anomalies", check_nan):
        yield


class set_detect_anomaly:
    """Switches the detection of :func:`detect_anomaly` on or off at once; as a context, for that long.

    >>> with fg.set_detect_anomaly(True):
    ...     fg.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _core.watch("anomalies", mode and check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        _core.watch("anomalies", self._before)


def is_anomaly_enabled() -> bool:
    """Whether this thread detects anomalies.

    >>> fg.is_anomaly_enabled()
    False
    """
    return bool(_core.watching("anomalies"))


@contextmanager
def debug_nans() -> Iterator[None]:
    """Makes every op raise ``NotFiniteError`` whose result holds NaN, in the call that made it, also in ``backward``.

    >>> with fg.debug_nans():
    ...     fg.log(fg.tensor([-1.0, 1.0]))
    Traceback (most recent call last):
    ...
    ferrograd.NotFiniteError: log: debug_nans: the result holds NaN
    """
    with _watched("nans"):
        yield


@contextmanager
def safe_gradients() -> Iterator[None]:
    """Keeps a cotangent of exactly zero at zero, whatever a pointwise op's derivative is at that element.

    So the branch that ``where`` did not take contributes nothing, even where its derivative is infinite or NaN. It
    holds for calls of ``backward`` and ``grad`` inside the context.

    >>> x = fg.tensor([0.0, 4.0], requires_grad=True)
    >>> with fg.safe_gradients():
    ...     g = fg.grad(fg.where(x > 0, fg.sqrt(x), 0.0).sum(), x)
    >>> g.tolist()
    [0.0, 0.25]
    """
    with _watched("safe"):
        yield


@dataclass
class Cost:
    """How often something ran, how long in all (seconds), and how many bytes its results had."""

    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0


@dataclass
class Profile:
    """The cost of each op by name: ``forward`` is the op itself, ``backward`` its gradient rule with all it calls."""

    forward: dict[str, Cost] = field(default_factory=dict)
    backward: dict[str, Cost] = field(default_factory=dict)

    def table(self) -> str:
        """A line for each op, the most expensive first."""
        names = sorted(self.forward.keys() | self.backward.keys())

        def of(name: str) -> tuple[Cost, Cost]:
            return self.forward.get(name, Cost()), self.backward.get(name, Cost())

        def line(name: str, f: Cost, b: Cost) -> str:
            parts = [(c.seconds / max(c.calls, 1) * 1e6, c.seconds * 1e3, c.bytes / 1e6) for c in (f, b)]
            columns = [f"{us:>10.2f} {ms:>10.3f} {mb:>10.3f}" for us, ms, mb in parts]
            return f"{name:<24}{f.calls:>10} {columns[0]}{b.calls:>10} {columns[1]}"

        def total(costs: dict[str, Cost]) -> Cost:
            parts = costs.values()
            return Cost(sum(c.calls for c in parts), sum(c.seconds for c in parts), sum(c.bytes for c in parts))

        columns = f"{'calls':>10} {'us each':>10} {'ms':>10} {'MB':>10}"
        ranked = sorted(names, key=lambda n: -sum(c.seconds for c in of(n)))
        return "\n".join(
            [
                f"{'':<24}{'forward':>43}{'backward':>43}",
                f"{'op':<24}{columns}{columns}",
                *(line(n, *of(n)) for n in ranked),
                line("total", total(self.forward), total(self.backward)),
            ]
        )

    def __str__(self) -> str:
        return self.table()


@contextmanager
def profile() -> Iterator[Profile]:
    """Measures every op that this thread runs: the ``Profile`` is filled when the context ends.

    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> with fg.profile() as p:
    ...     fg.backward(fg.sin(x).sum())
    >>> p.forward["sin"].calls, p.backward["sin"].calls
    (1, 1)
    """
    result = Profile()
    with _watched("times"):
        _core.take_profile()
        try:
            yield result
        finally:
            for name, costs in _core.take_profile():
                for place, cost in zip((result.forward, result.backward), costs, strict=True):
                    if cost[0]:
                        place[name] = Cost(*cost)
