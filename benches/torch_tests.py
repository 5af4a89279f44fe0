"""Runs PyTorch's own test files, unchanged, and counts how their tests end.

``python benches/torch_tests.py TREE FILE...`` takes the source tree of a PyTorch release and files below its ``test/``,
such as ``test_autograd.py`` and ``nn/test_module_hooks.py``. ``-k WORD`` selects tests, ``-v`` prints each failure, and
``--peer`` runs them on the installed PyTorch instead, which shows how many of them this program can run at all.

PyTorch's helpers of tests are replaced by those below, and whatever else a file imports from PyTorch's insides by an
object that no test can use: a test that does ends as "internals". Each test runs in a process of its own.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import functools
import gc
import importlib
import importlib.abc
import importlib.machinery
import inspect
import itertools
import json
import os
import random
import re
import select
import signal
import sys
import tempfile
import textwrap
import time
import traceback
import types
import unittest
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOTS = ("torch", "functorch", "torchvision", "expecttest", "caffe2", "common_utils", "functorch_additional_op_db")
#: Folders of ``test/`` whose files import each other, and helpers that are tables of cases and run as they are.
FOLDERS = ("optim", "nn", "distributions", "autograd")
INTERNAL = "torch.testing._internal"
TABLES = tuple(f"{INTERNAL}.common_{name}" for name in ("nn", "modules", "optimizers", "dtype"))
#: What modules of PyTorch have besides their public names, as far as files of tests read it while they load.
PRIVATE = {
    "torch": "_C _dynamo _mkldnn _nnpack_available sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc quint8 qint8",
    "torch.backends": "quantized",
    "torch.profiler": "itt",
}
SECONDS = 40.0

torch: Any
tree: Path
is_running = False


class Internals(Exception):
    """A test needs something of PyTorch's insides."""


class _Missing(type):
    """The class of what stands for the insides: it can be imported, decorate and be a base class, but not be used."""

    path: str

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return missing(f"{cls.path}.{name}")

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if is_running:
            raise Internals(cls.path)
        decorates = len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType | type)
        return args[0] if decorates and not isinstance(args[0], _Missing) else cls

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __getitem__(cls, key: Any) -> Any:
        return cls

    def __enter__(cls) -> Any:
        raise Internals(cls.path)

    def __exit__(cls, *_: Any) -> None:
        pass

    def __bool__(cls) -> bool:
        return False

    def __instancecheck__(cls, instance: Any) -> bool:
        return False


def missing(path: str) -> Any:
    """What stands for a name that the library lacks."""
    return _Missing("Missing", (), {"path": path, "__init_subclass__": classmethod(lambda cls, **_: None)})


class _Module(types.ModuleType):
    __path__: list[str] = []  # noqa: RUF012

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return missing(f"{self.__name__}.{name}")

    def __call__(self, *_: Any, **__: Any) -> Any:
        """A test calls what was taken for a module because the library lacks it."""
        raise Internals(self.__name__)


class _Insides(_Module):
    """A module of PyTorch's insides. The library has a part of its names."""

    def __init__(self, name: str, own: Any) -> None:
        super().__init__(name)
        self.__dict__["_own"] = own

    def __getattr__(self, name: str) -> Any:
        if not hasattr(self._own, name):
            return super().__getattr__(name)
        found = getattr(self._own, name)
        spaces = types.SimpleNamespace | types.ModuleType
        return _Insides(f"{self.__name__}.{name}", found) if isinstance(found, spaces) else found


def take(module: str, name: str = "") -> Any:
    """What ``from module import name`` gives, or ``import module``; what stands for it where that fails."""
    try:
        found = importlib.import_module(module)
        return (
            getattr(found, name) if name and hasattr(found, name) else found if not name else take(f"{module}.{name}")
        )
    except ImportError:
        return missing(f"{module}.{name}")


