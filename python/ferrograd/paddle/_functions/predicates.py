"""Paddle's constants, predicates, devices and modes. The CPU is the only device."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, paddle as ops
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import PADDLE
from ferrograd._kit.specialize import specialize
from ferrograd._tensor.device import Place
from ferrograd._tensor.dtypes import finfo as _finfo
from ferrograd._tensor.repr import PADDLE_OPTIONS
from ferrograd.paddle._base.flags import get_flags, set_flags
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CustomPlace",
    "LazyGuard",
    "XPUPinnedPlace",
    "XPUPlace",
    "batch",
    "broadcast_shape",
    "broadcast_shapes",
    "disable_signal_handler",
    "disable_static",
    "e",
    "enable_static",
    "finfo",
    "get_cuda_rng_state",
    "get_cudnn_version",
    "get_default_dtype",
    "get_device",
    "get_flags",
    "iinfo",
    "in_dynamic_mode",
    "inf",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_distribute",
    "is_compiled_with_ipu",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "is_complex",
    "is_empty",
    "is_floating_point",
    "is_integer",
    "is_tensor",
    "nan",
    "newaxis",
    "numel",
    "pi",
    "rank",
    "set_cuda_rng_state",
    "set_device",
    "set_flags",
    "set_printoptions",
    "shape",
    "tolist",
]


#: The release whose behaviour this dialect follows.
VERSION = f"3.3.1+ferrograd.{_core.__version__}"

e = math.e
inf = math.inf
nan = math.nan
pi = math.pi
newaxis = None


class iinfo:
    """The limits of an integer dtype, as Python integers.

    >>> import ferrograd.paddle as paddle
    >>> paddle.iinfo("int8")
    paddle.iinfo(min=-128, max=127, bits=8, dtype=int8)
    """

    def __init__(self, dtype: Any) -> None:
        found = np.iinfo(dtype)
        self.min, self.max, self.bits, self.dtype = int(found.min), int(found.max), int(found.bits), str(found.dtype)

    def __repr__(self) -> str:
        """All limits."""
        return f"paddle.iinfo(min={self.min}, max={self.max}, bits={self.bits}, dtype={self.dtype})"


class finfo:
    """The limits of a float dtype, as Python floats.

    >>> import ferrograd.paddle as paddle
    >>> paddle.finfo(paddle.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, dtype: Any) -> None:
        found = _finfo(dtype)
        self.min, self.max, self.eps = float(found.min), float(found.max), float(found.eps)
        self.resolution, self.tiny, self.smallest_normal = (
            float(str(found.resolution)),
            float(found.tiny),
            float(found.tiny),
        )
        self.bits, self.dtype = int(found.bits), str(found.dtype)

    def __repr__(self) -> str:
        """All limits."""
        return (
            f"paddle.finfo(min={self.min:g}, max={self.max:g}, eps={self.eps:g}, resolution={self.resolution:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, bits={self.bits}, dtype={self.dtype})"
        )


class LazyGuard(nullcontext[None]):
    """Layers that are made inside of it have their parameters at once; Paddle's get them by ``initialize``."""


def numel(x: Tensor, name: str | None = None) -> Any:
    """The number of elements, as a 0-d tensor."""
    return _arguments.tensor(x, "numel", "x").numel()


def rank(input: Tensor) -> Any:
    """The number of axes, as a 0-d tensor."""
    return _arguments.tensor(input, "rank", "input").rank()


def shape(input: Tensor) -> Tensor:
    """The sizes of the axes, as a tensor."""
    return _core.make(list(_arguments.tensor(input, "shape", "input").shape), "int64", False, PADDLE)


def is_floating_point(x: Tensor) -> bool:
    """Whether the elements are floats."""
    return bool(_arguments.tensor(x, "is_floating_point", "x").dtype.kind == "f")


def is_integer(x: Tensor) -> bool:
    """Whether the elements are integers."""
    return bool(_arguments.tensor(x, "is_integer", "x").dtype.kind in "iu")


def is_complex(x: Tensor) -> bool:
    """Whether the elements are complex."""
    return bool(_arguments.tensor(x, "is_complex", "x").dtype.kind == "c")


def is_empty(x: Tensor, name: str | None = None) -> Tensor:
    """Whether the tensor has no elements, as a 0-d tensor."""
    return _core.make(0 in _arguments.tensor(x, "is_empty", "x").shape, "bool", False, PADDLE)


def tolist(x: Tensor) -> Any:
    """The elements as nested lists."""
    return _arguments.tensor(x, "tolist", "x").tolist()


def broadcast_shape(x_shape: Sequence[int], y_shape: Sequence[int]) -> list[int]:
    """The shape that two shapes broadcast to. A size of -1 is not known: it is the other size, unless that is 1."""
    x, y = (list(_arguments.integers(s, "broadcast_shape", "shape")) for s in (x_shape, y_shape))
    n = max(len(x), len(y))
    pairs = list(zip([1] * (n - len(x)) + x, [1] * (n - len(y)) + y, strict=True))
    if any(a != b and not {1, -1} & {a, b} for a, b in pairs):
        raise ShapeError(f"broadcast_shape: {x} and {y} do not broadcast")
    return [a + b - 1 if 1 in (a, b) else max(a, b) for a, b in pairs]


