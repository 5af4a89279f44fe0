"""The installed package: its contents, its dependencies, and that importing it starts nothing."""

from __future__ import annotations

import importlib
import inspect
import operator
import pickle
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import FunctionType
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import paddle, torch

from tests.project.names import namespaces

FOLDER = Path(fg.__file__ or "").parent


def test_the_package_is_typed() -> None:
    assert (FOLDER / "py.typed").exists()


def test_the_wheel_contains_only_the_package() -> None:
    try:
        files = metadata.files("ferrograd") or []
    except metadata.PackageNotFoundError:
        pytest.skip("run from the source folder, so there is no wheel to inspect")
    own = [f for f in files if not f.parts[0].endswith(".dist-info") and "__pycache__" not in f.parts]
    assert {f.parts[0] for f in own} == {"ferrograd"}
    assert {f.suffix for f in own} <= {".py", ".pyi", ".so", ".pyd", ".typed"}
    assert sum(f.suffix in (".so", ".pyd") for f in own) == 1
    # The budget is 20 MB, counted in units of 2**20 bytes, as the tools of systems show it.
    assert sum(Path(str(f.locate())).stat().st_size for f in own) < 20 << 20


def test_it_depends_on_numpy_only() -> None:
    try:
        needs = metadata.requires("ferrograd") or []
    except metadata.PackageNotFoundError:
        pytest.skip("run from the source folder, so there is no metadata")
    assert [n.split(">")[0] for n in needs if "extra ==" not in n] == ["numpy"]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(sys.platform != "linux", reason="counts the threads in /proc")
def test_import_starts_no_thread() -> None:
    count = "len(os.listdir('/proc/self/task'))"
    out = run(f"import os, numpy; a = {count}; import ferrograd; print({count} - a)")
    assert out.strip() == "0"


def test_import_brings_in_nothing_heavy() -> None:
    out = run("import sys, numpy; a = set(sys.modules); import ferrograd; print(*sorted(set(sys.modules) - a))")
    roots = {m.split(".")[0] for m in out.split()} - set(sys.stdlib_module_names)
    assert roots == {"ferrograd"}


def test_import_defers_modules_that_few_programs_use() -> None:
    out = run("import sys, ferrograd; print(*(m for m in sys.modules if m.startswith('ferrograd.')))")
    core = {"_core", "_core.native", "_core.paddle", "_core.torch", "linalg", "linalg._array_api", "_autograd", "_kit"}
    core |= {
        "_kit.arguments",
        "_kit.public",
        # What is done before and after a fork, and how much memory is kept for later.
        "_kit.forks",
        "_kit.memory",
        "_kit.warning",
        # The number of threads is read, and a wrong one is refused, at the import.
        "_kit.threads",
        "_autograd.gradients",
        "_autograd.modes",
        "_kit.dialect",
        "_kit.tree",
        # What waits for the import of einops.
        "_native.einops",
        "_native.errors",
        "_native",
        "_native.roles",
    }
    assert {m.removeprefix("ferrograd.") for m in out.split() if "_core." not in m} <= core
    out = run("import sys, numpy; a = set(sys.modules); import ferrograd; print(*(set(sys.modules) - a))")
    assert not {"dataclasses", "threading", "asyncio", "tempfile"} & set(out.split())


@pytest.mark.parametrize(
    "name", ["autograd", "func", "testing", "paddle", "torch", "Function", "checkpoint", "Graph", "Size"]
)
def test_deferred_modules_can_be_used(name: str) -> None:
    assert name in run("import ferrograd; print(*dir(ferrograd))").split()
    run(f"import ferrograd; ferrograd.{name}; from ferrograd import {name}")


def test_a_program_from_a_file_is_loaded_without_what_traces(tmp_path: Path) -> None:
    path = str(tmp_path / "program")
    run(f"import ferrograd as fg; f = fg.compile(lambda x: fg.sin(x)); f(fg.ones(2)); f.save({path!r})")
    out = run(
        "import sys; import ferrograd as fg; before = set(sys.modules)\n"
        f"f = fg.load_compiled({path!r}); f(fg.ones(2)); f(fg.ones(2)); print(*set(sys.modules) - before)"
    )
    own = {"", ".aliases", ".files", ".loaded", ".program"}
    found = set(out.split())
    assert {name for name in found if name.startswith("ferrograd")} <= {f"ferrograd._compile{name}" for name in own}
    assert not found & {"secrets", "html", "random", "pathlib"}


@pytest.mark.parametrize(
    ("dialect", "parts"),
    [
        ("torch", ["autograd", "cuda", "distributions", "func", "linalg", "nn", "optim", "utils"]),
        ("paddle", ["amp", "autograd", "fft", "hapi", "io", "jit", "metric", "nn", "optimizer", "static", "utils"]),
    ],
)
def test_a_dialect_imports_its_parts_when_they_are_asked_for(dialect: str, parts: list[str]) -> None:
    name = f"ferrograd.{dialect}"
    out = run(f"import sys, {name}; print(*sys.modules)")
    assert not {f"{name}.{part}" for part in parts} & set(out.split())
    assert not {"ferrograd._compile", "ferrograd.func"} & set(out.split())
    public = [part for part in parts if part[0] != "_"]
    run(
        f"import {name} as d, pickle\nfor part in {public}: assert part in dir(d) and getattr(d, part)\n"
        "layer = pickle.loads(pickle.dumps(d.nn.Linear(2, 3)))\nassert list(layer.weight.shape) in ([2, 3], [3, 2])"
    )
    run(f"import {name} as d\nassert not [name for name in d.__all__ if not hasattr(d, name)]")


