"""The index of ops. What it says of orders and dtypes is what happened when the rows of the table of cases were run."""

from __future__ import annotations

import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import ferrograd as fg
import numpy as np
from ferrograd import paddle, torch

from sitegen import names
from sitegen.docstrings import prose
from sitegen.reference import first_sentence, getattr_path, heading, link
from tests import check
from tests.cases import Case, all_cases

PAGE = Path(__file__).parents[1] / "reference/ops-index.rst"
#: The dtypes of a column, by its letter.
KINDS = {
    "b": ("bool",),
    "i": ("int32", "int64"),
    "h": ("float16", "bfloat16"),
    "f": ("float32", "float64"),
    "c": ("complex64", "complex128"),
}
REAL = {name for kind, names in KINDS.items() if kind != "c" for name in names}
#: The order at which the probe stops; a derivative of that order has a gradient function itself.
ENOUGH = 4
#: Where a dialect keeps functions.
PLACES = ("", "nn.functional", "linalg", "fft", "special")


@cache
def rows() -> dict[str, list[Case]]:
    """The rows of the table of cases by op."""
    found = defaultdict(list)
    for case in all_cases():
        found[case.op].append(case)
    return found


def call(case: Case, dtype: str | None = None) -> tuple[list[Any], list[Any]]:
    """The results of a row and the inputs that are differentiated; with a dtype, floats among its inputs have that."""

    def one(a: Any) -> Any:
        if isinstance(a, list):
            return [one(part) for part in a]
        a = np.asarray(a)
        if dtype is None or a.dtype.kind not in "fc":
            return fg.tensor(a)
        return fg.astype(fg.tensor(a.real if dtype in REAL else a), dtype)

    args = check.tensors(case, track=True) if dtype is None else [one(a) for a in case.inputs]
    result = getattr_path(case.op)(*case.lead, *case.prepare(*args), **case.kw)
    return (list(result) if isinstance(result, (list, tuple)) else [result]), args


def order(case: Case) -> int:
    """How often the op can be differentiated one after another; ``ENOUGH`` if there is no end in sight."""
    if case.order == 0:
        return 0
    outs, args = call(case)
    leaves = check.leaves(case, args)
    outs = [o for o in outs if isinstance(o, fg.Tensor) and o.requires_grad]
    n = 0
    while outs and n < ENOUGH:
        total = sum((fg.sum(fg.abs(o) if o.dtype.kind == "c" else o) for o in outs), fg.tensor(0.0))
        n += 1
        found = fg._core.grad([total], leaves, [None], 1, create_graph=True)
        outs = [g for g in found if g is not None and g.requires_grad]
    return ENOUGH if n and (n == ENOUGH or not outs) else n


def takes(case: Case, dtype: str) -> bool:
    """Whether the op computes with a dtype. Where it does not, it raises an error of the library."""
    # The zeros of other dtypes divide.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            call(case, dtype)
        except fg.FerrogradError:
            return False
    return True


def dtypes(cases: list[Case]) -> str:
    """The letters of the dtypes of which an op takes its first operands."""
    floats = [
        c for c in cases if any(np.asarray(a[0] if isinstance(a, list) else a).dtype.kind in "fc" for a in c.inputs)
    ]
    if not floats:
        return "".join(sorted({np.asarray(a).dtype.kind.replace("u", "i") for c in cases for a in c.inputs}))
    return "".join(k for k, names in KINDS.items() if any(takes(c, n) for c in floats[:4] for n in names))


def place(module: Any, path: str) -> Any:
    """The module below a dialect; None where the dialect has none."""
    for part in filter(None, path.split(".")):
        module = getattr(module, part, None)
    return module


def in_dialect(dialect: Any, ops: list[str]) -> str:
    """What a dialect calls an op."""
    found = []
    for where in PLACES:
        for name in dict.fromkeys(op.split(".")[-1] for op in ops):
            if name in getattr(place(dialect, where), "__all__", ()):
                short = dialect.__name__.split(".")[1]
                found.append(f"``{'.'.join(filter(None, [short, where, name]))}``")
    return " ".join(found[:3]) or "–"


def row(op: str) -> list[str]:
    """The cells of an op."""
    cases = [case for name in names.entries()[op] for case in rows()[name]]
    highest = max(order(case) for case in cases)
    others = names.entries()[op][1:]
    return [
        link(f"ferrograd.{op}", op) + "".join(f" ``{name}``" for name in others),
        prose(first_sentence(getattr_path(op))),
        {0: "–", ENOUGH: "any"}.get(highest, str(highest)),
        dtypes(cases) or "–",
        in_dialect(torch, names.entries()[op]),
        in_dialect(paddle, names.entries()[op]),
    ]


INTRODUCTION = """Each row was made by asking the library. *Orders* is the number of times that an op can be
differentiated: the page's program tried up to {enough}. *Dtypes* are those of which the op takes its operands:
**b**\\ ool, **i**\\ ntegers, **h**\\ alf precision (float16, bfloat16), **f**\\ loats, **c**\\ omplex numbers. The last
columns have the names in ``ferrograd.torch`` and ``ferrograd.paddle``.

"""


def write() -> None:
    """Writes the page."""
    ops = sorted(op for op, all_names in names.entries().items() if all_names[0] == op)
    text = heading(f"All {len(ops)} ops", "=") + INTRODUCTION.format(enough=ENOUGH)
    text += ".. list-table::\n   :header-rows: 1\n   :widths: 18 28 7 7 20 20\n   :class: ops\n\n"
    for cells in [["op", "what it computes", "orders", "dtypes", "torch", "Paddle"], *map(row, ops)]:
        text += "".join(f"   {'* -' if i == 0 else '  -'} {cell}\n" for i, cell in enumerate(cells))
    if not PAGE.exists() or PAGE.read_text("utf8") != text:
        PAGE.write_text(text, "utf8")
