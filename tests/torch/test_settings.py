"""Settings and modules of torch that programs touch on their way to the CPU."""

from __future__ import annotations

import importlib
import importlib.util
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest
from ferrograd import ArgumentError, FerrogradError, torch as _torch

from tests.dialects import values
from tests.waiting import LONG

torch: Any = _torch


def test_queries_that_end_on_the_cpu() -> None:
    for module in (torch.cuda, torch.accelerator, torch.mps, torch.xpu, torch.backends.mps, torch.backends.cudnn):
        assert not module.is_available()
    assert torch.cuda.device_count() == torch.accelerator.device_count() == torch.cuda.memory_allocated() == 0
    assert torch.accelerator.current_accelerator() is None
    assert torch.version.cuda is None
    assert torch.distributed.is_available()
    assert not torch.distributed.is_initialized()
    assert not torch.distributed.is_nccl_available()
    assert torch.ones(1).is_cpu
    assert torch.ones(1).get_device() == -1
    torch.backends.cudnn.benchmark = torch.backends.cuda.matmul.allow_tf32 = True
    with torch.device("cpu") as device:
        assert torch.ones(1).device == device == torch.get_default_device()
    with torch.backends.cudnn.flags(enabled=False), torch.cuda.device(None), torch.accelerator.device_index(None):
        torch.cuda.manual_seed_all(3)
    assert torch.has_cuda is torch.has_cudnn is torch.has_mps is torch.cuda.is_tf32_supported() is False
    assert torch.cuda.get_arch_list() == []
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError is MemoryError
    assert torch._C._LinAlgError is torch.linalg.LinAlgError


@pytest.mark.parametrize("module", ["accelerator", "cuda"])
def test_the_memory_of_an_accelerator_is_nothing(module: str) -> None:
    asked = getattr(torch, module)
    for name in ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved"):
        assert getattr(asked, name)() == getattr(asked, name)(0) == 0
    assert dict(asked.memory_stats()) == {}
    for name in ("empty_cache", "reset_peak_memory_stats", "reset_accumulated_memory_stats"):
        assert getattr(asked, name)() is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.ones(1).cuda(),
        lambda: torch.cuda.synchronize(),
        lambda: torch.cuda.get_device_name(0),
        lambda: torch.cuda.device(0),
        lambda: torch.accelerator.set_device_index(0),
        lambda: torch.accelerator.device_index(0),
        lambda: torch.set_default_device("cuda"),
        lambda: torch.onnx.export(torch.nn.Linear(1, 1), torch.ones(1), "x"),
        lambda: torch.distributed.init_process_group("nccl"),
        lambda: torch.nn.Linear(1, 1).share_memory(),
        lambda: torch.nn.Linear(1, 1).cuda(),
    ],
)
def test_what_is_not_here_raises(call: Any) -> None:
    with pytest.raises(FerrogradError):
        call()


def _network() -> Any:
    inner = torch.nn.Sequential(torch.nn.Linear(3, 1))
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), inner)


def test_paths_of_a_graph_in_tensorboard() -> None:
    tensorboard = importlib.import_module("ferrograd.torch.utils.tensorboard")
    graph = tensorboard._recorded(_network(), (torch.ones(4, 2),))
    paths = [tensorboard._path(node) for node in graph]
    assert {"input/0", "Sequential/0/weight", "Sequential/2/0/bias"} <= set(paths)
    assert any(re.fullmatch(r"Sequential/2/0/matmul_\d+", path) for path in paths)
    assert len(set(paths)) == len(paths)
    with pytest.raises(ValueError, match="no output of the module"):
        tensorboard._recorded(torch.nn.Identity(), torch.ones(2, dtype=torch.int64))


def test_graphs_of_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    writer = importlib.import_module("ferrograd.torch.utils.tensorboard").SummaryWriter(str(tmp_path))
    writer.add_graph(_network(), torch.ones(4, 2))
    writer.close()
    (path,) = tmp_path.iterdir()
    assert b"Sequential/2/0/bias" in path.read_bytes()


