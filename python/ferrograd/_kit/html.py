"""Pieces of HTML for notebooks: tables of facts, tables of numbers, and small pictures of matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

#: The number of rows and columns of numbers that are shown, and of blocks that a picture has.
NUMBERS, BLOCKS = 8, 32
#: The colours of numbers below zero, at zero, above zero, and of what is not finite.
BELOW, ZERO, ABOVE, MISSING = (33, 102, 172), (247, 247, 247), (178, 24, 43), (150, 150, 150)


def escape(text: str) -> str:
    """The text with its special characters as HTML names them. Few programs need the tables of the module."""
    import html

    return html.escape(text)


def facts(name: str, known: Mapping[str, object]) -> str:
    """One line: a name, and what is known."""
    row = " &middot; ".join(f"{escape(key)} <b>{escape(str(value))}</b>" for key, value in known.items())
    return f'<div style="opacity:.8">{escape(name)} {row}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; the first column has names, the others have numbers."""

    def line(cells: Sequence[object], tag: str) -> str:
        first, *rest = (escape(str(cell)) for cell in cells)
        named = f'<{tag} style="text-align:left;white-space:pre">{first}</{tag}>'
        return "<tr>" + named + "".join(f"<{tag}>{cell}</{tag}>" for cell in rest) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f'<table style="text-align:right"><thead>{line(head, "th")}</thead><tbody>{body}</tbody></table>'


#: Sorts the rows of a table by the column whose head was clicked: the largest number or the first name comes first, or
#: last if they are in that order already.
_SORT = """const column = this.cellIndex, body = this.closest("table").tBodies[0];
const cell = row => row.cells[column].textContent;
const order = (a, b) => column ? cell(b) - cell(a) : cell(a).localeCompare(cell(b));
const rows = [...body.rows], sorted = [...rows].sort(order);
if (sorted.every((row, i) => !order(row, rows[i]))) sorted.reverse();
body.append(...sorted);"""


def ranking(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of numbers that are not negative: a click on a head sorts by that column, and large numbers are red.

    The first column has names. The closer a number is to the largest in its column, the redder it is.
    """
    red = ",".join(map(str, ABOVE))
    most = [max((float(str(row[i])) for row in rows), default=0.0) or 1.0 for i in range(1, len(head))]
    script = escape(_SORT)

    def line(name: object, *cells: object) -> str:
        parts = (float(str(cell)) / top for cell, top in zip(cells, most, strict=True))
        shaded = "".join(
            f'<td style="background:rgba({red},{part / 2:.2f})">{cell}</td>'
            for cell, part in zip(cells, parts, strict=True)
        )
        return f'<tr><td style="text-align:left;white-space:pre">{escape(str(name))}</td>{shaded}</tr>'

    sides = ["left"] + ["right"] * len(most)
    heads = "".join(
        f'<th style="cursor:pointer;text-align:{side}" onclick="{script}" title="sort">{escape(name)}</th>'
        for name, side in zip(head, sides, strict=True)
    )
    body = "".join(line(*row) for row in rows)
    return f'<table style="text-align:right"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'


def _edges(n: int) -> list[int | None]:
    """The indices of an axis that are shown; None stands for the gap."""
    half = NUMBERS // 2
    return list(range(n)) if n <= NUMBERS else [*range(half), None, *range(n - half, n)]


def numbers(a: np.ndarray[Any, Any]) -> str:
    """A vector or a matrix as a table with aligned columns, without what lies between its edges."""
    a = a if a.ndim == 2 else a[None]
    rows, columns = _edges(a.shape[0]), _edges(a.shape[1])
    shown = a[np.ix_([i for i in rows if i is not None], [j for j in columns if j is not None])].reshape(-1)
    text = np.array2string(shown, separator="|", threshold=shown.size + 1, max_line_width=10**9)
    cells = iter(escape(cell.strip()) for cell in text[1:-1].split("|"))
    lines = []
    for i in rows:
        line = ["&#8942;" if i is None else "&hellip;" if j is None else next(cells) for j in columns]
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>")
    style = "text-align:right;font-family:monospace;margin:.3em 0"
    return f'<table style="{style}"><tbody>{"".join(lines)}</tbody></table>'


def _means(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The means of blocks of a matrix, at most ``BLOCKS`` along each axis."""
    for axis in (0, 1):
        n = a.shape[axis]
        starts = np.unique(np.arange(min(n, BLOCKS)) * n // min(n, BLOCKS))
        counts = np.diff(np.append(starts, n))
        a = np.add.reduceat(a, starts, axis=axis) / (counts[:, None] if axis == 0 else counts)
    return a


def picture(a: np.ndarray[Any, Any], text: str) -> str:
    """A matrix of numbers as a small picture: white is zero, red above, blue below, grey not finite."""
    # Only pictures need these extensions, and text is shown even where no memory is left to load them.
    import base64
    import struct
    import zlib

    with np.errstate(all="ignore"):
        blocks = _means(a.astype(np.float64))
        known = np.isfinite(blocks)
        top = np.abs(blocks[known]).max(initial=0.0)
        part = np.where(known, blocks, 0.0) / (top or 1.0)
    side = np.where(part[..., None] < 0, np.array(BELOW), np.array(ABOVE))
    weight = np.abs(part)[..., None]
    pixels = np.where(known[..., None], side * weight + np.array(ZERO) * (1 - weight), np.array(MISSING))
    height, width = part.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels.round().astype(np.uint8))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    png = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    scale = 96 / max(height, width)
    size = f"width:{max(1, round(width * scale))}px;height:{max(1, round(height * scale))}px"
    style = f"image-rendering:pixelated;{size};margin:.3em 0"
    data = base64.b64encode(png).decode()
    return f'<img alt="{escape(text)}" style="{style}" src="data:image/png;base64,{data}">'
