"""Calls of the library within what it calls: they end in a RecursionError before the stack does."""

from __future__ import annotations

import pytest

from tests.reliability.test_hostile_objects import limited

NESTED = {
    "hook": """
        def nest(depth):
            x = fg.tensor([1.0], requires_grad=True)
            y = x * x
            def hook(g):
                deepest[0] = max(deepest[0], depth)
                with fg.enable_grad():
                    nest(depth + 1)
            y.register_hook(hook)
            (y * y).sum().backward()
    """,
    "function": """
        def nest(depth):
            class F(fg.Function):
                @staticmethod
                def forward(ctx, x):
                    return x * 2
                @staticmethod
                def backward(ctx, g):
                    deepest[0] = max(deepest[0], depth)
                    with fg.enable_grad():
                        nest(depth + 1)
                    return g
            x = fg.tensor([1.0, 1.0], requires_grad=True)
            F.apply(x).sum().backward()
    """,
    "forward": """
        def nest(depth):
            class F(fg.Function):
                @staticmethod
                def forward(ctx, x):
                    deepest[0] = max(deepest[0], depth)
                    nest(depth + 1)
                    return x * 2
                @staticmethod
                def backward(ctx, g):
                    return g
            F.apply(fg.tensor([1.0, 1.0], requires_grad=True))
    """,
    "checkpoint": """
        def nest(depth):
            def f(x):
                deepest[0] += 1
                y = fg.checkpoint(f, x)
                return fg.grad((y * y).sum(), x)
            fg.checkpoint(f, fg.tensor([1.0], requires_grad=True))
    """,
    "pack": """
        def nest(depth):
            def pack(x):
                deepest[0] = max(deepest[0], depth)
                with fg.enable_grad():
                    nest(depth + 1)
                return x
            with fg.saved_tensors_hooks(pack, lambda x: x):
                x = fg.tensor([1.0], requires_grad=True)
                x * x
    """,
    "vmap": """
        def nest(depth):
            def f(x):
                deepest[0] = max(deepest[0], depth)
                nest(depth + 1)
                return x * x
            fg.func.vmap(f)(fg.ones((2,)))
    """,
    "transforms": """
        def nest(depth):
            tangent = lambda f: lambda x: fg.func.jvp(f, (x,), (x,))[1]
            slope = fg.func.grad
            for wrap in (fg.func.vmap, tangent, slope):
                f = lambda x: (x * x).sum()
                for i in range(20_000):
                    f = wrap(f)
                try:
                    f(fg.ones((1,) * 30) if wrap is fg.func.vmap else fg.ones(()))
                except (RecursionError, fg.ArgumentError):
                    deepest[0] += 10
            raise RecursionError
    """,
    "array": """
        class A:
            def __array__(self, *args, **kwargs):
                deepest[0] += 1
                return np.asarray(fg.exp(fg.tensor(A())))
        def nest(depth):
            fg.tensor(A())
    """,
}


@pytest.mark.parametrize("kind", NESTED)
def test_nested_calls_in_a_thread(kind: str) -> None:
    limited(
        NESTED[kind],
        """
        sys.setrecursionlimit(10**6)
        def run():
            try:
                nest(0)
            except (RecursionError, fg.ShapeError) as e:
                found.append(e)
        for kibibytes in (256, 512, 1024, 2048):
            print(kibibytes, flush=True)
            deepest, found = [0], []
            threading.stack_size(kibibytes << 10)
            for _ in range(2):
                thread = threading.Thread(target=run)
                thread.start()
                thread.join()
            assert len(found) == 2, found
            assert deepest[0] >= 1
        x = fg.tensor([2.0], requires_grad=True)
        assert fg.grad((x * x).sum(), x).tolist() == [4.0]
        """,
    )


@pytest.mark.parametrize("kind", NESTED)
def test_nested_calls_on_the_main_thread(kind: str) -> None:
    limited(
        NESTED[kind],
        """
        deepest = [0]
        for limit in (1000, 10**6):
            sys.setrecursionlimit(limit)
            try:
                nest(0)
            except (RecursionError, fg.ShapeError):
                pass
            else:
                raise AssertionError("no error")
        assert deepest[0] > 20, deepest
        """,
    )


@pytest.mark.parametrize(
    "kind", ["[x]", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("(x,)", "{'k': x}"))]
)
def test_deeply_nested_containers(kind: str) -> None:
    limited(f"""
        import ferrograd.torch as torch
        import ferrograd.paddle as paddle
        functions = [fg.tensor, fg.concat, fg.zeros, fg.sum, fg.exp, fg.graph, fg.einsum, torch.tensor,
                     paddle.to_tensor, lambda x: fg.grad(x, x), lambda x: fg.checkpoint(lambda y: y, x),
                     fg.func.vmap(lambda y: y),
                     lambda x: fg.func.vjp(lambda y: y, x), lambda x: fg.ones(3)[x],
                     lambda x: fg.func.jacrev(lambda y: y)(x),
                     lambda x: torch.autograd.grad(x, x), lambda x: paddle.grad(x, x), lambda x: fg.ones(3) * x,
                     lambda x: torch.autograd.backward(x), lambda x: torch.func.functional_call(x, x, x)]
        for limit in (1000, 100_000):
            sys.setrecursionlimit(limit)
            for depth in (100, 5000, 100_000):
                x = 1.0
                for _ in range(depth):
                    x = {kind}
                for f in functions:
                    try:
                        f(x)
                    except (RecursionError, fg.FerrogradError, TypeError, ValueError, AttributeError, MemoryError):
                        pass
                while not isinstance(x, float):
                    x, = x.values() if isinstance(x, dict) else x
    """)
