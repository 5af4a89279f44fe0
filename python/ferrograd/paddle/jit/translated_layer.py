"""``paddle.jit.translated_layer``: layers whose program comes from a file, and the endings of names of files."""

from __future__ import annotations

from typing import Any

from ferrograd._compile import LoadedFunction
from ferrograd._kit import public as _public
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = ["INFER_MODEL_SUFFIX", "INFER_PARAMS_INFO_SUFFIX", "INFER_PARAMS_SUFFIX", "TranslatedLayer"]

#: The ending of the files here.
SUFFIX = ".fgp"
INFER_MODEL_SUFFIX = ".pdmodel"
INFER_PARAMS_SUFFIX = ".pdiparams"
INFER_PARAMS_INFO_SUFFIX = ".pdiparams.info"


class TranslatedLayer(Layer):
    """The layer that :func:`paddle.jit.load` makes of a file. It takes the tensors of the arguments, in order."""

    def __init__(self, program: LoadedFunction) -> None:
        super().__init__()
        self._program = program

    def forward(self, *tensors: Any) -> Any:
        """What the program computes."""
        return self._program(*tensors)


__dir__ = _public.names(globals())