def broadcast_shapes(*shapes: Any) -> list[int]:
    """The shape that shapes broadcast to."""
    found: list[int] = []
    for shape in shapes:
        found = broadcast_shape(found, shape)
    return found


def batch(
    reader: Callable[[], Iterable[Any]], batch_size: int, drop_last: bool = False
) -> Callable[[], Iterator[list[Any]]]:
    """A reader of lists of ``batch_size`` samples of another reader; a shorter last list is left out if asked for."""
    size = _arguments.integer(batch_size, "batch", "batch_size")
    if size < 1:
        raise ArgumentError(f"batch_size should be a positive integer value, but got batch_size={size}")

    def read() -> Iterator[list[Any]]:
        samples = iter(reader())
        while (some := list(islice(samples, size))) and (len(some) == size or not drop_last):
            yield some

    return read


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """Sets how tensors are printed: digits after the point, elements before a summary, elements at its edges, columns.

    >>> import ferrograd.paddle as paddle
    >>> paddle.set_printoptions(precision=2)
    >>> paddle.to_tensor([1 / 3])
    Tensor(shape=[1], dtype=float32, place=Place(cpu), stop_gradient=True,
           [0.33])
    >>> paddle.set_printoptions(precision=8)
    """
    PADDLE_OPTIONS.change(
        precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth, sci_mode=sci_mode
    )


def disable_signal_handler() -> None:
    """Does nothing: no signals are handled."""


def get_cuda_rng_state() -> list[Any]:
    """An empty list: the CPU is the only device."""
    return []


def set_cuda_rng_state(state_list: Any) -> None:
    """Does nothing with the state of no device."""
    if state_list:
        raise ArgumentError("set_cuda_rng_state: the CPU is the only device here")


def is_compiled_with_cuda() -> bool:
    """False: the CPU is the only device."""
    return False


(
    is_compiled_with_cinn,
    is_compiled_with_distribute,
    is_compiled_with_ipu,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
) = (
    specialize(f"is_compiled_with_{name}", is_compiled_with_cuda.__doc__, is_compiled_with_cuda)
    for name in ("cinn", "distribute", "ipu", "rocm", "xpu")
)


def is_compiled_with_custom_device(device_type: str) -> bool:
    """False: the CPU is the only device."""
    return False


def get_cudnn_version() -> None:
    """None: there is no GPU."""


def is_tensor(x: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(x, Tensor)


class StaticGraphError(NotImplementedError, AttributeError):
    """A name of the static graph was used."""


_static = False


def in_dynamic_mode() -> bool:
    """Whether :func:`enable_static` is not in effect. Ops always run eagerly."""
    return not _static


def in_declarative_mode() -> bool:
    """False: ``to_static`` traces functions as they are, and no static program is made."""
    return False


def disable_static(place: object = None) -> None:
    """Undoes ``enable_static``."""
    global _static
    _static = False


def enable_static() -> None:
    """Makes :func:`in_dynamic_mode` False, for scripts that switch modes.

    Ops still run eagerly, and names of ``paddle.static`` raise NotImplementedError where they are used.
    """
    global _static
    _static = True


class CPUPlace(Place):
    """The CPU."""

    __slots__ = ()

    def __new__(cls) -> CPUPlace:
        """The CPU."""
        return super().__new__(cls, "cpu")


class _NoPlace(Place):
    """A device that is not here: it cannot be made."""

    __slots__ = ()

    def __new__(cls, id: int = 0) -> _NoPlace:
        """Raises: the CPU is the only device."""
        raise ArgumentError(f"{cls.__name__}: the CPU is the only device here")


class CUDAPlace(_NoPlace):
    """A GPU, which cannot be made here."""

    __slots__ = ()


class CUDAPinnedPlace(_NoPlace):
    """Memory for copies to GPUs, which cannot be made here."""

    __slots__ = ()


class XPUPlace(_NoPlace):
    """An accelerator, which cannot be made here."""

    __slots__ = ()


class XPUPinnedPlace(_NoPlace):
    """Memory for copies to other devices, which cannot be made here."""

    __slots__ = ()


class CustomPlace(_NoPlace):
    """A device of another kind, which cannot be made here."""

    __slots__ = ()

    def __new__(cls, device_type: str = "", id: int = 0) -> CustomPlace:
        """Raises: the CPU is the only device."""
        raise ArgumentError("CustomPlace: the CPU is the only device here")


def get_default_dtype() -> str:
    """The name of the dtype that tensors of floats have where none is given.

    >>> import ferrograd.paddle as paddle
    >>> paddle.get_default_dtype()
    'float32'
    """
    return str(ops.get_default_dtype().name)


def get_device(input: Any = None) -> str | int:
    """The name of the device, 'cpu'. For a tensor, -1, the number of the GPU that it is not on."""
    return "cpu" if input is None else -1


def set_device(device: Any) -> Place:
    """The CPU; raises for another device."""
    if str(device).split(":")[0] not in ("cpu", "Place(cpu)"):
        raise ArgumentError(f"set_device: the CPU is the only device here, not {device}")
    return CPUPlace()
