"""``tree_map`` on every kind of structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from ferrograd import ArgumentError
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
