"""``paddle.vision.transforms``: functions of images, which are NumPy arrays of height, width and channels."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import PADDLE

__all__ = [
    "CenterCrop",
    "Compose",
    "Normalize",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "Resize",
    "ToTensor",
    "Transpose",
]

_Image = np.ndarray[Any, Any]


def _image(transform: object, image: Any) -> _Image:
    """An image as an array; raises for anything else."""
    found = np.asarray(image) if not isinstance(image, Tensor) else None
    if found is None or found.ndim not in (2, 3):
        kind = type(image).__name__
        raise ArgumentError(
            f"{type(transform).__name__}: an image is an array of shape [height, width] or [height, width, channels], "
            f"not a {kind}{'' if found is None else f' of shape {list(found.shape)}'}"
        )
    return found


def _pair(size: Any) -> tuple[int, int]:
    return (int(size), int(size)) if isinstance(size, int) else (int(size[0]), int(size[1]))


class Compose:
    """Calls functions one after the other, each with what the last one returned.

    >>> import ferrograd.paddle as paddle
    >>> paddle.vision.transforms.Compose([abs, str])(-1)
    '1'
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, data: Any) -> Any:
        """What the last function returns."""
        for transform in self.transforms:
            data = transform(data)
        return data


class ToTensor:
    """An image as a tensor of channels, height and width. Bytes become float32 from 0 to 1; other numbers stay.

    >>> import numpy as np, ferrograd.paddle as paddle
    >>> paddle.vision.transforms.ToTensor()(np.full((2, 3, 1), 255, np.uint8)).tolist()
    [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]]
    """

    def __init__(self, data_format: str = "CHW", keys: Any = None) -> None:
        if data_format not in ("CHW", "HWC"):
            raise ArgumentError(f"ToTensor: data_format is 'CHW' or 'HWC', not {data_format!r}")
        self.data_format = data_format

    def __call__(self, image: Any) -> Any:
        """The tensor."""
        found = _image(self, image)
        found = found if found.ndim == 3 else found[:, :, None]
        found = found.transpose(2, 0, 1) if self.data_format == "CHW" else found
        found = found.astype(np.float32) / np.float32(255) if found.dtype == np.uint8 else found
        return _core.make(np.ascontiguousarray(found), None, False, PADDLE)


class Normalize:
    """The numbers minus a mean, divided by a deviation, each one number or one for each channel, in float32.

    Tensors stay tensors, and can be differentiated.

    >>> import numpy as np, ferrograd.paddle as paddle
    >>> paddle.vision.transforms.Normalize([1.0], [2.0])(np.full((1, 1, 2), 5.0)).tolist()
    [[[2.0, 2.0]]]
    """

    def __init__(
        self, mean: Any = 0.0, std: Any = 1.0, data_format: str = "CHW", to_rgb: bool = False, keys: Any = None
    ) -> None:
        if data_format not in ("CHW", "HWC"):
            raise ArgumentError(f"Normalize: data_format is 'CHW' or 'HWC', not {data_format!r}")
        self.mean, self.std, self.data_format, self.to_rgb = mean, std, data_format, to_rgb

    def _by_channel(self, numbers: Any) -> _Image:
        found = np.atleast_1d(np.asarray(numbers, np.float32))
        return found.reshape(-1, 1, 1) if self.data_format == "CHW" else found

    def __call__(self, image: Any) -> Any:
        """The image of the same kind with other numbers."""
        mean, std = self._by_channel(self.mean), self._by_channel(self.std)
        if isinstance(image, Tensor):
            if self.to_rgb:
                raise ArgumentError("Normalize: to_rgb swaps the channels of arrays, not those of tensors")
            return (image - _core.make(mean, None, False, PADDLE)) / _core.make(std, None, False, PADDLE)
        found = np.asarray(image, np.float32)
        if self.to_rgb:
            found = found[::-1] if self.data_format == "CHW" else found[..., ::-1]
        return (found - mean) / std


class Transpose:
    """The axes of an image in another order, by default channels first.

    >>> import numpy as np, ferrograd.paddle as paddle
    >>> paddle.vision.transforms.Transpose()(np.ones((2, 3, 4))).shape
    (4, 2, 3)
    """

    def __init__(self, order: Sequence[int] = (2, 0, 1), keys: Any = None) -> None:
        self.order = tuple(order)

    def __call__(self, image: Any) -> _Image:
        """The array."""
        found = _image(self, image)
        return (found if found.ndim == 3 else found[:, :, None]).transpose(self.order)


