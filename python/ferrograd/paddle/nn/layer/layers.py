"""``paddle.nn.Layer``."""

from __future__ import annotations

import inspect
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from ferrograd._core import ArgumentError, PaddleTensor, paddle as ops
from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd._layers.function_layer import OfFunction
from ferrograd._layers.hooks import RemovableHandle, add
from ferrograd._layers.module import BaseModule, indented
from ferrograd.paddle._functions.predicates import in_declarative_mode as in_declarative_mode
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn._parameter import EagerParamBase, attribute, make, unique_name

__all__ = ["Layer"]

L = TypeVar("L", bound="Layer")
_SUBJECT = {"parameter": "parameter", "module": "sublayer", "buffer": "buffers"}
_WANTED = {"parameter": "Parameter", "module": "Layer", "buffer": "Tensor"}


def _snake(name: str) -> str:
    """``Conv2DTranspose`` as ``conv2d_transpose``."""
    first = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", first).lower()


def _named_there(name: str) -> Any:
    """A property that is Paddle's name for the table ``name`` of a layer. Programs that clone layers also assign it."""
    return property(lambda layer: layer.__dict__[name], lambda layer, table: layer.__dict__.update({name: table}))


class _Helper:
    """What layers of other libraries ask as ``self._helper``; the rest of Paddle's makes static programs."""

    def get_default_dtype(self) -> Any:
        """The dtype of parameters that are given none."""
        return ops.get_default_dtype()


