"""``torch.utils.checkpoint``: when the second run ends, what errors say, and policies."""

from __future__ import annotations

from typing import Any

import pytest
from ferrograd import torch as _torch
from ferrograd.torch.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    create_selective_checkpoint_contexts,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

from tests.dialects import values

torch: Any = _torch


def counted(ends: list[str]) -> Any:
    def f(x: Any) -> Any:
        y = x.sin().cos()
        ends.append("end")
        return y.clone()

    return f


def test_the_second_run_stops_early() -> None:
    x = torch.tensor([0.5], requires_grad=True)
    wanted = values(torch.autograd.grad(x.sin().cos(), x)[0])
    for options, count in (({}, 1), ({"early_stop": False}, 2)):
        ends: list[str] = []
        y = checkpoint(counted(ends), x, use_reentrant=False, **options)
        assert values(torch.autograd.grad(y, x)[0]) == wanted
        assert len(ends) == count
    ends = []
    with set_checkpoint_early_stop(False):
        y = checkpoint(counted(ends), x, use_reentrant=False)
        with set_checkpoint_early_stop(True):
            other = checkpoint(counted(ends), x, use_reentrant=False)
    torch.autograd.grad(y, x)
    assert len(ends) == 3
    torch.autograd.grad(other, x)
    assert len(ends) == 3
    # PyTorch's other form of checkpoints always runs to its end.
    ends = []
    torch.autograd.grad(checkpoint(counted(ends), x, use_reentrant=True), x)
    assert len(ends) == 2


def test_errors_list_what_both_runs_saved_where_they_are_asked_to() -> None:
    count = [0]

    def f(x: Any) -> Any:
        count[0] += 1
        return x.sin() * torch.ones(count[0])

    x = torch.tensor([0.5], requires_grad=True)

    def text(**options: Any) -> str:
        count[0] = 0
        with pytest.raises(
            CheckpointError, match="Recomputed values for the following tensors have different meta"
        ) as e:
            checkpoint(f, x, use_reentrant=False, **options).sum().backward()
        return str(e.value)

    said = "You are seeing this error because you passed `debug=True` to checkpoint"
    assert said not in text()
    assert said in text(debug=True)
    with set_checkpoint_debug_enabled(True):
        assert said in text()
    with set_checkpoint_debug_enabled(False):
        assert said not in text(debug=True)
        with set_checkpoint_debug_enabled(None):
            assert said in text(debug=True)


def test_policies_are_functions_or_lists_of_ops() -> None:
    aten = torch.ops.aten
    assert len(create_selective_checkpoint_contexts([aten.mm.default])) == 2
    with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload but got: 2"):
        create_selective_checkpoint_contexts([2])
    with pytest.raises(ValueError, match="update the OpOverloadPacket to a specific OpOverload"):
        create_selective_checkpoint_contexts([aten.mm])
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        create_selective_checkpoint_contexts(2)  # type: ignore[arg-type]


def test_which_kind_of_checkpoint_is_wanted_has_to_be_said() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.sin, x)
    with pytest.warns(UserWarning, match="checkpoint_sequential: the use_reentrant parameter"):
        torch.utils.checkpoint.checkpoint_sequential([torch.sin, torch.cos], 2, x)
    for kind in (True, False):
        checkpoint(torch.sin, x, use_reentrant=kind).sum().backward()
