"""Names of PyTorch's root namespace that repeat ``nn.functional``, and what libraries read of its insides."""

import subprocess
import sys
import threading
import warnings
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import torch
from ferrograd.torch.nn import functional as F

INTEGERS = torch.tensor([[1, 2], [3, 4]])


def test_norms_take_arguments_in_the_order_of_the_root() -> None:
    x, w, b = torch.randn(3, 4, 5), torch.rand(4), torch.rand(4)
    mean, var = torch.zeros(4), torch.ones(4)
    same: list[tuple[Any, Any]] = [
        (torch.batch_norm(x, w, b, mean, var, False, 0.1, 1e-5, False), F.batch_norm(x, mean, var, w, b)),
        (torch.instance_norm(x, w, b, None, None, True, 0.1, 1e-5, False), F.instance_norm(x, None, None, w, b)),
        (torch.group_norm(x, 2, w, b, 1e-5, False), F.group_norm(x, 2, w, b)),
        (torch.layer_norm(x.mT, (4,), w, b, 1e-5, False), F.layer_norm(x.mT, (4,), w, b)),
    ]
    for found, wanted in same:
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_losses_take_numbers_of_reductions() -> None:
    a, b, y = torch.randn(6), torch.randn(6), torch.tensor([1.0, -1.0] * 3)
    for number, name in enumerate(("none", "mean", "sum")):
        found = torch.margin_ranking_loss(a, b, y, 0.5, number)
        np.testing.assert_array_equal(found.numpy(), F.margin_ranking_loss(a, b, y, 0.5, reduction=name).numpy())
    # PyTorch's default here is no reduction.
    assert torch.hinge_embedding_loss(a, y).shape == (6,)
    assert torch.kl_div(a, b).shape == (6,)
    with pytest.raises(fg.ArgumentError, match=r"reduction is one of 0 \(none\), 1 \(mean\), 2 \(sum\), not 3"):
        torch.kl_div(a, b, 3)


def test_embedding_and_grid_sampler() -> None:
    table = torch.tensor([[1.0], [2.0]], requires_grad=True)
    torch.embedding(table, torch.tensor([0, 1, 1]), padding_idx=1).sum().backward()
    assert table.grad is not None
    assert table.grad.tolist() == [[1.0], [0.0]]
    image, grid = torch.randn(1, 1, 4, 4), torch.rand(1, 2, 2, 2)
    wanted = F.grid_sample(image, grid, "nearest", "border", False)
    np.testing.assert_array_equal(torch.grid_sampler(image, grid, 1, 1, False).numpy(), wanted.numpy())


@pytest.mark.parametrize("name", ["addmm", "addbmm", "baddbmm", "addmv", "addr", "add", "sub", "addcmul"])
def test_factors_of_integers_are_whole(name: str) -> None:
    i, v = INTEGERS, INTEGERS[0]
    operands = {
        "addmm": (i, i, i),
        "addbmm": (i, i[None], i[None]),
        "baddbmm": (i[None], i[None], i[None]),
        "addmv": (v, i, v),
        "addr": (i, v, v),
        "add": (i, i),
        "sub": (i, i),
        "addcmul": (i, i, i),
    }[name]
    factor = "value" if name == "addcmul" else "alpha"
    function = getattr(torch, name)
    with pytest.raises(RuntimeError, match="For integral input tensors"):
        function(*operands, **{factor: 0.5})
    if name not in ("add", "sub", "addcmul"):
        with pytest.raises(RuntimeError, match="For integral input tensors"):
            function(*operands, beta=0.5)
    found = function(*operands, **{factor: 2.0})
    assert found.dtype == torch.int64
    np.testing.assert_array_equal(found.numpy(), function(*operands, **{factor: 2}).numpy())
    floats = function(*(t.double() for t in operands), **{factor: 0.5})
    assert floats.dtype == torch.float64


def test_add_of_truth_values_stays_one() -> None:
    yes = torch.tensor([True, False])
    assert torch.add(yes, yes, alpha=2).tolist() == [True, False]
    assert torch.add(~yes, yes, alpha=0).tolist() == [False, True]


