"""Whole functions compiled: what they read and write outside of their arguments, and kinds of calls."""

from __future__ import annotations

import pickle
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import func, paddle

from tests import check
from tests.compile.test_closed_door import bits, outcome

nn: Any = torch.nn
paddle_nn: Any = paddle.nn
#: A function, the arguments of its calls, and the tensors whose values are compared after each call.
Scene = tuple[Callable[..., Any], list[tuple[Any, ...]], Callable[[], list[Any]]]


def array(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def plays(make: Callable[[], Scene]) -> Any:
    """Makes the scene twice, compiles one of the functions, and compares both after each call."""
    (plain, inputs, state), (function, same_inputs, same_state) = make(), make()
    compiled = fg.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, (args, same) in enumerate(zip(inputs, same_inputs, strict=True)):
            check.seed(i)
            wanted = outcome(partial(plain, *args))
            check.seed(i)
            assert outcome(lambda same=same: compiled(*same)) == wanted  # type: ignore[misc]
            assert bits(same_state()) == bits(state())
    return compiled


def of(f: Any, *shape: int, track: bool = False) -> Callable[[], Scene]:
    """A scene of a function of one tensor."""
    inputs = [array(*(shape or (16,)), seed=i) for i in range(4)]
    return lambda: (f, [(torch.tensor(x, requires_grad=track),) for x in inputs], list)


def written(x: Any) -> Any:
    y = x * 2
    y += x
    y[3:5] = 0.0
    y[0] = x[1]
    part = y[2:8]
    part.mul_(3)
    return y.sum() * y


def moved_along(x: Any) -> Any:
    y = x * 2
    y[0] = y[1]
    y[1:] = y[:-1]
    return y


def written_at_numbers(x: Any) -> Any:
    """Writes where a tensor says, as into a cache of keys."""
    place, table = x.argmax() % 4, x.reshape(4, 4) * 1
    table[:, place] = 2.0 * x[:4]
    table[place - 4] = x[0]
    return table


def by_frequency(x: Any) -> Any:
    return nn.functional.embedding(x[:8].argsort() // 2, x.reshape(8, 2), scale_grad_by_freq=True).sin().sum()


def divergence(x: Any) -> Any:
    d = torch.distributions
    p, q = (
        d.TransformedDistribution(d.Normal(loc, 1.0), [d.AffineTransform(x.sum(), x[3].exp())]) for loc in (x[0], x[1])
    )
    return d.kl_divergence(p, q)


def onto_zeros(x: Any) -> Any:
    z = torch.zeros(4)
    z[0] = x[0]
    return z


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        return g[0] * ctx.saved_tensors[0].exp()


def hooked(y: Any) -> Any:
    w = y * 1
    w.register_hook(lambda g: g * 3)
    return (w * w).sum()


def gate(v: Any) -> Any:
    return torch.tanh(v) * v.sum()


ROWS = torch.tensor(array(6, 16, seed=7))


def over_rows(f: Any, w: Any) -> Any:
    """The sum of a function of each row of constants and of a tensor that all rows share."""
    return func.vmap(lambda row: f(row, w))(ROWS).sum()


COMPILED = {
    "writes": of(written),
    "gradient through writes": of(func.grad(lambda x: (written(x) ** 2).sum())),
    "write to a new tensor": of(onto_zeros),
    "writes of parts to others": of(moved_along),
    "gradient through writes of parts to others": of(func.grad(lambda x: (moved_along(x) ** 2).sum())),
    "writes at numbers": of(written_at_numbers),
    "gradient through writes at numbers": of(func.grad(lambda x: (written_at_numbers(x) ** 2).sum())),
    "embedding by frequency": of(func.grad(by_frequency)),
    "divergence of transformed distributions": of(divergence),
    "vmap": of(func.vmap(gate), 4, 16),
    "vmap of grad": of(func.vmap(func.grad(lambda v: gate(v).sum())), 4, 16),
    "grad of a vmap": of(func.grad(partial(over_rows, lambda row, w: (row * w).sum().tanh()))),
    "grad of a vmap of matrices": of(func.grad(partial(over_rows, lambda row, w: (row @ w).sin().sum())), 16, 5),
    "grad of a vmap in half precision": of(
        lambda x: func.grad(partial(over_rows, lambda row, w: (row.half() * w).sum().tanh()))(x.half()).float()
    ),
    "grad of nested vmaps": of(
        func.grad(partial(over_rows, lambda row, w: func.vmap(lambda n: (n * w).sum().tanh())(row).sum()))
    ),
    "hessian of a vmap": of(func.hessian(partial(over_rows, lambda row, w: (row * w).sum().tanh()))),
    "grad of a vmap of grad": of(
        func.grad(partial(over_rows, lambda row, w: func.grad(lambda row: (row * w).sin().sum())(row).pow(2).sum()))
    ),
    "grad of a hessian": of(
        func.grad(lambda w: func.hessian(lambda x: (x * w).sin().sum())(torch.ones(16)).pow(2).sum())
    ),
    "jvp of a grad of a vmap": of(
        lambda x: func.jvp(func.grad(partial(over_rows, lambda row, w: (row * w).sum().tanh())), (x,), (x,))
    ),
    "jacrev": of(func.jacrev(gate)),
    "jacfwd": of(func.jacfwd(gate)),
    "hessian": of(func.hessian(lambda v: gate(v).sum())),
    "jvp of grad": of(lambda x: func.jvp(func.grad(lambda v: gate(v).sum()), (x,), (x,))),
    "third derivative": of(
        func.grad(lambda x: func.grad(lambda x: func.grad(lambda x: x.tanh().sum())(x).sum())(x).sum())
    ),
    "Function": of(func.grad(lambda x: Exp.apply(x).sum())),
    "Function, tracked": of(lambda x: Exp.apply(x).sum(), track=True),
    "checkpoint": of(func.grad(lambda x: fg.checkpoint(lambda x: torch.tanh(x) * x, x).sum())),
    "hooks": of(func.grad(hooked)),
    "random numbers": of(lambda x: x * torch.rand(16) + torch.randn_like(x)),
    "dropout": of(lambda x: nn.functional.dropout(x, 0.5, True)),
    "several results": of(torch.sort),
    "complex": of(lambda x: torch.fft.fft(x).abs()),
    "half": of(lambda x: (x.half() * 2).float()),
    "index": of(lambda x: x[torch.tensor([0, 2])]),
    "a NumPy array that the function makes": of(lambda x: x * torch.tensor(np.arange(16, dtype=np.float32))),
    "full of a tensor": of(lambda x: torch.full((2, 3), x.sum()) + torch.full_like(x[:3], x.mean())),
    "a list of tensors": of(lambda x: (torch.tensor([[x[0], 1.5], [2, x[1]]]), fg.asarray([x[:2], x[2:4]]))),
    "a list of tensors and integers": of(lambda x: torch.tensor([x.argmax(), 7, True])),
    "a loss of sequences": of(
        lambda x: [
            torch.nn.functional.ctc_loss(
                x.reshape(4, 1, 4).log_softmax(-1), (x[:2].abs() * 9).long()[None] % 3 + 1, times, torch.tensor([2])
            )
            for times in ((4,), torch.tensor([3]), (x[:1] * 0).long() + 1)
        ]
    ),
    "bags of a table": of(
        lambda x: [
            torch.nn.functional.embedding_bag(x[:6].abs().long(), x.reshape(8, 2), (x[6:8] * 0).long() + k, mode=mode)
            for mode, k in (
                ("sum", torch.tensor([0, 2])),
                ("mean", torch.tensor([0, 6])),
                ("max", torch.tensor([0, 0])),
            )
        ]
    ),
    "whether tensors are equal": of(lambda x: x * 2 if torch.equal(x, x + 0) and not torch.allclose(x, x + 1) else x),
    "the argument": of(lambda x: x),
    "a constant beside": of(lambda x: {"y": (x * 2, None), "n": 3}),
    "views of the argument": of(lambda x: (x[2:5], x.view(4, 4).T, x)),
    "views of a result": of(lambda x: (lambda y: [y, y, y[0], y.view(4, 4)])(x * 2)),
    "a transpose of a new tensor": of(lambda x: (x * 2).reshape(4, 4).T),
}

EAGER = {
    "if": of(lambda x: x * 2 if x.sum() > 0 else x * 3),
    "float": of(lambda x: x * float(x.sum())),
    "item": of(lambda x: x[: int((x > 0).sum())]),
    "mask": of(lambda x: x[x > 0]),
    "nonzero": of(lambda x: torch.nonzero(x > 0)),
    "NumPy": of(lambda x: x * torch.tensor(x.numpy() ** 2)),
    "an error": of(lambda x: torch.linalg.cholesky(x.reshape(4, 4))),
}


@pytest.mark.parametrize("make", COMPILED.values(), ids=COMPILED)
def test_compiled(make: Callable[[], Scene]) -> None:
    assert plays(make).cache_info().hits == 3


@pytest.mark.parametrize("make", EAGER.values(), ids=EAGER)
def test_not_compiled(make: Callable[[], Scene]) -> None:
    assert plays(make).cache_info().currsize == 0


def batches(n: int = 5) -> list[tuple[Any, ...]]:
    return [(torch.tensor(array(16, seed=i)),) for i in range(n)]


def parameter() -> Any:
    return torch.tensor(array(16, seed=9), requires_grad=True)


def manual_descent() -> Scene:
    w = parameter()

    def step(x: Any) -> Any:
        loss = ((w * x) ** 2).sum()
        (g,) = torch.autograd.grad(loss, [w])
        with torch.no_grad():
            w.sub_(0.1 * g)
        return loss.detach()

    return step, batches(), lambda: [w]


def average_of_batches() -> Scene:
    layer = nn.BatchNorm1d(4, momentum=None)
    inputs = [(torch.tensor(array(6, 4, seed=i)),) for i in range(5)]
    return layer, inputs, lambda: [layer.running_mean, layer.running_var, layer.num_batches_tracked]


def descent_on_data() -> Scene:
    w = parameter()

    def step(x: Any) -> Any:
        loss = ((w * x) ** 2).sum()
        loss.backward()
        w.data -= 0.1 * w.grad
        w.grad = None
        return loss.detach()

    return step, batches(), lambda: [w]


def accumulation() -> Scene:
    w = parameter()

    def step(x: Any) -> Any:
        ((w * x) ** 2).sum().backward()
        return x.sum()

    return step, batches(), lambda: [w.grad]


def descent_on_fresh_gradients() -> Scene:
    w = parameter()

    def step(x: Any) -> Any:
        w.grad = None
        ((w * x) ** 2).sum().backward()
        with torch.no_grad():
            w.sub_(0.1 * w.grad)

    return step, batches(), lambda: [w, w.grad]


def written_arguments() -> Scene:
    inputs = batches()

    def step(x: Any) -> Any:
        x.mul_(2)
        x[0] = 7.0
        return x.sum()

    return step, inputs, lambda: [x for (x,) in inputs]


def batch_norm() -> Scene:
    net = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4), nn.ReLU())
    for i, p in enumerate(net.parameters()):
        p.data.copy_(torch.tensor(array(*p.shape, seed=i)))
    inputs = [(torch.tensor(array(6, 8, seed=i)),) for i in range(4)]
    return net, inputs, lambda: [*net.parameters(), *net.buffers()]


