"""What a compiled function looks at when it is called, and when it needs Python for that."""

from __future__ import annotations

import dataclasses
import gc
import math
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import func

SCALE: Any = 2.0


def runs(f: Any) -> int:
    """How many calls ran without Python."""
    count: int = f._runs
    return count


def test_calls_that_are_alike_run_without_python() -> None:
    f = fg.compile(lambda x, y: (x * y, [x + y][0]), fullgraph=True)
    for k in range(4):
        a, b = fg.full([3], k), fg.ones([3])
        found = f(a, b)
        assert isinstance(found, tuple)
        assert [y.tolist() for y in found] == [[k] * 3, [k + 1] * 3]
    assert runs(f) == 3
    assert f.cache_info().hits == 3


def test_keywords_are_told_apart_without_python() -> None:
    f = fg.compile(lambda x, *, by=1.0, more=None: x * by + (0 if more is None else more["k"]), fullgraph=True)
    x, y = fg.tensor([1.0, 2.0]), fg.tensor([10.0, 20.0])
    calls: Any = [{"by": 2.0}, {"by": x}, {"by": y}, {"by": 2.0, "more": {"k": y}}, {"more": {"k": y}}]
    for kwargs in calls:
        before = runs(f)
        for _ in range(3):
            wanted = x * kwargs.get("by", 1.0) + kwargs.get("more", {"k": 0})["k"]
            assert f(x, **kwargs).tolist() == wanted.tolist()
        assert runs(f) >= before + 2
    assert f(x).tolist() == x.tolist()


def test_attributes_that_no_code_names_are_looked_at_without_python() -> None:
    class Settings:
        by = 2.0

    settings = Settings()
    f = fg.compile(lambda x, name="by": x * getattr(settings, name), fullgraph=True)
    x = fg.tensor([1.0, 2.0])
    for by in (2.0, 3.0):
        if by != 2.0:
            settings.by = by  # It hides the attribute of the class.
        for _ in range(4):
            assert f(x).tolist() == [by, 2 * by]
    assert runs(f) == 6
    del settings.by
    assert f(x).tolist() == [2.0, 4.0]
    settings.other = 5.0  # type: ignore[attr-defined]
    assert f(x, "other").tolist() == [5.0, 10.0]


@pytest.mark.filterwarnings("ignore:compile. <lambda> has been traced 8 times")
def test_another_kind_of_argument_is_another_program() -> None:
    f = fg.compile(lambda x, k=1, *more: [x * k, *more], fullgraph=True)
    x = fg.tensor([1.0, 2.0])
    calls: Any = [
        (x,),
        (x, 2),
        (x, 2.0),
        (x, True),
        (x, 0.0),
        (x, -0.0),
        (x, x),
        (x, fg.tensor([1.0, 2.0])),
        (fg.cast(x, "float64"),),
        (x[None],),
        (x[:1],),
        (fg.flip(x, 0),),
    ]
    for _ in range(2):
        for args in calls:
            for _ in range(2):
                found, wanted = f(*args), [args[0] * (args[1] if len(args) > 1 else 1)]
                assert [y.numpy().tobytes() for y in found] == [y.numpy().tobytes() for y in wanted]
                assert [y.dtype for y in found] == [y.dtype for y in wanted]
    # -0.0 and 0.0 are told apart, and so are one tensor twice and two equal ones.
    assert math.copysign(1, f(x, -0.0)[0].tolist()[0]) == -1


def test_names_and_containers_are_looked_at_in_each_call() -> None:
    global SCALE
    factor: Any = 3.0
    parts: list[Any] = [fg.ones([2]), 4.0]
    named = {"shift": fg.ones([2])}

    def g(x: Any) -> Any:
        return x * factor * SCALE + parts[0] * parts[1] + named["shift"]

    f = fg.compile(g, fullgraph=True)
    x = fg.ones([2])

    def check() -> None:
        for _ in range(3):
            assert f(x).tolist() == g(x).tolist()

    try:
        check()
        before = runs(f)
        factor = 5.0
        check()
        SCALE = fg.full([2], 7.0)
        check()
        parts[1] = 6.0
        check()
        parts[0] = fg.zeros([2])
        check()
        named["shift"] = fg.full([2], 9.0)
        check()
        named["shift"][0] = 1.0
        check()
        assert runs(f) > before
    finally:
        SCALE = 2.0


