"""What a compiled function finds outside of its arguments is read anew in each call: no value of the trace stays."""

from __future__ import annotations

import collections
import contextvars
import dataclasses
import enum
import functools
import operator
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import pytest
from ferrograd import func
from ferrograd._compile import dependencies
from ferrograd.torch import nn


class Scale:
    """An object whose attributes a function reads."""

    by_class = 2.0

    def __init__(self, k: Any) -> None:
        self.k = k

    def scaled(self, x: Any) -> Any:
        return x * self.k

    @property
    def doubled(self) -> Any:
        return self.k * 2

    def __call__(self, x: Any) -> Any:
        return x * self.k + self.by_class


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k: float) -> None:
        self.k = k


class Mode(enum.Enum):
    ADD = 1
    MULTIPLY = 2


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.drop = nn.Dropout(0.0)
        self.rest = nn.ModuleList([nn.Linear(2, 2)])
        self.power = 2

    def forward(self, x: Any) -> Any:
        x = self.drop(self.layer(x)) ** self.power
        for layer in self.rest:
            x = layer(x)
        return x


def check(f: Callable[..., Any], x: Any, *changes: Callable[[], Any], fullgraph: bool = True) -> Any:
    """Compares a function with its compiled form, before and after each change."""
    compiled = fg.compile(f, fullgraph=fullgraph)
    with fg.no_grad():
        for change in (lambda: None, *changes):
            change()
            for _ in range(3):
                assert compiled(x).tolist() == f(x).tolist()
    return compiled


X = [3.0, -1.0]


def test_attributes_of_objects() -> None:
    a, inner = Scale(2.0), types.SimpleNamespace(k=Scale(3.0))
    x = fg.tensor(X)

    def f(x: Any) -> Any:
        return x * a.k + a.by_class * inner.k.k + a.doubled + a.scaled(x) + a(x)

    def instance_hides_class() -> None:
        a.by_class = 9.0

    def class_attribute() -> None:
        Scale.by_class = 4.0

    compiled = check(
        f,
        x,
        lambda: setattr(a, "k", 5.0),
        lambda: setattr(a, "k", fg.tensor([7.0, 1.0])),
        lambda: setattr(a, "k", fg.tensor([8.0, 1.0])),
        class_attribute,
        lambda: setattr(inner, "k", Scale(11.0)),
        lambda: setattr(inner.k, "k", 1.0),
        instance_hides_class,
        lambda: delattr(a, "by_class"),
    )
    Scale.by_class = 2.0
    # The second of the two tensors took no trace of its own.
    assert compiled.cache_info().misses == 7
    assert compiled._runs > 0


def test_slots_members_of_enums_and_deques() -> None:
    slotted, held, recent = Slotted(2.0), types.SimpleNamespace(mode=Mode.ADD), collections.deque([1.0], maxlen=2)

    def f(x: Any) -> Any:
        x = x * slotted.k + sum(recent)
        return x + 1 if held.mode is Mode.ADD else x * 3

    check(
        f,
        fg.tensor(X),
        lambda: setattr(slotted, "k", 3.0),
        lambda: setattr(held, "mode", Mode.MULTIPLY),
        lambda: recent.append(4.0),
    )


def test_modules_of_python_and_classes_as_settings() -> None:
    settings: Any = types.ModuleType("settings")
    settings.rate = 2.0
    settings.helper = lambda x: x + settings.rate

    class Options:
        rate = 3.0

    check(
        lambda x: settings.helper(x) * Options.rate,
        fg.tensor(X),
        lambda: setattr(settings, "rate", 4.0),
        lambda: setattr(Options, "rate", 5.0),
    )


def test_methods_functors_partial_functions_and_defaults() -> None:
    a, b = Scale(2.0), Scale(3.0)
    x = fg.tensor(X)
    check(a.scaled, x, lambda: setattr(a, "k", 5.0), lambda: setattr(a, "k", fg.tensor([1.0, 2.0])))
    check(a, x, lambda: setattr(a, "k", 6.0))
    check(functools.partial(lambda s, x: s.k * x, b), x, lambda: setattr(b, "k", 7.0))

    shift = [2.0]

    def with_default(x: Any, s: Scale = b, *, t: Any = shift) -> Any:
        return x * s.k + t[0]

    check(with_default, x, lambda: setattr(b, "k", 8.0), lambda: shift.__setitem__(0, 3.0))


