"""``paddle.tensor``: the functions of ``paddle`` under their second address.

>>> import ferrograd.paddle as paddle
>>> paddle.tensor.add is paddle.add
True
"""

from __future__ import annotations

from typing import Any

import ferrograd.paddle


def __getattr__(name: str) -> Any:
    return getattr(ferrograd.paddle, name)


def __dir__() -> list[str]:
    return dir(ferrograd.paddle)
