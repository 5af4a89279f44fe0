"""Images of other sizes."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn.modules._layer import Layer

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(
    Layer,
    function=F.interpolate,
    parameters=("size", "scale_factor", "mode", "align_corners", "recompute_scale_factor"),
):
    """Images of another size: the one given, or ``scale_factor`` times the present one."""

    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        factor = arguments["scale_factor"]
        if factor is not None:
            arguments["scale_factor"] = tuple(map(float, factor)) if isinstance(factor, tuple) else float(factor)
        super()._fg_keep(arguments)
        self.name = type(self).__name__

    def extra_repr(self) -> str:
        """The factor or the size, and the mode."""
        shown = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{shown}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images of another size, whose pixels are those nearest."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Images of another size by bilinear interpolation, with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


__dir__ = _public.names(globals())
