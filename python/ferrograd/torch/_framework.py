"""The module that older pickles of tensors of subclasses name."""

from ferrograd.torch._tensor import _rebuild_of_class as _rebuild_of_class
