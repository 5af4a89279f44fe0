"""``torch.save`` and ``torch.load``."""

from __future__ import annotations

import contextlib
import importlib
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
from ferrograd import ArgumentError, FerrogradError, torch as _torch
from ferrograd.torch._base import archives, overriding, written

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


@pytest.mark.parametrize(
    ("facts", "wanted"), [(b"conj", [1 - 2j, 3 + 4j]), (b"neg", [-1 - 2j, -3 + 4j]), (b"other", [1 + 2j, 3 - 4j])]
)
def test_what_pytorch_saved_of_conjugated_and_negated_tensors(facts: bytes, wanted: list[complex]) -> None:
    whole = _tensor("ComplexFloatStorage", 3, b"K\x02\x85", b"K\x01\x85")
    described = b"}X" + len(facts).to_bytes(4, "little") + facts + b"\x88s"
    text = b"\x80\x02" + whole.removesuffix(b"tR") + described + b"tR."
    memory = np.array([0, 1 + 2j, 3 - 4j], np.complex64).tobytes()
    assert torch.load(_archive(text, _0=memory)).tolist() == wanted


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (b"torch._utils\n_rebuild_qtensor", "a quantised tensor"),
        (b"torch._utils\n_rebuild_nested_tensor", "a nested tensor"),
        (b"torch\nfloat8_e4m3fn", r"the dtype torch\.float8_e4m3fn.*to\(torch\.float32\)"),
        (b"torch\ncomplex32", r"the dtype torch\.complex32.*to\(torch\.complex64\)"),
        (b"torch\nqint8", r"the dtype torch\.qint8.*dequantize"),
    ],
)
def test_tensors_that_only_pytorch_has_are_named(name: bytes, text: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=text):
        torch.load(_archive(b"\x80\x02c" + name + b"\n."))


def test_sparse_tensors_become_dense() -> None:
    at, values = torch.tensor([[0, 1, 0], [1, 0, 1]]), torch.tensor([1.0, 2.0, 3.0])
    dense = archives._rebuild_sparse("torch.sparse_coo", (at, values, torch.Size([2, 2])))
    assert dense.tolist() == [[0, 4], [2, 0]]
    rows = torch.tensor([0, 1, 3]), torch.tensor([1, 0, 1]), values, torch.Size([2, 2])
    assert archives._rebuild_sparse("torch.sparse_csr", rows).tolist() == [[0, 1], [2, 3]]
    assert archives._rebuild_sparse("torch.sparse_csc", rows).tolist() == [[0, 2], [1, 3]]
    with pytest.raises(pickle.UnpicklingError, match="to_dense"):
        archives._rebuild_sparse("torch.sparse_bsr", rows)


def test_several_archives_in_one_stream(tmp_path: Any) -> None:
    file = io.BytesIO(b"head")
    file.seek(4)
    for saved in ({"a": torch.ones(3)}, torch.zeros(2), [torch.arange(3)]):
        torch.save(saved, file)
    file.seek(4)
    assert torch.load(file)["a"].tolist() == [1, 1, 1]
    assert torch.load(file).tolist() == [0, 0]
    assert torch.load(file)[0].tolist() == [0, 1, 2]
    assert file.read() == b""
    with open(tmp_path / "two", "wb") as two:
        torch.save(torch.ones(1), two)
        torch.save(torch.zeros(1), two)
    with open(tmp_path / "two", "rb") as two:
        assert [torch.load(two).item(), torch.load(two).item()] == [1, 0]
    # PyTorch writes the sizes of an entry behind it.
    streamed = io.BytesIO()
    for number in (1.0, 2.0):
        text = b"\x80\x02" + _tensor("FloatStorage", 2, b"K\x01\x85", b"K\x01\x85") + b"."
        streamed.write(_archive(text, _0=np.array([0, number], "<f4").tobytes()).getvalue())
    for at in _places_of_headers(streamed.getvalue()):
        streamed.getbuffer()[at + 6] |= 8
    streamed.seek(0)
    assert [torch.load(streamed).item(), torch.load(streamed).item()] == [1, 2]


def _places_of_headers(data: bytes) -> list[int]:
    return [at for at in range(len(data)) if data.startswith(b"PK\x03\x04", at)]


#: Two programs of PyTorch 2.15 of one module: a layer whose weight is a parameter of its own too, and a list of one.
_FILES = Path(__file__).parent / "files"
_NAMES = ["tied", "lin.weight", "lin.bias", "ml.0.weight", "ml.0.bias"]