def test_histogram_is_like_numpys() -> None:
    x, w = torch.tensor([1.0, 2.0, 1.0, 2.9]), torch.tensor([1.0, 2.0, 4.0, 0.5])
    found = x.histogram(4, range=(0.0, 3.0), weight=w)
    counts, ends = np.histogram(x.numpy(), 4, (0.0, 3.0), weights=w.numpy())
    np.testing.assert_allclose(found.hist.numpy(), counts)
    np.testing.assert_allclose(found.bin_edges.numpy(), ends)
    assert found.hist.dtype == torch.float32
    density = torch.histogram(x, torch.tensor([0.0, 1.5, 3.0]), density=True)
    np.testing.assert_allclose(density.hist.numpy(), [1 / 3, 1 / 3], rtol=1e-6)


def test_triangle_of_qr_alone() -> None:
    a = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    empty, r = torch.linalg.qr(a, mode="r")
    assert empty.shape == (0,)
    np.testing.assert_allclose(r.detach().numpy(), torch.linalg.qr(a)[1].detach().numpy())
    assert torch.autograd.gradcheck(lambda a: torch.linalg.qr(a, mode="r")[1], [a])


def test_bytes_as_another_dtype() -> None:
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    bits = torch.view_copy(x, torch.int32)
    assert bits.tolist() == [[0x3F800000, 0x40000000]]
    assert not bits.requires_grad
    assert torch.view_copy(bits, dtype=torch.float32).tolist() == [[1.0, 2.0]]
    assert torch.view_copy(x.detach().bfloat16(), torch.int16).tolist() == [[0x3F80, 0x4000]]
    assert torch.view_copy(torch.tensor([0x3F80], dtype=torch.int16), torch.bfloat16).tolist() == [1.0]
    assert torch.view_copy(x, torch.int16).shape == (1, 4)
    assert torch.view_copy(torch.tensor(1.0), torch.int32).item() == 0x3F800000
    with pytest.raises(fg.ShapeError, match="no rows of float32"):
        torch.view_copy(torch.tensor([1, 2, 3], dtype=torch.uint8), torch.float32)
    with pytest.raises(fg.ShapeError):
        torch.view_copy(torch.tensor(1.0), torch.int16)
    with pytest.raises(fg.DtypeError, match="require"):
        x.view(torch.int32)
    assert x.view(torch.float32).tolist() == x.view(size=(1, 2)).tolist() == [[1.0, 2.0]]


def test_recurrent_networks_without_projections_say_so() -> None:
    for network in (torch.nn.RNN, torch.nn.GRU):
        with pytest.raises(ValueError, match="proj_size argument is only supported for LSTM"):
            network(2, 2, proj_size=1)
        with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
            network(2, 2, other=1)


def test_result_type_of_floats_without_axes() -> None:
    wide = torch.tensor(1.0, dtype=torch.float64)
    for one, other in ((torch.ones(2), wide), (wide, torch.ones(2)), (torch.ones(2).half(), torch.tensor(1.0))):
        assert torch.result_type(one, other) == (one * other).dtype


@pytest.mark.parametrize(("reduce", "name"), [("amax", "max"), ("amin", "min"), ("mean", "mean")])
def test_sparse_products_reduced(reduce: str, name: str) -> None:
    a = torch.tensor([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0]], requires_grad=True)
    b = torch.tensor([[1.0, 5.0], [9.0, 9.0], [4.0, -3.0]])
    rows = np.array([[2.0, 10.0], [4.0, -3.0]])
    found = torch.sparse.mm(a, b, reduce)
    np.testing.assert_array_equal(found.detach().numpy(), [getattr(rows, name)(0), [0.0, 0.0]])
    found.sum().backward()
    assert a.grad is not None


def test_foreach() -> None:
    xs = [torch.ones(2), torch.full((1,), 3.0)]
    assert [x.tolist() for x in torch._foreach_add(xs, xs, alpha=2)] == [[3.0, 3.0], [9.0]]
    assert [x.item() for x in torch._foreach_norm(xs)] == [pytest.approx(2**0.5), 3.0]
    assert torch._foreach_mul_(xs, [2.0, 3.0]) is None
    assert [x.tolist() for x in xs] == [[2.0, 2.0], [9.0]]
    torch._foreach_addcmul_(xs, xs, xs, [1.0, 0.0])
    assert [x.tolist() for x in xs] == [[6.0, 6.0], [9.0]]
    torch._foreach_zero_(xs)
    assert [x.tolist() for x in xs] == [[0.0, 0.0], [0.0]]
    with pytest.raises(fg.ArgumentError, match="a list of 1 values for 2 tensors"):
        torch._foreach_add(xs, [1.0])
    with pytest.raises(AttributeError):
        torch._foreach_no_such_method  # noqa: B018


