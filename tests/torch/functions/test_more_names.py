"""Names of torch that programs use now and then: low-rank factors, sparse tensors as dense ones, structures, fusion."""

from __future__ import annotations

import importlib
from typing import Any

import ferrograd.torch as _torch
import numpy as np
import pytest

torch: Any = _torch


def matrix(*shape: int) -> Any:
    return torch.tensor(np.random.default_rng(0).standard_normal(shape))


@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (3, 7, 5), (4, 0)])
def test_low_rank_factors_of_full_rank_are_exact(shape: tuple[int, ...]) -> None:
    x = matrix(*shape).requires_grad_()
    u, s, v = torch.svd_lowrank(x, q=6)
    np.testing.assert_allclose((u * s[..., None, :] @ v.mT).detach().numpy(), x.detach().numpy(), atol=1e-12)
    (slope,) = torch.autograd.grad(s.sum(), x)
    (wanted,) = torch.autograd.grad(torch.linalg.svdvals(x).sum(), x)
    np.testing.assert_allclose(slope.numpy(), wanted.numpy(), atol=1e-10)
    u, s, v = torch.pca_lowrank(x.detach())
    centered = x.detach().numpy() - (x.detach().numpy().mean(-2, keepdims=True) if x.numel() else 0)
    np.testing.assert_allclose((u * s[..., None, :] @ v.mT).numpy(), centered, atol=1e-12)


def test_low_rank_of_complex_and_shifted_matrices() -> None:
    z = torch.complex(matrix(6, 4), matrix(6, 4))
    u, s, v = torch.svd_lowrank(z, q=4, M=torch.ones(4, dtype=z.dtype))
    np.testing.assert_allclose((u * s @ v.mH).numpy(), z.numpy() - 1, atol=1e-12)
    refused: Any = (lambda: torch.svd_lowrank(z[0]), lambda: torch.svd_lowrank(z, -1), lambda: torch.pca_lowrank(z, 9))
    for bad in refused:
        with pytest.raises((ValueError, RuntimeError)):
            bad()


def test_sparse_tensors_are_dense() -> None:
    values = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
    s = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 0]]), values, (2, 3))
    assert s.to_dense().tolist() == [[0.0, 0.0, 3.0], [9.0, 0.0, 0.0]]
    torch.sparse.mm(s, torch.tensor([[1.0], [2.0], [3.0]])).sum().backward()
    assert values.grad.tolist() == [3.0, 1.0, 1.0]
    assert s.coalesce() is s.to_sparse() is s
    assert not s.is_sparse
    assert torch.sparse_coo_tensor([[0, 1], [1, 1]], torch.ones(2, 3)).shape == (2, 2, 3)
    assert torch.sparse.FloatTensor(torch.zeros(2, 0).long(), torch.zeros(0), (2, 2)).sum().item() == 0
    for indices, shape in (([[0, 5]], (3,)), ([[0, -1]], (3,)), ([0, 1], (3,)), ([[0, 1]], (3, 3)), ([[0.5, 1]], (3,))):
        with pytest.raises((ValueError, RuntimeError, IndexError)):
            torch.sparse_coo_tensor(indices, [1.0, 2.0], shape)


def test_sparse_adam_leaves_other_rows_alone() -> None:
    p = torch.nn.Parameter(torch.arange(6.0).reshape(3, 2))
    optimizer = torch.optim.SparseAdam([p], lr=0.1)
    for row in (0, 2, 0):
        optimizer.zero_grad()
        p[row].pow(2).sum().backward()
        optimizer.step()
    # As torch computes it.
    np.testing.assert_allclose(p.detach().numpy(), [[0.0, 0.814508], [2.0, 3.0], [3.925586, 4.925586]], atol=1e-4)
    with pytest.raises((ValueError, RuntimeError)):
        torch.optim.SparseAdam([p], lr=-1.0)


def test_random_numbers() -> None:
    assert torch.poisson(torch.zeros(2)).tolist() == [0, 0]
    assert torch.binomial(torch.tensor([5.0]), torch.tensor([1.0])).tolist() == [5]
    assert torch.zeros(500).geometric_(0.3).mean().item() == pytest.approx(1 / 0.3, rel=0.3)
    assert abs(torch.zeros(2000).cauchy_(median=2.0).median().item() - 2) < 0.3
    assert torch.zeros(500).log_normal_(0.0, 1.0).log().std().item() == pytest.approx(1, abs=0.2)
    assert torch.poisson(torch.ones(2, dtype=torch.bfloat16)).dtype == torch.bfloat16
    refused: Any = (lambda: torch.zeros(1).geometric_(2), lambda: torch.poisson(torch.tensor([-1.0])))
    for bad in refused:
        with pytest.raises((ValueError, RuntimeError)):
            bad()


