"""States of optimizers under Paddle's names, as in files ``.pdopt``.

Paddle calls what it keeps for a parameter accumulators, and counts steps by powers of the betas.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor, paddle as ops
from ferrograd._kit.dialect import PADDLE
from ferrograd._kit.warning import warn
from ferrograd._optim.fused import State

#: Entries of a state dict that are no accumulators.
_OTHERS = ("LR_Scheduler", "master_weights")


def table(state: State, p: Tensor, names: Mapping[str, str], powers: Mapping[str, float]) -> dict[str, Any]:
    """The accumulators of a parameter. ``names`` has theirs by the names in the rules, ``powers`` the bases."""
    found = {}
    for name, kind in names.items():
        value = state.get(name, 0.0)
        found[kind] = value if isinstance(value, Tensor) else full(p, value, p.shape)
    for kind, beta in powers.items():
        # Adam and the optimizers like it keep the power of the next step.
        steps, shape = (state["step"] + 1, [1]) if kind.endswith("_acc") else (state["step"], p.shape)
        found[kind] = full(p, base(p, beta) ** steps, shape)
    return found


def full(p: Tensor, value: float, shape: Iterable[int]) -> Any:
    """A tensor for the state of a parameter, of one value."""
    return ops.full(list(shape), value, p.dtype if p.dtype.itemsize > 2 else "float32")


def base(p: Tensor, beta: float) -> float:
    """The base of a power as Paddle rounds it."""
    return float(beta) if p.dtype.itemsize > 4 else float(np.float32(float(beta)))


def state_of(kept: Mapping[str, Any], p: Tensor, names: Mapping[str, str], powers: Mapping[str, float]) -> State:
    """The reverse of :func:`table`. An accumulator that is not kept is zero."""
    state: State = {"step": _steps(kept, p, powers)}
    for name, kind in names.items():
        x = copied(kept[kind], p.dtype, p.shape) if kind in kept else full(p, 0.0, p.shape).astype(p.dtype)
        state[name] = number(x) if kind == "mu_product" else x
    return state


def _steps(kept: Mapping[str, Any], p: Tensor, powers: Mapping[str, float]) -> int:
    """The number of steps that the powers of betas tell. The power of the largest base vanishes last."""
    if not powers:
        return 0
    kind, beta = max(powers.items(), key=lambda item: item[1])
    if kind not in kept:
        raise ArgumentError(f"set_state_dict: the state of {p.name!r} has no {kind}")
    power, rounded = number(kept[kind]), base(p, beta)
    if not 0 <= power <= 1:
        raise ArgumentError(f"set_state_dict: {kind} of {p.name!r} is {power}, which is no power of {beta}")
    if not rounded:
        return 1
    # A power that has vanished is as good as any later one.
    steps = math.log(max(power, 1e-45)) / math.log(rounded)
    return round(steps) - kind.endswith("_acc")


def number(x: Any) -> float:
    """The first element of an accumulator whose elements are equal; 1 if there is none."""
    values = x.numpy() if isinstance(x, Tensor) else np.asarray(x)
    if values.dtype.kind not in "biuf":
        raise ArgumentError(f"set_state_dict: numbers are wanted, not {x!r:.60}")
    return float(values.flat[0]) if values.size else 1.0


def copied(value: Any, dtype: Any, shape: Iterable[int]) -> Any:
    """A copy of a loaded value, which has to have the shape."""
    if not isinstance(value, Tensor | np.ndarray):
        raise ArgumentError(f"set_state_dict: tensors are wanted, not {type(value).__name__}")
    made = value.detach().clone() if isinstance(value, Tensor) else _core.make(value, None, False, PADDLE)
    if tuple(made.shape) != tuple(shape):
        raise ArgumentError(f"set_state_dict: the state has shape {list(made.shape)} where {list(shape)} is wanted")
    return made.astype(dtype)


def by_parameter(
    parameters: list[Any], found: Mapping[str, Any], kinds: Iterable[str], op: str
) -> tuple[dict[Any, Any], dict[Any, dict[str, Any]]]:
    """The float32 copies of half parameters, and the accumulators of each parameter by their ``kinds``."""
    pattern = re.compile(rf"(.+?)_({'|'.join(map(re.escape, kinds)) or '(?!)'})_\d+")
    parsed: dict[str, tuple[str, str]] = {}
    for key in found:
        if key not in _OTHERS:
            match = pattern.fullmatch(key) if isinstance(key, str) else None
            if match is None:
                raise ArgumentError(f"set_state_dict: {key!r} is no state of {op}")
            parsed[key] = match[1], match[2]
    copies = found.get("master_weights", {})
    if not isinstance(copies, Mapping):
        raise ArgumentError(f"set_state_dict: 'master_weights' must be a dict, not {type(copies).__name__}")
    owners = _owners(parameters, [*copies, *(name for name, _ in parsed.values())])
    masters = {}
    for name, value in copies.items():
        if (p := owners.get(name)) is not None:
            masters[p] = copied(value, "float32", p.shape)
            masters[p].name = f"{p.name}_fp32_master_0"
    parts: dict[Any, dict[str, Any]] = {}
    for key, (name, kind) in parsed.items():
        if (p := owners.get(name)) is not None:
            kept = parts.setdefault(p, {})
            if kind in kept:
                raise ArgumentError(f"set_state_dict: {key!r} is given twice for {p.name!r}")
            kept[kind] = found[key]
    return masters, parts


def _owners(parameters: list[Any], given: Iterable[str]) -> dict[str, Any]:
    """The parameters by the names that a state gives them.

    These are the parameters' own names, perhaps followed by that of a master weight or of the optimizer. If no
    parameter has such a name, the names stand for the parameters in order.
    """
    own, names = {p.name: p for p in parameters}, list(dict.fromkeys(given))
    fits = {name: [n for n in own if name == n or name.startswith(f"{n}_")] for name in names}
    found = {name: own[max(mine, key=len)] for name, mine in fits.items() if mine}
    if names and not found:
        bare = list(dict.fromkeys(re.sub(r"_fp32_master_\d+$", "", name) for name in names))
        if len(bare) != len(parameters):
            raise ArgumentError(
                f"set_state_dict: the state is of {len(bare)} parameters such as {bare[0]!r}, the optimizer has "
                f"{len(parameters)} such as {parameters[0].name!r}"
            )
        order = dict(zip(bare, parameters, strict=True))
        return {name: order[re.sub(r"_fp32_master_\d+$", "", name)] for name in names}
    if rest := [name for name in names if name not in found]:
        text = f"set_state_dict: {rest[0]!r} is no parameter of the optimizer; its state is left out"
        warn(text)
    return found
