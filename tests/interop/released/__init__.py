"""Small files that releases have written. ``python -m tests.interop.released`` writes those of today's version.

Each release keeps its own, in a folder with the name of its version. What they hold is made anew by ``values``, so a
test can compare what is loaded with it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
from ferrograd.paddle import safetensors as paddle_safetensors
from ferrograd.torch import safetensors

FOLDER = Path(__file__).parent


def program(x: fg.Tensor) -> fg.Tensor:
    """The function whose program is saved."""
    return fg.tanh(x @ fg.tensor([[1.0, 2.0], [3.0, 4.0]])) + fg.sum(x * x)


def _trained() -> tuple[torch.nn.Sequential, torch.optim.Adam, torch.optim.lr_scheduler.StepLR]:
    """A model, an optimizer and a schedule after three steps, from numbers that do not depend on chance.

    Nor on rounding: the gradients before a batch normalization are nothing else, and Adam divides them by their size.
    """
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Tanh())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.arange(parameter.numel(), dtype=torch.float32).reshape(parameter.shape) / 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(3):
        model(torch.arange(8.0).reshape(4, 2))
        for parameter in model.parameters():
            parameter.grad = (parameter.detach() + 1) / 10
        optimizer.step()
        schedule.step()
    return model, optimizer, schedule


def _paddle_trained() -> dict[str, Any]:
    """A layer, its state and that of its optimizer after two steps."""
    layer = paddle.nn.Linear(2, 2)
    layer.set_state_dict({"weight": paddle.to_tensor([[0.1, 0.2], [0.3, 0.4]]), "bias": paddle.to_tensor([0.5, 0.6])})
    optimizer = paddle.optimizer.Momentum(0.1, parameters=layer.parameters())
    for _ in range(2):
        layer(paddle.ones([3, 2])).square().sum().backward()
        optimizer.step()
        optimizer.clear_grad()
    # The names of parameters count up in a process, and so do the keys of the optimizer.
    state = [value for key, value in sorted(optimizer.state_dict().items()) if isinstance(value, paddle.Tensor)]
    return {"whole": layer, "layer": {key: x.detach() for key, x in layer.state_dict().items()}, "optimizer": state}


def values() -> dict[str, Any]:
    """What the pickles hold, by the name of the file."""
    model, optimizer, schedule = _trained()
    trained = _paddle_trained()
    return {
        "native": {
            "numbers": [fg.tensor(np.arange(4).reshape(2, 2), dtype=dtype) for dtype in ("float64", "float16", "int8")],
            "complex": fg.tensor(np.array([1 + 2j])),
            "tracked": fg.tensor([1.0, 2.0], requires_grad=True),
            "function": fg.sin,
        },
        "torch": {
            "model": model,
            "parameter": torch.nn.Parameter(torch.ones(2, 2)),
            "half": torch.tensor([1.5, 2.0], dtype=torch.bfloat16),
            "dtype": torch.float32,
            "size": torch.Size([2, 3]),
            "normal": torch.distributions.Normal(torch.zeros(2), torch.ones(2)),
        },
        "torch_states": {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "schedule": schedule.state_dict(),
            "generator": torch.Generator().manual_seed(5).get_state(),
        },
        "paddle": {"tensor": paddle.to_tensor([1.0, 2.0], stop_gradient=False), "layer": trained.pop("whole")},
        "paddle_states": trained,
    }


#: How a value is written to a file with this name, and read from it.
FORMATS: dict[str, tuple[str, Callable[[Any, str], Any], Callable[[str], Any]]] = {
    "native": ("native.pickle", lambda x, path: Path(path).write_bytes(pickle.dumps(x, 4)), lambda p: _unpickled(p)),
    "torch": ("torch.pickle", lambda x, path: Path(path).write_bytes(pickle.dumps(x, 4)), lambda p: _unpickled(p)),
    "torch_states": ("torch.pt", torch.save, torch.load),
    "paddle": ("paddle.pickle", lambda x, path: Path(path).write_bytes(pickle.dumps(x, 4)), lambda p: _unpickled(p)),
    "paddle_states": ("paddle.pdparams", paddle.save, paddle.load),
}


def _unpickled(path: str) -> Any:
    return pickle.loads(Path(path).read_bytes())


def write() -> None:
    """Writes the files of this version."""
    folder = FOLDER / fg.__version__
    folder.mkdir(exist_ok=True)
    made = values()
    for key, (name, save, _) in FORMATS.items():
        save(made[key], str(folder / name))
    safetensors.save_file(made["torch_states"]["model"], str(folder / "torch.safetensors"))
    paddle_safetensors.save_file(made["paddle_states"]["layer"], str(folder / "paddle.safetensors"))
    fg.compile(program).save(str(folder / "function.program"), fg.ones((1, 2)))
