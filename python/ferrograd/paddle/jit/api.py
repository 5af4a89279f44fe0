"""``paddle.jit.api``: functions and layers that are traced once, and how they are kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

from ferrograd._compile import CompileError, load_compiled
from ferrograd._core import ArgumentError, Tensor, paddle as ops
from ferrograd._kit import public as _public
from ferrograd.paddle.base.compiler import BuildStrategy
from ferrograd.paddle.jit.dy2static.program_translator import ProgramTranslator, StaticFunction
from ferrograd.paddle.jit.translated_layer import INFER_MODEL_SUFFIX, SUFFIX, TranslatedLayer
from ferrograd.paddle.nn.layer.layers import Layer
from ferrograd.paddle.static.input import InputSpec
from ferrograd.paddle.utils import flatten, map_structure, pack_sequence_as

__all__ = ["ProgramTranslator", "enable_to_static", "ignore_module", "load", "not_to_static", "save", "to_static"]

T = TypeVar("T")


def to_static(
    function: Any = None,
    input_spec: Any = None,
    build_strategy: Any = None,
    backend: Any = None,
    *,
    full_graph: bool = False,
    **kwargs: Any,
) -> Any:
    """The function, traced at its first call and run without Python afterwards: see :func:`ferrograd.compile`.

    Of a layer the ``forward`` is compiled, and the layer is returned. Without a function, a decorator.

    A function that cannot be traced, as one that asks for numbers, runs as it is, and a warning says so once. The
    options change no result: each kind of arguments has its own trace, and with ``full_graph`` each shape too.
    ``input_spec`` says what :func:`save` writes a program for.

    Raises:
        TypeError: ``build_strategy`` is no ``BuildStrategy``.

    >>> import ferrograd.paddle as paddle
    >>> f = paddle.jit.to_static(lambda x: x * 2)
    >>> f(paddle.ones([1])).item()
    2.0
    """
    if not isinstance(build_strategy, BuildStrategy | None):
        raise TypeError(f"to_static: build_strategy is a BuildStrategy, not {type(build_strategy).__name__}")
    if function is None:
        return lambda function: to_static(function, input_spec, full_graph=full_graph)
    if getattr(function, "_not_to_static", False) or isinstance(function, StaticFunction):
        return function
    if isinstance(function, Layer):
        object.__setattr__(function, "forward", to_static(function.forward, input_spec, full_graph=full_graph))
        return function
    made = StaticFunction(function, fullgraph=full_graph)
    made.input_spec = input_spec
    return made


def not_to_static(func: T | None = None) -> Any:
    """Marks a function that :func:`to_static` leaves as it is."""
    if func is None:
        return not_to_static
    if not callable(func):
        raise TypeError(f"not_to_static: a function is wanted, not {type(func).__name__}")
    func._not_to_static = True  # type: ignore[attr-defined]
    return func


def ignore_module(modules: list[Any]) -> None:
    """Does nothing: functions of every module are traced."""


def enable_to_static(enable_to_static_bool: bool) -> None:
    """Sets whether the functions of :func:`to_static` are compiled from now on, or run as they are."""
    if not isinstance(enable_to_static_bool, bool):
        raise TypeError(f"enable_to_static_bool is True or False, not {enable_to_static_bool!r:.60}")
    ProgramTranslator().enable(enable_to_static_bool)


def save(layer: Any, path: str, input_spec: Sequence[Any] | None = None, **configs: Any) -> None:
    """Writes what a layer computes to the file ``path + ".fgp"``. :func:`load` makes a layer of it without the source.

    It is what the ``forward`` of a layer, or a compiled function, computes in evaluation mode, with the parameters as
    they are now: ``ferrograd.compile(function).save``. A program is for tensors of one dtype and shape each.

    Args:
        layer: a layer, or a function of :func:`to_static`.
        path: the name of the file without its ending.
        input_spec: for each argument a tensor, an ``InputSpec``, or a value that is no tensor and stays the same; lists
            and dicts of them too. Without it they are those that :func:`to_static` was given. Sizes that are unknown,
            and arguments that nothing says anything of, are those of the last call of a compiled function.

    Raises:
        ArgumentError: a size is unknown, a file cannot hold the program, or an option is given that is not here.
        CompileError: nothing says what the arguments are like, or the function cannot be traced.

    >>> import os, tempfile
    >>> import ferrograd.paddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paddle.jit.save(net, os.path.join(folder, "net"), [paddle.static.InputSpec([3, 2])])
    ...     loaded = paddle.jit.load(os.path.join(folder, "net"))
    >>> x = paddle.ones([3, 2])
    >>> paddle.equal_all(loaded(x), net(x)).item()
    True
    """
    if configs:
        raise ArgumentError(f"save: the options are layer, path and input_spec, not {', '.join(configs)}")
    function = layer.forward if isinstance(layer, Layer) else layer
    compiled = function if isinstance(function, StaticFunction) else None
    function = function if compiled is None else compiled.dygraph_function
    owner = layer if isinstance(layer, Layer) else getattr(function, "__self__", None)
    if input_spec is None and compiled is not None:
        input_spec = compiled.input_spec or compiled.last_arguments()
    if input_spec is None:
        raise CompileError("save: give input_spec, which says what the arguments are like")
    specs = flatten(list(input_spec))
    is_open = any(isinstance(spec, InputSpec) and -1 in spec.shape for spec in specs)
    seen = flatten(compiled.last_arguments()) if is_open and compiled is not None and compiled.was_called() else []
    leaves = [_example(spec, seen[i] if len(seen) == len(specs) else None) for i, spec in enumerate(specs)]

    def program(*tensors: Any) -> Any:
        """What is saved takes the tensors of all arguments, in order."""
        given = iter(tensors)
        whole = [next(given) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        made = function(*pack_sequence_as(list(input_spec), whole))
        return map_structure(lambda x: x.detach() if isinstance(x, Tensor) and not x.stop_gradient else x, made)

    program.__name__ = getattr(function, "__name__", "program")
    modes = [(each, each.training) for each in owner.sublayers(True)] if isinstance(owner, Layer) else []
    for each, _ in modes:
        each.training = False
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    try:
        StaticFunction(program).save(f"{path}{SUFFIX}", *(leaf for leaf in leaves if isinstance(leaf, Tensor)))
    finally:
        for each, training in modes:
            each.training = training


def _example(spec: Any, seen: Any) -> Any:
    """A tensor such as a specification says, with the unknown sizes of one that was seen; or a value as it is."""
    if not isinstance(spec, InputSpec):
        return spec.detach() if isinstance(spec, Tensor) else spec
    if isinstance(seen, Tensor) and len(seen.shape) == len(spec.shape):
        sizes = [n if size == -1 else size for n, size in zip(seen.shape, spec.shape, strict=True)]
        return ops.zeros(sizes, spec.dtype)
    if -1 in spec.shape:
        raise ArgumentError(
            f"save: {spec} has sizes that are not known, and a program is for tensors of one shape: give them, such as "
            "the number of examples of a batch, or call the compiled layer first"
        )
    return ops.zeros(list(spec.shape), spec.dtype)


def load(path: str, **configs: Any) -> TranslatedLayer:
    """The layer that :func:`save` wrote: it computes the same bits, and has no parameters of its own.

    Raises:
        ArgumentError: there is no such file, but one that Paddle wrote.
        OSError: there is no file.
        ProgramFileError: the file is damaged.
    """
    theirs = [end for end in (".json", INFER_MODEL_SUFFIX) if os.path.exists(f"{path}{end}")]
    if theirs and not os.path.exists(f"{path}{SUFFIX}"):
        raise ArgumentError(
            f"load: {path}{theirs[0]} is a program of Paddle's, which is not read here: keep the numbers with "
            "paddle.save(layer.state_dict(), file) there, and give them to the layer here"
        )
    return TranslatedLayer(load_compiled(f"{path}{SUFFIX}"))


__dir__ = _public.names(globals())
