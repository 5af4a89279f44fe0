"""What ``share_memory`` says: no memory is shared between processes."""

from __future__ import annotations

from typing import NoReturn

from ferrograd._core import FerrogradError


def refuse_sharing(function: str) -> NoReturn:
    """Raises in the name of a function of torch's that would share a tensor with other processes."""
    raise FerrogradError(
        f"{function}: tensors are not shared between processes here. Start threads instead, which share them as they "
        "are: threading.Thread in place of multiprocessing.Process"
    )
