"""``torch.autograd.profiler``."""

from __future__ import annotations

import gzip
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from ferrograd import torch as _torch
from ferrograd.torch.autograd.profiler import EventList, FunctionEvent, FunctionEventAvg, profile, record_function

torch: Any = _torch


def counts(prof: profile) -> dict[str, int]:
    return {e.key: e.count for e in prof.key_averages()}


def test_ops_rules_and_regions_are_counted() -> None:
    x = torch.ones(3, requires_grad=True)
    with profile() as prof:
        for _ in range(2):
            with record_function("outer"):
                y = (x * 2).sin()
                with record_function("inner"):
                    time.sleep(0.01)
        y.sum().backward()
    x.cos()
    assert counts(prof) == {
        "aten::mul": 2,
        "MulBackward0": 1,
        "aten::sin": 2,
        "SinBackward0": 1,
        "aten::sum": 1,
        "SumBackward0": 1,
        "outer": 2,
        "inner": 2,
    }
    rows = {e.key: e for e in prof.key_averages()}
    assert rows["outer"].cpu_time_total > rows["inner"].cpu_time_total > 20_000
    assert rows["inner"].cpu_time == rows["inner"].cpu_time_total / 2
    assert rows["inner"].self_cpu_time_total == 0
    assert rows["aten::sin"].self_cpu_time_total == rows["aten::sin"].cpu_time_total > 0
    total = prof.total_average()
    assert total.count == 12
    assert total.self_cpu_time_total == prof.self_cpu_time_total < total.cpu_time_total


def _row(key: str, calls: int, us: float) -> FunctionEventAvg:
    """The row of calls that take as long as each other."""
    row = FunctionEventAvg()
    for n in range(calls):
        row.add(FunctionEvent(n, key, 0, start_us=n, end_us=n + us / calls))
    return row


def test_the_table() -> None:
    rows = EventList(_row(key, n, us) for key, n, us in (("a", 1, 5.0), ("b" * 30, 4, 8.0), ("c", 2, 7.0)))
    table = rows.table().splitlines()
    assert [line.split()[0] for line in table] == ["Name", "a", "b" * 30, "c", "Self"]
    assert table[2].split() == ["b" * 30, "8.000", "8.000", "2.000", "4"]
    assert table[-1] == "Self CPU time total: 0.020ms"
    first = [line.split()[0] for line in rows.table("cpu_time", 2).splitlines()[1:-1]]
    assert first == ["a", "c"]
    assert rows.table("count", row_limit=0).count("\n") == 1
    assert rows.table(row_limit=-1) == rows.table()
    assert rows.table("cuda_time_total") == rows.table("self_device_time_total") == rows.table()
    with pytest.raises(ValueError, match="nothing to sort by"):
        rows.table("cuda_time")


def test_custom_functions_are_regions() -> None:
    @record_function("mine")
    def f(n: int) -> int:
        return n if n == 0 else f(n - 1) + 1

    with profile() as prof:
        assert f(3) == 3
    assert counts(prof) == {"mine": 4}


def test_nested_profiles_and_other_threads() -> None:
    x = torch.ones(2)

    def elsewhere() -> None:
        with record_function("elsewhere"):
            x.sin()

    with profile() as prof:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        x.cos()
        with record_function("region"), profile(enabled=False) as off:
            pass
    assert counts(prof) == {"aten::cos": 1, "region": 1}
    assert str(off) == "<unfinished torch.autograd.profile>"


def test_wrong_arguments_raise() -> None:
    with profile() as prof:
        with pytest.raises(RuntimeError, match="didn't finish running"):
            prof.key_averages()
        with pytest.raises(RuntimeError, match="not reentrant"), prof:
            pass
        assert str(prof) == "<unfinished torch.autograd.profile>"
    assert str(prof) == prof.table()
    with pytest.warns(UserWarning, match="CUDA is not available"):
        profile(use_cuda=True)
    with pytest.raises(ZeroDivisionError), profile() as prof, record_function("fails"):
        raise ZeroDivisionError
    assert counts(prof) == {"fails": 1}


