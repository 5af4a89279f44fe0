"""The numbers by which the core knows the dialects, in the order of ``Dialect`` in ``src/bind/python/dialect.rs``."""

NATIVE, PADDLE, TORCH = range(3)
