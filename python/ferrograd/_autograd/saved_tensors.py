"""Hooks that pack the tensors which nodes save and unpack them for the gradient rules; hooks that compress or spill."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ferrograd import _core
from ferrograd._autograd.nested import collect_tensors, replace_tensors
from ferrograd._core import Tensor
from ferrograd._kit.dialect import NATIVE

__all__ = [
    "compress_saved",
    "disable_saved_tensors_hooks",
    "save_on_cpu",
    "saved_tensors_hooks",
    "spill_saved",
]


class saved_tensors_hooks:
    """A context in which nodes save ``pack_hook(x)`` instead of each array ``x`` that their gradient reads.

    When the gradient is computed, ``unpack_hook`` gets the packed value and returns ``x``, with the same shape and
    dtype. The hooks get untracked tensors, under ``vmap`` with the batch axes. 0-d constants (the 3 of ``x**3``) are
    saved as they are. The context holds for the thread that entered it.

    Of nested contexts the innermost hooks are used. With ``compose`` the tensors in the packed value (alone, or in a
    tuple, list or dict) are packed by the next outer hooks too. What a hook enters ends with it.

    >>> shapes = []
    >>> def pack(x):
    ...     shapes.append(x.shape)
    ...     return x.numpy()
    >>> a = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> with fg.saved_tensors_hooks(pack, fg.tensor):
    ...     y = (a * a).sum()
    >>> fg.grad(y, a).tolist(), shapes
    ([2.0, 4.0, 6.0], [(3,), (3,)])
    """

    _dialect: ClassVar[int] = NATIVE

    def __init__(
        self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any], *, compose: bool = False
    ) -> None:
        self.pack_hook, self.unpack_hook, self._compose = pack_hook, unpack_hook, compose

    def __enter__(self) -> None:
        hooks = _core.SavedTensorsHooks(self.pack_hook, self.unpack_hook, self._dialect)
        around = _core.saved_tensors_hooks() if self._compose else None
        _core.push_saved_tensors_hooks(hooks if around is None else _within(hooks, around, self._dialect))

    def __exit__(self, *_: object) -> None:
        _core.pop_saved_tensors_hooks()


def _within(inner: Any, outer: Any, dialect: int) -> Any:
    """The hooks that pack with ``inner`` and pack the tensors in the result with ``outer``."""

    def pack(x: Tensor) -> tuple[Any, Any, list[Any]]:
        found: list[Tensor] = []
        packed = inner.pack(x)
        positions = collect_tensors(packed, found, True)
        empty: Any = [None] * len(found)
        return replace_tensors(packed, positions, empty), positions, [outer.pack(t) for t in found]

    def unpack(packed: tuple[Any, Any, list[Any]]) -> Tensor:
        form, positions, parts = packed
        x: Tensor = inner.unpack(replace_tensors(form, positions, [outer.unpack(part) for part in parts]))
        return x

    return _core.SavedTensorsHooks(pack, unpack, dialect)


class disable_saved_tensors_hooks:
    """A context in which entering saved-tensor hooks raises RuntimeError with this message.

    >>> with fg.disable_saved_tensors_hooks("not here"), fg.compress_saved():
    ...     pass
    Traceback (most recent call last):
    RuntimeError: not here
    """

    def __init__(self, error_message: str) -> None:
        self._message = error_message
        self._fg_before: list[str | None] = []

    def __enter__(self) -> None:
        self._fg_before.append(_core.disable_saved_tensors_hooks(self._message))

    def __exit__(self, *_: object) -> None:
        _core.disable_saved_tensors_hooks(self._fg_before.pop(), back=True)


class save_on_cpu(saved_tensors_hooks):
    """Saves tensors on the CPU. They are there already, so it changes nothing.

    >>> x = fg.tensor(3.0, requires_grad=True)
    >>> with fg.save_on_cpu():
    ...     y = x * x
    >>> fg.grad(y, x).item()
    6.0
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        super().__init__(lambda x: x, lambda x: x, compose=True)


class compress_saved(saved_tensors_hooks):
    """Saves float64 arrays as float32: half the memory, gradients with about 7 digits. Composes with outer hooks.

    >>> x = fg.tensor([0.5], dtype=fg.float64, requires_grad=True)
    >>> with fg.compress_saved():
    ...     y = fg.sin(x).sum()
    >>> bool(abs(fg.grad(y, x).item() - np.cos(0.5)) < 1e-7)
    True
    """

    def __init__(self) -> None:
        super().__init__(_compressed, _expanded, compose=True)


def _compressed(x: Tensor) -> tuple[np.dtype[Any], Tensor]:
    return x.dtype, x.astype(np.float32) if x.dtype == np.float64 else x


def _expanded(packed: tuple[np.dtype[Any], Tensor]) -> Tensor:
    dtype, x = packed
    return x.astype(dtype)


class spill_saved(saved_tensors_hooks):
    """Saves arrays of at least ``min_bytes`` bytes to files in ``directory``, by default the system's temporary one.

    A file is deleted when its node frees the array. Composes with outer hooks.

    >>> x = fg.tensor([0.5, 1.5], requires_grad=True)
    >>> with fg.spill_saved(min_bytes=0):
    ...     y = (x * x).sum()
    >>> fg.grad(y, x).tolist()
    [1.0, 3.0]
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None, min_bytes: int = 1 << 20) -> None:
        def pack(x: Tensor) -> Any:
            return _Spilled(x, directory) if x.nbytes >= min_bytes else x

        def unpack(packed: Any) -> Tensor:
            return packed.read() if isinstance(packed, _Spilled) else packed

        super().__init__(pack, unpack, compose=True)


class _Spilled:
    """An array in a temporary file, which is deleted with this object."""

    def __init__(self, x: Tensor, directory: str | os.PathLike[str] | None) -> None:
        # Imported here, because it loads modules (archives, random numbers) that few programs need.
        import tempfile

        array = np.asarray(x)
        self._like = array.dtype, array.shape
        handle, self._path = tempfile.mkstemp(suffix=".npy", prefix="ferrograd-", dir=directory)
        with os.fdopen(handle, "wb") as file:
            np.save(file, array, allow_pickle=False)

    def read(self) -> Tensor:
        """Reads the array back."""
        try:
            array = np.load(self._path, allow_pickle=False)
            if (array.dtype, array.shape) != self._like:
                raise ValueError(f"it holds {array.dtype} of shape {array.shape}")
        except (OSError, MemoryError):
            raise
        except Exception as error:
            raise OSError(f"spill_saved: the file {self._path} is damaged: {error}") from error
        return _core.make(array, None, False, 0)

    def __del__(self, remove: Callable[[str], None] = os.remove) -> None:
        try:
            remove(self._path)
        except (OSError, AttributeError):
            # The file is gone, or was never made.
            return
