"""The device ``meta``: tensors with a shape and without numbers, for models whose numbers come from a file."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import ferrograd.torch as _torch
import pytest

torch: Any = _torch
nn: Any = torch.nn


def model() -> Any:
    layers = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Embedding(5, 3, padding_idx=0), nn.LSTM(3, 4), nn.Conv2d(3, 4, 3)
    return nn.Sequential(*layers, nn.MultiheadAttention(8, 2), nn.LayerNorm(3))


def test_modules_without_numbers() -> None:
    state = torch.get_rng_state()
    with torch.device("meta"):
        empty = model()
    assert torch.equal(state, torch.get_rng_state())
    assert torch.zeros(1).device.type == "cpu"
    full = model()
    assert all(p.is_meta and p.device.type == "meta" and isinstance(p, nn.Parameter) for p in empty.parameters())
    assert [p.shape for p in empty.parameters()] == [p.shape for p in full.parameters()]
    assert sum(p.numel() for p in empty.parameters()) == sum(p.numel() for p in full.parameters())
    with pytest.warns(UserWarning, match="assign=True"):
        empty.load_state_dict(full.state_dict())
    assert next(empty.parameters()).is_meta
    other = copy.deepcopy(empty)
    empty.load_state_dict(full.state_dict(), assign=True)
    assert type(empty[0].weight) is nn.Parameter
    assert all(torch.equal(a, b) for a, b in zip(empty.parameters(), full.parameters(), strict=True))
    with pytest.raises(NotImplementedError, match="to_empty"):
        other.to("cpu")
    assert other.half()[0].weight.dtype == torch.float16
    assert other.float().to_empty(device="cpu")[0](torch.ones(2, 3)).tolist() == [[0.0] * 4] * 2


def test_a_module_can_lose_its_numbers() -> None:
    full = model()
    full.append(full[0])
    shapes = [(name, p.shape) for name, p in full.named_parameters()]
    assert full.to_empty(device="meta") is full
    assert [(name, p.shape) for name, p in full.named_parameters()] == shapes
    assert all(p.is_meta and p.requires_grad and isinstance(p, nn.Parameter) for p in full.parameters())
    assert all(b.is_meta for b in full.buffers())
    assert full[0].weight is full[-1].weight
    assert full[0](torch.ones(2, 3)).shape == (2, 4)
    other = nn.Sequential(nn.Linear(2, 2))
    assert not next(other.to_empty(device="meta", recurse=False).parameters()).is_meta


def test_modules_that_are_not_initialized_draw_nothing() -> None:
    state = torch.get_rng_state()
    layer = nn.utils.skip_init(nn.Linear, 3, 4, dtype=torch.float64)
    assert torch.equal(state, torch.get_rng_state())
    assert layer.weight.tolist() == [[0.0] * 3] * 4
    assert (layer.weight.dtype, layer.weight.requires_grad) == (torch.float64, True)
    assert nn.utils.skip_init(nn.Linear, 3, 4, device="meta").weight.is_meta
    with pytest.raises(RuntimeError, match="Expected a Module"):
        nn.utils.skip_init(torch.ones)
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        nn.utils.skip_init(nn.ReLU)


def test_devices_of_layers_and_tensors() -> None:
    layer = nn.Linear(2, 3, device="meta")
    assert repr(layer.weight) == ("Parameter containing:\ntensor(..., device='meta', size=(3, 2), requires_grad=True)")
    assert pickle.loads(pickle.dumps(layer)).weight.shape == (3, 2)
    assert torch.ones(2).to("meta").shape == (2,)
    assert torch.randn(2, 3, device="meta", dtype=torch.float64).view(3, 2)[0].dtype == torch.float64
    assert torch.full((2,), 1, device="meta").dtype == torch.int64
    x = torch.empty(2, 3, device="meta", requires_grad=True)
    assert (x.dim(), len(x), x.stride(), x.nbytes, x.data_ptr(), x.is_leaf) == (2, 2, (3, 1), 24, 0, True)
    assert torch.empty_like(x).is_meta
    assert torch.zeros_like(x, device="cpu").tolist() == [[0.0] * 3] * 2
    layer.weight.data = torch.ones(3, 2)
    assert type(layer.weight) is nn.Parameter
    assert layer.weight.requires_grad
    buffer = nn.Buffer(x, persistent=False)
    assert buffer.is_meta
    assert isinstance(buffer, nn.Buffer)
    assert not copy.deepcopy(buffer).persistent


def test_functions_give_shapes() -> None:
    with torch.device("meta"):
        steps = torch.arange(0, 8, 2).float()
        rates = 1.0 / (10000 ** (steps / 8))
        mask = torch.tril(torch.ones(4, 4, dtype=torch.bool)).view(1, 1, 4, 4)
        steps += 1
        steps[0] = 2.0
        assert torch.tensor([1.0]).is_meta
        assert torch.cat([steps, rates]).shape == (8,)
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AvgPool2d(2))
        assert net(torch.zeros(2, 3, 8, 8)).shape == (2, 4, 3, 3)
    assert (rates.shape, rates.device.type, mask.dtype) == ((4,), "meta", torch.bool)
    assert (torch.ones(4) + rates).is_meta
    assert [row.shape for row in torch.empty(2, 3, device="meta")] == [(3,), (3,)]
    assert torch.einsum("i,j->ij", rates, rates).shape == (4, 4)
    assert not torch.sin(rates).requires_grad
    assert (torch.empty(2, device="meta", requires_grad=True) * 2).requires_grad


def test_recurrent_layers_and_distributions_give_shapes() -> None:
    with torch.device("meta"):
        x = torch.zeros(5, 2, 3)
        y, (h, c) = nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)(x)
        assert (y.shape, h.shape, c.shape) == ((5, 2, 4), (4, 2, 2), (4, 2, 4))
        for layer in (nn.RNN(3, 4), nn.GRU(3, 4, batch_first=True)):
            assert layer(x)[0].shape == (5, 2, 4)
            assert layer(x)[0].is_meta
        assert [s.shape for s in nn.LSTMCell(3, 4)(x[0])] == [(2, 4), (2, 4)]
        assert nn.GRUCell(3, 4)(x[0]).is_meta
        assert nn.TransformerEncoderLayer(3, 1, 4)(x).shape == (5, 2, 3)
        normal = torch.distributions.Normal(x, 1.0, validate_args=False)
        assert normal.log_prob(x[0]).shape == (5, 2, 3)


def test_packed_sequences_give_shapes() -> None:
    with torch.device("meta"):
        x = torch.zeros(5, 2, 3)
        packed = nn.utils.rnn.pack_padded_sequence(x, [3, 5], enforce_sorted=False)
        for layer, states in ((nn.LSTM(3, 4, bias=False), 2), (nn.GRU(3, 4), 1), (nn.RNN(3, 4), 1)):
            y, end = layer(packed)
            assert y.data.is_meta
            assert y.data.shape == (8, 4)
            assert nn.utils.rnn.pad_packed_sequence(y)[0].shape == (5, 2, 4)
            assert [s.shape for s in (end if states == 2 else (end,))] == [(1, 2, 4)] * states


def test_compiled_functions_run_as_they_are() -> None:
    x = torch.empty(2, 3, device="meta")
    for layer, given in ((nn.Linear(3, 4, device="meta"), torch.ones(2, 3)), (nn.Linear(3, 4), x)):
        compiled = torch.compile(layer)
        with pytest.warns(UserWarning, match="runs uncompiled: .*has no numbers"):
            assert compiled(given).shape == (2, 4)
        assert [compiled(given).shape for _ in range(2)] == [(2, 4)] * 2
        assert compiled(given).is_meta
    made = torch.compile(lambda y: torch.empty(*y.shape, 2, device="meta"))
    with pytest.warns(UserWarning, match="runs uncompiled: .*has no numbers"):
        assert made(torch.ones(3)).shape == (3, 2)
    assert [made(torch.ones(3)).shape for _ in range(2)] == [(3, 2)] * 2


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: x.sum().item(),
        lambda x: float(x[0]),
        lambda x: bool(x[0]),
        lambda x: x[x > 0],
        lambda x: torch.nonzero(x),
        lambda x: torch.equal(x, x),
        lambda x: x.to("cpu"),
        lambda x: torch.where(x > 0),
    ],
)
def test_numbers_cannot_be_read(read: Any) -> None:
    with pytest.raises(NotImplementedError, match="meta"):
        read(torch.empty(3, device="meta"))
