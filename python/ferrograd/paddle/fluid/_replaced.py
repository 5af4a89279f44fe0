"""The errors of names of Paddle 1.8, which say what replaced them."""

from __future__ import annotations

from ferrograd._kit import public as _public


def missing(module: str, name: str, replaced: dict[str, str]) -> AttributeError:
    """The error of a name that a module lacks: ``replaced`` has its successor, or it has kept its name elsewhere."""
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(text)
    places = _public.MissingName.places("ferrograd.paddle", name)
    place = replaced.get(name) or (places[0].removeprefix("ferrograd.") if places else None)
    return AttributeError(f"{text}: use {place}" if place else f"{text}. Paddle 1.8's names are not here")
