"""DLPack in both directions: shared if the consumer understands read-only, else copied, and freed exactly once."""

import ctypes
import gc
import weakref
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "uint64",
    "int64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_to_numpy_and_back(dtype: str) -> None:
    a = np.array([[1, 0, 1, 1] * 8, [0, 1, 1, 1] * 8], dtype)
    t = fg.tensor(a)
    memory = address(t)
    b = np.from_dlpack(t)
    assert b.dtype == a.dtype
    assert not b.flags.writeable
    assert b.ctypes.data == memory
    np.testing.assert_array_equal(b, a)
    del b
    assert address(t) == memory
    for source in (a, a.T, a[:, ::-1], a[::2, 1:], a[:0], np.array(a[0, 0]), np.broadcast_to(a, (2, *a.shape))):
        back = fg.from_dlpack(source)
        assert back.dtype == a.dtype
        np.testing.assert_array_equal(back, source)


def test_an_import_is_a_copy() -> None:
    a = np.arange(3.0)
    t = fg.from_dlpack(a)
    a[0] = 9
    assert t.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(BufferError, match="share"):
        fg.from_dlpack(a, copy=False)


def address(t: Any) -> int:
    """Where the elements of a tensor lie."""
    return int(np.asarray(t.detach()).ctypes.data)


def overwrite(b: Any, value: float) -> None:
    """Writes to the first element of an array, also if it is marked read-only, as other libraries do."""
    ctypes.c_double.from_address(b.ctypes.data).value = value


def test_a_tracked_tensor_is_not_exported() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    for export in (x, x * 2):
        for call in (np.from_dlpack, fg.from_dlpack, lambda x: x.__dlpack__(max_version=(1, 0), copy=True)):
            with pytest.raises(BufferError, match=r"use tensor\.detach\(\)"):
                call(export)
            with fg.no_grad(), pytest.raises(BufferError, match=r"use tensor\.detach\(\)"):
                call(export)
        np.testing.assert_array_equal(np.from_dlpack(export.detach()), np.asarray(export))


def test_a_consumer_that_writes_changes_no_recorded_value() -> None:
    w = fg.tensor(np.full(9, 3.0), requires_grad=True)
    x = fg.tensor(np.full(9, 2.0))
    for recorded_first in (True, False):
        if recorded_first:
            y = w * x
        b = np.from_dlpack(x)
        overwrite(b, 7.0)
        if not recorded_first:
            y = w * x
        value, known = x[0].item(), y[0].item()
        assert known == 3.0 * value
        overwrite(b, 70.0)
        assert y[0].item() == known
        assert fg.grad(y.sum(), w)[0].item() == value
        assert x.tolist() == [value, *[2.0] * 8]


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "a graph": lambda x: fg.tensor(np.ones(9), requires_grad=True) * x,
    "a view": lambda x: x[1:],
    "its base": lambda x: x,
    "a detached tensor": lambda x: x.detach(),
    "an array": np.asarray,
    "a buffer": memoryview,
    "another tensor": fg.from_dlpack,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_memory_that_somebody_else_holds_is_copied(holder: str) -> None:
    x = fg.tensor(np.full(9, 2.0))
    held = HOLDERS[holder](x)
    out = x[:] if holder == "its base" else x
    for version in (None, (1, 0)):
        with pytest.raises(BufferError, match="must be copied"):
            out.__dlpack__(max_version=version, copy=False)
    b = np.from_dlpack(out)
    assert b.flags.writeable
    overwrite(b, 7.0)
    assert x.tolist() == [2.0] * 9
    del b, held, out
    gc.collect()
    assert name(x.__dlpack__(max_version=(1, 0), copy=False)) == "dltensor_versioned"


def test_a_consumer_that_knows_no_mark_borrows_too() -> None:
    class Unmarked:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def __dlpack__(self, **options: Any) -> Any:
            return self.tensor.__dlpack__(copy=False)

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    x = fg.tensor(np.full(9, 2.0))
    place = address(x)
    gc.collect()
    b = np.from_dlpack(Unmarked(x))
    assert b.ctypes.data == place
    y = x * 1.0
    overwrite(b, 7.0)
    assert x.tolist() == y.tolist() == [2.0] * 9


def test_a_view_is_lent_if_nobody_else_can_reach_its_memory() -> None:
    x = fg.reshape(fg.tensor(np.full(9, 2.0)), (3, 3))
    place = address(x)
    gc.collect()
    b = np.from_dlpack(x)
    assert b.shape == (3, 3)
    assert b.ctypes.data == place
    y = x * 1.0
    overwrite(b, 7.0)
    assert x.tolist() == y.tolist() == [[2.0] * 3] * 3
    part = fg.tensor(np.full(9, 2.0))[1:]
    with pytest.raises(BufferError, match="must be copied"):
        part.__dlpack__(copy=False)


def test_two_consumers_have_no_memory_in_common() -> None:
    x = fg.tensor(np.full(9, 2.0))
    a, b = np.from_dlpack(x), np.from_dlpack(x)
    overwrite(a, 7.0)
    overwrite(b, 70.0)
    assert (a[0], b[0]) == (7.0, 70.0)
    y = x * 1.0
    overwrite(b, 700.0)
    assert x.tolist() == y.tolist() == [70.0, *[2.0] * 8]


