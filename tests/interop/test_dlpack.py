"""DLPack in both directions: shared if the consumer understands read-only, else copied, and freed exactly once."""

import ctypes
import gc
import weakref
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_to_numpy_and_back(dtype: str) -> None:
    a = np.array([[1, 0, 1], [0, 1, 1]], dtype)
    t = fg.tensor(a)
    b = np.from_dlpack(t)
    assert b.dtype == a.dtype
    assert not b.flags.writeable
    assert np.shares_memory(b, np.asarray(t))
    np.testing.assert_array_equal(b, a)
    for source in (a, a.T, a[:, ::-1], a[::2, 1:], a[:0], np.array(a[0, 0]), np.broadcast_to(a, (2, 2, 3))):
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


def test_a_tensor_is_shared() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
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
    for bad in ({"stream": 1}, {"dl_device": (2, 0)}, {"copy": False}):
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
    with pytest.raises(TypeError, match="dtype code 5"):
        fg.from_dlpack(np.ones(1, np.complex64))