class Resize:
    """An image of another size: of a height and a width, or with one number as its shorter side.

    ``interpolation`` is ``"bilinear"`` or ``"nearest"``, at the places that OpenCV takes.

    >>> import numpy as np, ferrograd.paddle as paddle
    >>> paddle.vision.transforms.Resize(2)(np.ones((4, 8, 3), np.uint8)).shape
    (2, 4, 3)
    """

    def __init__(self, size: Any, interpolation: str = "bilinear", keys: Any = None) -> None:
        if interpolation not in ("bilinear", "nearest"):
            raise ArgumentError(f"Resize: interpolation is 'bilinear' or 'nearest' here, not {interpolation!r}")
        self.size, self.interpolation = size, interpolation

    def _wanted(self, height: int, width: int) -> tuple[int, int]:
        if not isinstance(self.size, int):
            return _pair(self.size)
        if width < height:
            return int(self.size * height / width), self.size
        return self.size, int(self.size * width / height)

    def __call__(self, image: Any) -> _Image:
        """The array, of the same dtype."""
        found = _image(self, image)
        wanted = self._wanted(*found.shape[:2])
        if wanted == found.shape[:2]:
            return found
        if self.interpolation == "nearest":
            rows, columns = (np.arange(n) * old // n for n, old in zip(wanted, found.shape, strict=False))
            return found[rows][:, columns]
        values = found.astype(np.float64)
        for axis, n in enumerate(wanted):
            values = _between(values, n, axis)
        return np.rint(values).astype(found.dtype) if found.dtype.kind in "iu" else values.astype(found.dtype)


def _between(values: _Image, n: int, axis: int) -> _Image:
    """``n`` places along an axis, each between the two nearest elements. Beyond the ends the last ones count."""
    old = values.shape[axis]
    at = np.clip((np.arange(n) + 0.5) * old / n - 0.5, 0, old - 1)
    low = np.floor(at).astype(int)
    part = (at - low).reshape([-1 if i == axis else 1 for i in range(values.ndim)])
    high = np.minimum(low + 1, old - 1)
    return np.take(values, low, axis) * (1 - part) + np.take(values, high, axis) * part


def _cut(transform: object, image: _Image, top: int, left: int, size: tuple[int, int]) -> _Image:
    height, width = size
    if height > image.shape[0] or width > image.shape[1]:
        name, shape = type(transform).__name__, list(image.shape[:2])
        raise ArgumentError(f"{name}: a part of {[height, width]} is larger than the image of {shape}")
    return image[top : top + height, left : left + width]


class CenterCrop:
    """The middle of an image.

    >>> import numpy as np, ferrograd.paddle as paddle
    >>> paddle.vision.transforms.CenterCrop(2)(np.arange(16).reshape(4, 4)).tolist()
    [[5, 6], [9, 10]]
    """

    def __init__(self, size: Any, keys: Any = None) -> None:
        self.size = _pair(size)

    def __call__(self, image: Any) -> _Image:
        """The part; raises if the image is smaller."""
        found = _image(self, image)
        top, left = (round((n - wanted) / 2) for n, wanted in zip(found.shape, self.size, strict=False))
        return _cut(self, found, top, left, self.size)


class RandomCrop:
    """A part of an image at a random place, by the generator of Python's ``random``.

    ``padding`` rows and columns of the number ``fill`` are added on each side before: one number, two for left and
    right and for top and bottom, or four for left, top, right and bottom. With ``pad_if_needed`` smaller images are
    filled up.

    >>> import numpy as np, ferrograd.paddle as paddle
    >>> paddle.vision.transforms.RandomCrop(2)(np.zeros((5, 4, 3))).shape
    (2, 2, 3)
    """

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
        keys: Any = None,
    ) -> None:
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ArgumentError(f"RandomCrop: there is no padding_mode {padding_mode!r}")
        self.size, self.fill, self.padding_mode = _pair(size), fill, padding_mode
        given = [padding or 0] if isinstance(padding, int | None) else list(padding)
        self._sides = given * (4 // len(given))
        self.pad_if_needed = pad_if_needed

    def _padded(self, image: _Image, left: int, top: int, right: int, bottom: int) -> _Image:
        widths = [(top, bottom), (left, right), (0, 0)][: image.ndim]
        options: Any = {"constant_values": self.fill} if self.padding_mode == "constant" else {}
        return np.pad(image, widths, mode=self.padding_mode, **options)  # type: ignore[call-overload]

    def __call__(self, image: Any) -> _Image:
        """The part; raises if the image is smaller."""
        found = self._padded(_image(self, image), *self._sides)
        height, width = self.size
        if self.pad_if_needed:
            more = max(width - found.shape[1], 0), max(height - found.shape[0], 0)
            found = self._padded(found, *more, *more)
        top, left = (random.randint(0, max(n - m, 0)) for n, m in zip(found.shape, self.size, strict=False))
        return _cut(self, found, top, left, self.size)


class RandomHorizontalFlip:
    """An image whose left and right sides are swapped with a probability, by the generator of Python's ``random``.

    >>> import numpy as np, ferrograd.paddle as paddle
    >>> paddle.vision.transforms.RandomHorizontalFlip(1.0)(np.array([[1, 2]])).tolist()
    [[2, 1]]
    """

    _axis = 1

    def __init__(self, prob: float = 0.5, keys: Any = None) -> None:
        if not 0 <= prob <= 1:
            raise ArgumentError(f"{type(self).__name__}: prob is a probability, not {prob}")
        self.prob = prob

    def __call__(self, image: Any) -> _Image:
        """The image or its mirror image."""
        found = _image(self, image)
        return np.flip(found, self._axis) if random.random() < self.prob else found


class RandomVerticalFlip(RandomHorizontalFlip):
    """An image whose upper and lower sides are swapped with a probability, by the generator of Python's ``random``.

    >>> import numpy as np, ferrograd.paddle as paddle
    >>> paddle.vision.transforms.RandomVerticalFlip(1.0)(np.array([[1], [2]])).tolist()
    [[2], [1]]
    """

    _axis = 0


__dir__ = _public.names(globals())
