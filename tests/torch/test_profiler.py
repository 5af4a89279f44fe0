"""``torch.autograd.profiler``."""

from __future__ import annotations

import threading
import time

import pytest
from ferrograd import torch
from ferrograd.torch.autograd.profiler import EventList, FunctionEventAvg, profile, record_function


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
        "multiply": 2,
        "multiply backward": 1,
        "sin": 2,
        "sin backward": 1,
        "sum": 1,
        "sum backward": 1,
        "outer": 2,
        "inner": 2,
    }
    rows = {e.key: e for e in prof.key_averages()}
    assert rows["outer"].cpu_time_total > rows["inner"].cpu_time_total > 20_000
    assert rows["inner"].cpu_time == rows["inner"].cpu_time_total / 2
    assert rows["inner"].self_cpu_time_total == 0
    assert rows["sin"].self_cpu_time_total == rows["sin"].cpu_time_total > 0
    total = prof.total_average()
    assert total.count == 12
    assert total.self_cpu_time_total == prof.self_cpu_time_total < total.cpu_time_total


def test_the_table() -> None:
    rows = EventList(
        FunctionEventAvg(key, n, us, us) for key, n, us in (("a", 1, 5.0), ("b" * 30, 4, 8.0), ("c", 2, 7.0))
    )
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
    assert counts(prof) == {"cos": 1, "region": 1}
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
