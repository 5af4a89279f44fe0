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

__all__: list[str] = []
for _module in (activation, common, container, conv, layers, loss, norm, pooling, rnn, transformer):
    __all__ += _module.__all__

__dir__ = _public.names(globals())