class _Imports(ast.NodeTransformer):
    """Makes imports of the library's names call :func:`take`."""

    def visit_Import(self, node: ast.Import) -> Any:
        return [self._line(a.asname or "_", a.name, "", node) if "." in a.name else ast.Import([a]) for a in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        module = node.module or ""
        if node.level or node.names[0].name == "*" or module.split(".")[0] not in ROOTS:
            return node
        return [self._line(a.asname or a.name, module, a.name, node) for a in node.names]

    def _line(self, target: str, module: str, name: str, node: ast.stmt) -> Any:
        if module.split(".")[0] not in ROOTS:
            return ast.copy_location(ast.Import([ast.alias(module, target if target != "_" else None)]), node)
        return ast.copy_location(ast.parse(f"{target} = _take({module!r}, {name!r})").body[0], node)


def load(file: Path, module: types.ModuleType) -> None:
    """Runs a file of PyTorch's as a module."""
    code = ast.fix_missing_locations(_Imports().visit(ast.parse(file.read_text())))
    module.__file__ = str(file)
    vars(module)["_take"] = take
    exec(compile(code, str(file), "exec"), vars(module))


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules below some names: helpers, tables and other files of tests, and empty modules for the insides."""

    def __init__(self, *first: str) -> None:
        self.first = first

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        parent, _, last = name.rpartition(".")
        if name.split(".")[0] not in self.first or last in getattr(sys.modules.get(parent), "__dict__", ()):
            # What a module has already is no module.
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        return HELPERS.get(spec.name) or _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        place = module.__name__.replace(".", "/") + ".py"
        if module.__name__.split(".")[0] in self.first and (tree / "test" / place).exists():
            load(tree / "test" / place, module)
        elif module.__name__ in TABLES:
            load(tree / place, module)


# Tests compare with these.

#: The relative and absolute tolerances of PyTorch's tests; numbers of Python have those of float32.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    **dict.fromkeys(("float32", "complex64", "number"), (1.3e-6, 1e-5)),
    **dict.fromkeys(("float64", "complex128"), (1e-7, 1e-7)),
}


def _array(x: Any) -> Any:
    if not isinstance(x, torch.Tensor):
        return np.asarray(x)
    x = x.detach().resolve_conj().resolve_neg()
    return (x.float() if x.dtype == torch.bfloat16 else x).numpy()


class Case(unittest.TestCase):
    """The base class of PyTorch's tests."""

    precision = 0.0
    maxDiff = None

    def setUp(self) -> None:
        seed(1234)

    def assertEqual(self, x: Any, y: Any, msg: Any = None, **options: Any) -> None:  # type: ignore[override]
        found = self._difference(x, y, options)
        if not found and options.get("exact_stride") and x.stride() != y.stride():
            found = f"strides {x.stride()} and {y.stride()}"
        if found:
            raise AssertionError((msg(found) if callable(msg) else msg) or found)

    def assertNotEqual(self, x: Any, y: Any, msg: Any = None, **options: Any) -> None:  # type: ignore[override]
        if not self._difference(x, y, options):
            raise AssertionError(msg or "the values are equal")

    def _difference(self, x: Any, y: Any, options: dict[str, Any]) -> str | None:
        """In what two values differ."""
        lists = torch.nn.Sequential | torch.nn.ModuleList | torch.nn.ParameterList | torch.utils.data.Subset
        dicts = torch.nn.ModuleDict | torch.nn.ParameterDict
        x, y = (list(v) if isinstance(v, lists) else dict(v.items()) if isinstance(v, dicts) else v for v in (x, y))
        texts = str | bytes
        if any(isinstance(v, np.ndarray) and v.dtype.kind in "USO" for v in (x, y)):
            return None if np.array_equal(x, y) else f"{x!r} and {y!r}"
        if any(isinstance(v, torch.Tensor | np.ndarray) for v in (x, y)) and x is not None and y is not None:
            return self._difference_of_arrays(x, y, options)
        numbers = int | float | complex | np.generic
        if isinstance(x, numbers) and isinstance(y, numbers) and not isinstance(x, texts) and not isinstance(y, texts):
            if isinstance(x, int) and isinstance(y, int):
                return None if abs(x - y) <= (options.get("atol") or 0) else f"{x} and {y}"
            return self._difference_of_arrays(x, y, options)
        if isinstance(x, Mapping) and isinstance(y, Mapping) and x.keys() == y.keys():
            pairs: Any = ((k, x[k], y[k]) for k in x)
        elif isinstance(x, Sequence) and isinstance(y, Sequence) and not isinstance(x, texts) and len(x) == len(y):
            pairs = ((i, p, q) for i, (p, q) in enumerate(zip(x, y, strict=True)))
        else:
            return None if x == y else f"{x!r} and {y!r}"
        return next((f"[{k!r}]: {found}" for k, p, q in pairs if (found := self._difference(p, q, options))), None)

    def _difference_of_arrays(self, x: Any, y: Any, options: dict[str, Any]) -> str | None:
        both = isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)
        if both and options.get("exact_dtype", True) and x.dtype != y.dtype:
            return f"dtypes {x.dtype} and {y.dtype}"
        names = [str(v.dtype).rpartition(".")[2] if hasattr(v, "dtype") else "number" for v in (x, y)]
        loose = [TOLERANCES.get(n, (0.0, 0.0)) for n in names if both or n != "number"] or [TOLERANCES["number"]]
        a, b = _array(x), _array(y)
        if a.shape != b.shape and (both or a.size != 1 or b.size != 1):
            return f"shapes {a.shape} and {b.shape}"
        rtol, atol = options.get("rtol"), options.get("atol")
        rtol = max(r for r, _ in loose) if rtol is None else rtol
        atol = max(self.precision, *(t for _, t in loose)) if atol is None else atol
        a, b = (
            v.astype(complex if v.dtype.kind == "c" else float if v.dtype.kind in "fb" else v.dtype) for v in (a, b)
        )
        with np.errstate(all="ignore"):
            if np.allclose(a.reshape(b.shape), b, rtol=rtol, atol=atol, equal_nan=options.get("equal_nan", True)):
                return None
            return f"values differ by at most {np.nanmax(np.abs(a.reshape(b.shape).astype(complex) - b))}"

    def compare_with_numpy(
        self, own: Any, numpys: Any, value: Any, device: Any = None, dtype: Any = None, **options: Any
    ) -> None:
        x = value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=dtype)
        found = self._difference(numpys(_array(x)), own(x), options)
        assert not found, found

    def assertExpectedInline(self, actual: str, expect: str, skip: int = 0) -> None:
        assert actual.strip() == textwrap.dedent(expect).strip()

    def assertExpected(self, *_: Any) -> None:
        raise Internals("files of expected results")

    def assertObjectIn(self, value: Any, values: Any) -> None:
        assert any(v is value for v in values)

    def assertEqualTypeString(self, x: Any, y: Any) -> None:
        assert (x.type(), x.device, x.dtype, x.is_sparse) == (y.type(), y.device, y.dtype, y.is_sparse)

    def assertNotWarn(self, call: Callable[[], Any], msg: str = "") -> None:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call()
        assert not found, msg

    @contextlib.contextmanager
    def assertWarnsOnceRegex(self, category: type, regex: str = "") -> Iterator[None]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            yield
        assert any(re.search(regex, str(w.message)) for w in found)

    def genSparseTensor(self, *_: Any, **__: Any) -> None:
        raise Internals("sparse tensors")


