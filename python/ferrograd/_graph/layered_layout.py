"""Layered drawing of a directed acyclic graph (Sugiyama's method).

The row of an item is its longest path. The order within a row minimizes crossings by the barycentre heuristic. The x
coordinates are fitted by least squares.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 8
# The width of an edge in the rows it passes through, and the gap between two items of a row, in pixels.
_PASSING = 14.0
_GAP = 22.0
# The weight of a bend of a long edge in the least-squares fit; an item has 1.
_STRAIGHT = 6.0


@dataclass
class Layout:
    """A drawing: the centre and row of each item, and for each edge its bends as (x, row). Sizes are in pixels."""

    x: list[float]
    row: list[int]
    rows: int
    width: float
    bends: dict[tuple[int, int], list[tuple[float, int]]]


def layout(widths: Sequence[float], edges: Sequence[tuple[int, int]]) -> Layout:
    """Lays out items with these widths. An edge leads from an item to a later one; repeated edges count once."""
    edges = list(dict.fromkeys(edges))
    row = _rows(len(widths), edges)
    sizes = list(widths)
    rows: list[list[int]] = [[] for _ in range(max(row, default=-1) + 1)]
    for item, at in enumerate(row):
        rows[at].append(item)
    # All edges from one item share one point in each row they pass through.
    passing: dict[tuple[int, int], int] = {}
    links: dict[tuple[int, int], None] = {}
    for start, end in edges:
        last = start
        for at in range(row[start] + 1, row[end]):
            if (start, at) not in passing:
                passing[start, at] = len(sizes)
                rows[at].append(len(sizes))
                sizes.append(_PASSING)
            links[last, passing[start, at]] = None
            last = passing[start, at]
        links[last, end] = None
    above: list[list[int]] = [[] for _ in sizes]
    below: list[list[int]] = [[] for _ in sizes]
    for start, end in links:
        below[start].append(end)
        above[end].append(start)
    rows = _ordered(rows, above, below)
    x = _placed(rows, sizes, above, below, len(widths))
    left = min((x[i] - sizes[i] / 2 for i in range(len(sizes))), default=0.0)
    x = [at - left for at in x]
    width = max((x[i] + sizes[i] / 2 for i in range(len(sizes))), default=0.0)
    bends = {(s, e): [(x[passing[s, at]], at) for at in range(row[s] + 1, row[e])] for s, e in edges}
    return Layout(x[: len(widths)], row, len(rows), width, bends)


def _rows(n: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The row of each item: its longest path from a source, or just above its first successor if that is no detour."""
    row = [0] * n
    into: list[list[int]] = [[] for _ in range(n)]
    out: list[list[int]] = [[] for _ in range(n)]
    for start, end in edges:
        into[end].append(start)
        out[start].append(end)
    for end in range(n):
        row[end] = max((row[start] + 1 for start in into[end]), default=0)
    for item in reversed(range(n)):
        # A source follows its only successor. So where other inputs are no more than successors, edges get no longer.
        held = [start for start in into[item] if into[start] or len(out[start]) > 1]
        if out[item] and len(held) <= len(out[item]):
            row[item] = min(row[end] for end in out[item]) - 1
    return row


def _ordered(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> list[list[int]]:
    """The order within the rows with the fewest crossings met in sweeps down and up."""
    best, fewest = rows, _crossings(rows, below)
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        down = sweep % 2 == 0
        near = above if down else below
        rows = [list(one) for one in rows]
        place = {item: at for one in rows for at, item in enumerate(one)}
        for one in rows if down else reversed(rows):
            want = {i: sum(place[j] for j in near[i]) / len(near[i]) if near[i] else float(place[i]) for i in one}
            one.sort(key=want.__getitem__)
            place.update((item, at) for at, item in enumerate(one))
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = rows, crossings
    return best


def _crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    """The number of crossings of edges between neighbouring rows."""
    total = 0
    for one, following in pairwise(rows):
        place = {item: at for at, item in enumerate(following)}
        met: list[int] = []
        for item in one:
            ends = sorted(place[end] for end in below[item])
            total += sum(len(met) - bisect_right(met, end) for end in ends)
            met = sorted(met + ends)
    return total


def _placed(
    rows: list[list[int]], sizes: list[float], above: list[list[int]], below: list[list[int]], items: int
) -> list[float]:
    """The x coordinates: each item near the mean of its neighbours, in the order of its row."""
    x = [0.0] * len(sizes)
    for one in rows:
        total = sum(sizes[i] for i in one) + _GAP * (len(one) - 1)
        at = -total / 2
        for i in one:
            x[i] = at + sizes[i] / 2
            at += sizes[i] + _GAP
    for sweep in range(2 * _SWEEPS):
        near = [above, below][sweep % 2] if sweep < 2 * _SWEEPS - 2 else None
        for one in rows if sweep % 2 == 0 else reversed(rows):
            want, weight = [], []
            for i in one:
                around = near[i] if near is not None else above[i] + below[i]
                want.append(sum(x[j] for j in around) / len(around) if around else x[i])
                weight.append(_STRAIGHT if i >= items else 1.0)
            for i, at in zip(one, _apart(want, weight, [sizes[i] for i in one]), strict=True):
                x[i] = at
    return x


def _apart(want: list[float], weight: list[float], sizes: list[float]) -> list[float]:
    """The coordinates nearest to ``want`` (weighted least squares) at which items of these sizes do not overlap.

    Neighbours that would overlap are merged into one block at their mean (pool adjacent violators).
    """
    offsets: list[float] = []
    at = 0.0
    for before, own in zip([0.0, *sizes], sizes, strict=False):
        at += (before + own) / 2 + (_GAP if offsets else 0.0)
        offsets.append(at)
    blocks: list[tuple[float, float, int]] = []
    for place, w, offset in zip(want, weight, offsets, strict=True):
        mean, total, count = place - offset, w, 1
        while blocks and blocks[-1][0] > mean:
            other, more, members = blocks.pop()
            mean = (mean * total + other * more) / (total + more)
            total, count = total + more, count + members
        blocks.append((mean, total, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
