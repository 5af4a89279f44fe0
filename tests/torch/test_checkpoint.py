"""``torch.utils.checkpoint``: when the second run ends, what errors say, and policies."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from ferrograd import torch as _torch
from ferrograd.torch.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
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


aten = torch.ops.aten


def selective(policy: Any, **options: Any) -> Any:
    return functools.partial(create_selective_checkpoint_contexts, policy, **options)


def seen(log: list[str], kept: tuple[str, ...]) -> Any:
    """A policy that keeps the results of some ops, and a list of what it is asked."""

    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        log.append(f"{'second' if context.is_recompute else 'first'} {op}")
        return CheckpointPolicy.MUST_SAVE if str(op) in kept else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


def test_a_policy_is_asked_in_both_runs_and_what_it_keeps_is_not_computed_again() -> None:
    x = torch.tensor([0.5, 2.0], requires_grad=True)

    def f(x: Any) -> Any:
        return x.cos().exp().sin().tanh()

    wanted = values(torch.autograd.grad(f(x).sum(), x)[0])
    for kept in ((), ("aten.exp.default",), ("aten.cos.default", "aten.exp.default", "aten.sin.default")):
        log: list[str] = []
        y = checkpoint(f, x, use_reentrant=False, context_fn=selective(seen(log, kept)))
        assert log == [f"first aten.{name}.default" for name in ("cos", "exp", "sin", "tanh")]
        assert values(torch.autograd.grad(y.sum(), x)[0]) == wanted
        assert log[4:7] == [f"second aten.{name}.default" for name in ("cos", "exp", "sin")]


def test_the_second_run_does_not_compute_what_is_kept() -> None:
    @torch.library.custom_op("selective::square", mutates_args=())
    def square(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x * x

    def save(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    square.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] * g, setup_context=save)
    op = torch.ops.selective.square.default
    assert op is torch.ops.selective.square.default
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    for policy, count in (([op], 1), ([aten.sin.default], 2), (lambda ctx, called, *_, **__: called is op, 1)):
        calls: list[int] = []
        y = checkpoint(
            lambda x: torch.ops.selective.square(x.sin()).exp().cos(),
            x,
            use_reentrant=False,
            context_fn=selective(policy),
        )
        grad = torch.autograd.grad(y.sum(), x)[0]
        z = x.sin()
        assert values(grad) == pytest.approx(values(-(z**2).exp().sin() * (z**2).exp() * 2 * z * x.cos()))
        assert len(calls) == count


@pytest.mark.parametrize(
    "f",
    [
        lambda x: torch.nn.functional.layer_norm((x @ x).sin(), (2,)).exp(),
        lambda x: (x @ x).relu().view(-1).sin().add_(1).cos(),
        lambda x: torch.nn.functional.linear(x.sin(), x.cos(), x[0].sin()).softmax(-1).exp(),
        lambda x: torch.nn.functional.dropout(torch.nn.functional.dropout(x @ x).sin()).cos(),
        lambda x: torch.cat([a * b for a, b in [torch.var_mean(x, 0)]]).sin().exp(),
        lambda x: x.sin().half().exp().float().cos(),
        lambda x: torch.func.vmap(lambda row: (row @ row).sin().exp())(x).cos(),
        lambda x: checkpoint(lambda x: (x @ x).sin().exp(), x.cos(), use_reentrant=False).sin(),
        lambda x: x.sin().mul_(x).cos().exp(),
    ],
)
def test_gradients_are_those_without_a_policy(f: Any) -> None:
    x = torch.tensor([[0.5, 2.0], [1.0, -0.3]], requires_grad=True)
    with torch.random.fork_rng():
        state = torch.random.get_rng_state()
        wanted = torch.autograd.grad(f(x).sum(), x)[0]
        for share in range(4):
            count = [0, 0]

            def policy(context: Any, op: Any, *_: Any, share: int = share, count: Any = count, **__: Any) -> bool:
                count[context.is_recompute] += 1
                return share == 3 or (count[context.is_recompute] + share) % 3 == 0

            torch.random.set_rng_state(state)
            contexts = selective(policy, allow_cache_entry_mutation=True)
            y = checkpoint(f, x, use_reentrant=False, context_fn=contexts)
            torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], wanted)


def test_a_kept_result_that_is_written_to_is_an_error_unless_copies_are_kept() -> None:
    x = torch.tensor([0.5, 2.0], requires_grad=True)

    def f(x: Any) -> Any:
        return x.sin().mul_(2).cos().exp()

    y = checkpoint(f, x, use_reentrant=False, context_fn=selective([aten.sin.default]))
    with pytest.raises(CheckpointError, match="has been mutated"):
        y.sum().backward()
    y = checkpoint(f, x, use_reentrant=False, context_fn=selective([aten.sin.default], allow_cache_entry_mutation=True))
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.autograd.grad(f(x).sum(), x)[0])


def test_gradients_of_a_selective_checkpoint_are_computed_once() -> None:
    x = torch.tensor([0.5], requires_grad=True)
    y = checkpoint(lambda x: x.sin().cos().exp(), x, use_reentrant=False, context_fn=selective([aten.sin.default]))
    y.backward(retain_graph=True)
    with pytest.raises(CheckpointError, match="Trying to backward an extra time"):
        y.backward()


def test_a_second_run_that_calls_other_ops_is_an_error() -> None:
    runs = iter([torch.sin, torch.cos])
    x = torch.tensor([0.5], requires_grad=True)
    y = checkpoint(lambda x: next(runs)(x).exp().tanh(), x, use_reentrant=False, context_fn=selective([]))
    with pytest.raises(CheckpointError, match="is called by the second run alone"):
        y.backward()