def seed(number: int | None = None) -> None:
    number = 1234 if number is None else number
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


# Decorators.


def leave(*args: Any, **kwargs: Any) -> Any:
    """A decorator, with or without arguments, that changes nothing."""
    return args[0] if len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType | type) else leave


def skipping(reason: str, takes_arguments: bool = False) -> Callable[..., Any]:
    """A decorator of tests that do not run."""

    def mark(fn: Any) -> Any:
        fn.__unittest_skip__, fn.__unittest_skip_why__ = True, reason
        return fn

    def decorator(*args: Any, **kwargs: Any) -> Any:
        plain = len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType | type)
        return mark(args[0]) if plain and not takes_arguments else mark

    return decorator


class Parametrizer:
    """A decorator that makes several tests of one."""

    def __call__(self, fn: Any) -> Any:
        fn.parametrizers = [*getattr(fn, "parametrizers", []), self]
        return fn

    def cases(self, fn: Any, cls: Any) -> Iterator[tuple[str, dict[str, Any], Any]]:
        """The name, the arguments and the function of each test."""
        for test, name, kwargs, _ in self._parametrize_test(fn, cls, cls):  # type: ignore[attr-defined]
            yield name, kwargs, test


class parametrize(Parametrizer):
    def __init__(self, arg_str: str, arg_values: Any, name_fn: Any = None) -> None:
        self.names, self.values = [n.strip() for n in arg_str.split(",") if n.strip()], arg_values

    def cases(self, fn: Any, cls: Any) -> Iterator[tuple[str, dict[str, Any], Any]]:
        for i, value in enumerate(self.values):
            given, name = (value.arg_values, value.name) if isinstance(value, subtest) else (value, None)
            parts = [given] if len(self.names) == 1 else list(given)
            shown = [v if isinstance(v, int | float | str) else getattr(v, "__name__", i) for v in parts]
            name = name or "_".join(f"{n}_{v}" for n, v in zip(self.names, shown, strict=True))
            yield re.sub(r"\W+", "_", name), dict(zip(self.names, parts, strict=True)), fn


