"""``paddle.utils``: names, structures, versions, and modules that may not be installed."""

from __future__ import annotations

import collections
from typing import Any

import ferrograd.paddle
import numpy as np
import pytest

# The type checker knows fewer attributes of the modules.
paddle: Any = ferrograd.paddle
utils = paddle.utils
Pair = collections.namedtuple("Pair", "a b")


def test_names_are_numbered_by_key_and_again_in_a_guard() -> None:
    outer = utils.unique_name.generate("key_of_this_test")
    assert outer == "key_of_this_test_0"
    with utils.unique_name.guard():
        first = paddle.nn.Linear(2, 2)
    with utils.unique_name.guard():
        second = paddle.nn.Linear(2, 2)
        with utils.unique_name.guard(b"net_"):
            assert utils.unique_name.generate("fc") == "net_fc_0"
            assert utils.unique_name.generate("fc") == "net_fc_1"
        assert paddle.nn.Linear(2, 2).weight.name == "linear_1.w_0"
    assert first.weight.name == second.weight.name == "linear_0.w_0"
    assert utils.unique_name.generate("key_of_this_test") == "key_of_this_test_1"


def test_a_guard_that_raises_gives_the_names_back() -> None:
    before = utils.unique_name.generate("raised")
    with pytest.raises(KeyError), utils.unique_name.guard():
        raise KeyError
    assert (before, utils.unique_name.generate("raised")) == ("raised_0", "raised_1")


def test_structures() -> None:
    x = paddle.to_tensor([1.0, 2.0])
    nest = {"b": [1, (2, x)], "a": Pair(4, None)}
    leaves = utils.flatten(nest)
    assert leaves[:4] == [4, None, 1, 2]
    assert leaves[4] is x
    packed = utils.pack_sequence_as(nest, list(range(5)))
    assert packed == {"b": [2, (3, 4)], "a": Pair(0, 1)}
    assert list(packed) == ["b", "a"]
    assert type(packed["a"]) is Pair
    assert utils.map_structure(lambda a, b: a * b, [1, {"k": 2}], [3, {"k": 4}]) == [3, {"k": 8}]
    assert utils.flatten("text") == ["text"]
    assert len(utils.flatten(np.ones(2))) == 1
    with pytest.raises(ValueError, match="4 values for a structure of 5 leaves"):
        utils.pack_sequence_as(nest, [1, 2, 3, 4])
    with pytest.raises(ValueError, match=r"structures of \[1, 2\] leaves"):
        utils.map_structure(lambda a, b: a, [1], [1, 2])


def test_versions() -> None:
    utils.require_version("2.0")
    utils.require_version("1.8.5", "3.3.1")
    for wrong in (("99.0",), ("2.0", "2.6")):
        with pytest.raises(ImportError, match="this dialect follows"):
            utils.require_version(*wrong)
    for bad in ("2.x", "", 2):
        with pytest.raises(ValueError, match="a version is like"):
            utils.require_version(bad)


def test_modules_and_capsules() -> None:
    assert utils.try_import("math").pi > 3
    with pytest.raises(ImportError, match="pip install no_such_module_here"):
        utils.try_import("no_such_module_here")
    with pytest.raises(ImportError, match=r"^get it$"):
        utils.try_import("no_such_module_here", "get it")
    x = paddle.to_tensor([[1.0, 2.0]])
    assert utils.dlpack.from_dlpack(utils.dlpack.to_dlpack(x)).tolist() == [[1.0, 2.0]]


def test_run_check_and_deprecated(capsys: pytest.CaptureFixture[str]) -> None:
    utils.run_check()
    assert "works on 1 CPU" in capsys.readouterr().out

    @utils.deprecated(update_to="paddle.new", since="2.0", reason="It is slow")
    def old(x: int) -> int:
        return x + 1

    with pytest.warns(DeprecationWarning, match="old is deprecated since 2.0, .* use paddle.new. Reason: It is slow"):
        assert old(1) == 2
    with pytest.raises(RuntimeError, match="is deprecated"):
        utils.deprecated(level=2)(lambda: 0)()


def test_structures_are_compared() -> None:
    same = paddle.utils.assert_same_structure
    same({"a": [1, (2,)]}, {"a": [3, (4,)]})
    same([1, [2]], (3, (4,)), check_types=False)
    with pytest.raises(ValueError, match="same nested structure"):
        same([1, 2], [1])
    with pytest.raises(TypeError, match="same sequence type"):
        same([1], (1,))
    with pytest.raises(ValueError, match="same set of keys"):
        same({"a": 1}, {"b": 1})
