"""``torch.nn.common_types``: names for annotations, like ``_size_2_t`` for one number or two."""

from __future__ import annotations

from ferrograd._core import TorchTensor as _Tensor
from ferrograd._kit import public as _public

__all__ = [
    "_maybe_indices_t",
    "_ratio_2_t",
    "_ratio_3_t",
    "_ratio_any_t",
    "_scalar_or_tuple_1_t",
    "_scalar_or_tuple_2_t",
    "_scalar_or_tuple_3_t",
    "_scalar_or_tuple_4_t",
    "_scalar_or_tuple_6_t",
    "_scalar_or_tuple_any_t",
    "_size_1_t",
    "_size_2_t",
    "_size_3_t",
    "_size_4_t",
    "_size_6_t",
    "_size_any_t",
    "_tensor_list_t",
]

_scalar_or_tuple_any_t = int | tuple[int, ...]
_scalar_or_tuple_1_t = _size_1_t = int | tuple[int]
_scalar_or_tuple_2_t = _size_2_t = int | tuple[int, int]
_scalar_or_tuple_3_t = _size_3_t = int | tuple[int, int, int]
_scalar_or_tuple_4_t = _size_4_t = int | tuple[int, int, int, int]
_scalar_or_tuple_6_t = _size_6_t = int | tuple[int, int, int, int, int, int]
_size_any_t = _scalar_or_tuple_any_t
_ratio_2_t, _ratio_3_t, _ratio_any_t = float | tuple[float, float], float | tuple[float, float, float], float
_tensor_list_t = _maybe_indices_t = _Tensor | list[_Tensor]

__dir__ = _public.names(globals())
