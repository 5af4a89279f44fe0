"""The classes of ``Tensor.device``. The CPU is the only device."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ferrograd import _core


class _Contexts(threading.local):
    """In how many contexts of the device ``meta`` this thread is. New tensors have no numbers there."""

    meta = 0


class _Switch:
    """What begins and ends such a context; a dialect sets it."""

    enter: Callable[[], object]
    leave: Callable[[], object]


contexts = _Contexts()
switch = _Switch()


class Device(str):
    """A device, a string: it equals its name, ``"cpu"``."""

    __slots__ = ()

    @property
    def type(self) -> str:
        """The kind of device: ``"cpu"``."""
        return "cpu"

    @property
    def index(self) -> None:  # type: ignore[override]
        """The number of the device among those of its kind; None, as there is one CPU."""
        return None

    def is_cpu_place(self) -> bool:
        """Whether it is the CPU."""
        return True

    def is_gpu_place(self) -> bool:
        """Whether it is a GPU."""
        return False


class Place(Device):
    """A device with Paddle's text."""

    __slots__ = ()

    def _equals(self, other: object) -> bool:
        """Whether it is the same place, as older programs ask."""
        return self == other

    def __repr__(self) -> str:
        """Paddle's text."""
        return "Place(cpu)"

    __str__ = __repr__


#: The kinds of devices that torch has. All tensors are on the CPU here.
_KINDS = ("cpu", "cuda", "hpu", "ipu", "meta", "mps", "mtia", "privateuseone", "vulkan", "xla", "xpu")


class TorchDevice(Device):
    """A device with torch's text. Devices that do not exist here can be named and compared. A function that gets one
    raises.

    >>> import ferrograd.torch as torch
    >>> torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device(type='cpu')
    >>> torch.device("cuda:1").index
    1
    """

    __slots__ = ()

    def __new__(cls, type: object = "cpu", index: int | None = None) -> TorchDevice:
        """The device of a name; raises if torch has none of this name."""
        kind, colon, number = str(type).partition(":")
        if kind in _KINDS and (number.isdecimal() or not colon):
            if index is not None:
                if colon:
                    raise _core.ArgumentError(f"device: {type} has a number; leave out the index {index}")
                number = str(int(index))
            return super().__new__(cls, f"{kind}:{number}" if number else kind)
        _core.check_device("device", type)
        return super().__new__(cls, "cpu")

    @property
    def type(self) -> str:
        """The kind of device."""
        return str(self).partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """The number of the device among those of its kind, if it was given."""
        number = str(self).partition(":")[2]
        return int(number) if number else None

    def __enter__(self) -> TorchDevice:
        """Makes it the device of new tensors. That is always the CPU, so another one raises.

        On ``"meta"`` new tensors of torch have a shape and no numbers.
        """
        if self == "meta":
            contexts.meta += 1
            switch.enter()
        else:
            _core.check_device("device", self)
        return self

    def __exit__(self, *error: object) -> None:
        """Ends the context."""
        if self == "meta":
            switch.leave()
            contexts.meta -= 1

    def __repr__(self) -> str:
        """Torch's text."""
        number = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{number})"

    def __str__(self) -> str:
        """The bare name."""
        return "".join(self)


DEVICES = (Device("cpu"), Place("cpu"), TorchDevice("cpu"))
