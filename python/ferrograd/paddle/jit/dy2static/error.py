"""``paddle.jit.dy2static.error``: how errors in compiled functions are shown."""

from __future__ import annotations

from ferrograd._kit import public as _public

__all__ = ["ERROR_DATA", "TraceBackFrame"]

#: The attribute of an error in which Paddle keeps lines of the source. Here functions raise their own errors.
ERROR_DATA = "Error data about original source code information and traceback."


class TraceBackFrame:
    """A line of a traceback."""

    def __init__(self, location: object, function_name: str, source_code: str) -> None:
        self.location, self.function_name, self.error_code = location, function_name, source_code


__dir__ = _public.names(globals())
