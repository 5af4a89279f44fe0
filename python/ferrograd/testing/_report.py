"""What is said where derivatives and differences disagree."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import FerrogradError

Matrix = np.ndarray[Any, Any]


class GradcheckError(FerrogradError, RuntimeError):
    """A derivative is not what differences say, or not the same twice."""

    __module__ = "ferrograd.testing"


def compare(
    analytical: Matrix,
    numerical: Matrix,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    places: tuple[int, int],
    how: str,
    rtol: float,
    atol: float,
) -> None:
    """Raises where two Jacobians, ``[output elements, input elements]``, differ by more than is allowed.

    ``shapes`` are those of the output and the input, ``places`` their positions among outputs and inputs.
    """
    with np.errstate(invalid="ignore"):
        off = np.abs(analytical - numerical)
        equal = (off <= atol + rtol * np.abs(numerical)) | (analytical == numerical)
    # Where the function has no value there is nothing to compare with.
    equal |= np.isnan(numerical)
    if equal.all():
        return
    excess = np.where(equal, -1.0, np.where(np.isnan(off), np.inf, off - rtol * np.abs(numerical)))
    row, column = np.unravel_index(np.argmax(excess), excess.shape)
    out, into = (tuple(map(int, np.unravel_index(k, s))) for k, s in zip((row, column), shapes, strict=True))
    raise GradcheckError(
        f"Jacobian {how}mismatch for output {places[0]} with respect to input {places[1]},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
        f"The worst of {np.count_nonzero(~equal)} elements of {equal.size}: the derivative of output element "
        f"{out} by input element {into} is {analytical[row, column]:.9g} analytically, "
        f"{numerical[row, column]:.9g} numerically; they may differ by {atol:.3g} + {rtol:.3g} * |numerical|"
    )