@pytest.mark.parametrize("read", [torch.jit.load, torch.load, lambda path: torch.load(path, weights_only=False)])
def test_weights_of_torchscript(read: Any) -> None:
    found = read(_FILES / "scripted.pt")
    assert isinstance(found, torch.jit.ScriptModule)
    state = found.state_dict()
    assert list(state) == _NAMES
    assert found.tied is found.lin.weight
    assert isinstance(found.tied, torch.nn.Parameter)
    assert (found.k, found.names, found.t, found.d["a"].tolist()) == (3, ["a", "b"], (1, 2.5), [1])
    assert "__parameters__" in found.code
    with pytest.raises(FerrogradError, match=r"does not run.*load_state_dict"):
        found(torch.ones(1, 2))
    layer = torch.nn.Linear(2, 1)
    layer.load_state_dict(found.ml.get_submodule("0").state_dict())
    assert values(layer.weight) == values(state["ml.0.weight"])


def test_weights_of_exported_programs() -> None:
    scripted = torch.jit.load(_FILES / "scripted.pt")
    assert scripted.k == 3
    found = torch.export.load(_FILES / "exported.pt2")
    assert list(found.state_dict) == _NAMES
    assert {name: list(x.shape) for name, x in found.state_dict.items()} == {
        name: list(x.shape) for name, x in scripted.state_dict().items()
    }
    assert isinstance(found.state_dict["tied"], torch.nn.Parameter)
    assert found.constants == {}
    with pytest.raises(FerrogradError, match=r"do not run here.*load_state_dict"):
        found.module()
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.export\.load"):
        torch.load(_FILES / "exported.pt2")


def test_exported_programs_of_older_releases() -> None:
    file, state = io.BytesIO(), io.BytesIO()
    torch.save({"w": torch.ones(2)}, state)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("serialized_exported_program.json", b"{}")
        archive.writestr("serialized_state_dict.pt", state.getvalue())
    file.seek(0)
    assert torch.export.load(file).state_dict["w"].tolist() == [1, 1]


@pytest.mark.parametrize("read", [torch.jit.load, torch.export.load])
@pytest.mark.parametrize("name", ["scripted.pt", "exported.pt2"])
def test_damaged_programs_of_pytorch(read: Any, name: str) -> None:
    data = bytearray((_FILES / name).read_bytes())
    for at in range(0, len(data), 97):
        wrong = bytes(data[:at]) + bytes([data[at] ^ 0x55]) + bytes(data[at + 1 :])
        for text in (wrong, bytes(data[:at])):
            with contextlib.suppress(pickle.UnpicklingError, OSError):
                read(io.BytesIO(text))


def test_a_map_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    state = {"w": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2).bfloat16(), "e": torch.zeros(0), "n": 1}
    torch.save(state, path)
    before = path.read_bytes()
    found = torch.load(path, mmap=True)
    assert found["w"].tolist() == state["w"].tolist()
    assert found["b"].tolist() == [1, 1]
    assert (found["b"].dtype, found["e"].shape, found["n"]) == (torch.bfloat16, (0,), 1)
    found["w"][0] = 9.0
    assert path.read_bytes() == before
    assert torch.load(path, mmap=True)["w"].tolist() == state["w"].tolist()
    with pytest.raises(ValueError, match="file path"):
        torch.load(io.BytesIO(before), mmap=True)
    path.write_bytes(_legacy([torch.ones(1)]))
    with pytest.raises(RuntimeError, match="format of PyTorch"):
        torch.load(path, mmap=True)


def _legacy(obj: Any) -> bytes:
    """An object as PyTorch wrote it before its release 1.6."""
    text = io.BytesIO()
    pickler = written.Pickler(text, 2)
    pickler.dump(obj)
    head = b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))
    keys = pickle.dumps([str(n) for n in range(len(pickler.memories))], 2)
    return (
        head + text.getvalue() + keys + b"".join(len(m).to_bytes(8, "little") + m.tobytes() for m in pickler.memories)
    )


class Counted:
    """A class whose objects count how often a pickle makes one."""

    made = 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).made += 1
        vars(self).update(state)


def test_a_file_of_old_releases_is_read_once() -> None:
    found: Any = Counted()
    found.x = torch.arange(3.0)
    found.others = {1: [torch.ones(2), {2, 3}], "n": (None, found.x)}
    again = torch.load(io.BytesIO(_legacy(found)), weights_only=False)
    assert Counted.made == 1
    assert again.x.tolist() == [0, 1, 2]
    assert again.others[1][0].tolist() == [1, 1]
    assert again.others[1][1] == {2, 3}
    again.x[0] = 5.0
    assert again.others["n"][1].tolist() == [5, 1, 2]


