"""What ``explain()`` says that a program computes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np


def explained(f: Callable[..., Any], *args: Any) -> list[str]:
    """By op of the program: what it computes, without the line that applied it."""
    compiled = fg.compile(f, fullgraph=True)
    compiled(*args)
    return texts(compiled)


def texts(compiled: Any) -> list[str]:
    lines = [line.split("  ") for line in str(compiled.explain()).splitlines()]
    parts = [list(filter(None, line)) for line in lines]
    return [f"{name} {text}" for _, name, text, *_ in (p for p in parts if len(p) > 2 and " = " in p[2])]


def test_products_sums_and_what_is_repeated() -> None:
    def f(x: Any, w: Any, b: Any) -> Any:
        y = fg.tanh(x @ w + b)
        return (y * 2).sum(1)

    assert explained(f, fg.ones((30, 8)), fg.ones((8, 4)), fg.ones(4)) == [
        "matmul v0 = matmul(x0[i, :], x1[:, j])",
        "add v1[i, j] = add(v0[i, j], x2[j])",
        "tanh v2[i, j] = tanh(v1[i, j])",
        "multiply v3[i, j] = multiply(v2[i, j], 2)",
        "sum v4 = sum(v3[i, :])",
    ]


def test_moves_and_views_are_index_maps() -> None:
    def f(x: Any, y: Any) -> Any:
        s = fg.stack([x, y[::-1]], 1)
        return fg.concat([s.T, s[:2, :1] * fg.ones((1, 12))]), fg.roll(x, 3), fg.pad(x[4:8], (2, 1))

    assert explained(f, fg.ones(12), fg.ones(12)) == [
        "stack v0[i, 0] = x0[i], v0[i, 1] = x1[11 - i]",
        "multiply v1[i, j] = multiply(v0[i, 0], c[0, j])",
        "concat v2[i, j] = v0[j, i], v2[i + 2, j] = v1[i, j]",
        "roll v3[i + 3] = x0[i], v3[i] = x0[i + 9]",
        "pad v4[i + 2] = x0[i + 4], zeros elsewhere",
    ]


def test_hidden_axes_come_first() -> None:
    f = fg.func.vmap(lambda x, y: fg.sin(x) * y, in_axes=(0, None))
    assert explained(f, fg.ones((20, 3)), fg.ones(3)) == [
        "sin v0[i, j] = sin(x0[i, j])",
        "multiply v1[i, j] = multiply(v0[i, j], x1[j])",
    ]


def test_a_place_that_no_axes_name_is_one_of_memory() -> None:
    def f(x: Any) -> Any:
        return fg.exp(x.reshape((6, 4)).T.reshape((24,))[::5]) + fg.exp(fg.as_strided(x, (3, 3), (2, 3)))[0, 0]

    assert sorted(explained(f, fg.ones((4, 6)))) == [
        "add v3[i] = add(v1[i], v2[0, 0])",
        "exp v1[i] = exp(v0[5i])",
        "exp v2[i, j] = exp(x0{2i + 3j})",
        "reshape v0[i] = x0{i + 4j} in C order",
    ]


def test_numbers_that_are_taken_apart_are_shown_as_they_were_written() -> None:
    assert explained(lambda x: fg.sin(x @ x) + 1, fg.ones((2, 2))) == [
        "matmul v0 = matmul(x0[i, :], x0[:, j])",
        "sin v1[i, j] = sin(v0[i, j])",
        "add v2[i, j] = add(v1[i, j], 1)",
    ]


def test_a_pass_says_what_it_reads_and_writes() -> None:
    compiled = fg.compile(lambda x, y: (fg.exp(x) * y).sum(), fullgraph=True)
    compiled(fg.ones((100, 10)), fg.ones(10))
    [exponentials, *_] = [line for line in str(compiled.explain()).splitlines() if "exp(" in line]
    assert "(reads 4,040 bytes, writes 4; at least 0." in exponentials


def test_a_pass_says_what_the_machine_takes_at_least_for_its_bytes_and_products() -> None:
    def least(f: Any, *arguments: Any) -> list[float]:
        compiled = fg.compile(f, fullgraph=True)
        compiled(*arguments)
        found = re.findall(r"at least ([\d,.]+) us\)", str(compiled.explain()))
        return [float(number.replace(",", "")) for number in found]

    x = fg.ones((300, 300))
    assert all(least(f, x)[0] > 0 for f in (fg.exp, lambda x: x @ x, lambda x: (x @ x).sum()))
    assert least(fg.exp, fg.ones((0, 3))) == [0.0]


def test_what_is_read_has_a_name_whatever_it_is() -> None:
    def f(z: Any, n: Any, empty: Any) -> Any:
        return fg.imag(z) * 2, n + 1, fg.exp(empty).sum(), fg.linalg.qr(fg.real(z).reshape((2, 2)))[0]

    z = fg.tensor(np.arange(4.0) + 1j)
    lines = explained(f, z, fg.tensor([1, 2, 3]), fg.ones((0, 3)))
    assert "multiply v0[i] = multiply(x0{2i + 1}, 2)" in lines
    assert "add v1[i] = add(x1[i], 1)" in lines
    assert any(line.startswith("sum v") for line in lines)
    assert any(", v" in line for line in lines if line.startswith("linalg.qr"))
