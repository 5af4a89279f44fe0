"""``torch.nn.utils.prune``: weights with some elements set to zero by a mask."""

from __future__ import annotations

import copy
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn.modules.module import Module

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """The base of pruning methods: a hook that multiplies a weight by its mask before every call of the module.

    A method says in ``compute_mask`` which elements it keeps. Its ``PRUNING_TYPE`` is ``"unstructured"``,
    ``"structured"`` or ``"global"``.
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        """Sets the weight of the module."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of a tensor, whose mask so far is ``default_mask``."""

    def apply_mask(self, module: Any) -> Tensor:
        """The weight times its mask."""
        mask = getattr(module, f"{self._tensor_name}_mask")
        weight: Tensor = getattr(module, f"{self._tensor_name}_orig")
        return ops.astype(mask, weight.dtype) * weight

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prunes a weight by this method, after the methods that already prune it."""
        before = _hooks(module, name)
        if len(before) > 1:
            raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}.")
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        weight = getattr(module, name)
        scores = weight if importance_scores is None else importance_scores
        if tuple(scores.shape) != tuple(weight.shape):
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}: "
                f"{list(scores.shape)} and {list(weight.shape)}"
            )
        found: Any = method
        if before and isinstance(before[0][1], PruningContainer):
            found = copy.copy(before[0][1])
            found.add_pruning_method(method)
        elif before:
            found = PruningContainer([before[0][1], method])
        mask = getattr(module, f"{name}_mask") if before else ops.ones_like(weight.detach())
        # The mask is computed before anything changes, as this may raise.
        mask = ops.astype(found.compute_mask(scores.detach(), mask), weight.dtype)
        if before:
            del module._forward_pre_hooks[before[0][0]]
        else:
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", weight)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, found.apply_mask(module))
        module.register_forward_pre_hook(found)
        return found

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A tensor times the mask that this method computes."""
        scores = t if importance_scores is None else importance_scores
        if tuple(scores.shape) != tuple(t.shape):
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = ops.ones_like(t.detach()) if default_mask is None else default_mask
        return t * ops.astype(self.compute_mask(scores, mask), t.dtype)

    def remove(self, module: Any) -> None:
        """Makes the weight an ordinary parameter again; its pruned elements stay zero."""
        name = self._tensor_name
        if not is_pruned(module):
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module).detach()
        original = getattr(module, f"{name}_orig")
        original.data = weight
        delattr(module, f"{name}_orig")
        delattr(module, f"{name}_mask")
        if name in vars(module):
            delattr(module, name)
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one weight, in the order in which they were applied."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in [m for a in args for m in (a if isinstance(a, Iterable) else [a])]:
            if not self._pruning_methods and isinstance(method, BasePruningMethod):
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Adds a method, which must be for the same weight."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += () if method is None else (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, which looks at the elements that are still there. It has the dtype of ``t``."""
        method = self._pruning_methods[-1]
        default_mask = ops.astype(default_mask, t.dtype)
        if method.PRUNING_TYPE == "global":
            return method.compute_mask(t, default_mask)
        if method.PRUNING_TYPE == "unstructured":
            kept: Any = np.flatnonzero(default_mask.numpy() == 1)
            found = default_mask.numpy().copy().reshape(-1)
            part = method.compute_mask(_tensor(t.numpy().reshape(-1)[kept]), _tensor(found[kept]))
            found[kept] = part.numpy()
            return _tensor(found.reshape(tuple(t.shape)))
        if method.PRUNING_TYPE == "structured":
            axis: Any = getattr(method, "dim", 0)
            rest = tuple(i for i in range(t.ndim) if i != axis % t.ndim)
            kept = np.flatnonzero(default_mask.numpy().sum(rest) != 0)
            found = default_mask.numpy().copy()
            place = (*[slice(None)] * (axis % t.ndim), kept)
            found[place] = method.compute_mask(_tensor(t.numpy()[place]), _tensor(found[place])).numpy()
            return _tensor(found)
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")


class Identity(BasePruningMethod):
    """Keeps all elements: the weight only gets the names of a pruned one."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far."""
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Drops elements at random: ``amount`` is a number or a share of them."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _scores(self, t: Tensor) -> Any:
        return ops.rand([t.numel()]).numpy()

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far without the elements of the lowest scores."""
        _validate_pruning_amount(self.amount, t.numel())
        count = _compute_nparams_toprune(self.amount, t.numel())
        found = default_mask.numpy().copy().reshape(-1)
        if count:
            found[np.argsort(self._scores(t), kind="stable")[:count]] = 0
        return _tensor(found.reshape(tuple(t.shape)))

    @classmethod
    def apply(cls, module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:  # type: ignore[override]
        """Prunes a weight."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class L1Unstructured(RandomUnstructured):
    """Drops the elements of the smallest absolute values."""

    def _scores(self, t: Tensor) -> Any:
        return np.abs(t.numpy()).reshape(-1)


