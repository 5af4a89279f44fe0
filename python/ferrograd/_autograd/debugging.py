"""Debugging contexts for gradients: NaN and infinity found where they arise, and zero cotangents kept zero.

Each is a context manager and a decorator and holds for the thread that entered it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from ferrograd import _core

#: Observations that look at the numbers of each gradient or value, which no program can, and what switches them on.
_LOOKING = {"anomalies": "detect_anomaly", "nans": "debug_nans", "safe": "safe_gradients"}


def _end_trace(what: str, on: bool = True) -> None:
    if on and what in _LOOKING and _core.is_tracing():
        _core.give_up_trace(f"{_LOOKING[what]} looks at the numbers of gradients")


@contextmanager
def watched(what: str, on: bool = True) -> Iterator[None]:
    """Switches one kind of observation on or off in the core, and back at the end."""
    _end_trace(what, on)
    before = _core.watch(what, on)
    try:
        yield
    finally:
        _core.watch(what, before)


def detect_anomaly(check_nan: bool = True) -> AbstractContextManager[None]:
    """Makes ``backward`` and ``grad`` raise ``NotFiniteError`` (a ``RuntimeError``) where a gradient becomes NaN.

    The message has the op, the line that recorded it, and the op and line of the first value (computed inside the
    context) or first gradient that is not finite. With ``check_nan=False`` nothing is checked.

    >>> x = fg.tensor(0.0, requires_grad=True)
    >>> with fg.detect_anomaly():
    ...     y = fg.sqrt(x) * 0.0
    ...     fg.grad(y, x)
    Traceback (most recent call last):
    ...
    ferrograd.NotFiniteError: detect_anomaly: Function 'sqrt' returned nan values in its 0th output. ...
    """
    _end_trace("anomalies", check_nan)
    return watched("anomalies", check_nan)


class set_detect_anomaly:
    """Switches :func:`detect_anomaly` on or off at once. As a context manager it restores the previous state.

    >>> with fg.set_detect_anomaly(True):
    ...     fg.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._fg_before = _core.watch("anomalies", mode and check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        _core.watch("anomalies", self._fg_before)


def is_anomaly_enabled() -> bool:
    """Whether this thread detects anomalies.

    >>> fg.is_anomaly_enabled()
    False
    """
    return bool(_core.watching("anomalies"))


def debug_nans() -> AbstractContextManager[None]:
    """Makes an op raise ``NotFiniteError`` as soon as its result holds NaN, in ``backward`` too.

    >>> with fg.debug_nans():
    ...     fg.log(fg.tensor([-1.0, 1.0]))
    Traceback (most recent call last):
    ...
    ferrograd.NotFiniteError: log: the result holds NaN...
    """
    # Said here, too, so that the line of the user's program is the one with this call.
    _end_trace("nans")
    return watched("nans")


def safe_gradients() -> AbstractContextManager[None]:
    """Makes 0 times an infinite or NaN derivative 0 in ``backward``, ``grad`` and the transforms.

    A zero cotangent of a pointwise op stays zero, so the branch that ``where`` did not take contributes nothing. An op
    that is not pointwise (``softmax``, ``inv``) gives zeros if all of its cotangents are zero. In forward mode zero
    tangents stay zero.

    >>> x = fg.tensor([0.0, 4.0], requires_grad=True)
    >>> with fg.safe_gradients():
    ...     g = fg.grad(fg.where(x > 0, fg.sqrt(x), 0.0).sum(), x)
    >>> g.tolist()
    [0.0, 0.25]
    """
    # Said here, too, so that the line of the user's program is the one with this call.
    _end_trace("safe")
    return watched("safe")