@pytest.mark.skipif(importlib.util.find_spec("tensorboardX") is not None, reason="the package is installed")
def test_tensorboard_is_that_of_a_package() -> None:
    assert dir(torch.utils.tensorboard) == []
    with pytest.raises(ImportError, match="tensorboardX"):
        importlib.import_module("ferrograd.torch.utils.tensorboard").SummaryWriter  # noqa: B018
    with pytest.raises(ImportError, match="hparams is that of tensorboardX"):
        importlib.import_module("ferrograd.torch.utils.tensorboard.summary").hparams  # noqa: B018


def test_settings_that_change_nothing() -> None:
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.get_deterministic_debug_mode() == 1
    torch.set_deterministic_debug_mode("default")
    assert not torch.are_deterministic_algorithms_enabled()
    with pytest.raises(TypeError, match="mode is True or False, not Tensor"):
        torch.use_deterministic_algorithms(torch.ones(1))
    assert not torch.are_deterministic_algorithms_enabled()
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    torch.set_default_device("cpu")
    assert torch.get_default_device() == torch.device("cpu")
    assert torch.set_flush_denormal(True) is False


def test_print_options() -> None:
    x = torch.arange(2000.0)
    try:
        torch.set_printoptions(precision=1, edgeitems=1, sci_mode=True)
        assert repr(x) == "tensor([0.0e+00,  ..., 2.0e+03])"
        torch.set_printoptions(sci_mode=False)
        assert repr(x) == "tensor([   0.,  ..., 1999.])"
        torch.set_printoptions(profile="full")
        assert "1.0000e+03" in repr(x)
        with pytest.raises(ArgumentError):
            torch.set_printoptions(profile="long")
    finally:
        torch.set_printoptions(profile="default")


def test_script_and_disabled_compile_give_the_function_itself() -> None:
    def f(x: Any) -> Any:
        return x * 2

    with pytest.warns(UserWarning, match="torch"):
        assert torch.jit.script(f) is f
    assert torch.compile(mode="max-autotune", disable=True)(f) is f
    assert torch.jit.ignore(f) is f
    assert torch.compiler.disable(f).__wrapped__ is f


def test_autocast_and_scaler_for_a_gpu_warn_and_do_nothing() -> None:
    with pytest.warns(UserWarning, match="cuda"):
        context = torch.autocast("cuda", dtype=torch.float32)
    with context:
        assert not torch.is_autocast_enabled()
    with pytest.warns(UserWarning, match="cuda"):
        scaler = torch.cuda.amp.GradScaler()
    x = torch.ones(1)
    assert scaler.scale(x) is x
    assert not scaler.is_enabled()


def test_scaler_leaves_out_steps_and_changes_its_factor() -> None:
    w = torch.nn.Parameter(torch.tensor(1.0))
    optimizer = torch.optim.SGD([w], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1)
    (scaler.scale(w * 0.5)).backward()
    assert w.grad.item() == 4
    scaler.unscale_(optimizer)
    assert w.grad.item() == 0.5
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert (w.item(), scaler.get_scale()) == (0.5, 16)
    w.grad = torch.tensor(float("inf"))
    scaler.step(optimizer)
    scaler.update()
    assert (w.item(), scaler.get_scale()) == (0.5, 8)
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()


def test_assert_close() -> None:
    close = torch.testing.assert_close
    close([torch.ones(2), {"a": 1.0}], [torch.ones(2) + 1e-6, {"a": 1.0}])
    close(torch.tensor(float("nan")), torch.tensor(float("nan")), equal_nan=True)
    close(torch.ones(2), torch.ones(2).double(), check_dtype=False)
    for a, b, word in (
        (torch.ones(2), torch.tensor([1.0, 1.1]), "Mismatched elements: 1 / 2"),
        (torch.ones(2), torch.ones(2).double(), "dtype"),
        (torch.ones(2), torch.ones(3), "shape"),
        ([1, 2], [1], "length"),
        ({"a": 1}, {"b": 1}, "keys"),
        ([torch.ones(1)], [torch.zeros(1)], r"item \[0\]"),
    ):
        with pytest.raises(AssertionError, match=word):
            close(a, b)


