"""Recurrent networks, packed sequences, attention and transformers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ferrograd import torch as _torch
from ferrograd._core import ArgumentError

torch: Any = _torch
nn: Any = torch.nn
rnn: Any = nn.utils.rnn

Array = np.ndarray[Any, Any]


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def step(kind: str, x: Array, state: tuple[Array, ...], w: dict[str, Array]) -> tuple[Array, ...]:
    """One step as the textbook has it."""
    inside, outside = x @ w["weight_ih"].T + w["bias_ih"], state[0] @ w["weight_hh"].T + w["bias_hh"]
    if kind == "RNN":
        return (np.tanh(inside + outside),)
    if kind == "LSTM":
        i, f, g, o = np.split(inside + outside, 4, -1)
        c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    (xr, xz, xn), (hr, hz, hn) = np.split(inside, 3, -1), np.split(outside, 3, -1)
    z = sigmoid(xz + hz)
    return ((1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * state[0],)


def weights(module: Any, suffix: str = "") -> dict[str, Array]:
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return {kind: getattr(module, kind + suffix).detach().numpy() for kind in kinds}


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_networks_follow_the_textbook(kind: str) -> None:
    net = getattr(nn, kind)(3, 4, bidirectional=True).double()
    x = normal(5, 2, 3)
    y, end = net(torch.tensor(x))
    ends = [h.detach().numpy() for h in (end if kind == "LSTM" else (end,))]
    for direction, suffix in enumerate(("_l0", "_l0_reverse")):
        state: tuple[Array, ...] = (np.zeros((2, 4)),) * len(ends)
        for t in range(5)[:: -1 if direction else 1]:
            state = step(kind, x[t], state, weights(net, suffix))
            part = y.detach().numpy()[t, :, 4 * direction : 4 * direction + 4]
            np.testing.assert_allclose(part, state[0], rtol=1e-10)
        for h, want in zip(ends, state, strict=True):
            np.testing.assert_allclose(h[direction], want, rtol=1e-10)
    cell = getattr(nn, f"{kind}Cell")(3, 4).double()
    start = tuple(normal(2, 4, seed=i) for i in range(len(ends)))
    given = tuple(map(torch.tensor, start))
    found = cell(torch.tensor(x[0]), given if kind == "LSTM" else given[0])
    found = found if kind == "LSTM" else (found,)
    for h, want in zip(found, step(kind, x[0], start, weights(cell)), strict=True):
        np.testing.assert_allclose(h.detach().numpy(), want, rtol=1e-10)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_packed_sequences_give_what_each_gives_alone(kind: str) -> None:
    net = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=True).double()
    alone = [torch.tensor(normal(n, 3, seed=n)) for n in (2, 5, 3)]
    packed = rnn.pack_sequence(alone, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 3, 2, 1, 1]
    assert packed.sorted_indices.tolist() == [1, 2, 0]
    y, end = net(packed)
    padded, lengths = rnn.pad_packed_sequence(y, batch_first=True, total_length=6)
    assert lengths.tolist() == [2, 5, 3]
    assert padded.shape == (3, 6, 8)
    for i, x in enumerate(alone):
        want, last = net(x)
        np.testing.assert_allclose(padded[i, : len(x)].detach().numpy(), want.detach().numpy(), rtol=1e-10)
        for h, w in zip(end if kind == "LSTM" else (end,), last if kind == "LSTM" else (last,), strict=True):
            np.testing.assert_allclose(h[:, i].detach().numpy(), w.detach().numpy(), rtol=1e-10)
    padded.sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_shapes_states_and_texts() -> None:
    net = nn.LSTM(3, 4, 2, batch_first=True, proj_size=2)
    y, (h, c) = net(torch.ones(5, 7, 3))
    assert (y.shape, h.shape, c.shape) == ((5, 7, 2), (2, 5, 2), (2, 5, 4))
    assert repr(net) == "LSTM(3, 4, proj_size=2, num_layers=2, batch_first=True)"
    assert repr(nn.GRUCell(3, 4, bias=False)) == "GRUCell(3, 4, bias=False)"
    assert list(net.state_dict())[:3] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0"]
    again, _ = net(torch.ones(5, 7, 3), (h * 0, c * 0))
    np.testing.assert_allclose(again.detach().numpy(), y.detach().numpy())
    dropped = nn.GRU(2, 64, num_layers=2, dropout=0.9)
    x = torch.ones(4, 1, 2)
    assert not torch.equal(dropped(x)[0], dropped(x)[0])
    dropped.eval()
    assert torch.equal(dropped(x)[0], dropped(x)[0])


def test_sequences_are_padded_and_unpadded() -> None:
    many = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]
    assert rnn.pad_sequence(many).tolist() == [[1.0, 3.0], [2.0, 0.0]]
    assert rnn.pad_sequence(many, True, -1.0, "left").tolist() == [[1.0, 2.0], [-1.0, 3.0]]
    packed = rnn.pack_sequence(many)
    assert [s.tolist() for s in rnn.unpack_sequence(packed)] == [[1.0, 2.0], [3.0]]
    assert packed.double().data.dtype == torch.float64
    assert isinstance(packed.to(torch.float64), rnn.PackedSequence)


def mistakes() -> list[tuple[Any, str]]:
    net, x = nn.LSTM(3, 4), torch.ones(5, 2, 3)
    return [
        (lambda: net(torch.ones(5, 2, 7)), "input.size(-1) must be equal to input_size. Expected 3, got 7"),
        (lambda: net(x.double()), "RNN input dtype (torch.float64) does not match weight dtype (torch.float32)"),
        (lambda: net(torch.ones(3)), "LSTM: Expected input to be 2D or 3D, got 1D tensor instead"),
        (
            lambda: net(x, (torch.ones(1, 3, 4), torch.ones(1, 2, 4))),
            "Expected hidden[0] size (1, 2, 4), got [1, 3, 4]",
        ),
        (lambda: net(x, (torch.ones(2, 4), torch.ones(2, 4))), "For batched 3-D input, hx and cx should also be 3-D"),
        (lambda: net(x, torch.ones(1, 2, 4)), "LSTM: the state has 2 tensors, not 1"),
        (lambda: nn.GRU(3, 0), "hidden_size must be greater than zero"),
        (lambda: nn.RNN(3, 4, nonlinearity="sin"), "Unknown nonlinearity 'sin'. Select from 'tanh' or 'relu'."),
        (lambda: nn.LSTM(3, 4, proj_size=4), "proj_size has to be smaller than hidden_size"),
        (lambda: rnn.pack_padded_sequence(x, [3, 5]), "`lengths` array must be sorted in decreasing order"),
        (lambda: rnn.pack_padded_sequence(x, [3, 0]), "Length of all samples has to be greater than 0"),
        (lambda: rnn.pack_padded_sequence(x, [3]), "Expected `len(lengths)` to be equal to batch_size"),
        (lambda: rnn.pack_padded_sequence(x, [6, 1]), "Expected the longest length to be at most 5, but got 6"),
        (lambda: nn.MultiheadAttention(6, 4), "embed_dim must be divisible by num_heads"),
        (lambda: nn.Transformer(4, 2, 1, 1, 8)(x, x), "the feature number of src and tgt must be equal to d_model"),
        (lambda: nn.TransformerEncoderLayer(4, 2, activation="tanh"), "activation should be relu/gelu, not tanh"),
    ]


@pytest.mark.parametrize("i", range(16))
def test_mistakes(i: int) -> None:
    wrong, text = mistakes()[i]
    with pytest.raises((ValueError, RuntimeError, AssertionError)) as raised:
        wrong()
    assert text in str(raised.value)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_attention_of_several_heads() -> None:
    layer = nn.MultiheadAttention(4, 2).double()
    q, k = normal(3, 2, 4), normal(5, 2, 4, seed=1)
    hidden = np.arange(5)[None, :] >= np.array([[5], [3]])
    y, found = layer(
        torch.tensor(q),
        torch.tensor(k),
        torch.tensor(k),
        key_padding_mask=torch.tensor(hidden),
        average_attn_weights=False,
    )
    w, b = layer.in_proj_weight.detach().numpy(), layer.in_proj_bias.detach().numpy()
    parts = [x @ w[4 * i : 4 * i + 4].T + b[4 * i : 4 * i + 4] for i, x in enumerate((q, k, k))]
    heads = [p.reshape(len(p), 2, 2, 2).transpose(1, 2, 0, 3) for p in parts]
    scores = heads[0] @ heads[1].swapaxes(-1, -2) / np.sqrt(2)
    want = softmax(np.where(hidden[:, None, None, :], -np.inf, scores))
    np.testing.assert_allclose(found.detach().numpy(), want, rtol=1e-10)
    joined = (want @ heads[2]).transpose(2, 0, 1, 3).reshape(3, 2, 4)
    out = layer.out_proj
    final = joined @ out.weight.detach().numpy().T + out.bias.detach().numpy()
    np.testing.assert_allclose(y.detach().numpy(), final, rtol=1e-10)
    assert layer(torch.tensor(q[:, 0]), torch.tensor(k[:, 0]), torch.tensor(k[:, 0]))[0].shape == (3, 4)
    assert layer(*(torch.tensor(q),) * 3, need_weights=False)[1] is None


def test_a_causal_transformer_does_not_look_ahead() -> None:
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2).double()
    mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
    assert mask.tolist()[1] == [0.0, 0.0, -np.inf, -np.inf, -np.inf]
    x = torch.tensor(normal(1, 5, 8), requires_grad=True)
    # The plain sum of what the last layer standardises would be constant.
    (net(x, mask)[0, 2] * torch.arange(8.0)).sum().backward()
    reach = x.grad.abs().sum(-1)[0] > 0
    assert reach.tolist() == [True, True, True, False, False]
    assert net.layers[0].linear1.weight is not net.layers[1].linear1.weight


def test_a_transformer_refuses_to_be_causal_without_a_mask() -> None:
    net, x = nn.Transformer(4, 2, 1, 1, 8, 0.0).eval(), torch.ones(3, 2, 4)
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    calls: list[tuple[Callable[..., Any], str, str]] = [
        (lambda **given: net.encoder.layers[0](x, **given), "src_mask", "is_causal"),
        (lambda **given: net.encoder(x, **given), "mask", "is_causal"),
        (lambda **given: net.decoder.layers[0](x, x, **given), "tgt_mask", "tgt_is_causal"),
        (lambda **given: net.decoder(x, x, **given), "memory_mask", "memory_is_causal"),
        (lambda **given: net(x, x, **given), "src_mask", "src_is_causal"),
    ]
    for call, name, hint in calls:
        with pytest.raises(ArgumentError, match="Need attn_mask if specifying the is_causal hint"):
            call(**{hint: True})
        np.testing.assert_array_equal(
            call(**{hint: True, name: mask}).detach().numpy(), call(**{name: mask}).detach().numpy()
        )


def test_a_transformer_is_its_encoder_and_decoder() -> None:
    net = nn.Transformer(4, 2, 1, 2, 8, 0.0, norm_first=True, activation="gelu")
    src, tgt = torch.ones(5, 3, 4), torch.randn(2, 3, 4)
    y = net(src, tgt)
    assert y.shape == (2, 3, 4)
    want = net.decoder(tgt, net.encoder(src))
    np.testing.assert_allclose(y.detach().numpy(), want.detach().numpy())
    y.sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    assert len(net.decoder.layers) == 2


def test_casts_of_packed_sequences() -> None:
    packed = rnn.pack_sequence([torch.tensor([1.0, 2.0]), torch.tensor([3.0])])
    for name in ("byte", "char", "short", "int", "long", "half", "bfloat16", "float", "double"):
        cast = getattr(packed, name)()
        assert cast.data.dtype == getattr(packed.data, name)().dtype
        assert cast.batch_sizes.tolist() == [2, 1]


def test_attention_names_what_has_too_many_axes() -> None:
    attend, x, flat = nn.MultiheadAttention(4, 2), torch.ones(3, 2, 4), torch.ones(3, 4)
    mask = torch.zeros(3, dtype=torch.bool)
    cases: list[tuple[Any, dict[str, Any], str]] = [
        ((x, flat, x), {}, "`key` and `value` to be 3-D but found 2-D and 3-D"),
        ((flat, flat, x), {}, "`key` and `value` to be 2-D but found 2-D and 3-D"),
        ((x, x, x), {"key_padding_mask": mask}, "`key_padding_mask` to be `None` or 2-D but found 1-D"),
        ((x, x, x), {"attn_mask": mask}, "`attn_mask` to be `None`, 2-D or 3-D but found 1-D"),
        ((flat, flat, flat), {"attn_mask": torch.zeros(5, 3, 3)}, r"`attn_mask` shape to be \(2, 3, 3\)"),
        ((torch.ones(4),) * 3, {}, "unbatched 2D or batched 3D"),
    ]
    for args, options, text in cases:
        with pytest.raises(AssertionError, match=text):
            attend(*args, **options)


def test_packed_sequences_are_not_empty_and_stay_themselves() -> None:
    with pytest.raises(RuntimeError, match="Cannot pack empty tensors"):
        rnn.pack_padded_sequence(torch.ones(0, 1), [])
    packed = rnn.pack_padded_sequence(torch.ones(2, 1), [2])
    assert packed.to("cpu") is packed
    assert packed.to(torch.float64).data.dtype == torch.float64


def test_the_weights_of_a_network_in_one_list() -> None:
    net = nn.LSTM(2, 3, 2, bidirectional=True)
    assert [id(w) for w in net._flat_weights] == [id(w) for w in net.parameters()]
    nn.utils.weight_norm(net, "weight_hh_l1")
    assert sum(isinstance(w, nn.Parameter) for w in net._flat_weights) == 15


def test_masks_of_keys_have_an_element_for_each_key() -> None:
    attend, x = torch.nn.MultiheadAttention(4, 2), torch.ones(5, 3, 4)
    for shape, text in (((3, 6), r"shape\[1\] to be 5, but got 6"), ((4, 5), r"shape\[0\] to be 3, but got 4")):
        with pytest.raises(AssertionError, match=f"Expected key_padded_mask.{text}"):
            attend(x, x, x, key_padding_mask=torch.zeros(shape, dtype=torch.bool))
