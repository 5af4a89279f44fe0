"""Names of PyTorch that mean nothing here: they can be imported, and say on use what to do instead."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from typing import Any

import ferrograd.torch as _torch
import pytest
from ferrograd.torch._base import absent

torch: Any = _torch
ROOT = "ferrograd.torch"


def _module(path: str) -> Any:
    return importlib.import_module(f"{ROOT}.{path}".rstrip("."))


@pytest.mark.parametrize("path", sorted(absent._table()))
def test_every_name_of_the_table_is_there(path: str) -> None:
    module = _module(path)
    for name in absent._table()[path]:
        assert hasattr(module, name), name


@pytest.mark.parametrize("path", sorted(absent._HOMES))
def test_names_of_other_modules(path: str) -> None:
    home = _module(absent._HOMES[path])
    public = [name for name in getattr(home, "__all__", []) if isinstance(getattr(home, name), type)]
    assert all(getattr(_module(path), name) is getattr(home, name) for name in public)


def test_use_says_why() -> None:
    with pytest.raises(RuntimeError, match=r"torch\.cuda\.CUDAGraph: there is no GPU; ask torch\.cuda\.is_available"):
        torch.cuda.CUDAGraph()
    with pytest.raises(NotImplementedError, match=r"torch\.cuda\.mem_get_info: there is no GPU"):
        torch.cuda.mem_get_info()
    with pytest.raises(RuntimeError, match=r"torch\.nested\.nested_tensor: use torch\.nn\.utils\.rnn\.pad_sequence"):
        torch.nested.nested_tensor([])

    class Mine(torch.cuda.CUDAGraph):  # type: ignore[misc]
        pass

    with pytest.raises(RuntimeError, match=r"torch\.cuda\.CUDAGraph"):
        Mine()


def test_kinds_of_names() -> None:
    assert issubclass(torch.distributed.DistBackendError, RuntimeError)
    assert torch._C.DispatchKey.AutocastCPU is torch._C.DispatchKey.AutocastCPU
    assert torch._C.DispatchKey.AutocastCPU is not torch._C.DispatchKey.CPU
    assert repr(torch._C.DispatchKey.CPU) == "DispatchKey.CPU"
    assert not isinstance(torch.ones(1), torch.cuda.CUDAGraph)
    assert torch.cuda.default_generators == ()
    assert torch._jit_internal._overload(len) is len
    assert _module("onnx.symbolic_helper").parse_args("v", "i")(len) is len
    assert torch.optim.adadelta.Adadelta is torch.optim.Adadelta
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{ROOT}.optim.nothing")


@pytest.mark.parametrize("module", ["", ".cuda", ".nn.functional", ".utils.data"])
def test_other_names_are_missing(module: str) -> None:
    with pytest.raises(AttributeError, match="nothing_at_all"):
        _ = importlib.import_module(ROOT + module).nothing_at_all


def test_a_library_is_named(tmp_path: Any) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import ferrograd.torch as torch\ndef ask(name):\n    return getattr(torch, name)\n"
    )
    (package / "use.py").write_text("import ferrograd.torch as torch\ndef use():\n    torch.cuda.Stream(3)\n")
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import shop, shop.use, ferrograd.torch as torch
for f in (lambda: shop.ask("nothing"), shop.use.use, lambda: torch.nothing):
    try:
        f()
    except Exception as e:
        print(e)
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    first, second, third = out.splitlines()
    assert "nothing" in first
    assert "(asked for by shop; what differs: https://" in first
    assert "asked for" not in third
    assert "GPU" in second


def test_errors_can_be_pickled() -> None:
    with pytest.raises(RuntimeError) as used:
        torch.cuda.CUDAGraph()
    assert str(pickle.loads(pickle.dumps(used.value))) == str(used.value)
    with pytest.raises(AttributeError) as asked:
        _ = torch.nothing_at_all
    assert "nothing_at_all" in str(pickle.loads(pickle.dumps(asked.value)))


def test_a_module_is_loaded_when_it_is_asked_for() -> None:
    program = (
        "import sys, ferrograd.torch; print([n for n in sys.modules if 'absent' in n or n.endswith('.distributed')])"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_a_module_below_does_not_take_the_place_of_a_function() -> None:
    program = """if True:
        import ferrograd
        ferrograd.install_as("torch")
        import torch.multiprocessing.spawn as spawned
        import torch.nn.parallel.data_parallel
        import torch.optim.adadelta
        from torch.multiprocessing.spawn import ProcessContext, spawn

        assert torch.multiprocessing.spawn is spawned is spawn
        assert ProcessContext is torch.multiprocessing.ProcessContext
        assert torch.nn.parallel.data_parallel(torch.nn.Identity(), torch.ones(1)).item() == 1
        assert torch.optim.adadelta.Adadelta is torch.optim.Adadelta
    """
    subprocess.run([sys.executable, "-c", program], check=True)
