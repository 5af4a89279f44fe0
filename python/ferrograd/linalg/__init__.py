"""Linear algebra on matrices in the last two axes; the axes before them are a batch. All of it is differentiable.

>>> import ferrograd as fg
>>> fg.linalg.det(fg.tensor([[2.0, 1.0], [1.0, 1.0]])).item()
1.0
"""

from __future__ import annotations

from ferrograd._core.native.linalg import *
from ferrograd._core.native.linalg import __all__ as __all__
