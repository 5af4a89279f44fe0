"""Layers whose sizes of inputs are those of the first input."""

from __future__ import annotations

from typing import Any

from ferrograd._autograd.modes import no_grad
from ferrograd._kit import public as _public
from ferrograd.torch.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ferrograd.torch.nn.modules.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from ferrograd.torch.nn.modules.instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from ferrograd.torch.nn.modules.linear import Linear
from ferrograd.torch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


class LazyModuleMixin:
    """The part of a module that gives shapes to its parameters before the first call.

    ``initialize_parameters(*args, **kwargs)`` gets the arguments of that call. Afterwards the module is of the class
    ``cls_to_become``.
    """

    cls_to_become: Any = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(_infer_parameters, with_kwargs=True)

    def _lazy_load_hook(self: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Gives parameters the shapes of those that are about to be loaded."""
        for name, value in {**self._parameters, **self._buffers}.items():
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(value) and not is_lazy(given):
                with no_grad():
                    value.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters their shapes and first values."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter or buffer of the module itself has no shape yet."""
        return any(is_lazy(value) for value in (*self._parameters.values(), *self._buffers.values()))


def _infer_parameters(module: Any, args: Any, kwargs: Any) -> None:
    """The hook before the first call."""
    module.initialize_parameters(*args, **(kwargs or {}))
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    module._initialize_hook.remove()
    module._load_hook.remove()
    del module._initialize_hook, module._load_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


class _Lazy(LazyModuleMixin):
    """A layer with one size that its input decides."""

    #: The attribute with the size, and the axis of the input that has it.
    _fg_size = "in_channels"
    _fg_axis = 1

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        # Zero stands for the unknown size.
        super().__init__(0, *args, **kwargs)
        dtypes = {name: p.dtype for name, p in self._parameters.items() if p is not None}
        kept = {**self._parameters, **self._buffers}
        # An axis of the unknown size has no elements, so the shapes say where it goes.
        self._fg_shapes = {name: list(value.shape) for name, value in kept.items() if value is not None and value.ndim}
        for name in self._fg_shapes:
            kind = UninitializedParameter if name in dtypes else UninitializedBuffer
            setattr(self, name, kind(dtype=kept[name].dtype))

    def reset_parameters(self: Any) -> None:
        """Draws the parameters anew once they have shapes."""
        if getattr(self, self._fg_size) and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def _fg_inner(self, size: int) -> int:
        """The size of the axis of the weight that depends on the input's size."""
        return size

    def initialize_parameters(self: Any, input: Any, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters the shapes that fit an input, and draws them; other arguments do not matter."""
        if not self.has_uninitialized_params():
            return
        size = self._fg_size_of(input)
        setattr(self, self._fg_size, size)
        with no_grad():
            for name, shape in self._fg_shapes.items():
                value = getattr(self, name)
                if is_lazy(value):
                    value.materialize([n or self._fg_inner(size) for n in shape])
        self.reset_parameters()

    def _fg_size_of(self, input: Any) -> int:
        return int(input.shape[self._fg_axis])


class LazyLinear(_Lazy, Linear):
    """A :class:`Linear` whose ``in_features`` are those of its first input.

    >>> import ferrograd.torch as torch
    >>> layer = torch.nn.LazyLinear(2)
    >>> layer(torch.ones(5, 3)).shape, layer
    (torch.Size([5, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become = Linear
    _fg_size, _fg_axis = "in_features", -1


class _LazyConv(_Lazy):
    def _fg_inner(self: Any, size: int) -> int:
        return int(size if self.transposed else size // self.groups)

    def _fg_size_of(self: Any, input: Any) -> int:
        axes = self._fg_axes
        if input.ndim not in (axes + 1, axes + 2):
            raise RuntimeError(
                f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {input.shape}"
            )
        size = int(input.shape[-axes - 1])
        if size % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        return size


class LazyConv1d(_LazyConv, Conv1d):
    """A :class:`Conv1d` whose ``in_channels`` are those of its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A :class:`Conv2d` whose ``in_channels`` are those of its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A :class:`Conv3d` whose ``in_channels`` are those of its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """A :class:`ConvTranspose1d` whose ``in_channels`` are those of its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """A :class:`ConvTranspose2d` whose ``in_channels`` are those of its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """A :class:`ConvTranspose3d` whose ``in_channels`` are those of its first input."""

    cls_to_become = ConvTranspose3d


class _LazyNorm(_Lazy):
    _fg_size = "num_features"


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A :class:`BatchNorm1d` whose ``num_features`` are those of its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A :class:`BatchNorm2d` whose ``num_features`` are those of its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A :class:`BatchNorm3d` whose ``num_features`` are those of its first input."""

    cls_to_become = BatchNorm3d


class _LazyInstanceNorm(_LazyNorm):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: object = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _fg_size_of(self: Any, input: Any) -> int:
        return int(input.shape[0 if input.ndim == self._fg_ranks[0] else 1])


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """An :class:`InstanceNorm1d` whose ``num_features`` are those of its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """An :class:`InstanceNorm2d` whose ``num_features`` are those of its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """An :class:`InstanceNorm3d` whose ``num_features`` are those of its first input."""

    cls_to_become = InstanceNorm3d


__dir__ = _public.names(globals())