def test_a_compiled_method_of_several_objects() -> None:
    class Model:
        def __init__(self, k: float) -> None:
            self.k = k

        @fg.compile
        def run(self, x: Any) -> Any:
            return x * self.k

    a, b = Model(2.0), Model(3.0)
    x = fg.tensor([1.0])
    for _ in range(3):
        assert (a.run(x).item(), b.run(x).item()) == (2.0, 3.0)
    b.k = 5.0
    assert (a.run(x).item(), b.run(x).item()) == (2.0, 5.0)


def test_names_that_are_made_while_the_function_runs() -> None:
    a = types.SimpleNamespace(w0=1.0, w1=2.0)
    check(
        lambda x: sum((x * getattr(a, f"w{i}") for i in range(2)), x),
        fg.tensor(X),
        lambda: setattr(a, "w1", 5.0),
    )


def test_what_functions_inside_of_others_read() -> None:
    k = 2.0

    def inner(x: Any) -> Any:
        return (x * x * k).sum()

    gradient = func.grad(inner)
    compiled = fg.compile(inner)
    cached = functools.lru_cache(lambda: k)

    def change() -> None:
        nonlocal k
        k += 1
        cached.cache_clear()

    x = fg.tensor(X)
    for f in (lambda x: gradient(x) + 1, lambda x: compiled(x) * 2, lambda x: x * cached()):
        check(f, x, change, change)


def test_functions_that_classes_of_the_library_call() -> None:
    k = 2.0

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * k

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * k

    def change() -> None:
        nonlocal k
        k = 5.0

    check(lambda x: Times.apply(x) + 1, torch.tensor(X), change)


def test_parameters_layers_hooks_and_options_of_modules() -> None:
    torch.manual_seed(0)
    net = Net()
    x = torch.tensor([X])
    hook: list[Any] = []
    compiled = check(
        net,
        x,
        lambda: setattr(net.layer, "weight", nn.Parameter(torch.ones(2, 2))),
        lambda: setattr(net, "layer", nn.Linear(2, 2)),
        lambda: setattr(net, "power", 3),
        lambda: net.rest.append(nn.Linear(2, 2)),
        lambda: net.rest.__setitem__(0, nn.Identity()),
        lambda: hook.append(net.layer.register_forward_hook(lambda m, args, out: out * 10)),
        lambda: hook[0].remove(),
        lambda: net.layer.state_dict()["bias"].fill_(4.0),
    )
    # A hook that is gone and a write to a parameter take no trace.
    assert compiled.cache_info().misses == 7
    compiled.cache_clear()
    assert compiled._runs > 0
    net.drop.p = 1.0
    with fg.no_grad():
        assert compiled(x).tolist() == net(x).tolist()
        net.eval()
        assert compiled(x).tolist() == net(x).tolist()


def test_a_step_of_training_sees_a_new_layer() -> None:
    def trained(wrap: Callable[[Any], Any]) -> list[float]:
        torch.manual_seed(0)
        net, x = Net(), torch.tensor([X])
        losses = []

        def step(x: Any) -> Any:
            loss = (net(x) ** 2).sum()
            net.zero_grad()
            loss.backward()
            with torch.no_grad():
                for p in net.parameters():
                    p -= 0.001 * p.grad
            return loss.detach()

        run = wrap(step)
        for i in range(6):
            if i == 3:
                net.rest[0] = nn.Linear(2, 2)
            losses.append(run(x).item())
        return losses

    assert trained(fg.compile) == trained(lambda f: f)


def test_a_function_that_counts_its_calls_runs_as_it_is() -> None:
    a, written = types.SimpleNamespace(calls=0), fg.zeros(1)

    def count(x: Any) -> Any:
        a.calls += 1
        written.add_(1)
        return x * a.calls

    f = fg.compile(count)
    with pytest.warns(UserWarning, match=r"count runs uncompiled: it changes SimpleNamespace.calls, which it reads"):
        assert [f(fg.ones(1)).item() for _ in range(5)] == [1, 2, 3, 4, 5]
    assert written.tolist() == [5.0]
    assert "not compiled: it changes SimpleNamespace.calls" in f.explain()
    strict = fg.compile(count, fullgraph=True)
    strict(fg.ones(1))
    strict(fg.ones(1))
    with pytest.raises(fg.CompileError, match=r"changes SimpleNamespace.calls"):
        strict(fg.ones(1))


