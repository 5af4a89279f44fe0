"""``torch.utils.model_zoo``: an older name of what is in ``torch.hub``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.torch.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]

__dir__ = _public.names(globals())
