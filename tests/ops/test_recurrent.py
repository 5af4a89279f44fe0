"""``lstm_layer`` beside its steps, one after the other."""

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd.torch.nn.utils.rnn import pack_padded_sequence

SHAPES = ((4, 3, 8), (8, 2), (3, 2), (3, 2))


def given(*lead: int, seed: int = 0) -> list[fg.Tensor]:
    rng = np.random.default_rng(seed)
    return [fg.tensor(rng.normal(size=(*lead, *shape)), requires_grad=True) for shape in SHAPES]


def steps(gates: Any, weight: Any, h: Any, c: Any) -> tuple[Any, Any]:
    outputs = []
    for x in fg.unstack(gates, 0):
        i, f, g, o = fg.chunk(x + h @ fg.matrix_transpose(weight), 4, -1)
        c = fg.sigmoid(f) * c + fg.sigmoid(i) * fg.tanh(g)
        h = fg.sigmoid(o) * fg.tanh(c)
        outputs.append(h)
    return fg.stack(outputs, 0), c


LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "outputs": lambda y, c: (y * y).sum(),
    "last output": lambda y, c: y[-1].sum(),
    "last cells": lambda y, c: (c * c).sum(),
    "all": lambda y, c: (y * y).sum() + fg.sin(c).sum(),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("wanted", [(0, 1, 2, 3), (1,), (2,), (3,)])
def test_gradients_are_those_of_the_steps(loss: str, wanted: tuple[int, ...]) -> None:
    found = []
    for layer in (fg.lstm_layer, steps):
        ins = given()
        grads = fg.grad(LOSSES[loss](*layer(*ins)), [ins[i] for i in wanted], create_graph=True)
        squares: Any = sum((g * g).sum() for g in grads)
        second = fg.grad(squares, [ins[i] for i in wanted])
        found.append([*grads, *second])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12, atol=1e-14)


def test_a_batch_of_layers_and_compiled_ones() -> None:
    def loss(*ins: Any) -> Any:
        return LOSSES["all"](*fg.lstm_layer(*ins))

    gradient = fg.func.grad(loss, argnums=(0, 1, 2, 3))
    ins = [x.detach() for x in given(5)]
    wanted = [gradient(*[x[k] for x in ins]) for k in range(5)]
    for function in (fg.func.vmap(gradient), fg.compile(fg.func.vmap(gradient))):
        for _ in range(2):
            for place, whole in enumerate(function(*ins)):
                each = np.stack([grads[place].numpy() for grads in wanted])
                np.testing.assert_allclose(whole.numpy(), each, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_layer_equals_packed_sequences_which_run_step_by_step(bidirectional: bool) -> None:
    net = torch.nn.LSTM(3, 4, 2, bidirectional=bidirectional, dtype=torch.float64)
    x = torch.tensor(np.random.default_rng(0).normal(size=(5, 2, 3)), requires_grad=True)
    found = []
    for packs in (False, True):
        y, (h, c) = net(pack_padded_sequence(x, torch.tensor([5, 5])) if packs else x)
        y = y.data.reshape(5, 2, -1) if packs else y
        loss = (y * y).sum() + torch.sin(h).sum() + (c * c).sum()
        found.append([y, h, c, *torch.autograd.grad(loss, [x, *net.parameters()])])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-12, atol=1e-14)


def test_what_does_not_fit_is_refused() -> None:
    gates, weight, h, c = given()
    with pytest.raises(fg.ShapeError, match="do not fit together"):
        fg.lstm_layer(gates, weight, h[:2], c)
    with pytest.raises(fg.ShapeError, match="do not fit together"):
        fg.lstm_layer(gates[..., :7], weight, h, c)
    with pytest.raises(fg.ShapeError, match="the gates are"):
        fg.lstm_layer(gates[0], weight, h, c)
    with pytest.raises(fg.ShapeError, match="at least one step"):
        fg.lstm_layer(gates[:0], weight, h, c)
    with pytest.raises(fg.DtypeError, match="not defined for complex128"):
        fg.lstm_layer(fg.cast(gates, "complex128"), weight, h, c)


@pytest.mark.parametrize(("rows", "units"), [(0, 3), (1, 0)])
def test_steps_without_elements_take_no_time(rows: int, units: int) -> None:
    gates = fg.ones((2**40, rows, 4 * units))
    h, c = fg.lstm_layer(gates, fg.ones((4 * units, units)), fg.ones((rows, units)), fg.ones((rows, units)))
    assert h.shape == (2**40, rows, units)
    assert c.shape == (rows, units)
    gates.requires_grad = True
    h, c = fg.lstm_layer(gates, fg.ones((4 * units, units)), fg.ones((rows, units)), fg.ones((rows, units)))
    assert fg.grad([h.sum()], [gates])[0].shape == gates.shape