def test_futures() -> None:
    future: Any = torch.futures.Future()
    with pytest.raises(RuntimeError, match="no result yet"):
        future.value()
    thread = threading.Thread(target=future.set_result, args=(3,))
    thread.start()
    assert future.wait() == 3
    thread.join()
    with pytest.raises(RuntimeError, match="only be marked completed once"):
        future.set_result(4)
    failed: Any = torch.futures.Future()
    failed.set_exception(ValueError("no"))
    following = failed.then(lambda f: f.wait())
    with pytest.raises(ValueError, match="no"):
        following.wait()
    with pytest.raises(AssertionError, match="not an Exception"):
        torch.futures.Future().set_exception(3)  # type: ignore[arg-type]
    assert torch.futures.collect_all([]).wait() == []


def test_hub_reads_fetched_files(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(torch.hub, "_dir", None)
    folder = tmp_path / "hub" / "checkpoints"
    assert torch.hub.get_dir() == str(tmp_path / "hub")
    url = "https://example.org/model-0123abcd.pth"
    with pytest.raises(fg.FerrogradError, match="nothing is downloaded"):
        torch.hub.load_state_dict_from_url(url)
    folder.mkdir(parents=True)
    torch.save({"w": torch.ones(1)}, folder / "model-0123abcd.pth")
    assert torch.hub.load_state_dict_from_url(url)["w"].item() == 1


def test_what_libraries_read_of_the_insides() -> None:
    program = """
import ferrograd
torch = ferrograd.install_as("torch")
assert torch.__name__ == "torch" and torch.torch is torch
assert ferrograd.install_as("torch") is torch
from torch._C import Value
from torch._subclasses.fake_tensor import is_fake
from torch.fx import wrap
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.nn.parallel.scatter_gather import scatter
from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype
from torch.hub import HASH_REGEX
import torch.nn.utils.rnn, torch.functional
torch._C._log_api_usage_once("here")
torch._assert_async(torch.tensor(True), "holds")
try:
    torch._assert_async(torch.tensor(False), "does not hold")
except AssertionError as error:
    assert str(error) == "does not hold"
else:
    raise SystemExit("no error")
assert wrap(len) is len and get_proxy_mode() is None and not is_fake(torch.ones(1))
assert not isinstance(torch.ones(1).shape[0], torch.SymInt)
assert torch.functional.unique is torch.unique
assert HASH_REGEX.search("model-0123abcd.pth").group(1) == "0123abcd"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_kl_of_a_class_that_is_no_distribution() -> None:
    class Point:
        pass

    torch.distributions.register_kl(Point, torch.distributions.Normal)(lambda p, q: 7.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        point: Any = Point()
        assert torch.distributions.kl_divergence(point, torch.distributions.Normal(0.0, 1.0)) == 7.0


def test_native_norms_have_the_moments() -> None:
    x = torch.tensor(np.random.default_rng(0).normal(size=(4, 6, 5)), requires_grad=True)
    numbers = x.detach().numpy()
    calls: list[tuple[Any, tuple[int, ...], tuple[int, ...]]] = [
        (torch.native_layer_norm(x, (6, 5), None, None, 0.1), (1, 2), (4, 1, 1)),
        (torch.native_layer_norm(x, [5], None, None, 0.1), (2,), (4, 6, 1)),
        (torch.native_batch_norm(x, None, None, None, None, True, 0.1, 0.1), (0, 2), (6,)),
        (torch.native_group_norm(x, None, None, 4, 6, 5, 1, 0.1), (1, 2), (4, 1)),
    ]
    for (y, mean, root), axes, shape in calls:
        wanted = numbers.mean(axes, keepdims=True), 1 / np.sqrt(numbers.var(axes, keepdims=True) + 0.1)
        np.testing.assert_allclose(y.detach().numpy(), (numbers - wanted[0]) * wanted[1])
        for found, want in zip((mean, root), wanted, strict=True):
            assert found.requires_grad
            np.testing.assert_allclose(found.detach().numpy(), want.reshape(shape))
    y, *rest = torch.native_batch_norm(x, None, None, torch.zeros(6), torch.ones(6), False, 0.1, 0.0)
    np.testing.assert_allclose(y.detach().numpy(), numbers)
    assert [t.shape for t in rest] == [(0,), (0,)]
    y, *rest = torch.native_group_norm(torch.zeros(0, 6), torch.ones(6), torch.zeros(6), 0, 6, 1, 2, 0.1)
    assert [t.shape for t in (y, *rest)] == [(0, 6), (0, 2), (0, 2)]
