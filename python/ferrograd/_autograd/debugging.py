"""Debugging contexts for gradients: NaN and infinity found where they arise, and zero cotangents kept zero.

Each is a context manager and a decorator and holds for the thread that entered it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ferrograd import _core


@contextmanager
def watched(what: str, on: bool = True) -> Iterator[None]:
    """Switches one kind of observation on or off in the core, and back at the end."""
    before = _core.watch(what, on)
    try:
        yield
    finally:
        _core.watch(what, before)


@contextmanager
def detect_anomaly(check_nan: bool = True) -> Iterator[None]:
    """Makes ``backward`` and ``grad`` raise ``NotFiniteError`` (a ``RuntimeError``) where a gradient becomes NaN.

    The text names the op, the line that recorded it, and the op and line that made the first value (computed inside the
    context) or the first gradient that is not finite. With ``check_nan=False`` nothing is checked.

    >>> x = fg.tensor(0.0, requires_grad=True)
    >>> with fg.detect_anomaly():
    ...     y = fg.sqrt(x) * 0.0
    ...     fg.grad(y, x)
    Traceback (most recent call last):
    ...
    ferrograd.NotFiniteError: detect_anomaly: Function 'sqrt' returned nan values in its 0th output. ...
    """
    with watched("anomalies", check_nan):
        yield


class set_detect_anomaly:
    """Switches the detection of :func:`detect_anomaly` on or off at once; as a context, for that long.

    >>> with fg.set_detect_anomaly(True):
    ...     fg.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _core.watch("anomalies", mode and check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        _core.watch("anomalies", self._before)


def is_anomaly_enabled() -> bool:
    """Whether this thread detects anomalies.

    >>> fg.is_anomaly_enabled()
    False
    """
    return bool(_core.watching("anomalies"))


@contextmanager
def debug_nans() -> Iterator[None]:
    """Makes every op raise ``NotFiniteError`` whose result holds NaN, in the call that made it, also in ``backward``.

    >>> with fg.debug_nans():
    ...     fg.log(fg.tensor([-1.0, 1.0]))
    Traceback (most recent call last):
    ...
    ferrograd.NotFiniteError: log: debug_nans: the result holds NaN
    """
    with watched("nans"):
        yield


@contextmanager
def safe_gradients() -> Iterator[None]:
    """Keeps a cotangent of exactly zero at zero, whatever a pointwise op's derivative is at that element.

    So the branch that ``where`` did not take contributes nothing, even where its derivative is infinite or NaN. An op
    that is not pointwise (``softmax``, ``inv``) gives zeros where all of its cotangents are zero, and in forward mode
    tangents of zero stay zero. It holds for calls of ``backward``, ``grad`` and the transforms inside the context.

    >>> x = fg.tensor([0.0, 4.0], requires_grad=True)
    >>> with fg.safe_gradients():
    ...     g = fg.grad(fg.where(x > 0, fg.sqrt(x), 0.0).sum(), x)
    >>> g.tolist()
    [0.0, 0.25]
    """
    with watched("safe"):
        yield
