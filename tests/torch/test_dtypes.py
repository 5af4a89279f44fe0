"""torch's dtype objects, and half dtypes under torch's names."""

from __future__ import annotations

import gc
import importlib
import io
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ferrograd import ArgumentError, torch as _torch

torch: Any = _torch

NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")


def test_a_dtype_is_torchs_and_equals_numpys() -> None:
    for name in NAMES:
        dtype, numpy = getattr(torch, name), np.dtype(name)
        assert isinstance(dtype, torch.dtype)
        assert repr(dtype) == str(dtype) == f"torch.{name}"
        assert dtype == numpy
        assert numpy == dtype
        assert hash(dtype) == hash(numpy)
        assert {numpy: 1}[dtype] == 1
        assert (dtype.itemsize, dtype.kind) == (numpy.itemsize, numpy.kind)
        assert np.zeros(2, dtype=dtype).dtype == numpy
        assert torch.zeros(2, dtype=dtype).dtype is dtype
        assert torch.zeros(2, dtype=numpy).dtype is dtype
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert dtype != torch.bfloat16
    assert torch.half is torch.float16
    assert torch.double is torch.float64
    assert torch.float32 != None  # noqa: E711
    assert torch.float32 != "nonsense"
    assert torch.bfloat16 == torch.ones(1).bfloat16().dtype
    assert torch.bfloat16.itemsize == 2


def test_predicates_and_parts() -> None:
    assert torch.bfloat16.is_floating_point
    assert not torch.int8.is_floating_point
    assert torch.complex64.is_complex
    assert torch.int8.is_signed
    assert not torch.uint8.is_signed
    assert torch.complex128.to_real() is torch.float64
    assert torch.float32.to_complex() is torch.complex64
    assert torch.float16.to_real() is torch.float16
    for wrong in (torch.int64.to_real, torch.bool.to_complex, torch.bfloat16.to_complex):
        with pytest.raises(RuntimeError):
            wrong()
    with pytest.raises(AttributeError):
        torch.float32.nonsense  # noqa: B018