@pytest.mark.parametrize("module", [fg, fg.torch, fg.paddle])
def test_what_an_error_hints_at_is_there(module: Any) -> None:
    met = 0
    for hint in module._PLACES.values():
        for path in re.findall(r"\b(?:ferrograd|torch|paddle)(?:\.\w+)+", hint):
            first, *rest = path.removeprefix("ferrograd.").split(".")
            found = getattr(fg, first)
            for name in rest:
                found = getattr(found, name)
            met += 1
    assert met > 5


def test_every_exported_name_is_there() -> None:
    run("from ferrograd import *; checkpoint; grad")
    assert not [name for name in fg.__all__ if not hasattr(fg, name)]
    with pytest.raises(AttributeError, match="module 'ferrograd' has no attribute 'nothing'"):
        fg.nothing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("place", ["func", "fft", "linalg", "optim", "testing"])
def test_an_error_says_where_a_function_is(place: str) -> None:
    for name in set(getattr(fg, place).__all__) - {"GradcheckError", "SparseMatrix", "check", "grad", *fg.__all__}:
        # Two places have a `cond`, and the error names both.
        with pytest.raises(AttributeError, match=rf"it is .*ferrograd\.{place}\.{name}\b"):
            getattr(fg, name)


@pytest.mark.parametrize(
    ("module", "name", "where"),
    [
        (fg, "Linear", "ferrograd.torch.nn.Linear, or ferrograd.paddle.nn.Linear"),
        (fg, "Adam", "ferrograd.optim.Adam"),
        (fg, "Layer", "ferrograd.paddle.nn.Layer"),
        (fg, "cond", "ferrograd.func.cond, or ferrograd.linalg.cond"),
        (torch, "Linear", "ferrograd.torch.nn.Linear"),
        (torch, "grad", "ferrograd.torch.autograd.grad"),
        (torch, "sparse_jacobian", "ferrograd.func.sparse_jacobian"),
        (paddle, "Adam", "ferrograd.paddle.optimizer.Adam"),
        (paddle, "vmap", "ferrograd.func.vmap"),
    ],
)
def test_an_error_says_in_which_namespace_a_name_is(module: Any, name: str, where: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    # A dialect also says which package asked.
    text = str(caught.value).removesuffix(
        " (asked for by tests; what differs: https://ferrograd.github.io/ferrograd/libraries.html)"
    )
    assert text == f"module {module.__name__!r} has no attribute {name!r}: it is {where}"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("block", "numpy.block, which takes tensors"),
        ("extract", "numpy.extract, which takes tensors"),
        ("array_equal", "numpy.array_equal, which takes tensors"),
        ("rint", "ferrograd.round"),
        ("roots", r"numpy.roots\(x.detach\(\)\), without a gradient"),
        ("gamma", r"ferrograd.exp\(ferrograd.gammaln\(x\)\), for positive x"),
    ],
)
def test_an_error_says_what_a_name_of_numpy_is(name: str, where: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': it is {where}$"):
        getattr(fg, name)


def test_an_error_says_which_name_is_near() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'sofmax'\. Did you mean 'softmax'\?"):
        fg.sofmax  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute '_wrapped'$"):
        fg._wrapped  # type: ignore[attr-defined]  # noqa: B018


def test_a_look_at_a_name_imports_nothing() -> None:
    """Programs ask whether a module has a name, and go on."""
    run("import sys, ferrograd as fg; assert not hasattr(fg, 'Adam'); assert 'ferrograd.torch' not in sys.modules")


@pytest.mark.parametrize("name", ["array", "nn", "optimizer", "random", "custom_vjp"])
def test_an_error_says_where_the_names_of_others_are(name: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': it is ") as caught:
        getattr(fg, name)
    for path in re.findall(r"ferrograd\.([\w.]+)", str(caught.value).partition(": it is ")[2]):
        operator.attrgetter(path)(fg)


@pytest.mark.parametrize("name", namespaces())
def test_completion_offers_public_names_only(name: str) -> None:
    module = importlib.import_module(name)
    offered = dir(module)
    assert set(module.__all__) <= set(offered)
    private = [n for n in offered if n.startswith("_") and n not in module.__all__]
    assert not private
    for extra in set(offered) - set(module.__all__):
        value = getattr(module, extra)
        # Beside its exports a module has submodules, and torch has names that it imports when they are asked for.
        assert inspect.ismodule(value) or extra in module._ELSEWHERE
        if inspect.ismodule(value):
            assert value.__name__.startswith("ferrograd."), extra


@pytest.mark.parametrize("name", namespaces())
def test_what_a_module_defines_says_so(name: str) -> None:
    """Help shows the public module, and pickles name it. What several rooms share is of the room that has it."""
    module = importlib.import_module(name)
    room = ".".join(name.split(".")[:2]) + "."
    for export in vars(module).get("__all__", ()):
        value = getattr(module, export)
        if isinstance(value, FunctionType | type) and value.__module__.startswith(room):
            assert not re.search(r"\._(?!core\b|_)", value.__module__), f"{export} is of {value.__module__}"
            if value.__qualname__ == export and value.__module__ == name:
                assert pickle.loads(pickle.dumps(value)) is value


def test_help_says_where_a_function_is() -> None:
    assert (torch.add.__module__, paddle.add_n.__module__) == ("ferrograd.torch", "ferrograd.paddle")
    assert torch.nn.functional.interpolate.__module__ == "ferrograd.torch.nn.functional"
    assert pickle.loads(pickle.dumps(torch.finfo(torch.float32))).eps == torch.finfo(torch.float32).eps
