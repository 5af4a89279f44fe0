"""Layers without parameters of their own: the arguments of a function, kept, and one call of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from ferrograd._core import Tensor
from ferrograd._layers.module import BaseModule


def _forward_of(names: list[str], owner: str) -> Callable[..., Any]:
    """The ``forward`` of a layer whose inputs have these names, which tracers and tools read from its signature."""
    inputs, space = ", ".join(names), {"__name__": __name__}
    exec(f"def forward(self, {inputs}):\n    return self._fg_call({inputs})", space)
    made: Any = space["forward"]
    made.__qualname__, made.__doc__, made._fg_made = f"{owner}.forward", OfFunction.forward.__doc__, True
    return made


class OfFunction(BaseModule):
    """The base of layers that call one function.

    A class names its ``function``, which takes ``inputs`` tensors first. The constructor takes the other parameters,
    in the order of ``parameters`` (by default the function's) and with the defaults of the function or those in
    ``defaults``, and keeps them as attributes. A call of the layer is a call of the function with these attributes.
    The parameter ``training`` is the mode of the layer. ``shown`` is a format of the attributes for ``repr``.
    ``inputs`` may be the names of the tensors instead, where those of the function are others.
    """

    _fg_function: Callable[..., Any]
    _fg_names: tuple[str, ...] = ()
    _fg_inputs = 1
    _fg_shown = ""
    #: What inputs are called whose name in the function is another.
    _fg_renamed: ClassVar[dict[str, str]] = {}
    _fg_signature = inspect.Signature()

    def __init_subclass__(
        cls,
        *,
        function: Callable[..., Any] | None = None,
        inputs: int | tuple[str, ...] = 1,
        parameters: tuple[str, ...] | None = None,
        defaults: dict[str, Any] | None = None,
        shown: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        if shown is not None:
            cls._fg_shown = shown
        if function is None:
            return
        listed = list(inspect.signature(function).parameters.values())
        count = inputs if isinstance(inputs, int) else len(inputs)
        names = [p.name for p in listed[:count]] if isinstance(inputs, int) else list(inputs)
        own = {p.name: p for p in listed[count:]}
        taken = [name for name in own if name != "training"] if parameters is None else list(parameters)
        given = defaults or {}
        kept = []
        for name in taken:
            default = given.get(name, own[name].default if name in own else inspect.Parameter.empty)
            kept.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
        cls._fg_function, cls._fg_inputs = staticmethod(function), count
        cls._fg_names = tuple(name for name in own if name in taken or name == "training")
        cls._fg_signature = inspect.Signature(kept)
        cls.__signature__ = cls._fg_signature  # type: ignore[attr-defined]
        if listed[0].kind is not inspect.Parameter.VAR_POSITIONAL and (
            cls.forward is OfFunction.forward or hasattr(cls.forward, "_fg_made")
        ):
            cls.forward = _forward_of([cls._fg_renamed.get(name, name) for name in names], cls.__qualname__)  # type: ignore[method-assign]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._fg_refuse_inputs(args)
        try:
            given = self._fg_signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.__init__(): {error}") from None
        given.apply_defaults()
        self._fg_keep(given.arguments)

    def _fg_refuse_inputs(self, args: tuple[Any, ...]) -> None:
        """Raises where the constructor is called with what the layer is to be called with."""
        count = next((i for i, x in enumerate(args) if not isinstance(x, Tensor) or not x.ndim), len(args))
        if count >= min(self._fg_inputs, 2):
            name = type(self).__name__
            raise TypeError(f"{name} is a layer, which is made first and then called with its inputs: {name}()(...)")

    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        """Keeps the arguments of the constructor as attributes."""
        for name, value in arguments.items():
            setattr(self, name, value)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The function of the inputs with the arguments of the constructor."""
        return self._fg_call(*inputs, **named)

    def _fg_call(self, *inputs: Any, **named: Any) -> Any:
        return self._fg_function(*inputs, **named, **{name: getattr(self, name) for name in self._fg_names})

    def extra_repr(self) -> str:
        """The arguments that ``repr`` shows."""
        shown = self._fg_shown.format(**self.__dict__)
        if self.__dict__.get("inplace") and "inplace" not in shown:
            shown += ", inplace=True" if shown else "inplace=True"
        return shown
