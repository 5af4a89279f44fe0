"""Objects that lie: what Python says of lengths, numbers and names is not believed. Each test runs a program of its
own, because a mistake here would end the process."""

from __future__ import annotations

import textwrap

from tests.engine.test_threads import script

LIMITED = """
    import itertools
    from tests.reliability import limit
    limit.memory(4 << 30)
    from ferrograd import _core
"""


def limited(*parts: str) -> str:
    """The output of a program that may use 4 GiB of addresses. Each part has an indentation of its own."""
    return script("".join(map(textwrap.dedent, (LIMITED, *parts))))


def test_the_number_of_a_dialect_is_checked() -> None:
    limited("""
    from ferrograd._graph.graph import Graph
    x = fg.tensor([1.0], requires_grad=True)
    calls = [
        lambda d: Graph([x * 2], d),
        lambda d: _core.make([1.0], None, False, d),
        lambda d: _core.backward([x * x], None, d),
        lambda d: _core.grad([x * x], [x], None, d),
        lambda d: _core.from_dlpack(np.ones(2), dialect=d),
        lambda d: _core.snapshot([x * x], d),
    ]
    for call in calls:
        for d in (3, -1, 2**31, 2**63, 2**70, "a", 1.5, [], object()):
            try:
                call(d)
            except _core.ArgumentError as e:
                assert "dialect" in str(e), e
            else:
                raise AssertionError((call, d))
        call(1)
    """)


def test_a_length_is_not_believed() -> None:
    limited("""
    import ferrograd.torch as torch

    class Liar(list):
        def __len__(self):
            return eval(length)

    class Sequence:
        def __init__(self, items): self.items = items
        def __len__(self): return eval(length)
        def __length_hint__(self): return eval(length)
        def __getitem__(self, i): return self.items[i]

    x = fg.tensor([1.0, 2.0], requires_grad=True)
    for length, kind in itertools.product(("2**45", "2**62", "2**63", "-1", "1 / 0"), (Liar, Sequence)):
        print(length, kind, flush=True)
        seen = []
        handle = torch.autograd.graph.register_multi_grad_hook(kind([x]), seen.append)
        (x * x).sum().backward()
        assert len(seen) == 1
        handle.remove()
        assert len(_core.grad(kind([(x * x).sum()]), kind([x]), None, 0)) == 1
        assert len(_core.grad((x * x).sum(), x, kind([fg.tensor(1.0)]), 0)) == 1
        assert fg.zeros(kind([2, 3])).shape == (2, 3)
        for call in (fg.tensor, fg.concat, fg.stack, lambda k: x[k], lambda k: fg.einsum("i->i", k)):
            try:
                call(kind([x, x]))
            except (fg.FerrogradError, TypeError, ValueError, MemoryError, OverflowError, ZeroDivisionError):
                pass
    """)


def test_an_endless_iterable_is_a_lack_of_memory_or_an_interrupt() -> None:
    limited("""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1)
        fg.zeros(itertools.count())
    except (KeyboardInterrupt, MemoryError):
        pass
    else:
        raise AssertionError("no error")
    """)


GIANTS = [
    "fg.one_hot(fg.broadcast_to(fg.tensor(1), (2**20, 2**20)))",
    "fg.one_hot(fg.broadcast_to(fg.tensor(1), (2**20, 2**20)), 2)",
    "fg.linalg.det(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)))",
    "fg.linalg.slogdet(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)))",
    "fg.linalg.inv(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)))",
    "fg.linalg.svd(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)))",
    "fg.linalg.qr(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)))",
    "fg.linalg.eigh(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)))",
    "fg.linalg.cholesky(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)))",
    "fg.linalg.eigvalsh(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)))",
    "fg.linalg.matrix_rank(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)))",
    "fg.linalg.cond(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)))",
    "fg.linalg.eig(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)))",
    "fg.linalg.solve(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)), fg.ones((2**20, 1)))",
    "fg.linalg.det(fg.zeros((2**40, 0, 0)))",
    "fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)) + 1",
    "fg.sort(fg.broadcast_to(fg.tensor(1.0), (2**40,)))",
    "fg.unbind(fg.broadcast_to(fg.tensor(1.0), (2**24,)))",
    "fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20)) @ fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20))",
    "np.asarray(fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20))) + 1",
    "fg.unique(fg.broadcast_to(fg.tensor(1.0), (2**40,))) if hasattr(fg, 'unique') else fg.zeros((2**40,)) + 1",
]


