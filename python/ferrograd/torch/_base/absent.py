"""Names of PyTorch that mean nothing here: they exist, so that libraries can be imported, and raise when they are used.

``absent_names.TABLE`` has them all, by modules. Every module of the dialect looks a name up here that it lacks.
"""

from __future__ import annotations

import ast
import functools
import importlib
import sys
from collections.abc import Callable
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, NoReturn

from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public

_ROOT = "ferrograd.torch"
#: What the names of modules say when they are used; the longest beginning of a path holds.
_WHY = {
    "": "it is not in ferrograd",
    "_C": "the functions of PyTorch's compiled module are not here",
    "_dynamo": "torch.compile has a tracer of its own",
    "_functorch": "use torch.func",
    "_higher_order_ops": "use torch.func",
    "_inductor": "torch.compile has a compiler of its own",
    "accelerator": "there is no accelerator; ask torch.accelerator.is_available() first",
    "ao": "there are no quantized tensors; torch.autocast computes in half precision",
    "cuda": "there is no GPU; ask torch.cuda.is_available() first",
    "distributed": "processes communicate over MPI by the functions of torch.distributed",
    "distributed.checkpoint": "write torch.save(module.state_dict(), file) on one process",
    "distributed.fsdp": "each process has all parameters: use nn.parallel.DistributedDataParallel",
    "distributed.pipelining": "each process has all layers: use nn.parallel.DistributedDataParallel",
    "distributed.rpc": "processes communicate over MPI by the functions of torch.distributed",
    "distributed.tensor": "each process has whole tensors: use nn.parallel.DistributedDataParallel",
    "export": "the method save() of torch.compile's functions writes files that ferrograd.load_compiled reads",
    "jit": "there is no TorchScript here; Python runs as it is",
    "monitor": "torch.profiler sums times",
    "mps": "there is no Metal device; ask torch.mps.is_available() first",
    "mtia": "there is no accelerator; ask torch.accelerator.is_available() first",
    "nested": "use torch.nn.utils.rnn.pad_sequence",
    "nn.attention": "use nn.functional.scaled_dot_product_attention with a mask",
    "onnx": "load torch.save(module.state_dict(), file) in PyTorch, and export it there",
    "package": "keep the numbers of a module with torch.save(module.state_dict(), file)",
    "sparse": "tensors are dense here",
    "utils.cpp_extension": "write the op in Python, with torch.library.custom_op",
    "utils.data": "use the classes Dataset and IterableDataset",
    "xpu": "there is no Intel GPU; ask torch.xpu.is_available() first",
}


#: Modules of PyTorch whose names are in another module here.
_HOMES = {
    "_dynamo.eval_frame": "_dynamo",
    "_dynamo.external_utils": "compiler",
    "_dynamo.utils": "_dynamo",
    "_functorch.apis": "func",
    "_functorch.eager_transforms": "func",
    "_functorch.functional_call": "func",
    "_functorch.vmap": "func",
    "accelerator.memory": "accelerator",
    "autograd.profiler_util": "autograd.profiler",
    "cuda.graphs": "cuda",
    "cuda.memory": "cuda",
    "cuda.streams": "cuda",
    "distributed._composable": "distributed",
    "distributed._composable.fsdp": "distributed.fsdp",
    "distributed._tensor": "distributed.tensor",
    "distributed.distributed_c10d": "distributed",
    "distributed.fsdp.api": "distributed.fsdp",
    "distributed.fsdp.fully_sharded_data_parallel": "distributed.fsdp",
    "distributed.rendezvous": "distributed",
    "distributed.tensor.device_mesh": "distributed.device_mesh",
    "distributed.tensor.placement_types": "distributed.tensor",
    "func._random": "func",
    "jit._async": "jit",
    "jit._script": "jit",
    "jit._serialization": "jit",
    "jit._trace": "jit",
    "library.custom_ops": "library",
    "masked._ops": "masked",
    "masked.maskedtensor": "masked",
    "mps.event": "mps",
    "multiprocessing.spawn": "multiprocessing",
    "nn.parallel.data_parallel": "nn.parallel",
    "nn.parallel.parallel_apply": "nn.parallel",
    "nn.parallel.replicate": "nn.parallel",
    "optim._adafactor": "optim",
    "optim._muon": "optim",
    "optim.adadelta": "optim",
    "optim.adagrad": "optim",
    "optim.adamax": "optim",
    "optim.asgd": "optim",
    "optim.nadam": "optim",
    "optim.radam": "optim",
    "optim.rmsprop": "optim",
    "optim.rprop": "optim",
    "optim.sparse_adam": "optim",
    "profiler.profiler": "profiler",
    "utils.data.datapipes": "utils.data",
    "utils.data.datapipes.datapipe": "utils.data",
    "utils.tensorboard.summary": "utils._tensorboard_summary",
    "utils.tensorboard.writer": "utils.tensorboard",
    "xpu.memory": "xpu",
    "xpu.random": "xpu",
    "xpu.streams": "xpu",
}


class MissingPart(FerrogradError, NotImplementedError, AssertionError):
    """A name of PyTorch has been used that means nothing here. It is a RuntimeError, as PyTorch's are."""


@functools.cache
def _table() -> dict[str, dict[str, str]]:
    """Of each module (below ``torch``) the names in it, with a mark before them or a value behind them."""
    from ferrograd.torch._base.absent_names import TABLE

    found: dict[str, dict[str, str]] = {}
    for line in TABLE.strip().splitlines():
        module, *tokens = line.split()
        names = found.setdefault("" if module == "torch" else module, {})
        names.update((token.lstrip("@+").partition("=")[0], token) for token in tokens)
    return found


