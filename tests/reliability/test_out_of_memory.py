"""Memory that runs out: each workload runs under many limits on the address space, in a process of its own. It may only
raise MemoryError; it leaves what it was given as it was; and the same call succeeds once there is memory again."""

from __future__ import annotations

import textwrap

import pytest

from tests.engine.test_threads import script

#: By name: what is made before the limit, and the call that may fail.
WORK = {
    "record": ("x = fg.tensor(np.ones(3), requires_grad=True)", "chain(x, 40_000)"),
    "record views": ("x = fg.tensor(np.ones((2, 3)), requires_grad=True)", "chain_of_views(x, 40_000)"),
    "backward": (
        "x = fg.tensor(np.ones(3), requires_grad=True); y = chain(x, 40_000).sum()",
        "fg.grad(y, x, retain_graph=True)",
    ),
    "double backward": (
        "x = fg.tensor(np.ones(3), requires_grad=True); y = (chain(x, 15_000) ** 2).sum()",
        "fg.grad(fg.grad(y, x, create_graph=True, retain_graph=True).sum(), x, retain_graph=True)",
    ),
    # An array is larger than what the reserve is for.
    "wide backward": (
        "x = fg.tensor(np.ones(1_200_000), requires_grad=True); y = wide(x, 8)",
        "fg.grad(y, x, retain_graph=True)",
    ),
    # The first use of fg.graph and fg.func imports a module, for which Python's own code raises OSError or ImportError.
    "graph": ("x = fg.tensor(np.ones(3), requires_grad=True); y = chain(x, 40_000); fg.graph", "fg.graph(y)"),
    "jvp": ("x = fg.tensor(np.ones(3)); fg.func", "fg.func.jvp(lambda x: chain(x, 10_000), (x,), (x,))"),
    "vmap": (
        "x = fg.tensor(np.ones((5, 3))); fg.func",
        "fg.func.vmap(fg.func.grad(lambda x: chain(x, 15_000).sum()))(x)",
    ),
    "ints": ("x = list(range(600_000))", "fg.tensor(x)"),
    "floats": ("x = [float(i) for i in range(600_000)]", "fg.tensor(x)"),
    "late float": ("x = [True] * 200_000 + [1] * 200_000 + [1.5] * 200_000", "fg.tensor(x)"),
    "list of tensors": ("x = [fg.tensor(1.0, requires_grad=True)] * 40_000", "fg.tensor(x)"),
    "stack": ("x = [fg.tensor([1.0, 2.0], requires_grad=True)] * 40_000", "fg.stack(x)"),
    "concat": ("x = [fg.tensor([1, 2])] * 40_000", "fg.concat(x)"),
    "unbind": ("x = fg.zeros((100_000,))", "fg.unbind(x)"),
    "unbind tracked": ("x = fg.tensor(np.ones(100_000), requires_grad=True)", "fg.unbind(x)"),
    "split": ("x = fg.tensor(np.ones(100_000), requires_grad=True)", "fg.split_every(x, 1)"),
    "iterate": ("x = fg.tensor(np.ones(100_000), requires_grad=True)", "list(x)"),
    "elementwise": ("x = fg.ones((1_000_000,))", "x * 2 + fg.exp(x)"),
    "matmul": ("x = fg.ones((1200, 1200))", "x @ x"),
    "matmul of float64": ("x = fg.tensor(np.ones((500, 300)))", "x @ x.mT"),
    "batched matmul": ("x = fg.ones((64, 100, 100))", "x @ x"),
    "small matmuls": ("x = fg.ones((60, 100))", "[x.mT @ x for _ in range(4_000)]"),
    "diagonal matmul": ("x = fg.eye(1500)", "x @ x"),
    "einsum": ("x = fg.ones((40, 50, 60))", "fg.einsum('ijk,ijl,kl->i', x, x, x[0].mT @ x[0])"),
    "conv": ("x = fg.ones((8, 16, 100, 100)); w = fg.ones((32, 16, 3, 3))", "fg.conv2d(x, w)"),
    "conv backward": (
        "x, w = (fg.tensor(np.ones(s), requires_grad=True) for s in ((2, 8, 40, 40), (8, 8, 3, 3)))",
        "fg.grad(fg.conv2d(x, w).sum(), [x, w])",
    ),
    "sort": ("x = fg.tensor(np.random.default_rng(0).random(1_200_000))", "fg.sort(x)"),
    # Its only array is larger than what the reserve is for.
    "cumsum": ("x = fg.ones((2_500_000,))", "fg.cumsum(x, 0)"),
    "index": ("x = fg.ones((1000, 100)); i = list(range(1000)) * 200", "x[i]"),
    "put": ("x = fg.ones((2000, 2000))", "fg.put_along_axis(x, fg.zeros((1, 2000), dtype='int64'), 2.0, 0)"),
    "one_hot": ("x = fg.zeros((100_000,), dtype='int64')", "fg.one_hot(x, 50)"),
    "numpy": ("x = fg.ones((1_000_000,))", "np.asarray(x[::2]) + 1"),
    "text": ("x = fg.ones((1000, 1000))", "repr(x) + str(x.tolist()[:3])"),
    "pickle": ("x = fg.ones((1000, 1000))", "__import__('pickle').loads(__import__('pickle').dumps(x))"),
    "hooks": (
        "x = fg.tensor(np.ones(300_000), requires_grad=True)\nfor _ in range(10): x.register_hook(lambda g: g * 1)",
        "fg.grad(chain(x * x, 20).sum(), x)",
    ),
    "function": ("x = fg.tensor(np.ones(1000), requires_grad=True)", "double(x, 500)"),
    **{
        call: ("x = fg.tensor(np.eye(300) * 2 + np.random.default_rng(0).random((300, 300)) / 99)", f"fg.linalg.{call}")
        for call in (
            "svd(x)", "inv(x)", "eigh(x + x.mT)", "solve(x, x)", "qr(x)", "det(x)", "cholesky(x @ x.mT)", "slogdet(x)",
        )
    },
}  # fmt: skip

