"""Ctrl-C in long work of a single op: it is heard again and again, ends the work soon, and other ops work afterwards.

The signal of a clock stands for Ctrl-C, which counts what the process computes, so that other work of the machine does
not count. A slow machine hears as often as a fast one.
"""

from __future__ import annotations

import textwrap

import pytest

from tests.engine.test_threads import script

GIANT = "fg.broadcast_to(fg.tensor(1.0), (2**20, 2**20))"
LONG = {
    "sort": "fg.sort(many)",
    "argsort": "fg.argsort(many, 0, True)",
    "matmul": "fg.broadcast_to(fg.tensor(1.0), (2000, 2**32)) @ fg.broadcast_to(fg.tensor(1.0), (2**32, 2000))",
    "matmul of vectors": "fg.broadcast_to(fg.tensor(1.0), (2**40,)) @ fg.broadcast_to(fg.tensor(1.0), (2**40,))",
    "matmul with a vector": f"{GIANT} @ fg.ones((2**20,))",
    "large matmul": "square @ square",
    "matmul of integers": "ints @ ints",
    "einsum": f"fg.einsum('ij,ij->', {GIANT}, {GIANT})",
    "det": "fg.linalg.slogdet(fg.broadcast_to(fg.tensor([[2.0, 0.0], [0.0, 3.0]]), (2**27, 2, 2)))",
    "conv": "fg.conv2d(fg.ones((64, 64, 128, 128)), fg.ones((256, 64, 3, 3)))",
}  # fmt: skip


#: The first two signals are let pass. An op that looks for them only when it is done hears one.
INTERRUPTED = """
def interrupted(call, delay):
    heard, over, start, raised = 0, False, time.process_time(), 0.0
    def hear(*_):
        nonlocal heard, raised
        heard += 1
        if heard == 3 and not over:
            signal.setitimer(signal.ITIMER_PROF, 0)
            raised = time.process_time()
            raise KeyboardInterrupt
    signal.signal(signal.SIGPROF, hear)
    signal.setitimer(signal.ITIMER_PROF, delay, 0.01)
    try:
        call()
        over = True
    except KeyboardInterrupt:
        # All threads end the pieces that they have begun, and what was made is freed.
        before, after = raised - start, time.process_time() - raised
        return "heard" if after < 10 * before else f"goes on: {after:.2g} s after {before:.2g} s"
    finally:
        over = True
        signal.setitimer(signal.ITIMER_PROF, 0)
    return f"done before: heard {heard} times"

def is_heard(call, delay):
    found = interrupted(call, delay)
    if found.startswith("done before"):
        # On a fast machine the call may be done before the third signal.
        found = interrupted(call, 0.02)
    assert found == "heard", found
"""


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_is_heard_in_one_op(name: str) -> None:
    script(
        INTERRUPTED
        + textwrap.dedent(f"""
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        many = fg.tensor(np.random.default_rng(0).random({20_000_000 if "sort" in name else 10}))
        square, ints = (fg.ones((6000, 6000)), fg.ones((2500, 2500), dtype="int64")) if {"matmul" in name} else (0, 0)
        is_heard(lambda: {LONG[name]}, 0.5)
        assert fg.sum(fg.ones((10,))).item() == 10
    """)
    )