def test_a_lent_tensor_is_used_like_any_other() -> None:
    def lent() -> tuple[Any, Any]:
        x = fg.tensor(np.full(9, 2.0))
        return x, np.from_dlpack(x)

    uses: tuple[Callable[[Any], Any], ...] = (
        lambda x: x[2:].add_(1.0),
        lambda x: x.add_(1.0),
        lambda x: x.__setitem__(slice(2, None), 3.0),
        lambda x: x.reshape_((3, 3)),
        lambda x: fg.from_dlpack(x),
        lambda x: x.requires_grad_(),
        lambda x: memoryview(x),
        lambda x: x.copy_(fg.ones(9)),
    )
    for use in uses:
        x, b = lent()
        plain = fg.tensor(np.full(9, 2.0))
        kept = use(x), use(plain)
        overwrite(b, 70.0)
        assert x.detach().tolist() == plain.detach().tolist()
        assert x.shape == plain.shape
        del kept
    x, b = lent()
    del x
    gc.collect()
    assert b.tolist() == [2.0] * 9


def test_sizes_and_strides_that_are_special() -> None:
    for t in (fg.zeros((0, 3)), fg.tensor(2.0), fg.broadcast_to(fg.tensor(1.0), (2, 3)), fg.ones((3, 4)).T[1:, ::2]):
        want = np.array(t)
        for copy in (None, True):
            b = np.from_dlpack(t, copy=copy)
            np.testing.assert_array_equal(b, want)
            assert b.shape == want.shape
    flags = np.from_dlpack(fg.tensor([True, False] * 20))
    assert flags.dtype == bool
    assert flags.sum() == 20


def test_from_dlpack_of_a_tensor_shares_what_cannot_be_written_to() -> None:
    x = fg.tensor([1.0, 2.0])
    y = fg.from_dlpack(x)
    assert not y.requires_grad
    assert np.shares_memory(np.asarray(x), np.asarray(y))
    assert not np.shares_memory(np.asarray(x), np.asarray(fg.from_dlpack(x, copy=True)))


def name(capsule: Any) -> str:
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return str(get(capsule).decode())


def test_export_options() -> None:
    t = fg.tensor(np.arange(100.0))
    assert t.__dlpack_device__() == (1, 0)
    assert name(t.__dlpack__()) == "dltensor"
    assert name(t.__dlpack__(max_version=(0, 8))) == "dltensor"
    assert name(t.__dlpack__(max_version=(1, 0), dl_device=(1, 0))) == "dltensor_versioned"
    assert name(t.__dlpack__(max_version=(2, 3))) == "dltensor_versioned"
    assert name(t.__dlpack__(copy=False)) == "dltensor"
    for bad in ({"stream": 1}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            t.__dlpack__(**bad)
    assert np.from_dlpack(t, copy=True).flags.writeable


class Producer:
    """A producer that hands out another object's capsule."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_is_taken_once(version: tuple[int, int] | None) -> None:
    capsule = fg.tensor([1.0, 2.0]).__dlpack__(max_version=version)
    assert fg.from_dlpack(Producer(capsule)).tolist() == [1.0, 2.0]
    assert name(capsule).startswith("used_dltensor")
    with pytest.raises(BufferError, match="not yet taken"):
        fg.from_dlpack(Producer(capsule))
    fresh = fg.tensor([3.0]).__dlpack__(max_version=version)
    assert fg.from_dlpack(fresh).tolist() == [3.0]


def test_old_producers_without_options() -> None:
    class Old:
        def __dlpack__(self) -> Any:
            return np.arange(3.0).__dlpack__()

    assert fg.from_dlpack(Old()).tolist() == [0.0, 1.0, 2.0]
    assert fg.tensor(Old()).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_the_deleter_runs_once(version: tuple[int, int] | None) -> None:
    class Watched(np.ndarray):
        pass

    a = np.arange(1000.0).view(Watched)
    ref = weakref.ref(a)
    capsule = a.__dlpack__(max_version=version)
    del a
    gc.collect()
    assert ref() is not None
    fg.from_dlpack(Producer(capsule))
    gc.collect()
    assert ref() is None
    del capsule


def test_an_unused_capsule_and_a_taken_one_free_their_array() -> None:
    for _ in range(200):
        t = fg.tensor(np.zeros(1 << 20))
        t.__dlpack__()
        t.__dlpack__(max_version=(1, 0))
        np.from_dlpack(t)
    b = np.from_dlpack(fg.tensor(np.arange(100)))
    gc.collect()
    assert b[99] == 99


def test_wrong_arguments_raise() -> None:
    with pytest.raises(ValueError, match="__dlpack__"):
        fg.from_dlpack([1, 2])
    with pytest.raises(ValueError, match="cuda"):
        fg.from_dlpack(np.ones(1), device="cuda")
    with pytest.raises(BufferError):
        fg.from_dlpack(Producer(None))
    capsule = fg.tensor([1.0]).__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # The bits of the dtype follow the address, the device, the number of axes, and the code of the dtype.
    ctypes.c_uint8.from_address(pointer(capsule, b"dltensor") + 8 + 8 + 4 + 1).value = 8
    with pytest.raises(TypeError, match="dtype code 2 of 8 bits"):
        fg.from_dlpack(Producer(capsule))
