"""``paddle.jit.dy2static.program_translator``: the compiled functions, and the switch that leaves them as they are."""

from __future__ import annotations

import weakref
from typing import Any

from ferrograd._compile import CompiledFunction
from ferrograd._core import paddle as ops
from ferrograd.paddle._base import no_static as _no_static

__all__ = ["ProgramTranslator", "StaticFunction"]

_ALL: weakref.WeakSet[Any] = weakref.WeakSet()


class ProgramTranslator:
    """The switch that all compiled functions obey."""

    enable_to_static = True

    @classmethod
    def get_instance(cls) -> ProgramTranslator:
        """The switch."""
        return cls()

    def enable(self, enable_to_static: bool) -> None:
        """Sets whether compiled functions run their programs from now on, or run as they are."""
        type(self).enable_to_static = enable_to_static
        # The core knows the last calls of each function, and runs a program for these without asking.
        for function in list(_ALL):
            function._forget()


class StaticFunction(CompiledFunction[Any, Any]):
    """A function that :func:`paddle.jit.to_static` compiles: a :class:`ferrograd.CompiledFunction`.

    One that cannot be traced runs as it is, and a warning says why, also with ``full_graph``: there Paddle makes its
    branches and loops parts of the program.
    """

    #: What the arguments of a saved program are like, if :func:`paddle.jit.to_static` was told.
    input_spec: Any = None

    def __init__(self, function: Any, *options: Any, **named: Any) -> None:
        super().__init__(function, *options, **named)
        _ALL.add(self)

    @property
    def dygraph_function(self) -> Any:
        """The function as it is."""
        return self._function

    def was_called(self) -> bool:
        """Whether there is a program of some call."""
        return any(self._programs.values())

    def last_arguments(self) -> list[Any]:
        """Arguments like those of the program that was traced last, with zeros for their numbers.

        Raises:
            CompileError: there is no program yet, or the arguments had names.
        """
        return self._last("save").arguments(ops.zeros)

    def rollback(self) -> Any:
        """The function as it is; a layer whose ``forward`` this was has it again."""
        layer = getattr(self._function, "__self__", None)
        if layer is not None:
            vars(layer).pop("forward", None)
        return self._function

    def train(self) -> None:
        """Puts the layer whose ``forward`` this is into training mode."""
        self._set_mode(True)

    def eval(self) -> None:
        """Puts the layer whose ``forward`` this is into evaluation mode."""
        self._set_mode(False)

    def _set_mode(self, training: bool) -> None:
        layer = getattr(self._function, "__self__", None)
        if layer is not None:
            layer.train() if training else layer.eval()

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if not ProgramTranslator.enable_to_static:
            return self._function(*args, **kwargs)
        return super()._call(*args, **kwargs)

    def _refuse(self, reason: str) -> None:
        self._warn(self._name, reason)

    def __reduce__(self) -> Any:
        return StaticFunction, super().__reduce__()[1]


__getattr__, __dir__ = _no_static.module_names(__name__)
