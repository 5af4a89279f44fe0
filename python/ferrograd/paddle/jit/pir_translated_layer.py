"""``paddle.jit.pir_translated_layer``: how names of files of static programs end, which are not written here."""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static

__all__ = ["INFER_PARAMS_SUFFIX", "PIR_INFER_MODEL_SUFFIX"]

PIR_INFER_MODEL_SUFFIX = ".json"
INFER_PARAMS_SUFFIX = ".pdiparams"

__getattr__, __dir__ = _no_static.module_names(__name__)
