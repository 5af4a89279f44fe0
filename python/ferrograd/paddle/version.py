"""``paddle.version``."""

from __future__ import annotations

from typing import Literal

from ferrograd._kit import public as _public
from ferrograd.paddle._functions.predicates import VERSION as full_version

__all__ = ["commit", "cuda", "cudnn", "full_version", "major", "minor", "patch", "rc", "show"]

major, minor, patch = full_version.split(".")[:3]
#: The number of the release candidate; 0 in a release.
rc = "0"
#: What Paddle says where the commit of its source is not known.
commit = "Unknown"


def cuda() -> Literal["False"]:
    """``"False"``, as there is no GPU."""
    return "False"


cudnn = cuda


def show() -> None:
    """Prints the version."""
    print(f"full_version: {full_version}\nmajor: {major}\nminor: {minor}\npatch: {patch}\ncuda: False\ncudnn: False")


__dir__ = _public.names(globals())
