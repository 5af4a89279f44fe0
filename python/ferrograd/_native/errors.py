"""What an error says besides its message: where to read about it, and in a notebook the lines of the user."""

from __future__ import annotations

import os
import re
import sys
from types import TracebackType

from ferrograd._core import FerrogradError, InternalError

_PAGE = "https://ferrograd.github.io/ferrograd/errors.html"
#: Sections for some messages of ArgumentError, by a part of the message.
_MESSAGES = {
    "does not require grad and does not have a grad_fn": "no-record",
    "grad can be implicitly created only for scalar outputs": "not-scalar",
}
#: Messages of these classes say all there is to say.
_PLAIN = {
    "ArgumentError",
    "DtypeError",
    "DuplicateTensorError",
    "FerrogradError",
    "GradcheckError",
    "IndexOutOfRange",
    "LinAlgError",
    "ShapeError",
}
#: The modules of public classes.
_PUBLIC = re.compile(r"ferrograd(\.[a-z]\w*)*$")
_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


def _kind(error: FerrogradError) -> type:
    """The public class of an error, which may be of a class derived from it."""
    return next(kind for kind in type(error).__mro__ if _PUBLIC.match(kind.__module__))


def _section(error: FerrogradError) -> str | None:
    """The section about messages like that of the error."""
    message = Exception.__str__(error)
    return next((name for part, name in _MESSAGES.items() if part in message), None)


def short_name(error: FerrogradError) -> str:
    """The name of the section about the error on the page of errors.

    >>> from ferrograd._native.errors import short_name
    >>> short_name(fg.ShapeError("add: ..."))
    'shapeerror'
    """
    return _section(error) or _kind(error).__name__.lower()


def url(error: FerrogradError) -> str:
    """Where to read about the error."""
    return f"{_PAGE}#{short_name(error)}"


def text(error: FerrogradError) -> str:
    """The message, in a notebook with the names of its cells, and where to read more."""
    message = Exception.__str__(error)
    if "IPython" in sys.modules:
        from ferrograd._graph.places import in_cells

        message = in_cells(message)
    return message if _kind(error).__name__ in _PLAIN and _section(error) is None else f"{message}\nSee {url(error)}"


def _of_the_user(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of the library."""
    frames = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_FOLDER):
            frames.append(trace)
        trace = trace.tb_next
    made = None
    for one in reversed(frames):
        made = TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return made


def rendered(error: FerrogradError) -> list[str]:
    """What IPython shows of the error: the lines of the user. ``%debug`` has all of them."""
    from IPython import get_ipython

    trace = error.__traceback__ if isinstance(error, InternalError) else _of_the_user(error.__traceback__)
    lines: list[str] = get_ipython().InteractiveTB.structured_traceback(type(error), error, trace)
    return lines