SWEEP = """
import ctypes, gc, resource

# Blocks of 64 KiB and more come from the system, and go back to it when they are free, so that no round finds what an
# earlier one has left. This is glibc's M_MMAP_THRESHOLD.
getattr(ctypes.CDLL(None), "mallopt", lambda *of: 0)(-3, 1 << 16)

#: Bytes that a round may take beyond what the process has: the first rounds meet the library cold, the others warm.
COLD = [0, 1 << 16, 1 << 20, 1 << 22, 1 << 24, 1 << 25, 1 << 26, 1 << 27, 1 << 30]
WARM = [0, 1 << 16, 1 << 20, 1 << 22, 1 << 24, 1 << 30]

def chain(x, n):
    for _ in range(n):
        x = x * 1.0001
    return x

def chain_of_views(x, n):
    for _ in range(n):
        x = x.mT
    return x

class Double(fg.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2

def double(x, n):
    y = x
    for _ in range(n):
        y = Double.apply(y)
    return fg.grad(y.sum(), x)

def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

{before}

def work():
    return {call}

small = fg.tensor([[2.0, 0.0], [0.0, 3.0]])
inputs = [v for v in list(globals().values()) if isinstance(v, fg.Tensor)]
state = [np.asarray(v.detach()).tobytes() for v in inputs]
_, hard = resource.getrlimit(resource.RLIMIT_AS)
failures = 0
for room in COLD + WARM:
    # What the last round left goes back to the system.
    gc.collect()
    fg._core.empty_cache()
    resource.setrlimit(resource.RLIMIT_AS, (used() + room, hard))
    failed = False
    try:
        work()
    except MemoryError:
        failed = True
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    failures += failed
    assert [np.asarray(v.detach()).tobytes() for v in inputs] == state, "the inputs have changed"
    fg.linalg.inv(small)
    print(room, failed, flush=True)
work()
assert failures, "no limit was too small"
assert not failed, "the largest limit was too small"
"""


@pytest.mark.parametrize("name", WORK)
def test_only_memory_errors(name: str) -> None:
    before, call = WORK[name]
    script(SWEEP.format(before=textwrap.dedent(before), call=call))
