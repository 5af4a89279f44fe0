"""``torch.nn.utils`` and modules as functions of their parameters."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from ferrograd import torch as _torch

torch: Any = _torch
nn: Any = torch.nn
utils: Any = nn.utils
parametrize: Any = utils.parametrize


def normal(*shape: int, seed: int = 0) -> Any:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


def test_parameters_as_a_vector() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    vector = utils.parameters_to_vector(net.parameters())
    assert vector.shape == (13,)
    assert vector.requires_grad
    utils.vector_to_parameters(torch.arange(13.0), net.parameters())
    assert net[0].weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert net[1].bias.tolist() == [12.0]
    with pytest.raises(RuntimeError, match=r"13 elements are needed for the parameters, the vector has \[5\]"):
        utils.vector_to_parameters(torch.ones(5), net.parameters())


def test_norms_and_clipping() -> None:
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    (w * w).sum().backward()
    assert utils.get_total_norm(w.grad).item() == pytest.approx(10)
    assert not utils.get_total_norm([w, w]).requires_grad
    assert utils.get_total_norm([w.grad, w.grad], float("inf")).item() == 8
    utils.clip_grads_with_norm_(w, 5.0, torch.tensor(10.0))
    np.testing.assert_allclose(w.grad.numpy(), [3.0, 4.0], rtol=1e-6)
    with pytest.raises(RuntimeError, match="is non-finite"):
        utils.get_total_norm([torch.tensor([float("nan")])], error_if_nonfinite=True)


@pytest.mark.parametrize("way", ["hook", "parametrization"])
def test_weight_norm(way: str) -> None:
    layer, x = nn.Conv1d(2, 3, 2).double(), normal(1, 2, 5)
    before = layer(x).detach().numpy()
    apply = utils.weight_norm if way == "hook" else utils.parametrizations.weight_norm
    assert apply(layer) is layer
    np.testing.assert_allclose(layer(x).detach().numpy(), before, rtol=1e-12)
    names = [n for n, _ in layer.named_parameters()]
    length = layer.weight_g if way == "hook" else layer.parametrizations.weight.original0
    assert length.shape == (3, 1, 1)
    assert len(names) == 3
    layer(x).sum().backward()
    assert length.grad is not None
    with torch.no_grad():
        length.mul_(2)
    np.testing.assert_allclose(
        layer(x).detach().numpy() - layer.bias.detach().numpy()[:, None],
        2 * (before - layer.bias.detach().numpy()[:, None]),
        rtol=1e-10,
    )
    remove = utils.remove_weight_norm if way == "hook" else lambda m: parametrize.remove_parametrizations(m, "weight")
    remove(layer)
    assert sorted(n for n, _ in layer.named_parameters()) == ["bias", "weight"]
    if way == "hook":
        with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
            utils.remove_weight_norm(layer)
        pickle.loads(pickle.dumps(utils.weight_norm(layer)))


@pytest.mark.parametrize("way", ["hook", "parametrization"])
def test_spectral_norm(way: str) -> None:
    layer = nn.Linear(4, 6).double()
    matrix = layer.weight.detach().numpy()
    apply = utils.spectral_norm if way == "hook" else utils.parametrizations.spectral_norm
    apply(layer, n_power_iterations=60)
    layer(normal(2, 4)).sum().backward()
    np.testing.assert_allclose(layer.weight.detach().numpy(), matrix / np.linalg.norm(matrix, 2), rtol=1e-6)
    assert layer.bias.grad is not None
    original = layer.weight_orig if way == "hook" else layer.parametrizations.weight.original
    assert original.grad is not None
    layer.eval()
    assert torch.equal(layer(torch.ones(4).double()), layer(torch.ones(4).double()))
    if way == "hook":
        assert [n for n, _ in layer.named_buffers()] == ["weight_u", "weight_v"]
        utils.remove_spectral_norm(layer)
        assert sorted(layer.state_dict()) == ["bias", "weight"]


def test_spectral_norm_completes_states_of_the_first_release() -> None:
    layer = utils.spectral_norm(nn.Linear(3, 5).double())
    layer(normal(2, 3))
    state, x = copy.deepcopy(layer.state_dict()), normal(4, 3)
    assert state._metadata[""]["spectral_norm"] == {"weight.version": 1}
    layer.eval()
    wanted, then = layer(x), layer.train()(x)
    # The first release wrote the divided weight, and not the vector that can be computed from it.
    state["weight"] = state["weight_orig"] / (state["weight_u"] @ state["weight_orig"] @ state["weight_v"])
    del state["weight_v"], state._metadata[""]["spectral_norm"]
    again = utils.spectral_norm(utils.remove_spectral_norm(layer))
    again.load_state_dict(state)
    assert torch.allclose(again.eval()(x), wanted)
    assert torch.allclose(again.train()(x), then)
    utils.remove_spectral_norm(again)
    assert not again._state_dict_hooks
    assert not again._load_state_dict_pre_hooks
    again.load_state_dict(nn.Linear(3, 5).state_dict())


class Symmetric(nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, value: Any) -> Any:
        return value.triu()


class Exponential(nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return torch.exp(x)


def test_parametrizations_compose() -> None:
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Exponential())
    original = layer.parametrizations.weight.original
    want = np.exp(np.triu(original.detach().numpy()) + np.triu(original.detach().numpy(), 1).T)
    np.testing.assert_allclose(layer.weight.detach().numpy(), want, rtol=1e-6)
    assert isinstance(layer, nn.Linear)
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    assert repr(layer).startswith("ParametrizedLinear(")
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    twin = copy.deepcopy(layer)
    assert torch.equal(twin.weight, layer.weight)
    layer.load_state_dict(twin.state_dict())
    with pytest.raises(RuntimeError, match="does not implement right_inverse"):
        layer.weight = torch.ones(3, 3)
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)
    layer(torch.ones(1, 3)).sum().backward()
    assert original.grad is not None
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert type(layer) is nn.Linear
    assert layer.weight is original
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")
    with pytest.raises(ValueError, match="with name 'w'"):
        parametrize.register_parametrization(layer, "w", Symmetric())
    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(layer, "weight", nn.Flatten(0))


def test_modules_with_other_parameters_for_a_while() -> None:
    layer = nn.Linear(2, 1, bias=False)
    own, w = layer.weight, torch.tensor([[1.0, 2.0]], requires_grad=True)
    with torch.nn.utils.stateless._reparametrize_module(layer, {"weight": w}):
        assert layer.weight is w
        layer(torch.tensor([3.0, 4.0])).backward()
    assert layer.weight is own
    assert w.grad.tolist() == [[3.0, 4.0]]
    with (
        pytest.raises(RuntimeError, match="Unexpected key"),
        torch.nn.utils.stateless._reparametrize_module(layer, {"x": w}),
    ):
        pass


def test_functional_call_and_its_mistakes() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    call = torch.func.functional_call
    given = {n: torch.zeros_like(p) for n, p in net.named_parameters()}
    x = torch.randn(4, 2)
    assert call(net, given, (x,)).abs().sum().item() == 0
    assert net[0].weight.abs().sum().item() > 0
    state = {n: b.clone() for n, b in net.named_buffers()}
    before = net[1].running_mean.clone()
    call(net, (given, state), x)
    assert [s["1.num_batches_tracked"].item() for s in (state, net.state_dict())] == [2, 1]
    assert torch.equal(net[1].running_mean, before)
    mistakes: list[tuple[Any, str]] = [
        (lambda: call(net, {"2.weight": x}, x), "Unexpected key(s): '2.weight'."),
        (lambda: call(net, given, x, strict=True), "Missing key(s): '1.running_mean'"),
        (lambda: call(net, (given, given), x), "appeared in multiple dictionaries"),
        (lambda: call(net, [1], x), "Expected all elements of parameter_and_buffer_dicts to be dictionaries"),
        (lambda: call(net, 3, x), "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts"),
    ]
    for wrong, text in mistakes:
        with pytest.raises((RuntimeError, ValueError)) as raised:
            wrong()
        assert text in str(raised.value)
    tied = nn.ModuleList([nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)])
    tied[1].weight = tied[0].weight
    tied.forward = lambda x: tied[1](tied[0](x))
    assert call(tied, {"0.weight": torch.eye(2) * 2}, torch.ones(2)).tolist() == [4.0, 4.0]
    both = {"0.weight": torch.eye(2), "1.weight": torch.eye(2)}
    with pytest.raises(ValueError, match="which are tied"):
        call(tied, both, torch.ones(2))
    assert call(tied, both, torch.ones(2), tie_weights=False).tolist() == [1.0, 1.0]


def test_gradients_of_each_sample_are_those_of_a_loop() -> None:
    net = nn.Sequential(nn.Conv1d(1, 2, 2), nn.Tanh(), nn.Flatten(), nn.Linear(8, 1)).double()
    parameters = {n: p.detach() for n, p in net.named_parameters()}
    x, y = normal(4, 1, 5), normal(4, 1, seed=1)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return ((torch.func.functional_call(net, p, (x[None],))[0] - y) ** 2).sum()

    together = torch.vmap(torch.func.grad(loss), (None, 0, 0))(parameters, x, y)
    for i in range(4):
        net.zero_grad()
        ((net(x[i : i + 1])[0] - y[i]) ** 2).sum().backward()
        for name, p in net.named_parameters():
            np.testing.assert_allclose(together[name][i].numpy(), p.grad.numpy(), rtol=1e-10, atol=1e-13)


def test_gradients_through_a_step_of_learning() -> None:
    net = nn.Linear(1, 1, bias=False).double()
    net.weight.data = torch.tensor([[2.0]]).double()

    def loss(p: Any) -> Any:
        return (torch.func.functional_call(net, p, (torch.tensor([[3.0]]).double(),)) ** 2).sum()

    (g,) = torch.autograd.grad(loss({"weight": net.weight}), [net.weight], create_graph=True)
    after = loss({"weight": net.weight - 0.01 * g})
    after.backward()
    # w' = w (1 - 0.02 * 9), and the loss is 9 w'**2.
    factor = 1 - 0.01 * 2 * 9
    assert after.item() == pytest.approx(9 * (2 * factor) ** 2)
    assert net.weight.grad.item() == pytest.approx(18 * 2 * factor**2)


def test_a_stack_of_models_is_each_of_them() -> None:
    models = [nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).double().eval() for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)
    assert parameters["0.weight"].shape == (3, 3, 2)
    assert parameters["0.weight"].is_leaf
    assert parameters["0.weight"].requires_grad
    x = normal(5, 2)
    call = torch.func.functional_call
    y = torch.vmap(lambda p, b: call(models[0], (p, b), (x,)))(parameters, buffers)
    for i, model in enumerate(models):
        np.testing.assert_allclose(y[i].detach().numpy(), model(x).detach().numpy(), rtol=1e-12)
    for wrong, text in (
        ([], "Expected at least one model, got 0."),
        ([models[0], nn.Linear(1, 1)], "same training/eval mode"),
        ([nn.Linear(1, 1), nn.ReLU()], "same class"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch.func.stack_module_state(wrong)


def orthonormal_error(w: Any) -> float:
    """How far the rows or columns of a matrix, whichever are fewer, are from orthonormal ones."""
    a = w.detach().numpy()
    a = a if a.shape[-2] >= a.shape[-1] else np.swapaxes(a, -1, -2)
    return float(np.abs(np.swapaxes(a.conj(), -1, -2) @ a - np.eye(a.shape[-1])).max())


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (2, 5, 3)])
@pytest.mark.parametrize("function", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivialized", [True, False])
def test_orthogonal_weights(shape: tuple[int, ...], function: str, trivialized: bool) -> None:
    module = nn.Module()
    module.weight = nn.Parameter(normal(*shape))
    assign = trivialized or function == "householder"
    if assign:
        nn.init.orthogonal_(module.weight) if len(shape) == 2 else None
    before = module.weight.detach().clone()
    utils.parametrizations.orthogonal(module, "weight", function, use_trivialization=trivialized)
    if assign and len(shape) == 2:
        np.testing.assert_allclose(module.weight.detach().numpy(), before.numpy(), atol=1e-12)
    assert orthonormal_error(module.weight) < 1e-12
    module.weight.pow(3).sum().backward()
    (p,) = module.parameters()
    assert p.grad.abs().max() > 0.01
    torch.optim.SGD([p], lr=0.1).step()
    assert orthonormal_error(module.weight) < 1e-12
    assert torch.autograd.gradcheck(lambda x: module.parametrizations.weight[0](x), [normal(*shape).requires_grad_()])
    if not assign:
        with pytest.raises(NotImplementedError, match="use_trivialization=False"):
            module.weight = before


def test_unitary_weights_and_refusals() -> None:
    layer = nn.Linear(3, 3, dtype=torch.complex128)
    utils.parametrizations.orthogonal(layer)
    assert orthonormal_error(layer.weight) < 1e-12
    for call, text in (
        (lambda: utils.parametrizations.orthogonal(nn.Linear(3, 4), "weight", "qr"), "has to be one of"),
        (lambda: utils.parametrizations.orthogonal(nn.Linear(3, 4), "bias"), "Expected a matrix"),
        (lambda: utils.parametrizations.orthogonal(nn.Linear(3, 4), "scale"), "no parameter or buffer"),
        (lambda: setattr(layer, "weight", torch.ones(5, 5)), "matrices of shape"),
        (
            lambda: utils.parametrizations.orthogonal(nn.Linear(2, 3, dtype=torch.cfloat), "weight", "householder"),
            "complex",
        ),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def test_spectral_norm_of_complex_weights() -> None:
    # The largest singular value of a diagonal matrix is its largest modulus.
    values = torch.tensor([3.0 + 4.0j, 1.0j], dtype=torch.complex128)
    for norm in (utils.parametrizations.spectral_norm, utils.spectral_norm):
        layer = nn.Linear(2, 2, bias=False, dtype=torch.complex128)
        with torch.no_grad():
            layer.weight.copy_(torch.diag(values))
        norm(layer, n_power_iterations=30)
        layer(torch.ones(1, 2, dtype=torch.complex128))
        np.testing.assert_allclose(layer.weight.detach().numpy(), torch.diag(values / 5).numpy(), atol=1e-10)


def test_states_of_the_older_weight_norm_load() -> None:
    old, new = utils.weight_norm(nn.Linear(2, 3)), utils.parametrizations.weight_norm(nn.Linear(2, 3))
    new.load_state_dict(old.state_dict())
    x = torch.ones(1, 2)
    assert torch.equal(old(x), new(x))


def test_what_parametrizations_must_return() -> None:
    class Wrong(nn.Module):  # type: ignore[misc]
        def forward(self, *x: Any) -> Any:
            return x[0]

        def right_inverse(self, x: Any) -> Any:
            return None, x

    with pytest.raises(ValueError, match="Got element 0 of the sequence with type NoneType"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Wrong())


def test_prefixes_of_parallel_modules_are_removed() -> None:
    state = nn.DataParallel(nn.Sequential(nn.Linear(1, 1))).state_dict()
    assert list(state) == ["module.0.weight", "module.0.bias"]
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["0.weight", "0.bias"]
    assert list(state._metadata) == ["", "0"]
    nn.Sequential(nn.Linear(1, 1)).load_state_dict(state)


def test_what_a_second_parametrization_must_return() -> None:
    class Identity(nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x

    class Pair(Identity):
        def right_inverse(self, x: Any) -> Any:
            return x, x

    class Whole(Identity):
        def right_inverse(self, x: Any) -> Any:
            return x.long()

    class Row(Identity):
        def right_inverse(self, x: Any) -> Any:
            return x[0]

    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Identity())
    for wrong, text in (
        (Pair(), "right_inverse must return a tensor"),
        (Whole(), "must have the same dtype"),
        (Row(), "must have the same shape"),
    ):
        with pytest.raises(ValueError, match=text):
            parametrize.register_parametrization(layer, "weight", wrong)
    assert len(layer.parametrizations.weight) == 1


def test_parametrizations_are_shared_with_another_module() -> None:
    class Rows(nn.Module):  # type: ignore[misc]
        def forward(self, first: Any, second: Any) -> Any:
            return torch.cat([first, second])

        def right_inverse(self, whole: Any) -> Any:
            return whole[:1], whole[1:]

    one, other, third = nn.Linear(3, 2), nn.Linear(3, 2), nn.Module()
    assert parametrize.transfer_parametrizations_and_params(one, other) is other
    assert not parametrize.is_parametrized(other)
    parametrize.register_parametrization(one, "weight", Rows())
    parametrize.register_parametrization(one, "bias", nn.Tanh(), unsafe=True)
    parametrize.transfer_parametrizations_and_params(one, other)
    parametrize.transfer_parametrizations_and_params(one, third, "bias")
    assert torch.equal(other.weight, one.weight)
    assert torch.equal(other.bias, one.bias)
    assert other.parametrizations.weight.original1 is one.parametrizations.weight.original1
    assert list(dict(third.named_parameters())) == ["parametrizations.bias.original"]
    with torch.no_grad():
        one.parametrizations.bias.original.zero_()
    assert third.bias.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="does not have a parametrization on scale"):
        parametrize.transfer_parametrizations_and_params(one, other, "scale")
