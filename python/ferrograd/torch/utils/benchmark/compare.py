"""Tables of measurements."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch.utils.benchmark.timer import _UNITS, Measurement, select_unit

__all__ = ["Colorize", "Compare"]

_END, _BEST, _GOOD, _BAD, _WORST = "\033[0m", "\033[92m\033[1m", "\033[34m", "\033[2m\033[91m", "\033[31m\033[1m"


class Colorize(Enum):
    """Which times are compared by color."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Measurements as tables: one for each label, a row for each sub-label, a column for each description.

    >>> from ferrograd.torch.utils.benchmark import Compare, Timer
    >>> times = [Timer("x + x", globals={"x": 1}, label="Sum", description=d).timeit(10) for d in ("first", "second")]
    >>> print(str(Compare(times)).splitlines()[1].split())
    ['|', 'first', '|', 'second']
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trims, self._warns, self._colors = False, False, Colorize.NONE
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Adds measurements."""
        found = list(results)
        for one in found:
            if not isinstance(one, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(one)} instead.")
        self._results += found

    def trim_significant_figures(self) -> None:
        """Shows only the digits that the spread of the times supports."""
        self._trims = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colors the times: of a column, or of a row."""
        self._colors = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Marks times that vary much."""
        self._warns = True

    def print(self) -> None:
        """Prints the tables."""
        print(str(self))

    def __str__(self) -> str:
        merged, labels = Measurement.merge(self._results), dict[Any, list[Measurement]]()
        for one in merged:
            labels.setdefault(one.task_spec.label, []).append(one)
        return "\n".join(self._table(label, found) for label, found in labels.items())

    def _table(self, label: str | None, found: list[Measurement]) -> str:
        sign, unit = select_unit(min(m.median for m in found))
        columns = list(dict.fromkeys(m.task_spec.description for m in found))
        threads = sorted({m.task_spec.num_threads for m in found})
        rows = sorted(
            dict.fromkeys((m.task_spec.num_threads, m.env, m.as_row_name) for m in found), key=lambda row: row[0]
        )
        at = {(m.task_spec.num_threads, m.env, m.as_row_name, m.task_spec.description): m for m in found}
        marks_env = len({m.env for m in found}) > 1
        names = [(f"({env}) " if marks_env else "") + name for _, env, name in rows]
        width = max(len(f"{threads[-1]} threads: ") - 1, 6 + max(map(len, names)) + 2)
        texts = {key: self._number(m, unit) for key, m in at.items()}
        widths = []
        for column in columns:
            own = [len(text) for key, text in texts.items() if key[3] == column]
            widths.append(max(4 + max(own), len(column or "") + 4))
        lines = [" " * width + "".join(f"|{(c or ''):^{w}}" for c, w in zip(columns, widths, strict=True))]
        whole = len(lines[0])
        title = f" {label} " if label else ""
        lines = [f"[{title:-^{whole - 2}}]", *lines]
        group = None
        for (count, env, name), shown in zip(rows, names, strict=True):
            if count != group:
                group = count
                head = f"{count} threads: "
                lines.append(head + "-" * (whole - len(head)))
            cells = []
            for column, w in zip(columns, widths, strict=True):
                m = at.get((count, env, name, column))
                text = "" if m is None else texts[count, env, name, column]
                cells.append("|  " + self._colored(f"{text:>{w - 4}}", m, (count, env, name), column, at) + "  ")
            lines.append(f"      {shown}".ljust(width) + "".join(cells))
        english = next(name for s, name, _ in _UNITS if s == sign)
        lines += ["", f"Times are in {english}s ({sign}).", ""]
        if self._warns and any(m.has_warnings for m in found):
            lines += ["(! XX%) Measurement has high variance, where XX is the IQR / median * 100.", ""]
        return "\n".join(lines)

    def _number(self, m: Measurement, unit: float) -> str:
        value, digits = m.median / unit, m.significant_figures if self._trims else 4
        if not math.isfinite(value):
            return "nan"
        if self._trims and value > 0:
            places = digits - 1 - math.floor(math.log10(value))
            shown = f"{round(value, places):.{max(places, 0)}f}"
        else:
            shown = f"{value:.1f}"
        return shown + (f" (! {100 * m.iqr / m.median:.0f}%)" if self._warns and m.has_warnings else "")

    def _colored(self, text: str, m: Measurement | None, row: Any, column: Any, at: dict[Any, Measurement]) -> str:
        if m is None or self._colors is Colorize.NONE:
            return text
        same = [v for k, v in at.items() if (k[:3] == row if self._colors is Colorize.ROWWISE else k[3] == column)]
        ratio = m.median / min(v.median for v in same)
        color = next((c for bound, c in ((1.05, _BEST), (1.2, _GOOD), (2, ""), (4, _BAD)) if ratio <= bound), _WORST)
        return f"{color}{text}{_END}" if color else text


__dir__ = _public.names(globals())
