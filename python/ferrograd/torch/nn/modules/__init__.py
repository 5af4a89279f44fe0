"""``torch.nn.modules``."""

from __future__ import annotations

import sys as _sys

from ferrograd._kit import public as _public
from ferrograd.torch.nn.modules.activation import *
from ferrograd.torch.nn.modules.adaptive import *
from ferrograd.torch.nn.modules.batchnorm import *
from ferrograd.torch.nn.modules.channelshuffle import *
from ferrograd.torch.nn.modules.container import *
from ferrograd.torch.nn.modules.conv import *
from ferrograd.torch.nn.modules.distance import *
from ferrograd.torch.nn.modules.dropout import *
from ferrograd.torch.nn.modules.flatten import *
from ferrograd.torch.nn.modules.fold import *
from ferrograd.torch.nn.modules.instancenorm import *
from ferrograd.torch.nn.modules.lazy import *
from ferrograd.torch.nn.modules.linear import *
from ferrograd.torch.nn.modules.loss import *
from ferrograd.torch.nn.modules.module import *
from ferrograd.torch.nn.modules.normalization import *
from ferrograd.torch.nn.modules.padding import *
from ferrograd.torch.nn.modules.pixelshuffle import *
from ferrograd.torch.nn.modules.pooling import *
from ferrograd.torch.nn.modules.rnn import *
from ferrograd.torch.nn.modules.sparse import *
from ferrograd.torch.nn.modules.transformer import *
from ferrograd.torch.nn.modules.upsampling import *

# Type checkers do not follow a list that is computed. Without one, they take all names that are imported above.
globals()["__all__"] = _public.gathered(globals(), _sys.modules[__name__])

__dir__ = _public.names(globals())
