"""The states of parameters as users read and write them, and what optimizers refuse."""

from __future__ import annotations

import copy
import pickle
from collections import defaultdict
from typing import Any

import ferrograd.torch as torch
import pytest

COUNTING = ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "Adagrad", "Adadelta", "ASGD", "Adafactor")


def made(name: str, steps: int = 0) -> tuple[Any, Any]:
    p = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = getattr(torch.optim, name)([p], lr=0.1)
    for _ in range(steps):
        step(p, optimizer)
    return p, optimizer


def step(p: Any, optimizer: Any) -> None:
    p.grad = torch.tensor([0.5, -0.25])
    optimizer.step()


@pytest.mark.parametrize("name", COUNTING)
def test_all_of_a_state_is_tensors(name: str) -> None:
    p, optimizer = made(name, 2)
    state = optimizer.state[p]
    assert all(isinstance(x, torch.Tensor) for x in state.values())
    assert state["step"].item() == 2
    assert state["step"].dtype == torch.float32
    assert optimizer.state[p]["step"] is state["step"]
    assert isinstance(optimizer.state, defaultdict)


@pytest.mark.parametrize("name", COUNTING)
def test_looking_at_a_state_changes_no_step(name: str) -> None:
    (p, seen), (q, other) = made(name), made(name)
    for i in range(5):
        step(p, seen)
        step(q, other)
        for state in seen.state.values():
            assert state["step"].item() == i + 1
    assert p.tolist() == q.tolist()
    assert seen.state[p]["step"].item() == other.state[q]["step"].item() == 5


def test_steps_go_on_from_what_is_written() -> None:
    p, optimizer = made("Adam", 3)
    wanted, other = made("Adam", 3)
    other.load_state_dict({**other.state_dict(), "state": {0: {**other.state[wanted], "step": torch.tensor(10.0)}}})
    optimizer.state[p]["step"].fill_(10)
    for x, by in ((p, optimizer), (wanted, other)):
        step(x, by)
    assert p.tolist() == wanted.tolist()
    optimizer.state[p]["step"] = torch.tensor(20.0)
    step(p, optimizer)
    assert optimizer.state[p]["step"].item() == 21
    optimizer.state[p]["step"] = 30
    step(p, optimizer)
    assert optimizer.state_dict()["state"][0]["step"].item() == 31


@pytest.mark.parametrize("name", ["Adam", "NAdam", "ASGD"])
def test_copies_and_pickles_of_a_state_that_was_read(name: str) -> None:
    p, optimizer = made(name, 2)
    assert optimizer.state[p]["step"].item() == 2
    for copied in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        (q,) = copied.param_groups[0]["params"]
        assert copied.state[q]["step"] is not optimizer.state[p]["step"]
        step(q, copied)
        again, other = made(name, 3)
        assert q.tolist() == again.tolist()
        assert copied.state[q]["step"].item() == other.state[again]["step"].item()
    assert optimizer.state.copy() == dict(optimizer.state.items())


def test_a_state_of_another_kind_of_dict() -> None:
    p, optimizer = made("Adam", 1)
    optimizer.state = defaultdict(dict, {p: dict(optimizer.state[p])})
    step(p, optimizer)
    assert optimizer.state[p]["step"] == 2
    again = copy.deepcopy(optimizer)
    assert isinstance(next(iter(again.state.values()))["step"], torch.Tensor)
    optimizer.load_state_dict(optimizer.state_dict())
    assert isinstance(optimizer.state[p]["step"], torch.Tensor)


def test_reading_a_state_misses_nothing() -> None:
    p, optimizer = made("Adam", 1)
    other = torch.ones(1)
    assert optimizer.state.get(other) is None
    assert optimizer.state.get(other, 3) == 3
    assert optimizer.state[other] == {}
    optimizer.state["note"] = True
    assert optimizer.state.setdefault("note", False) is True
    assert list(optimizer.state.values())[-1] is True
    assert isinstance(optimizer.state.setdefault(p, {})["step"], torch.Tensor)
    step(p, optimizer)
    assert isinstance(optimizer.state.pop(p)["step"], torch.Tensor)
    assert optimizer.state.pop(p, None) is None


def test_compiled_steps_go_on_from_a_state_that_was_read() -> None:
    (p, optimizer), (q, other) = made("NAdam"), made("NAdam")
    compiled: Any = torch.compile(lambda: step(p, optimizer))
    for i in range(5):
        compiled()
        step(q, other)
        assert optimizer.state[p]["step"].item() == i + 1
    assert p.tolist() == q.tolist()
    optimizer.state[p]["step"].fill_(9)
    other.state[q]["step"].fill_(9)
    compiled()
    step(q, other)
    assert p.tolist() == q.tolist()


def test_a_compiled_function_that_reads_a_count_reads_it_in_each_call() -> None:
    p, optimizer = made("Adam", 1)
    compiled: Any = torch.compile(lambda x: x * optimizer.state[p]["step"])
    with pytest.warns(UserWarning, match="it reads the state of an optimizer"):
        assert compiled(torch.ones(1)).item() == 1
    step(p, optimizer)
    assert compiled(torch.ones(1)).item() == 2


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_counts_are_of_a_dtype_that_can_count(dtype: str) -> None:
    p, optimizer = made("Adam", 1)
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        saved, seen = optimizer.state_dict()["state"][0]["step"], optimizer.state[p]["step"]
    finally:
        torch.set_default_dtype(before)
    wanted = torch.float64 if dtype == "float64" else torch.float32
    assert saved.dtype == seen.dtype == wanted


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_steps_of_parameters_without_numbers_are_refused(name: str) -> None:
    with torch.device("meta"):
        layer: Any = torch.nn.Linear(2, 3)
    optimizer = getattr(torch.optim, name)(layer.parameters(), lr=0.1, fused=True)
    for p in layer.parameters():
        p.grad = torch.zeros_like(p)
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be floating point Tensors"):
        optimizer.step()
    layer.to_empty(device="cpu")
    with torch.no_grad():
        for p in layer.parameters():
            p.zero_()
            p.grad = torch.ones_like(p)
    optimizer.step()
    assert (layer.bias < 0).all()


def test_what_adam_and_sparse_adam_refuse() -> None:
    for name in ("Adam", "AdamW"):
        make = getattr(torch.optim, name)
        with pytest.raises(ValueError, match="lr as a Tensor is not supported for capturable=False and foreach=True"):
            make([torch.ones(1, requires_grad=True)], lr=torch.tensor(0.1), foreach=True)
        make([torch.ones(1, requires_grad=True)], lr=torch.tensor(0.1), foreach=True, capturable=True)
        x = torch.tensor(0.9)
        for betas, options, error in (
            ((0.9, x), {}, "betas must be either both floats or both Tensors"),
            ((x, 0.9), {}, "betas must be either both floats or both Tensors"),
            ((x, x), {"foreach": True}, r"betas\[0\] as a Tensor is not supported for capturable=False and foreach"),
            ((x, x.expand(2)), {}, r"Tensor betas\[1\] must be 1-element"),
        ):
            with pytest.raises(ValueError, match=error):
                make([torch.ones(1, requires_grad=True)], betas=betas, **options)
        make([torch.ones(1, requires_grad=True)], betas=(x, x))
        make([torch.ones(1, requires_grad=True)], betas=(0, 0.9))
    with pytest.raises(ValueError, match="SparseAdam does not support complex parameters"):
        torch.optim.SparseAdam([torch.ones(1, dtype=torch.complex64)])