def tensor_in_a_dict() -> Scene:
    box = {"w": torch.tensor(array(16))}

    def state() -> list[Any]:
        box["w"] = box["w"] * 1.5
        return [box["w"]]

    return (lambda x: (x * box["w"]).sum()), batches(), state


WRITING = {
    f.__name__: f
    for f in (
        manual_descent,
        descent_on_data,
        average_of_batches,
        accumulation,
        descent_on_fresh_gradients,
        written_arguments,
        batch_norm,
        tensor_in_a_dict,
    )
}


@pytest.mark.parametrize("make", WRITING.values(), ids=WRITING)
def test_what_is_outside_is_read_and_written_in_each_call(make: Callable[[], Scene]) -> None:
    assert plays(make).cache_info().hits > 1


def rebound_attribute() -> Scene:
    class Owner:
        w: Any = None

    owner = Owner()
    owner.w = torch.tensor(array(16))

    def state() -> list[Any]:
        owner.w = owner.w * 1.5
        return [owner.w]

    return (lambda x: (x * owner.w).sum()), batches(), state


def number_in_a_list() -> Scene:
    count = [0]

    def state() -> list[Any]:
        count[0] += 1
        return []

    return (lambda x: x * count[0]), batches(), state


def part_of_a_tensor() -> Scene:
    base = torch.tensor(array(8, 16))

    def step(x: Any) -> Any:
        x.mul_(2)
        return x.sum()

    return step, [(base[i],) for i in range(4)], lambda: [base]


