"""Problems that users of other libraries meet again and again: one test for each shows that it does not occur here."""

from __future__ import annotations

import copy
import gc
import time
import timeit
import weakref
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func
from ferrograd.testing import check

from tests.dialects import ALL, Dialect
from tests.engine.test_threads import script
from tests.func.tools import sample
from tests.native.functions import Cube, leaf

HERE = "test_pain_points.py:"


@pytest.fixture(params=ALL, ids=str)
def d(request: pytest.FixtureRequest) -> Dialect:
    dialect: Dialect = request.param
    return dialect


def attention(q: Any, k: Any, v: Any) -> Any:
    return fg.softmax(q @ k.mT * q.shape[-1] ** -0.5, axis=-1) @ v


DEEP: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "softmax": (lambda x: fg.softmax(x, axis=-1), [sample(2, 3)]),
    "mean": (lambda x: fg.mean(x * x), [sample(4)]),
    "sin": (fg.sin, [sample(3)]),
    "trace": (lambda x: fg.trace(x @ x @ x), [sample(2, 2)]),
    "linear": (fg.linear, [sample(2, 3), sample(2, 3, seed=1), sample(2, seed=2)]),
    "conv2d": (lambda x, w: fg.conv2d(x, w) ** 2, [sample(1, 1, 3, 3), sample(1, 1, 2, 2, seed=1)]),
    "layer_norm": (lambda x: fg.layer_norm(x, 3), [sample(2, 3)]),
    "cross_entropy": (lambda x: fg.cross_entropy(x, fg.tensor([0, 2])), [sample(2, 3)]),
    "attention": (attention, [sample(2, 2), sample(2, 2, seed=1), sample(2, 2, seed=2)]),
    "embedding": (lambda w: fg.take(w, fg.tensor([1, 1, 0]), axis=0) ** 3, [sample(2, 2)]),
    "solve": (fg.linalg.solve, [sample(2, 2) + 3 * fg.eye(2, dtype="float64"), sample(2, seed=1)]),
}


@pytest.mark.parametrize("name", DEEP)
def test_every_function_has_derivatives_of_any_order(name: str) -> None:
    """A model trains until its loss holds a gradient; then one of its functions has no gradient of its gradient, or
    none of the third order, and the model has to be rewritten."""
    f, inputs = DEEP[name]
    check(f, inputs, 3, ["reverse"])


def test_a_write_never_makes_a_gradient_wrong(d: Dialect) -> None:
    """A tensor is overwritten after it was used. Some libraries then compute the gradient with the new values and say
    nothing; others refuse what would have been harmless."""
    x = d.leaf([1.0, 2.0, 3.0])
    y = x * 1
    z = y * y
    y[0] = 100.0
    view = y[1:]
    view.zero_()
    assert d.grad([z], [x])[0].tolist() == [2.0, 4.0, 6.0]
    w = (x * 2).detach()
    z = w * x
    seen = np.asarray(w)
    if d.module is fg.torch:
        # There NumPy writes to the memory of the tensor, and not to what the graph has kept.
        seen[0] = 7.0
        assert w.tolist() == [7.0, 4.0, 6.0]
    else:
        with pytest.raises(ValueError, match="read-only"):
            seen[0] = 7.0
    assert d.grad([z], [x])[0].tolist() == [2.0, 4.0, 6.0]


def test_safe_gradients_keeps_the_other_branch_of_where_out(d: Dialect) -> None:
    """``where`` chooses between a formula and a number at the formula's pole, and the gradient is NaN all the same: the
    pole's infinite slope is multiplied with zero. People write every such formula twice."""
    x = d.leaf([0.0, 1.0, 4.0])
    with fg.safe_gradients():
        y = d.module.where(x > 0, d.module.sqrt(x), x * 0)
        assert d.grad([y], [x])[0].tolist() == [0.0, 0.5, 0.25]


