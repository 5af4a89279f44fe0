"""The comparison of Jacobians and its error message."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import FerrogradError

Matrix = np.ndarray[Any, Any]


class GradcheckError(FerrogradError, RuntimeError):
    """A derivative disagrees with its difference quotient, or differs between two passes.

    >>> from ferrograd.testing import GradcheckError, check
    >>> try:
    ...     check(lambda x: x * x.detach(), [fg.tensor([2.0])])
    ... except GradcheckError as e:
    ...     print(str(e).splitlines()[0])
    Jacobian of order 1 in reverse mode mismatch for output 0 with respect to input 0,
    """

    __module__ = "ferrograd.testing"


def compare(
    analytical: Matrix,
    numerical: Matrix,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    places: tuple[int, int],
    how: str,
    rtol: float,
    atol: float,
    is_complex: bool = False,
) -> None:
    """Raises ``GradcheckError`` if two Jacobians ``[output elements, input elements]`` disagree.

    ``shapes`` are those of the output and the input, ``places`` their positions among the outputs and inputs. The
    elements of an output that ``is_complex`` are the real and the imaginary part in turn.
    """
    with np.errstate(invalid="ignore"):
        off = np.abs(analytical - numerical)
        equal = (off <= atol + rtol * np.abs(numerical)) | (analytical == numerical)
    # A NaN difference means that the function has no value nearby, so there is nothing to compare with.
    equal |= np.isnan(numerical)
    if equal.all():
        return
    part = ""
    if is_complex:
        name, first = ("imaginary", 1) if not equal[1::2].all() else ("real", 0)
        part = f"While considering the {name} part of complex outputs only, "
        equal[1 - first :: 2] = True
    excess = np.where(equal, -1.0, np.where(np.isnan(off), np.inf, off - rtol * np.abs(numerical)))
    row, column = np.unravel_index(np.argmax(excess), excess.shape)
    out, into = (tuple(map(int, np.unravel_index(k, s))) for k, s in zip((row, column), shapes, strict=True))
    raise GradcheckError(
        f"{part}Jacobian {how}mismatch for output {places[0]} with respect to input {places[1]},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
        f"The worst of {np.count_nonzero(~equal)} elements of {equal.size}: the derivative of output element "
        f"{out} by input element {into} is {analytical[row, column]:.9g} analytically, "
        f"{numerical[row, column]:.9g} numerically; they may differ by {atol:.3g} + {rtol:.3g} * |numerical|"
    )