def test_events_lie_between_the_marks_of_regions(tmp_path: Path) -> None:
    x = torch.ones(3, requires_grad=True)
    with profile(with_stack=True, profile_memory=True) as prof:
        with record_function("a"):
            x.sin()
            x.sin().sum().backward()
        with record_function("b"):
            x.cos()
    events: Any = prof.events()
    regions = {e.key: e for e in events if e.is_user_annotation}
    ops = [e for e in events if not e.is_user_annotation]
    assert [e.key for e in events if e.start < regions["b"].start][:2] == ["a", "aten::sin"]
    assert all(e.start >= regions["a"].start for e in ops)
    assert [e.key for e in ops if e.start >= regions["b"].start] == ["aten::cos"]
    assert {e.key: e.cpu_memory_usage for e in prof.key_averages()}["aten::cos"] == 12
    # The two calls of the sine stand in two lines.
    assert [e.count for e in prof.key_averages(group_by_stack_n=1) if e.key == "aten::sin"] == [1, 1]
    assert all("test_profiler.py:" in e.stack[0] for e in ops if "Backward" not in e.key)
    table = prof.key_averages().table("self_cpu_memory_usage").splitlines()
    assert "CPU Mem  Self CPU Mem" in table[0]
    assert table[1].split()[0] == "aten::sin"
    assert "24 b" in table[1]
    path = tmp_path / "trace.json.gz"
    prof.export_chrome_trace(path)
    trace = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    found = {"aten::sin", "SinBackward0", "aten::sum", "SumBackward0", "aten::cos"}
    assert {e["name"] for e in trace} == {"a", "b", *found}
    assert all(e["ph"] == "X" and e["dur"] >= 0 and e["ts"] >= 0 for e in trace)


