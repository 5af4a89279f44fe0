"""What a compiled function says of its programs: pictures, profiles, lines of errors, and printed values."""

from __future__ import annotations

import warnings
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import pytest


def wide(x: Any) -> Any:
    y = fg.reshape(x, (-1, 1)) + fg.reshape(x, (1, -1))
    z = fg.exp(y)
    return z.sum(axis=0)


def test_a_program_is_drawn_as_a_record_is() -> None:
    w = fg.ones(3).requires_grad_()
    f = fg.compile(lambda x: (fg.sin(x) * w).sum())
    x = fg.ones(3)
    f(x)
    graph = f.graph()
    assert [node.op for node in graph] == [node.op for node in fg.graph(f._function(x.requires_grad_()))]
    assert [node.op for node in graph.roots] == ["sum"]
    assert {node.name for node in graph.leaves} == {"tensor 0 of the arguments", "tensor 1 of the arguments"}
    assert all("test_seeing.py" in str(node.site) for node in graph if not node.is_leaf)
    assert graph.to_svg().startswith("<svg")
    assert "multiply" in graph.to_text()
    assert "multiply" in [node.op for node in f.graph(gradients=True)]
    plain = fg.compile(fg.sin)
    plain(fg.ones(2))
    with pytest.raises(fg.CompileError, match="has no gradients"):
        plain.graph(gradients=True)
    with pytest.raises(fg.CompileError, match="graph: sin has no program yet"):
        fg.compile(fg.sin).graph()


def test_the_profile_of_replayed_time_names_the_lines() -> None:
    f = fg.compile(wide)
    x = fg.ones(200)
    wanted = f(x)
    with fg.profile(sites=True) as profile:
        for _ in range(3):
            assert (f(x) == wanted).all()
    assert f.cache_info().hits == 3
    calls = {(op, int(site.rpartition(":")[2])): ahead.calls for (op, site), (ahead, _) in profile.sites.items()}
    first = wide.__code__.co_firstlineno
    assert {("add", first + 1): 3, ("exp", first + 2): 3, ("sum", first + 3): 3}.items() <= calls.items()


def test_a_profiled_program_has_the_bits_of_the_function() -> None:
    f = fg.compile(lambda x: fg.tanh(x) * x)
    x = fg.tensor([0.5, -2.0, 3.0])
    with fg.profile() as profile:
        assert f(x).tolist() == f(x).tolist() == (fg.tanh(x) * x).tolist()
    assert "tanh" in str(profile)
    # What else is watched needs the function itself.
    with fg.debug_nans(), pytest.raises(fg.NotFiniteError):
        fg.compile(lambda x: fg.log(-x))(fg.ones(2))


def test_an_error_in_a_run_names_the_line() -> None:
    @fg.compile
    def solves(a: Any) -> Any:
        b = a * 2.0
        return fg.linalg.cholesky(b)

    solves(fg.eye(3))
    with pytest.raises(fg.LinAlgError) as caught:
        solves(-fg.eye(3))
    (note,) = caught.value.__notes__
    assert note.startswith("in a compiled program: linalg.cholesky, applied at ")
    assert f"test_seeing.py:{solves._function.__code__.co_firstlineno + 3}" in note


def test_explain_names_the_line_where_a_trace_was_given_up() -> None:
    def f(x: Any) -> Any:
        if x.sum() > 0:
            return x
        return -x

    compiled = fg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(fg.ones(2))
    line = f.__code__.co_firstlineno + 1
    assert "not compiled: its numbers are read at " in compiled.explain()
    assert f"test_seeing.py:{line}" in compiled.explain()


def test_values_are_printed_in_each_run_and_in_order(capsys: Any) -> None:
    @fg.compile
    def f(x: Any) -> Any:
        y = x * 2.0
        fg.debug_print("first {}", y)
        z = fg.exp(y)
        fg.debug_print("then {a[0]} and {a[1]} and {b}", a=[z, (1, None)], b="text")
        fg.debug_print("nothing")
        return z.sum()

    for value in (0.0, 1.0, 2.0):
        x = fg.tensor([value])
        f(x)
        y = x * 2.0
        wanted = [f"first {y}", f"then {fg.exp(y)} and (1, None) and text", "nothing"]
        assert capsys.readouterr().out.splitlines() == wanted
    assert f.cache_info().hits == 2


def test_what_is_printed_is_computed_for_that_alone(capsys: Any) -> None:
    @fg.compile
    def f(x: Any) -> Any:
        fg.debug_print("{}", (x * 3.0).sum().reshape(1))
        return x

    f(fg.ones(2))
    f(fg.ones(2) * 2)
    assert capsys.readouterr().out.splitlines() == [str(fg.tensor([6.0])), str(fg.tensor([12.0]))]


def test_printing_where_a_trace_is_given_up_happens_once(capsys: Any) -> None:
    def f(x: Any) -> Any:
        fg.debug_print("{}", x)
        return x * 2 if x.sum() > 0 else x

    compiled = fg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            compiled(fg.ones(1))
    assert capsys.readouterr().out.splitlines() == [str(fg.ones(1))] * 3


def test_printing_in_a_hook_shows_the_gradient(capsys: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        y.register_hook(lambda g: fg.debug_print("{}", g))
        return (y * y).sum()

    compiled = fg.compile(f)
    for value in (1.0, 2.0, 3.0):
        x = fg.tensor([value]).requires_grad_()
        compiled(x).backward(fg.tensor(10.0))
        # y is 2 x, and the gradient that arrives there is 10 · 2 y.
        assert capsys.readouterr().out.splitlines() == [str(fg.tensor([40.0 * value]))]


def test_printing_keeps_the_dialect_and_raises_what_formatting_raises(capsys: Any) -> None:
    def shown(text: str) -> Any:
        def f(x: Any) -> Any:
            fg.debug_print(text, x * 2)
            return x.sum()

        return torch.compile(f)

    f = shown("{}")
    for value in (1.0, 2.0):
        f(torch.tensor([value]))
        assert capsys.readouterr().out.strip() == str(torch.tensor([2 * value]))
    with pytest.raises(IndexError):
        shown("{} {}")(fg.ones(2))


def test_a_program_that_prints_is_not_saved(tmp_path: Any) -> None:
    @fg.compile
    def f(x: Any) -> Any:
        fg.debug_print("{}", x)
        return x.sum()

    with pytest.raises(
        fg.ArgumentError, match=r"debug_print, applied at .*test_seeing.py.*, is an op that a file cannot"
    ):
        f.save(tmp_path / "program", fg.ones(2))
