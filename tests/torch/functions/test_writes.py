"""In-place functions, `out=`, shared memory and copies of views."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import torch

from tests.dialects import values

#: Typed as Any: some functions are added at run time.
T: Any = torch

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def t(data: Any = A, requires_grad: bool = False) -> Any:
    return torch.tensor(data, requires_grad=requires_grad)


def test_index_put_takes_a_list_of_tensors() -> None:
    at = [torch.tensor([0, 0, 2]), torch.tensor([1, 1, 0])]
    assert values(torch.zeros(3, 2).index_put(at, torch.tensor(1.0), accumulate=True)) == [[0, 2], [0, 0], [1, 0]]
    x = torch.zeros(3, 2)
    assert x.index_put_(tuple(at), torch.tensor([1.0, 2.0, 3.0])) is x
    assert values(x) == [[0, 2], [0, 0], [3, 0]]
    truth = torch.tensor([True, True, False])
    assert values(torch.tensor([False, False]).index_put((torch.tensor([0, 0, 1]),), truth, True)) == [1, 0]
    mask = torch.tensor([1, 0, 1], dtype=torch.uint8)
    assert values(torch.zeros(3).index_put_((mask,), torch.tensor(1.0), accumulate=True)) == [1, 0, 1]


def test_as_strided_in_place() -> None:
    a = torch.arange(6.0).requires_grad_()
    x = a * 1
    assert x.as_strided_((2, 2), (1, 2)) is x
    assert values(x) == [[0, 2], [1, 3]]
    (x * x).sum().backward()
    assert values(a.grad) == [0, 2, 4, 6, 0, 0]


def test_as_strided_offsets_count_from_the_start_of_the_memory() -> None:
    a = torch.arange(6.0).requires_grad_()
    x = (a * 1).reshape(2, 3)
    rows = {
        "transposed": (x.T, ((2, 2), (1, 2)), [0, 2, 1, 3]),
        "steps": (x.reshape(6)[1::2], ((2,), (1,)), [1, 2]),
        "its own start": (x[1], ((2,), (1,)), [3, 4]),
        "a place": (x[1], ((2,), (1,), 4), [4, 5]),
        "beyond itself": (x[1], ((3,), (2,), 0), [0, 2, 4]),
        "repeated": (x[0], ((2, 2), (0, 1), 1), [1, 2, 1, 2]),
        "nothing": (x[1], ((0,), (5,), 40), []),
    }
    for name, (view, args, wanted) in rows.items():
        found = T.as_strided(view, *args)
        assert values(found.reshape(-1)) == wanted, name
        assert values(T.as_strided_copy(view, *args)) == values(found)
        (g,) = torch.autograd.grad(found.sum(), a, retain_graph=True)
        assert values(g) == [wanted.count(k) for k in range(6)], name
    x[1].as_strided((2,), (3,), 0).fill_(9.0)
    assert values(x) == [[9, 1, 2], [9, 4, 5]]
    view = x.T
    assert view.as_strided_((2,), (2,)) is view
    assert values(view) == [9, 2]
    for wrong in (((2,), (9,)), ((2,), (1,), -1)):
        with pytest.raises(IndexError):
            x[1].as_strided(*wrong)


def test_as_strided_of_what_has_no_base_counts_in_its_memory() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    for view in (x.T.detach(), x[:, 1].detach(), x[:, 1::2].T.detach()):
        first = view.storage_offset()
        assert values(view.as_strided((), ())) == first
        assert values(view.as_strided((2, 2), (1, 3))) == [[first, first + 3], [first + 1, first + 4]]
        assert values(torch.vmap(torch.as_strided, (0, None, None))(torch.stack([view, view]), (), ())) == [
            first,
            first,
        ]
    assert values(torch.compile(lambda v: v.T.detach().as_strided((2,), (5,)) + 1)(x)) == [1, 6]
    x[:, 1].detach().as_strided((2,), (5,)).fill_(-1)
    assert values(x) == [[0, -1, 2, 3], [4, 5, -1, 7], [8, 9, 10, 11]]
    # Gradients flow to the elements that the leaf has.
    leaf = x[:, 1].detach().requires_grad_()
    (g,) = torch.autograd.grad((leaf.as_strided((2, 2), (4, 3)) ** 2).sum(), leaf)
    assert values(g) == [-2, 10, 0]
    with torch.no_grad():
        leaf.as_strided((2,), (4,)).zero_()
    assert values(x[:, 1]) == [0, 0, 9]


def test_data_takes_another_shape() -> None:
    x = torch.ones(2, requires_grad=True)
    x.data = torch.zeros(3, 2)
    (x + 1).sum().backward()
    assert values(x.grad) == [[1, 1]] * 3
    with pytest.raises(RuntimeError, match="cannot take values of dtype int64"):
        x.data = torch.tensor([1])


def test_data_of_a_leaf_takes_another_dtype() -> None:
    x = torch.ones(2, requires_grad=True)
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append(g.dtype))
    y = (x * x).sum()
    x.data = torch.tensor([3.0, 4.0], dtype=torch.float64)
    assert x.dtype == torch.float64
    assert x.is_leaf
    assert x.requires_grad
    y.backward()
    assert values(x.grad) == [2, 2]
    (x * x).sum().backward()
    assert values(x.grad) == [8, 10]
    assert x.grad.dtype == torch.float64
    assert seen == [torch.float32, torch.float64]
    optimizer = torch.optim.SGD([x], lr=0.5)
    optimizer.step()
    assert values(x) == [-1, -1]
    x.data = x.data.to(torch.complex64)
    optimizer.zero_grad()
    x.abs().sum().backward()
    assert x.grad.dtype == torch.complex64
    z = x * 2
    with pytest.raises(RuntimeError, match="a result of dtype complex64 cannot take values of dtype float64"):
        z.data = torch.ones(2, dtype=torch.float64)


def test_functions_that_write_in_place() -> None:
    x = t([-4.0, 4.0])
    assert T.abs_(x) is x
    assert values(T.sqrt_(x)) == [2, 2]
    assert values(T.clamp_max_(T.mul(x, 2), 3)) == [3, 3]
    assert values(T.fill_(x, 5)) == values(x) == [5, 5]
    assert values(T.zero_(x)) == [0, 0]
    leaf = t([1.0], True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        T.exp_(leaf)
    y = leaf * 2
    assert T.detach(y).data_ptr() == y.data_ptr()
    assert T.detach_(y) is y
    assert not y.requires_grad


def test_copies_of_views() -> None:
    x = t(A, True)
    pairs = [
        (T.view_copy(x, (4, 6)), x.view(4, 6)),
        (T.select_copy(x, 1, 0), x[:, 0]),
        (T.slice_copy(x, -1, 1, 3), x[..., 1:3]),
        (T.narrow_copy(x, 1, 0, 2), x[:, :2]),
        (x.narrow_copy(1, 0, 2), x[:, :2]),
        (T.permute_copy(x, (2, 0, 1)), x.permute(2, 0, 1)),
        (T.transpose_copy(x, 0, 1), x.transpose(0, 1)),
        (T.expand_copy(x[:, :1], (2, 3, 4)), x[:, :1].expand(2, 3, 4)),
        (T.unsqueeze_copy(x, 0), x[None]),
        (T.squeeze_copy(x[None], 0), x),
        (T.t_copy(x[0]), x[0].t()),
        (T.diagonal_copy(x, 1, 1, 2), T.diagonal(x, 1, 1, 2)),
        (T.as_strided_copy(x, (2, 2), (1, 2)), T.as_strided(x, (2, 2), (1, 2))),
        (T.unfold_copy(x, 0, 2, 1), x.unfold(0, 2, 1)),
        (T.view_as_real_copy(T.complex(x, x)), T.stack([x, x], -1)),
        (T.view_as_real(T.view_as_complex_copy(T.stack([x, x], -1))), T.stack([x, x], -1)),
        (T.alias_copy(x), x),
        *zip(T.split_copy(x, 2, 1), T.split(x, 2, 1), strict=True),
        *zip(T.split_with_sizes_copy(x, [1, 3], 2), T.split(x, [1, 3], 2), strict=True),
        *zip(T.unbind_copy(x), x.unbind(), strict=True),
    ]
    for copy, view in pairs:
        assert not copy._is_view()
        assert copy.data_ptr() != view.data_ptr()
        assert values(copy) == values(view)
        found, want = (T.autograd.grad((y * y).sum(), x)[0] for y in (copy, view))
        assert values(found) == values(want)
    assert not T.detach_copy(x).requires_grad
    out = T.zeros(0)
    T.view_copy(t([1.0, 2.0]), (2, 1), out=out)
    assert values(out) == [[1], [2]]
    parts = T.zeros(1), T.zeros(1)
    assert T.split_copy(t([1.0, 2.0]), 1, out=parts) is None
    assert values(parts[1]) == [2]


def test_out() -> None:
    x = t([[3.0, 4.0]])
    calls: list[tuple[Any, Any]] = [
        (lambda out: T.norm(x, out=out), 5.0),
        (lambda out: T.add(x, 1, alpha=2, out=out), [[5, 6]]),
        (lambda out: T.mul(x, 2, out=out), [[6, 8]]),
        (lambda out: T.norm(x, "nuc", out=out), 5.0),
        (lambda out: T.cholesky_inverse(t([[2.0]]), out=out), [[0.25]]),
        (lambda out: T.lu_solve(x, t([[2.0]]), T.tensor([1], dtype=T.int32), out=out), [[1.5, 2]]),
        (lambda out: T.isin(x, 3, out=out), [[1, 0]]),
        (lambda out: T.nn.functional.hardshrink(x, 3, out=out), [[0, 4]]),
        (lambda out: T.nn.functional.softshrink(x, 3, out=out), [[0, 1]]),
    ]
    for f, want in calls:
        out = T.zeros(0)
        assert f(out) is out
        assert values(out) == want
    values_, indices = T.zeros(1), T.zeros(1, dtype=T.int64)
    found = T.max(x, 1, out=(values_, indices))
    assert found.values is values_
    assert (values(values_), values(indices)) == ([4], [1])
    whole = T.zeros(3)
    T.norm(x, out=whole[1])
    assert values(whole) == [0, 5, 0]
    with pytest.raises(RuntimeError, match="out takes a tensor for each result"):
        T.sort(x, out=T.zeros(1))


def test_out_of_another_shape_takes_that_of_the_result() -> None:
    x = t([[3.0, 4.0], [1.0, 2.0]])
    f: Any
    for f, shape in (
        (lambda out: T.sum(x, 0, out=out), (2, 2)),
        (lambda out: T.exp(x, out=out), (1,)),
        (lambda out: T.cat([x, x], out=out), (2, 4, 2)),
        (lambda out: T.nonzero(x, out=out), ()),
        (lambda out: T.norm(x, dim=0, out=out), (2, 2)),
    ):
        want, out = f(None), T.zeros(shape, dtype=f(None).dtype)
        with pytest.warns(UserWarning, match="was resized"):
            assert f(out) is out
        assert (out.shape, values(out)) == (want.shape, values(want))
        # One of the right shape, and one without elements, take the result without a word.
        for quiet in (T.zeros(want.shape, dtype=want.dtype), T.zeros(0, dtype=want.dtype)):
            assert values(f(quiet)) == values(want)
    # A part of another tensor has no room for more.
    whole = T.zeros(3, 4)
    with pytest.raises(ValueError, match="cannot be written into the shape"):
        T.exp(x, out=whole[:1])
    assert not whole.any()


def test_out_of_another_shape_is_refused_elsewhere() -> None:
    for library in (fg, fg.paddle):
        x = library.ones([2, 3])
        with pytest.raises(ValueError, match="cannot be written into the shape"):
            library.sum(x, 0, out=library.zeros([2, 3]))


def test_activations_in_place() -> None:
    F: Any = torch.nn.functional
    native: Any = fg
    data = [-7.0, -0.6, 0.0, 0.7, 8.0]
    for name in ["celu", "elu", "hardsigmoid", "hardswish", "leaky_relu", "mish", "relu", "relu6", "selu", "silu"]:
        x = t(data)
        want = values(getattr(native, name)(native.tensor(data)))
        assert values(getattr(F, name)(x)) == want
        assert getattr(F, name)(x, inplace=True) is x
        assert values(x) == want
    for name in ["hardshrink", "softshrink", "softsign", "tanhshrink", "logsigmoid"]:
        assert values(getattr(F, name)(t(data))) == values(getattr(native, name)(native.tensor(data)))
    assert (
        values(F.hardtanh(t(data), -2, 3))
        == values(F.hardtanh_(t(data), -2, 3))
        == pytest.approx([-2, -0.6, 0, 0.7, 3])
    )
    assert values(F.threshold(t(data), 0.5, 20)) == pytest.approx([20, 20, 20, 0.7, 8])
    assert values(F.relu_(t(data))) == values(F.relu(t(data)))
    assert values(F.glu(t([1.0, 2.0, 0.0, 0.0]))) == [0.5, 1]
    assert values(F.softmin(t([1.0, 1.0]), 0)) == [0.5, 0.5]
    assert values(F.rrelu(t([-2.0, 4.0]), 0.25, 0.75)) == [-1, 4]
    torch.manual_seed(0)
    x = t([-1.0] * 100 + [1.0], True)
    y = F.rrelu(x, training=True)
    slopes = -y.detach().numpy()[:100]
    assert slopes.min() >= 1 / 8
    assert slopes.max() <= 1 / 3
    assert slopes.std() > 0.03
    (g,) = torch.autograd.grad(y.sum(), x)
    np.testing.assert_array_equal(np.asarray(g), [*slopes, 1])


def test_casts_that_change_nothing_return_the_tensor_itself() -> None:
    x: Any = t([1.0, 2.0])
    assert x.float() is x.type_as(x) is +x is T.positive(x) is x.to(torch.float32) is x
    assert x.double() is not x
    y: Any = t([1.0], True) * 2
    (+y).mul_(3)
    assert values(y) == [6]


def test_other_methods_that_write() -> None:
    x = t(np.zeros((7, 3), np.float32))
    x.fill_diagonal_(4, wrap=True)
    want = np.zeros((7, 3), np.float32)
    np.fill_diagonal(want, 4, wrap=True)
    assert values(x) == want.tolist()
    cube = t(np.zeros((2, 2, 2), np.float32))
    assert values(cube.fill_diagonal_(1)) == [[[1, 0], [0, 0]], [[0, 0], [0, 1]]]
    with pytest.raises(RuntimeError, match="fill_diagonal_: a matrix or axes of one size"):
        T.zeros(2, 2, 3).fill_diagonal_(1)
    leaf: Any = t([[1.0, 2.0], [3.0, 4.0]], True)
    y = leaf * 1
    y.fill_diagonal_(0)
    y.sum().backward()
    assert values(leaf.grad) == [[0, 1], [1, 0]]

    at, source = torch.tensor([[0, -1], [2, 0]]), t([[1.0, 2.0], [3.0, 4.0]])
    base = t(np.zeros((2, 2), np.float32))
    assert values(T.put(base, at, source)) == [[4, 0], [3, 2]]
    assert values(base.put_(at, source, accumulate=True)) == values(base) == [[5, 0], [3, 2]]

    v, w = t([1.0, 2.0]), t([3.0, 5.0])
    assert values(T.addmv(v, source, w, beta=2, alpha=3)) == [2 + 3 * 13, 4 + 3 * 29]
    assert values(T.addr(source, v, w)) == [[4, 7], [9, 14]]
    assert values(T.baddbmm(t([np.nan]), source[None], source[None], beta=0)) == [[[7, 10], [15, 22]]]
    assert values(v.addmv_(source, w)) == values(v) == [14, 31]
    nan: Any = t([np.nan, np.nan], True)
    y = T.addmm(nan, mat1=source, mat2=source, beta=0)
    assert values(y) == values(T.sparse.addmm(nan, source, source, beta=0)) == [[7, 10], [15, 22]]
    assert values(torch.autograd.grad(y.sum(), nan)[0]) == [0, 0]
    assert values(t([1.0, 2.0]).where(torch.tensor([True, False]), 9)) == [1, 9]


def test_a_comparison_in_place_stays_tracked() -> None:
    """Its derivative is zero, like that of any value written over a result."""
    a = t([1.0, -2.0], requires_grad=True)
    for name, other in (("gt_", 0), ("ge_", 0), ("lt_", 0), ("le_", 0), ("eq_", 1), ("ne_", a), ("logical_and_", a)):
        x = a * 3
        assert getattr(x, name)(other) is x
        assert x.requires_grad
        assert set(values(x)) <= {0.0, 1.0}
        (g,) = torch.autograd.grad(x.sum(), a)
        assert values(g) == [0, 0]
    x = a * 3
    view = x[:1]
    view.gt_(0)
    assert values(x) == [1, -6]
    assert values(torch.autograd.grad((x * x).sum(), a)[0]) == [0, -36]
    x = a * 3
    with torch.no_grad():
        x.gt_(0)
    assert values(torch.autograd.grad(x.sum(), a)[0]) == [3, 3]
    assert not t([1.0]).gt_(0).requires_grad
    with pytest.raises(RuntimeError, match="leaf"):
        a.gt_(0)


def test_attributes_that_cannot_be_deleted() -> None:
    x = t([1.0], requires_grad=True)
    x.grad = t([2.0])
    del x.grad
    assert x.grad is None
    with pytest.raises(RuntimeError, match="Deleting tensor data is not allowed"):
        del x.data
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        del x.requires_grad
    with pytest.raises(RuntimeError):
        x.data = None
    assert values(x) == [1]


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_floats_are_not_written_into_integers(dtype: str) -> None:
    """What stands after the point would be lost. A number, and a tensor without axes, is cast."""
    x, source = torch.zeros(2, 3, dtype=getattr(torch, dtype)), torch.full((2, 3), 1.7)
    index, rows = torch.zeros(2, 3, dtype=torch.long), torch.tensor([0, 1])
    writes: dict[str, Any] = {
        "scatter": lambda s: x.scatter(0, index, s),
        "scatter_add": lambda s: x.scatter_add(0, index, s),
        "scatter_reduce": lambda s: x.scatter_reduce(0, index, s, "sum"),
        "index_put": lambda s: x.index_put((rows,), s),
        "index_put with accumulate": lambda s: x.index_put((rows,), s, accumulate=True),
        "index_add": lambda s: x.index_add(0, rows, s),
        "index_copy": lambda s: x.clone().index_copy_(0, rows, s),
        "index_reduce": lambda s: x.index_reduce(0, rows, s, "prod"),
        "masked_scatter": lambda s: x.masked_scatter(x == 0, s),
        "put": lambda s: x.put(rows, s[0, :2]),
    }
    for name, write in writes.items():
        with pytest.raises(
            RuntimeError, match=r"float32 numbers are not written into [a-z0-9]+: expected both to have"
        ):
            write(source)
        assert write(source.to(x.dtype)).dtype is x.dtype, name
    assert x.scatter(0, index, 1.7).dtype is x.dtype
    assert x.index_put((rows,), torch.tensor(1.7)).dtype is x.dtype


@pytest.mark.parametrize("dtype", ["float64", "complex64", "int64", "float16"])
def test_what_is_made_for_out_has_its_dtype(dtype: str) -> None:
    """The numbers are drawn and computed in the dtype of ``out``, not cast to it."""
    kind = getattr(torch, dtype)
    makers: dict[str, Any] = {
        "zeros": lambda **k: T.zeros(2, 3, **k),
        "ones": lambda **k: T.ones((2,), **k),
        "empty": lambda **k: T.empty(0, **k),
        "full": lambda **k: T.full((2,), 3, **k),
        "eye": lambda **k: T.eye(2, **k),
        "linspace": lambda **k: T.linspace(0, 1, 4, **k),
        "logspace": lambda **k: T.logspace(0, 1, 3, **k),
        "arange": lambda **k: T.arange(3, **k),
        "range": lambda **k: T.range(0, 3, **k),
        "rand": lambda **k: T.rand(3, **k),
        "randn": lambda **k: T.randn(17, **k),
        "randint": lambda **k: T.randint(9, (3,), **k),
    }
    for name, make in makers.items():
        if dtype == "int64" and name in ("rand", "randn"):
            with pytest.raises(RuntimeError, match="random floats are no int64"):
                make(out=T.empty(0, dtype=kind))
            continue
        T.manual_seed(0)
        wanted = make(dtype=kind)
        T.manual_seed(0)
        out = T.empty(0, dtype=kind)
        assert make(out=out) is out, name
        assert out.dtype is kind
        assert values(out) == values(wanted), name
    with pytest.raises(
        RuntimeError, match=f"dtype torch.bool does not match dtype of out parameter \\(torch.{dtype}\\)"
    ):
        T.zeros(2, dtype=torch.bool, out=T.empty(0, dtype=kind))
