"""``paddle.save`` and ``paddle.load``: files in Paddle's format, such as ``.pdparams`` and ``.pdopt``."""

from __future__ import annotations

import io
import os
import pickle
from collections import OrderedDict
from typing import IO, Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError
from ferrograd._files import unknown_classes
from ferrograd._kit.dialect import PADDLE
from ferrograd._tensor.dtypes import bfloat16_of_bits, bits_of_bfloat16
from ferrograd.paddle._tensor import Tensor

__all__ = ["async_save", "clear_async_save_task_queue", "load", "save"]

#: The key under which Paddle keeps the names of parameters beside those of a state.
_NAMES = "StructuredToParameterName@@"
#: The classes and functions that a pickle of arrays may name.
_ALLOWED = {
    ("builtins", "bytearray"),
    ("builtins", "bytes"),
    ("builtins", "complex"),
    ("builtins", "frozenset"),
    ("builtins", "range"),
    ("builtins", "set"),
    ("builtins", "slice"),
    ("builtins", "tuple"),
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("_codecs", "encode"),
}


class _Unpickler(pickle.Unpickler):
    """Loads arrays, numbers, text and containers only. Any other pickle could run code and is refused."""

    def find_class(self, module: str, name: str) -> Any:
        # The names of the modules in protocol 2 and in NumPy before its release 2.
        module = "builtins" if module == "__builtin__" else module.replace("numpy.core.", "numpy._core.")
        if (module, name) in unknown_classes.NUMPY:
            return unknown_classes.NUMPY[module, name]
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"load: the file names {module}.{name}, which is no array, number, text or container. Load it with "
                "weights_only=False if you trust it: a pickle can run any code"
            )
        return super().find_class(module, name)


def _plain(obj: Any) -> Any:
    """The object with a pair of its name and an array for each tensor."""
    if isinstance(obj, Tensor):
        return obj.name, _array(obj)
    if type(obj) in (dict, OrderedDict):
        return type(obj)((k, _plain(v)) for k, v in obj.items())
    if type(obj) in (list, tuple):
        return type(obj)(map(_plain, obj))
    return obj


def _array(x: Tensor) -> np.ndarray[Any, Any]:
    if x.dtype == "bfloat16":
        # Paddle has these bits as uint16, which is no dtype of its tensors.
        return bits_of_bfloat16(x.detach().astype("float32").numpy()).reshape(tuple(x.shape))
    return np.ascontiguousarray(x.detach().numpy()).reshape(tuple(x.shape))


def save(obj: object, path: str | os.PathLike[str] | IO[bytes], protocol: int = 4, **configs: Any) -> None:
    """Writes tensors, the state of a layer or an optimizer, or containers of them to a file in Paddle's format.

    >>> import io, ferrograd.paddle as paddle
    >>> file = io.BytesIO()
    >>> paddle.save({"w": paddle.ones([2])}, file)
    >>> _ = file.seek(0)
    >>> paddle.load(file)["w"].tolist()
    [1.0, 1.0]
    """
    if protocol not in (2, 3, 4, 5):
        raise ArgumentError(f"save: the protocol is a number from 2 to 5, not {protocol!r:.60}")
    if isinstance(obj, dict) and obj and all(isinstance(v, Tensor) for v in obj.values()):
        # A state is a dict of arrays and a table of the tensors' own names.
        plain: Any = {k: _array(v) for k, v in obj.items()}
        plain[_NAMES] = {k: v.name for k, v in obj.items()}
    else:
        plain = _plain(obj)
    if isinstance(path, (str, os.PathLike)):
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(path, "wb") as file:
            pickle.dump(plain, file, protocol)
    else:
        pickle.dump(plain, path, protocol)


def async_save(
    obj: object,
    path: str | os.PathLike[str] | IO[bytes],
    protocol: int = 4,
    sync_other_task: bool = False,
    **configs: Any,
) -> None:
    """:func:`save`, which has written the file when it returns."""
    save(obj, path, protocol, **configs)


def clear_async_save_task_queue() -> None:
    """Does nothing: no file is waiting to be written."""


def load(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    return_numpy: bool = False,
    keep_name_table: bool = False,
    weights_only: bool = True,
    **configs: Any,
) -> Any:
    """Reads what :func:`save` or Paddle wrote, with tensors, or with ``return_numpy`` arrays in their place.

    Arrays that were saved beside tensors stay arrays. In a file without tensors they become tensors, as old files need.

    Raises:
        UnpicklingError: the file is damaged, or with ``weights_only`` holds anything but arrays, numbers, text and
            containers.
        MemoryError: what the file says of itself takes more memory than there is.
    """
    if isinstance(path, (str, os.PathLike)):
        with open(path, "rb") as file:
            data = file.read()
    else:
        start = path.tell() if path.seekable() else None
        data = path.read()
    stream = io.BytesIO(data)
    try:
        found = (_Unpickler if weights_only else pickle.Unpickler)(stream).load()
        if not isinstance(path, (str, os.PathLike)) and start is not None:
            # The stream stands behind the object then, where the next load begins.
            path.seek(start + stream.tell())
        if isinstance(found, dict) and not keep_name_table:
            found.pop(_NAMES, None)
        with no_grad():
            return _tensors(found, return_numpy, not _has_pair(found))
    except (pickle.UnpicklingError, OSError, MemoryError):
        raise
    except Exception as error:
        if not weights_only:
            raise
        raise pickle.UnpicklingError(f"load: the file is damaged: {error!r}") from error


def _is_pair(obj: Any) -> bool:
    """Whether an object is the name and the array of a tensor."""
    if type(obj) is not tuple or len(obj) != 2 or not isinstance(obj[0], str):
        return False
    return isinstance(unknown_classes.finished(obj[1]), np.ndarray)


def _has_pair(obj: Any) -> bool:
    if isinstance(obj, dict):
        return any(map(_has_pair, obj.values()))
    return _is_pair(obj) or (type(obj) in (list, tuple) and any(map(_has_pair, obj)))


def _tensors(obj: Any, return_numpy: bool, of_arrays: bool) -> Any:
    """The object with a tensor for each pair of a name and an array, and ``of_arrays`` for each array."""
    obj = unknown_classes.finished(obj)
    if _is_pair(obj):
        made = _tensors(obj[1], return_numpy, True)
        if not return_numpy:
            made.name = obj[0]
        return made
    if isinstance(obj, np.ndarray):
        if return_numpy or not of_arrays:
            return obj
        if obj.dtype == np.uint16:
            return _core.make(bfloat16_of_bits(obj), "bfloat16", False, PADDLE)
        return _core.make(obj, None, False, PADDLE)
    if isinstance(obj, dict):
        for key, value in obj.items():
            obj[key] = _tensors(value, return_numpy, of_arrays)
        return obj
    if type(obj) in (list, tuple):
        return type(obj)(_tensors(value, return_numpy, of_arrays) for value in obj)
    return obj
