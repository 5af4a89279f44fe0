"""Index expressions with torch's conventions: uint8 masks, and torch's error texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ferrograd import torch as _torch

from tests.dialects import values

torch: Any = _torch


def grid() -> Any:
    return torch.arange(10).reshape(2, 5)


def test_arrays_of_uint8_are_masks() -> None:
    x = torch.arange(5.0)
    mask = torch.tensor([1, 0, 1, 1, 0], dtype=torch.uint8)
    with pytest.warns(UserWarning, match=r"torch\.uint8 is now deprecated"):
        assert values(x[mask]) == [0, 2, 3]
    with pytest.warns(UserWarning, match="torch.bool instead"):
        x[mask] = 9.0
    assert values(x) == [9, 1, 9, 9, 4]
    with pytest.warns(UserWarning, match="deprecated"), pytest.raises(IndexError, match="mask of shape"):
        x[torch.zeros(4, dtype=torch.uint8)]
    with pytest.warns(UserWarning, match="deprecated"):
        assert tuple(x[torch.tensor(1, dtype=torch.uint8)].shape) == (1, 5)
    assert values(x[torch.tensor([1, 0])]) == [1, 9]


def test_a_list_of_indices_has_one_for_each_axis() -> None:
    x = grid()
    for key in (
        [slice(None), [0, 4]],
        [torch.tensor([0, 1]), torch.tensor([4, 0])],
        [[0, 1], [4, 0]],
        [None, 1],
        [..., slice(2)],
    ):
        with pytest.warns(UserWarning, match="use x.tuple.seq"):
            found = x[key]
        assert values(found) == values(x[tuple(key)])
        new = -found
        with pytest.warns(UserWarning, match="non-tuple sequence"):
            x[key] = new
        assert values(x[tuple(key)]) == values(new)
    assert values(x[[1, 0]]) == [values(x[1]), values(x[0])]


#: Functions that read or write at indices along axis 0 of a matrix with two rows, and count them from 0.
FROM_ZERO: dict[str, Any] = {
    "index_select": lambda x, i: torch.index_select(x, 0, i),
    "gather": lambda x, i: torch.gather(x, 0, i[:, None]),
    "gather of a part": lambda x, i: x.gather(0, i[:1, None]),
    "scatter": lambda x, i: x.scatter(0, i[:, None], 1.0),
    "scatter_": lambda x, i: x.scatter_(0, i[:, None], x.clone()),
    "scatter_add": lambda x, i: x.scatter_add(0, i[:, None], x),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, i[:, None], x, "amax"),
    "index_add": lambda x, i: x.index_add(0, i, x),
    "index_add_": lambda x, i: x.index_add_(0, i, x.clone()),
    "index_copy": lambda x, i: x.index_copy(0, i, x),
    "index_reduce": lambda x, i: x.index_reduce(0, i, x, "prod"),
    "embedding": lambda x, i: torch.nn.functional.embedding(i, x),
    "embedding with a norm": lambda x, i: torch.nn.functional.embedding(i, x, max_norm=1.0),
    "embedding_bag": lambda x, i: torch.nn.functional.embedding_bag(i, x, torch.tensor([0])),
    "one_hot": lambda x, i: torch.nn.functional.one_hot(i, 2),
    "multi_margin_loss": lambda x, i: torch.nn.functional.multi_margin_loss(x, i),
    "multilabel_margin_loss": lambda x, i: torch.nn.functional.multilabel_margin_loss(x, i[:, None] * 2 + i[:, None]),
    "max_unpool1d": lambda x, i: torch.nn.functional.max_unpool1d(x[:, None, :2], i.expand(2, 1, 2), 2),
    "vmap": lambda x, i: torch.vmap(lambda j: torch.index_select(x, 0, j))(i[None]),
    "half": lambda x, i: torch.index_select(x.half(), 0, i),
}


@pytest.mark.parametrize("name", FROM_ZERO)
def test_functions_that_count_indices_from_zero(name: str) -> None:
    x = grid().float()
    before = x.clone()
    with pytest.raises(IndexError, match=r"index -\d is out of bounds for dimension \d with size"):
        FROM_ZERO[name](x, torch.tensor([-1, 0]))
    assert torch.equal(x, before)


def test_functions_that_count_negative_indices_from_the_end() -> None:
    x, last = grid().float(), torch.tensor([-1, 0])
    assert values(x[last]) == values(x.flip(0))
    assert values(torch.take(x, last)) == [9, 0]
    assert values(torch.take_along_dim(x, last[:, None], 0)) == values(x.flip(0))
    assert values(x.index_fill(0, last[:1], 7.0)[1]) == [7] * 5
    assert values(x.clone().index_put_((last,), torch.tensor(1.0))) == [[1] * 5] * 2
    assert values(x.clone().put_(last, torch.tensor([1.0, 2.0])).flatten()[[0, 9]]) == [2, 1]


def test_a_compiled_function_counts_indices_from_zero() -> None:
    x = grid().float()
    select = torch.compile(lambda x, i: torch.index_select(x, 0, i) * 2)
    for _ in range(3):
        assert values(select(x, torch.tensor([1, 0]))) == values(x.flip(0) * 2)
    with pytest.raises(IndexError, match="index -1 is out of bounds"):
        select(x, torch.tensor([-1, 0]))


@pytest.mark.parametrize(
    ("key", "kind", "text"),
    [
        ((0, 5), IndexError, "index 5 is out of bounds for dimension 1 with size 5"),
        ((slice(None), [0, -6]), IndexError, "index -6 is out of bounds for dimension 1 with size 5"),
        ((0, 0, 0), IndexError, "too many indices for tensor of dimension 2"),
        (0.0, IndexError, "an index is made of integers"),
        ((slice("0", "1"),), TypeError, "slice indices must be integers"),
        (([0, 1], [0, 1, 2]), IndexError, "shape mismatch"),
        (np.array([0.0]), IndexError, "indices are integers or truth values, not float64"),
    ],
)
def test_errors(key: Any, kind: type[Exception], text: str) -> None:
    acts: Any = (lambda: grid()[key], lambda: grid().__setitem__(key, 0))
    for act in acts:
        with pytest.raises(kind, match=text):
            act()


def test_errors_of_numbers_and_of_values() -> None:
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        torch.tensor(3)[0]
    with pytest.raises(RuntimeError, match="shape mismatch"):
        grid()[0] = torch.zeros(3)


def test_numpy_of_a_tracked_tensor_where_nothing_is_recorded() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        x.numpy()
    with torch.no_grad():
        assert x.numpy().tolist() == [1, 1]


def test_python_and_numpy_numbers_as_indices() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.gather(x, 0, torch.tensor(2))
    assert (tuple(y.shape), y.item()) == ((), 3)
    y.backward()
    assert x.grad.tolist() == [0, 0, 1]
    number = torch.tensor(5.0)
    assert torch.gather(number, 0, torch.tensor([0, 0])).tolist() == [5, 5]
    assert torch.scatter(x.detach(), 0, torch.tensor(1), torch.tensor(9.0)).tolist() == [1, 9, 3]
    assert torch.scatter_add(number, 0, torch.tensor([0, 0]), torch.tensor([1.0, 2.0])).tolist() == 8
    with pytest.raises(RuntimeError, match="the indices have 1 axes, the tensor 2"):
        torch.gather(torch.ones(2, 2), 0, torch.tensor(0))


def test_a_0d_index_tensor_selects() -> None:
    """The result is a view, as for a Python number."""
    x: Any = torch.arange(6.0).reshape(2, 3)
    zero, one = torch.tensor(0), torch.tensor(1, dtype=torch.int16)
    for i in torch.arange(2):
        x[i].mul_(10)
    assert values(x) == [[0, 10, 20], [30, 40, 50]]
    x[one, 1:].fill_(7.0)
    x[zero, one].zero_()
    x[..., -one].add_(1)
    assert values(x) == [[0, 0, 21], [30, 7, 8]]
    assert values(x[zero, [0, 2]]) == [0, 21]
    assert values(x[torch.tensor(True)]) == [values(x)]
    assert tuple(x[torch.tensor([0])].shape) == (1, 3)
    with pytest.raises(IndexError, match="out of bounds"):
        x[torch.tensor(2)]
    a = torch.arange(3.0).requires_grad_()
    y = a * 1
    y[one].mul_(5)
    assert values(torch.autograd.grad(y.sum(), a)[0]) == [1, 5, 1]
    at = torch.tensor([2, 0])
    assert values(torch.vmap(lambda i: a.detach()[i])(at)) == [2, 0]