def test_the_first_nan_is_reported_with_its_line() -> None:
    """The loss is NaN after an hour. The mode that should tell why is slow, names an innocent function far behind the
    guilty one, or sees gradients only and not the values."""
    x = leaf([1.0, 0.0])
    with fg.debug_nans():
        with pytest.raises(fg.NotFiniteError, match=r"^log: the result holds NaN"):
            fg.log(x - 5.0)
        y = fg.sqrt(x)
        with pytest.raises(fg.NotFiniteError, match=rf"in the gradient of sqrt, recorded at .*{HERE}"):
            fg.grad((y * 0.0).sum(), x)
    with fg.detect_anomaly():
        y = fg.log(x)
        with pytest.raises(fg.NotFiniteError) as caught:
            fg.grad((y * (y * 0.0)).sum(), x)
    assert "The first value that is not finite was made by log at " in str(caught.value)
    assert HERE in str(caught.value)


def test_errors_say_which_tensor_and_which_line() -> None:
    """ "Trying to backward a second time", "not used in the graph": in a program of a thousand lines, which tensor was
    it, and where?"""
    x = leaf([1.0, 2.0])
    y = x * x
    fg.grad(y.sum(), x)
    with pytest.raises(fg.FreedGraphError, match=rf"multiply: .* The node was made at .*{HERE}"):
        fg.grad(y.sum(), x)
    bias = leaf(1.0)
    bias.name = "bias"
    with pytest.raises(fg.UnusedInputError, match=r"at index 1 .* no output depends on 'bias' "):
        fg.grad(x.sum(), [x, bias])
    inner = bias * 2.0
    with pytest.raises(fg.UnusedInputError, match=rf"no output depends on it \(float\d+\[.*\], made at .*{HERE}\d+\)"):
        fg.grad(x.sum(), inner)
    with pytest.raises(fg.ShapeError, match=r"\[2, 3\] @ \[4, 5\]"):
        fg.ones((2, 3)) @ fg.ones((4, 5))


def test_degenerate_points_have_finite_gradients() -> None:
    """A norm of zeros, a power of zero, equal eigenvalues or singular values: a formula divides zero by zero there, and
    one sample of a batch turns all parameters into NaN. At the second order even more do."""
    zero = leaf([0.0, 0.0])
    assert fg.grad(fg.norm(zero), zero).tolist() == [0.0, 0.0]
    assert func.hessian(fg.norm)(zero).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert func.grad(func.grad(lambda x: x**2.0))(leaf(0.0)).item() == 2.0
    assert func.hessian(fg.prod)(zero).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    equal = leaf([3.0, 3.0])
    assert fg.grad(fg.std(equal), equal).tolist() == [0.0, 0.0]
    same = leaf(np.eye(3))
    assert fg.grad(fg.linalg.eigh(same)[0].sum(), same).tolist() == np.eye(3).tolist()
    for y in (fg.linalg.eigh(same)[1], fg.linalg.svd(same)[0], fg.linalg.svd(same)[1]):
        assert np.isfinite(fg.grad(y.sum(), same)).all()


