"""``paddle.utils.download``: whether a name of a file is an address. Nothing is fetched here."""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static

__all__ = ["is_url"]


def is_url(path: str) -> bool:
    """Whether a text is an address of the web.

    >>> import ferrograd.paddle as paddle
    >>> paddle.utils.download.is_url("https://example.org/model.pdparams")
    True
    """
    if not isinstance(path, str):
        raise TypeError(f"is_url: path is a text, not {type(path).__name__}")
    return path.startswith(("http://", "https://"))


__getattr__, __dir__ = _no_static.module_names(__name__)