def test_a_giant_of_one_element_is_a_lack_of_memory() -> None:
    limited(f"""
    for call in {GIANTS}:
        print(call, flush=True)
        for _ in range(2):
            try:
                eval(call)
            except MemoryError:
                pass
            else:
                raise AssertionError("no error")
        assert fg.linalg.det(fg.eye(3)).item() == 1.0
    """)


def test_matrices_without_elements_take_no_time() -> None:
    limited("""
    x = fg.zeros((2**40, 0, 0))
    for name in ("svd", "qr", "eigh", "inv", "cholesky", "logm", "lu"):
        getattr(fg.linalg, name)(x)
    for f in (fg.sum, fg.prod, fg.mean, fg.var, fg.any, fg.logsumexp, fg.cumsum, fg.softmax):
        assert f(x, axis=1).shape[0] == 2**40
    """)


def test_names_in_globals_are_never_looked_up_under_a_lock() -> None:
    limited("""
    x = fg.tensor([1.0, 2.0], requires_grad=True)

    class Globals(dict):
        def __getitem__(self, key):
            x * x
            return dict.__getitem__(self, key)
        def __missing__(self, key):
            x * x
            raise KeyError(key)

    class Name(str):
        def __eq__(self, other):
            x * x
            return str.__eq__(self, other)
        __hash__ = str.__hash__

    names = Globals({"x": x, Name("__name__"): "here", "fg": fg})
    exec("y = (x * x + x).sum(); fg.exp(x); x + 1", names)
    g = fg.graph(dict.__getitem__(names, "y"))
    assert "<string>:1" in g.to_text(), g.to_text()
    """)


def test_code_that_is_gone_keeps_nothing() -> None:
    out = limited("""
    import gc, weakref
    x = fg.tensor([1.0], requires_grad=True)
    def run(n):
        for _ in range(n):
            exec("x * x", {"x": x})
    run(30_000)
    before = peak()
    run(60_000)
    print(peak() - before)
    code = compile("y = x * x", "once", "exec")
    gone = weakref.ref(code)
    names = {"x": x}
    exec(code, names)
    del code
    run(20_000)
    gc.collect()
    assert gone() is None
    assert "once:1" in fg.graph(names["y"]).to_text()
    """)
    assert float(out) < 4


def test_any_number_of_empty_rows_is_shown_and_counted() -> None:
    limited("""
    import ferrograd.paddle as paddle
    import ferrograd.torch as torch
    for x in (fg.zeros((2**40, 0)), torch.zeros(2**40, 0), paddle.zeros([2**40, 0]), paddle.zeros([3, 2**40, 0])):
        assert len(repr(x)) < 2000
        assert str(2**40) in repr(x)
    """)


def test_points_of_a_giant_are_a_lack_of_memory() -> None:
    limited("""
    import ferrograd.torch as torch
    try:
        torch.histogramdd(torch.broadcast_to(torch.tensor([0.0, 1.0]), (2**40, 2)), [2, 2])
    except MemoryError:
        pass
    else:
        raise AssertionError("no error")
    """)


def test_lengths_of_a_giant_are_a_lack_of_memory_or_an_interrupt() -> None:
    limited("""
    import ferrograd.paddle as paddle
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        paddle.nn.functional.sequence_mask(paddle.broadcast_to(paddle.to_tensor(2), [2**40]))
    except (KeyboardInterrupt, MemoryError):
        pass
    else:
        raise AssertionError("no error")
    """)