def test_modes_are_looked_at_in_each_call() -> None:
    f = fg.compile(lambda x: x * 2, fullgraph=True)
    x = fg.tensor([1.0, 1.0], requires_grad=True)
    with fg.no_grad():
        for _ in range(3):
            assert not f(x).requires_grad
    assert runs(f) == 2
    y = f(x)
    assert y.requires_grad
    assert fg.grad(y.sum(), x).tolist() == [2, 2]
    assert runs(f) == 2
    assert func.vmap(f)(fg.ones([3, 2])).tolist() == [[2, 2]] * 3
    assert func.grad(lambda x: f(x).sum())(fg.ones([2])).tolist() == [2, 2]


def test_writes_through_the_short_way_and_keywords() -> None:
    def g(x: Any, by: Any) -> Any:
        x += by
        return x * 1

    f = fg.compile(g, fullgraph=True)
    x = fg.zeros([2])
    for k in range(1, 5):
        assert f(x, 2.0).tolist() == [2 * k] * 2
        assert x.tolist() == [2 * k] * 2
    assert f(x, by=2.0).tolist() == [10, 10]


def test_errors_of_a_program_and_forgotten_programs() -> None:
    f = fg.compile(lambda x, i: x[i], fullgraph=True)
    x = fg.arange(4.0)
    for _ in range(3):
        assert f(x, fg.tensor([1])).tolist() == [1]
    with pytest.raises(fg.IndexOutOfRange):
        f(x, fg.tensor([7]))
    assert f(x, fg.tensor([-1])).tolist() == [3]
    g = fg.compile(lambda x, i: x[i])
    y = torch.arange(4.0)
    assert g(y, torch.tensor([1])).tolist() == [1]
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 0 with size 4"):
        g(y, torch.tensor([7]))
    f.cache_clear()
    assert f.cache_info().currsize == 0
    assert f(x, fg.tensor([2])).tolist() == [2]
    assert f.cache_info().misses == 2


def test_a_compiled_function_in_a_cycle_is_collected() -> None:
    class Weighed:
        def __init__(self) -> None:
            self.weight = fg.ones([2])
            self.run = fg.compile(lambda x: x * self.weight)

    owner = Weighed()
    for _ in range(3):
        owner.run(fg.ones([2]))
    gone = weakref.ref(owner.run)
    del owner
    gc.collect()
    assert gone() is None


def test_several_threads_call_the_same_function() -> None:
    f = fg.compile(lambda x: fg.tanh(x) * x + 1, fullgraph=True)
    wrong: list[int] = []

    def work(k: int) -> None:
        x = fg.full([k + 1], k / 4)
        wanted = (fg.tanh(x) * x + 1).numpy()
        for _ in range(200):
            if not np.array_equal(f(x).numpy(), wanted):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_numpy_arrays_among_the_arguments_become_tensors() -> None:
    f = fg.compile(lambda p, k: fg.sin(p["x"]) * k + p["rest"][0])
    for i in range(3):
        x, y = np.arange(3.0) + i, np.ones(3, np.float32)
        found = f({"x": x, "rest": (y, "name")}, 2)
        assert isinstance(found, fg.Tensor)
        np.testing.assert_array_equal(found.numpy(), (fg.sin(fg.tensor(x)) * 2 + fg.tensor(y)).numpy())
    assert f.cache_info().hits == 2


def test_what_became_of_a_trace_is_explained() -> None:
    def f(x: Any) -> Any:
        y = fg.exp(x) * 1 + fg.exp(x)
        fg.sin(x)
        return (y.T @ y).sum()

    compiled = fg.compile(f)
    compiled(fg.ones((4, 3)).requires_grad_())
    lines = compiled.explain().splitlines()
    # A repetition, a product with one, a transpose and a sine that nobody reads are left out.
    assert "8 ops recorded, 5 without views, repetitions and constants, 4 needed; 3 passes" in lines[1]
    # 12 exponentials, which the gradients read, 12 sums, 9 numbers of the product, and their sum.
    assert "at most 136 bytes of values" in lines[1]
    assert [line.split()[:2] for line in lines[2:6]] == [["1", "exp"], ["1", "add"], ["2", "matmul"], ["3", "sum"]]
    assert __file__ in lines[2]
    assert lines[6].startswith("  gradients: ")


