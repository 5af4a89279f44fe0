"""``torch.save`` and ``torch.load``."""

from __future__ import annotations

import io
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ferrograd import ArgumentError
from ferrograd import torch as _torch

from tests.dialects import values

torch: Any = _torch

_genops: Any = pickletools.genops


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


def _archive(text: bytes, **memories: bytes) -> io.BytesIO:
    """A file as PyTorch writes it: a pickle, and the memory of tensors by number."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model/data.pkl", text)
        for name, memory in memories.items():
            archive.writestr(f"model/data/{name[1:]}", memory)
        archive.writestr("model/version", b"3\n")
    file.seek(0)
    return file


def _tensor(kind: str, size: int, shape: bytes, strides: bytes) -> bytes:
    """The pickle of a tensor whose memory is number 0, in protocol 2."""
    storage = b"(X\x07\x00\x00\x00storage" + b"ctorch\n" + kind.encode() + b"\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    storage += b"K" + bytes([size]) + b"tQ"
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + (storage + b"K\x01" + shape + strides + b"\x89" + b"ccollections\nOrderedDict\n)R")
        + b"tR"
    )


def test_a_file_of_pytorch() -> None:
    memory = np.arange(7, dtype="<f4").tobytes()
    parameter = b"ctorch._utils\n_rebuild_parameter\n(" + _tensor(
        "FloatStorage", 7, b"K\x02K\x03\x86", b"K\x01K\x02\x86"
    )
    parameter += b"\x88ccollections\nOrderedDict\n)RtR"
    size = b"ctorch\nSize\nK\x02\x85\x85R"
    dtype = b"ctorch\nfloat64\n"
    found = torch.load(_archive(b"\x80\x02(" + parameter + size + dtype + b"t.", _0=memory))
    assert type(found[0]) is torch.nn.Parameter
    assert values(found[0]) == [[1, 3, 5], [2, 4, 6]]
    assert found[0].stride() == (1, 2)
    assert found[1:] == (torch.Size([2]), torch.float64)


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        (_tensor("FloatStorage", 4, b"K\x09\x85", b"K\x01\x85"), b"\0" * 16),
        (_tensor("FloatStorage", 4, b"K\x02\x85", b"K\x01\x85"), b"\0" * 12),
        (_tensor("FloatStorage", 4, b"K\x02\x85", b"K\x09\x85"), b"\0" * 16),
        (b"cos\nsystem\nX\x04\x00\x00\x00true\x85R", b""),
        (b"ctorch.hub\nload\n(tR", b""),
        (b"X\x01\x00\x00\x00aQ", b""),
    ],
)
def test_damaged_files_of_pytorch(text: bytes, memory: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError):
        torch.load(_archive(b"\x80\x02" + text + b".", _0=memory))


@pytest.mark.parametrize(
    "name",
    [
        b"torch\nTensor",
        b"torch\nSize",
        b"torch\ndevice",
        b"torch.nn.parameter\nParameter",
        b"torch._utils\n_rebuild_tensor_v2",
        b"ferrograd._tensor.pickling\n_rebuild",
        b"ferrograd._tensor.shape\nTorchSize",
        b"ferrograd.torch.nn.parameter\nParameter",
    ],
)
def test_a_file_changes_no_class_and_no_function(name: bytes) -> None:
    """A pickle can give a state to whatever it names; the state of a class would be its attributes."""
    for state in (b"N}X\x07\x00\x00\x00changedK\x07s\x86", b"}X\x07\x00\x00\x00changedK\x07s"):
        text = b"\x80\x02c" + name + b"\n" + state + b"b."
        for file in (io.BytesIO(text), _archive(text)):
            with pytest.raises(pickle.UnpicklingError):
                torch.load(file)
    for changed in (torch.Tensor, torch.Size, torch.device, torch.nn.Parameter):
        assert not hasattr(changed, "changed")


def test_what_pytorch_reads() -> None:
    file = io.BytesIO()
    w = torch.arange(6.0).reshape(2, 3)
    torch.save(
        {"w": w, "tied": w.detach(), "t": w.T, "p": torch.nn.Parameter(w), "u": torch.ones(1, dtype=torch.uint16)}, file
    )
    with zipfile.ZipFile(file) as archive:
        names = [name.partition("/")[2] for name in archive.namelist()]
        text = archive.read("archive/data.pkl")
        assert archive.read("archive/data/0") == np.arange(6, dtype="<f4").tobytes()
    # The tensors on the same memory share one entry.
    assert names == ["data.pkl", "byteorder", "data/0", "data/1", "version"]
    named = {arg for op, arg, _ in _genops(text) if op.name == "GLOBAL"}
    assert named == {
        "collections OrderedDict",
        "torch FloatStorage",
        "torch uint16",
        "torch._utils _rebuild_parameter",
        "torch._utils _rebuild_tensor_v2",
        "torch._utils _rebuild_tensor_v3",
        "torch.storage UntypedStorage",
    }
    found = torch.load(file)
    assert found["t"].stride() == (1, 3)
    assert found["w"].data_ptr() == found["tied"].data_ptr()
    assert values(found["u"]) == [1]


def test_modules_and_classes_that_are_allowed() -> None:
    layer = torch.nn.Linear(2, 1)
    file = io.BytesIO()
    torch.save(layer, file)
    for options in ({}, {"map_location": "cuda"}):
        file.seek(0)
        with pytest.raises((pickle.UnpicklingError, ArgumentError)):
            torch.load(file, **options)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False).weight, layer.weight)
    file = io.BytesIO()
    torch.save(Named(), file)
    with torch.serialization.safe_globals([Named]):
        file.seek(0)
        assert isinstance(torch.load(file), Named)
    assert torch.serialization.get_safe_globals() == []


def test_dtypes_devices_and_sizes_are_named_as_pytorch_names_them() -> None:
    about = {"dtypes": [torch.float16, torch.bool], "device": torch.device("cpu"), "size": torch.Size([1, 2])}
    file = io.BytesIO()
    torch.save(about, file)
    with zipfile.ZipFile(file) as opened:
        named = {(a, b) for a, b in _globals(opened.read("archive/data.pkl"))}
    assert named == {("torch", "float16"), ("torch", "bool"), ("torch", "device"), ("torch", "Size")}
    file.seek(0)
    loaded = torch.load(file)
    assert loaded == about
    assert loaded["dtypes"][0] is torch.float16


def _globals(data: bytes) -> Iterator[tuple[str, str]]:
    for code, argument, _ in pickletools.genops(data):
        if code.name == "GLOBAL":
            module, _, name = str(argument).partition(" ")
            yield module, name
