"""``torch.utils.model_zoo``: an older name of what is in ``torch.hub``."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def tqdm(iterable: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The iterable itself: nothing is downloaded, so no progress is shown."""
    return iterable


__dir__ = _public.names(globals())
