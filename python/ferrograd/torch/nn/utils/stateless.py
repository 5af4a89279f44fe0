"""Modules as functions of their parameters."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd._kit.arguments import typed
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn.modules.module import Module

__all__ = ["functional_call"]

Tensors = dict[str, Tensor]


def _joined(given: Any) -> Tensors:
    """One dict, or several with different keys, as one."""
    if isinstance(given, dict):
        return given
    if not isinstance(given, list | tuple):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}"
        )
    joined: Tensors = {}
    for part in given:
        if not isinstance(part, dict):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        twice = sorted(joined.keys() & part.keys())
        if twice:
            raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        joined.update(part)
    return joined


def _tables(module: Module) -> dict[str, tuple[dict[str, Any], str]]:
    """For each parameter and buffer of the tree: the table that has it, and its name there."""
    found = {}
    for path, m in module.named_modules(remove_duplicate=False):
        for table in (m._parameters, m._buffers):
            for name, value in table.items():
                if value is not None:
                    found[f"{path}.{name}" if path else name] = (table, name)
    return found


@typed(module=Module)
def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The output of a module with other parameters and buffers, which are given by their names.

    Those not given stay as they are, unless ``strict``. A tensor that has several names in the module is replaced under
    all of them, unless ``tie_weights`` is False.

    Raises:
        RuntimeError: the module has no parameter or buffer of a name, or with ``strict`` one is not given.
        ValueError: the tensors for two names of one tensor differ, or a name is given twice.

    >>> import ferrograd.torch as torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.tensor([[1.0, 2.0]])}, torch.tensor([3.0, 4.0])).tolist()
    [11.0]
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, _joined(parameter_and_buffer_dicts), tie_weights, strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def _reparametrize_module(
    module: Module,
    parameters_and_buffers: Tensors,
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> Iterator[None]:
    """A context in which a module has other parameters and buffers; see :func:`functional_call`."""
    given = parameters_and_buffers
    tables = _tables(module)
    errors = []
    unknown = [repr(name) for name in given if name not in tables]
    if unknown:
        errors.append(f"Unexpected key(s): {', '.join(unknown)}.")
    new = _tied(given, tables) if tie_weights else dict(given)
    lacking = [repr(name) for name in tables if name not in new]
    if strict and lacking:
        errors.append(f"Missing key(s): {', '.join(lacking)}.")
    if errors:
        listed = "\n\t".join(errors)
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t{listed}")
    places = [(*tables[name], value) for name, value in new.items()]
    old = [table[name] for table, name, _ in places]
    try:
        for table, name, value in places:
            table[name] = value
        yield
    finally:
        # A buffer that the module has assigned anew is given back in the dict.
        for key in given:
            table, name = tables[key]
            given[key] = table[name]
        for (table, name, _), value in reversed(list(zip(places, old, strict=True))):
            table[name] = value


def _tied(given: Tensors, tables: dict[str, tuple[dict[str, Any], str]]) -> Tensors:
    """The given tensors, each under all names of the tensor that it replaces."""
    names: dict[int, list[str]] = {}
    for key, (table, name) in tables.items():
        names.setdefault(id(table[name]), []).append(key)
    new: Tensors = {}
    for key, value in given.items():
        if key not in tables:
            continue
        table, name = tables[key]
        group = names[id(table[name])]
        if any(other in given and given[other] is not value for other in group):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(group)}, which are tied. "
                "Consider using tie_weights=False"
            )
        new.update(dict.fromkeys(group, value))
    return new


@typed(model=Module)
def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    """A function ``f(parameters, *args)`` that calls the module, and its parameters. The older form of functorch.

    >>> import ferrograd.torch as torch
    >>> f, parameters = torch.func.make_functional(torch.nn.Linear(2, 1))
    >>> f(parameters, torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    f, parameters, buffers = make_functional_with_buffers(model, disable_autograd_tracking)

    def call(parameters: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        return f(parameters, buffers, *args, **kwargs)

    call.stateless_model = f.stateless_model  # type: ignore[attr-defined]
    return call, parameters


@typed(model=Module)
def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A function ``f(parameters, buffers, *args)`` that calls the module, its parameters and its buffers."""
    model = copy.deepcopy(model)
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    names = [*parameters, *buffers]

    def call(parameters: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(names, [*parameters, *buffers], strict=True))
        return functional_call(model, given, args, kwargs)

    #: The module that is called.
    call.stateless_model = model  # type: ignore[attr-defined]
    found = tuple(p.detach() if disable_autograd_tracking else p for p in parameters.values())
    return call, found, tuple(buffers.values())


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[Callable[..., Any], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The function of :func:`make_functional_with_buffers`, and the parameters and buffers of all modules, stacked."""
    parameters, buffers = stack_module_state(models)
    return make_functional_with_buffers(models[0])[0], tuple(parameters.values()), tuple(buffers.values())


def stack_module_state(models: Sequence[Module]) -> tuple[Tensors, Tensors]:
    """The parameters and the buffers of equal modules, stacked by name along a new first axis. They are leaves.

    >>> import ferrograd.torch as torch
    >>> models = [torch.nn.Linear(2, 1) for _ in range(3)]
    >>> parameters, buffers = torch.func.stack_module_state(models)
    >>> call = lambda p, x: torch.func.functional_call(models[0], p, x)
    >>> torch.vmap(call, (0, None))(parameters, torch.ones(4, 2)).shape
    torch.Size([3, 4, 1])
    """
    if not all(isinstance(m, Module) for m in models):
        raise ArgumentError("stack_module_state: models holds modules only")
    if len(models) == 0:
        raise ArgumentError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise ArgumentError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise ArgumentError("stack_module_state: Expected all models to be of the same class.")

    def stacked(each: list[dict[str, Any]]) -> Tensors:
        return {name: _stacked_leaf([named[name] for named in each], name) for name in each[0]}

    parameters = stacked([dict(m.named_parameters()) for m in models])
    return parameters, stacked([dict(m.named_buffers()) for m in models])


def _stacked_leaf(tensors: list[Tensor], name: str) -> Tensor:
    tracked = {t.requires_grad for t in tensors}
    if len(tracked) > 1:
        raise ArgumentError(f"Expected {name} from each model to have the same .requires_grad")
    stacked: Tensor = ops.stack([t.detach() for t in tensors], 0).requires_grad_(tracked.pop())
    return stacked


__dir__ = _public.names(globals())
