"""Depth and memory: long chains, leaves with many uses, and nodes that are freed with their last reference."""

import gc
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

from tests.engine.test_threads import run_program, script


@pytest.mark.parametrize("what", ["backward", "drop", "create_graph"])
def test_a_chain_of_a_million_nodes_is_dropped_without_recursion(what: str) -> None:
    script(f"""
        n = 1_000_000
        x = fg.tensor(1.0, requires_grad=True)
        y = x
        for _ in range(n):
            y = fg.sin(y) if "{what}" == "create_graph" else y + 1.0
        if "{what}" == "backward":
            fg.backward(y)
            assert x.grad.item() == 1.0
        if "{what}" == "create_graph":
            g = fg.grad(y, x, create_graph=True)
            assert fg._core.live_nodes() > 2 * n
            del g
        del y
        x = None
        assert fg._core.live_nodes() == 0, fg._core.live_nodes()
    """)


def test_nodes_are_freed_without_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        before = fg._core.live_nodes()
        x = fg.tensor(np.ones(3), requires_grad=True)
        w = fg.tensor(np.ones((3, 3)), requires_grad=True)
        y = (fg.sin(w @ x) * x).sum()
        dx = fg.grad(y, x, create_graph=True)
        fg.backward((dx * dx).sum())
        assert fg._core.live_nodes() > before
        del x, w, y, dx
        assert fg._core.live_nodes() == before
    finally:
        gc.enable()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_large_leaf_used_often_needs_little_memory(threads: int) -> None:
    out = script(f"""
        fg._core.set_num_threads({threads})
        x = fg.tensor(np.ones(1_000_000, dtype=np.float32), requires_grad=True)
        c = fg.tensor(np.ones(1_000_000, dtype=np.float32))
        fg.backward((x * c).sum())
        y = x * c
        for _ in range(99):
            y = y + x * c
        y = y.sum()
        open("/proc/self/clear_refs", "w").write("5")
        before = peak()
        fg.backward(y)
        print(peak() - before)
    """)
    assert float(out) <= 70


def test_freed_buffers_are_kept_for_reuse_up_to_a_limit() -> None:
    script("""
        fg.empty_cache()
        x = fg.tensor(np.full(100_000, 3.0))
        del x
        assert fg.empty_cache() >= 800_000 and fg.empty_cache() == 0
        y = fg.tensor(np.full(100_000, 3.0))
        del y
        assert (np.asarray(fg.zeros(100_000)) == 0).all()
        before = fg.set_cache_limit(0)
        del_me = fg.ones(100_000) + 1.0
        del del_me
        assert fg.empty_cache() == 0 and fg.set_cache_limit(before) == 0
    """)
    with pytest.raises(fg.ArgumentError, match="set_cache_limit: -1"):
        fg.set_cache_limit(-1)


def test_memory_that_nobody_takes_goes_back_to_the_system() -> None:
    script("""
        from tests.waiting import until
        def resident():
            lines = dict(line.split(":") for line in open("/proc/self/status"))
            return int(lines["RssAnon"].split()[0]) / 1024
        small = fg.ones(100_000)
        small + 1
        before = resident()
        y = [fg.ones(2_000_000) + i for i in range(20)]
        del y
        assert resident() > before + 100
        def less():
            small + 1
            return resident() < before + 30
        assert until(less)
    """)


@pytest.mark.parametrize(
    ("text", "limit"), [("0", 0), ("1000", 1000), ("64M", 64 << 20), ("1g", 1 << 30), ("", 256 << 20)]
)
def test_the_environment_sets_the_limit_of_memory_that_is_kept(
    text: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FERROGRAD_CACHE_LIMIT", text)
    assert script("print(fg.set_cache_limit(0))") == f"{limit}\n"


@pytest.mark.parametrize("text", ["much", "-1", "1.5G", "5 MB"])
def test_a_wrong_limit_is_an_error_at_import(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FERROGRAD_CACHE_LIMIT", text)
    assert f"FERROGRAD_CACHE_LIMIT is '{text}': a number of bytes is wanted" in run_program("").stderr


def test_a_safetensors_file_is_in_memory_once_while_it_is_read(tmp_path: Any) -> None:
    out = script(f"""
        import ferrograd.torch as torch
        from ferrograd.torch import safetensors
        path = {str(tmp_path / "weights")!r}
        first = torch.arange(15_000_000, dtype=torch.float32)
        safetensors.save_file({{"a": first, "b": first.to(torch.bfloat16)}}, path)
        fg.empty_cache()
        open("/proc/self/clear_refs", "w").write("5")
        before = peak()
        found = safetensors.load_file(path)
        print(peak() - before)
        assert bool((found["a"] == first).all()) and bool((found["b"] == first.to(torch.bfloat16)).all())
    """)
    assert 85 <= float(out) <= 130
