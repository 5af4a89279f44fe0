"""SciPy with ``SCIPY_ARRAY_API=1``: its functions keep the graph or raise."""

import json
import os
import subprocess
import sys
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
import scipy.linalg
from ferrograd import func

#: The functions of ``scipy.special`` that have a counterpart here, or that SciPy writes in the array API.
SPECIAL = {
    "betainc",
    "erf",
    "exp2",
    "expit",
    "gammaln",
    "i0e",
    "k1",
    "logit",
    "ndtri",
    "psi",
    "rel_entr",
    "stdtr",
    "xlogy",
    "y0",
}


@pytest.fixture(scope="module")
def outcomes() -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "tests.interop.scipy_array_api"],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_function_drops_the_graph(outcomes: Any) -> None:
    found, values, slopes = outcomes
    assert len(found) > 120
    assert [name for name, what in found.items() if what == "lost"] == []
    assert {name.removeprefix("scipy.special.") for name in found if found[name] == "tracks"} >= SPECIAL
    assert found["scipy.stats.zscore"] == found["scipy.integrate.cumulative_trapezoid"] == "tracks"
    assert found["scipy.fft.fft"] == found["scipy.fft.rfft"] == found["scipy.fft.fftshift"] == "tracks"
    assert found["scipy.stats.ttest_ind"] == found["scipy.stats.pearsonr"] == "tracks"
    assert (
        found["scipy.special.gamma"]
        == found["scipy.special.stdtrit"]
        == found["scipy.signal.detrend"]
        == "raises ConversionError"
    )
    # Values of what is not tracked are SciPy's, and the gradients of what is are right.
    assert all(values.values()), values
    assert set(slopes) >= SPECIAL
    assert all(slopes.values()), slopes


def test_without_the_setting_other_functions_ask_for_numbers() -> None:
    x = fg.tensor([[2.0, 0.5], [0.5, 1.0]], requires_grad=True)
    np.testing.assert_allclose(scipy.linalg.inv(x), np.linalg.inv(np.asarray(x)), rtol=1e-6)
    with pytest.raises(fg.ConversionError):
        func.grad(lambda x: fg.sum(fg.tensor(scipy.linalg.inv(x)) * x))(x)


def test_the_array_api_on_dtypes() -> None:
    assert fg.result_type(fg.int8, fg.uint8) == fg.int16
    assert fg.result_type(fg.tensor([1], dtype=fg.int32), 2.5) == fg.float32
    assert fg.result_type(fg.float64, fg.tensor(True), 3) == fg.float64
    assert fg.result_type(2, 2.5) == fg.float32
    with pytest.raises(fg.ArgumentError, match="at least one"):
        fg.result_type()
    assert fg.can_cast(fg.tensor([1]), fg.float32)
    assert not fg.can_cast(fg.float32, fg.int64)
    letters = {"bool": "b", "integral": "iu", "signed integer": "i", "unsigned integer": "u"}
    letters |= {"real floating": "f", "complex floating": "c", "numeric": "iufc"}
    for dtype in (fg.bool, fg.int8, fg.uint64, fg.float32, fg.complex64):
        kind = np.dtype(dtype).kind
        assert {name for name in letters if fg.isdtype(dtype, name)} == {n for n, of in letters.items() if kind in of}
        assert fg.isdtype(dtype, ("bool", fg.float32)) == (kind in "bf")
        assert [fg.isdtype(dtype, other) for other in (dtype, fg.float64)] == [True, False]
    with pytest.raises(fg.ArgumentError, match="no kind of dtypes"):
        fg.isdtype(fg.float32, "float")
    assert fg.finfo(fg.tensor(1.0)).eps == np.finfo(np.float32).eps
    assert fg.iinfo("int16").min == -32768
    assert fg.broadcast_shapes((2, 1), (3,), ()) == (2, 3)


def test_cumulative_functions_keep_the_dtype_that_they_are_asked_for() -> None:
    x = fg.tensor([1, 2], dtype="uint8")
    for function in (fg.cumulative_sum, fg.cumulative_prod):
        for initial in (False, True):
            assert function(x, dtype="uint8", include_initial=initial).dtype == "uint8"


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0,), (0, 2), (2, 0, 3)])
def test_cumulative_functions_are_numpys(shape: tuple[int, ...]) -> None:
    a = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    x = fg.tensor(a, requires_grad=True)
    for ours, theirs in ((fg.cumulative_sum, np.cumulative_sum), (fg.cumulative_prod, np.cumulative_prod)):
        for axis in range(-len(shape), len(shape)):
            for initial in (False, True):
                got = ours(x, axis=axis, include_initial=initial)
                np.testing.assert_array_equal(np.asarray(got), theirs(a, axis=axis, include_initial=initial))
                assert got.requires_grad
        if len(shape) > 1:
            with pytest.raises(fg.ArgumentError, match="axis is needed"):
                ours(x)