def test_tolerances_are_those_of_the_dtypes() -> None:
    from ferrograd.torch.testing._comparison import default_tolerances, get_tolerances

    half, single = torch.tensor(1.0, dtype=torch.bfloat16), torch.tensor(1.0)
    assert get_tolerances(half, single) == default_tolerances(torch.bfloat16, single) == (1.6e-2, 1e-5)
    assert get_tolerances(single, single.double()) == (1.3e-6, 1e-5)
    assert get_tolerances(torch.tensor(1), torch.tensor(True)) == (0.0, 0.0)
    assert get_tolerances(single, rtol=0.5, atol=0.25) == (0.5, 0.25)
    with pytest.raises(ValueError, match=r"both be unspecified, item \['a'\]\[0\]"):
        get_tolerances(single, rtol=0.5, id=("a", 0))
    with pytest.raises(TypeError, match=r"Expected a torch\.Tensor or a torch\.dtype"):
        default_tolerances(1.0)


def test_bfloat16_is_compared_with_its_own_tolerances() -> None:
    one = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
    near, far = (torch.tensor([x, 2.0], dtype=torch.bfloat16) for x in (1.0078125, 1.03125))
    torch.testing.assert_close(near, one)
    torch.testing.assert_close(near, one.float(), check_dtype=False)
    with pytest.raises(AssertionError, match=r"Greatest absolute difference: 0\.03125 .*0\.016 times"):
        torch.testing.assert_close(far, one)
    with pytest.raises(AssertionError, match="dtype"):
        torch.testing.assert_close(one.float(), one)


def test_make_tensor() -> None:
    x = torch.testing.make_tensor((40,), dtype=torch.int64, device="cpu", low=0, high=3, exclude_zero=True)
    assert set(x.tolist()) <= {1, 2}
    y = torch.testing.make_tensor(3, 4, dtype=torch.float64, noncontiguous=True, requires_grad=True)
    assert not y.is_contiguous()
    assert y.requires_grad


def test_memory_formats() -> None:
    x = torch.arange(24.0).reshape(1, 2, 3, 4).requires_grad_()
    y = x.contiguous(memory_format=torch.channels_last)
    assert x.cpu(memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last)
    assert x.cpu() is x.cpu(memory_format=torch.preserve_format)
    assert y.stride() == (24, 1, 8, 2)
    assert y.is_contiguous(memory_format=torch.channels_last)
    assert not x.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(x, y)
    y.pow(2).sum().backward()
    assert torch.equal(x.grad, 2 * x)
    assert x.clone(memory_format=torch.preserve_format).stride() == x.stride()
    assert x.to(memory_format=torch.channels_last).stride() == y.stride()
    assert torch.empty_like(x, memory_format=torch.channels_last).stride() == y.stride()
    assert torch.empty(1, 2, 3, 4, memory_format=torch.contiguous_format).is_contiguous()
    assert x.layout is torch.strided
    assert repr(torch.channels_last) == "torch.channels_last"
    with pytest.raises(ArgumentError, match="rank 4"):
        torch.ones(2).contiguous(memory_format=torch.channels_last)


def test_dtypes() -> None:
    assert torch.promote_types(torch.float32, torch.int64) == torch.result_type(torch.ones(1), 2) == torch.float32
    assert torch.can_cast(torch.int64, torch.int8)
    assert not torch.can_cast(torch.int8, torch.bool)
    assert torch.can_cast(torch.uint8, torch.int8)
    assert type(torch.finfo(torch.float64).max) is float
    assert torch.finfo().bits == 32
    assert torch.iinfo(torch.uint8).max == 255
    assert not torch.is_complex(torch.ones(1))
    z = torch.ones(1).cfloat()
    assert (z.dtype, z.cdouble().dtype) == (torch.complex64, torch.complex128)
    assert not any([torch.is_conj(z.conj()), torch.is_neg(z.conj().imag), z.is_conj(), z.is_neg()])
    assert torch.is_signed(torch.ones(1))


