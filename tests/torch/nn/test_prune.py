"""``torch.nn.utils.prune``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ferrograd import torch as _torch
from ferrograd.torch.nn.utils import prune as _prune

torch: Any = _torch
nn: Any = torch.nn
prune: Any = _prune


def layer() -> Any:
    made = nn.Linear(4, 3)
    with torch.no_grad():
        made.weight.copy_(torch.tensor(np.sin(np.arange(12.0)).reshape(3, 4)))
        made.bias.copy_(torch.tensor([1.0, -0.1, 2.0]))
    return made


def kept(values: Any) -> list[int]:
    return [int(i) for i in np.flatnonzero(values.detach().numpy())]


def test_methods_follow_one_another() -> None:
    net = layer()
    # The absolute values of sin are smallest at 0, 3, 6 and 9.
    assert prune.l1_unstructured(net, "weight", 3) is net
    assert kept(net.weight_mask) == [1, 2, 4, 5, 7, 8, 9, 10, 11]
    assert sorted(net.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    prune.ln_structured(net, "weight", 0.3, n=2, dim=0)
    assert kept(net.weight) == [4, 5, 7, 8, 9, 10, 11]
    assert len(net._forward_pre_hooks) == 1
    assert prune.is_pruned(nn.Sequential(net))
    net(torch.ones(1, 4)).sum().backward()
    assert kept(net.weight_orig.grad) == [4, 5, 7, 8, 9, 10, 11]
    prune.remove(net, "weight")
    assert kept(net.weight) == [4, 5, 7, 8, 9, 10, 11]
    assert [name for name, _ in net.named_parameters()] == ["bias", "weight"]
    assert not prune.is_pruned(net)
    with pytest.raises(ValueError, match="has to be pruned before"):
        prune.remove(net, "weight")


def test_several_weights_at_once() -> None:
    net = layer()
    prune.global_unstructured([(net, "weight"), (net, "bias")], prune.L1Unstructured, amount=4)
    assert kept(net.weight) == [1, 2, 4, 5, 7, 8, 9, 10, 11]
    assert kept(net.bias) == [0, 2]
    scores = {(net, "bias"): torch.tensor([0.0, 5.0, 5.0])}
    prune.global_unstructured([(net, "bias")], prune.L1Unstructured, importance_scores=scores, amount=1)
    assert kept(net.bias) == [2]


def test_random_methods_and_masks() -> None:
    net = layer()
    prune.random_unstructured(net, "weight", 0.5)
    assert net.weight_mask.sum().item() == 6
    prune.custom_from_mask(net, "bias", torch.tensor([1, 0, 1]))
    assert kept(net.bias) == [0, 2]
    prune.identity(net, "bias")
    assert kept(net.bias) == [0, 2]
    rows = prune.random_structured(layer(), "weight", 2, dim=1).weight_mask.numpy()
    assert sorted(rows.sum(0)) == [0, 0, 3, 3]

    class Every(prune.BasePruningMethod):  # type: ignore[misc]
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t: Any, default_mask: Any) -> Any:
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    made = layer()
    Every.apply(made, "bias")
    assert kept(made.bias) == [1]
    assert prune.L1Unstructured(amount=1).prune(torch.tensor([1.0, -3.0])).tolist() == [0.0, -3.0]


def test_mistakes_leave_the_module_as_it_was() -> None:
    net = layer()
    mistakes: list[tuple[Any, Any, str]] = [
        (lambda: prune.l1_unstructured(net, "weight", 13), ValueError, "smaller than the number of parameters"),
        (lambda: prune.l1_unstructured(net, "weight", 1.5), ValueError, "a float in the range"),
        (lambda: prune.l1_unstructured(net, "weight", "x"), TypeError, "Invalid type for amount"),
        (lambda: prune.ln_structured(net, "bias", 1, n=2, dim=0), ValueError, "multidimensional tensors"),
        (lambda: prune.random_structured(net, "weight", 1, dim=3), IndexError, "Invalid index 3"),
        (lambda: prune.global_unstructured([(net, "bias")], prune.LnStructured, amount=1, n=2), TypeError, "Only"),
    ]
    for wrong, kind, text in mistakes:
        with pytest.raises(kind, match=text):
            wrong()
    assert [name for name, _ in net.named_parameters()] == ["weight", "bias"]
    assert not prune.is_pruned(net)


def test_masks_of_integers_become_those_of_the_weight() -> None:
    method = prune.L1Unstructured(amount=1)
    method._tensor_name = "weight"
    methods = prune.PruningContainer(method)
    found = methods.compute_mask(torch.tensor([[3.0, 1.0], [2.0, 4.0]]), torch.tensor([[1, 0], [1, 1]]))
    assert found.dtype == torch.float32
    assert found.tolist() == [[1, 0], [0, 1]]


def test_methods_of_other_programs_find_the_helpers() -> None:
    class EveryOther(prune.BasePruningMethod):  # type: ignore[misc]
        PRUNING_TYPE = "unstructured"

        def __init__(self, amount: Any) -> None:
            prune._validate_pruning_amount_init(amount)
            self.amount = amount

        def compute_mask(self, t: Any, default_mask: Any) -> Any:
            prune._validate_pruning_amount(self.amount, t.nelement())
            mask = default_mask.clone().reshape(-1)
            mask[: 2 * prune._compute_nparams_toprune(self.amount, t.nelement()) : 2] = 0
            return mask.reshape(t.shape)

    made = layer()
    EveryOther.apply(made, "weight", 0.25)
    assert made.weight_mask.reshape(-1).tolist() == [0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1]
    with pytest.raises(ValueError, match="smaller than the number of parameters"):
        EveryOther.apply(layer(), "weight", 13)
    with pytest.raises(TypeError, match="Must be int or float"):
        EveryOther("all")