def test_state_that_the_first_call_makes() -> None:
    class Lazy:
        weight: Any = None

        def __call__(self, x: Any) -> Any:
            if self.weight is None:
                self.weight = fg.full([2], 3.0)
            return x * self.weight

    lazy = Lazy()
    f = fg.compile(lambda x: lazy(x), fullgraph=True)
    for _ in range(4):
        assert f(fg.tensor(X)).tolist() == [9.0, -3.0]
    assert f.cache_info().hits == 2
    lazy.weight = fg.ones(2)
    assert f(fg.tensor(X)).tolist() == X


def test_tensors_that_change_places_and_lists_that_grow() -> None:
    a = types.SimpleNamespace(u=fg.tensor([1.0]), v=fg.tensor([2.0]))

    def swap(x: Any) -> Any:
        a.u, a.v = a.v, a.u
        return x * a.u

    f = fg.compile(swap)
    with pytest.warns(UserWarning, match="it changes which tensors it reads"):
        assert [f(fg.ones(1)).item() for _ in range(6)] == [2, 1, 2, 1, 2, 1]

    def grow(x: Any, seen: list[float]) -> Any:
        seen.append(1.0)
        return x * len(seen)

    seen: list[float] = []
    g = fg.compile(grow)
    with pytest.warns(UserWarning, match="it changes argument 1"):
        assert [g(fg.ones(1), seen).item() for _ in range(5)] == [1, 2, 3, 4, 5]


def test_the_warning_of_many_traces_names_what_varies() -> None:
    a = types.SimpleNamespace(k=0)
    by_number, by_shape = fg.compile(lambda x, k: x * k), fg.compile(lambda x: x * 2)
    by_attribute = fg.compile(lambda x: x * a.k)

    def attribute(i: int) -> None:
        a.k = i
        by_attribute(fg.ones(1))

    calls: list[tuple[Callable[[int], Any], str]] = [
        (lambda i: by_number(fg.ones(1), i), "argument 1"),
        (lambda i: by_shape(fg.ones(i + 2)), "the shape, dtype or memory"),
        (attribute, "SimpleNamespace.k"),
    ]
    for call, what in calls:
        for i in range(7):
            call(i)
        with pytest.warns(UserWarning, match=f"has been traced 8 times. The last two traces differ in {what}"):
            call(7)


def test_arrays_that_are_attributes_are_refused_by_name() -> None:
    import numpy as np

    a = types.SimpleNamespace(data=np.ones(600_000))
    f = fg.compile(lambda x: x * float(a.data[0]))
    with pytest.warns(UserWarning, match="SimpleNamespace.data: it looks up a NumPy array of more than 4 MiB"):
        assert f(fg.ones(1)).item() == 1
    a.data[0] = 2
    assert f(fg.ones(1)).item() == 2


def test_methods_that_are_replaced_are_seen() -> None:
    class Rule:
        @staticmethod
        def fixed(x: Any) -> Any:
            return x * 2

        def own(self, x: Any) -> Any:
            return x * 3

        @property
        def k(self) -> float:
            return 5.0

    rule = Rule()
    f = fg.compile(lambda x: rule.fixed(x) + rule.own(x) + rule.k, fullgraph=True)
    for _ in range(3):
        assert f(fg.ones(1)).item() == 10
    Rule.fixed = staticmethod(lambda x: x * 20)  # type: ignore[method-assign]
    assert f(fg.ones(1)).item() == 28
    Rule.own = lambda self, x: x * 30  # type: ignore[method-assign]
    assert f(fg.ones(1)).item() == 55
    Rule.k = property(lambda self: 50.0)  # type: ignore[method-assign, assignment]
    assert f(fg.ones(1)).item() == 100
    assert f.cache_info().hits == 2


