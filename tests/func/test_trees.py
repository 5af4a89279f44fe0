"""``tree_map`` on every kind of structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import ferrograd as fg
import pytest
from ferrograd import ArgumentError, func
from ferrograd.func import tree_map


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class Layer:
    name: str
    weight: Any


def test_structures_are_kept() -> None:
    tree = {"a": [1, (2, None)], "b": Pair(3, {"c": 4}), "d": Layer("dense", 5.0)}
    assert tree_map(lambda x: 10 * x, tree) == {
        "a": [10, (20, None)],
        "b": Pair(30, {"c": 40}),
        "d": Layer("dense", 50.0),
    }
    assert tree_map(lambda x: -x, 3) == -3
    assert tree_map(abs, {}) == {}


def test_several_trees_are_matched_by_key() -> None:
    assert tree_map(lambda x, y, z: (x, y, z), {"a": 1, "b": [2]}, {"b": [20], "a": 10}, {"a": 0, "b": [5]}) == {
        "a": (1, 10, 0),
        "b": [(2, 20, 5)],
    }


@pytest.mark.parametrize("other", [{"a": 1}, [1, 2], 3, {"a": 1, "b": [1]}, None])
def test_another_structure_is_refused(other: Any) -> None:
    with pytest.raises(ArgumentError, match="tree_map"):
        tree_map(lambda x, y: x, {"a": 1, "b": 2}, other)


class Line:
    """A structure of the user's, with a part that is no leaf."""

    def __init__(self, slope: Any, offset: Any, power: int) -> None:
        self.slope, self.offset, self.power = slope, offset, power

    def __call__(self, x: Any) -> Any:
        return self.slope * x**self.power + self.offset


func.register_pytree_node(
    Line, lambda f: ((f.slope, f.offset), f.power), lambda power, parts: Line(parts[0], parts[1], power)
)


def test_a_class_of_the_users_is_a_structure() -> None:
    x = fg.tensor([1.0, 2.0])
    line = Line(fg.tensor(3.0), [fg.tensor(1.0)], 2)
    slopes = func.grad(lambda f: (f.slope * x**f.power + f.offset[0]).sum())(line)
    assert (slopes.slope.item(), slopes.offset[0].item(), slopes.power) == (5, 2, 2)
    lines = func.vmap(lambda a: Line(a, a * 2, 3))(x)
    assert lines.offset.tolist() == [2, 4]
    assert func.vmap(lambda f, x: f(x))(lines, x).tolist() == [3, 20]
    assert func.tree_map(lambda a, b: a - b, Line(5, 6, 1), Line(1, 1, 1)).offset == 5


def test_compiled_functions_tell_what_is_no_leaf_apart() -> None:
    @dataclass(slots=True)
    class Scale:
        by: Any
        times: int

    calls = fg.compile(lambda f: f(fg.ones(2)))
    assert [calls(Line(2.0, 1.0, power)).tolist() for power in (1, 2)] == [[3, 3], [3, 3]]
    assert calls.cache_info().misses == 2
    scaled = fg.compile(lambda s: s.by * s.times)
    assert [scaled(Scale(fg.ones(1), times)).item() for times in (2, 3, 2)] == [2, 3, 2]


def test_classes_that_cannot_be_registered() -> None:
    for cls in (Line, dict, fg.Tensor, float):
        with pytest.raises(fg.ArgumentError, match="is known already"):
            func.register_pytree_node(cls, len, len)  # type: ignore[arg-type]
    with pytest.raises(fg.ArgumentError, match="a class is wanted, not int"):
        func.register_pytree_node(3, len, len)  # type: ignore[arg-type]
    with pytest.raises(fg.ArgumentError, match="flatten and unflatten are functions"):
        func.register_pytree_node(Scene, None, len)  # type: ignore[arg-type]


class Scene:
    """A class that is not registered."""


def test_gradients_are_stopped_in_both_modes() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    kept: Any = fg.stop_gradient({"a": [x, "name"], "b": None})
    assert kept["b"] is None
    assert kept["a"][1] == "name"
    assert not kept["a"][0].requires_grad
    f = lambda x: (x * fg.stop_gradient(x**2)).sum()  # noqa: E731
    assert func.grad(f)(x).tolist() == [1, 4]
    assert func.jvp(f, x, fg.ones(2))[1].item() == 5
    assert func.hessian(f)(x).tolist() == [[0, 0], [0, 0]]
