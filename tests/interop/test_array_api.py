"""The array API standard where it differs from what ops do, and libraries that compute in an array's namespace."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Any, cast

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest


def test_the_version_is_said() -> None:
    assert fg.__array_api_version__ == "2025.12"
    info = fg.__array_namespace_info__()
    assert info.devices() == (info.default_device(),)
    assert "max dimensions" in info.capabilities()


def test_asarray_copies_what_others_can_write_to() -> None:
    x = fg.tensor([1.0, 2.0])
    assert fg.asarray(x) is fg.asarray(x, copy=False) is x
    assert fg.asarray(x, copy=True) is not x
    for data in (np.ones(2), [1.0, 2.0], 3.0):
        assert fg.asarray(data, copy=True).dtype == fg.asarray(data).dtype
        with pytest.raises(ValueError, match="copy=False forbids"):
            fg.asarray(data, copy=False)
    with pytest.raises(ValueError, match="copy=False forbids"):
        fg.asarray(x, dtype=fg.float64, copy=False)
    with pytest.raises(fg.ArgumentError, match="cuda"):
        fg.asarray(x, device="cuda")


def test_astype_and_reshape_copy_as_they_are_told() -> None:
    x = fg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert fg.astype(x, fg.float32, copy=False) is x
    assert fg.astype(x, fg.float32) is not x
    assert fg.astype(x, fg.int64, device="cpu").tolist() == [[1, 2], [3, 4]]
    with pytest.raises(fg.DtypeError, match=r"^astype: complex64 to float32"):
        fg.astype(fg.tensor([1j]), fg.float32)
    y = fg.reshape(x, (4,), copy=True)
    y[0] = 9.0
    assert x[0, 0].item() == 1
    view = fg.reshape(x, (4,), copy=False)
    view[0] = 7.0
    assert x[0, 0].item() == 7
    with pytest.raises(ValueError, match="without a copy"):
        fg.reshape(x.T, (4,), copy=False)
    assert cast(Any, x).reshape(4, 1).shape == x.reshape((4, 1)).shape == x.reshape([4, 1], copy=True).shape == (4, 1)


def test_functions_that_make_tensors_show_their_device() -> None:
    for name in ("zeros", "ones", "full", "empty", "arange", "linspace", "eye", "zeros_like", "full_like", "asarray"):
        assert "device" in inspect.signature(getattr(fg, name)).parameters, name
    assert fg.zeros((2,), device="cpu").shape == (2,)


def test_repeat_and_roll_are_the_standards() -> None:
    x = fg.tensor([[1, 2], [3, 4]])
    assert fg.repeat(x, 2).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert fg.repeat(x, fg.tensor([1, 2]), axis=0).tolist() == [[1, 2], [3, 4], [3, 4]]
    assert fg.roll(x, shift=1, axis=0).tolist() == [[3, 4], [1, 2]]
    for f in (torch.tensor([1, 2]).repeat, paddle.to_tensor([1, 2]).repeat):
        assert f(2, 2).tolist() == f((2, 2)).tolist() == [[1, 2, 1, 2], [1, 2, 1, 2]]
    with pytest.raises(TypeError, match=r"^repeat\(\) got an unexpected"):
        cast(Any, fg).repeat(x, 2, by=1)


def test_several_results_are_tuples_with_names() -> None:
    x = fg.tensor([2.0, 1.0, 2.0])
    assert type(fg.meshgrid(x, x)) is type(fg.broadcast_arrays(x, fg.ones((2, 1)))) is tuple
    assert fg.unique_all(x).inverse_indices.tolist() == [1, 0, 1]
    assert fg.unique_counts(x).counts.tolist() == [1, 2]
    assert fg.unique_inverse(x).values.tolist() == fg.unique_values(x).tolist() == [1, 2]
    m = fg.tensor([[2.0, 1.0], [1.0, 2.0]], requires_grad=True)
    assert fg.linalg.eigh(m).eigenvalues.shape == (2,)
    np.testing.assert_allclose((fg.linalg.qr(m).Q @ fg.linalg.qr(m).R).detach().numpy(), m.detach().numpy(), atol=1e-6)
    assert fg.linalg.slogdet(m).sign.item() == 1
    assert fg.linalg.svd(m).S.requires_grad
    assert fg.func.vmap(fg.linalg.eigh)(fg.stack([m, m])).eigenvectors.shape == (2, 2, 2)


def test_linalg_has_the_functions_of_the_standard() -> None:
    x = fg.reshape(fg.arange(12.0), (3, 2, 2))
    assert fg.linalg.diagonal(x, offset=1).tolist() == [[1], [5], [9]]
    assert fg.linalg.trace(x).tolist() == [3, 11, 19]
    assert fg.linalg.trace(fg.astype(x, fg.int8)).dtype == fg.int64
    for name in ("cross", "matmul", "matrix_transpose", "outer", "tensordot", "vecdot"):
        assert getattr(fg.linalg, name) is getattr(fg, name)


def test_limits_of_floats_are_pythons_numbers() -> None:
    info = fg.finfo(fg.complex64)
    assert (type(info.eps), info.dtype, info.bits) == (float, fg.float32, 32)
    assert info.max == float(np.finfo(np.float32).max)


def test_errors_name_the_function_that_was_called() -> None:
    x = fg.ones((2,))
    with pytest.raises(fg.ShapeError, match=r"^broadcast_to: "):
        fg.broadcast_to(x, (3,))
    with pytest.raises(fg.IndexOutOfRange, match=r"^unstack: "):
        fg.unstack(x, 2)


#: What was tried: the package that must be installed, and a program that prints what is compared.
CONSUMERS: dict[str, tuple[str, str]] = {
    "einops": (
        "einops",
        """
        import gc
        from einops import einsum, pack, rearrange, reduce, repeat
        gc.collect()
        x = leaf(numpy.arange(24.0).reshape(2, 3, 4))
        y = rearrange(x, "a b c -> c (a b)"), repeat(x, "a b c -> a b c d", d=2)
        y += (rearrange([x, x], "n a b c -> a (n c) b"),)
        z = [reduce(x, "a b c -> b", how) for how in ("sum", "mean", "max", "min", "prod")]
        show(x, *y, *z, pack([x, x], "a b *")[0], einsum(x, x, "a b c, a d c -> b d"))
        """,
    ),
    "einops.array_api": (
        "einops",
        """
        from einops.array_api import pack, rearrange, reduce, repeat
        x = leaf(numpy.arange(24.0).reshape(2, 3, 4))
        y = rearrange(x, "a b c -> c (a b)"), reduce(x, "a b c -> b", "sum"), repeat(x, "a b c -> a b c d", d=2)
        show(x, *y, pack([x, x], "a b *")[0])
        """,
    ),
    "einops under install_as": (
        "einops",
        """
        torch = fg.install_as("torch")
        import einops
        x = torch.tensor(numpy.arange(24.0).reshape(2, 3, 4), requires_grad=True)
        y = einops.rearrange(x, "a b c -> c (a b)"), einops.reduce(x, "a b c -> b", "sum")
        show(x, *y, einops.einsum(x, x, "a b c, a d c -> b d"))
        """,
    ),
    "opt_einsum": (
        "opt_einsum",
        """
        import opt_einsum
        x = leaf(numpy.arange(6.0).reshape(2, 3))
        show(x, opt_einsum.contract("ij,kj,kl->il", x, x, x, backend="ferrograd"))
        """,
    ),
    "scikit-learn: metrics": (
        "sklearn",
        """
        import sklearn
        from sklearn.metrics import accuracy_score, mean_squared_error, r2_score
        with sklearn.config_context(array_api_dispatch=True):
            a, b = fg.tensor([1.0, 2.0, 4.0]), fg.tensor([1.0, 2.5, 3.0])
            assert abs(mean_squared_error(a, b) - 1.25 / 3) < 1e-6
            assert abs(r2_score(a, b) - (1 - 1.25 / (14 / 3))) < 1e-6
            assert accuracy_score(fg.tensor([1, 2]), fg.tensor([1, 3])) == 0.5
        """,
    ),
    "scikit-learn: scalers": (
        "sklearn",
        """
        import sklearn
        from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler
        x = fg.tensor(numpy.arange(12.0).reshape(4, 3))
        with sklearn.config_context(array_api_dispatch=True):
            for scaler in (MaxAbsScaler(), MinMaxScaler()):
                found = scaler.fit_transform(x)
                assert isinstance(found, fg.Tensor)
                numpy.testing.assert_allclose(found.numpy(), type(scaler)().fit_transform(x.numpy()))
        """,
    ),
    "scikit-learn: PCA": (
        "sklearn",
        """
        import sklearn
        from sklearn.decomposition import PCA
        x = fg.tensor(numpy.random.default_rng(0).normal(size=(20, 4)))
        with sklearn.config_context(array_api_dispatch=True):
            found = PCA(n_components=2, svd_solver="full").fit_transform(x)
        assert isinstance(found, fg.Tensor)
        want = PCA(n_components=2, svd_solver="full").fit_transform(x.numpy())
        numpy.testing.assert_allclose(found.numpy(), want, atol=1e-10)
        """,
    ),
    "SciPy": (
        "scipy",
        """
        import scipy.fft, scipy.signal, scipy.special, scipy.stats
        x = leaf(numpy.linspace(0.2, 0.9, 8))
        show(x, scipy.special.logsumexp(x), scipy.fft.irfft(scipy.fft.rfft(x) ** 2), scipy.stats.zscore(x))
        """,
    ),
}
PRELUDE = """
import numpy, ferrograd as fg
def leaf(a):
    return fg.tensor(a, requires_grad=True)
def show(x, *results):
    for y in results:
        assert y.requires_grad, y
    total = sum(((y * y).real if y.dtype.kind == "c" else y * y).sum() for y in results)
    g = (fg.grad(total, x) if type(x) is fg.Tensor else fg.torch.autograd.grad(total, x)[0])
    g = g[0] if isinstance(g, (list, tuple)) else g
    assert g.shape == x.shape and bool(numpy.any(numpy.asarray(g.detach())))
"""


@pytest.mark.parametrize("name", CONSUMERS)
def test_a_library_computes_in_the_namespace(name: str) -> None:
    package, program = CONSUMERS[name]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    lines = program.strip("\n").splitlines()
    margin = len(lines[0]) - len(lines[0].lstrip())
    code = PRELUDE + "\n".join(line[margin:] for line in lines)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