def test_events_know_what_ran_inside_of_them() -> None:
    """An event lies in the shortest one of its thread that holds it; those that only overlap are apart."""
    spans = {0: (0, 1), 1: (1, 2), 2: (0, 2), 3: (1, 2), 4: (1, 3), 5: (1, 2)}
    events = EventList(FunctionEvent(i, f"e{i}", i // 2 * 2 if i < 5 else 4, *span) for i, span in spans.items())
    events._populate_cpu_children()
    inside = {e.id: [child.id for child in e.cpu_children] for e in events}
    assert inside == {0: [], 1: [], 2: [3], 3: [], 4: [5], 5: []}
    assert events[3].cpu_parent is events[2]
    assert [e.self_cpu_time_total for e in events] == [1, 1, 1, 1, 1, 1]
    with pytest.raises(ValueError, match="an event of 'e0' is wanted, not of 'e1'"):
        FunctionEventAvg().add(events[0]).add(events[1])


def test_regions_by_handle() -> None:
    x = torch.ones(2)
    with profile() as prof:
        handle = torch.ops.profiler._record_function_enter("bar", None)
        x.sin()
        torch.ops.profiler._record_function_exit(handle)
    [region] = [e for e in prof.function_events if e.key == "bar"]
    assert [child.key for child in region.cpu_children] == ["aten::sin"]


def test_events_stand_in_the_order_of_first_calls_and_keep_names_of_custom_functions() -> None:
    class Doubled(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        y = (x.sin() + 1).cos()
    assert [e.name for e in prof.function_events] == ["aten::sin", "aten::add", "aten::cos"]
    with profile() as prof:
        Doubled.apply(y).sum().backward()
    assert {"DoubledBackward", "aten::mul", "CosBackward0"} <= counts(prof).keys()


def test_stacks(tmp_path: Path) -> None:
    path, x = tmp_path / "stacks.txt", torch.ones(300, 300)
    with profile(with_stack=True) as prof:
        x @ x
    prof.export_stacks(path)
    where, us = path.read_text().split()
    assert where.endswith(";aten::mm")
    assert "test_profiler.py:" in where
    assert int(us) > 0
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(path, "count")
    with profile() as prof:
        x.sin()
    with pytest.raises(RuntimeError, match="with_stack=True"):
        prof.export_stacks(path)


def _schedule_of(**options: int) -> list[str]:
    return [torch.profiler.schedule(**options)(n).name for n in range(9)]


def test_schedules() -> None:
    """The actions are those of PyTorch."""
    none, warm, record, save = "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"
    assert _schedule_of(wait=1, warmup=1, active=2) == [none, warm, record, save] * 2 + [none]
    once = _schedule_of(wait=0, warmup=0, active=2, repeat=1, skip_first=2)
    assert once == [none, none, record, save, none, none, none, none, none]
    early = _schedule_of(wait=3, warmup=0, active=1, skip_first=1, skip_first_wait=1)
    assert early == [none, save, none, none, none, save, none, none, none]
    with pytest.raises(ValueError, match="Invalid profiler schedule"):
        torch.profiler.schedule(wait=0, warmup=0, active=0)


@pytest.mark.parametrize("accumulates", [False, True])
def test_a_profile_honours_its_schedule(accumulates: bool) -> None:
    found: list[tuple[int, dict[str, int]]] = []

    def ready(prof: Any) -> None:
        found.append((prof.step_num, {e.key: e.count for e in prof.key_averages()}))

    plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with torch.profiler.profile(schedule=plan, on_trace_ready=ready, acc_events=accumulates) as prof:
        for n in range(10):
            [torch.ones(2).sin() for _ in range(n)]
            prof.step()
    once = {"aten::ones": 5, "aten::sin": 5, "ProfilerStep*": 2}
    again = {"aten::ones": 13, "aten::sin": 13, "ProfilerStep*": 2}
    both = {key: once[key] + again[key] for key in once}
    assert [step for step, _ in found] == [4, 8]
    wanted = [once, both if accumulates else again]
    assert [{key: seen[key] for key in once if key in seen} for _, seen in found] == [
        {key: one[key] for key in once if key in seen} for one, (_, seen) in zip(wanted, found, strict=True)
    ]
    steps = [e for e in prof.events() if e.key.startswith("ProfilerStep#")]
    assert [e.key for e in steps] == [f"ProfilerStep#{n}" for n in ([2, 3] * accumulates + [6, 7])]


def test_a_cycle_that_is_cut_short() -> None:
    found: list[int] = []
    plan = torch.profiler.schedule(wait=1, warmup=0, active=5)
    with torch.profiler.profile(schedule=plan, on_trace_ready=lambda p: found.append(p.step_num)) as prof:
        for _ in range(3):
            torch.ones(2).sin()
            prof.step()
    assert found == [3]
    with torch.profiler.profile(schedule=plan, on_trace_ready=lambda p: found.append(p.step_num)):
        torch.ones(2).sin()
    # The only step waited.
    assert found == [3]


def test_metadata_are_in_the_trace(tmp_path: Path) -> None:
    with torch.profiler.profile() as prof:
        torch.ones(2).sin()
        prof.add_metadata("who", "me")
        prof.add_metadata_json("sizes", "[1, 2]")
    prof.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert (trace["who"], trace["sizes"]) == ("me", [1, 2])


def test_events_and_tables_have_torch_names() -> None:
    assert not torch.autograd.kineto_available()
    region = torch.autograd.profiler.record_function("mine")
    with torch.autograd.profiler.profile(use_kineto=torch.autograd.kineto_available()) as prof, region:
        torch.ones(2).sin()
    assert [e.key for e in prof.function_events if e.key == "mine"] == ["mine"]
    assert prof.table(header="HEAD", max_src_column_width=10).splitlines()[0] == "HEAD"
    assert prof.table() == str(prof)
