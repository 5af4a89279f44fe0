"""Profiling: how often each op and its gradient rule ran, for how long, and the bytes of their results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ferrograd import _core
from ferrograd._autograd.debugging import watched
from ferrograd._graph.nodes import check_limit
from ferrograd._graph.places import short
from ferrograd._kit import html as _html


@dataclass
class Cost:
    """The number of calls, their total time in seconds, and the total bytes of their results."""

    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.seconds + other.seconds, self.bytes + other.bytes)


@dataclass
class Profile:
    """Costs by op name: ``forward`` of the op itself, ``backward`` of its gradient rule and all that it calls.

    ``sites`` has both costs by (op, ``file:line`` of the call), if it was asked for.
    """

    forward: dict[str, Cost] = field(default_factory=dict)
    backward: dict[str, Cost] = field(default_factory=dict)
    sites: dict[tuple[str, str], tuple[Cost, Cost]] = field(default_factory=dict)

    def _rows(self) -> list[tuple[str, tuple[Cost, Cost]]]:
        """The name of each op, or of each op and line, with its costs forward and backward."""
        if self.sites:
            return [(f"{op} {short(site)}", costs) for (op, site), costs in self.sites.items()]
        names = sorted(self.forward.keys() | self.backward.keys())
        return [(name, (self.forward.get(name, Cost()), self.backward.get(name, Cost()))) for name in names]

    def table(self, limit: int | None = None) -> str:
        """A table with a row for each op, or each (op, line): the ``limit`` most expensive ones, or all."""
        rows = sorted(self._rows(), key=lambda row: -sum(c.seconds for c in row[1]))
        shown = rows if limit is None else rows[: check_limit(limit)]
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

    def _repr_html_(self) -> str:
        """A table for notebooks: the 50 most expensive ops or lines, which a click on a head sorts by that column."""
        rows = sorted(self._rows(), key=lambda row: -sum(c.seconds for c in row[1]))
        head = ["op", "calls", "ms forward", "calls back", "ms backward", "MB"]
        shown = [
            [
                name,
                ahead.calls,
                f"{ahead.seconds * 1e3:.3f}",
                back.calls,
                f"{back.seconds * 1e3:.3f}",
                f"{(ahead.bytes + back.bytes) / 1e6:.3f}",
            ]
            for name, (ahead, back) in rows[:50]
        ]
        total = sum(c.seconds for _, costs in rows for c in costs)
        return _html.facts("profile", {"rows": len(rows), "ms": f"{total * 1e3:.3f}"}) + _html.ranking(head, shown)


@contextmanager
def profile(sites: bool = False) -> Iterator[Profile]:
    """Measures every op that this thread runs. The ``Profile`` is filled when the context ends.

    With ``sites`` costs are also kept by the line of the program that called the op.

    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> with fg.profile() as p:
    ...     fg.backward(fg.sin(x).sum())
    >>> p.forward["sin"].calls, p.backward["sin"].calls
    (1, 1)
    """
    result = Profile()
    with watched("times"), watched("sites", sites):
        _core.take_profile()
        try:
            yield result
        finally:
            for op, site, costs in _core.take_profile():
                both = Cost(*costs[0]), Cost(*costs[1])
                if sites:
                    # Several calls in one line of the program, or one line in several code objects, are one place.
                    at = op, site or "unknown place"
                    known = result.sites.get(at, (Cost(), Cost()))
                    result.sites[at] = known[0] + both[0], known[1] + both[1]
                for place, cost in zip((result.forward, result.backward), both, strict=True):
                    if cost.calls:
                        place[op] = place.get(op, Cost()) + cost
