"""The base of Paddle's distributions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import paddle as ops
from ferrograd._distributions import distribution as _shared
from ferrograd._distributions.distribution import broadcast_all
from ferrograd._distributions.kl import kl_divergence
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import PADDLE
from ferrograd._kit.warning import warn
from ferrograd.paddle._tensor import Tensor

__all__ = ["Distribution", "ExponentialFamily"]


def parameters(*values: Any) -> list[Any]:
    """Numbers, lists, arrays and tensors as floating tensors of one dtype: that of the first floating tensor or array.

    Without one it is the default dtype.
    """
    for value in values:
        if not isinstance(value, bool | int | float | list | tuple | np.ndarray | np.generic | Tensor):
            raise TypeError(
                "Type of input args must be float, list, tuple, numpy.ndarray or Tensor, but received type "
                f"{type(value)}"
            )
    held = [v.dtype for v in values if isinstance(v, Tensor | np.ndarray) and v.dtype.kind == "f"]
    dtype = held[0] if held else ops.get_default_dtype()
    found = []
    for value in values:
        x = value if isinstance(value, Tensor) else _core.make(value, None, False, PADDLE)
        if x.dtype.kind == "c":
            raise TypeError("parameters are real: a complex variable is one for each of its parts")
        found.append(x if x.dtype == dtype else ops.astype(x, dtype))
    return found


class Distribution(_shared.Distribution):
    """The base of distributions: a ``batch_shape`` of independent ones, each with values of ``event_shape``."""

    _validate_args = False

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        super().__init__(batch_shape, event_shape, False)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the independent distributions."""
        return tuple(self._batch_shape)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one value."""
        return tuple(self._event_shape)

    def sample(self, shape: Any = ()) -> Any:
        """Values of ``shape + batch_shape + event_shape`` without a gradient."""
        return super().sample(_sizes(shape))

    def rsample(self, shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        return super().rsample(_sizes(shape))

    def prob(self, value: Any) -> Any:
        """The density, or the probability, of values."""
        return ops.exp(self.log_prob(value))

    #: The density, or the probability, of values, unless it is the parameter of this name.
    probs: Any = prob

    def kl_divergence(self, other: Any) -> Any:
        """The mean of the logarithm of this density divided by the other one: see :func:`kl_divergence`."""
        if not isinstance(other, Distribution):
            raise TypeError(f"kl_divergence: a distribution is wanted, not {other!r:.60}")
        return kl_divergence(self, other)

    def _fg_checked(self, value: Any) -> Any:
        """The value as a tensor with the dtype of the parameters."""
        dtype = next((v.dtype for v in vars(self).values() if isinstance(v, Tensor)), None)
        x = value if isinstance(value, Tensor) else _core.make(value, dtype, False, PADDLE)
        return x if dtype is None else _cast(x, dtype)

    def _check_values_dtype_in_probs(self, param: Tensor, value: Tensor) -> Any:
        """The value in the dtype of a parameter. A warning says so if that is another float dtype."""
        return _cast(value, param.dtype)

    def _to_tensor(self, *args: Any) -> tuple[Any, ...]:
        """Arguments as float tensors of one dtype and one shape."""
        return tuple(broadcast_all(*parameters(*args)))

    _broadcast_all = _to_tensor

    def _probs_to_logits(self, probs: Any, is_binary: bool = False) -> Any:
        """Probabilities as logarithms of odds, or those along the last axis as logarithms."""
        return ops.log(probs) - ops.log1p(-probs) if is_binary else ops.log(probs)

    def _logits_to_probs(self, logits: Any, is_binary: bool = False) -> Any:
        """The inverse of ``_probs_to_logits``."""
        return ops.sigmoid(logits) if is_binary else ops.softmax(logits, -1)

    def _extend_shape(self, sample_shape: Any) -> tuple[int, ...]:
        return tuple(self._extended_shape(_sizes(sample_shape)))


def _cast(x: Any, dtype: Any) -> Any:
    """The tensor in a dtype. A warning says so if its numbers are floats of another one."""
    if x.dtype == dtype:
        return x
    if x.dtype.name in ("float32", "float64"):
        text = "dtype of input 'value' needs to be the same as parameters of distribution class. dtype of 'value' will "
        warn(f"{text}be converted.")
    return ops.astype(x, dtype)


def _sizes(shape: Any) -> list[int]:
    try:
        return [operator.index(n) for n in shape]
    except TypeError as e:
        raise TypeError(f"sample shape must be Iterable object of integers, not {shape!r:.60}") from e


class ExponentialFamily(Distribution, _shared.ExponentialFamily):
    """The base of distributions with densities ``exp(<t(x), theta> - F(theta) + k(x))``.

    A subclass defines the properties ``_natural_parameters`` and ``_mean_carrier_measure``, and ``_log_normalizer``.
    """

    @property
    def _natural_parameters(self) -> Any:
        raise NotImplementedError

    @property
    def _natural_params(self) -> Any:
        return self._natural_parameters


__dir__ = _public.names(globals())