def test_structures() -> None:
    from ferrograd.torch.utils import _pytree as tree

    leaves, spec = tree.tree_flatten({"a": [1, None], "b": (2, {"c": 3})})
    assert leaves == [1, None, 2, 3]
    assert tree.tree_unflatten(leaves, spec) == {"a": [1, None], "b": (2, {"c": 3})}
    assert tree.tree_map(lambda x, y: x + y, [1, (2,)], [3, (4,)]) == [4, (6,)]
    refused: Any = (lambda: tree.tree_unflatten([1], spec), lambda: tree.tree_map(max, [1], [1, 2]))
    for bad in refused:
        with pytest.raises(ValueError, match="tree"):
            bad()


def test_fusion() -> None:
    x, bn = matrix(2, 2, 4, 4), torch.nn.BatchNorm2d(3).double()
    bn.running_mean.copy_(torch.tensor([1.0, 2.0, 3.0]))
    bn.eval()
    for layer, transposed in ((torch.nn.Conv2d(2, 3, 2), False), (torch.nn.ConvTranspose2d(2, 3, 2, bias=False), True)):
        layer = layer.double().eval()
        fused = torch.nn.utils.fuse_conv_bn_eval(layer, bn, transposed)
        np.testing.assert_allclose(fused(x).detach().numpy(), bn(layer(x)).detach().numpy(), atol=1e-12)
    with pytest.raises(AssertionError, match="eval"):
        torch.nn.utils.fuse_conv_bn_eval(layer, bn.train())


def test_removed_functions_say_what_replaces_them() -> None:
    with pytest.raises(AttributeError, match=r"torch\.linalg\.solve"):
        _ = torch.solve
    assert torch.range(1, 2, 0.5).tolist() == [1.0, 1.5, 2.0]
    assert torch.ones(2).apply_(lambda v: v + 1).tolist() == [2.0, 2.0]
    torch.testing.assert_allclose(torch.ones(2), [1.0, 1.0])
    seen: list[int] = []
    with torch.profiler.profile(on_trace_ready=lambda p: seen.append(p.step_num)):
        torch.ones(3).sum()
    assert seen == [0]


def test_distributions_have_torchs_module_paths() -> None:
    for module, name in (("normal", "Normal"), ("categorical", "Categorical"), ("kl", "kl_divergence")):
        found = importlib.import_module(f"ferrograd.torch.distributions.{module}")
        assert getattr(found, name) is getattr(torch.distributions, name)


def test_distributions_as_other_libraries_extend_them() -> None:
    d: Any = torch.distributions
    covariance = torch.tensor([[1.0, 0.2], [0.2, 2.0]], requires_grad=True)
    normal = d.MultivariateNormal(torch.zeros(3, 2), covariance)
    assert normal.covariance_matrix.shape == (3, 2, 2)
    assert normal.covariance_matrix.tolist()[0] == covariance.tolist()
    assert normal.expand([4, 3]).scale_tril.shape == (4, 3, 2, 2)
    np.testing.assert_allclose(
        normal.precision_matrix[0].detach().numpy(), np.linalg.inv(covariance.detach().numpy()), rtol=1e-5
    )

    class Scaled(d.MultivariateNormal):  # type: ignore[misc]
        def __init__(self) -> None:
            self.loc, self.factor = torch.zeros(2), torch.tensor([[2.0, 0.0], [0.0, 3.0]])
            d.Distribution.__init__(self, (), (2,), validate_args=False)

        @property
        def _unbroadcasted_scale_tril(self) -> Any:
            return self.factor

    assert Scaled().covariance_matrix.tolist() == [[4.0, 0.0], [0.0, 9.0]]
    normal._validate_sample(torch.zeros(2))
    with pytest.raises(ValueError, match="match event_shape"):
        normal._validate_sample(torch.zeros(5))
    with pytest.raises(ValueError, match="scale"):
        d.HalfCauchy(-1.0)
