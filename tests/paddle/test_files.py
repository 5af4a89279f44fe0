"""``paddle.save`` and ``paddle.load``."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ferrograd import ArgumentError, paddle as _paddle

from tests.dialects import values

paddle: Any = _paddle


def through(obj: Any, protocol: int = 4, **options: Any) -> Any:
    file = io.BytesIO()
    paddle.save(obj, file, protocol)
    file.seek(0)
    return paddle.load(file, **options)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_states(protocol: int, tmp_path: Path) -> None:
    layer, other = paddle.nn.Linear(2, 3), paddle.nn.Linear(2, 3)
    path = tmp_path / "new" / "layer.pdparams"
    paddle.save(layer.state_dict(), str(path), protocol)
    other.set_state_dict(paddle.load(str(path)))
    assert values(other.weight) == values(layer.weight)
    # The file is what Paddle reads: arrays, and the names of the parameters.
    plain = pickle.loads(path.read_bytes())
    assert type(plain["weight"]) is np.ndarray
    assert plain["StructuredToParameterName@@"] == {"weight": layer.weight.name, "bias": layer.bias.name}
    assert set(paddle.load(str(path), keep_name_table=True)) == {*plain}


def test_other_objects() -> None:
    t = paddle.to_tensor([1, 2])
    found = through({"a": t, "b": [1, (t, "x")], "c": OrderedDict(d=None), "e": np.float64(2.5)})
    assert type(found["a"]) is paddle.Tensor
    assert found["a"].name == t.name
    assert values(found["b"][1][0]) == [1, 2]
    assert (found["b"][0], found["b"][1][1], found["c"], found["e"]) == (1, "x", {"d": None}, 2.5)
    assert type(through([t], return_numpy=True)[0]) is np.ndarray
    beside = through({"t": t, "n": np.ones(2)})
    assert [type(value) for value in beside.values()] == [paddle.Tensor, np.ndarray]
    assert type(through({"n": np.ones(2)})["n"]) is paddle.Tensor
    assert through(paddle.to_tensor(3.0)).shape == []
    optimizer = paddle.optimizer.Adam(parameters=[paddle.create_parameter([2], "float32")])
    assert through(optimizer.state_dict()).keys() == optimizer.state_dict().keys()


class Named:
    """An object that cannot be stored in a file of tensors."""


def test_loading_a_file_runs_no_code() -> None:
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        through([Named()])
    assert isinstance(through([Named()], weights_only=False)[0], Named)
    with pytest.raises(pickle.UnpicklingError):
        paddle.load(io.BytesIO(b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R."))
    with pytest.raises(pickle.UnpicklingError, match="damaged"):
        paddle.load(io.BytesIO(b"\x80\x02(X\x01\x00\x00\x00aK\x01d"))
    with pytest.raises(ArgumentError, match="protocol"):
        paddle.save([], io.BytesIO(), 1)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_arrays_of_numpy(protocol: int) -> None:
    ordered = np.arange(6, dtype=np.float32).reshape(2, 3)
    arrays: list[Any] = [
        ordered,
        ordered.astype(">f4"),
        ordered.T,
        ordered[:0],
        np.array([True, False]),
        np.array(["a", "bc"]),
    ]
    found = paddle.load(io.BytesIO(pickle.dumps([*arrays, np.int16(3)], protocol)), return_numpy=True)
    for got, want in zip(found, [*arrays, np.int16(3)], strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    assert type(found[-1]) is np.int16
    found[0][0] = 7.0
    assert paddle.load(io.BytesIO(pickle.dumps(np.dtype(">i4"), protocol))) == np.dtype(">i4")


def test_a_dtype_of_numpy_cannot_lie() -> None:
    """NumPy believes the flags of a pickled dtype, and ends the process when it takes numbers for objects."""
    text = pickle.dumps(np.ones(4, np.float32), 2)
    lying = text.replace(b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t", b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x3ft")
    assert lying != text
    assert paddle.load(io.BytesIO(lying)).tolist() == [1.0] * 4
    for changed in (b"V8", b"O8", b"f9", b"zz"):
        with pytest.raises(pickle.UnpicklingError):
            paddle.load(io.BytesIO(text.replace(b"f4", changed)))
    with pytest.raises(pickle.UnpicklingError, match="16 bytes for an array of shape"):
        paddle.load(io.BytesIO(text.replace(b"K\x04\x85", b"K\x05\x85")))


def test_several_objects_in_one_stream() -> None:
    file = io.BytesIO()
    paddle.save({"w": paddle.ones([2])}, file)
    paddle.save([paddle.zeros([1])], file)
    file.seek(0)
    assert paddle.load(file)["w"].tolist() == [1, 1]
    assert paddle.load(file)[0].tolist() == [0]
    assert file.read() == b""
