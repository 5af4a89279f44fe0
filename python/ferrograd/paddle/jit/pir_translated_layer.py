"""``paddle.jit.pir_translated_layer``: the endings of the names of files of static programs. No such files are written
here.
"""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static

__all__ = ["INFER_PARAMS_SUFFIX", "PIR_INFER_MODEL_SUFFIX"]

PIR_INFER_MODEL_SUFFIX = ".json"
INFER_PARAMS_SUFFIX = ".pdiparams"

__getattr__, __dir__ = _no_static.module_names(__name__)
