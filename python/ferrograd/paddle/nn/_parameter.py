"""Parameters: how they are described, made, named and given their first values."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ferrograd._core import PaddleTensor, Tensor, paddle as ops
from ferrograd.paddle.nn import initializer as init

__all__ = ["EagerParamBase", "ParamAttr", "Parameter", "create_parameter"]


class Names:
    """How often each key was named, and what the names begin with."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.counts: defaultdict[str, int] = defaultdict(int)


_names = Names()


def unique_name(key: str) -> str:
    """The key with a number that no name before had: ``linear_0``."""
    number = _names.counts[key]
    _names.counts[key] += 1
    return f"{_names.prefix}{key}_{number}"


def switch_names(names: Names) -> Names:
    """Makes names from ``names`` from now on; returns those used before."""
    global _names
    before, _names = _names, names
    return before


class ParamAttr:
    """How a parameter is made: its name, first values, share of the learning rate, and whether it is trained."""

    def __init__(
        self,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = True,
        need_clip: bool = True,
    ) -> None:
        if name == "":
            raise ValueError("name of ParamAttr can not be empty str")
        self.name, self.initializer, self.learning_rate = name, initializer, learning_rate
        self.regularizer, self.trainable = regularizer, trainable
        self.do_model_average, self.need_clip = do_model_average, need_clip


def attribute(given: Any) -> ParamAttr | None:
    """What is given for a parameter (a ``ParamAttr``, a name or an initializer) as a ``ParamAttr``. False means no
    parameter.
    """
    if given is False:
        return None
    if given is None or given is True or given == "":
        return ParamAttr()
    if isinstance(given, ParamAttr):
        return given
    if isinstance(given, str):
        return ParamAttr(name=given)
    if isinstance(given, init.Initializer):
        return ParamAttr(initializer=given)
    raise TypeError(f"{type(given)} cast to ParamAttr is not supported")


def make(shape: Any, dtype: Any, attr: ParamAttr, name: str, default: Any, is_bias: bool) -> Any:
    """A parameter with its first values."""
    made: Any = ops.zeros(list(shape), dtype)
    init.chosen(attr.initializer, default, is_bias)(made)
    return mark(made, attr, name)


def mark(tensor: Any, attr: ParamAttr, name: str) -> Any:
    """Makes a parameter of a leaf."""
    tensor.optimize_attr = {"learning_rate": attr.learning_rate}
    tensor.regularizer, tensor.need_clip, tensor.persistable = attr.regularizer, attr.need_clip, True
    tensor.name = attr.name or name
    tensor.stop_gradient = not attr.trainable
    return tensor


class _ParameterClass(type):
    """The class of a class that only checks, and makes tensors with the attributes of parameters."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, PaddleTensor) and "optimize_attr" in instance.__dict__

    def __call__(
        cls,
        data: Any = None,
        requires_grad: bool | str = True,
        *,
        shape: Any = None,
        dtype: Any = None,
        name: str | None = None,
        trainable: bool = True,
        optimize_attr: dict[str, Any] | None = None,
        regularizer: Any = None,
        need_clip: bool = True,
        **_: Any,
    ) -> Any:
        if isinstance(data, list | tuple):
            # Paddle's own arguments: a shape and a dtype.
            data, shape, dtype = None, data, dtype if isinstance(requires_grad, bool) else requires_grad
        values: Tensor = ops.zeros([0] if shape is None else list(shape), dtype) if data is None else data.detach()
        attr = ParamAttr(
            learning_rate=(optimize_attr or {}).get("learning_rate", 1.0),
            regularizer=regularizer,
            trainable=trainable and requires_grad is not False,
            need_clip=need_clip,
        )
        return mark(values, attr, name or unique_name("param"))


class Parameter(metaclass=_ParameterClass):
    """The class of parameters: tensors with ``optimize_attr``, which layers train.

    Calling it makes a parameter that shares the memory of a tensor, or one of zeros with a shape and a dtype.
    """


EagerParamBase = Parameter


def create_parameter(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Any:
    """A parameter with its first values: by default those of ``XavierUniform``, of a bias zeros.

    >>> import ferrograd.paddle as paddle
    >>> w = paddle.create_parameter([2, 3], "float32")
    >>> list(w.shape), w.stop_gradient
    ([2, 3], False)
    """
    found = attribute(attr)
    if found is None:
        raise ValueError("create_parameter: attr is False, so there is nothing to make")
    return make(
        shape,
        dtype,
        found,
        name or f"{unique_name('create_parameter')}.{'b' if is_bias else 'w'}_0",
        default_initializer,
        is_bias,
    )
