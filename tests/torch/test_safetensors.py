"""Files in the format safetensors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import ferrograd.paddle as paddle
import ferrograd.torch as _torch
import numpy as np
import pytest
from ferrograd.paddle import safetensors as of_paddle
from ferrograd.torch import safetensors

torch: Any = _torch


def packed(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_files(tmp_path: Path) -> None:
    tensors = {
        "w": torch.arange(6.0).reshape(2, 3).t(),
        "n": torch.tensor(7),
        "mask": torch.tensor([True, False]),
        "none": torch.empty(0, 3),
        "p": torch.nn.Parameter(torch.ones(2, dtype=torch.float64)),
        "z": torch.tensor([1 + 2j]),
    }
    path = tmp_path / "model.safetensors"
    safetensors.save_file(tensors, path, {"format": "pt"})
    found = safetensors.load_file(path)
    assert sorted(found) == sorted(tensors)
    for name, x in tensors.items():
        assert type(found[name]) is torch.Tensor
        assert (found[name].dtype, found[name].shape) == (x.dtype, x.shape)
        np.testing.assert_array_equal(found[name].numpy(), x.detach().numpy())
    with safetensors.safe_open(path, framework="pt") as file:
        assert file.metadata() == {"format": "pt"}
        assert file.get_tensor("n").item() == 7
        assert sorted(file.keys()) == sorted(tensors)
    with pytest.raises(ValueError, match="is closed"):
        file.keys()
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    assert all(
        e["data_offsets"][0] % 8 == 0 for k, e in json.loads(data[8 : 8 + length]).items() if k in ("w", "n", "p")
    )
    assert type(of_paddle.load(data)["w"]) is paddle.Tensor
    found["w"].add_(1)
    assert safetensors.load_file(path)["w"][0, 0].item() == 0


def test_a_file_of_the_format() -> None:
    entry = {"dtype": "I16", "shape": [2], "data_offsets": [0, 4]}
    assert safetensors.load(packed({"a": entry}, b"\x01\x00\xff\xff"))["a"].tolist() == [1, -1]


def test_damaged_files() -> None:
    entry = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    damaged = [
        b"",
        b"\x01",
        (1 << 62).to_bytes(8, "little"),
        packed(b"{"),
        packed(b"[1]"),
        packed(b"\xff\xff"),
        packed(b"[" * 50_000),
        packed({"a": entry}),
        packed({"a": entry}, b"12345"),
        packed({"a": {**entry, "shape": [2]}}, b"1234"),
        packed({"a": {**entry, "shape": [-1]}}, b"1234"),
        packed({"a": {**entry, "shape": [1 << 62, 4]}}, b"1234"),
        packed({"a": {**entry, "dtype": "F7"}}, b"1234"),
        packed({"a": {**entry, "data_offsets": [0, 1.5]}}, b"1234"),
        packed({"a": {**entry, "data_offsets": [4, 8]}}, b"12341234"),
        packed({"a": entry, "b": entry}, b"1234"),
        packed({"a": 3}, b""),
        packed({"__metadata__": 3}, b""),
        packed({"__metadata__": {"a": 3}}, b""),
        packed({"a": {**entry, "dtype": ["F32"]}}, b"1234"),
        packed({"a": {**entry, "shape": [1] * 65}}, b"1234"),
        packed({"a": {**entry, "shape": [1 << 62, 0], "data_offsets": [0, 0]}}, b""),
        packed(b'{"a": %s, "a": %s}' % ((json.dumps(entry).encode(),) * 2), b"1234"),
    ]
    for data in damaged:
        with pytest.raises(safetensors.SafetensorError):
            safetensors.load(data)
    with pytest.raises(ValueError, match="must be a Tensor"):
        safetensors.save({"a": 3})


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("float32", "F32"), ("bfloat16", "BF16"), ("int16", "I16"), ("bool", "BOOL"), ("complex64", "C64")],
)
def test_parts_of_tensors(dtype: str, kind: str, tmp_path: Path) -> None:
    x = torch.arange(-6, 6).reshape(3, 4).to(getattr(torch, dtype))
    safetensors.save_file({"x": x, "n": x[0, 0]}, tmp_path / "x.safetensors")
    with safetensors.safe_open(tmp_path / "x.safetensors", "pt") as file:
        part = file.get_slice("x")
        assert part.get_shape() == [3, 4]
        assert part.get_dtype() == kind
        for index in (np.s_[1:], np.s_[:, 1:3], np.s_[::-1, 2], np.s_[0, 0], np.s_[..., None], np.s_[3:]):
            found = part[index]
            assert found.dtype == x.dtype
            assert found.tolist() == np.array(x.tolist())[index].tolist()
        assert file.get_slice("n")[()].shape == ()
        assert sorted(file.offset_keys()) == ["n", "x"]
        with pytest.raises(safetensors.SafetensorError, match="no tensor 'y'"):
            file.get_slice("y")
    for options, text in (({"framework": "np"}, "framework 'np'"), ({"device": "cuda"}, "device")):
        with pytest.raises(ValueError, match=text):
            safetensors.safe_open(tmp_path / "x.safetensors", **options)


class Tied(torch.nn.Module):  # type: ignore[misc]
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        self.b.weight = self.a.weight


def test_states_of_modules(tmp_path: Path) -> None:
    model, other, path = Tied(), Tied(), tmp_path / "model.safetensors"
    safetensors.save_model(model, path, {"by": "me"})
    with safetensors.safe_open(path) as file:
        assert sorted(file.keys()) == ["a.bias", "a.weight", "b.bias"]
        assert file.metadata() == {"by": "me", "b.weight": "a.weight"}
    assert safetensors.load_model(other, path) == (set(), [])
    assert other.b.weight is other.a.weight
    assert other.b.weight.tolist() == model.a.weight.tolist()
    safetensors.save_file({"a.weight": model.a.weight, "c": model.a.bias}, path)
    with pytest.raises(RuntimeError, match=r'(?s)Missing key.*"a.bias", "b.bias".*Unexpected key.*"c"'):
        safetensors.load_model(other, path)
    assert safetensors.load_model(other, path, strict=False) == ({"a.bias", "b.bias"}, ["c"])


@pytest.mark.parametrize("package", ["torch", "paddle"])
def test_the_package_is_found_under_its_name(package: str) -> None:
    program = f"""
