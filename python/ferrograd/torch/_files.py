"""``torch.save`` and ``torch.load``: pickles of tensors and of containers of them."""

from __future__ import annotations

import os
import pickle
from typing import IO, Any

__all__ = ["load", "save"]

#: The classes and functions that a pickle of tensors may name.
_ALLOWED = {
    ("builtins", "bytearray"),
    ("builtins", "bytes"),
    ("builtins", "complex"),
    ("builtins", "frozenset"),
    ("builtins", "range"),
    ("builtins", "set"),
    ("builtins", "slice"),
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("_codecs", "encode"),
    ("numpy", "dtype"),
    ("ferrograd._tensor.pickling", "_rebuild"),
    ("ferrograd._tensor.shape", "TorchSize"),
    ("ferrograd.torch.nn.parameter", "Parameter"),
}


class _WeightsUnpickler(pickle.Unpickler):
    """Loads numbers, text, containers and tensors only. Any other pickle could run code and is refused."""

    def find_class(self, module: str, name: str) -> Any:
        # The name of the module in protocols before 3.
        module = "builtins" if module == "__builtin__" else module
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file names {module}.{name}, which is no tensor, number, text or "
                "container. Load it with weights_only=False if you trust it: a pickle can run any code."
            )
        return super().find_class(module, name)


def save(
    obj: object, f: str | os.PathLike[str] | IO[bytes], pickle_module: Any = pickle, pickle_protocol: int = 4
) -> None:
    """Writes tensors and any other picklable object to a file.

    >>> import io, ferrograd.torch as torch
    >>> file = io.BytesIO()
    >>> torch.save({"w": torch.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)["w"].tolist()
    [1.0, 1.0]
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            save(obj, file, pickle_module, pickle_protocol)
    else:
        pickle_module.dump(obj, f, pickle_protocol)


def _refuse_torch_files(f: IO[bytes]) -> None:
    """Raises for a file of PyTorch's, which is a zip archive or begins with a number of its own."""
    if not f.seekable():
        return
    start = f.tell()
    head = f.read(20)
    f.seek(start)
    if head.startswith(b"PK\x03\x04") or b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." in head:
        raise pickle.UnpicklingError(
            "load: this file was written by PyTorch, whose format is not read here. Write the tensors there with "
            "numpy.savez(file, **{name: t.numpy() for name, t in state.items()}), and read that with numpy.load"
        )


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: object = None,
    pickle_module: Any = None,
    *,
    weights_only: bool = True,
) -> Any:
    """Reads what :func:`save` wrote.

    Raises:
        UnpicklingError: with ``weights_only``, a file that is damaged or holds anything but tensors, numbers, text and
            containers.
        MemoryError: what the file says of itself takes more memory than there is.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return load(file, map_location, pickle_module, weights_only=weights_only)
    _refuse_torch_files(f)
    if weights_only:
        try:
            return _WeightsUnpickler(f).load()
        except (pickle.UnpicklingError, OSError, MemoryError):
            raise
        except Exception as error:
            raise pickle.UnpicklingError(f"Weights only load failed: the file is damaged: {error!r}") from error
    return (pickle_module or pickle).load(f)