class Layer(BaseModule):
    """The base of all layers and models: holds parameters, buffers and other layers by the names they get.

    >>> import ferrograd.paddle as paddle
    >>> class Line(paddle.nn.Layer):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = self.create_parameter([1])
    ...     def forward(self, x):
    ...         return self.slope * x
    >>> line = Line()
    >>> line(paddle.to_tensor([3.0])).backward()
    >>> line.slope.grad.tolist(), list(line.state_dict())
    ([3.0], ['slope'])
    """

    _fg_parameter_class = EagerParamBase
    _dtype: Any
    _parameter_counts: dict[str, int]

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32") -> None:
        self._fg_set_up()
        self._full_name = unique_name(_snake(type(self).__name__) if name_scope is None else name_scope)
        self._dtype = dtype

    def _fg_set_up(self) -> None:
        super()._fg_set_up()
        self.__dict__.update(_state_dict_hooks={}, _parameter_counts={})

    def _fg_not_set_up(self, kind: str) -> Exception:
        return ValueError("super().__init__() should be called first")

    def _fg_wrong_value(self, kind: str, name: str, value: object) -> Exception:
        return TypeError(
            f"assignment to {_SUBJECT[kind]} '{name}' should be of type {_WANTED[kind]} or None, "
            f"but got '{type(value).__name__}'"
        )

    def _fg_is_buffer(self, value: object) -> bool:
        return isinstance(value, PaddleTensor)

    def _fg_put(self, kind: str, name: str, value: Any) -> None:
        if kind == "buffer" and name not in self._buffers:
            self._non_persistent_buffers_set.add(name)
        super()._fg_put(kind, name, value)

    _helper = _Helper()
    _sub_layers = _named_there("_modules")
    _forward_post_hooks = _named_there("_forward_hooks")
    _non_persistable_buffer_names_set = _named_there("_non_persistent_buffers_set")

    def full_name(self) -> str:
        """The unique name of the layer, with which the names of its parameters begin."""
        return self._full_name

    def create_parameter(
        self,
        shape: Any,
        attr: Any = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
        device: object = None,
    ) -> Any:
        """A parameter with its first values, which the layer still has to be assigned. None if ``attr`` is False."""
        found = attribute(attr)
        if found is None:
            return None
        kind = "b" if is_bias else "w"
        number = self._parameter_counts.get(kind, 0)
        self._parameter_counts[kind] = number + 1
        dtype = ops.get_default_dtype() if dtype is None else dtype
        return make(shape, dtype, found, f"{self._full_name}.{kind}_{number}", default_initializer, is_bias)

    def create_tensor(self, name: str | None = None, persistable: bool | None = None, dtype: Any = None) -> Any:
        """A tensor without elements."""
        made: Any = ops.zeros([0], self._dtype if dtype is None else dtype)
        made.name = unique_name(f"{self._full_name}_tensor") if name is None else name
        return made

    create_variable = create_tensor

    def _fg_check_name(self, kind: str, table: str, name: object) -> None:
        if not isinstance(name, str):
            raise TypeError(f"The name of {kind} should be a string, but received {type(name).__name__}.")
        if "." in name:
            raise KeyError(f"The name of {kind} can not contain `.`.")
        if name == "":
            raise KeyError(f"The name of {kind} can not be empty.")
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"The {kind} '{name}' already exists.")

    def add_parameter(self, name: str, parameter: Any) -> Any:
        """Adds a parameter and returns it."""
        self._fg_check_name("parameter", "_parameters", name)
        if parameter is not None and not isinstance(parameter, EagerParamBase):
            raise TypeError(
                f"The parameter to be added should be a Parameter, but received {type(parameter).__name__}."
            )
        self._parameters[name] = parameter
        return parameter

    def add_sublayer(self, name: str, sublayer: Any) -> Any:
        """Adds a layer below this one and returns it."""
        if sublayer is not None and not isinstance(sublayer, Layer):
            raise AssertionError(f"add_sublayer: a Layer is wanted, not {type(sublayer).__name__}")
        self._modules[name] = sublayer
        return sublayer

    def register_buffer(self, name: str, tensor: Tensor | None, persistable: bool = True) -> None:
        """Adds a tensor that is no parameter. ``state_dict`` has it if it is ``persistable``."""
        self._fg_check_name("buffer", "_buffers", name)
        if tensor is not None and (not isinstance(tensor, Tensor) or isinstance(tensor, EagerParamBase)):
            raise TypeError(f"The registered buffer should be a Paddle.Tensor, but received {type(tensor).__name__}.")
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistable else self._non_persistent_buffers_set.add)(name)

    def named_sublayers(
        self,
        prefix: str = "",
        include_self: bool = False,
        layers_set: set[Any] | None = None,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """The layers below this one with their dotted names; with ``include_self`` this one too."""
        for name, layer in self._fg_walk(prefix, remove_duplicate, layers_set):
            if include_self or layer is not self:
                yield name, layer

    def sublayers(self, include_self: bool = False) -> list[Any]:
        """The layers below this one; with ``include_self`` this one too."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def named_parameters(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The parameters with their dotted names; without ``include_sublayers`` only the layer's own."""
        return self._fg_members("_parameters", prefix, include_sublayers, remove_duplicate)

    def parameters(self, include_sublayers: bool = True) -> list[Any]:
        """The parameters, each once; without ``include_sublayers`` only the layer's own."""
        return [p for _, p in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The buffers with their dotted names; without ``include_sublayers`` only the layer's own."""
        return self._fg_members("_buffers", prefix, include_sublayers, remove_duplicate)

    def buffers(self, include_sublayers: bool = True) -> list[Any]:
        """The buffers, each once; without ``include_sublayers`` only the layer's own."""
        return [b for _, b in self.named_buffers(include_sublayers=include_sublayers)]

    def train(self: L, mode: bool = True) -> L:
        """Puts the tree into training mode, or with False into evaluation mode."""
        for layer in self.sublayers(include_self=True):
            layer.training = mode
        return self

    def eval(self: L) -> L:
        """Puts the tree into evaluation mode."""
        return self.train(False)

    def clear_gradients(self, set_to_zero: bool = True) -> None:
        """Sets the gradients of all trained parameters to zeros, or to None."""
        for p in self.parameters():
            if not p.stop_gradient:
                p.clear_gradient(set_to_zero)

    def astype(self: L, dtype: Any) -> L:
        """Casts all floating-point parameters and buffers."""
        self._fg_cast(lambda t: t.astype(dtype) if t.dtype.kind == "f" and t.dtype != dtype else t)
        for layer in self.sublayers(include_self=True):
            layer._dtype = dtype
        return self

    def _cast_but(self: L, dtype: Any, excluded: Any) -> L:
        """Casts all floating-point parameters and buffers, except those of layers of excluded classes."""
        if excluded is None:
            return self.astype(dtype)
        classes = tuple(excluded) if isinstance(excluded, list | tuple | set) else (excluded,)
        if not all(isinstance(one, type) and issubclass(one, Layer) for one in classes):
            raise TypeError(f"excluded_layers should be type nn.Layer or list, but got {excluded!r:.60}")
        done: set[int] = set()
        for layer in self.sublayers(include_self=True):
            if not isinstance(layer, classes):
                layer._fg_convert_own(
                    lambda t: t.astype(dtype) if t.dtype.kind == "f" and t.dtype != dtype else t, done
                )
                layer._dtype = dtype
        return self

    def to(self: L, device: Any = None, dtype: Any = None, blocking: bool | None = None) -> L:
        """Casts all floating-point parameters and buffers. The CPU is the only device."""
        if device is not None:
            self._fg_cast(lambda t: t.to(device))
        return self if dtype is None else self.astype(dtype)

    def float(self: L, excluded_layers: Any = None) -> L:
        """Casts to float32, except in layers of these classes."""
        return self._cast_but("float32", excluded_layers)

    def double(self: L) -> L:
        """Casts to float64."""
        return self.astype("float64")

    def float16(self: L, excluded_layers: Any = None) -> L:
        """Casts to float16, except in layers of these classes."""
        return self._cast_but("float16", excluded_layers)

    def bfloat16(self: L, excluded_layers: Any = None) -> L:
        """Casts to bfloat16, except in layers of these classes."""
        return self._cast_but("bfloat16", excluded_layers)

    def register_forward_post_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Calls ``hook(layer, inputs, output)`` after every call; it may return another output."""
        return self._fg_add_forward_hook(hook, prepend, with_kwargs, always_call)

    def register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(state_dict)``, which may return another dict."""
        return add(self.__dict__["_state_dict_hooks"], hook)

    def state_dict(
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        keep_vars: bool = True,
    ) -> Any:
        """The parameters and persistable buffers by dotted name: themselves, or detached without ``keep_vars``."""
        return self._state_dict_impl(destination, include_sublayers, structured_name_prefix, use_hook, keep_vars)

    def _state_dict_impl(
        self, destination: Any, include_sublayers: bool, structured_name_prefix: str, use_hook: bool, keep_vars: bool
    ) -> Any:
        """``state_dict`` as this class has it, whatever a class derived from it makes of its own."""
        destination = OrderedDict() if destination is None else destination
        for table in (self._parameters, self._buffers):
            for name, value in table.items():
                if value is not None and (table is self._parameters or name not in self._non_persistent_buffers_set):
                    destination[structured_name_prefix + name] = value if keep_vars else value.detach()
        for name, layer in self._modules.items() if include_sublayers else ():
            if layer is not None:
                layer._state_dict_impl(destination, True, f"{structured_name_prefix}{name}.", use_hook, keep_vars)
        for hook in self.__dict__["_state_dict_hooks"].values() if use_hook else ():
            replaced = hook(destination)
            destination = destination if replaced is None else replaced
        return destination

    def set_state_dict(self, state_dict: Any, use_structured_name: bool = True) -> tuple[list[str], list[str]]:
        """Copies tensors or arrays into the layer. Returns the keys that are missing, and those that have no place.

        A tensor that is missing or has another shape is left as it is, with a warning. Without ``use_structured_name``
        the keys are the names of the parameters.
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentError(f"set_state_dict: the state must be a dict, not {type(state_dict).__name__}")
        missing, found = [], {}
        for key, value in self._state_dict_impl(None, True, "", False, True).items():
            name = key if use_structured_name else value.name
            given = state_dict.get(name)
            if given is not None and not hasattr(given, "shape"):
                raise ArgumentError(
                    f"set_state_dict: {name!r} must be a tensor or an array, not {type(given).__name__}"
                )
            if given is None:
                problem = f"{name} is not found in the provided dict."
            elif list(given.shape) != list(value.shape):
                problem = f"{name} receives a shape {list(given.shape)}, but the expected shape is {list(value.shape)}."
            else:
                found[name] = value, given
                continue
            missing.append(name)
            warn(f"Skip loading for {key}. {problem}")
        for value, given in found.values():
            value.set_value(given)
        return missing, [key for key in state_dict if key not in found]

    set_dict = set_state_dict
    load_dict = set_state_dict

    def __repr__(self) -> str:
        below = "".join(f"\n  ({name}): {indented(repr(layer))}" for name, layer in self._modules.items())
        lines = self.extra_repr().split("\n")
        extra = lines[0] if len(lines) == 1 else "".join(f"\n  {line}" for line in lines) + "\n"
        return f"{self._get_name()}({extra}{below}" + ("\n)" if below else ")")


class FunctionLayer(OfFunction, Layer):
    """A layer that keeps the arguments of a function and calls it. A ``name`` is shown if it is given."""

    def __init_subclass__(
        cls,
        *,
        function: Any = None,
        inputs: int | tuple[str, ...] = 1,
        parameters: tuple[str, ...] | None = None,
        defaults: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if function is not None and parameters is None:
            own = list(inspect.signature(function).parameters)[inputs if isinstance(inputs, int) else len(inputs) :]
            parameters = (*(name for name in own if name not in ("training", "name")), "name")
        given = {"name": None, **(defaults or {})}
        super().__init_subclass__(function=function, inputs=inputs, parameters=parameters, defaults=given, **kwargs)

    def extra_repr(self) -> str:
        """The arguments that ``repr`` shows."""
        shown = super().extra_repr()
        name = self.__dict__.get("name")
        return shown if not name else f"{shown}, name={name}" if shown else f"name={name}"


__dir__ = _public.names(globals())