def test_the_time_of_a_trace_grows_with_its_length_and_its_tensors() -> None:
    def seconds(n: int, times: int) -> tuple[float, float]:
        """What the processor takes for traces of so many ops, and for calls of what was traced."""
        weights = [fg.ones((2, 2)) for _ in range(n)]

        def f(x: Any) -> Any:
            for w in weights:
                x = fg.tanh(x @ w)
            return x

        x = fg.ones((1, 2))
        compiled = [fg.compile(f) for _ in range(times)]
        begin = time.process_time()
        for g in compiled:
            g(x)
        traced = time.process_time()
        for g in compiled * 10:
            g(x)
        return traced - begin, time.process_time() - traced

    # As many ops in short functions and in a long one. What compares each with each other one would take 16 times as
    # long for the long one. On a busy machine both vary, and the shortest of several times the least.
    few, many = [], []
    for _ in range(8):
        few.append(seconds(500, 16))
        many.append(seconds(8000, 1))
        ratios = [min(b) / min(a) for a, b in zip(zip(*few, strict=True), zip(*many, strict=True), strict=True)]
        if max(ratios) < 5:
            break
    assert max(ratios) < 5, ratios


def test_ctrl_c_before_a_trace_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    w = fg.zeros(2)
    f = fg.compile(lambda x: w.add_(x) * 2)
    with monkeypatch.context() as patch:
        patch.setattr("ferrograd._compile.function.Watch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            f(fg.ones(2))
    for i in range(3):
        assert f(fg.ones(2)).tolist() == [2.0 * (i + 1)] * 2
    assert f.cache_info().hits == 2


def test_threads_that_call_a_function_for_the_first_time_at_once() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            w = fg.zeros(1)
            f = fg.compile(lambda x: (w * x, x * 2))  # noqa: B023
            barrier = threading.Barrier(3)
            results: list[Any] = []

            def work() -> None:
                barrier.wait()  # noqa: B023
                for _ in range(3):
                    results.append(f(fg.ones(1))[1].item())  # noqa: B023

            threads = [threading.Thread(target=work) for _ in range(3)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert results == [2.0] * 9
            assert not f._eager
    finally:
        sys.setswitchinterval(before)


def test_variables_of_functions_of_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ferrograd._compile.function._PLACES", 20)
    f = fg.compile(lambda x, g: g(x), maxsize=4)
    for i in range(60):
        assert f(fg.ones(1), lambda x, i=i: x * i).item() == i
    assert len(f._names.places) < 30


def test_calls_of_many_shapes_run_without_python() -> None:
    weight = fg.tensor([1.0, 2.0], requires_grad=True)
    f = fg.compile(lambda x: (x * weight).sum(0), fullgraph=True, dynamic=True)
    for _ in range(3):
        for n in range(10):
            assert f(fg.ones([n, 2])).tolist() == [n, 2.0 * n]
    assert f.cache_info()[:2] == (20, 10)
    before = runs(f)
    for n in range(10):
        assert fg.grad(f(fg.ones([n, 2])).sum(), weight).tolist() == [n, n]
    assert runs(f) == before + 10


def test_shapes_that_go_on_to_vary_run_uncompiled_after_some_traces() -> None:
    weight = fg.tensor([1.0, 2.0], requires_grad=True)
    f = fg.compile(lambda x: (x * weight).sum(0), dynamic=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(40):
            found = f(fg.ones([n, 2]))
            assert found.tolist() == [n, 2.0 * n]
            assert fg.grad(found.sum(), weight).tolist() == [n, n]
    assert ["has programs for 16 shapes" in str(warning.message) for warning in caught] == [True]
    assert f.cache_info()[1:3] == (16, 24)
    assert "not compiled: it has programs for 16 shapes" in f.explain()
    hits = f.cache_info().hits
    assert f(fg.ones([3, 2])).tolist() == [3, 6]
    assert f.cache_info().hits == hits + 1
    assert f(fg.ones([4, 2], dtype=fg.float64)).dtype == fg.float64
    f.cache_clear()
    assert f(fg.ones([100, 2])).tolist() == [100, 200]
    assert f.cache_info()[1] == 17


class Scaled:
    """Its attributes are a set and shapes, one of them a subclass of tuple."""

    def __init__(self) -> None:
        self.kinds = {"a", "b"}
        self.shape = torch.ones(2, 3).shape
        self.sizes = (1, 2)

    def __call__(self, x: Any) -> Any:
        return x * len(self.kinds) + sum(self.shape) + self.sizes[0]


def test_sets_and_shapes_are_compared_without_python() -> None:
    scaled = Scaled()
    f = fg.compile(scaled, fullgraph=True)
    changes: list[Callable[[], Any]] = [
        lambda: None,
        lambda: scaled.kinds.add("c"),
        lambda: setattr(scaled, "shape", torch.ones(4, 3).shape),
        lambda: setattr(scaled, "shape", (4, 3)),
        lambda: setattr(scaled, "kinds", {"a", "d", "e"}),
    ]
    for change in changes:
        change()
        before = runs(f)
        for _ in range(3):
            assert f(fg.ones(2)).tolist() == [float(len(scaled.kinds) + sum(scaled.shape) + 1)] * 2
        assert runs(f) == before + 2


@dataclasses.dataclass
class Output:
    loss: Any = None
    logits: Any = None


def test_a_module_that_returns_a_dataclass_runs_without_python() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 3)

        def forward(self, x: Any) -> Any:
            logits = self.layer(x)
            return Output(logits.sum(), logits)

    model: Any = Model()
    f: Any = fg.compile(model, fullgraph=True)
    for k in range(4):
        found = f(torch.full((1, 2), float(k)))
        assert isinstance(found, Output)
        assert found.logits.tolist() == model(torch.full((1, 2), float(k))).logits.tolist()
    assert runs(f) == 3


def test_a_call_that_has_no_program_is_told_without_python() -> None:
    f = fg.compile(lambda x: x * float(x.sum()) if x.ndim == 1 else x * 2)
    with pytest.warns(UserWarning, match="<lambda> runs uncompiled"):
        f(fg.ones([2]))
    f(fg.ones([2]))
    before = runs(f)
    for k in range(3):
        assert f(fg.full([2], float(k))).tolist() == [2.0 * k * k] * 2
    assert runs(f) == before + 3
    # Other tensors have programs all the same.
    for k in range(3):
        assert f(fg.full([1, 2], float(k))).tolist() == [[2.0 * k] * 2]
    assert f.cache_info()[:3] == (2, 2, 5)


@pytest.mark.parametrize("reads", [False, True])
def test_a_function_that_each_call_would_trace_again_runs_as_it_is(reads: bool) -> None:
    f = fg.compile(lambda x, step: x * step + (float(x.sum()) if reads else 0.0), maxsize=2)

    def call_with_many() -> None:
        for step in range(200):
            assert f(fg.ones([2]), step).tolist() == [step + 2.0 * reads] * 2

    varies = "each of its last 64 calls took a trace, because argument 1 is another one"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="compile: <lambda> has been traced 8 times")
        with pytest.warns(UserWarning, match="its numbers are read" if reads else varies):
            call_with_many()
    assert f.cache_info().misses < 70
    f.cache_clear()
    f(fg.ones([2]), 0)
    assert f.cache_info().misses < 71 + reads


def test_the_number_of_programs_is_not_negative() -> None:
    with pytest.raises(fg.ArgumentError, match="maxsize is a number of programs, not -1"):
        fg.compile(lambda x: x, maxsize=-1)


def test_results_of_structures() -> None:
    step = fg.compile(lambda p: ({"w": p["w"] * 2, 1: [p["b"]], "n": (3, None, "text", True, 0.5)}, [p["b"] + 1]))
    w, b = fg.ones(2), fg.zeros(1)
    for _ in range(3):
        result = step({"w": w, "b": b})
    first = step({"w": w, "b": b})
    assert runs(step) > 0
    for found in (result, first):
        assert list(found[0]) == ["w", 1, "n"]
        assert (found[0]["w"].tolist(), found[0][1][0].tolist(), found[1][0].tolist()) == ([2.0, 2.0], [0.0], [1.0])
        assert found[0]["n"] == (3, None, "text", True, 0.5)
    first[0]["w"] = None
    first[1].append(1)
    again = step({"w": w, "b": b})
    assert (again[0]["w"].tolist(), len(again[1])) == ([2.0, 2.0], 1)
    w.requires_grad = True
    for _ in range(3):
        tracked = step({"w": w, "b": b})
    assert tracked[0]["w"].requires_grad
    tracked[0]["w"].sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_a_function_that_returns_a_leaf_of_its_own_runs_as_it_is() -> None:
    def f(y: Any) -> Any:
        x = fg.tensor([1.0, 2.0], requires_grad=True)
        return x, (x * y).sum()

    compiled = fg.compile(f)
    with pytest.warns(UserWarning, match="it returns a tensor that it has made and that requires grad"):
        compiled(fg.ones(2))
    for _ in range(2):
        x, y = compiled(fg.tensor([3.0, 4.0]))
        y.backward()
        assert x.is_leaf
        assert x.grad.tolist() == [3.0, 4.0]
    w = fg.tensor([3.0], requires_grad=True)
    returned = fg.compile(lambda y: (w, y * 2), fullgraph=True)
    assert all(returned(fg.ones(2))[0] is w for _ in range(2))
