"""``tree_map`` on every kind of structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import ferrograd as fg
import pytest
from ferrograd import ArgumentError, func
from ferrograd.func import ravel_pytree, tree_flatten, tree_map, tree_unflatten


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


TREES: list[Any] = [{"b": [1, (2.0, None)], "a": Pair(3, [])}, 5, [], {"x": {}}, (Pair(1, 2),)]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_flatten_and_unflatten(tree: Any) -> None:
    leaves, structure = tree_flatten(tree)
    assert tree_unflatten(structure, leaves) == tree
    assert tree_unflatten(structure, iter(leaves)) == tree
    assert structure == tree_flatten(tree_map(lambda x: -x, tree))[1]
    assert hash(structure) == hash(tree_flatten(tree)[1])
    assert [tree_flatten(other)[1] == structure for other in TREES].count(True) == 1
    with pytest.raises(ArgumentError, match=f"{len(leaves)} leaves are wanted, not {len(leaves) + 1}"):
        tree_unflatten(structure, [*leaves, 0])


def test_ravel_of_several_dtypes() -> None:
    tree = {"w": fg.tensor([[1.5, 2.0]], dtype="float64"), "n": fg.tensor([3], dtype="int64"), "e": fg.zeros((0, 2))}
    vector, unravel = ravel_pytree(tree)
    assert (vector.dtype, vector.tolist()) == ("float64", [1.5, 2.0, 3.0])
    back = unravel(vector)
    assert {name: (x.dtype, x.tolist()) for name, x in back.items()} == {
        name: (x.dtype, x.tolist()) for name, x in tree.items()
    }
    assert ravel_pytree([2.0, [1, None]])[0].tolist() == [2, 1]
    assert ravel_pytree([])[0].shape == (0,)
    with pytest.raises(ArgumentError, match=r"a vector of 3 numbers is wanted, not \[2\]"):
        unravel(vector[:2])


@pytest.mark.parametrize("compiled", [False, True])
def test_ravel_is_differentiated(compiled: bool) -> None:
    tree = {"w": fg.tensor([1.0, 2.0]), "b": fg.tensor(3.0)}
    vector, unravel = ravel_pytree(tree)

    def f(v: Any) -> Any:
        parts = unravel(v)
        return (parts["w"] * parts["w"]).sum() * parts["b"]

    run = fg.compile(func.grad(f)) if compiled else func.grad(f)
    assert run(vector).tolist() == [6, 12, 5]
    assert func.jvp(f, (vector,), (fg.ones(3),))[1].item() == 23
    assert func.vmap(f)(fg.stack([vector, 2 * vector])).tolist() == [15, 120]
    slopes = func.grad(lambda t: f(ravel_pytree(t)[0]))(tree)
    assert (slopes["w"].tolist(), slopes["b"].item()) == ([6, 12], 5)
