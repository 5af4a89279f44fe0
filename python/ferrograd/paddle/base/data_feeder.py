"""``paddle.base.data_feeder``: the names of dtypes, and checks of arguments that functions of users call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd._kit import public as _public
from ferrograd._kit.dialect import PADDLE
from ferrograd._tensor.dtypes import dtype_of
from ferrograd.paddle._tensor import Tensor

__all__ = ["check_dtype", "check_type", "check_variable_and_dtype", "convert_dtype"]


def convert_dtype(dtype: Any) -> str:
    """The name of a dtype.

    Raises:
        TypeError: There is no such dtype.

    >>> import ferrograd.paddle as paddle
    >>> paddle.base.data_feeder.convert_dtype(paddle.float32)
    'float32'
    """
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", dtype)
    try:
        return str(dtype_of(str(name).rpartition(".")[2], PADDLE).name)
    except (KeyError, TypeError, ValueError) as e:
        raise TypeError(f"dtype must be any of the dtypes of Paddle and NumPy, but received {dtype!r:.60}") from e


def check_type(input: Any, input_name: str, expected_type: Any, op_name: str, extra_message: str = "") -> None:
    """Raises TypeError unless ``input`` is an instance of one of the expected types."""
    if not isinstance(input, expected_type):
        raise TypeError(
            f"The type of '{input_name}' in {op_name} must be {expected_type}, but received {type(input)}. "
            f"{extra_message}"
        )


def check_dtype(
    input_dtype: Any, input_name: str, expected_dtype: Iterable[str], op_name: str, extra_message: str = ""
) -> None:
    """Raises TypeError unless a dtype is one of those with these names."""
    names = [expected_dtype] if isinstance(expected_dtype, str) else list(expected_dtype)
    if convert_dtype(input_dtype) not in names:
        raise TypeError(
            f"The data type of '{input_name}' in {op_name} must be {names}, but received "
            f"{convert_dtype(input_dtype)}. {extra_message}"
        )


def check_variable_and_dtype(
    input: Any, input_name: str, expected_dtype: Iterable[str], op_name: str, extra_message: str = ""
) -> None:
    """Raises TypeError unless ``input`` is a tensor of one of the dtypes with these names."""
    check_type(input, input_name, Tensor, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)


__dir__ = _public.names(globals())
