"""Programs of the kinds that people write with ``torch.nn`` learn what they are to learn."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
from ferrograd import torch as _torch

torch: Any = _torch
nn: Any = torch.nn
F: Any = nn.functional


def test_an_image_classifier_learns() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.1),
        nn.Linear(36, 2),
    )
    optimizer, loss = torch.optim.Adam(net.parameters(), lr=0.02), nn.CrossEntropyLoss()
    values = np.random.default_rng(0).normal(size=(64, 1, 8, 8)).astype("float32")
    labels = torch.tensor((np.arange(64) % 2).astype("int64"))
    values[1::2, :, :4] += 1.0
    images = torch.tensor(values)
    for _ in range(15):
        optimizer.zero_grad()
        loss(net(images), labels).backward()
        optimizer.step()
    accuracy = (net.eval()(images).argmax(1) == labels).float().mean().item()
    assert accuracy > 0.95


def test_a_network_of_characters_learns_a_cycle() -> None:
    torch.manual_seed(0)
    table, network, decoder = nn.Embedding(4, 8), nn.LSTM(8, 16), nn.Linear(16, 4)
    model = nn.ModuleList([table, network, decoder])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    text = torch.arange(12).reshape(12, 1) % 4
    for _ in range(30):
        optimizer.zero_grad()
        y, _ = network(table(text[:-1]))
        F.cross_entropy(decoder(y).reshape(-1, 4), text[1:].reshape(-1)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    y, _ = network(table(text[:-1]))
    assert decoder(y).argmax(-1).reshape(-1).tolist() == text[1:].reshape(-1).tolist()


def test_a_network_solves_a_differential_equation() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)).double()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=60, line_search_fn="strong_wolfe")
    t = torch.linspace(0, 1, 20, dtype=torch.float64).reshape(-1, 1).requires_grad_()

    def residual() -> Any:
        optimizer.zero_grad()
        y = 1 + t * net(t)
        (dy,) = torch.autograd.grad(y.sum(), t, create_graph=True)
        error = ((dy + y) ** 2).mean()
        error.backward()
        return error

    optimizer.step(residual)
    y = (1 + t * net(t)).detach().numpy()
    np.testing.assert_allclose(y, np.exp(-t.detach().numpy()), atol=1e-3)


def test_the_modules_are_there_under_torchs_name() -> None:
    program = """
import ferrograd
ferrograd.install_as("torch")
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import Module, init
from torch.nn.modules.utils import _pair
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.loss import _Loss
from torch.nn.modules.transformer import _get_activation_fn, _get_clones
from torch.nn.parameter import Parameter
from torch.nn.utils import clip_grad_norm_, weight_norm
from torch.nn.utils.rnn import pack_padded_sequence
from torch.nn.utils.parametrizations import spectral_norm
from torch.func import functional_call
assert _get_activation_fn("gelu") is F.gelu and len(_get_clones(nn.Linear(1, 1), 2)) == 2
assert isinstance(nn.BatchNorm2d(1), _BatchNorm) and isinstance(nn.MSELoss(), _Loss)
print(nn.Sequential(nn.Linear(2, 1))(torch.ones(1, 2)).shape, _pair(3))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "torch.Size([1, 1]) (3, 3)"