def test_multinomial() -> None:
    torch.manual_seed(0)
    weights = torch.tensor([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    drawn = torch.multinomial(weights, 2000, replacement=True)
    assert set(drawn[1].tolist()) == {1}
    assert (drawn[0] == 1).sum() == 0
    assert abs((drawn[0] == 2).double().mean().item() - 0.75) < 0.05
    for _ in range(20):
        assert sorted(torch.multinomial(torch.tensor([1.0, 0.0, 3.0]), 2).tolist()) == [0, 2]
    g = torch.Generator().manual_seed(5)
    first = values(torch.multinomial(weights[0], 4, True, generator=g))
    assert values(torch.multinomial(weights[0], 4, True, generator=g.manual_seed(5))) == first
    for bad, n, replacement in (
        (torch.tensor([1.0, -1.0]), 1, True),
        (torch.tensor([1.0, float("inf")]), 1, True),
        (torch.zeros(3), 1, True),
        (torch.tensor([1.0, 0.0]), 2, False),
        (torch.ones(2), 0, True),
        (torch.ones(2, dtype=torch.int64), 1, True),
        (torch.ones(1, 1, 1), 1, True),
        (torch.ones(0), 1, True),
    ):
        with pytest.raises(FerrogradError):
            torch.multinomial(bad, n, replacement)


def test_random_and_creation() -> None:
    torch.manual_seed(1)
    x = torch.rand(3, dtype=torch.float64)
    drawn = torch.randint_like(x, 2, 5, requires_grad=True)
    assert drawn.dtype == x.dtype
    assert drawn.requires_grad
    assert set(drawn.tolist()) <= {2, 3, 4}
    assert values(torch.logspace(0, 2, 3)) == pytest.approx([1, 10, 100])
    assert values(torch.logspace(0, 3, 4, base=2)) == pytest.approx([1, 2, 4, 8])
    assert torch.scalar_tensor(3).dtype == torch.float32
    with torch.random.fork_rng():
        inside = torch.rand(2)
    assert torch.equal(inside, torch.rand(2))


def _ran(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout


def test_modules_that_are_imported_later_are_the_same_under_the_installed_name() -> None:
    program = """
import ferrograd
ferrograd.install_as("torch")
import torch.backends.cudnn as cudnn, torch.cuda.amp, functorch, torch.multiprocessing as mp
from torch.amp import GradScaler
import ferrograd.torch.amp as own
print(GradScaler is own.GradScaler, own.__spec__.name, cudnn.__name__, functorch.vmap.__wrapped__ is torch.vmap)
from functorch.experimental import replace_all_batch_norm_modules_ as replaced
print(replaced is torch.func.replace_all_batch_norm_modules_)
from importlib import metadata
names = [found.metadata["Name"] for found in metadata.distributions()]
print(metadata.version("torch") == torch.__version__, names.count("torch"), "numpy" in names, metadata.files("torch"))
try:
    metadata.version("paddlepaddle")
except metadata.PackageNotFoundError as error:
    print("No", error)
try:
    import torch.no_such_module
except ModuleNotFoundError as error:
    print(error)
"""
    assert _ran(program).splitlines() == [
        "True ferrograd.torch.amp ferrograd.torch.backends.cudnn True",
        "True",
        "True 1 True None",
        "No No package metadata was found for paddlepaddle",
        "No module named 'torch.no_such_module'",
    ]


def _square(rank: int, results: Any) -> None:
    results.put((rank, values(torch.ones(2) * rank)))


def test_processes_get_copies() -> None:
    mp = torch.multiprocessing
    results = mp.get_context("spawn").Queue()
    mp.spawn(_square, (results,), nprocs=2)
    assert sorted(results.get(timeout=LONG) for _ in range(2)) == [(0, [0, 0]), (1, [1, 1])]
    assert mp.get_sharing_strategy() == "copy"
    with pytest.raises(RuntimeError, match=r"Call detach\(\)"):
        ForkingPickler.dumps(torch.ones(2, requires_grad=True) * 2)
    assert ForkingPickler.loads(ForkingPickler.dumps(torch.ones(2, requires_grad=True))).requires_grad


def _fails(rank: int, how: str) -> None:
    if rank == 0:
        # It ends only if it is made to.
        threading.Event().wait()
    if how == "raise":
        raise ValueError("a wrong number")
    if how == "exit":
        sys.exit(3)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("how", "text", "code"),
    [
        ("raise", r"(?s)-- Process 1 terminated .*Traceback.*ValueError: a wrong number", None),
        ("exit", "process 1 terminated with exit code 3", 3),
        ("kill", "process 1 terminated with signal SIGKILL", -9),
    ],
)
def test_a_process_that_fails_ends_the_others(how: str, text: str, code: int | None) -> None:
    mp = torch.multiprocessing
    context = mp.spawn(_fails, (how,), nprocs=2, join=False, start_method="fork")
    with pytest.raises(mp.ProcessRaisedException if code is None else mp.ProcessExitedException, match=text) as raised:
        context.join(timeout=LONG, grace_period=0.1)
    error = pickle.loads(pickle.dumps(raised.value))
    assert (str(error), error.error_index, error.error_pid) == (str(raised.value), 1, context.pids()[1])
    assert getattr(error, "exit_code", None) == code
    assert not any(process.is_alive() for process in context.processes)
    assert context.join()


def test_modules_that_libraries_import_refuse_when_they_are_used() -> None:
    nvtx = torch.cuda.nvtx
    assert nvtx.mark("step") is None
    assert nvtx.range_push("step") == nvtx.range_pop() == 0
    with nvtx.range("step"):
        assert nvtx.range("step")(lambda x: x + 1)(1) == 2
    for name in ("Stream", "Event", "stream"):
        with pytest.raises(ValueError, match=rf"cuda.{name}: there is no GPU"):
            getattr(torch.cuda, name)(0)
    with torch.cuda.stream(None):
        assert not isinstance(torch.nn.Linear(1, 1), torch.fx.GraphModule)


def test_devices_that_are_not_here_have_names() -> None:
    """Programs compare them before they ask whether they are there."""
    cuda = torch.device("cuda", 1)
    assert (cuda.type, cuda.index, str(cuda), repr(cuda)) == ("cuda", 1, "cuda:1", "device(type='cuda', index=1)")
    assert torch.device("cuda:1") == cuda != torch.device("cuda")
    assert torch.ones(1).device != cuda
    assert repr(torch.ones(1).device) == "device(type='cpu')"
    assert type(torch.device("cuda").type) is str
    first = torch.device("cpu:0")
    assert (first.type, first.index, str(first)) == ("cpu", 0, "cpu:0")
    assert first == torch.device("cpu", 0) == torch.device(type="cpu", index=0) != torch.device("cpu")
    assert repr(torch.ones(1, device=first).to("cpu:0").device) == "device(type='cpu')"
    assert pickle.loads(pickle.dumps(cuda)).index == 1
    calls: list[Any] = [
        lambda: torch.ones(1, device=cuda),
        lambda: torch.ones(1).to(cuda),
        lambda: torch.nn.Linear(1, 1).to(cuda),
        lambda: torch.nn.Linear(1, 1, device=cuda),
        lambda: torch.set_default_device(cuda),
        lambda: torch.testing.make_tensor(2, dtype=torch.float32, device=cuda),
        lambda: torch.load(io.BytesIO(), map_location=cuda),
        lambda: torch.Generator(cuda),
        lambda: cuda.__enter__(),
        lambda: torch.device("gpu"),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match=r"CPU is the only device|only device is 'cpu'"):
            call()
