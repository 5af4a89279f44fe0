"""``torch.jit.save`` and ``torch.jit.load`` of modules."""

from __future__ import annotations

import enum
import io
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from ferrograd import FerrogradError, torch as _torch
from ferrograd.torch._base.written import write

from tests.dialects import values

torch: Any = _torch
F = torch.nn.functional


class Size(enum.Enum):
    SMALL = 1
    LARGE = 2


class Recipe:
    """An object of a plain class, as an attribute of a module."""

    def __init__(self, scale: float) -> None:
        self.scale, self.steps = scale, [1, 2]


class Plain(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5))
        self.same = self.inner[0]
        self.register_buffer("shift", torch.arange(3.0), persistent=False)
        self.size, self.activation, self.rounding = size, F.gelu, torch.floor
        self.table = {"a": (1, [2.5, None]), "b": {"c"}}
        self.recipe = Recipe(3.0)

    def forward(self, x: Any) -> Any:
        x = self.activation(self.inner(x)) * self.recipe.scale + self.shift
        return self.rounding(x) if self.size is Size.LARGE else x


class Leaky(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.make = torch.nn.Linear
        self.end = lambda x: x

    def forward(self, x: Any) -> Any:
        return self.make


def through(module: Any, **options: Any) -> Any:
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return torch.jit.load(file, **options)


@pytest.mark.parametrize("size", Size)
def test_a_module_comes_back_as_it_was(size: Size) -> None:
    module = Plain(size)
    x = torch.randn(4, 3)
    module(x)
    module.eval()
    found = through(module)
    assert type(found) is Plain
    assert torch.equal(found(x), module(x))
    assert found.same is found.inner[0]
    assert found.table == module.table
    assert not found.training
    assert list(found.state_dict()) == list(module.state_dict())
    assert [p.requires_grad for p in found.parameters()] == [p.requires_grad for p in module.parameters()]
    found.train()(x).sum().backward()


@pytest.mark.parametrize(
    "module",
    [
        torch.nn.LSTM(2, 2, batch_first=True),
        torch.nn.TransformerEncoderLayer(2, 1, 4, batch_first=True).eval(),
        torch.nn.Sequential(torch.nn.Conv1d(3, 3, 2, padding="same"), torch.nn.LayerNorm(2), torch.nn.PReLU()),
    ],
    ids=lambda module: type(module).__name__,
)
def test_layers(module: Any) -> None:
    x = torch.randn(2, 3, 2)
    found, wanted = through(module)(x), module(x)
    found, wanted = (y[0] if isinstance(y, tuple) else y for y in (found, wanted))
    assert torch.equal(found, wanted)


def test_by_path_with_other_entries(tmp_path: Path) -> None:
    path = tmp_path / "line.pt"
    module = torch.nn.Linear(2, 1)
    torch.jit.save(module, path, {"note": "hello", "bytes": b"\x00"})
    extra = {"note": "", "absent": "kept"}
    found = torch.jit.load(path, _extra_files=extra)
    assert values(found.weight) == values(module.weight)
    assert extra == {"note": b"hello", "absent": "kept"}
    assert type(torch.load(path)) is torch.nn.Linear


def test_attributes_that_are_no_data_are_named() -> None:
    with pytest.warns(UserWarning, match=r"lacks them: tests.*Leaky\.make, tests.*Leaky\.end"):
        found = through(Leaky())
    with pytest.raises(AttributeError, match="make"):
        found(1)


def test_what_is_not_saved() -> None:
    class Inner(torch.nn.Module):  # type: ignore[misc]
        pass

    hooked = torch.nn.Linear(1, 1)
    hooked.register_forward_hook(lambda *_: None)
    for module, text in (
        (lambda x: x, "modules are saved, not function"),
        (Inner(), "is not found by its name"),
        (torch.nn.Sequential(hooked), "has hooks"),
    ):
        with pytest.raises(FerrogradError, match=text):
            torch.jit.save(module, io.BytesIO())


def read(records: Any) -> Any:
    """What a file of somebody else gives."""
    file = io.BytesIO()
    write(records, file, 2, {"ferrograd_modules": b"1"})
    file.seek(0)
    return torch.jit.load(file)


HERE = Plain.__module__


@pytest.mark.parametrize(
    ("records", "text"),
    [
        ([("antigravity", "Model", {})], "import antigravity before"),
        ([("os", "system", {})], "no class of modules"),
        ([("subprocess", "Popen", {})], "no class of modules"),
        ([(HERE, "Recipe", {})], "no class of modules"),
        ([(HERE, "Plain", {"x": ("object", "tempfile", "_TemporaryFileCloser", {"name": "x"})})], "no plain class"),
        ([(HERE, "Plain", {"x": ("object", HERE, "Plain", {})})], "no plain class"),
        ([(HERE, "Plain", {"x": ("enum", HERE, "Recipe", "a")})], "no enumeration"),
        ([(HERE, "Plain", {"x": ("function", "load")})], "the function load"),
        ([(HERE, "Plain", {"x": ("function", "__import__")})], "the function __import__"),
        ([(HERE, "Plain", {"x": ("what", [])})], "damaged"),
        ([(HERE, "Plain", {"x": ("module", 7)})], "damaged"),
        ([(HERE, "__dict__", {})], "no class of modules"),
        ([], "damaged"),
        ({"w": 1}, "damaged"),
        (5, "damaged"),
    ],
)
def test_files_of_somebody_else(records: Any, text: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=text):
        read(records)
    assert "antigravity" not in sys.modules


def test_no_code_runs_while_a_file_is_read() -> None:
    file = io.BytesIO()
    write(Recipe(1.0), file, 2, {"ferrograd_modules": b"1"})
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Recipe"):
        torch.jit.load(file)
    file = io.BytesIO()
    write([], file, 2, {"ferrograd_modules": b"2"})
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="newer release"):
        torch.jit.load(file)
