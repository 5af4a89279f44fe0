"""What can be watched while a program runs: values that are not finite, gradients of zero, and the time of each op.

Each is a context manager and a decorator, and holds for its own thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ferrograd import _core
from ferrograd._graph import checked


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

    The text names the op, the line that recorded it, and the op and line that made the first value (computed inside the
    context) or the first gradient that is not finite. With ``check_nan=False`` nothing is checked.

    >>> x = fg.tensor(0.0, requires_grad=True)
    >>> with fg.detect_anomaly():
    ...     y = fg.sqrt(x) * 0.0
    ...     fg.grad(y, x)
    Traceback (most recent call last):
    ...
    ferrograd.NotFiniteError: detect_anomaly: Function 'sqrt' returned nan values in its 0th output. ...
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

    So the branch that ``where`` did not take contributes nothing, even where its derivative is infinite or NaN. An op
    that is not pointwise (``softmax``, ``inv``) gives zeros where all of its cotangents are zero, and in forward mode
    tangents of zero stay zero. It holds for calls of ``backward``, ``grad`` and the transforms inside the context.

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

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.seconds + other.seconds, self.bytes + other.bytes)


@dataclass
class Profile:
    """The cost of each op by name: ``forward`` is the op itself, ``backward`` its gradient rule with all it calls.

    ``sites`` has both by op and line (``file:line`` of the call that recorded it), if that was asked for.
    """

    forward: dict[str, Cost] = field(default_factory=dict)
    backward: dict[str, Cost] = field(default_factory=dict)
    sites: dict[tuple[str, str], tuple[Cost, Cost]] = field(default_factory=dict)

    def table(self, limit: int | None = None) -> str:
        """A line for each op, or for each op and line of the program: the ``limit`` most expensive, or all."""
        names = sorted(self.forward.keys() | self.backward.keys())
        rows = [(name, (self.forward.get(name, Cost()), self.backward.get(name, Cost()))) for name in names]
        if self.sites:
            rows = [(f"{op} {os.path.basename(site)}", costs) for (op, site), costs in self.sites.items()]
        rows.sort(key=lambda row: -sum(c.seconds for c in row[1]))
        shown = rows if limit is None else rows[: checked(limit)]
        width = max([24, *(len(name) + 2 for name, _ in shown)])

        def line(name: str, *costs: Cost) -> str:
            parts = [(c.calls, c.seconds / max(c.calls, 1) * 1e6, c.seconds * 1e3, c.bytes / 1e6) for c in costs]
            columns = [f"{calls:>10} {us:>10.2f} {ms:>10.3f} {mb:>10.3f}" for calls, us, ms, mb in parts]
            return f"{name:<{width}}{columns[0]}{columns[1]}"

        total = [sum(costs.values(), Cost()) for costs in (self.forward, self.backward)]
        columns = f"{'calls':>10} {'us each':>10} {'ms':>10} {'MB':>10}"
        lines = [
            f"{'':<{width}}{'forward':>43}{'backward':>43}",
            f"{'op':<{width}}{columns}{columns}",
            *(line(name, *costs) for name, costs in shown),
        ]
        if len(shown) < len(rows):
            lines.append(f"... and {len(rows) - len(shown)} more")
        return "\n".join([*lines, line("total", *total)])

    def __str__(self) -> str:
        return self.table()


@contextmanager
def profile(sites: bool = False) -> Iterator[Profile]:
    """Measures every op that this thread runs: the ``Profile`` is filled when the context ends.

    With ``sites`` ops are told apart by the line of the program that called them.

    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> with fg.profile() as p:
    ...     fg.backward(fg.sin(x).sum())
    >>> p.forward["sin"].calls, p.backward["sin"].calls
    (1, 1)
    """
    result = Profile()
    with _watched("times"), _watched("sites", sites):
        _core.take_profile()
        try:
            yield result
        finally:
            for op, site, costs in _core.take_profile():
                both = Cost(*costs[0]), Cost(*costs[1])
                if sites:
                    result.sites[op, site or "unknown place"] = both
                for place, cost in zip((result.forward, result.backward), both, strict=True):
                    if cost.calls:
                        place[op] = place.get(op, Cost()) + cost
