"""The number of operations of products, convolutions and attention. PyTorch's counter gives the same ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd.torch as _torch
import pytest
from ferrograd.torch.utils.flop_counter import FlopCounterMode

torch: Any = _torch
F: Any = torch.nn.functional
nn: Any = torch.nn


def tensor(*shape: int) -> Any:
    return torch.randn(*shape, requires_grad=True)


#: What runs, on tensors of which shapes; how many operations forward, and in all.
CASES: list[tuple[str, Callable[..., Any], list[tuple[int, ...]], int, int]] = [
    ("linear", nn.Linear(3, 4), [(5, 2, 3)], 240, 720),
    ("without bias", nn.Linear(3, 4, bias=False), [(2, 3)], 48, 144),
    ("convolution", nn.Conv2d(4, 8, 3), [(2, 4, 8, 8)], 41472, 124416),
    ("transposed", nn.ConvTranspose2d(3, 8, 3, stride=2), [(2, 3, 8, 8)], 55296, 165888),
    ("matrices", lambda a, b: a @ b, [(2, 3), (3, 4)], 48, 144),
    ("matrix and vector", lambda a, b: a @ b, [(2, 3), (3,)], 0, 0),
    ("stacks", lambda a, b: torch.matmul(a, b), [(5, 2, 3), (7, 1, 3, 4)], 1680, 5040),
    ("einsum", lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), [(5, 2), (2, 3), (3, 4)], 180, 540),
    ("ellipsis", lambda a, b: torch.einsum("...i,ij->...j", a, b), [(5, 2, 3), (3, 4)], 240, 720),
    ("addmm", lambda c, a, b: torch.addmm(c, a, b), [(2, 4), (2, 3), (3, 4)], 48, 144),
    (
        "attention",
        lambda *x: F.scaled_dot_product_attention(*x),
        [(2, 4, 5, 8), (2, 4, 6, 8), (2, 4, 6, 8)],
        7680,
        23040,
    ),
    ("heads", nn.MultiheadAttention(8, 2), [(5, 2, 8), (6, 2, 8), (6, 2, 8)], 7552, 22656),
    ("recurrent", nn.GRU(3, 4), [(5, 2, 3)], 1680, 5040),
    ("chain", lambda *x: torch.linalg.multi_dot(x), [(2, 3), (3, 4), (4, 5)], 128, 384),
    ("tensordot", lambda a, b: torch.tensordot(a, b, 1), [(2, 3), (3, 4)], 48, 144),
]


@pytest.mark.parametrize(("f", "shapes", "ahead", "total"), [pytest.param(*c[1:], id=c[0]) for c in CASES])
def test_counts(f: Callable[..., Any], shapes: list[tuple[int, ...]], ahead: int, total: int) -> None:
    inputs = [tensor(*shape) for shape in shapes]
    with FlopCounterMode(display=False) as counter:
        out = f(*inputs)
        assert counter.get_total_flops() == ahead
        (out[0] if isinstance(out, tuple) else out).sum().backward()
    assert counter.get_total_flops() == total
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        f(*inputs)
    assert counter.get_total_flops() == ahead


def test_modules(capsys: Any) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 5)))
    with FlopCounterMode() as counter:
        model(torch.ones(2, 3)).sum().backward()
    counts = {name: {str(op): n for op, n in ops.items()} for name, ops in counter.get_flop_counts().items()}
    assert counts == {
        "Global": {"aten.addmm": 128, "aten.mm": 208},
        "Sequential": {"aten.addmm": 128, "aten.mm": 208},
        "Sequential.0": {"aten.addmm": 48, "aten.mm": 48},
        "Sequential.2": {"aten.addmm": 80, "aten.mm": 160},
        "Sequential.2.0": {"aten.addmm": 80, "aten.mm": 160},
    }
    table = capsys.readouterr().out
    assert "Sequential.2 " in table
    assert "Sequential.2.0" not in table
    assert "Sequential.2.0" in counter.get_table()
    model(torch.ones(2, 3))
    assert counter.get_total_flops() == 336


def test_formulas_of_ones_own() -> None:
    mapping = {torch.ops.aten.sin: lambda shape, out_shape=None: shape.numel()}
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        torch.sin(torch.ones(2, 3))
    assert {str(op): n for op, n in counter.get_flop_counts()["Global"].items()} == {"aten.sin": 6}


def test_compiled_functions_run_op_by_op() -> None:
    layer = nn.Linear(3, 4)
    compiled = torch.compile(layer)
    compiled(torch.ones(2, 3))
    with FlopCounterMode(display=False) as counter, pytest.warns(UserWarning, match="FlopCounterMode"):
        compiled(torch.ones(2, 3))
    assert counter.get_total_flops() == 48