#: Calls that take seconds: what is made before, and the call.
CALLS = {
    "unique": ("x = fg.tensor(rng.integers(0, 2**60, 16_000_000))", "fg.unique_inverse(x)"),
    "isin": ("x = fg.tensor(rng.integers(0, 2**60, 8_000_000))", "fg.isin(x, x[:4_000_000])"),
    "searchsorted": (
        "x = fg.tensor(rng.random(9_000_000))\ns = fg.linspace(0.0, 1.0, 3_000_000)",
        "fg.searchsorted(s, x)",
    ),
    "quantile": ("x = fg.tensor(np.resize(rng.random(999_983), 40_000_000))", "fg.quantile(x, fg.linspace(0, 1, 9))"),
    "expm": ("x = fg.tensor(rng.random((2000, 2000))) * 0.01", "fg.linalg.expm(x)"),
    "logm": ("x = fg.tensor(rng.random((900, 900))) * 0.01 + fg.eye(900) * 9.0", "fg.linalg.logm(x)"),
    "svd of many": ("x = fg.tensor(rng.random((60_000, 16, 16)))", "fg.linalg.svd(x)"),
    "matrix_power": ("x = fg.tensor(rng.random((1500, 1500))) * 0.01", "fg.linalg.matrix_power(x, 1023)"),
    "conv1d": ("x = fg.ones((4, 64, 250_000))", "fg.conv1d(x, fg.ones((64, 64, 65)))"),
    "conv_transpose2d": ("x = fg.ones((16, 64, 160, 160))", "fg.conv_transpose2d(x, fg.ones((64, 256, 5, 5)))"),
    "gradient of conv2d": (
        "x, w = fg.ones((32, 64, 160, 160)).requires_grad_(), fg.ones((128, 64, 3, 3)).requires_grad_()",
        "fg.grad(fg.conv2d(x, w).sum(), [x, w])",
    ),
    "max_pool2d": ("x = fg.tensor(rng.random((16, 64, 192, 192)))", "fg.max_pool2d(x, 15, 1, 7)"),
    "stft": ("x = fg.tensor(rng.random(4_000_000))", "fg.stft(x, 1024, 32, return_complex=True)"),
    "interpolate": (
        "x = torch.ones(4, 16, 256, 256, dtype=torch.float64)",
        "torch.nn.functional.interpolate(x, scale_factor=6, mode='bicubic')",
    ),
    "zeta": ("x = fg.tensor(rng.random(18_000_000)) + 1.5", "fg.zeta(x, x)"),
    "betainc": ("x = fg.tensor(rng.random(16_000_000))", "fg.betainc(x, x, x)"),
    "polynomials": (
        "x = torch.tensor(rng.random(1_000_000))",
        "torch.special.chebyshev_polynomial_t(x, 2000)",
    ),
    "while_loop": ("x = fg.tensor(0.0)", "func.while_loop(lambda c: c < 1e7, lambda c: c + 1.0, x)"),
    "scan": ("x = fg.ones((16_000_000,))", "func.scan(lambda c, a: (fg.sin(c) + a, c), fg.tensor(0.0), x)"),
    "a compiled loop": (
        "x = fg.tensor(0.0)\nf = fg.compile(lambda x: func.while_loop(lambda c: c < 1e9, lambda c: c + 1.0, x))",
        "f(x)",
    ),
    "a compiled product": (
        "def long(x):\n    for _ in range(150):\n        x = x @ x * 0.0001\n    return x\n"
        "x = fg.ones((1500, 1500))\nf = fg.compile(long)",
        "f(x)",
    ),
    "compile": (
        "def long(x):\n    for _ in range(250_000):\n        x = fg.sin(x) * 0.5\n    return x\nx = fg.ones((4,))",
        "fg.compile(long)(x)",
    ),
    "jacfwd": ("x = fg.ones((14_000,))", "func.jacfwd(lambda x: fg.tanh(fg.lgamma(x) * x[::-1]).cumsum(0))(x)"),
    "attention": (
        "x = torch.ones(1, 8, 6000, 64)",
        "torch.nn.functional.scaled_dot_product_attention(x, x, x)",
    ),
    "lstm": ("m, x = torch.nn.LSTM(128, 256, 2), torch.ones(3000, 32, 128)", "m(x)"),
    "histogram": ("x = fg.rand((60_000_000,))", "fg.histogram(x, 1000)"),
    "load_compiled": (
        "import os, tempfile\npath = os.path.join(tempfile.mkdtemp(), 'long')\n"
        "def long(x):\n    for _ in range(40_000):\n        x = fg.sin(x) * 0.5\n    return x\n"
        "x = fg.ones((4,))\nf = fg.compile(long)\nf(x)\nf.save(path)",
        "[fg.load_compiled(path) for _ in range(100)]",
    ),
    "vmap": ("x = fg.tensor(rng.random((300, 300, 300)))", "func.vmap(lambda a: a @ a @ a @ a @ a @ a @ a @ a)(x)"),
    "ctc_loss": (
        "x, t = torch.zeros(1500, 64, 500).log_softmax(2), torch.ones(64, 300, dtype=torch.int64)",
        "torch.nn.functional.ctc_loss(x, t, torch.full((64,), 1500), torch.full((64,), 300))",
    ),
    "save": (
        "import io\nx = torch.ones(2)\nmany = [x + 1 for _ in range(100_000)]",
        "torch.save(many, io.BytesIO())",
    ),
    "a loader": (
        "x = torch.ones(1_000_000, 2)\ndata = torch.utils.data.TensorDataset(x)",
        "[b for b in torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)]",
    ),
    "randn": ("x = fg.ones(1)", "fg.randn((60_000_000,), dtype='float64')"),
    "randperm": ("x = fg.ones(1)", "fg.randperm(30_000_000)"),
    "poisson": ("x = torch.full((16_000_000,), 30.0)", "torch.poisson(x)"),
    "fft of a prime": ("x = fg.tensor(rng.random(2**22 - 3))", "fg.fft.fft(x)"),
    "svd of one": ("x = fg.tensor(rng.random((1600, 1600)))", "fg.linalg.svd(x)"),
    "logcumsumexp": ("x = fg.tensor(np.resize(rng.random(999_983), 40_000_000))", "fg.logcumsumexp(x)"),
    "cummax": ("x = torch.tensor(np.resize(rng.random(999_983), 80_000_000))", "torch.cummax(x, 0)"),
    "nonzero": ("x = fg.ones((60_000_000,), dtype='bool')", "[fg.nonzero(x) for _ in range(4)]"),
    "tolist": ("x = fg.ones((20_000_000,))", "x.tolist()"),
    "tolist of empty rows": ("x = fg.ones((20_000_000, 0))", "x.tolist()"),
    "a list": ("x = fg.ones(1)\nnumbers = [1.5] * 50_000_000", "fg.tensor(numbers)"),
    "a list of arrays": ("x = fg.ones(1)\nnumbers = [np.ones(2)] * 3_000_000", "fg.tensor(numbers)"),
    "sort of two rows": ("x = fg.tensor(rng.random((2, 12_000_000)))", "fg.sort(x)"),
    "kthvalue": (
        "x = torch.tensor(np.resize(rng.random(999_983), 50_000_000))",
        "[torch.kthvalue(x, 7_000_000) for _ in range(3)]",
    ),
    "unique of rows": ("x = torch.tensor(rng.integers(0, 100, (2_000_000, 3)))", "torch.unique(x, dim=0)"),
    "product by place": (
        "x = torch.ones(20_000_000)\nat = torch.arange(20_000_000) // 4",
        "torch.scatter_reduce(x, 0, at, x, 'prod')",
    ),
    "conv2d with a large window": (
        "x, w = fg.ones((1, 1, 1000, 1000)), fg.ones((1, 1, 160, 160))",
        "fg.conv2d(x, w)",
    ),
    "gradient of it": (
        "x, w = fg.ones((1, 1, 700, 700)).requires_grad_(), fg.ones((1, 1, 100, 100)).requires_grad_()",
        "[fg.grad(fg.conv2d(x, w).sum(), [x, w]) for _ in range(3)]",
    ),
    "conv1d with infinities": (
        "x, w = fg.ones((1, 1, 300_000)), fg.full((1, 1, 40_000), np.inf)",
        "fg.conv1d(x, w, None, [1], [9])",
    ),
    "max_pool1d with a long window": ("x = fg.ones((1, 1, 500_000))", "fg.max_pool1d(x, 10_001, 1)"),
}  # fmt: skip


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in (1, 2, 3))])
def test_ctrl_c_in_calls_of_every_kind(part: int) -> None:
    """It is heard, inputs stay as they were, and the library goes on."""
    names = list(CALLS)[part::4]
    script(
        INTERRUPTED
        + textwrap.dedent(f"""
        import ferrograd.torch as torch
        from ferrograd import func
        wrong = {{}}
        for name, (setup, call) in { ({name: CALLS[name] for name in names})!r}.items():
            scope = dict(globals(), rng=np.random.default_rng(0))
            exec(setup, scope)
            before = np.array(scope["x"].detach())
            # An interrupt of a text that is evaluated would end the process, as one that nobody catches.
            code = compile(call, name, "eval")
            try:
                is_heard(lambda: eval(code, scope), 0.25)
            except AssertionError as error:
                wrong[name] = str(error)
            np.testing.assert_array_equal(np.asarray(scope["x"].detach()), before, err_msg=name)
            assert fg.sum(fg.ones((10,))).item() == 10
        assert not wrong, wrong
        """)
    )
