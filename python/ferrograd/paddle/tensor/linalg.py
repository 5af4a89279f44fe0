"""``paddle.tensor.linalg``: products and factorisations of matrices, and all other functions of ``paddle.tensor``."""

from ferrograd.paddle.tensor import __dir__ as __dir__, __getattr__ as __getattr__
