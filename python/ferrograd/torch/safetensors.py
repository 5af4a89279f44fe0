"""Files of tensors in the format safetensors, with the functions of ``safetensors`` and ``safetensors.torch``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ferrograd import _core
from ferrograd._files import safetensors as _safetensors
from ferrograd._files.safetensors import SafetensorError, save, save_file
from ferrograd._kit import public as _public
from ferrograd._kit.arguments import typed
from ferrograd._kit.dialect import TORCH
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn.modules.module import Module

__all__ = [
    "SafetensorError",
    "load",
    "load_file",
    "load_model",
    "safe_open",
    "save",
    "save_file",
    "save_model",
    "storage_ptr",
    "storage_size",
]

#: Makes ``safetensors.torch`` importable where this module stands for ``safetensors``.
__path__: list[str] = []


def load(data: bytes) -> dict[str, Any]:
    """The tensors of bytes in the format, by name.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch import safetensors
    >>> safetensors.load(safetensors.save({"w": torch.ones([2])}))["w"].tolist()
    [1.0, 1.0]
    """
    return _safetensors.load(data, TORCH)


def load_file(filename: str | os.PathLike[str], device: Any = "cpu", *, backend: str = "mmap") -> dict[str, Any]:
    """The tensors of a file, by name. The CPU is the only device, and any ``backend`` reads alike."""
    _core.check_device("load_file", device)
    return _safetensors.load_file(filename, TORCH)


def safe_open(
    filename: str | os.PathLike[str], framework: str = "pt", device: Any = "cpu", *, backend: str = "mmap"
) -> Any:
    """A file whose tensors, or parts of them, are read one by one.

    ``f.get_slice(name)[1:]`` reads only what is indexed.
    """
    _core.check_device("safe_open", device)
    if framework not in ("pt", "torch", "pytorch"):
        raise SafetensorError(f"safe_open: framework {framework!r} is not here; the tensors are of 'pt'")
    return _safetensors.SafeOpen(filename, TORCH)


def save_model(
    model: Module,
    filename: str | os.PathLike[str],
    metadata: dict[str, str] | None = None,
    force_contiguous: bool = True,
) -> None:
    """Writes the state of a module. A parameter with several names is written under the first one in alphabetical
    order.

    The metadata have that name for each of the others.
    """
    state = _module("save_model", model).state_dict(keep_vars=True)
    others = {name: names[0] for names in _shared(state) for name in names[1:]}
    kept = {name: x for name, x in state.items() if name not in others}
    save_file(kept, filename, {**others, **(metadata or {})} or None)


def load_model(
    model: Module, filename: str | os.PathLike[str], strict: bool = True, device: Any = "cpu", *, backend: str = "mmap"
) -> tuple[set[str], list[str]]:
    """Loads a file of a module's state into the module. Returns the missing and the unexpected names.

    A name of a parameter is not missing if the file has another one.

    Raises:
        RuntimeError: ``strict``, and a name is missing or unexpected.
    """
    _module("load_model", model)
    state = load_file(filename, device, backend=backend)
    result = model.load_state_dict(state, strict=False)
    missing, unexpected = set(result.missing_keys), list(result.unexpected_keys)
    for names in _shared(model.state_dict(keep_vars=True)):
        if any(name in state for name in names):
            missing -= set(names)
    if strict and (missing or unexpected):
        texts = [f"Error(s) in loading state_dict for {type(model).__name__}:"]
        for what, wrong in (("Missing", missing), ("Unexpected", unexpected)):
            if wrong:
                texts.append(f"    {what} key(s) in state_dict: " + ", ".join(f'"{name}"' for name in sorted(wrong)))
        raise RuntimeError("\n".join(texts))
    return missing, unexpected


@typed(tensor=Tensor)
def storage_ptr(tensor: Any) -> int:
    """The address of the memory that a tensor is in: views have that of their base.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch import safetensors
    >>> x = torch.ones(4)
    >>> safetensors.storage_ptr(x[2:]) == safetensors.storage_ptr(x)
    True
    """
    return int(tensor.data_ptr() - tensor.storage_offset() * tensor.element_size())


@typed(tensor=Tensor)
def storage_size(tensor: Any) -> int:
    """The size in bytes of the memory that a tensor is in.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch import safetensors
    >>> safetensors.storage_size(torch.ones(4)[2:])
    16
    """
    whole = tensor if tensor._base is None else tensor._base
    return int(whole.nbytes)


def _module(name: str, model: Any) -> Module:
    if not isinstance(model, Module):
        raise TypeError(f"{name}: the model is a torch.nn.Module, not {type(model).__name__}")
    return model


def _shared(state: Mapping[str, Any]) -> list[list[str]]:
    """The names of each tensor that has several."""
    found: dict[int, list[str]] = {}
    for name in sorted(state):
        found.setdefault(id(state[name]), []).append(name)
    return [names for names in found.values() if len(names) > 1]


__dir__ = _public.names(globals())
