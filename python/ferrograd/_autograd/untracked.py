"""The warning of a backward pass that has nothing to do, where a dialect lets it pass."""

from __future__ import annotations

import warnings

#: Whether it is given at all. ``paddle.set_flags`` sets it.
is_on = True
#: The texts and lines that it was given for.
_given: set[tuple[str, str | None]] = set()


def warn(text: str, site: str | None) -> None:
    """Warns once for each line of the user's program. ``site`` is the file and the line of the call."""
    if not is_on or (text, site) in _given:
        return
    file, _, line = (site or "").rpartition(":")
    warnings.warn_explicit(text, UserWarning, file or "<unknown>", int(line or 0))
    _given.add((text, site))
