"""``torch.cuda.random``: the generators of GPUs. There are no GPUs here."""

from __future__ import annotations

from typing import Any, NoReturn

from ferrograd._kit import public as _public
from ferrograd.torch._base.no_device import manual_seed, refuse

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state_all",
]


def manual_seed_all(seed: int) -> None:
    """Does nothing: ``torch.manual_seed`` seeds the only generator."""


def seed() -> None:
    """Does nothing: ``torch.seed`` seeds the only generator."""


def seed_all() -> None:
    """Does nothing: ``torch.seed`` seeds the only generator."""


def get_rng_state_all() -> list[Any]:
    """The states of the generators of all GPUs: none."""
    return []


def set_rng_state_all(new_states: list[Any]) -> None:
    """Takes an empty list, since there are no GPUs; raises for any other."""
    if len(new_states):
        refuse("cuda.set_rng_state_all")


def get_rng_state(device: object = "cuda") -> NoReturn:
    """Raises: there is no GPU."""
    refuse("cuda.get_rng_state")


__dir__ = _public.names(globals())