def test_a_file_of_old_releases_with_weights_only() -> None:
    assert torch.load(io.BytesIO(_legacy({"w": torch.ones(2)})))["w"].tolist() == [1, 1]
    with pytest.raises(pickle.UnpicklingError, match="Counted"):
        torch.load(io.BytesIO(_legacy(Counted())))
    data = _legacy({"w": torch.ones(2), "n": [1, "a"]})
    for at in range(len(data)):
        with pytest.raises(pickle.UnpicklingError):
            torch.load(io.BytesIO(data[:at]))


_RELU = b"cbuiltins\ngetattr\n(ctorch._C\n_VariableFunctionsClass\nX\x04\x00\x00\x00relutR"


@pytest.mark.parametrize(
    ("pickled", "function"),
    [
        (b"ctorch._C._nn\ngelu\n", torch.nn.functional.gelu),
        (b"ctorch._C._nn\nsoftplus\n", torch.nn.functional.softplus),
        (b"ctorch._C._nn\nlog_sigmoid\n", torch.nn.functional.logsigmoid),
        (b"ctorch._C._nn\navg_pool2d\n", torch.nn.functional.avg_pool2d),
        (b"ctorch._C._nn\nscaled_dot_product_attention\n", torch.nn.functional.scaled_dot_product_attention),
        (b"ctorch._C._fft\nfft_rfft\n", torch.fft.rfft),
        (b"ctorch._C._linalg\nlinalg_inv\n", torch.linalg.inv),
        (b"ctorch._C._special\nspecial_expit\n", torch.special.expit),
        (_RELU, torch.relu),
    ],
)
def test_compiled_functions_of_pytorch_are_found(pickled: bytes, function: Any) -> None:
    text = b"\x80\x02" + pickled + b"."
    # Once a subclass answers for functions, another one is in its place.
    assert torch.load(_archive(text), weights_only=False) is overriding.public(function)
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        torch.load(_archive(text))


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", [b"torch.ao.quantization\nQuantStub", b"torch._C._nn\nno_such", b"torch.nowhere\nX"])
def test_what_is_not_here_is_not_advised(name: bytes, weights_only: bool) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"[Ii]n PyTorch, save"):
        torch.load(_archive(b"\x80\x02c" + name + b"\n."), weights_only=weights_only)


def test_old_spectral_norm_of_pytorch() -> None:
    hooked = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2))
    hooks = importlib.import_module("ferrograd.torch.nn.utils.spectral_norm")
    hook = next(iter(hooked._forward_pre_hooks.values()))
    hooked._register_state_dict_hook(hooks.SpectralNormStateDictHook(hook))
    hooked._register_load_state_dict_pre_hook(hooks.SpectralNormLoadStateDictPreHook(hook))
    file = io.BytesIO()
    torch.save(hooked, file)
    file.seek(0)
    found = torch.load(file, weights_only=False).eval()
    assert values(found(torch.ones(1, 3))) == values(hooked.eval()(torch.ones(1, 3)))
    assert not any(found.load_state_dict(hooked.state_dict()))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64"])
def test_bytes_of_files_are_viewed_as_the_reader_of_safetensors_does(dtype: str, tmp_path: Path) -> None:
    x = torch.ones(2, 3).to(getattr(torch, dtype))
    path = tmp_path / "bytes"
    path.write_bytes(b"ab" + bytes(torch.view_copy(x.reshape(-1), torch.uint8).tolist()))
    storage = torch.UntypedStorage.from_file(str(path), shared=False, nbytes=path.stat().st_size).untyped()
    found = torch.asarray(storage[2 : path.stat().st_size], dtype=torch.uint8).view(dtype=x.dtype).reshape([2, 3])
    assert type(found) is torch.Tensor
    assert found.dtype == x.dtype
    assert found.tolist() == x.tolist()


class _Bare:
    """A file with nothing but what PyTorch asks for."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.flushed = 0

    def write(self, data: Any) -> None:
        self.parts.append(bytes(data))

    def flush(self) -> None:
        self.flushed += 1

    def tell(self) -> int:
        raise NotImplementedError("Tell is not here")


def test_files_that_can_only_be_written_to() -> None:
    file = _Bare()
    torch.save({"x": torch.ones(2)}, file)
    assert file.flushed == 1
    assert torch.load(io.BytesIO(b"".join(file.parts)))["x"].tolist() == [1.0, 1.0]
    with pytest.raises(NotImplementedError, match="Tell"):
        torch.load(file)


class _Called:
    """Is pickled as the call of a function."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call[0], self.call[1:]


def test_plain_pickles_of_tensors() -> None:
    file = io.BytesIO()
    torch.save(torch.arange(6.0), file)
    memory = _Called(torch.storage._load_from_bytes, file.getvalue())
    x = pickle.loads(pickle.dumps(_Called(torch._utils._rebuild_tensor_v2, memory, 1, (2, 2), (1, 2), True, {})))
    assert x.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert x.requires_grad