@pytest.mark.filterwarnings("ignore:compile")
def test_what_gives_something_else_each_time_is_refused() -> None:
    import itertools
    import random

    import numpy as np

    generator, own, drawn = np.random.default_rng(0), random.Random(0), random.random
    count, rows, numbers = itertools.count(), iter(range(100)), [float(i) for i in range(20)]
    following, last = count.__next__, numbers.pop

    def by_default(x: Any, draw: Callable[[], float] = own.random) -> Any:
        return x * draw()

    functions: list[Callable[[Any], Any]] = [
        lambda x: x * generator.normal(),
        lambda x: x * own.random(),
        lambda x: x * random.random(),
        lambda x: x * np.random.normal(),
        lambda x: x * drawn(),
        lambda x: x * getattr(random, "random")(),  # noqa: B009 -- the name is looked up where no analysis sees it
        lambda x: sum([draw() * x for draw in (random.random,)]),
        lambda x: x * float(np.random.rand(1)[0]),
        by_default,
        functools.partial(lambda draw, x: x * draw(), random.random),
        lambda x: fg.tensor(np.random.permutation(1000)[:1]) * x,
        lambda x: x * next(count),
        lambda x: x * next(rows),
        lambda x: x * following(),
        lambda x: x * last(),
    ]
    for f in functions:
        compiled = fg.compile(f)
        assert len({compiled(fg.ones(1)).item() for _ in range(4)}) == 4
        with pytest.raises(
            fg.CompileError,
            match=r"gives something else each time|the generators of Python or NumPy|which it may change",
        ):
            fg.compile(f, fullgraph=True)(fg.ones(1))


def test_methods_that_are_looked_up_apart_from_their_objects() -> None:
    table, rows, w = {"k": 2.0}, [1.0, 2.0], fg.tensor([2.0])
    get, item, total = table.get, rows.__getitem__, w.sum
    f = fg.compile(lambda x: x * get("k") * item(0) * total())
    assert [f(fg.ones(1)).item() for _ in range(3)] == [4, 4, 4]
    table["k"] = 3.0
    assert f(fg.ones(1)).item() == 6
    rows[0] = 2.0
    assert f(fg.ones(1)).item() == 12
    w.add_(1)
    assert [f(fg.ones(1)).item() for _ in range(2)] == [18, 18]
    assert f.cache_info().hits >= 3


@dataclasses.dataclass
class Pair:
    value: Any
    factor: float
    name: str


def test_results_in_dataclasses() -> None:
    f = fg.compile(lambda x: [Pair(x * 2, 1.5, "a"), 3, None, (x.sum(), 0.5)], fullgraph=True)
    for i in range(3):
        found: Any = f(fg.full(2, i))
        pair, three, nothing, (total, half) = found
        assert (pair.value.tolist(), pair.factor, pair.name) == ([2 * i] * 2, 1.5, "a")
        assert (three, nothing, total.item(), half) == (3, None, 2 * i, 0.5)
    assert f.cache_info().hits == 2


def test_a_function_that_keeps_what_it_computes_is_soon_left_alone() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x * 2)
        return x

    f = fg.compile(keep)

    def calls() -> None:
        for i in range(8):
            f(fg.full(1, i))

    with pytest.warns(UserWarning, match=r"runs uncompiled"):
        calls()
    assert [x.item() for x in kept] == [2.0 * i for i in range(8)]
    assert f.cache_info().misses < 5