class subtest:
    def __init__(self, arg_values: Any, name: str | None = None, decorators: Any = ()) -> None:
        self.arg_values, self.name = arg_values, name


class ops(Parametrizer):
    """Tests of the table of all ops are left out: the tests of this project compare with it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def cases(self, fn: Any, cls: Any) -> Iterator[tuple[str, dict[str, Any], Any]]:
        return iter(())


def dtypes(*found: Any, **_: Any) -> Callable[[Any], Any]:
    def decorator(fn: Any) -> Any:
        fn.dtypes = found
        return fn

    return decorator


def _expanded(fn: Any, cls: Any, name: str, device: str | None) -> Iterator[tuple[str, Any]]:
    """The tests that a function stands for."""
    takes = inspect.signature(fn).parameters
    cases: list[tuple[str, dict[str, Any], Any]] = [("", {}, fn)]
    if device and hasattr(fn, "dtypes"):
        cases = []
        for d in fn.dtypes:
            shown = "_".join(str(x).rpartition(".")[2] for x in (d if isinstance(d, list | tuple) else [d]))
            cases.append((f"_{shown}", {"dtype" if "dtype" in takes else "dtypes": d}, fn))
    for parametrizer in getattr(fn, "parametrizers", []):
        more = [(s, k, list(parametrizer.cases(fn, cls))) for s, k, _ in cases]
        cases = [(f"{s}_{n}", {**k, **given}, test) for s, k, found in more for n, given, test in found]
    for suffix, kwargs, test in cases:
        given = {"device": device, **kwargs} if device and "device" in takes else kwargs

        def bound(self: Any, test: Any = test, given: Any = given) -> Any:
            return test(self, **given)

        if getattr(fn, "__unittest_skip__", False):
            bound = unittest.skip(fn.__unittest_skip_why__)(bound)
        if getattr(fn, "__unittest_expecting_failure__", False):
            bound = unittest.expectedFailure(bound)
        yield name + suffix + (f"_{device}" if device else ""), bound


def instantiate_parametrized_tests(cls: Any) -> Any:
    for name, fn in list(vars(cls).items()):
        if name.startswith("test") and hasattr(fn, "parametrizers"):
            delattr(cls, name)
            for new, test in _expanded(fn, cls, name, None):
                setattr(cls, new, test)
    return cls


def instantiate_device_type_tests(cls: Any, scope: Any, except_for: Any = None, only_for: Any = None, **_: Any) -> None:
    scope.pop(cls.__name__, None)
    if only_for and "cpu" not in only_for:
        return
    devices = classmethod(lambda _: ["cpu"])
    body = {"device_type": "cpu", "get_all_devices": devices, "__module__": scope["__name__"]}
    new = scope[cls.__name__ + "CPU"] = type(cls.__name__ + "CPU", (cls,), body)
    for name in dir(cls):
        fn = inspect.getattr_static(cls, name)
        if name.startswith("test") and inspect.isfunction(fn):
            setattr(new, name, None)
            for label, test in _expanded(fn, new, name, "cpu"):
                setattr(new, label, test)


def _checking(name: str) -> Callable[..., Any]:
    """``gradcheck`` or ``gradgradcheck`` without the options that the library lacks."""

    def check(fn: Any, *args: Any, **kwargs: Any) -> Any:
        check = getattr(torch.autograd, name)
        known = inspect.signature(check).parameters
        return check(fn, *args, **{k: v for k, v in kwargs.items() if k in known})

    return check


def mask_not_all_zeros(shape: Any) -> Any:
    """Random Booleans, at least one of which is True."""
    mask = torch.rand(shape) > 0.5
    mask.view(-1)[0] = True
    return mask


@contextlib.contextmanager
def _kept(read: str, write: str, *value: Any) -> Iterator[None]:
    """Restores a setting afterwards."""
    before = getattr(torch, read)()
    for v in value:
        getattr(torch, write)(v)
    try:
        yield
    finally:
        getattr(torch, write)(before)


@contextlib.contextmanager
def disable_gc() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def temporary_file(*args: Any, **kwargs: Any) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "file")


def suppress_warnings(fn: Any) -> Any:
    @functools.wraps(fn)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fn(*args, **kwargs)

    return quiet


def _words(value: Any, words: str) -> dict[str, Any]:
    return dict.fromkeys(words.split(), value)


def _nothing(*_: Any, **__: Any) -> Any:
    return contextlib.nullcontext()


class ExceptionWrapper:
    """An exception as two values that can be sent to another process."""

    def __init__(self, found: Any) -> None:
        self.exc_type, self.exc_msg = found[0], "".join(traceback.format_exception(*found))


def helpers() -> dict[str, _Module]:
    """The modules that stand for PyTorch's helpers of tests."""
    t = torch
    flags = _words(
        False,
        "IS_FBCODE IS_JETSON IS_MACOS IS_PPC IS_SANDCASTLE IS_WINDOWS IS_CI IS_S390X IS_ARM64 TEST_CUDA TEST_MPS "
        "TEST_XPU TEST_PRIVATEUSE1 TEST_WITH_ASAN TEST_WITH_CROSSREF TEST_WITH_ROCM TEST_WITH_TORCHDYNAMO "
        "TEST_WITH_TORCHINDUCTOR TEST_WITH_TSAN TEST_WITH_UBSAN TEST_CUDNN TEST_CUDNN_VERSION TEST_MULTIGPU "
        "TEST_WITH_SLOW TEST_NUMBA TEST_DILL PLATFORM_SUPPORTS_FLASH_ATTENTION "
        "SM53OrLater SM70OrLater SM80OrLater SM90OrLater",
    )
    left = _words(
        leave,
        "disableMkldnn disablecuDNN dtypesIfCUDA dtypesIfMPS dtypesIfXPU expectedFailureCUDA expectedFailureMPS "
        "expectedFailureMPSPre15 expectedFailureMeta expectedFailureXLA gcIfJetson markDynamoStrictTest onlyCPU "
        "onlyNativeDeviceTypes onlyOn serialTest skipCPUIfNoLapack skipCUDAIf skipCUDAIfCudnnVersionLessThan "
        "skipCUDAIfMiopen skipCUDAIfNoCudnn skipCUDAIfNoMagma skipCUDAIfNoMiopen skipCUDAIfNotMiopenSuggestNHWC "
        "skipCUDAIfNotRocm skipCUDAIfRocm skipCUDAIfRocmVersionLessThan skipIfCrossRef skipIfMPS skipIfMps "
        "skipIfNoLapack skipIfRocm skipIfRocmVersionLessThan skipIfTorchDynamo skipIfTorchInductor skipIfWindows "
        "skipIfXpu skipLazy skipMPS skipMeta skipXLA slowTest tf32_on_and_off with_tf32_off "
        "wrapDeterministicFlagAPITest xfailIfLinux xfailIfS390X xfailIfTorchDynamo precisionOverride "
        "toleranceOverride decorateIf bf32_on_and_off swap",
    )
    skipped = {
        name: skipping(name) for name in ("onlyCUDA", "onlyCUDAAndPRIVATEUSE1", "deviceCountAtLeast", "skipIfNoDill")
    }
    names = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32", "float64")
    numpy_dtypes = {np.dtype(n).type: getattr(t, n) for n in (*names, "complex64", "complex128")} | {np.bool_: t.bool}
    modules: dict[str, dict[str, Any]] = {
        INTERNAL: {},
        f"{INTERNAL}.common_utils": {
            **flags,
            **left,
            **skipped,
            "TestCase": Case,
            "TEST_NUMPY": True,
            "TEST_SCIPY": True,
            # A process that begins anew would not have these helpers.
            "NO_MULTIPROCESSING_SPAWN": True,
            "GRADCHECK_NONDET_TOL": 0.0,
            "MACOS_VERSION": 0,
            "dtype2prec_DONTUSE": {t.float: 1e-5, t.double: 1e-5, t.half: 1e-2, t.bfloat16: 1e-1},
            "parametrize": parametrize,
            "subtest": subtest,
            "_TestParametrizer": Parametrizer,
            "instantiate_parametrized_tests": instantiate_parametrized_tests,
            "gradcheck": _checking("gradcheck"),
            "gradgradcheck": _checking("gradgradcheck"),
            "_assertGradAndGradgradChecks": lambda case, fn, inputs, **_: (
                _checking("gradcheck")(fn, inputs) and _checking("gradgradcheck")(fn, inputs)
            ),
            "freeze_rng_state": lambda *_, **__: _kept("get_rng_state", "set_rng_state"),
            "set_default_dtype": lambda dtype: _kept("get_default_dtype", "set_default_dtype", dtype),
            "TemporaryFileName": temporary_file,
            "disable_gc": disable_gc,
            "suppress_warnings": suppress_warnings,
            "set_rng_seed": seed,
            "set_warn_always_context": lambda mode: _kept("is_warn_always_enabled", "set_warn_always", mode),
            "run_tests": _nothing,
            "load_tests": None,
            "get_function_arglist": lambda f: inspect.getfullargspec(f).args,
            "iter_indices": lambda x: itertools.product(*map(range, x.shape)) if x.dim() != 1 else range(x.numel()),
            "numpy_to_torch_dtype_dict": numpy_dtypes,
            "torch_to_numpy_dtype_dict": {
                t.bfloat16: np.float32,
                t.complex32: np.complex64,
                **{own: np_ for np_, own in numpy_dtypes.items()},
            },
            "make_tensor": t.testing.make_tensor,
            "is_iterable_of_tensors": lambda values: all(isinstance(v, t.Tensor) for v in values),
        },
        f"{INTERNAL}.common_device_type": {
            **flags,
            **left,
            **skipped,
            "instantiate_device_type_tests": instantiate_device_type_tests,
            "dtypes": dtypes,
            "dtypesIfCPU": dtypes,
            "ops": ops,
            "largeTensorTest": skipping("large tensors", takes_arguments=True),
            "skipCPUIfNoMkldnn": skipping("oneDNN"),
            "get_all_device_types": lambda: ["cpu"],
        },
        f"{INTERNAL}.common_cuda": {
            **flags,
            **left,
            "tf32_off": _nothing,
            "tf32_on": _nothing,
            "tf32_is_not_fp32": lambda: False,
            "CUDA_DEVICE": None,
        },
        f"{INTERNAL}.common_mkldnn": left,
        f"{INTERNAL}.common_methods_invocations": {"mask_not_all_zeros": mask_not_all_zeros},
        "torch._utils": {"ExceptionWrapper": ExceptionWrapper},
        "torch.utils._foreach_utils": {
            "_get_foreach_kernels_supported_devices": list,
            "_get_fused_kernels_supported_devices": list,
        },
        "common_utils": {"expectedFailureIf": lambda condition: unittest.expectedFailure if condition else leave},
        "expecttest": {"TestCase": Case},
    }
    made = {name: _Module(name) for name in modules}
    for name, module in made.items():
        vars(module).update(modules[name])
    return made


