"""``torch.export``: the weights of exported programs can be read; the programs do not run."""

from __future__ import annotations

import io
import json
import os
import pickle
from typing import Any, NoReturn

from ferrograd._autograd.modes import no_grad
from ferrograd._core import FerrogradError, torch as ops
from ferrograd._kit import public as _public
from ferrograd.torch._base import archives
from ferrograd.torch.nn.parameter import Parameter
from ferrograd.torch.serialization import load as load_tensors

__all__ = ["ExportedProgram", "export", "load", "save"]

#: PyTorch's dtypes by their numbers in a file.
_DTYPES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    34: "uint32",
    35: "uint64",
}


class ExportedProgram:
    """What a file of ``torch.export.save`` holds: weights by name, without a program that runs.

    ``model.load_state_dict(program.state_dict)`` gives the weights to a module of the same layers.
    """

    def __init__(self, state_dict: dict[str, Any], constants: dict[str, Any]) -> None:
        #: The parameters and buffers by name.
        self.state_dict = state_dict
        #: Tensors that the program uses besides.
        self.constants = constants

    def module(self, check_guards: bool = True) -> NoReturn:
        """Raises, and says how to go on from the weights."""
        raise FerrogradError(
            "torch.export: programs of PyTorch do not run here. Make the module in Python, and "
            "model.load_state_dict(program.state_dict). torch.compile(model).save(path, x) writes a program of this "
            "library"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises: PyTorch's programs are not called either."""
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )


def export(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises: the functions of ``torch.compile`` have a method ``save`` instead."""
    raise FerrogradError(
        "torch.export: torch.compile(model).save(path, x) writes a program, and ferrograd.load_compiled(path) runs it "
        "without the source"
    )


save = export


def load(f: Any, *, extra_files: dict[str, Any] | None = None, **options: Any) -> ExportedProgram:
    """The weights of a program that PyTorch's ``torch.export.save`` wrote. The program does not run.

    Raises:
        UnpicklingError: a damaged file, or one of another kind.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return load(file, extra_files=extra_files)
    try:
        archive, end = archives.open_archive(f)
        for name in extra_files or ():
            entry = next((e for e in (f"extra/{name}", f"extra_files/{name}") if e in archive.entries), None)
            if extra_files is not None and entry is not None:
                extra_files[name] = archive.text(entry).decode()
        with no_grad():
            found = _program(archive)
    except (pickle.UnpicklingError, OSError, MemoryError):
        raise
    except Exception as error:
        raise pickle.UnpicklingError(f"torch.export.load: the file is damaged: {error!r}") from error
    f.seek(end)
    return found


def _program(archive: archives.Archive) -> ExportedProgram:
    """The weights in an archive: of PyTorch 2.9 and newer by lists in JSON, before that as files of ``torch.save``."""
    weights = [name for name in archive.entries if name.endswith("_weights_config.json")]
    if len(weights) == 1:
        constants = weights[0].replace("_weights_", "_constants_").replace("/weights/", "/constants/")
        return ExportedProgram(_listed(archive, weights[0]), _listed(archive, constants))
    if weights:
        raise pickle.UnpicklingError(
            "torch.export.load: the file holds several programs; save each to a file of its own"
        )
    if not any(name.startswith("serialized_state_dict") for name in archive.entries):
        raise pickle.UnpicklingError("torch.export.load: the file is no program of torch.export")
    return ExportedProgram(*(_saved(archive, f"serialized_{what}") for what in ("state_dict", "constants")))


def _saved(archive: archives.Archive, name: str) -> dict[str, Any]:
    """Tensors by name that an entry holds as a file of their own; releases differ in its ending."""
    entry = next((entry for entry in archive.entries if entry.rpartition(".")[0] == name), None)
    found = load_tensors(io.BytesIO(archive.text(entry))) if entry is not None else {}
    return dict(found) if isinstance(found, dict) else {}


def _listed(archive: archives.Archive, name: str) -> dict[str, Any]:
    """The tensors that an entry lists, by name. Tensors of one memory share it."""
    if name not in archive.entries:
        return {}
    folder, known = name.rpartition("/")[0], {}
    found = {}
    for key, entry in json.loads(archive.text(name))["config"].items():
        path, about = f"{folder}/{entry['path_name']}", entry["tensor_meta"]
        if about is None:
            # An object that is no tensor; reading it may run code.
            continue
        if path not in known:
            known[path] = (
                load_tensors(io.BytesIO(archive.text(path))) if entry["use_pickle"] else _memory(archive, path, about)
            )
        x = known[path] if entry["use_pickle"] else _view(known[path], about)
        found[key] = Parameter(x.detach(), about["requires_grad"]) if entry["is_param"] else x
    return found


def _memory(archive: archives.Archive, path: str, about: dict[str, Any]) -> Any:
    """The memory of a tensor, as a vector."""
    if about["dtype"] not in _DTYPES:
        raise pickle.UnpicklingError(f"{path} has a dtype that is not here. In PyTorch, export the program in float32")
    data, dtype = archive.data(path), _DTYPES[about["dtype"]]
    return archives.tensor_of(data, dtype, len(data) // _width(dtype))


def _width(dtype: str) -> int:
    return ops.zeros([1], dtype).element_size()


def _view(memory: Any, about: dict[str, Any]) -> Any:
    sizes, strides = ([int(n["as_int"]) for n in about[what]] for what in ("sizes", "strides"))
    if memory.shape[0] == 0:
        return memory.reshape(sizes)
    return ops.as_strided(memory, sizes, strides, int(about["storage_offset"]["as_int"]))


__dir__ = _public.names(globals())