def shared_arguments() -> Scene:
    x = [torch.tensor(array(16, seed=i)) for i in range(4)]

    def step(a: Any, b: Any) -> Any:
        a.mul_(2)
        return (a * b).sum()

    return step, [(x[0], x[1]), (x[2], x[2]), (x[3], x[3][:]), (x[0], x[1])], lambda: x


def kept_state() -> Scene:
    state: list[Any] = [torch.zeros(16)]

    def step(x: Any) -> Any:
        state[0] = torch.tanh(state[0] + x)
        return state[0].sum()

    return step, batches(), lambda: state


def optimizer() -> Scene:
    w = parameter()
    adam = torch.optim.Adam([w], lr=0.01)

    def step(x: Any) -> Any:
        adam.zero_grad()
        loss = ((w * x) ** 2).sum()
        loss.backward()
        adam.step()
        return loss.detach()

    return step, batches(), lambda: [w, w.grad]


OTHERS = {
    f.__name__: f
    for f in (rebound_attribute, number_in_a_list, part_of_a_tensor, shared_arguments, kept_state, optimizer)
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_what_a_trace_cannot_hold_is_right_all_the_same(make: Callable[[], Scene]) -> None:
    plays(make)


def test_gradients_through_a_compiled_function() -> None:
    w = fg.tensor(array(4, 4), requires_grad=True)
    plain = lambda x: (fg.tanh(x @ w) ** 2).sum(axis=1)  # noqa: E731
    compiled = fg.compile(plain)
    for i in range(3):
        x = fg.tensor(array(5, 4, seed=i), requires_grad=True)
        found = []
        f: Any
        for f in (plain, compiled):
            y = f(x)
            first = fg.grad(y.sum(), [x, w], create_graph=True)
            second = fg.grad(first[0].sum(), [x, w])
            found.append(bits([y, *fg.grad(f(x).sum(), [x, w]), *(g.detach() for g in first), *second]))
        assert [b[3] for b in found[0]] == [b[3] for b in found[1]]
    assert compiled.cache_info().misses == 1


def test_a_compiled_module_trains() -> None:
    net = nn.Linear(3, 2)
    compiled = torch.compile(net)
    assert {"_orig_mod.weight", "_orig_mod.bias"} == set(compiled.state_dict())
    compiled(torch.ones(4, 3)).sum().backward()
    assert net.weight.grad.tolist() == [[4.0] * 3] * 2
    layer = paddle.jit.to_static(paddle_nn.Linear(3, 2))
    layer(paddle.ones([4, 3])).sum().backward()
    assert layer.weight.grad.tolist() == [[4.0] * 2] * 3


def test_another_mode_of_a_module_is_another_trace() -> None:
    net = nn.Dropout(0.5)
    compiled = torch.compile(net)
    x = torch.ones(1000)
    assert 0 < compiled(x).sum().item() < 2000
    compiled.eval()
    net.eval()
    assert compiled(x).tolist() == x.tolist()


def test_shapes_dtypes_and_modes_are_told_apart() -> None:
    f = fg.compile(lambda x, k=2: (x * k).sum())
    x = fg.tensor(array(4), requires_grad=True)
    assert f(x).requires_grad
    with fg.no_grad():
        assert not f(x).requires_grad
    assert f(fg.ones((2, 3))).item() == 12
    assert f(fg.ones((2, 3)), 3).item() == 18
    assert f(fg.ones(2, dtype=fg.int64)).dtype == fg.int64
    assert f(fg.ones((3, 2)).T).item() == 12
    assert func.vmap(f)(fg.ones((3, 2))).tolist() == [4.0, 4.0, 4.0]
    assert fg.compile(lambda x: f(x) + 1)(fg.ones(2)).item() == 5


def test_a_shape_that_depends_on_numbers() -> None:
    f = fg.compile(lambda x: fg.unique_values(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for numbers in ([1, 2, 3], [1, 1, 2], [1, 1, 1], [4, 5, 6]):
            assert f(fg.tensor(numbers)).tolist() == sorted(set(numbers))


def test_errors_and_warnings_name_the_line() -> None:
    def f(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x

    with pytest.warns(UserWarning, match=r"f runs uncompiled: its numbers are read at .*test_programs\.py:\d+"):
        fg.compile(f)(fg.ones(2))
    with pytest.raises(RuntimeError, match=r"f cannot be traced: its numbers are read at .*test_programs\.py:\d+"):
        fg.compile(f, fullgraph=True)(fg.ones(2))
    with pytest.raises(TypeError, match="a function is wanted"):
        fg.compile(3)  # type: ignore[call-overload]
    g = fg.compile(lambda x: fg.linalg.cholesky(x))
    assert g(fg.eye(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(fg.LinAlgError):
        g(-fg.eye(2))
    assert g(4 * fg.eye(2)).tolist() == [[2.0, 0.0], [0.0, 2.0]]


def test_the_programs_are_shown_counted_and_forgotten() -> None:
    f = fg.compile(lambda x: fg.exp(x) * 2, maxsize=2)
    for n in (1, 2, 3, 3):
        f(fg.ones(n))
    assert f.cache_info() == (1, 3, 0, 2, 2)
    assert "exp" in f.explain()
    f.cache_clear()
    assert f.cache_info().currsize == 0


def doubled(x: Any) -> Any:
    return x * 2


def test_pickles_and_threads() -> None:
    f = pickle.loads(pickle.dumps(fg.compile(doubled)))
    found: list[float] = []

    def work() -> None:
        for i in range(50):
            found.append(f(fg.tensor([float(i)])).item() - 2 * i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [0.0] * 200


def test_an_error_in_the_function_leaves_everything_as_it_was() -> None:
    w = fg.tensor([1.0, 2.0])

    def f(x: Any) -> Any:
        w.mul_(x)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        fg.compile(f)(fg.tensor([2.0, 2.0]))
    assert w.tolist() == [2.0, 4.0]
    assert (w * 2).tolist() == [4.0, 8.0]


def test_labels_are_inputs() -> None:
    functional: Any = torch.nn.functional
    weight = torch.tensor([1.0, 2.0, 0.5])

    def losses(x: Any, labels: Any) -> Any:
        def total(x: Any) -> Any:
            plain = functional.cross_entropy(x, labels)
            smooth = functional.cross_entropy(x, labels, label_smoothing=0.1)
            weighted = functional.cross_entropy(x, labels, weight)
            return plain + smooth + weighted + functional.nll_loss(functional.log_softmax(x, -1), labels)

        return func.value_and_grad(total)(x)

    compiled = fg.compile(losses, fullgraph=True)
    x = torch.tensor(array(4, 3))
    for labels in ([0, 1, 2, 0], [2, 2, 1, 0], [0, -100, 1, -100]):
        for y, z in zip(compiled(x, torch.tensor(labels)), losses(x, torch.tensor(labels)), strict=True):
            assert bits(y) == bits(z)
    assert compiled.cache_info().hits == 2
    with pytest.raises(fg.IndexOutOfRange, match="target 3 is not one of the 3 classes"):
        compiled(x, torch.tensor([0, 1, 2, 3]))


def test_vmap_inside_and_numbers_that_follow_from_shapes() -> None:
    functional: Any = torch.nn.functional

    def f(xs: Any, labels: Any, images: Any) -> Any:
        one = func.grad(lambda x, label: functional.cross_entropy(x[None], label[None]))
        return func.vmap(one)(xs, labels), functional.interpolate(images, scale_factor=2, mode="bilinear")

    compiled = fg.compile(f, fullgraph=True)
    given = [torch.tensor(array(4, 3)), torch.tensor([0, 1, 2, 0]), torch.tensor(array(1, 2, 3, 3))]
    compiled(*given)
    given = [given[0] * 2, torch.tensor([1, 1, 0, 2]), given[2] + 1]
    assert [bits(y) for y in compiled(*given)] == [bits(y) for y in f(*given)]


def test_nested_transforms_leave_no_edge() -> None:
    x, w = fg.ones([3]), fg.ones([3])

    def loss(w: Any) -> Any:
        return (func.grad(lambda x: fg.tanh(x * w).sum())(x) ** 2).sum()

    assert not func.grad(loss)(w).requires_grad
    compiled = fg.compile(lambda w: w - func.grad(loss)(w), fullgraph=True)
    assert bits(compiled(w)) == bits(w - func.grad(loss)(w))


def test_positions_are_looked_at_in_each_run() -> None:
    # In the trace all positions are valid and not negative, so that nothing has to be done to them.
    functions: list[Callable[[Any, Any], Any]] = [
        lambda x, i: x[i],
        lambda x, i: x[:, i],
        lambda x, i: x[i, i],
        lambda x, i: fg.take(x, i),
        lambda x, i: fg.take_along_axis(x, i[:, None], 1),
        lambda x, i: fg.index_select(x, 0, i),
        lambda x, i: torch.nn.functional.embedding(i, x),
        lambda x, i: fg.index_add(x, 0, i, x[:2]),
        lambda x, i: func.grad(lambda x: (x[i] * x[i]).sum())(x),
    ]
    x = fg.tensor(array(3, 3))
    for f in functions:
        compiled = fg.compile(f, fullgraph=True)
        for places in ([0, 1], [-1, 1], [2, -3], [0, 7], [-4, 0], [1, 1]):
            given = fg.tensor(places)
            found, wanted = outcome(partial(compiled, x, given)), outcome(partial(f, x, given))
            # The error of a program may name another function.
            assert found == wanted or (wanted[0] is fg.IndexOutOfRange and found[0] is wanted[0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_powers_of_an_exponent_that_varies(dtype: str) -> None:
    def power(x: Any, p: Any) -> Any:
        return func.grad(lambda x, p: (x**p).sum(), (0, 1))(x, p)

    compiled = fg.compile(power, fullgraph=True)
    rng = np.random.default_rng(0)
    for p in (2.5, 2.0, 0.5, -1.0, 0.0, 4.0, 1.5, np.nan, np.inf):
        for n in (3, 200):
            x, exponent = fg.tensor(rng.normal(size=n).astype(dtype)), fg.tensor(np.asarray(p, dtype))
            assert [np.nan_to_num(y.numpy(), nan=7.0).tobytes() for y in compiled(x, exponent)] == [
                np.nan_to_num(y.numpy(), nan=7.0).tobytes() for y in power(x, exponent)
            ]


@pytest.mark.parametrize("replacement", [True, False])
def test_numbers_that_are_only_checked_are_no_reason_to_give_up(replacement: bool) -> None:
    def drawn(p: Any) -> Any:
        return torch.multinomial(p, 3, replacement)

    compiled = fg.compile(drawn, fullgraph=True)
    weights = [torch.tensor(np.random.default_rng(i).random((4, 6))) for i in range(4)]
    for i, p in enumerate(weights):
        found = []
        for f in (drawn, compiled):
            torch.manual_seed(i)
            found.append((f(p).tolist(), torch.rand(1).item()))
        assert found[0] == found[1]
    assert compiled.cache_info().hits == 3
    for refused in (weights[0] * 0, -weights[0], weights[0] * float("nan")):
        messages = []
        for f in (drawn, compiled):
            with pytest.raises(fg.ArgumentError) as error:
                f(refused)
            messages.append(str(error.value))
        assert messages[0] == messages[1]


def test_rows_of_a_table_that_are_scaled() -> None:
    def looked_up(index: Any, weight: Any) -> Any:
        return torch.nn.functional.embedding(index, weight, max_norm=1.0)

    compiled = fg.compile(looked_up, fullgraph=True)
    functions: list[Callable[..., Any]] = [looked_up, compiled]
    for i in range(4):
        rng = np.random.default_rng(i)
        index, numbers = torch.tensor(rng.integers(0, 6, (2, 3))), rng.normal(size=(6, 4))
        tables = [torch.tensor(numbers), torch.tensor(numbers)]
        found = [f(index, table) for f, table in zip(functions, tables, strict=True)]
        assert found[0].tolist() == found[1].tolist()
        assert tables[0].tolist() == tables[1].tolist() != numbers.tolist()
    assert compiled.cache_info().hits == 3
