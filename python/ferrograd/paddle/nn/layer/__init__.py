"""``paddle.nn.layer``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.paddle.nn.layer import activation, common, container, conv, layers, loss, norm, pooling, rnn, transformer
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

_modules = (activation, common, container, conv, layers, loss, norm, pooling, rnn, transformer)
# Type checkers do not follow a list that is computed. Without one, they take all names that are imported above.
globals()["__all__"] = [name for module in _modules for name in module.__all__]

__dir__ = _public.names(globals())