class RandomStructured(BasePruningMethod):
    """Drops whole slices along ``dim`` at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def _scores(self, t: Tensor) -> Any:
        return ops.rand([t.shape[self.dim]]).numpy()

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far without the slices of the lowest scores."""
        if t.ndim < 2:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.ndim} dims"
            )
        if not -t.ndim <= self.dim < t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        _validate_pruning_amount(self.amount, t.shape[self.dim])
        count = _compute_nparams_toprune(self.amount, t.shape[self.dim])
        found = default_mask.numpy().copy()
        if count:
            dropped = np.argsort(self._scores(t), kind="stable")[:count]
            place: Any = (*[slice(None)] * (self.dim % t.ndim), dropped)
            found[place] = 0
        return _tensor(found)

    @classmethod
    def apply(cls, module: Any, name: str, amount: Any, dim: int = -1) -> Any:  # type: ignore[override]
        """Prunes a weight."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(RandomStructured):
    """Drops the slices along ``dim`` with the smallest norms of order ``n``."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Tensor) -> Any:
        rest = [i for i in range(t.ndim) if i != self.dim % t.ndim]
        if self.n == "nuc":
            raise ValueError("LnStructured: n must be a number or 'fro'; nuclear norms of slices are not computed")
        return ops.norm(t, 2.0 if self.n == "fro" else float(self.n), rest).numpy()

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
    ) -> Any:
        """Prunes a weight."""
        return super(RandomStructured, cls).apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """Keeps the elements of a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The elements that are in both masks."""
        if tuple(default_mask.shape) != tuple(self.mask.shape):
            raise AssertionError("default_mask and mask should have the same shape")
        return default_mask * ops.astype(self.mask, default_mask.dtype)

    @classmethod
    def apply(cls, module: Any, name: str, mask: Tensor) -> Any:  # type: ignore[override]
        """Prunes a weight."""
        return super().apply(module, name, mask=mask)


def identity(module: Any, name: str) -> Any:
    """Gives a weight the names of a pruned one, with a mask of ones. Returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Drops elements of a weight at random; ``amount`` is a number or a share of them. Returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Tensor | None = None) -> Any:
    """Drops the elements of a weight with the smallest absolute values. Returns the module.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.nn.utils import prune
    >>> layer = torch.nn.Linear(3, 1, bias=False)
    >>> with torch.no_grad():
    ...     _ = layer.weight.copy_(torch.tensor([[3.0, -1.0, 2.0]]))
    >>> prune.l1_unstructured(layer, "weight", amount=1).weight.tolist(), list(layer.state_dict())
    ([[3.0, -0.0, 2.0]], ['weight_orig', 'weight_mask'])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Drops slices of a weight along ``dim`` at random. Returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Drops the slices of a weight along ``dim`` with the smallest norms of order ``n``. Returns the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Keeps the elements of a weight that a mask names. Returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]], pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prunes several weights as if they were one vector, by an unstructured method with the arguments ``kwargs``."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    found = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    vectors = [ops.reshape(scores.get((m, n), getattr(m, n)).detach(), [-1]) for m, n in found]
    masks = [getattr(m, f"{n}_mask", None) for m, n in found]
    flat = [
        ops.ones_like(v) if mask is None else ops.reshape(mask, [-1]) for v, mask in zip(vectors, masks, strict=True)
    ]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    final = container.compute_mask(ops.concat(vectors), ops.concat(flat))
    start = 0
    for module, name in found:
        weight = getattr(module, name)
        end = start + weight.numel()
        custom_from_mask(module, name, ops.reshape(final[start:end], list(weight.shape)))
        start = end


def remove(module: Any, name: str) -> Any:
    """Makes a pruned weight an ordinary parameter, whose pruned elements are zero. Returns the module."""
    for number, method in _hooks(module, name):
        method.remove(module)
        del module._forward_pre_hooks[number]
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a weight of the module, or of a module below it, is pruned."""
    return any(
        isinstance(h, BasePruningMethod) for m in _module(module).modules() for h in m._forward_pre_hooks.values()
    )


def _hooks(module: Any, name: str) -> list[tuple[int, Any]]:
    """The pruning methods of a weight with their numbers among the module's hooks."""
    hooks = _module(module)._forward_pre_hooks.items()
    return [(i, h) for i, h in hooks if isinstance(h, BasePruningMethod) and h._tensor_name == name]


def _module(value: Any) -> Module:
    if not isinstance(value, Module):
        raise ArgumentError(f"torch.nn.utils.prune: module must be a Module, not {type(value).__name__}")
    return value


def _tensor(values: Any) -> Tensor:
    return _core.make(np.ascontiguousarray(values), None, False, TORCH)


# Pruning methods of other programs call these by their names in PyTorch.


def _validate_pruning_amount_init(amount: Any) -> None:
    """Raises unless an amount is a share, as a float, or a number of elements."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0.0, 1.0] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    """Raises if a number of elements is larger than that of the tensor."""
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many elements of a tensor of this size are dropped."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(float(amount) * tensor_size)


__dir__ = _public.names(globals())
