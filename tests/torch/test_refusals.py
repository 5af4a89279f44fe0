"""What torch takes from older programs, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from ferrograd import paddle as _paddle, torch as _torch

from tests.dialects import values

torch: Any = _torch
paddle: Any = _paddle


def test_older_programs_give_the_factor_before_the_tensors() -> None:
    x, y = torch.ones(2), torch.tensor([1.0, 2.0])
    assert values(torch.add(x, 3, y)) == values(torch.add(x, y, alpha=3)) == [4, 7]
    assert values(x.clone().sub_(2, y)) == [-1, -3]
    assert values(x.clone().addcmul_(2, y, y)) == values(torch.addcmul(x, y, y, value=2)) == [3, 9]
    assert values(torch.addcdiv(x, 2, y, y)) == [3, 3]
    calls: list[Any] = [
        lambda: torch.add(x, y, y),
        lambda: torch.add(x, 2, y, alpha=3),
        lambda: torch.add(x, 2, y, y),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()


def test_view_wants_the_elements_in_place() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert x.view(-1).shape == x.view([3, 2]).view_as(torch.ones(6)).shape == (6,)
    assert x[:, :2].view(2, 2, 1).shape == (2, 2, 1)
    assert torch.ones(0, 3).t().view(-1).shape == (0,)
    calls: list[Any] = [lambda: x.t().view(-1), lambda: x[:, :2].view(4)]
    for bad in calls:
        with pytest.raises(RuntimeError, match="reshape"):
            bad()
    assert x.view(torch.int32).shape == (2, 3)
    y = x.requires_grad_().view(3, 2)
    y.sum().backward()
    assert values(x.grad) == [[1, 1, 1], [1, 1, 1]]


def test_dot_and_svd() -> None:
    with pytest.raises(RuntimeError, match="1D tensors"):
        torch.dot(torch.ones(2, 2), torch.ones(2, 2))
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    u, s, v = torch.svd(a)
    assert torch.allclose(u @ torch.diag(s) @ v.t(), a, atol=1e-5)
    assert torch.svd(a, some=False).U.shape == (3, 3)
    assert values(torch.svd(a, compute_uv=False).V) == [[0, 0], [0, 0]]


def test_softmax_guesses_the_axis_with_a_warning() -> None:
    F = torch.nn.functional
    x = torch.arange(6.0).reshape(2, 3)
    for f in (F.softmax, F.softmin, F.log_softmax):
        with pytest.warns(UserWarning, match="Implicit dimension choice"):
            assert torch.equal(f(x), f(x, 1))
        with pytest.warns(UserWarning, match="Implicit dimension choice"):
            assert torch.equal(f(x[None]), f(x[None], 0))
    with pytest.warns(UserWarning, match="softmax"):
        torch.nn.Softmax()(x)


def test_context_of_saved_tensors_has_clear() -> None:
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as ctx:
        ctx.clear()


o = torch.ones
# Products take the numbers of axes that torch takes, and what is added broadcasts to them.
REFUSED: dict[str, tuple[Any, ...]] = {
    "addmm of vectors": (torch.addmm, o(()), o(2), o(2)),
    "addmm of a matrix and a vector": (torch.addmm, o(2), o(2, 3), o(3)),
    "addmm of batches": (torch.addmm, o(2, 2), o(5, 2, 3), o(3, 2)),
    "addmm of a larger input": (torch.addmm, o(5, 2, 2), o(2, 3), o(3, 2)),
    "addmm of a longer input": (torch.addmm, o(4, 2), o(1, 3), o(3, 2)),
    "addmv": (torch.addmv, o(3), o(1, 2), o(2)),
    "addr of matrices": (torch.addr, o(1, 4), o(1, 1), o(2, 2)),
    "addr": (torch.addr, o(3, 2), o(1), o(2)),
    "baddbmm": (torch.baddbmm, o(2, 2, 4), o(1, 2, 3), o(1, 3, 4)),
    "addbmm": (torch.addbmm, o(2, 2, 4), o(2, 2, 3), o(2, 3, 4)),
    "a method": (o(5, 2, 2).addmm, o(2, 3), o(3, 2)),
    "in place": (o(2).addmm_, o(2), o(2, 2)),
    "outer": (torch.outer, o(2, 2), o(2)),
    "ger": (torch.ger, o(2), o(())),
    "vdot": (torch.vdot, o(1, 2), o(1, 2)),
    "inner": (torch.inner, o(1), o(2)),
    "trace": (torch.trace, o(2, 3, 3)),
    "cross": (torch.cross, o(3), o(2, 3)),
    "cross without an axis of three": (torch.cross, o(2, 4), o(2, 4)),
    "linalg.cross": (torch.linalg.cross, o(3), o(2, 3)),
    "chain_matmul": (torch.chain_matmul, o(2), o(2, 3)),
    "vander": (torch.vander, o(2, 3)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_products_that_torch_refuses(case: str) -> None:
    function, *args = REFUSED[case]
    with pytest.raises(RuntimeError, match=r"must|broadcast|wanted|no axis"):
        function(*args)


def test_products_that_torch_takes() -> None:
    assert torch.addmm(o(()), o(2, 3), o(3, 2)).tolist() == [[4.0, 4.0], [4.0, 4.0]]
    assert torch.addmm(o(1, 2), o(2, 3), o(3, 2), beta=2).shape == (2, 2)
    assert torch.addmv(o(1), o(2, 3), o(3)).shape == (2,)
    assert torch.addr(o(2, 1), o(2), o(4)).shape == (2, 4)
    assert torch.addbmm(o(1, 4), o(5, 2, 3), o(5, 3, 4)).shape == (2, 4)
    assert torch.baddbmm(o(4), o(5, 2, 3), o(5, 3, 4)).shape == (5, 2, 4)
    assert torch.outer(o(2), vec2=o(3)).shape == (2, 3)
    assert torch.inner(o(()), o(2, 3)).shape == (2, 3)
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0], [4.0, 7.0]])
    # The axis is the first of three elements, not the last.
    assert torch.cross(x, x.flip(1)).tolist() == torch.linalg.cross(x.T, x.flip(1).T).T.tolist()


def test_bags_are_cut_inside_of_the_input() -> None:
    x, weight = torch.tensor([0, 1, 2]), torch.eye(3)
    bag = torch.nn.functional.embedding_bag
    assert values(bag(x, weight, torch.tensor([0, 1, 3]), mode="sum")) == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    assert bag(x, weight, torch.zeros(0, dtype=torch.int64), mode="sum").shape == (0, 3)
    for offsets in ([0, 4], [0, 2, 1], [0, -1], [0.0]):
        with pytest.raises((ValueError, TypeError), match="offset"):
            bag(x, weight, torch.tensor(offsets), mode="sum")
    with pytest.raises(ValueError, match="the last offset is the input's length 3, not 1"):
        bag(x, weight, torch.tensor([0, 1]), mode="sum", include_last_offset=True)


@pytest.mark.parametrize("sizes", [[1, 2], [2, 1, 0], [3, -1, 1]])
def test_packed_sequences_never_grow(sizes: list[int]) -> None:
    packed = torch.nn.utils.rnn.PackedSequence(torch.ones(3, 2), torch.tensor(sizes))
    for layer in (torch.nn.LSTM(2, 3), torch.nn.GRU(2, 3), torch.nn.RNN(2, 3)):
        with pytest.raises(RuntimeError, match="never grow"):
            layer(packed)


def test_windows_without_size_or_step() -> None:
    nn, x = torch.nn.functional, torch.ones(1, 1, 4, 4)
    calls: list[Any] = [
        lambda: nn.unfold(x, 0),
        lambda: nn.unfold(x, 2, stride=0),
        lambda: nn.unfold(x, 2, dilation=0),
        lambda: nn.unfold(x, 2, padding=-1),
        lambda: nn.fold(torch.ones(1, 4, 9), (4, 4), 2, stride=0),
        lambda: nn.lp_pool2d(x, 0, 2),
        lambda: nn.rrelu(x, 1.0, 0.0),
        lambda: torch.nn.init.trunc_normal_(x, a=2, b=1),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"at least|non-zero|lower|below"):
            call()


def test_attention_over_keys_of_no_size_is_the_mean() -> None:
    attend = torch.nn.functional.scaled_dot_product_attention
    value = torch.tensor([[[0.0, 2.0], [2.0, 4.0]]])
    assert values(attend(torch.ones(1, 1, 0), torch.ones(1, 2, 0), value)) == [[[1, 3]]]
    none = torch.ones(1, 0, 4, 3)
    with pytest.raises(ValueError, match="heads"):
        attend(torch.ones(1, 3, 2, 3), none, none, enable_gqa=True)


def test_what_is_no_tensor_is_named() -> None:
    calls: list[Any] = [
        lambda: torch.softmax([1.0], 0, dtype=torch.float64),
        lambda: torch.nn.functional.log_softmax(5.0, 0, dtype=torch.float64),
        lambda: torch.ones(2).resize_as_("a"),
        lambda: paddle.reshape([1.0], [0]),
        lambda: paddle.unstack([0], num=3),
        lambda: paddle.nn.functional.silu(3, inplace=True),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="must be a Tensor, not"):
            call()


def test_devices_that_are_not_here_are_refused() -> None:
    with pytest.raises(RuntimeError, match="cuda"):
        torch.nn.Linear(2, 1).to_empty(device="cuda")
    layer = torch.nn.Linear(2, 1)
    assert layer.to("meta").to_empty(device="cpu") is layer