HELPERS: dict[str, _Module] = {}


# Running.


def end_of(case: unittest.TestCase) -> tuple[str, str]:
    """How a test ends in a process of its own, and the text of the error."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            result = unittest.TestResult()
            case.run(result)
            found = ("skipped", result.skipped[0][1]) if result.skipped else ("passed", "")
            for _, text in result.errors + result.failures:
                found = ("failed", text)
        except BaseException:
            found = ("failed", traceback.format_exc())
        os.write(writing, json.dumps([found[0], found[1][-20000:]]).encode())
        os._exit(0)
    os.close(writing)
    data, limit = b"", time.monotonic() + SECONDS
    while (left := limit - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        piece = os.read(reading, 1 << 16)
        data += piece
        if not piece or piece.endswith(b"]"):
            break
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(reading)
    try:
        state, text = json.loads(data)
    except ValueError:
        is_late = time.monotonic() >= limit
        return "failed", "it takes too long" if is_late else f"the process ended with status {status}"
    return (state, text) if "Internals:" not in text and "_C'" not in text else ("internals", text)


def run(file: str, word: str, is_verbose: bool) -> None:
    """Runs a file and prints its counts and the kinds of its errors."""
    global is_running
    name = Path(file).stem
    module = sys.modules[name] = types.ModuleType(name)
    is_running = False
    load(tree / "test" / file, module)
    is_running = True
    counts: collections.Counter[str] = collections.Counter()
    kinds: collections.Counter[str] = collections.Counter()
    try:
        for cls in [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, unittest.TestCase)]:
            for test in unittest.TestLoader().getTestCaseNames(cls) if cls.__module__ == name else ():
                if getattr(cls, test) is None or word not in f"{cls.__name__}.{test}":
                    continue
                state, text = end_of(cls(test))
                counts[state] += 1
                if state in ("failed", "internals"):
                    errors = [
                        line for line in text.splitlines() if re.match(r"[\w.]*(Error|Internals|Exception)\b", line)
                    ]
                    last = (errors or text.strip().splitlines() or [""])[-1]
                    kinds[re.sub(r"\d+(\.\d+)?", "N", f"{state}: {last}")[:120]] += 1
                    if is_verbose:
                        print(f"=== {cls.__name__}.{test}\n{text}")
    finally:
        # Ctrl-C ends a run with the counts so far.
        print(file, dict(counts), "of", sum(counts.values()))
        for kind, count in kinds.most_common():
            print(f"{count:6} {kind}")


def prepare(place: Path, folders: tuple[str, ...], is_peer: bool = False) -> None:
    """Makes the library, the helpers and the files of tests in ``folders`` of the tree importable."""
    global torch, tree
    tree = place
    if not is_peer:
        import ferrograd

        ferrograd.install_as("torch")
        importlib.import_module("torch.testing").__path__ = []
        for module, names in PRIVATE.items():
            for name in names.split():
                setattr(importlib.import_module(module), name, missing(f"{module}.{name}"))
        vars(importlib.import_module("torch.utils.data._utils"))["MP_STATUS_CHECK_INTERVAL"] = 5.0
    torch = importlib.import_module("torch")
    if not is_peer:
        # Tests take much more of the compiled module than the library has for others.
        sys.modules["torch._C"] = torch._C = _Insides("torch._C", importlib.import_module("torch._C"))
    else:
        # What PyTorch imports of its own later would take the helpers of tests.
        importlib.import_module("torch._dynamo")
    importlib.import_module("torch.testing")
    HELPERS.update(helpers())
    sys.modules.update(HELPERS)
    # Folders of tests come before installed packages of the same name, such as autograd; the insides after the library.
    sys.meta_path.insert(0, _Finder(*folders))
    sys.meta_path.append(_Finder(*ROOTS))
    sys.path.insert(0, str(tree / "test"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("files", nargs="+")
    parser.add_argument("-k", default="", dest="word")
    parser.add_argument("-v", action="store_true", dest="is_verbose")
    parser.add_argument("--peer", action="store_true")
    given = parser.parse_args()
    prepare(given.tree.resolve(), FOLDERS, given.peer)
    if not given.peer:
        # Programs that tests start, and processes that begin anew, have the same library, helpers and files.
        start = tempfile.TemporaryDirectory()
        found = (str(given.tree.resolve()), (*FOLDERS, *(Path(file).stem for file in given.files)))
        Path(start.name, "sitecustomize.py").write_text(
            f"import pathlib, torch_tests\ntorch_tests.prepare(pathlib.Path({found[0]!r}), {found[1]!r})\n"
        )
        library = Path(inspect.getfile(importlib.import_module("ferrograd"))).parents[1]
        places = [start.name, str(Path(__file__).parent), str(library)]
        os.environ["PYTHONPATH"] = os.pathsep.join(places)
    sys.argv = sys.argv[:1]
    for file in given.files:
        run(file, given.word, given.is_verbose)


if __name__ == "__main__":
    main()
