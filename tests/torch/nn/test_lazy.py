"""Layers whose sizes come from the first input."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import ferrograd
import numpy as np
import pytest
from ferrograd import torch as _torch

torch: Any = _torch
nn: Any = torch.nn


def network() -> Any:
    layers = (nn.LazyConv2d(4, 3, groups=2), nn.LazyBatchNorm2d(), nn.LazyConvTranspose2d(3, 2), nn.Flatten())
    return nn.Sequential(*layers, nn.LazyLinear(5))


def test_sizes_are_those_of_the_first_input() -> None:
    net = network()
    assert all(layer.has_uninitialized_params() for layer in net if not isinstance(layer, nn.Flatten))
    assert repr(net[4].bias) == "<UninitializedParameter>"
    with pytest.raises(RuntimeError, match="shape of an uninitialized parameter"):
        _ = net[4].weight.shape
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.ones(2, 6, 8, 8)
    assert net(x).shape == (2, 5)
    assert [type(layer).__name__ for layer in net] == [
        "Conv2d",
        "BatchNorm2d",
        "ConvTranspose2d",
        "Flatten",
        "Linear",
    ]
    assert (net[0].in_channels, net[1].num_features, net[2].in_channels, net[4].in_features) == (6, 4, 4, 147)
    before = net[4].bias.detach().clone()
    net(x).sum().backward()
    optimizer.step()
    assert not torch.equal(before, net[4].bias)
    assert type(net[0].weight) is nn.Parameter
    assert not net[0]._forward_pre_hooks


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_lazy_instance_norm_has_weights_and_statistics_unless_told_otherwise(rank: int) -> None:
    kind = getattr(nn, f"LazyInstanceNorm{rank}d")
    norm, x = kind(), torch.arange(2.0 * 3 * 4**rank).reshape(2, 3, *[4] * rank)
    y = norm(x)
    assert type(norm) is getattr(nn, f"InstanceNorm{rank}d")
    assert norm.num_features == 3
    assert [list(value.shape) for value in norm.state_dict().values()] == [[3], [3], [3], [3], []]
    assert torch.equal(y, nn.functional.instance_norm(x))
    with pytest.warns(UserWarning, match="does not match num_features"):
        assert torch.equal(kind(affine=False, track_running_stats=False)(x), y)


def test_states() -> None:
    x = torch.ones(2, 6, 8, 8)
    net, other = network(), network()
    for again in (copy.deepcopy(other), pickle.loads(pickle.dumps(other))):
        assert again[0].has_uninitialized_params()
        assert again(x).shape == (2, 5)
    net.load_state_dict(other.state_dict())
    assert net[0].has_uninitialized_params()
    net(x)
    other.load_state_dict(net.state_dict())
    assert torch.equal(other(x), net(x))
    with pytest.raises(RuntimeError, match="uninitialized"):
        net.load_state_dict(network().state_dict())
    wide = nn.LazyLinear(2).double()
    assert wide(torch.ones(1, 3).double()).dtype == torch.float64


def test_a_lazy_module_of_the_users() -> None:
    class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, x: Any) -> None:
            with torch.no_grad():
                self.weight.materialize(x.shape[-1:])
                self.weight.fill_(2)

        def forward(self, x: Any) -> Any:
            return x * self.weight

    assert Scale()(torch.ones(1, 3)).tolist() == [[2.0, 2.0, 2.0]]
    for wrong, shape in ((nn.LazyConv1d(2, 1), (3,)), (nn.LazyConv1d(2, 1, groups=2), (1, 3, 3))):
        with pytest.raises((RuntimeError, ValueError), match=r"Expected 2D|divisible by groups"):
            wrong(torch.ones(*shape))


def test_the_first_call_may_have_other_arguments() -> None:
    layer = nn.LazyConvTranspose2d(3, 3, stride=2)
    assert layer(torch.ones(1, 2, 4, 4), output_size=[10, 10]).shape == (1, 3, 10, 10)
    parameter = nn.UninitializedParameter()
    parameter.materialize(4)
    assert parameter.shape == (4,)


def test_what_needs_a_shape_asks_for_a_first_call() -> None:
    for norm in (nn.utils.weight_norm, nn.utils.spectral_norm):
        with pytest.raises(ValueError, match="Run a forward pass first"):
            norm(nn.LazyLinear(7))
    module = nn.Module()
    module.seen = nn.UninitializedBuffer()
    assert list(module._buffers) == ["seen"]


UNREADABLE: dict[str, Any] = {
    "p + 1": lambda p: p + 1,
    "1 + p": lambda p: 1 + p,
    "x * p": lambda p: torch.ones(2) * p,
    "-p": lambda p: -p,
    "x @ p": lambda p: torch.ones(2, 2) @ p,
    "p == p": lambda p: p == p,
    "p += 1": lambda p: p.__iadd__(1),
    "p[0]": lambda p: p[0],
    "len": len,
    "bool": bool,
    "sum": lambda p: p.sum(),
    "clone": lambda p: p.clone(),
    "numpy": lambda p: p.numpy(),
    "np.sin": np.sin,
    "torch.sin": torch.sin,
    "torch.add": lambda p: torch.add(torch.ones(1), p),
    "torch.cat": lambda p: torch.cat([torch.ones(2), p]),
    "torch.stack": lambda p: torch.stack((p, p)),
    "torch.where": lambda p: torch.where(torch.ones(1) > 0, p, p),
    "torch.einsum": lambda p: torch.einsum("i->", p),
    "linear": lambda p: torch.nn.functional.linear(torch.ones(2, 3), p),
    "norm": torch.linalg.norm,
    "mul_": lambda p: torch.ones(1).mul_(p),
    "native": ferrograd.exp,
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("kind", [torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer])
def test_a_tensor_without_shape_is_not_computed_with(name: str, kind: Any) -> None:
    p = kind()
    with pytest.raises(ValueError, match="uninitialized"):
        UNREADABLE[name](p)
    # It can be kept in dictionaries, copied, and given another dtype.
    assert {p: 1}[p] == 1
    assert p.double().dtype == torch.float64
    assert type(copy.deepcopy(p)) is kind
    p.materialize((2,))
    assert (p + 1).tolist() == [1, 1]


def test_an_empty_tensor_of_another_class_is_computed_with() -> None:
    class Mine(torch.nn.Parameter):  # type: ignore[misc]
        pass

    assert torch.cat([Mine(torch.zeros(0)), torch.ones(1)]).tolist() == [1]
    assert torch.sin(torch.zeros(0, 3)).shape == (0, 3)


def test_a_module_without_shapes_is_not_scripted() -> None:
    layer = nn.LazyLinear(2)
    with pytest.raises(RuntimeError, match="run a forward pass"):
        torch.jit.script(layer)
    layer(torch.ones(1, 3))
    with pytest.warns(UserWarning, match="there is no TorchScript here"):
        assert torch.jit.script(layer) is layer
