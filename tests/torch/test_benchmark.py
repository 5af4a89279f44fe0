"""``torch.utils.benchmark`` and ``swap_tensors``. Nothing here depends on how long a statement takes."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from ferrograd import torch as _torch
from ferrograd.torch.utils import benchmark as _benchmark

torch: Any = _torch
benchmark: Any = _benchmark


def test_a_timer_counts_runs() -> None:
    runs: list[int] = []
    timer = benchmark.Timer("runs.append(1)", "runs.clear()", globals={"runs": runs}, label="L", sub_label="S")
    found = timer.timeit(5)
    assert len(runs) == 5
    assert len(benchmark.Timer("torch.ones(2)").timeit(2).times) == 1
    assert (found.number_per_run, len(found.times), found.title) == (5, 1, "L: S")
    assert found.median == found.mean == found.raw_times[0] / 5
    text = repr(found).splitlines()
    assert text[:2] == ["Measurement of L: S", "setup: runs.clear()"]
    assert text[-1] == "  1 measurement, 5 runs each, 1 thread"
    several = timer.blocked_autorange(min_run_time=1e-3)
    assert sum(several.raw_times) >= 1e-3
    assert pickle.loads(pickle.dumps(several)).times == several.times
    threads: list[int] = []
    benchmark.Timer("n.append(f())", globals={"n": threads, "f": torch.get_num_threads}, num_threads=1).timeit(1)
    assert set(threads) == {1}
    for wrong in ({"language": "c++"}, {"stmt": print}):
        with pytest.raises(ValueError, match="only"):
            benchmark.Timer(**wrong)


def measured(seconds: list[float], **names: Any) -> Any:
    return benchmark.Measurement(1, seconds, benchmark.TaskSpec("f(x)", "pass", **names))


def test_tables() -> None:
    times = [
        measured([2e-6], label="Sum", sub_label="small", description="a"),
        measured([3e-3], label="Sum", sub_label="large", description="a"),
        measured([4e-6], label="Sum", sub_label="small", description="b", num_threads=2),
    ]
    table = benchmark.Compare(times)
    assert [line.split() for line in str(table).splitlines()[1:6]] == [
        ["|", "a", "|", "b"],
        ["1", "threads:", "-" * 21],
        ["small", "|", "2.0", "|"],
        ["large", "|", "3000.0", "|"],
        ["2", "threads:", "-" * 21],
    ]
    assert "Times are in microseconds (us)." in str(table)
    table.trim_significant_figures()
    table.colorize()
    assert "\033[92m\033[1m" in str(table)
    assert benchmark.Measurement.merge([times[0], times[0]])[0].times == [2e-6, 2e-6]
    wide = measured([1e-6, 5e-6, 9e-6])
    assert wide.has_warnings
    assert (wide.median, wide.iqr) == (5e-6, pytest.approx(4e-6))
    assert [benchmark.select_unit(t)[0] for t in (5e-10, 2e-7, 3e-5, 0.1, 7)] == ["ns", "ns", "us", "ms", "s"]


def test_swapped_tensors_stay_the_same_objects() -> None:
    a, b = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.zeros(3, dtype=torch.float64), False)
    a.sum().backward()
    b.note = "x"
    held = (a, b)
    torch.utils.swap_tensors(a, b)
    assert held[0] is a
    assert (a.tolist(), a.dtype, a.requires_grad, a.grad, a.note) == ([0.0] * 3, torch.float64, False, None, "x")
    assert (b.tolist(), b.requires_grad, b.grad.tolist()) == ([1.0, 1.0], True, [1.0, 1.0])
    with pytest.raises(ValueError, match="must be leaves"):
        torch.utils.swap_tensors(b * 2, b)
    with pytest.raises(ValueError, match="of one class"):
        torch.utils.swap_tensors(a, torch.ones(1))