@pytest.mark.filterwarnings("ignore:compile")
def test_another_forward_of_a_module_is_seen() -> None:
    class Doubled(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    model = torch.nn.Sequential(Doubled(), torch.nn.ReLU())
    f: Any = torch.compile(model)
    x = torch.tensor([1.0, 4.0])

    def check(*wanted: float) -> None:
        for _ in range(3):
            assert f(x).tolist() == list(wanted)

    check(2, 8)
    Doubled.forward = lambda self, x: x - 2  # type: ignore[method-assign]
    check(0, 2)
    model[0].forward = lambda x: x - 3
    check(0, 1)
    model[1].forward = lambda x: x * 5
    check(-10, 5)
    del model[0].forward
    check(-5, 10)


def test_a_graph_that_is_recorded_where_ops_are_not() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    @torch.compile
    def f(x: Any) -> Any:
        with torch.enable_grad():
            return (w * x).sum()

    with pytest.warns(UserWarning, match="a graph where ops are not recorded"), torch.no_grad():
        results = [f(torch.tensor([3.0, k])) for k in (4.0, 5.0)]
    for y, k in zip(results, (4.0, 5.0), strict=True):
        assert torch.autograd.grad(y, w)[0].tolist() == [3, k]


# NumPy does not want the dtype of an array to be set any more.
@pytest.mark.filterwarnings("ignore:Setting the dtype:DeprecationWarning")
def test_arrays_of_numpy_are_compared_by_their_numbers() -> None:
    import numpy as np

    a = types.SimpleNamespace(data=np.arange(60_000.0).reshape(200, 300))
    part, turned = a.data[10:20, ::3], np.asfortranarray(a.data)
    zero, sizes = np.array(2.0), np.array([2, 3])

    def f(x: Any) -> Any:
        y = fg.asarray(a.data)[0, :2] + fg.asarray(part)[0, :2] + fg.asarray(turned)[3, :2] + fg.asarray(zero)
        return (x * y).reshape(1, -1).repeat(int(sizes[0]), 0).sum(0)

    def replace() -> None:
        a.data = a.data.copy()
        a.data[0, 0] = 7.0

    compiled = check(
        f,
        fg.tensor(X, dtype="float64"),
        lambda: a.data.__setitem__((10, 0), -1.0),
        lambda: turned.__setitem__((3, 1), 4.0),
        lambda: zero.__setitem__((), 5.0),
        lambda: sizes.__setitem__(0, 3),
        lambda: setattr(zero, "dtype", "int64"),
        replace,
    )
    assert compiled.cache_info().misses == 7


def test_a_call_that_looks_up_arrays_of_numpy_does_not_enter_python() -> None:
    import numpy as np

    table, k = np.ones((100, 200)), np.float32(2.0)
    f = fg.compile(lambda x: x * fg.asarray(table)[0, :2] * k, fullgraph=True)
    x = fg.ones(2, dtype="float64")
    for i in range(3):
        f(x)
        assert f._runs == i
    table[0, 1] = 3.0
    assert f(x).tolist() == [2.0, 6.0]
    assert f(x).tolist() == [2.0, 6.0]
    assert f._runs == 3


def test_arrays_of_numpy_that_are_other_ones_in_each_call() -> None:
    import numpy as np

    batch = np.zeros(2)
    f = fg.compile(lambda x: x * fg.asarray(batch))

    def call(i: int) -> list[float]:
        batch[:] = i
        return list(f(fg.ones(2, dtype="float64")).tolist())

    text = r"a NumPy array \(a variable of a closure\) has other numbers in each call; make it an argument"
    with pytest.warns(UserWarning, match=text):
        assert list(map(call, range(8))) == [[i, i] for i in range(8)]
    assert f.cache_info()[1:3] == (4, 4)
    assert f.cache_info().currsize == 0


def test_arrays_of_numpy_are_constants_only_if_all_that_they_follow_from_is_known() -> None:
    import numpy as np

    large, sparse = np.ones(600_000), pytest.importorskip("scipy.sparse").csr_array(np.eye(2))
    masked, objects = np.ma.masked_array([1.0, 2.0]), np.array([1.0, 2.0], object)
    functions: list[Callable[[Any], Any]] = [
        lambda x: x * fg.asarray(large)[:2],
        lambda x: x * fg.asarray(masked),
        lambda x: x * fg.asarray(objects.astype("float64")),
        lambda x: x * fg.asarray(np.random.default_rng().normal(size=2)),
        lambda x: x * fg.asarray(np.random.rand(2)),
        lambda x: x @ fg.asarray(sparse.toarray()),
    ]
    for function in functions:
        with pytest.raises(fg.CompileError):
            fg.compile(function, fullgraph=True)(fg.ones(2, dtype="float64"))


def test_code_that_is_replaced_where_it_is() -> None:
    """As notebooks do that load a module again."""

    def helper(x: Any) -> Any:
        return x * 2

    def f(x: Any) -> Any:
        return helper(x) + 1

    def reload(function: Any, other: Any) -> Callable[[], None]:
        return lambda: setattr(function, "__code__", other.__code__)

    check(f, fg.tensor(X), reload(helper, lambda x: x * 3), reload(f, lambda x: helper(x) - 5))


def test_defaults_that_are_replaced_where_they_are() -> None:
    def helper(x: Any, k: float = 2.0, *, offset: float = 1.0) -> Any:
        return x * k + offset

    def f(x: Any, k: float = 3.0) -> Any:
        return helper(x) * k

    changes = [
        lambda: setattr(helper, "__defaults__", (5.0,)),
        lambda: setattr(helper, "__kwdefaults__", {"offset": -1.0}),
        lambda: setattr(f, "__defaults__", (7.0,)),
        lambda: (helper.__kwdefaults__ or {}).update(offset=4.0),
    ]
    check(f, fg.tensor(X), *changes)


def test_objects_that_get_another_class() -> None:
    class Tripled(Scale):
        def scaled(self, x: Any) -> Any:
            return x * self.k * 3

    a = Scale(2.0)
    check(a.scaled, fg.tensor(X), lambda: setattr(a, "k", 3.0))
    check(lambda x: a.scaled(x), fg.tensor(X), lambda: setattr(a, "__class__", Tripled))


def test_attributes_of_metaclasses() -> None:
    class Meta(type):
        factor: float
        k = 2.0

        @property
        def rate(cls) -> float:
            return cls.factor * 5

        def scaled(cls, x: Any) -> Any:
            return x * 3

    class Settings(metaclass=Meta):
        factor = 1.0

    changes = [
        lambda: setattr(Settings, "factor", 2.0),
        lambda: setattr(Meta, "k", 4.0),
        lambda: setattr(Meta, "scaled", lambda cls, x: x * 7),
        lambda: setattr(Settings, "k", 6.0),
    ]
    check(lambda x: Settings.scaled(x) + Settings.k + Settings.rate, fg.tensor(X), *changes)


def test_functions_that_are_registered_for_a_type() -> None:
    @functools.singledispatch
    def scaled(k: Any, x: Any) -> Any:
        return x * 2

    class Scaling:
        @functools.singledispatchmethod
        def scaled(self, k: Any, x: Any) -> Any:
            return x * 2

    a = Scaling()
    check(lambda x: scaled(3, x), fg.tensor(X), lambda: scaled.register(int, lambda k, x: x * k))
    method = vars(Scaling)["scaled"]
    check(lambda x: a.scaled(3, x), fg.tensor(X), lambda: method.register(int, lambda self, k, x: x * k))


def test_a_variable_of_a_closure_that_is_deleted() -> None:
    def made(k: float) -> tuple[Callable[[Any], Any], Callable[[], None]]:
        def delete() -> None:
            nonlocal k
            del k

        return lambda x: x * k, delete

    f, delete = made(2.0)
    compiled = fg.compile(f)
    for _ in range(3):
        compiled(fg.tensor(X))
    delete()
    with pytest.raises(NameError):
        compiled(fg.tensor(X))


def test_attributes_of_functions_and_special_methods() -> None:
    def helper(x: Any) -> Any:
        return x * helper.k  # type: ignore[attr-defined]

    helper.k = 2.0  # type: ignore[attr-defined]
    a = Scale(2.0)
    check(lambda x: helper(x), fg.tensor(X), lambda: setattr(helper, "k", 3.0))
    call = Scale.__call__
    for f in (a, lambda x: a(x)):
        check(f, fg.tensor(X), lambda: setattr(Scale, "__call__", lambda self, x: x - self.k))
        Scale.__call__ = call  # type: ignore[method-assign]


def test_attributes_that_hide_those_of_base_classes() -> None:
    class Base:
        k = 2.0

    class Middle(Base):
        pass

    class Own(Middle):
        pass

    a = Own()
    check(
        lambda x: x * a.k,
        fg.tensor(X),
        lambda: setattr(Middle, "k", 3.0),
        lambda: setattr(Own, "k", 4.0),
        lambda: setattr(a, "k", 5.0),
    )


def test_modules_that_a_function_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: Any = types.ModuleType("settings_of_a_test")
    settings.rate = 2.0
    monkeypatch.setitem(sys.modules, "settings_of_a_test", settings)

    def f(x: Any) -> Any:
        import settings_of_a_test  # type: ignore[import-not-found]
        from settings_of_a_test import rate

        return x * settings_of_a_test.rate + rate

    check(f, fg.tensor(X), lambda: setattr(settings, "rate", 3.0))


def test_objects_that_are_found_by_way_of_others() -> None:
    a = types.SimpleNamespace(inner=Scale(2.0))
    reference, variable = weakref.ref(a.inner), contextvars.ContextVar("variable", default=2.0)
    get, rows = operator.attrgetter("inner.k"), collections.UserList([1.0])
    check(
        lambda x: x * reference().k + variable.get() + get(a) * rows[0],  # type: ignore[union-attr]
        fg.tensor(X),
        lambda: setattr(a.inner, "k", 3.0),
        lambda: variable.set(5.0),
        lambda: rows.__setitem__(0, 7.0),
    )


def test_numbers_of_classes_of_the_users() -> None:
    class Rate(float):
        extra = 1.0

    rate = Rate(2.0)
    f = fg.compile(lambda x, k: x * k + getattr(k, "extra", 0.0))
    for k in (2.0, rate, 2.0, rate):
        assert f(fg.ones(1), k).item() == 2.0 + (k is rate)
    rate.extra = 5.0
    assert f(fg.ones(1), rate).item() == 7.0


rate_of_a_test = 2.0


def test_functions_that_may_read_any_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for f in (lambda x: eval("x * rate_of_a_test"), lambda x: x * globals()["rate_of_a_test"]):
        compiled = fg.compile(f)
        with pytest.warns(UserWarning, match=r"it calls (eval|globals), which may read any variable"):
            assert compiled(fg.ones(1)).item() == rate_of_a_test
        monkeypatch.setitem(globals(), "rate_of_a_test", rate_of_a_test + 1)
        assert compiled(fg.ones(1)).item() == rate_of_a_test
    # The method of a module has the name, too.
    net = nn.Linear(2, 2)
    assert fg.compile(lambda x: net.eval()(x) + 1, fullgraph=True)(torch.ones(2)).shape == (2,)


def test_functions_of_whole_libraries_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "_FUNCTIONS_AT_MOST", 2)

    def one(x: Any) -> Any:
        return x + 1

    def two(x: Any) -> Any:
        return one(x) * rate_of_a_test

    few = fg.compile(two, fullgraph=True)
    assert few(fg.ones(1)).item() == 2 * rate_of_a_test
    many = fg.compile(lambda x: [f(x) for f in (one, two, lambda x: x)][1])
    with pytest.warns(UserWarning, match="it leads to more than 2 functions, too many to search"):
        assert many(fg.ones(1)).item() == 2 * rate_of_a_test
    monkeypatch.setitem(globals(), "rate_of_a_test", rate_of_a_test + 1)
    assert many(fg.ones(1)).item() == 2 * rate_of_a_test


