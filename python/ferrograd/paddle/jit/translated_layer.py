"""``paddle.jit.translated_layer``: the endings of the names of files of static programs. No such files are written
here.
"""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static

__all__ = ["INFER_MODEL_SUFFIX", "INFER_PARAMS_INFO_SUFFIX", "INFER_PARAMS_SUFFIX"]

INFER_MODEL_SUFFIX = ".pdmodel"
INFER_PARAMS_SUFFIX = ".pdiparams"
INFER_PARAMS_INFO_SUFFIX = ".pdiparams.info"

__getattr__, __dir__ = _no_static.module_names(__name__)