@functools.cache
def _modules() -> frozenset[str]:
    """The modules of the table, and the packages that they are in."""
    paths = [*_table(), *_HOMES]
    return frozenset(path[:i] for path in paths for i in range(1, len(path) + 1) if path[i : i + 1] in (".", ""))


def refuse(name: str, asked: str = "") -> NoReturn:
    """Raises: the name, such as ``cuda.Stream``, cannot be used here."""
    places = (name[:i] for i in range(len(name), 0, -1) if name[i : i + 1] in (".", ""))
    why = next((_WHY[place] for place in places if place in _WHY), _WHY[""])
    raise MissingPart(f"torch.{name}: {why}{_public.asked_for(sys._getframe(1))}")


class _Class(type):
    """The metaclass of classes of which no object can be made."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        base = next((c for c in cls.__mro__ if vars(c).get("__absent__")), cls)
        refuse(f"{base.__module__}.{base.__qualname__}".removeprefix("torch."))

    def __getattr__(cls, name: str) -> Any:
        # A member of an enumeration, which libraries compare with.
        if not name[0].isupper():
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        setattr(cls, name, Member(f"{cls.__name__}.{name}"))
        return vars(cls)[name]

    def __getitem__(cls, item: Any) -> Any:
        return cls


class Record:
    """The base of what only describes something, such as a way to divide a tensor: it keeps its arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        vars(self).update(kwargs)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), repr(vars(self))))

    def __repr__(self) -> str:
        named = [f"{name}={value!r}" for name, value in vars(self).items() if name != "args"]
        return f"{type(self).__name__}({', '.join([*map(repr, self.args), *named])})"


class Member:
    """A member of an enumeration that is not here. It equals itself alone."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def _make(path: str, name: str, token: str) -> Any:
    """What stands for a name of the table."""
    if "=" in token:
        return ast.literal_eval(token.partition("=")[2])
    full = f"{path}.{name}".removeprefix(".")
    module = f"torch.{path}".rstrip(".")
    if token.startswith("+"):
        return type(name, (Record,), {"__module__": module, "__doc__": "A description, which nothing here reads."})
    if token.startswith("@"):
        made: Any = _decorator
    elif name.endswith(("Error", "Exception", "Warning", "Interrupt")):
        return type(name, (Warning if name.endswith("Warning") else RuntimeError,), {"__module__": module})
    elif name.lstrip("_")[:1].isupper():
        return _Class(name, (), {"__module__": module, "__doc__": "Not here.", "__absent__": True})
    else:
        made = _function(full)
    made.__name__ = made.__qualname__ = name
    made.__module__ = module
    return made


def _function(name: str) -> Callable[..., NoReturn]:
    def absent(*args: Any, **kwargs: Any) -> NoReturn:
        """Raises: it means nothing here."""
        refuse(name)

    return absent


def _decorator(*args: Any, **kwargs: Any) -> Any:
    """The decorated function or class, unchanged."""
    return args[0] if len(args) == 1 and not kwargs and callable(args[0]) else lambda decorated: decorated


@functools.cache
def look_up(module: str, name: str) -> Any:
    """A name that a module of the dialect lacks: a module below it, or what the table has.

    The module does not get it: there it would hide a builtin of its name, such as ``torch.jit.isinstance``.

    Raises:
        AttributeError: neither is there.
    """
    path = module.removeprefix(_ROOT).removeprefix(".")
    below = f"{path}.{name}".removeprefix(".")
    if path in _HOMES and hasattr(home := _module(_HOMES[path]), name):
        return getattr(home, name)
    token = _table().get(path, {}).get(name)
    if token is not None:
        return _make(path, name, token)
    if below in _modules() or _is_real(module, name):
        return _module(below)
    raise _public.MissingName(module, name)


def _module(path: str) -> ModuleType:
    return importlib.import_module(f"{_ROOT}.{path}".rstrip("."))


def _is_real(module: str, name: str) -> bool:
    """Whether a package of the dialect has a module of this name, or is just importing it."""
    path = vars(sys.modules[module]).get("__path__")
    if not path or name.startswith("_") or f"{module}.{name}" in sys.modules:
        return False
    return PathFinder.find_spec(f"{module}.{name}", path) is not None


def _look_up_public(module: str, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return look_up(module, name)


class _Parent(ModuleType):
    """A module with a function whose name a module below it has too: an import of that leaves the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        is_below = isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}"
        if not (is_below and name in vars(self)):
            super().__setattr__(name, value)


class _Loader(Loader):
    """Makes a module that has nothing but names of the table."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        above, _, name = module.__name__.rpartition(".")
        if name in vars(sys.modules[above]):
            sys.modules[above].__class__ = _Parent
        module.__dict__["__getattr__"] = functools.partial(_look_up_public, module.__name__)
        path = module.__name__.removeprefix(_ROOT + ".")
        module.__dict__["__all__"] = [name for name in _table().get(path, {}) if not name.startswith("_")]


def find_spec(fullname: str) -> ModuleSpec | None:
    """The specification of a module of the table that is no module of the dialect."""
    known = fullname.removeprefix(_ROOT + ".") in _modules()
    return ModuleSpec(fullname, _Loader(), is_package=True) if known else None
