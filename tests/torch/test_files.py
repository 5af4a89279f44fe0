"""``torch.save`` and ``torch.load``."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from ferrograd import torch as _torch

from tests.dialects import values

torch: Any = _torch


def through(obj: Any, **options: Any) -> Any:
    file = io.BytesIO()
    torch.save(obj, file, **options)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize("protocol", range(6))
def test_save_and_load(protocol: int) -> None:
    p = torch.nn.Parameter(torch.ones(2))
    state = OrderedDict(w=p, b=torch.tensor([1, 2]), n=3, names=["a", (None, True)], shape=p.shape, seen={1, 2})
    found = through(state, pickle_protocol=protocol)
    assert type(found) is OrderedDict
    assert type(found["w"]) is torch.nn.Parameter
    assert values(found["w"]) == [1, 1]
    assert found["w"].requires_grad
    assert values(found["b"]) == [1, 2]
    assert found["b"].dtype == "int64"
    assert (found["n"], found["names"], found["seen"]) == (3, ["a", (None, True)], {1, 2})
    assert type(found["shape"]) is torch.Size


def test_by_path(tmp_path: Path) -> None:
    x = torch.tensor([[1.5]], dtype=torch.float64, requires_grad=True)
    for path in (tmp_path / "x.pt", str(tmp_path / "y.pt")):
        torch.save(x, path)
        found = torch.load(path, map_location="cpu")
        assert values(found) == [[1.5]]
        assert found.requires_grad


class Named:
    """An object that cannot be stored in a file of tensors."""


def test_loading_a_file_runs_no_code() -> None:
    file = io.BytesIO()
    torch.save(Named(), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        torch.load(file)
    file.seek(0)
    assert isinstance(torch.load(file, weights_only=False), Named)
