"""``paddle.base.framework``: the mode, the tensor class and the dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

from ferrograd import _core
from ferrograd._core import ArgumentError, PaddleTensor as Variable
from ferrograd._kit.dialect import PADDLE
from ferrograd._tensor.dtypes import dtype_of
from ferrograd.paddle._base import no_static as _no_static
from ferrograd.paddle._functions.predicates import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    disable_signal_handler,
    get_flags,
    in_dynamic_mode,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
    set_flags,
)
from ferrograd.paddle.base import core
from ferrograd.paddle.base.data_feeder import convert_dtype
from ferrograd.paddle.nn._parameter import EagerParamBase
from ferrograd.paddle.utils import require_version, unique_name

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "EagerParamBase",
    "Variable",
    "convert_np_dtype_to_dtype_",
    "convert_np_dtype_to_proto_type",
    "core",
    "cpu_places",
    "disable_signal_handler",
    "dygraph_not_support",
    "dygraph_only",
    "get_flags",
    "in_cinn_mode",
    "in_dygraph_mode",
    "in_dynamic_mode",
    "in_dynamic_or_pir_mode",
    "in_pir_executor_mode",
    "in_pir_mode",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "require_version",
    "set_flags",
    "unique_name",
    "use_pir_api",
]

F = TypeVar("F", bound=Callable[..., Any])

in_dygraph_mode = in_dynamic_or_pir_mode = in_dynamic_mode


def in_pir_mode() -> bool:
    """False: there are no static programs."""
    return False


in_pir_executor_mode = in_cinn_mode = in_pir_mode


def use_pir_api() -> bool:
    """True, which programs ask for the form of saved static programs; there are none here."""
    return True


def dygraph_only(func: F) -> F:
    """The function: all run in the dynamic graph."""
    return func


def dygraph_not_support(func: Callable[..., Any]) -> Callable[..., NoReturn]:
    """A function that raises where it is called, as ``func`` is for static programs."""

    def call(*args: Any, **kwargs: Any) -> NoReturn:
        raise AssertionError(f"{func.__name__}: the dynamic graph, which is always on, does not have it")

    return call


def convert_np_dtype_to_dtype_(np_dtype: Any) -> Any:
    """The dtype of this library for one of NumPy, or for its name."""
    return dtype_of(convert_dtype(np_dtype), PADDLE)


convert_np_dtype_to_proto_type = convert_np_dtype_to_dtype_


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """The CPU, as often as asked for.

    Raises:
        ArgumentError: no list has so many elements.
    """
    try:
        return [CPUPlace()] * (1 if device_count is None else device_count)
    except OverflowError:
        raise ArgumentError(f"cpu_places: {device_count} places are more than a list can have") from None


def _current_expected_place() -> CPUPlace:
    """The device of new tensors: the CPU."""
    return CPUPlace()


@contextmanager
def _dygraph_place_guard(place: object) -> Iterator[None]:
    """A context in which new tensors are on a device: the CPU, which all are on."""
    _core.check_device("_dygraph_place_guard", place)
    yield


@contextmanager
def _dygraph_guard(tracer: object) -> Iterator[None]:
    """A context that does nothing: the dynamic graph is always on."""
    yield


class _Tracer:
    """The object whose attribute ``_has_grad`` scripts set to switch recording."""

    @property
    def _has_grad(self) -> bool:
        """Whether ops are recorded on this thread."""
        return _core.is_grad_enabled()

    @_has_grad.setter
    def _has_grad(self, on: bool) -> None:
        _core.set_grad_mode(bool(on))


_TRACER = _Tracer()


def _dygraph_tracer() -> _Tracer:
    """The tracer; see :class:`_Tracer`."""
    return _TRACER


__getattr__, __dir__ = _no_static.module_names(__name__)
