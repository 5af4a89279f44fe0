"""Errors about missing gradients name the tensor, the line that made it, and what cut the gradient off."""

from __future__ import annotations

import inspect
import re
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import paddle, torch


def leaf(values: object, name: str | None = None) -> fg.Tensor:
    x = fg.tensor(np.asarray(values, dtype=np.float64), requires_grad=True)
    x.name = name
    return x


def line(offset: int = 0) -> str:
    """The caller's line in the format of errors."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return rf"test_errors\.py:{frame.f_back.f_lineno + offset}\b"


def test_an_unused_input_is_named_with_its_line() -> None:
    x = leaf([1.0, 2.0], "weights")
    y = x * 1.0
    made = line(-1)
    gist = r"index 0 appears to not have been used in the graph: no output depends on"
    with pytest.raises(fg.UnusedInputError, match=rf"{gist} 'weights' \(float64\[2\], made at .*test_errors\.py:\d+\)"):
        fg.grad(leaf([1.0]).sum(), [x])
    with pytest.raises(fg.UnusedInputError, match=rf"{gist} it \(float64\[2\], made at .*{made}\)"):
        fg.grad(leaf([1.0]).sum(), [y])
    with pytest.raises(fg.UnusedInputError, match=rf"{gist} 'weights' "):
        fg.grad(leaf([1.0]).sum(), [fg.get_gradient_edge(x)])
    with pytest.raises(fg.UnusedInputError, match=r"index 0 .*'weights' .* among no_grad_vars.*allow_unused=True"):
        fg.grad(y.sum(), [x], no_grad_vars=[x])


def test_an_unused_input_says_what_cut_paths_off() -> None:
    x, w = leaf([1.0]), leaf([2.0])
    hidden = fg.sin(x).detach()
    cut = line(-1)
    with pytest.raises(fg.UnusedInputError, match=rf"paths end: detach\(\) or \.data at .*{cut} cut it off"):
        fg.grad((fg.exp(hidden * 2.0) * w).sum(), [x])
    with fg.no_grad():
        off = line(-1)
        hidden = fg.sin(x)
    with pytest.raises(fg.UnusedInputError, match=rf"recording was off \(no_grad since .*{off}\)"):
        fg.grad((hidden * w).sum(), [x])
    with pytest.raises(fg.UnusedInputError, match="integers and booleans have no derivative"):
        fg.grad(((x > 0.0) * w).sum(), [x])
    with pytest.raises(fg.UnusedInputError) as caught:
        fg.grad((w * 3.0).sum(), [x])
    assert "paths end" not in str(caught.value)


def test_a_few_reasons_are_given_each_once() -> None:
    x, w = leaf([1.0]), leaf([2.0])
    for _ in range(10):
        w = w * x.detach()
    parts = [x.detach() for _ in range(2)]
    parts = [*parts, x.detach(), x.detach(), x.detach()]
    for part in parts:
        w = w * part
    with pytest.raises(fg.UnusedInputError) as caught:
        fg.grad(w.sum(), [x])
    assert str(caught.value).count("cut it off") == 3


def test_an_untracked_input_says_why() -> None:
    x = leaf([1.0])
    y = (x * 1.0).sum()
    with pytest.raises(
        fg.UnusedInputError, match=r"it \(float64\[1\]\) is not tracked .*: detach\(\) or \.data at .* cut it off"
    ):
        fg.grad(y, [x.detach()])
    with pytest.raises(fg.UnusedInputError, match=r"it \(int64\[1\]\) is not tracked .*: integers and booleans"):
        fg.grad(y, [fg.tensor([1])])
    with pytest.raises(fg.UnusedInputError, match=r"requires_grad is False\)\. Set allow_unused"):
        fg.grad(y, [fg.tensor([1.0], dtype=fg.float64)])


def test_an_untracked_output_says_why() -> None:
    x = leaf([1.0])
    gist = "element 0 of tensors does not require grad and does not have a grad_fn: "
    z = fg.sin(x).detach()
    cut = line(-1)
    with pytest.raises(RuntimeError, match=rf"{gist}float64\[\]: detach\(\) or \.data at .*{cut} cut it off"):
        fg.backward((z * 2.0).sum())
    z = fg.sin(x)
    z.detach_()
    with pytest.raises(RuntimeError, match=rf"made untracked at .*{line(-1)}"):
        fg.backward((z * 2.0).sum())
    with pytest.raises(RuntimeError, match=r"float64\[1\]: nothing below it was made with requires_grad=True\nSee "):
        fg.backward(fg.tensor([1.0], dtype=fg.float64))
    with pytest.raises(RuntimeError, match=r"bool\[1\]: integers and booleans have no derivative"):
        fg.grad(x > 0.0, x)
    with pytest.raises(RuntimeError, match=r"float64\[\]: integers and booleans have no derivative"):
        fg.grad(fg.astype(x > 0.0, fg.float64).sum(), x)


class Times(fg.Function):
    """Multiplies with a tensor that is no argument."""

    other: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * Times.other

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


def lost_in_a_function(x: Any) -> Any:
    Times.other = x
    return Times.apply(fg.ones(1))


WITHOUT_EDGES: list[tuple[str, Any]] = [
    (r"detach\(\) or \.data at", lambda x: x.data),
    ("requires_grad=False or stop_gradient=True", lambda x: (x * 1).detach_()),
    ("the function called at .* has no derivative", lambda x: fg.bernoulli(x)),
    ("the function called at .* has no derivative", lambda x: fg.zeros_like(x)),
    ("the function called at .* has no derivative", lambda x: fg.randn_like(x)),
    ("integers and booleans .* made at", lambda x: fg.nonzero(x)[0]),
    ("integers and booleans .* made at", lambda x: fg.argwhere(x > 0)),
    ("integers and booleans .* made at", lambda x: fg.ones(1)[x > 0]),
    ("integers and booleans .* made at", lambda x: fg.ones(3)[x.astype("int64")]),
    ("recording was off", lambda x: fg.no_grad()(fg.nonzero)(x)[0]),
    ("the Function applied at .* was not given it as an argument", lost_in_a_function),
]


@pytest.mark.parametrize(("why", "f"), WITHOUT_EDGES)
def test_the_reason_is_the_one_that_the_user_wrote(why: str, f: Any) -> None:
    with pytest.raises(RuntimeError, match=f"{why}.*{__file__}" if why.endswith("at") else why):
        fg.backward((f(leaf([1.0])) * 1.0).sum())


@pytest.mark.parametrize("name", ["Normal", "LogNormal", "Bernoulli", "Categorical", "Geometric", "OneHotCategorical"])
def test_a_sample_has_no_derivative_and_nobody_wrote_no_grad(name: str) -> None:
    p = torch.full([2], 0.5, requires_grad=True)
    family = getattr(torch.distributions, name)
    drawn = (family(p, 1.0) if "Normal" in name else family(p)).sample()
    with pytest.raises(RuntimeError, match="no derivative") as caught:
        drawn.double().sum().backward()
    assert "no_grad" not in str(caught.value)


def test_a_gradient_that_cannot_be_differentiated_again() -> None:
    x = leaf([1.0])
    g = fg.grad((x**3).sum(), x)
    made = line(-1)
    with pytest.raises(RuntimeError, match=rf"a gradient was made without create_graph=True at .*{made}"):
        fg.grad((g * g).sum(), x)
    fg.backward((x**3).sum())
    assert x.grad is not None
    with pytest.raises(RuntimeError, match=rf"without create_graph=True at .*{line(-2)}"):
        fg.grad(x.grad.sum(), x)


def test_views_and_shared_memory_remember_the_reason() -> None:
    x = leaf([[1.0, 2.0]])
    y = x * 1.0
    with pytest.raises(RuntimeError, match=r"detach\(\) or \.data at .* cut it off"):
        fg.backward(y.detach()[0].sum())
    with fg.no_grad():
        row = y[0]
    with pytest.raises(RuntimeError, match="recording was off"):
        fg.backward(row.sum())
    z = y.detach()
    z.requires_grad_()
    fg.backward(z.sum())
    assert z.grad is not None


def test_tensors_under_vmap_remember_the_reason() -> None:
    def f(x: fg.Tensor) -> fg.Tensor:
        return fg.grad(fg.sin(x).detach().sum(), x)

    with pytest.raises(RuntimeError, match=r"detach\(\) or \.data at .* cut it off"):
        fg.func.vmap(f)(leaf([1.0, 2.0]))


def test_nested_no_grad_names_the_line_of_the_outer_one() -> None:
    x = leaf([1.0])
    with fg.no_grad():
        outer = line(-1)
        with fg.no_grad():
            pass
        y = fg.sin(x)
    with pytest.raises(RuntimeError, match=rf"no_grad since .*{outer}"):
        fg.backward(y.sum())


def test_a_freed_graph_names_both_lines() -> None:
    x = leaf([1.0, 2.0])
    y = fg.sin(x)
    made = line(-1)
    fg.backward(y.sum())
    freed = line(-1)
    for _ in range(2):
        with pytest.raises(fg.FreedGraphError) as caught:
            fg.backward(y.sum())
        text = str(caught.value)
        assert "Trying to backward through the graph a second time" in text
        assert "retain_graph=True" in text
        assert re.search(rf"freed by an earlier grad\(\) or backward\(\) at .*{freed}", text)
        assert re.search(rf"The node was made at .*{made} and gives float64\[2\]\.", text)


def test_dialects_keep_their_texts() -> None:
    p, t = paddle.to_tensor([1.0], stop_gradient=False), torch.tensor([1.0], requires_grad=True)
    for y, name in ((p * p, "MultiplyGradNode"), (t * t, "MulBackward0")):
        y.backward()
        with pytest.raises(RuntimeError, match=rf"^{name}: Trying to backward through the graph a second time"):
            y.backward()
    x = paddle.to_tensor([1.0], stop_gradient=False)
    x.name = "w_0"
    y = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(
        ValueError, match=r"The 0-th input does not appear in the backward graph: .*'w_0' \(float32\[1\]"
    ):
        paddle.grad([y * (x * 2.0).detach()], [x])
    a = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(
        RuntimeError, match=r"One of the differentiated Tensors does not require grad.*detach\(\) or \.data at"
    ):
        torch.autograd.grad((a * 2.0).sum(), [(a * 1.0).detach()])
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        a.detach().sum().backward()


def test_a_graph_that_was_not_recorded_says_why() -> None:
    with pytest.raises(fg.ArgumentError, match=r"output 0 does not require grad.*detach\(\) or \.data at"):
        fg.graph(fg.sin(leaf([1.0])).detach() * 2.0)
