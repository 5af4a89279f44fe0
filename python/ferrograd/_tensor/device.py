"""The classes of ``Tensor.device``. The CPU is the only device."""

from __future__ import annotations

from ferrograd import _core


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


class TorchDevice(Device):
    """A device with torch's text. Any other than the CPU is refused.

    >>> import ferrograd.torch as torch
    >>> torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device(type='cpu')
    """

    __slots__ = ()

    def __new__(cls, type: object = "cpu", index: int | None = None) -> TorchDevice:
        """The device of a name; raises if it is not here."""
        _core.check_device("device", type)
        if index not in (None, 0):
            raise _core.ArgumentError(f"device: there is one CPU, and no number {index}")
        return super().__new__(cls, "cpu")

    def __enter__(self) -> TorchDevice:
        """Makes it the device of new tensors, which the CPU is always."""
        return self

    def __exit__(self, *error: object) -> None:
        """Changes nothing."""

    def __repr__(self) -> str:
        """Torch's text."""
        return "device(type='cpu')"

    def __str__(self) -> str:
        """The bare name."""
        return "cpu"


DEVICES = (Device("cpu"), Place("cpu"), TorchDevice("cpu"))
