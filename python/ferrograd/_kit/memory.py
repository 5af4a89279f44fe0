"""How much memory is kept for new arrays, as the environment says."""

from __future__ import annotations

import os
import re

from ferrograd import _core

VARIABLE = "FERROGRAD_CACHE_LIMIT"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def asked() -> int | None:
    """The number of bytes that the environment asks for; None if it asks for none.

    Raises:
        ValueError: it is no number of bytes.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    found = re.fullmatch(r"(\d{1,18})([KMG]?)", text.upper())
    if found is None:
        raise ValueError(f"{VARIABLE} is {text!r}: a number of bytes is wanted, such as {VARIABLE}=64M")
    return int(found[1]) * _UNITS[found[2]]


def obey_environment() -> None:
    """Sets the limit that the environment asks for."""
    number = asked()
    if number is not None:
        _core.set_cache_limit(number)
