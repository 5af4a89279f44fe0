"""Recorded steps whose derivatives are compared with PyTorch's.

``python -m tests.optim.pytorch_steps`` in an environment with PyTorch writes its numbers to ``pytorch_steps.json``:
those of PyTorch 2.15. Further steps, and second derivatives of ASGD, fail there because of its writes to saved tensors.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NUMBERS = Path(__file__).with_name("pytorch_steps.json")

#: What the case is, the optimizer, its options, and the tensors of its state before the step. Lists are tensors.
STEPS: list[tuple[str, str, dict[str, Any], str]] = [
    ("plain", "SGD", {"lr": 0.1}, ""),
    ("tensors", "SGD", {"lr": [0.1], "weight_decay": [0.2]}, ""),
    ("momentum", "SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}, "momentum_buffer"),
    ("nesterov", "SGD", {"lr": [0.1], "momentum": 0.9, "nesterov": True, "maximize": True}, "momentum_buffer"),
    ("plain", "Adam", {"lr": 0.1}, "exp_avg exp_avg_sq"),
    ("amsgrad", "Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}, "exp_avg exp_avg_sq max_exp_avg_sq"),
    ("tensors", "Adam", {"lr": [0.1], "weight_decay": [0.2], "betas": [0.8, 0.9]}, "exp_avg exp_avg_sq"),
    ("plain", "AdamW", {"lr": 0.1, "weight_decay": 0.1}, "exp_avg exp_avg_sq"),
    ("tensors", "AdamW", {"lr": [0.1], "weight_decay": [0.2], "betas": [0.8, 0.9]}, "exp_avg exp_avg_sq"),
    ("plain", "Adamax", {"lr": 0.1, "weight_decay": 0.1}, "exp_avg exp_inf"),
    ("plain", "NAdam", {"lr": 0.1, "weight_decay": 0.1}, "exp_avg exp_avg_sq mu_product"),
    (
        "tensors",
        "NAdam",
        {"lr": [0.1], "decoupled_weight_decay": True, "weight_decay": 0.1},
        "exp_avg exp_avg_sq mu_product",
    ),
    ("plain", "RAdam", {"lr": 0.1, "weight_decay": 0.1}, "exp_avg exp_avg_sq"),
    ("tensors", "RAdam", {"lr": [0.1], "betas": (0.5, 0.6)}, "exp_avg exp_avg_sq"),
    ("plain", "RMSprop", {"lr": 0.1, "weight_decay": 0.1}, "square_avg"),
    ("momentum", "RMSprop", {"lr": 0.1, "momentum": 0.9}, "square_avg momentum_buffer"),
    ("centered", "RMSprop", {"lr": 0.1, "momentum": 0.9, "centered": True}, "square_avg momentum_buffer grad_avg"),
    ("plain", "Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}, "sum"),
    ("plain", "Adadelta", {"lr": 0.9, "weight_decay": 0.1}, "square_avg acc_delta"),
    ("plain", "Rprop", {"lr": 0.1}, "prev step_size"),
]
START: dict[str, Any] = {"p": [0.3, -0.7, 1.1], "grad": [0.5, 0.8, -0.4], "mu_product": 0.9, "grad_avg": [0.1] * 3}


def derivatives(step: tuple[str, str, dict[str, Any], str], torch: Any) -> list[list[float] | None]:
    """What a step makes of the parameter and its state, and the first and second derivatives of a function of them by
    all inputs; None where there is none.
    """
    _, name, options, kept = step

    def tensor(values: Any) -> Any:
        return torch.tensor(values, dtype=torch.float64, requires_grad=True)

    inputs = {"p": tensor(START["p"]), "grad": tensor(START["grad"])}
    for i, key in enumerate(kept.split()):
        inputs[key] = tensor(START.get(key, [0.2 + 0.1 * i, 0.6, 0.3]))
    given = dict(options, differentiable=True)
    for key, value in options.items():
        if isinstance(value, list):
            inputs[key] = tensor(value if len(value) > 1 else value[0])
            given[key] = tuple(inputs[key][i] for i in range(len(value))) if len(value) > 1 else inputs[key]
    p = inputs["p"].clone()
    p.grad = inputs["grad"] * 1
    optimizer = getattr(torch.optim, name)([p], **given)
    state = {key: inputs[key].clone() for key in kept.split()}
    if state and name != "SGD":
        state["step"] = torch.tensor(10.0, dtype=torch.float64)
    optimizer.state[p].update(state)
    optimizer.step()
    outputs = [p, *(x for key in kept.split() if (x := optimizer.state[p][key]).requires_grad)]
    leaves = list(inputs.values())
    y = sum(((i + 1) * x + x**2).sum() for i, x in enumerate(outputs))
    first = torch.autograd.grad(y, leaves, create_graph=True, allow_unused=True)
    z = sum((x**2).sum() for x in first if x is not None and x.requires_grad)
    second = torch.autograd.grad(z, leaves, allow_unused=True)
    return [None if x is None else x.detach().reshape(-1).tolist() for x in (*outputs, *first, *second)]


def main() -> None:
    """Writes the numbers of PyTorch."""
    import torch

    lines = (f"{json.dumps(f'{step[1]} {step[0]}')}: {json.dumps(derivatives(step, torch))}" for step in STEPS)
    NUMBERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
