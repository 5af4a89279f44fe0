"""Memory that tensors of torch share with NumPy: both write to it, and gradients see the values that were used."""

import copy
import gc
import pickle
import threading
import warnings
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest

KEYS: list[Any] = [
    (),
    0,
    -1,
    slice(1, 3),
    slice(None, None, 2),
    (slice(None), 1),
    (slice(None), slice(1, 3)),
    (slice(1, None), slice(None, None, 2)),
    (Ellipsis, 0),
    (2, 3),
]


class Program:
    """Random writes by NumPy, tensors, optimizers and compiled steps, beside the same writes in NumPy alone."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.truth = self.numbers((4, 4))
        kind = self.rng.integers(4)
        self.arrays: list[tuple[Any, Any]] = []
        if kind == 0:
            self.x: Any = torch.tensor(self.truth.tolist(), dtype=torch.float64)
        else:
            memory = np.zeros((8, 4)) if kind == 1 else np.zeros((4, 4), order="F" if kind == 2 else "C")
            given = memory[::2] if kind == 1 else memory
            given[...] = self.truth
            self.x = torch.from_numpy(given)
            self.arrays.append(((), given))
        self.views: list[tuple[Any, Any]] = [((), self.x)]
        self.graphs: list[tuple[Any, Any, Any]] = []
        self.step = torch.compile(self.update)

    def numbers(self, shape: Any) -> Any:
        return self.rng.integers(-4, 5, shape).astype(np.float64)

    @staticmethod
    def update(x: Any) -> None:
        x.mul_(0.5)
        x.add_(1.0)

    def key(self) -> Any:
        return KEYS[self.rng.integers(len(KEYS))]

    def pick(self, of: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        return of[self.rng.integers(len(of))]

    def act(self) -> str:
        actions = [
            self.export, self.let_go, self.numpy_writes, self.numpy_writes, self.tensor_writes, self.tensor_writes,
            self.view, self.record, self.record_write, self.differentiate, self.optimize, self.run_compiled,
            self.copies,
        ]  # fmt: skip
        action = actions[self.rng.integers(len(actions))]
        action()
        return action.__name__

    def export(self) -> None:
        key, view = self.pick(self.views)
        how = self.rng.integers(3)
        view = view.detach()
        array = view.numpy() if how == 0 else np.asarray(view) if how == 1 else torch.from_numpy(view.numpy()).numpy()
        assert array.flags.writeable or array.size == 0
        self.arrays.append((key, array))

    def let_go(self) -> None:
        self.arrays.clear()

    def numpy_writes(self) -> None:
        if self.arrays:
            key, array = self.pick(self.arrays)
            new = self.numbers(array.shape)
            array[...] = new
            self.truth[key] = new

    def tensor_writes(self) -> None:
        key, view = self.pick(self.views)
        part = self.truth[key]
        new = self.numbers(np.shape(part))
        given = torch.tensor(new.tolist(), dtype=torch.float64)
        match self.rng.integers(6):
            case 0:
                view.copy_(given)
            case 1:
                view += given
                new = part + new
            case 2:
                view.zero_()
                new = 0.0
            case 3:
                view[...] = given
            case 4:
                view.detach().mul_(2.0)
                new = part * 2
            case _:
                view.data.sub_(given, alpha=2)
                new = part - 2 * new
        self.truth[key] = new

    def view(self) -> None:
        if len(self.views) < 6:
            key = self.key()
            self.views.append((key, self.x[key] if key != () else self.x.detach()))

    def record(self) -> None:
        key, view = self.pick(self.views)
        value = np.array(self.truth[key])
        p = torch.ones(value.shape, dtype=torch.float64, requires_grad=True)
        match self.rng.integers(4):
            case 0:
                y, grad = (view * p).sum(), value
            case 1:
                y, grad = (p * p * view + view).sum(), 2 * value
            case 2:
                y, grad = torch.where(view > 0, p * 3, p * 5).sum(), np.where(value > 0, 3.0, 5.0)
            case _:
                y, grad = torch.stack([view, view * p]).sum(), value
        self.graphs.append((y, p, grad))

    def record_write(self) -> None:
        """A tensor that was written to while ops were recorded is shared as its values are."""
        value = self.numbers((3,))
        p = torch.tensor(value.tolist(), dtype=torch.float64, requires_grad=True)
        y = torch.zeros(3, dtype=torch.float64)
        y[:] = p * p
        array = y.detach().numpy()
        array[0] = 7.0
        y[1:] *= 2.0
        np.testing.assert_array_equal(array, [7.0, *(2 * value[1:] ** 2)])
        self.graphs.append((y.sum(), p, np.array([1.0, 2.0, 2.0]) * 2 * value))

    def differentiate(self) -> None:
        if self.graphs:
            y, p, grad = self.graphs.pop(self.rng.integers(len(self.graphs)))
            y.backward()
            np.testing.assert_array_equal(p.grad.tolist(), grad)

    def optimize(self) -> None:
        p = torch.nn.Parameter(self.x.detach())
        kind = torch.optim.SGD if self.rng.integers(2) else torch.optim.Adam
        optimizer = kind([p], lr=0.5)
        (p * p).sum().backward()
        if kind is torch.optim.SGD:
            self.truth -= 0.5 * 2 * self.truth
            optimizer.step()
        else:
            before = self.truth.copy()
            optimizer.step()
            moved = np.array(self.x.tolist())
            np.testing.assert_allclose(moved, before - 0.5 * np.sign(before), rtol=1e-6, atol=1e-6)
            rounded = np.round(moved)
            self.x.copy_(torch.tensor(rounded.tolist(), dtype=torch.float64))
            self.truth[...] = rounded

    def run_compiled(self) -> None:
        self.step(self.x)
        self.truth[...] = self.truth * 0.5 + 1.0

    def copies(self) -> None:
        for other in (self.x.clone(), copy.deepcopy(self.x), pickle.loads(pickle.dumps(self.x)), torch.tensor(self.x)):
            other.add_(1.0)
            np.testing.assert_array_equal(other.tolist(), self.truth + 1.0)

    def check(self) -> None:
        for key, view in self.views:
            np.testing.assert_array_equal(view.tolist(), self.truth[key])
        for key, array in self.arrays:
            np.testing.assert_array_equal(array, self.truth[key])


@pytest.mark.filterwarnings("ignore:.*clone.*detach", "ignore:compile. update runs uncompiled")
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_random_programs_of_writes_are_those_of_numpy_and_gradients_those_of_the_values_used(first: int) -> None:
    for seed in range(first, first + 50):
        program = Program(seed)
        done = []
        for _ in range(30):
            try:
                done.append(program.act())
                program.check()
            except Exception as error:
                raise AssertionError(f"seed {seed}: {done}") from error
        while program.graphs:
            program.differentiate()


DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 2), (40, 30)])
def test_both_ways_for_each_dtype(name: str, shape: tuple[int, ...]) -> None:
    a = np.zeros(shape, name)
    x = torch.from_numpy(a)
    assert x.dtype == getattr(torch, name)
    assert x.data_ptr() == a.ctypes.data
    assert x.shape == shape
    a[...] = 1
    assert np.array_equal(x.tolist(), np.ones(shape, name))
    x.zero_()
    assert not a.any()
    y = torch.zeros(shape, dtype=getattr(torch, name))
    b = y.numpy()
    assert b.dtype == name
    assert b.shape == shape
    assert b.flags.writeable
    assert y.data_ptr() == b.ctypes.data
    b[...] = 1
    assert np.array_equal(y.tolist(), np.ones(shape, name))
    y.zero_()
    assert not b.any()


def test_views_of_numpy_keep_their_strides() -> None:
    memory = np.arange(24.0).reshape(4, 6)
    for part in (memory[::2, 1::2], memory.T, memory[::-1], memory[1:3, ::-2], memory[:, 2], memory[3:0:-1, 5:0:-1].T):
        x = torch.from_numpy(part)
        assert x.stride() == tuple(s // 8 for s in part.strides)
        assert x.tolist() == part.tolist()
        x[0] = -1.0
        assert (part[0] == -1.0).all()
        assert x.tolist() == part.tolist()
        part += 1.0
        assert x.tolist() == part.tolist()
        assert np.array_equal(x.numpy(), part)
        assert x.is_contiguous() == part.flags.c_contiguous


def test_results_in_another_order_of_axes() -> None:
    x = torch.tensor(np.arange(6.0).reshape(3, 2))
    for y in (x.T * 2, x.permute(1, 0) + 1, x.T):
        lent: Any = y
        for shared in (y.numpy(), np.asarray(y), np.asarray(memoryview(lent))):
            assert shared.tolist() == y.tolist()
            shared[0, 1] += 1.0
            assert shared.tolist() == y.tolist()


def test_an_empty_array_has_no_memory_to_share() -> None:
    for shape in [(0,), (3, 0), (0, 2)]:
        x = torch.from_numpy(np.zeros(shape))
        assert x.shape == shape
        assert x.numpy().shape == shape


def test_a_read_only_array_is_copied_with_a_warning() -> None:
    a = np.zeros(3)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        x = torch.from_numpy(a)
    x[0] = 1.0
    assert a[0] == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.frombuffer(b"abc", dtype=torch.uint8).tolist() == [97, 98, 99]


def test_what_cannot_be_shared_is_refused() -> None:
    with pytest.raises(TypeError, match="NumPy array is wanted"):
        torch.from_numpy([1.0])
    with pytest.raises(fg.DtypeError):
        torch.from_numpy(np.zeros(3, ">f8"))
    with pytest.raises(fg.DtypeError):
        torch.from_numpy(np.array([None]))
    record = np.zeros(3, [("a", "i1"), ("b", "f8")])
    with pytest.raises(ValueError, match=r"a\.copy\(\)"):
        torch.from_numpy(record["b"])
    assert torch.as_tensor(record["b"]).tolist() == [0.0, 0.0, 0.0]


def test_what_is_made_of_an_array() -> None:
    a = np.zeros(3, np.float32)
    shared = [torch.from_numpy(a), torch.as_tensor(a), torch.asarray(a), torch.asarray(a, copy=False)]
    copied = [torch.tensor(a), torch.as_tensor(a, dtype=torch.float64), torch.asarray(a, copy=True), torch.Tensor(a)]
    a[0] = 1.0
    assert [x[0].item() for x in shared] == [1.0] * 4
    assert [x[0].item() for x in copied] == [0.0] * 4
    shared[0][1] = 2.0
    assert a[1] == 2.0
    assert shared[3][1].item() == 2.0
    buffer = bytearray(8)
    x = torch.frombuffer(buffer, dtype=torch.int32)
    x[1] = 1
    assert buffer[4] == 1
    buffer[0] = 2
    assert x.tolist() == [2, 1]


def test_other_dialects_give_read_only_views_and_take_copies() -> None:
    from ferrograd import paddle

    for made in (fg.tensor(np.zeros(3)), paddle.to_tensor(np.zeros(3))):
        assert not np.asarray(made).flags.writeable
    assert not fg.ones(3).numpy().flags.writeable
    a = np.zeros(3)
    x = fg.tensor(a)
    a[0] = 1.0
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_a_tensor_that_requires_grad_is_shared_by_its_detached_twin() -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()
    y = (x * x).sum()
    a = x.detach().numpy()
    a[:] = 5.0
    assert x.tolist() == [5.0, 5.0, 5.0]
    assert x.requires_grad
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    x.grad.numpy()[0] = 0.0
    assert x.grad.tolist() == [0.0, 2.0, 2.0]
    g = x.grad.numpy()
    (x * x).sum().backward()
    assert g.tolist() == [10.0, 12.0, 12.0] == x.grad.tolist()


def test_a_value_that_a_node_keeps_is_not_what_numpy_writes_to() -> None:
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    y = w * 2
    a = y.detach().numpy()
    z = (y * y).sum()
    a[:] = 100.0
    z.backward()
    assert w.grad.tolist() == [16.0, 24.0]
    assert y.tolist() == [100.0, 100.0]


def test_indices_are_kept_as_they_were_used() -> None:
    i = np.array([0, 1])
    places, x = torch.from_numpy(i), torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x[places].sum() + x.gather(0, places).sum() + torch.index_select(x, 0, places).sum()
    i[:] = 2
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0, 0.0]
    mask = np.array([True, False, True])
    chosen = torch.from_numpy(mask)
    z = x[chosen].sum()
    mask[:] = False
    assert torch.autograd.grad(z, x)[0].tolist() == [1.0, 0.0, 1.0]
    assert x[chosen].shape == (0,)


def test_results_are_no_views_of_the_array() -> None:
    a = np.ones(6)
    x = torch.from_numpy(a)
    results = [x + 0, +x, x.clone(), x.to(torch.float64, copy=True), torch.cat([x]), x.repeat(1), x.type(torch.float32),
               torch.relu(x), x.abs(), x.contiguous().clone(), torch.tensor(x.tolist())]  # fmt: skip
    with torch.no_grad():
        results += [x * 1, torch.maximum(x, x), torch.vmap(lambda v: v * 1)(x)]
    views = [
        x.view(2, 3),
        x.reshape(3, 2),
        x[1:],
        x.detach(),
        x.T,
        x.unsqueeze(0),
        x.expand(2, 6),
        x.contiguous(),
        x.data,
    ]
    views += [
        *x.split(2),
        *x.unbind(),
        *x,
        x.squeeze(),
        x.flatten(),
        x.diagonal() if x.ndim > 1 else x,
        x.to(torch.float64),
    ]
    before = [np.array(r.tolist()) for r in results]
    a[:] = 9.0
    for result, old in zip(results, before, strict=True):
        if result is not x:
            assert np.array_equal(result.tolist(), old)
    assert all((np.array(v.tolist()) == 9.0).all() for v in views)
    views[1].zero_()
    assert not a.any()


def test_modes() -> None:
    a = np.ones(3)
    x = torch.from_numpy(a)
    seen = []

    def f(v: Any) -> Any:
        with pytest.raises(fg.VmapError):
            v.numpy()
        seen.append(v.shape)
        return v * x.sum()

    assert torch.vmap(f)(torch.ones(2, 3)).tolist() == [[3.0] * 3] * 2
    assert seen
    assert torch.func.grad(lambda v: (v * x).sum())(torch.zeros(3, dtype=torch.float64)).tolist() == [1.0] * 3
    assert torch.func.jvp(lambda v: v * x * v, (x,), (x,))[1].tolist() == [2.0] * 3
    with torch.inference_mode():
        y = torch.from_numpy(a)
        y[0] = 4.0
        b = y.numpy()
        b[1] = 5.0
    assert y.is_inference()
    assert y.tolist() == [4.0, 5.0, 1.0] == a.tolist()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        p = torch.ones(3, dtype=torch.float64, requires_grad=True)
        z = (p * x).sum()
    a[:] = 0.0
    z.backward()
    assert p.grad.tolist() == [4.0, 5.0, 1.0]


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, scale: Any) -> Any:
        ctx.save_for_backward(x, scale)
        return x * x * scale

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, scale = ctx.saved_tensors
        return 2 * x * scale * g, None


def test_functions_of_the_user_save_snapshots() -> None:
    a, b = np.array([1.0, 2.0]), np.array([3.0, 3.0])
    x = torch.from_numpy(a).requires_grad_()
    y = Square.apply(x, torch.from_numpy(b)).sum()
    a[:] = 0.0
    b[:] = 0.0
    y.backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_compiled_functions_see_what_numpy_writes() -> None:
    a, b = np.ones(4), np.ones(4)
    x, outside = torch.from_numpy(a), torch.from_numpy(b)

    @torch.compile
    def f(v: Any) -> Any:
        outside.add_(1.0)
        return v * outside

    for k in range(4):
        a[:] = k
        b[0] = 10.0
        assert f(x).tolist() == [11.0 * k] + [k * (k + 2.0)] * 3
        assert b.tolist() == [11.0] + [k + 2.0] * 3
    p = torch.ones(4, dtype=torch.float64, requires_grad=True)
    square: Any = torch.compile(lambda p, v: (p * v).sum())
    for k in range(3):
        a[:] = k
        y = square(p, x)
        a[:] = 100.0
        assert torch.autograd.grad(y, p)[0].tolist() == [k] * 4

    @torch.compile
    def twice(v: Any, w: Any) -> Any:
        v.add_(1.0)
        return w * 2

    with pytest.warns(UserWarning, match="lie in memory that NumPy has too"):
        twice(torch.from_numpy(a), torch.from_numpy(a))
    for k in range(3):
        a[:] = k
        assert twice(torch.from_numpy(a), torch.from_numpy(a)).tolist() == [2.0 * (k + 1)] * 4


def test_memory_outlives_either_holder() -> None:
    a = torch.arange(1000.0).numpy()
    gc.collect()
    assert a.sum() == 499500.0
    x = torch.from_numpy(np.arange(1000.0))
    gc.collect()
    assert x.sum().item() == 499500.0
    part = torch.from_numpy(np.arange(1000.0)[10:20])[2:4].numpy()
    gc.collect()
    assert part.tolist() == [12.0, 13.0]


def test_a_memory_map(tmp_path: Any) -> None:
    path = tmp_path / "numbers"
    np.zeros(16, np.float32).tofile(path)
    x = torch.from_numpy(np.memmap(path, np.float32, "r+"))
    x[3] = 5.0
    del x
    gc.collect()
    assert np.fromfile(path, np.float32)[3] == 5.0
    with pytest.warns(UserWarning, match="not writable"):
        assert torch.from_numpy(np.memmap(path, np.float32, "r"))[3].item() == 5.0


def test_the_bytes_as_another_dtype() -> None:
    x = torch.tensor([[1.0, 2.0, -3.0, 4.0]] * 3)
    bits = x.view(torch.int32)
    assert bits.dtype == torch.int32
    assert bits.data_ptr() == x.data_ptr()
    assert bits[0, 0].item() == 0x3F800000
    bits[0, 0] = 0
    x[1, 1] = 0.0
    assert x[0, 0].item() == 0.0
    assert bits[1, 1].item() == 0
    reference = x.numpy()
    for dtype in (torch.int8, torch.uint8, torch.int16, torch.float16, torch.int64, torch.float64, torch.complex64):
        read = x.view(dtype)
        want = reference.view(np.dtype(str(dtype).split(".")[-1]))
        assert read.shape == want.shape
        assert read.numpy().tobytes() == want.tobytes()
        read[1] = read[0]
        assert reference[1].tobytes() == reference[0].tobytes()
    columns = x[:, 2:]
    assert columns.view(torch.int64).shape == (3, 1)
    assert columns.view(torch.uint8).shape == (3, 8)
    columns.view(torch.uint8)[0] = 0
    assert x[0].tolist() == [0.0, 2.0, 0.0, 0.0]
    assert bits[0].tolist()[2:] == [0, 0]
    assert x.T.view(torch.int32).shape == (4, 3)
    assert x.view(torch.bfloat16).shape == (3, 8)
    assert torch.tensor(1.0).view(torch.int32).item() == 0x3F800000
    assert x.view(torch.int32).view(torch.float32).tolist() == x.tolist()
    for refused, dtype in ((x.T, torch.int64), (x[:, 1:], torch.int64), (torch.tensor(1.0), torch.int8)):
        with pytest.raises(fg.ShapeError, match="make up none"):
            refused.view(dtype)
    with pytest.raises(fg.DtypeError, match="require"):
        torch.ones(2, requires_grad=True).view(torch.int32)
    with pytest.raises(fg.DtypeError, match="in place"):
        x.view_(torch.int32)
    assert x.view_(4, 3).shape == (4, 3)


def test_a_view_of_other_dtype_outlives_the_tensor() -> None:
    bits = torch.tensor([1.0, 2.0]).view(torch.int32)
    gc.collect()
    bits += 0
    assert bits.tolist() == [0x3F800000, 0x40000000]


def test_threads_that_write_elsewhere() -> None:
    a = np.zeros((4, 1000))
    x = torch.from_numpy(a)

    def work(k: int) -> None:
        row = x[k]
        for _ in range(100):
            row += 1.0
            a[k] += 1.0

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert (a == 200.0).all()
    assert x.tolist() == a.tolist()
