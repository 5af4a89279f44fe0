"""What differs in NumPy 1.26, the oldest that the library supports: tests that ask for what came with NumPy 2."""

from __future__ import annotations

import re

#: By the reason, the tests that do not hold on NumPy 1.26, as regular expressions of their names.
DIFFERENCES = {
    "NumPy 1.26 asks DLPack for no version, so it gets a copy, which it marks as read-only": (
        r"test_dlpack\.py::test_(to_numpy_and_back|memory_that_somebody_else_holds|a_view_is_lent|two_consumers)",
    ),
    "NumPy 1.26 exports nothing that is read-only": (r"test_half\.py::test_conversions$",),
    "from_dlpack of NumPy 1.26 has no copy=": (
        r"test_dlpack\.py::test_(sizes_and_strides_that_are_special|export_options)$",
    ),
    "an array of NumPy 1.26 exports no version of DLPack": (r"test_dlpack\.py::test_the_deleter_runs_once",),
    "asarray of NumPy 1.26 has no copy=": (r"interop/test_numpy\.py::test_copies$",),
    "NumPy 1.26 lacks the functions of the array API": (
        r"test_numpy\.py::test_every_name_in_the_table_exists$",
        r"test_numpy\.py::test_functions_of_the_table\[linalg\.cross-",
        r"test_scipy\.py::test_cumulative_functions_are_numpys",
        r"test_complex\.py::test_products_of_matrices$",
    ),
    "count_nonzero of NumPy 1.26 is an int of Python": (
        r"test_numpy\.py::test_functions_of_the_table\[count_nonzero-",
    ),
    "sign of a complex number is that of its real part in NumPy 1.26": (r"test_cases\.py::test_value\[sign\[3x4\]0\]",),
    "cond of NumPy 1.26 is complex for complex matrices": (r"test_cases\.py::test_value\[linalg\.cond\[3x3\]p=1_0\]",),
    "solve of NumPy 1.26 takes a stack of vectors where NumPy 2 takes a matrix": (
        r"test_cases\.py::test_value\[linalg\.solve\[2x3x3-3\]\]",
    ),
    "lstsq of NumPy 1.26 warns of its default for rcond": (
        r"test_cases\.py::test_value\[linalg\.lstsq",
        r"test_linalg_complex\.py::test_matrices_of_paddle$",
    ),
    "fft of NumPy 1.26 computes in complex128 only": (r"test_fft\.py::test_every_kind_of_length\[float32\]",),
    "NumPy 1.26 warns of truth values that are indices": (r"test_index\.py::test_index_arrays_of_every_integer_type$",),
}


def difference(test: str) -> str | None:
    """Why a test does not hold on NumPy 1.26."""
    for reason, patterns in DIFFERENCES.items():
        if any(re.search(pattern, test) for pattern in patterns):
            return reason
    return None
