"""``torch.nn.Module``: what it holds, its hooks, its state, its texts."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from ferrograd import torch as _torch

torch: Any = _torch
nn: Any = torch.nn


class Net(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(3, 1, bias=False))
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("cache", torch.ones(2), persistent=False)

    def forward(self, x: Any) -> Any:
        return self.rest(self.first(x))


def test_names_follow_the_tree() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["first.weight", "first.bias", "rest.1.weight"]
    assert [n for n, _ in net.named_parameters("net", recurse=False)] == []
    assert [n for n, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    assert [n for n, _ in net.named_children()] == ["first", "rest"]
    assert [n for n, _ in net.named_buffers()] == ["seen", "cache"]
    assert list(net.state_dict()) == ["seen", "first.weight", "first.bias", "rest.1.weight"]
    assert net.get_parameter("rest.1.weight") is net.rest[1].weight
    assert net.get_submodule("rest.0") is net.rest[0]
    assert net.get_submodule("") is net
    assert net.get_buffer("cache") is net.cache


def test_a_shared_parameter_is_listed_once() -> None:
    net = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)})
    net["b"].weight = net["a"].weight
    assert len(list(net.parameters())) == 3
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert list(net.state_dict()) == ["a.weight", "a.bias", "b.weight", "b.bias"]
    both = nn.Sequential(net["a"], net["a"])
    assert len(list(both.modules())) == 2
    assert both.double()[0].weight.dtype == torch.float64


def test_assignment_moves_a_name_between_the_tables() -> None:
    m = nn.Module()
    m.x = 1
    m.x = nn.Parameter(torch.ones(2))
    assert list(m._parameters) == ["x"]
    m.x = nn.ReLU()
    assert not m._parameters
    assert list(m._modules) == ["x"]
    m.x = nn.Buffer(torch.ones(1), persistent=False)
    assert not m._modules
    assert list(m.state_dict()) == []
    m.x = torch.zeros(3)
    assert m._buffers["x"].shape == (3,)
    del m.x
    assert not hasattr(m, "x")
    m.p = nn.Parameter(torch.ones(2))
    m.p = None
    assert m.p is None
    assert list(m.parameters()) == []
    assert "p" in dir(m)


def unset() -> Any:
    class Late(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            self.layer = nn.ReLU()

    return Late()


MISTAKES: list[tuple[Any, type[Exception], str]] = [
    (unset, AttributeError, "cannot assign module before Module.__init__() call"),
    (
        lambda: setattr(Net(), "first", 3),
        TypeError,
        "cannot assign 'int' as child module 'first' (torch.nn.Module or None expected)",
    ),
    (
        lambda: setattr(nn.Linear(1, 1), "weight", torch.ones(1)),
        TypeError,
        "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)",
    ),
    (
        lambda: setattr(Net(), "seen", "x"),
        TypeError,
        "cannot assign 'str' as buffer 'seen' (torch.nn.Buffer, torch.Tensor or None expected)",
    ),
    (lambda: Net().register_parameter("a.b", None), KeyError, 'parameter name can\'t contain "."'),
    (lambda: Net().register_parameter("", None), KeyError, "parameter name can't be empty string"),
    (lambda: Net().register_parameter("first", None), KeyError, "attribute 'first' already exists"),
    (lambda: Net().register_buffer("b", 1), TypeError, "cannot assign 'int' object to buffer 'b'"),
    (lambda: Net().add_module("m", 1), TypeError, "int is not a Module subclass"),
    (
        lambda: Net().register_parameter("w", torch.ones(2)),
        TypeError,
        "cannot assign 'torch.FloatTensor' object to parameter 'w' (torch.nn.Parameter or None required)",
    ),
    (lambda: Net().missing, AttributeError, "'Net' object has no attribute 'missing'"),
    (lambda: nn.Module()(1), NotImplementedError, 'Module [Module] is missing the required "forward" function'),
    (lambda: nn.Module(1), TypeError, "Module.__init__() takes 1 positional argument but 2 were given"),
    (lambda: nn.Module(a=1), TypeError, "Module.__init__() got an unexpected keyword argument 'a'"),
    (lambda: Net().train("yes"), ValueError, "training mode is expected to be boolean"),
    (lambda: Net().get_submodule("first.weight"), AttributeError, "`weight` is not an nn.Module"),
    (lambda: Net().get_submodule("second"), AttributeError, "Net has no attribute `second`"),
    (lambda: Net().to(torch.int64), TypeError, "only accepts floating point or complex dtypes"),
    (lambda: Net().to("cpu", True), TypeError, "a dtype is wanted, not True"),
    (lambda: Net().to([]), TypeError, "a device, a dtype or a tensor is wanted, not a list"),
    (lambda: Net().to("cuda"), RuntimeError, "cuda is neither a dtype nor a device that is here"),
    (lambda: Net().load_state_dict([]), TypeError, "Expected state_dict to be dict-like, got <class 'list'>."),
    (lambda: nn.ReLU(1, 2, 3), TypeError, "ReLU.__init__(): too many positional arguments"),
    (lambda: nn.Threshold(1), TypeError, "Threshold.__init__(): missing a required argument: 'value'"),
    (lambda: nn.Dropout(2), ValueError, "dropout probability has to be between 0 and 1, but got 2"),
    (lambda: nn.Dropout("0.5"), ValueError, "dropout probability has to be between 0 and 1, but got '0.5'"),
    (lambda: nn.Linear("3", 2), ValueError, "Linear: in_features is an integer, not '3'"),
    (lambda: nn.BatchNorm1d("3"), ValueError, "BatchNorm1d: num_features is an integer, not '3'"),
    (lambda: nn.LayerNorm("3"), ValueError, "LayerNorm: normalized_shape is an integer, not '3'"),
    (lambda: nn.GroupNorm(1, "3"), ValueError, "GroupNorm: num_channels is an integer, not '3'"),
    (lambda: nn.MultiheadAttention("4", 2), ValueError, "MultiheadAttention: embed_dim is an integer, not '4'"),
    (lambda: nn.LSTMCell(4, 8)(torch.ones(5, 3)), RuntimeError, "input has inconsistent input_size: got 3 expected 4"),
    (lambda: nn.LSTM("3", 2), ValueError, "LSTM: input_size is an integer, not '3'"),
    (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups"),
    (lambda: nn.ParameterList()(1), RuntimeError, "ParameterList should not be called."),
    (lambda: nn.ModuleList([nn.ReLU()])[1], IndexError, "index 1 is out of range"),
    (lambda: nn.ModuleList(3), TypeError, "ModuleList.extend should be called with an iterable, but got int"),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), MISTAKES, ids=lambda v: v[:30] if isinstance(v, str) else "")
def test_mistakes_are_refused_with_torchs_words(wrong: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as raised:
        wrong()
    assert text in raised.value.args[0]


def test_a_wrong_state_lists_all_that_is_wrong() -> None:
    net = Net()
    state = net.state_dict()
    del state["seen"]
    state["first.weight"] = torch.zeros(5, 5)
    state["extra.weight"] = torch.zeros(1)
    with pytest.raises(RuntimeError) as raised:
        net.load_state_dict(state)
    assert str(raised.value) == (
        "Error(s) in loading state_dict for Net:\n"
        '\tMissing key(s) in state_dict: "seen". \n'
        '\tUnexpected key(s) in state_dict: "extra.weight". \n'
        "\tsize mismatch for first.weight: copying a param with shape torch.Size([5, 5]) from checkpoint, "
        "the shape in current model is torch.Size([3, 2])."
    )
    del state["first.weight"]
    found = net.load_state_dict(state, strict=False)
    assert found.missing_keys == ["seen", "first.weight"]
    assert found.unexpected_keys == ["extra.weight"]
    assert "missing_keys=['seen'" in repr(found)
    assert repr(net.load_state_dict(net.state_dict())) == "<All keys matched successfully>"


def test_state_is_shared_and_loading_copies() -> None:
    net, other = Net(), Net()
    assert not net.state_dict()["first.weight"].requires_grad
    assert net.state_dict(keep_vars=True)["first.weight"] is net.first.weight
    kept = net.state_dict()["first.weight"]
    before = kept.numpy().copy()
    weight = net.first.weight
    net.load_state_dict(other.state_dict())
    assert net.first.weight is weight
    np.testing.assert_array_equal(kept.numpy(), other.first.weight.detach().numpy())
    assert not np.array_equal(kept.numpy(), before)
    given = {name: torch.ones(*v.shape) for name, v in other.state_dict().items()}
    net.load_state_dict(given, assign=True)
    assert isinstance(net.first.weight, nn.Parameter)
    assert net.first.weight is not weight
    assert net.first.weight.data_ptr() == given["first.weight"].data_ptr()


def test_extra_state_and_state_hooks() -> None:
    class Counter(nn.Module):  # type: ignore[misc]
        count = 3

        def get_extra_state(self) -> Any:
            return {"count": self.count}

        def set_extra_state(self, state: Any) -> None:
            self.count = state["count"]

    source = nn.Sequential(Counter())
    source[0].count = 7
    state = source.state_dict(prefix="p.")
    assert state == {"p.0._extra_state": {"count": 7}}
    target = nn.Sequential(Counter())
    target.load_state_dict(source.state_dict())
    assert target[0].count == 7
    calls: list[str] = []
    target.register_state_dict_pre_hook(lambda m, prefix, keep: calls.append("before"))
    handle = target.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update(more=1))
    target.register_load_state_dict_pre_hook(lambda m, state, *rest: state.pop("more") and None)
    target.register_load_state_dict_post_hook(lambda m, keys: calls.append(f"{keys.missing_keys}"))
    state = target.state_dict()
    assert state["more"] == 1
    target.load_state_dict(state)
    assert calls == ["before", "[]"]
    handle.remove()
    assert "more" not in target.state_dict()


def test_conversion_keeps_the_parameters() -> None:
    net = Net()
    net.register_buffer("index", torch.tensor([1]))
    weight, optimizer = net.first.weight, torch.optim.SGD(net.parameters(), lr=0.1)
    net(torch.ones(1, 2)).sum().backward()
    assert net.double() is net
    assert net.first.weight is weight
    assert weight.dtype == weight.grad.dtype == torch.float64
    assert net.seen.dtype == torch.float64
    assert net.index.dtype == torch.int64
    assert weight.requires_grad
    assert weight.is_leaf
    optimizer.zero_grad()
    net(torch.ones(1, 2).double()).sum().backward()
    optimizer.step()
    assert net.to(torch.float32).seen.dtype == torch.float32
    assert net.to(torch.ones(1).double()).cpu().seen.dtype == torch.float64
    assert net.float().to("cpu").first.weight.dtype == torch.float32
    assert net.to(device="cpu", dtype=torch.float64).first.bias.dtype == torch.float64


def test_modes_and_gradients_of_the_whole_tree() -> None:
    net = Net()
    assert net.eval() is net
    assert not any(m.training for m in net.modules())
    assert all(m.training for m in net.train().modules())
    net(torch.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.first.weight.grad.abs().sum().item() == 0
    net.zero_grad()
    assert net.first.weight.grad is None
    assert not any(p.requires_grad for p in net.requires_grad_(False).parameters())
    seen: list[str] = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "ReLU", "Linear", "Sequential", "Net"]


def test_forward_hooks_change_arguments_and_results() -> None:
    m = nn.Identity()
    log: list[Any] = []
    m.register_forward_pre_hook(lambda mod, args: log.append("pre"))
    first = m.register_forward_pre_hook(lambda mod, args: args[0] * 2, prepend=True)
    m.register_forward_pre_hook(lambda mod, args, kwargs: (args, {}), with_kwargs=True)
    m.register_forward_hook(lambda mod, args, out: out + 1)
    m.register_forward_hook(lambda mod, args, kwargs, out: log.append(out.item()), with_kwargs=True)
    assert (
        m(
            torch.tensor(3.0),
        ).item()
        == 7
    )
    assert log == ["pre", 7.0]
    first.remove()
    first.remove()
    assert m(torch.tensor(3.0)).item() == 4
    with m.register_forward_hook(lambda mod, args, out: out * 0, prepend=True):
        assert m(torch.tensor(3.0)).item() == 1
    assert m(torch.tensor(3.0)).item() == 4


def test_a_hook_that_is_always_called_sees_failures() -> None:
    log: list[Any] = []
    m = nn.Linear(2, 2)
    m.register_forward_hook(lambda mod, args, out: log.append(out), always_call=True)
    with pytest.raises(RuntimeError):
        m(torch.ones(3))
    assert log == [None]


def test_backward_hooks_see_and_change_gradients() -> None:
    layer = nn.Linear(2, 1, bias=False)
    layer.weight.data = torch.tensor([[2.0, 3.0]])
    log: list[Any] = []
    layer.register_full_backward_pre_hook(lambda m, out: (out[0] * 10,))
    handle = layer.register_full_backward_hook(
        lambda m, inside, outside: log.append((inside[0].tolist(), outside[0].tolist()))
    )
    x = torch.tensor([[1.0, 1.0]], requires_grad=True)
    layer(x).sum().backward()
    assert log == [([[20.0, 30.0]], [[10.0]])]
    assert x.grad.tolist() == [[20.0, 30.0]]
    assert layer.weight.grad.tolist() == [[10.0, 10.0]]
    handle.remove()
    layer.register_full_backward_hook(lambda m, inside, outside: (inside[0] * 0,))
    x.grad = None
    layer(x).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0]]
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        layer.register_backward_hook(lambda *a: None)


def test_backward_hooks_without_tracked_inputs_and_of_the_last_op() -> None:
    log: list[Any] = []
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(lambda m, inside, outside: log.append((inside, outside[0].tolist())))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(torch.ones(1, 2)).sum().backward()
    assert log == [((None,), [[1.0]])]
    old = nn.ReLU()
    old.register_backward_hook(lambda m, inside, outside: log.append(inside[0].tolist()))
    old(torch.tensor([1.0, -1.0], requires_grad=True)).sum().backward()
    assert log[1] == [1.0, 0.0]


def test_texts() -> None:
    assert repr(Net()) == (
        "Net(\n"
        "  (first): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (rest): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Linear(in_features=3, out_features=1, bias=False)\n"
        "  )\n"
        ")"
    )
    assert repr(nn.Module()) == "Module()"
    blocks = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])
    assert repr(blocks) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    both = nn.ParameterDict({"a": nn.Parameter(torch.ones(2, 3)), "b": 5})
    assert repr(both) == (
        "ParameterDict(\n"
        "    (a): Parameter containing: [torch.FloatTensor of size 2x3]\n"
        "    (b): Object of type: int\n"
        ")"
    )


def test_data_parallel_passes_calls_on() -> None:
    inside = nn.Linear(2, 1)
    outside = nn.DataParallel(inside)
    x = torch.ones(1, 2)
    assert outside(x).item() == inside(x).item()
    assert list(outside.state_dict()) == ["module.weight", "module.bias"]
    assert outside.module is inside


def test_lists_behave_like_lists() -> None:
    names = "abcd"
    chain = nn.Sequential(OrderedDict((n, nn.Linear(1, 1)) for n in names))
    assert list(dict(chain.named_children())) == list(names)
    assert list(dict(chain[1:3].named_children())) == ["b", "c"]
    assert chain[-1] is chain.d
    chain[0] = nn.ReLU()
    assert isinstance(chain.a, nn.ReLU)
    assert len(nn.Sequential(nn.ReLU()) * 3) == 3
    assert len(nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh(), nn.ReLU())) == 3
    chain = nn.Sequential(nn.ReLU(), nn.Tanh())
    chain.insert(1, nn.Sigmoid())
    chain.append(nn.Identity())
    assert [type(m).__name__ for m in chain] == ["ReLU", "Sigmoid", "Tanh", "Identity"]
    assert isinstance(chain.pop(0), nn.ReLU)
    assert list(dict(chain.named_children())) == ["0", "1", "2"]
    del chain[0:2]
    assert len(chain) == 1
    layers = nn.ModuleList([nn.ReLU()]).__add__([nn.Tanh()])
    layers += [nn.Sigmoid()]
    assert [type(m).__name__ for m in layers[1:]] == ["Tanh", "Sigmoid"]
    weights = nn.ParameterList([torch.ones(1), torch.ones(2)])
    weights.append(torch.ones(3))
    assert [n for n, _ in weights.named_parameters()] == ["0", "1", "2"]
    assert [len(w) for w in weights[1:]] == [2, 3]
    weights[0] = torch.zeros(4)
    assert weights[0].shape == (4,)
    named = nn.ParameterDict({"x": torch.ones(1)})
    named.update([("y", torch.ones(2))])
    assert named.pop("x").shape == (1,)
    assert list(named) == ["y"]
    assert "x" not in named
    assert named.get("x") is None
    modules = nn.ModuleDict([("a", nn.ReLU())])
    modules.update({"b": nn.Tanh()})
    assert list(modules.keys()) == ["a", "b"]
    del modules["a"]
    assert list(modules) == ["b"]


def test_copies_and_pickles() -> None:
    net = Net()
    net.rest[1].weight.note = "kept"
    twin = copy.deepcopy(net)
    assert twin.first.weight is not net.first.weight
    assert twin.state_dict().keys() == net.state_dict().keys()
    tied = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    tied[1].weight = tied[0].weight
    copied = copy.deepcopy(tied)
    assert copied[0].weight is copied[1].weight
    for original in (nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.BatchNorm1d(2)).eval(), nn.CrossEntropyLoss()):
        again = pickle.loads(pickle.dumps(original))
        assert repr(again) == repr(original)
        assert again.training == original.training
        for name, value in original.state_dict().items():
            np.testing.assert_array_equal(again.state_dict()[name].numpy(), value.numpy())
    buffer = pickle.loads(pickle.dumps(nn.Buffer(torch.ones(2), persistent=False)))
    assert isinstance(buffer, nn.Buffer)
    assert repr(buffer) == "tensor([1., 1.])"
    assert not buffer.persistent
    assert copy.deepcopy(buffer).tolist() == [1.0, 1.0]


def test_saved_states_load_without_trust(tmp_path: Any) -> None:
    net = Net()
    torch.save(net.state_dict(), tmp_path / "net.pt")
    other = Net()
    other.load_state_dict(torch.load(tmp_path / "net.pt"))
    np.testing.assert_array_equal(other.first.weight.detach().numpy(), net.first.weight.detach().numpy())


def test_states_of_early_versions_lack_the_number_of_batches() -> None:
    net = nn.BatchNorm2d(2)
    net.num_batches_tracked.fill_(5)
    state = nn.BatchNorm2d(2).state_dict()
    del state["num_batches_tracked"]
    with pytest.raises(RuntimeError, match="num_batches_tracked"):
        net.load_state_dict(state)
    state._metadata[""]["version"] = 1
    net.load_state_dict(state)
    assert net.num_batches_tracked.item() == 5


def test_the_error_of_a_call_wins_over_those_of_hooks() -> None:
    net, seen = nn.ReLU(), []

    def raising(*_: Any) -> None:
        raise ValueError("of the hook")

    net.register_forward_hook(raising, always_call=True)
    net.register_forward_hook(lambda *_: seen.append(1), always_call=True)
    net.register_forward_pre_hook(lambda *_: (_ for _ in ()).throw(RuntimeError("of the call")))
    with pytest.warns(UserWarning, match="of the hook"), pytest.raises(RuntimeError, match="of the call"):
        net(torch.ones(1))
    assert seen == [1]


def test_full_backward_hooks_leave_other_arguments_untracked() -> None:
    class Two(nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, y: Any) -> Any:
            assert (x.requires_grad, y.requires_grad) == (True, False)
            return (x * y).sum()

    net, seen = Two(), []
    net.register_full_backward_hook(lambda module, before, after: seen.append(before))
    x = torch.ones(2, requires_grad=True)
    net(x, torch.full((2,), 3.0)).backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert seen[0][0].tolist() == [3.0, 3.0]
    assert seen[0][1] is None


def test_loading_leaves_no_cycle_of_references() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    state = net.state_dict()
    net.load_state_dict(state)
    gc.collect()
    gc.disable()
    try:
        net.load_state_dict(state)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_plain_dict_of_parameters_is_sorted() -> None:
    values = {name: torch.zeros(1) for name in "bca"}
    assert list(torch.nn.ParameterDict(values)) == ["a", "b", "c"]
    assert list(torch.nn.ParameterDict(OrderedDict(values))) == ["b", "c", "a"]
    assert list(torch.nn.ParameterDict(list(values.items()))) == ["b", "c", "a"]
    assert list(torch.nn.ModuleDict({name: torch.nn.ReLU() for name in "bca"})) == ["b", "c", "a"]


@pytest.mark.parametrize("of_weight", [True, False])
@pytest.mark.parametrize("of_bias", [True, False, None])
def test_fused_parameters_are_trained_if_those_of_the_layer_were(of_weight: bool, of_bias: bool | None) -> None:
    layer, bn = torch.nn.Linear(3, 2, bias=of_bias is not None).eval(), torch.nn.BatchNorm1d(2).eval()
    layer.weight.requires_grad_(of_weight)
    if of_bias is not None:
        layer.bias.requires_grad_(of_bias)
    fused = torch.nn.utils.fusion.fuse_linear_bn_eval(layer, bn)
    assert (fused.weight.requires_grad, fused.bias.requires_grad) == (of_weight, bool(of_bias))


def test_a_cast_that_is_refused_leaves_the_whole_module_as_it_was() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2, dtype=torch.complex64))
    module.register_buffer("count", torch.tensor([1]))
    module[0].weight.grad = torch.ones(2, 2)
    kept = [x.dtype for x in module.state_dict().values()]
    calls: list[Any] = [
        lambda: module.to("nonsense"),
        lambda: module[0].to("int64"),
        lambda: module[0].type(torch.int64),
        lambda: module.type("nonsense"),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError)):
            call()
        assert [x.dtype for x in module.state_dict().values()] == kept
        assert module[0].weight.requires_grad
        assert module[0].weight.grad is not None
    with pytest.warns(UserWarning, match="Complex modules are a new feature"):
        module.to(torch.complex128)
    assert {x.dtype for x in module.state_dict().values()} == {torch.complex128, torch.int64}
    before = module[1].weight.real.tolist()
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        module.to(torch.float64)
    assert {x.dtype for x in module.state_dict().values()} == {torch.float64, torch.int64}
    assert module[1].weight.tolist() == before


def test_a_module_is_compiled_in_place() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
    x = torch.ones(2, 3)
    before = net(x)
    seen: list[Any] = []
    net.register_forward_hook(lambda module, inputs, output: seen.append(output))
    assert net.compile() is None
    assert torch.equal(net(x), before)
    assert len(seen) == 1
    net(x).sum().backward()
    assert net[0].weight.grad is not None
    assert list(net.state_dict()) == ["0.weight", "0.bias"]
    copied = copy.deepcopy(net)
    with torch.no_grad():
        copied[0].weight.zero_()
        copied[0].bias.zero_()
    assert not copied(x).any()
    assert torch.equal(net(x), before)


def test_a_module_without_numbers_of_its_own_is_called_with_those_of_others() -> None:
    torch.manual_seed(0)
    nets = [torch.nn.Linear(3, 2) for _ in range(4)]
    base = copy.deepcopy(nets[0]).to("meta")
    parameters, buffers = torch.func.stack_module_state(nets)
    x = torch.ones(5, 3)

    def call(parameters: Any, buffers: Any, x: Any) -> Any:
        return torch.func.functional_call(base, (parameters, buffers), (x,))

    found = torch.func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    torch.testing.assert_close(found, torch.stack([net(x) for net in nets]))
    assert base.to(device="meta") is base
    with pytest.raises(ValueError, match="the only device is 'cpu'"):
        base.to("cuda")


@pytest.mark.parametrize("make", [nn.ReLU, nn.CrossEntropyLoss, nn.Dropout, nn.Linear, nn.Softmax, nn.ModuleList])
def test_layers_call_the_next_class(make: Any) -> None:
    """A class beside a layer is initialized with it, as by ``super().__init__()``."""

    class Named(nn.Module):  # type: ignore[misc]
        def __init__(self, name: str = "none") -> None:
            super().__init__()
            self.name = name

    class Both(make, Named):  # type: ignore[misc]
        pass

    made: Any = Both
    module = made(2, 1) if make is nn.Linear else made()
    assert module.name == "none"
    assert module.training


def test_members_of_the_tree() -> None:
    model = nn.ModuleList([nn.Linear(2, 1, bias=False), nn.BatchNorm1d(1)])
    found = dict(model._named_members(lambda m: m._parameters.items(), prefix="net"))
    assert list(found) == ["net.0.weight", "net.1.weight", "net.1.bias"]
    assert list(model._named_members(lambda m: m._parameters.items(), recurse=False)) == []
    assert len(list(model._named_members(lambda m: [("a", [1]), ("b", [2])]))) == 6
    assert model._get_abs_string_index(-1) == "1"
    with pytest.raises(IndexError):
        model._get_abs_string_index(2)


def test_backward_hooks_say_which_gradients_they_miss() -> None:
    class Wrapped(nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return {"x": x}

    x = torch.ones(2, requires_grad=True)
    net, called = Wrapped(), []
    net.register_full_backward_hook(lambda *args: called.append(args))
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple of Tensors but received <class 'dict'>"):
        net(x)["x"].sum().backward()
    assert not called

    class Given(nn.Module):  # type: ignore[misc]
        def __init__(self, function: Any) -> None:
            super().__init__()
            self.function = function
            self.register_backward_hook(lambda *args: None)

        def forward(self, *args: Any) -> Any:
            return self.function(*args)

    cases: list[tuple[Any, tuple[Any, ...], str]] = [
        (lambda m: m[0].clone(), ([x],), "does not take as input a single Tensor"),
        (lambda a: [a.clone()], (x,), "does not return a single Tensor"),
        (lambda a, b: (a.clone(), b.clone()), (x, x), "different autograd Nodes"),
        (lambda a: a.clone().clone(), (x,), "multiple autograd Nodes"),
    ]
    for function, args, text in cases:
        with pytest.warns(FutureWarning, match=text):
            Given(function)(*args)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Given(torch.sin)(x)
        Given(torch.sin)(x.exp())


def test_a_sequence_takes_modules_only() -> None:
    net = nn.Sequential(nn.ReLU())
    with pytest.raises(AssertionError, match="module should be of type"):
        net.insert(0, [nn.ReLU()])
    assert len(net) == 1


def test_a_handle_gives_the_dict_that_holds_its_hook() -> None:
    net = nn.Linear(1, 1)
    first, second = (net.register_forward_hook(lambda *_: None) for _ in range(2))
    assert list(first.hooks_dict_ref()) == [first.id, second.id]
    first.remove()
    assert list(second.hooks_dict_ref()) == [second.id]


def test_a_hook_of_states_is_registered_in_one_way() -> None:
    def hook(*_: Any) -> None:
        return None

    layer = torch.nn.Linear(1, 1)
    layer.register_state_dict_post_hook(hook)
    with pytest.raises(RuntimeError, match="previously registered via register_state_dict_post_hook"):
        layer._register_state_dict_hook(hook)
