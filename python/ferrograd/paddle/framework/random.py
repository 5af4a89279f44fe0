"""``paddle.framework.random``: the state of the random numbers."""

from __future__ import annotations

from ferrograd._core.paddle import get_rng_state, set_rng_state
from ferrograd._kit import public as _public
from ferrograd.paddle._functions.random import Generator as Generator, seed

__all__ = ["get_rng_state", "seed", "set_random_seed_generator", "set_rng_state"]


def set_random_seed_generator(name: str, seed_: int) -> None:
    """Starts the only generator anew; a name would be that of another one."""
    seed(seed_)


_manual_program_seed = seed

__dir__ = _public.names(globals())