def test_zero_is_a_derivative_like_any_other() -> None:
    """The second derivative of a linear model is zero. Instead there is an error, or None, or either, depending on
    which function was asked."""
    x = leaf([1.0, 2.0])
    assert func.grad(lambda x: fg.tensor(2.0))(x).tolist() == [0.0, 0.0]
    assert func.hessian(lambda x: (3.0 * x).sum())(x).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    slope = fg.grad((3.0 * x).sum(), x, create_graph=True)
    assert fg.grad(slope.sum(), x, allow_unused=True) is None
    assert func.jvp(lambda x: fg.round(x), (x,), (x.detach(),))[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("keep", ["grad", "backward"])
def test_a_recorded_gradient_is_freed_with_its_last_reference(keep: str) -> None:
    """With ``backward(create_graph=True)`` in a loop, memory grows until the process dies or the garbage collector
    runs: parameter, gradient and graph hold each other."""
    gc.collect()
    gc.disable()
    try:
        x = leaf([1.0, 2.0])
        y = (x**3).sum()
        if keep == "backward":
            fg.backward(y, create_graph=True)
            seen = weakref.ref(x.grad)
            x.grad = None
        else:
            g = fg.grad(y, x, create_graph=True)
            seen = weakref.ref(g)
            del g
        before = fg._core.live_nodes()
        del y
        assert seen() is None
        assert fg._core.live_nodes() < before
        alive = weakref.ref(x)
        del x
        assert alive() is None
    finally:
        gc.enable()


def test_jacobians_and_per_sample_gradients_take_one_pass() -> None:
    """A Jacobian is a Python loop over its rows; gradients of single samples are a loop over the batch; and the batched
    way falls back to a loop, or has no rule for a function of the model."""
    calls: list[int] = []

    class Square(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            calls.append(1)
            return g * 2.0 * ctx.saved_tensors[0]

    x = leaf(np.arange(50.0))
    assert np.array_equal(func.jacrev(Square.apply)(x), np.diag(2 * np.arange(50.0)))
    assert len(calls) == 1
    w, batch = sample(3, 4), sample(20, 4, seed=1)
    each = func.vmap(func.grad(lambda w, x: Square.apply(w @ x).sum()), in_axes=(None, 0))(w, batch)
    assert len(calls) == 2
    a, b = np.asarray(w), np.asarray(batch)
    np.testing.assert_allclose(np.asarray(each), 2 * (b @ a.T)[:, :, None] * b[:, None, :])
    assert func.hessian_diagonal(lambda x: (x**3).sum())(x).tolist() == (6 * np.arange(50.0)).tolist()


def test_a_small_op_costs_little_more_than_in_numpy() -> None:
    """Programs with small tensors spend their time in overhead: one recorded product takes ten times as long as in
    NumPy, or more."""
    x, y, a, b = leaf([1.0]), leaf([2.0]), np.ones(1), np.ones(1)
    ours, numpys = [], []
    # Other work of the machine does not count, and slows both down in turn.
    for _ in range(100):
        ours.append(timeit.timeit(lambda: x * y, timer=time.process_time, number=1000))
        numpys.append(timeit.timeit(lambda: a * b, timer=time.process_time, number=1000))
    assert min(ours) < 8 * min(numpys)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    """The backward pass of a wide model runs on one core; or on several, and then gives other bits in every run."""
    out = script("""
        found = set()
        for n in (1, 2, 2, 2):
            fg.set_num_threads(n)
            x = fg.tensor(np.linspace(0, 1, 20000, dtype=np.float32), requires_grad=True)
            found.add(np.asarray(fg.grad(wide(x), x)).tobytes())
        print(len(found))
    """)
    assert out.strip() == "1"


def test_checkpoints_and_saved_tensor_hooks_work_at_any_order() -> None:
    """Recomputing saves memory until the model asks for ``grad`` instead of ``backward``, for a second derivative, or
    for a checkpoint within a checkpoint: then it is refused, or gives wrong numbers."""

    def block(x: Any) -> Any:
        return fg.checkpoint(lambda x: fg.sin(x) * x, x) + x

    def plain(x: Any) -> Any:
        return fg.sin(x) * x + x

    x = leaf([0.3, 0.7])
    packed: list[Any] = []

    def pack(t: Any) -> Any:
        packed.append(t.tolist())
        return packed[-1]

    hooks = fg.saved_tensors_hooks(pack, lambda t: fg.tensor(t, dtype="float64"))
    for outer in (block, lambda x: fg.checkpoint(block, x)):
        y, want = outer(outer(x)).sum(), plain(plain(x)).sum()
        for _ in range(3):
            y, want = fg.grad(y, x, create_graph=True).sum(), fg.grad(want, x, create_graph=True).sum()
            np.testing.assert_allclose(y.item(), want.item())
        with hooks:
            z = outer(x).sum()
        first = fg.grad(z, x, create_graph=True)
        np.testing.assert_allclose(fg.grad(first.sum(), x).tolist(), func.hessian_diagonal(lambda x: plain(x).sum())(x))
    assert packed


def test_a_hook_has_the_same_effect_on_grad_and_backward(d: Dialect) -> None:
    """Whether a hook on a tensor changes the gradient depends on how the gradient was asked for: by ``backward``, by
    ``grad``, alone or together with others, before or after another hook. (Paddle's ``grad`` passes a leaf's hooks by,
    because there they belong to the sum in ``.grad``.)"""

    def asked(*which: int) -> list[float]:
        x = d.leaf(1.0)
        y = x * 2.0
        y.register_hook(lambda g: g * 10.0)
        return [g.item() for g in d.grad([y * y], [(x, y)[i] for i in which])]

    assert asked(0) == [80.0]
    assert asked(1) == [40.0]
    assert asked(0, 1) == [80.0, 40.0]
    x = d.leaf(1.0)
    x.register_hook(lambda g: g * 10.0)
    (x * x).backward()
    assert x.grad.item() == 20.0
    assert d.grad([x * x], [x])[0].item() == (2.0 if d.name == "paddle" else 20.0)


NOTHING: Any = None
BAD: list[Callable[[Any], Any]] = [
    lambda x: fg.grad(NOTHING, NOTHING),
    lambda x: fg.grad(x, [None]),
    lambda x: fg.grad(x.sum(), x, fg.ones((7,))),
    lambda x: x.backward(fg.ones((2, 2))),
    lambda x: fg.take(x, fg.tensor([2**62])),
    lambda x: fg.reshape(x, (2**62, 2**62)),
    lambda x: fg.broadcast_to(x, (2**62, 3)).sum(),
    lambda x: fg.conv2d(x, x),
    lambda x: fg.zeros((2**60,)),
    lambda x: x.grad_fn.missing,
]


@pytest.mark.parametrize("bad", BAD)
def test_bad_arguments_raise(bad: Callable[[Any], Any]) -> None:
    """A wrong shape or None gives no traceback: the interpreter crashes, or foreign memory is read."""
    with pytest.raises((fg.FerrogradError, MemoryError, AttributeError)):
        bad(leaf([1.0, 2.0, 3.0]))


def test_a_long_graph_is_dropped_without_recursion() -> None:
    """A recurrent model of a hundred thousand steps computes, and overflows the stack when its loss is dropped."""
    y = x = leaf(1.0)
    for _ in range(200_000):
        y = y * 1.0
    g = fg.grad(y, x, create_graph=True)
    del y
    assert g.item() == 1.0
    del g


def test_a_custom_rule_works_in_both_modes() -> None:
    """A function with a rule for reverse mode cannot be used in forward mode, and one for forward mode not in reverse;
    so nobody can take a Hessian through it."""

    Cube.check([leaf([0.5, -2.0])])
    assert func.jacfwd(func.jacrev(Cube.apply))(leaf(2.0)).item() == 12.0


def test_items_may_be_assigned() -> None:
    """An array of results is filled element by element, and the library refuses, or loses the gradient."""
    x = leaf([1.0, 2.0])
    y = fg.zeros((3,), dtype="float64")
    for i in range(2):
        y[i + 1] = x[i] ** 2
    assert fg.grad(y.sum(), x).tolist() == [2.0, 4.0]


def test_results_can_be_copied(d: Dialect) -> None:
    """``deepcopy`` of a model that caches a result fails: only leaves can be copied."""
    y = d.leaf([1.0, 2.0]) * 2.0
    copied = copy.deepcopy({"cache": y})["cache"]
    assert copied.tolist() == [2.0, 4.0]
    assert copied is not y
