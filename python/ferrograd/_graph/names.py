"""Names of tensors in a recorded graph: those that a caller gives, and those of the parameters of modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor


def listed(names: Any) -> list[tuple[str, Tensor]]:
    """The tensors that are named: by a mapping, whose other values are left out, by pairs, or by a module."""
    if hasattr(names, "named_parameters"):
        names = names.named_parameters()
    try:
        pairs = list(names.items() if isinstance(names, Mapping) else names)
        return [(str(name), x) for name, x in pairs if isinstance(x, Tensor)]
    except (TypeError, ValueError):
        kind = type(names).__name__
        raise ArgumentError(f"graph: names are a dict of tensors, pairs or a module, not {kind}") from None


def by_place(pairs: Iterable[tuple[str, Tensor]], keys: Sequence[int]) -> dict[tuple[int, int], tuple[str, Tensor]]:
    """The tensors and their names by the entries with these keys and the numbers of outputs."""
    number = {key: i for i, key in enumerate(keys)}
    found: dict[tuple[int, int], tuple[str, Tensor]] = {}
    for name, x in pairs:
        if x.requires_grad:
            record = _core.snapshot([x], None)
            node, out = record[0][0]
            # The keys are the ninth of the columns.
            if record[8][node] in number:
                found[number[record[8][node]], out] = name, x
    return found


def of_parameters() -> list[tuple[str, Tensor]]:
    """The parameters of all modules that are alive, with their dotted names."""
    from ferrograd._layers.module import alive

    modules = list(alive.values())
    inner = {id(child) for module in modules for child in module._modules.values()}
    roots = [module for module in modules if id(module) not in inner]
    return [(name, x) for root in roots for name, x in root.named_parameters() if isinstance(x, Tensor)]
