"""Parameters that are functions of others."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ferrograd._autograd.modes import no_grad
from ferrograd._kit import public as _public
from ferrograd._kit.arguments import typed
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn.modules.container import ModuleDict, ModuleList
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

#: The values computed inside ``cached``, by module and name; None outside.
_cache: dict[tuple[int, str], Any] | None = None


@contextmanager
def cached() -> Iterator[None]:
    """Computes each parametrized tensor once inside the block."""
    global _cache
    outer = _cache
    _cache = {} if outer is None else outer
    try:
        yield
    finally:
        _cache = outer


def _keep(module: Module, name: str, value: Any) -> None:
    register = module.register_parameter if isinstance(value, Parameter) else module.register_buffer
    register(name, value)


def _same(kind: str, what: str, old: Any, new: Any) -> None:
    if not isinstance(new, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(new).__name__}.")
    for name in ("dtype", "shape"):
        if getattr(new, name) != getattr(old, name):
            raise ValueError(
                f"Registering a parametrization may not change the {name} of the tensor, unless "
                f"{'the ' if kind == 'more' else ''}`unsafe` flag is enabled.\n"
                f"{what} {name}: {getattr(old, name)}\nparametrized {name}: {getattr(new, name)}"
            )


class ParametrizationList(ModuleList):
    """The functions that make a tensor, and the tensor or tensors ``original`` they make it of."""

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new = self._inverse(original, required=False)
        self.is_tensor = isinstance(new, Tensor)
        if self.is_tensor:
            if new.dtype != dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            if new is not original:
                original.data = new.detach()
            _keep(self, "original", original)
        else:
            self.ntensors = len(new)
            for i, value in enumerate(new):
                if not isinstance(value, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{i} of the sequence with type {type(value).__name__}."
                    )
                made = value.detach()
                _keep(
                    self,
                    f"original{i}",
                    Parameter(made, original.requires_grad) if isinstance(original, Parameter) else made,
                )
        if not unsafe:
            like = type("Like", (), {"shape": shape, "dtype": dtype})
            _same("first", "unparametrized", like, self())

    @no_grad()
    def _inverse(self, value: Any, required: bool) -> Any:
        """What the functions make ``value`` of, as far as they have a ``right_inverse``."""
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                if required:
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                continue
            try:
                value = module.right_inverse(value)
            except NotImplementedError:
                if required:
                    raise
        if not isinstance(value, Tensor) and not isinstance(value, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(value).__name__}"
            )
        return value

    def _originals(self) -> list[Any]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Sets the original tensors so that the result is ``value``."""
        new = self._inverse(value, required=True)
        new, old = [new] if self.is_tensor else list(new), self._originals()
        if len(new) != len(old):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {len(old)}. "
                f"Got a sequence of length {len(new)}."
            )
        for held, given in zip(old, new, strict=True):
            if held.dtype != given.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {given.dtype} while `original` has dtype "
                    f"{held.dtype}"
                )
            held.data = given.detach()

    def forward(self) -> Any:
        """The tensor that the functions make."""
        first, *others = list(self)
        value = first(*self._originals())
        for module in others:
            value = module(value)
        return value


def _inject_class(module: Any) -> None:
    """Gives the module a class of its own, which can have properties."""
    kind = type(module)

    def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = self.__new__(type(self))
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
        return made

    def getstate(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(): save that, and load it into "
            "a module with the same parametrizations."
        )

    module.__class__ = type(
        f"Parametrized{kind.__name__}", (kind,), {"__deepcopy__": deepcopy, "__getstate__": getstate}
    )


def _inject_property(module: Any, name: str) -> None:
    """Makes the attribute compute the parametrized tensor."""

    def get(self: Any) -> Any:
        if _cache is None:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def put(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


@typed(module=Module)
def register_parametrization(module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Any:
    """Makes a parameter or buffer of a module the result of a function, which is a module itself.

    If the function has a method ``right_inverse``, the tensor keeps its value. Several functions are applied one after
    the other. Unless ``unsafe``, a function keeps the shape and the dtype.

    >>> import ferrograd.torch as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(3, 3)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            old = getattr(module, tensor_name)
            new = parametrization(old)
            _same("more", f"module.{tensor_name}", old, new)
            if hasattr(parametrization, "right_inverse"):
                back = parametrization.right_inverse(new)
                if not isinstance(back, Tensor):
                    raise ValueError(
                        f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}, where the "
                        "tensor is parametrized already"
                    )
                if back.shape != old.shape:
                    raise ValueError(
                        "The tensor returned by parametrization.right_inverse must have the same shape as "
                        f"module.{tensor_name}, which is {old.shape}, not {back.shape}"
                    )
                if back.dtype != old.dtype:
                    raise ValueError(
                        "The tensor returned by parametrization.right_inverse must have the same dtype as "
                        f"module.{tensor_name}, which is {old.dtype}, not {back.dtype}"
                    )
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


@typed(module=Module)
def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrized tensors, or one of this name."""
    held = module._modules.get("parametrizations")
    if not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


@typed(module=Module)
def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Makes the tensor a parameter or buffer again, with its present value or with the value of the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held = module.parametrizations[tensor_name]
    if not held.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    value = held.original if held.is_tensor else None
    if leave_parametrized:
        now = getattr(module, tensor_name)
        if value is None:
            value = Parameter(now.detach()) if now.requires_grad else now
        else:
            value.data = now.detach()
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _keep(module, tensor_name, value)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Gives another module the functions and the original tensors of a tensor, or of all that are parametrized.

    Both modules then hold the same objects. A tensor that ``to_module`` lacks is made.
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        if not is_parametrized(from_module, name):
            raise ValueError(f"Module {from_module} does not have a parametrization on {name}")
        held = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            value = getattr(from_module, name).detach().clone()
            is_parameter = isinstance(held._originals()[0], Parameter)
            _keep(to_module, name, Parameter(value) if is_parameter else value)
        for module in held:
            register_parametrization(to_module, name, module, unsafe=held.unsafe)
        new = to_module.parametrizations[name]
        for key in ["original"] if held.is_tensor else [f"original{i}" for i in range(held.ntensors)]:
            delattr(new, key)
            _keep(new, key, getattr(held, key))
    return to_module


@typed(module=Module)
def type_before_parametrizations(module: Any) -> type:
    """The class of a module before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


__dir__ = _public.names(globals())
