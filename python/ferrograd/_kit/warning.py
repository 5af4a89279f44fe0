"""Warnings that show the line of the user's program."""

from __future__ import annotations

import sys
import warnings


def warn(text: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warns at the line outside of this package that led here, whatever lies between."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "ferrograd":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