class Incomplete(collections.UserDict[str, float]):
    """A mapping whose items cannot be read together, as those of a configuration that lacks some."""

    def __iter__(self) -> Any:
        raise LookupError("a value is missing")


def test_mappings_that_do_not_give_their_items() -> None:
    options = Incomplete()
    options.data["k"] = 2.0
    compiled = fg.compile(lambda x: x * options["k"])
    with pytest.warns(UserWarning, match="it looks up a Incomplete, whose items raise LookupError"):
        assert compiled(fg.ones(1)).item() == 2
    options.data["k"] = 3.0
    assert compiled(fg.ones(1)).item() == 3


def test_hooks_of_all_modules() -> None:
    net, handles = nn.Sequential(nn.Linear(2, 2)), []
    check(
        net,
        torch.tensor([X]),
        lambda: handles.append(nn.modules.module.register_module_forward_hook(lambda module, args, y: y * 3)),
        lambda: handles[0].remove(),
    )


def test_a_numpy_array_that_is_written() -> None:
    import numpy as np

    def f(x: Any, a: Any) -> Any:
        a[0] = 5.0
        return x * a

    compiled = fg.compile(f, fullgraph=True)
    for _ in range(3):
        a = np.array([1.0, 2.0])
        assert compiled(fg.tensor(X), a).tolist() == [15.0, -2.0]
        assert a.tolist() == [5.0, 2.0]


def test_warnings_name_the_line_of_the_call() -> None:
    with pytest.warns(UserWarning, match="runs uncompiled") as seen:
        fg.compile(lambda x: x if x.sum() > 0 else -x)(fg.ones(2))
    assert [w.filename for w in seen] == [__file__]


def test_a_compiled_module_runs_without_python() -> None:
    net: Any = torch.compile(nn.Linear(2, 2))
    with torch.no_grad():
        for _ in range(4):
            net(torch.ones(2))
    assert net._compiled._runs > 0


def test_arrays_beside_a_transformed_function() -> None:
    import numpy as np

    slopes = fg.func.jacfwd(lambda x: x * x)
    compiled = fg.compile(lambda x: slopes(x) + fg.asarray(np.eye(2)), fullgraph=True)
    for _ in range(2):
        assert compiled(fg.tensor([1.0, 2.0])).tolist() == [[3.0, 0.0], [0.0, 5.0]]