import sys
sys.modules.pop("safetensors", None)
import ferrograd
ferrograd.install_as({package!r})
from safetensors.{package} import load, save
import safetensors.{package}, {package}
assert safetensors.{package}.load is load
assert load.__module__ == "ferrograd.{package}.safetensors"
assert load(save({{"w": {package}.ones([2])}}))["w"].tolist() == [1.0, 1.0]
if "safe_open" in dir(safetensors) and safetensors.safe_open.__module__.startswith("ferrograd"):
    from safetensors import SafetensorError, safe_open
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_memory_of_tensors_and_bytes_of_files(tmp_path: Path) -> None:
    x = torch.arange(6.0)
    assert safetensors.storage_ptr(x[2:]) == safetensors.storage_ptr(x) != safetensors.storage_ptr(x.clone())
    assert safetensors.storage_size(x[2:]) == x.untyped_storage().size() == 24
    path = tmp_path / "bytes"
    path.write_bytes(np.array([1.0, 2.0], np.float32).tobytes())
    # What the reader of the package of this name does.
    stored = torch.UntypedStorage.from_file(str(path), shared=False, size=8).untyped()
    assert stored.nbytes() == 8
    assert torch.asarray(stored[4:8], dtype=torch.uint8).numpy().view(np.float32).tolist() == [2.0]
    with pytest.raises(ValueError, match="only read"):
        torch.UntypedStorage.from_file(str(path), shared=True, size=8)
