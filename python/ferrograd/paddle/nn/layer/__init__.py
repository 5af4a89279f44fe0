"""``paddle.nn.layer``."""

from __future__ import annotations

import sys as _sys

from ferrograd._kit import public as _public
from ferrograd.paddle.nn.layer.activation import *
from ferrograd.paddle.nn.layer.common import *
from ferrograd.paddle.nn.layer.container import *
from ferrograd.paddle.nn.layer.conv import *
from ferrograd.paddle.nn.layer.layers import *
from ferrograd.paddle.nn.layer.loss import *
from ferrograd.paddle.nn.layer.norm import *
from ferrograd.paddle.nn.layer.pooling import *
from ferrograd.paddle.nn.layer.rnn import *
from ferrograd.paddle.nn.layer.transformer import *

# Type checkers do not follow a list that is computed. Without one, they take all names that are imported above.
globals()["__all__"] = _public.gathered(globals(), _sys.modules[__name__])

__dir__ = _public.names(globals())
