"""Where tensors live: the CPU, under the name that each dialect has for it."""

from __future__ import annotations


class Device(str):
    """A device: it equals its name, ``"cpu"``."""

    __slots__ = ()

    @property
    def type(self) -> str:
        """The kind of device: 'cpu'."""
        return "cpu"

    @property
    def index(self) -> None:  # type: ignore[override]
        """The number of the device among its kind: the only CPU has none."""
        return None

    def is_cpu_place(self) -> bool:
        """Whether it is the CPU."""
        return True

    def is_gpu_place(self) -> bool:
        """Whether it is a GPU."""
        return False


class Place(Device):
    """A device as Paddle shows it."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Paddle's text."""
        return "Place(cpu)"

    __str__ = __repr__


class TorchDevice(Device):
    """A device as torch shows it."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Torch's text."""
        return "device(type='cpu')"

    def __str__(self) -> str:
        """The bare name."""
        return "cpu"


DEVICES = (Device("cpu"), Place("cpu"), TorchDevice("cpu"))