def test_functions_of_dtypes() -> None:
    assert torch.get_default_dtype() is torch.float32
    assert torch.promote_types(torch.float16, torch.bfloat16) is torch.float32
    assert torch.promote_types(torch.int64, torch.bfloat16) is torch.bfloat16
    assert torch.result_type(torch.ones(1, dtype=torch.float16), 1.5) is torch.float16
    assert torch.can_cast(torch.bfloat16, torch.float16)
    assert not torch.can_cast(torch.bfloat16, torch.int64)
    assert repr(torch.finfo(torch.bfloat16)) == (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=bfloat16)"
    )
    assert torch.finfo(torch.float16).max == 65504
    assert torch.iinfo(torch.int8).max == 127
    x = torch.ones(2)
    assert x.half().type() == "torch.HalfTensor"
    assert isinstance(x.bfloat16(), torch.BFloat16Tensor)
    assert x.to(torch.bfloat16).dtype is x.bfloat16().dtype is torch.bfloat16
    assert x.type(torch.half).dtype is torch.float16
    assert x.int().type(torch.Tensor).dtype is x.int().type("torch.Tensor").dtype is torch.float32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_text(dtype: Any) -> None:
    assert repr(torch.tensor([1.5, 2], dtype=dtype)) == f"tensor([1.5000, 2.0000], dtype={dtype})"
    assert repr(torch.tensor(2.0, dtype=dtype)) == f"tensor(2., dtype={dtype})"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_files(dtype: Any) -> None:
    x = torch.randn(3, 4, dtype=dtype)
    file = io.BytesIO()
    torch.save({"x": x, "same": x, "turned": x.T}, file)
    file.seek(0)
    found = torch.load(file)
    assert found["x"].dtype is dtype
    assert torch.equal(found["x"], x)
    assert torch.equal(found["turned"], x.T)
    same = importlib.import_module("ferrograd.torch.safetensors")
    found = same.load(same.save({"x": x}))["x"]
    assert found.dtype is dtype
    assert torch.equal(found, x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_models_train_in_a_half_dtype(dtype: Any, kind: str) -> None:
    # With other seeds a unit is never positive, and squares of small gradients are 0 in float16: NaN, as in PyTorch.
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.LayerNorm(8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    model.to(dtype)
    assert {p.dtype for p in model.parameters()} == {dtype}
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.05)
    x = torch.randn(32, 3, dtype=dtype)
    y = x.sum(1, keepdim=True)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        assert {p.grad.dtype for p in model.parameters()} == {dtype}
        optimizer.step()
        losses.append(loss.item())
    assert {p.dtype for p in model.parameters()} == {dtype}
    assert losses[-1] < losses[0] / 2
    model.float()
    assert {p.dtype for p in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("name", ["complex32", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "quint8", "qint32"])
def test_dtypes_that_no_tensor_has_can_be_compared_with(name: str) -> None:
    dtype = getattr(torch, name)
    assert isinstance(dtype, torch.dtype)
    assert repr(dtype) == f"torch.{name}"
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    for other in (*(getattr(torch, n) for n in (*NAMES, "bfloat16")), np.dtype("float32"), None):
        assert dtype != other
        assert other != dtype
    assert torch.ones(1).dtype not in (dtype,)
    for f in (torch.ones(1).to, lambda d: torch.tensor([1.0], dtype=d), lambda d: torch.zeros(1, dtype=d)):
        with pytest.raises((TypeError, RuntimeError), match="dtype"):
            f(dtype)


def test_what_a_half_complex_dtype_says_of_itself() -> None:
    assert torch.complex32 is torch.chalf
    assert (torch.complex32.is_complex, torch.complex32.itemsize, torch.complex32.to_real()) == (True, 4, torch.float16)
    assert (torch.float8_e5m2.is_floating_point, torch.qint32.itemsize) == (True, 4)
    assert torch.ones(1).layout not in (torch.sparse_coo, torch.sparse_csr)


def test_limits_of_another_kind_of_dtype() -> None:
    with pytest.raises(TypeError, match=r"use torch\.iinfo"):
        torch.finfo(torch.int64)
    for dtype in (torch.float32, torch.bool):
        with pytest.raises(TypeError, match=r"use torch\.finfo"):
            torch.iinfo(dtype)


def test_numbers_beside_integers_wrap_around() -> None:
    u = torch.tensor([200, 7, 255], dtype=torch.uint8)
    assert (u & -64).tolist() == (-64 & u).tolist() == torch.bitwise_and(u, -64).tolist() == [192, 0, 192]
    assert (u | -1).tolist() == [255, 255, 255]
    assert (u ^ -3).tolist() == [53, 250, 2]
    assert (u + -1).tolist() == [199, 6, 254]
    assert (u + 300).tolist() == u.clone().add_(300).tolist() == [244, 51, 43]
    assert (300 - u).tolist() == [100, 37, 45]
    assert (u * -2).tolist() == [112, 242, 2]
    assert (u // -64).tolist() == torch.floor_divide(u, -64).tolist() == [1, 0, 1]
    assert (u % 300).tolist() == torch.fmod(u, 300).tolist() == torch.remainder(u, 300).tolist() == [24, 7, 35]
    assert ((-2 // u).tolist(), (300 % u).tolist()) == ([1, 36, 0], [44, 2, 44])
    assert ((u << -2).tolist(), (300 >> (u & 1)).tolist()) == ([0, 0, 0], [44, 22, 22])
    assert (torch.tensor([-128, 5], dtype=torch.int8) // -300).tolist() == [2, -1]
    assert (torch.tensor([3], dtype=torch.int8) + 128).tolist() == [-125]
    assert (torch.tensor([-3]) & (2**64 - 1)).tolist() == [-3]
    assert (torch.tensor([-3], dtype=torch.int32) & 0xFFFFFFFF).tolist() == [-3]
    assert (torch.tensor([1.5]) + 300).tolist() == [301.5]
    # A negative number is written to unsigned integers so, and one that is too large is not.
    assert u.clone().fill_(-1).tolist() == torch.full_like(u, -1).tolist() == [255, 255, 255]
    assert torch.where(u > 8, u, -1).tolist() == [200, 255, 255]
    assert u.masked_fill(u > 8, -2).tolist() == [254, 7, 254]
    x = u.clone()
    x[0] = -1
    assert x.tolist() == [255, 7, 255]
    calls: list[Callable[[], Any]] = [
        lambda: u.clone().fill_(300),
        lambda: torch.full_like(u, 256),
        lambda: u**300,
    ]
    for refused in calls:
        with pytest.raises(ArgumentError, match="does not fit into uint8"):
            refused()
    # Comparisons are those of the numbers.
    assert (u > -1).all()
    assert not (u == -1).any()


def test_parts_of_complex_numbers_are_written_to() -> None:
    x = torch.tensor([1 + 2j, 3 - 1j])
    torch.view_as_real(x)[0] += 1
    x.real.mul_(2)
    x.imag[1] = 7.0
    assert x.tolist() == [4 + 3j, 6 + 7j]
    pairs = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    torch.view_as_complex(pairs).mul_(1j)
    assert pairs.tolist() == [[-2.0, 1.0], [-4.0, 3.0]]
    p = torch.nn.Parameter(torch.tensor([1 + 2j]))
    with torch.no_grad():
        torch.view_as_real(p).add_(1)
        p.view(torch.float32)[0] *= 1
    assert p.tolist() == [2 + 3j]
    (torch.view_as_real(p) * torch.tensor([2.0, 3.0])).sum().backward()
    assert p.grad.tolist() == [2 + 3j]
    y = torch.arange(6.0).reshape(3, 2).to(torch.complex64).T
    assert torch.view_as_real(y)[..., 0].tolist() == y.real.tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    assert torch.view_as_real(torch.tensor(1 + 2j)).tolist() == [1.0, 2.0]
    x.real = torch.zeros(2)
    assert x.tolist() == [3j, 7j]


PARTS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "real": (lambda z: z.real, 0),
    "imag": (lambda z: z.imag, 1),
    "torch.real": (torch.real, 0),
    "a slice": (lambda z: z[:].imag[:], 1),
    "view_as_real": (lambda z: torch.view_as_real(z)[..., 0], 0),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("compiled", [False, True])
def test_writes_to_parts_of_recorded_numbers_are_recorded(name: str, compiled: bool) -> None:
    part, place = PARTS[name]

    def f(x: Any, r: Any) -> Any:
        z = x * 2
        part(z).mul_(r)
        part(z)[0] = r[1]
        return z

    x = torch.tensor([1 + 2j, 3 - 1j, 2 + 2j], dtype=torch.complex128, requires_grad=True)
    r = torch.tensor([2.0, 5.0, 3.0], dtype=torch.float64, requires_grad=True)
    z = (torch.compile(f) if compiled else f)(x, r)
    own = torch.view_as_real(x.detach() * 2)[..., place] * r.detach()
    assert torch.view_as_real(z)[..., place].tolist() == [5.0, *own[1:].tolist()]
    other = torch.view_as_real(z)[..., 1 - place]
    assert other.tolist() == torch.view_as_real(x.detach() * 2)[..., 1 - place].tolist()
    gx, gr = torch.autograd.grad(torch.view_as_real(z).square().sum(), (x, r))
    # The squares of both parts: the first number of the written part is r[1], the others are 2 r times that of x.
    written = torch.view_as_real(gx)[..., place]
    assert written.tolist() == [0.0, *(4 * own[1:] * r.detach()[1:]).tolist()]
    assert torch.view_as_real(gx)[..., 1 - place].tolist() == (4 * other.detach()).tolist()
    plain = torch.view_as_real(x.detach() * 2)[..., place]
    assert gr.tolist() == [0.0, (2 * own * plain)[1].item() + 10.0, (2 * own * plain)[2].item()]


def test_writes_to_recorded_pairs_as_complex_numbers() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    torch.view_as_complex(y).mul_(2j)
    assert y.tolist() == [[-4.0, 2.0], [-8.0, 6.0]]
    assert torch.autograd.grad(y[:, 0].sum(), x)[0].tolist() == [[0.0, -2.0], [0.0, -2.0]]


@pytest.mark.parametrize("compiled", [False, True])
def test_parts_with_axes_of_size_1_are_written_to(compiled: bool) -> None:
    def f(x: Any) -> Any:
        z = x * 1
        z.real.unsqueeze_(0).mul_(2)
        torch.view_as_real(z).unsqueeze_(1)[0, 0, 1] = 5.0
        return z

    x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    z = (torch.compile(f) if compiled else f)(x)
    assert z.tolist() == [2 + 5j, 6 - 1j]
    assert torch.autograd.grad(torch.view_as_real(z).sum(), x)[0].tolist() == [2 + 0j, 2 + 1j]
    assert torch.vmap(f)(x.detach()[None]).tolist() == [[2 + 5j, 6 - 1j]]


def test_parts_of_leaves_are_not_written_to_while_ops_are_recorded() -> None:
    x = torch.tensor([1 + 2j], requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.real.zero_()
    part = x.imag
    with torch.no_grad():
        part.zero_()
    assert x.tolist() == [1 + 0j]
    assert x.is_leaf


def test_a_part_and_its_tensor_are_freed_together() -> None:
    class Mark:
        pass

    x = torch.tensor([1 + 2j], requires_grad=True) * 1
    x.part, x.mark = x.real, Mark()
    gone = weakref.ref(x.mark)
    del x
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("call", ["add", "clamp", "clip", "clamp_min", "addcmul", "addcdiv", "where", "ldexp"])
def test_tensors_without_axes_act_like_numbers(call: str) -> None:
    """The dtype of the tensor with axes stays, also where it is not the operand that promotes."""
    x, b = torch.ones(3, requires_grad=True), torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    results: dict[str, Callable[[], Any]] = {
        "add": lambda: (x + b, b - x, torch.mul(x, b)),
        "clamp": lambda: (torch.clamp(x, b, 2), x.clamp(min=b, max=b), torch.clamp(b, x, x)),
        "clip": lambda: (torch.clip(x, max=b),),
        "clamp_min": lambda: (torch.clamp_min(x, b), torch.clamp_max(b, x)),
        "addcmul": lambda: (torch.addcmul(x, b, b), torch.addcmul(b, x, x)),
        "addcdiv": lambda: (torch.addcdiv(x, b, b), torch.addcdiv(b, x, b, value=2)),
        "where": lambda: (torch.where(x > 0, x, b),),
        "ldexp": lambda: (torch.ldexp(x, b),),
    }
    for y in results[call]():
        assert y.dtype is torch.float32
    gradients = torch.autograd.grad(torch.clamp(x, b, 2).sum() + torch.addcmul(x, b, b).sum(), (x, b))
    assert [g.dtype for g in gradients] == [torch.float32, torch.float64]
    assert gradients[1].item() == 3.0


@pytest.mark.parametrize(
    ("real", "made"), [("float32", "complex64"), ("float64", "complex128"), ("int32", "complex128")]
)
def test_complex_tensors_without_axes_keep_the_width_of_floats(real: str, made: str) -> None:
    x, z = torch.ones(2, dtype=getattr(torch, real)), torch.tensor(2j, dtype=torch.complex128)
    for y in (x * z, z + x, torch.where(x > 0, x, z), torch.multiply(z, x)):
        assert y.dtype is getattr(torch, made)
    assert torch.result_type(x, z) is torch.result_type(z, x) is getattr(torch, made)
    assert (x * z).tolist() == [2j, 2j]
