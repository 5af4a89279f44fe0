"""Functions whose programs come from files."""

from __future__ import annotations

import os
import weakref
from typing import Any

from ferrograd import _core
from ferrograd._compile.files import parsed, restored, tensors_of
from ferrograd._compile.program import HOLE, Program, with_tensors
from ferrograd._core import ArgumentError, ProgramFileError, Tensor

__all__ = ["LoadedFunction", "load_compiled"]


class LoadedFunction(_core.CompiledCalls):
    """A compiled function without its Python source: see :func:`load_compiled`."""

    def __init__(self, data: bytes) -> None:
        core, results, leaves, tracked, state, text = _core.load_program(data)
        self._data = data
        #: The tensors that the function kept or wrote to.
        self._state: list[Tensor] = state
        self._core = core
        about = parsed(text)
        self.__name__ = about["name"]
        self._arguments, self._keywords = about["arguments"], about["keywords"]
        places: set[int] = set()

        def place(i: int) -> int:
            places.add(i)
            return i

        count = 0

        def hole(_: int) -> Any:
            nonlocal count
            count += 1
            return HOLE

        self._args = restored(self._arguments, lambda x: x, place)
        self._kwargs = restored(self._keywords, lambda x: x, place)
        result = restored(about["result"], lambda x: x, hole)
        if type(self._args) is not tuple or type(self._kwargs) is not dict or count != results:
            raise ProgramFileError("load_compiled: the file does not say what the function takes or returns")
        if places != set(range(len(core.parameters()))):
            raise ProgramFileError("load_compiled: the file has other arguments than its program")
        kept = [x if isinstance(x, int) else weakref.ref(x) for x in leaves]
        self._program = Program(core, result, None, kept, tracked)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        args, kwargs = with_tensors(args), with_tensors(kwargs)
        found: dict[int, Tensor] = {}
        if len(args) != len(self._args):
            raise ArgumentError(
                f"{self.__name__}: {len(self._args)} arguments without names are wanted, not {len(args)}"
            )
        tensors_of(self._arguments, self._args, args, found, f"{self.__name__}: args")
        tensors_of(self._keywords, self._kwargs, kwargs, found, f"{self.__name__}: kwargs")
        tensors = [found[i] for i in range(len(found))]
        called = self._program.call(_differentiated_twice, tensors)
        if called is None:
            raise ArgumentError(f"{self.__name__}: {self._reason(tensors)}")
        self._expect(args, kwargs)
        return called[0]

    def _expect(self, args: Any, kwargs: Any) -> None:
        """Lets later calls like this one run without Python."""
        numbers: dict[int, int] = {}
        arguments = [_pattern(x, numbers) for x in args]
        keywords = _pattern(kwargs, numbers) if kwargs else None
        program = self._program
        if program.shape is not None and not program.tracked:
            self._remember(program.core, arguments, keywords, [], program.shape)
        else:

            def run(tensors: list[Tensor], *_: Any) -> Any:
                return program.call(_differentiated_twice, tensors)

            self._remember(run, arguments, keywords, [], None)

    def _reason(self, tensors: list[Tensor]) -> str:
        """Why the program is not for these tensors."""
        parameters = zip(tensors, _core.dtype_names(tensors), self._core.parameters(), strict=True)
        for i, (x, given, (dtype, shape, differentiates, writes)) in enumerate(parameters):
            name = f"tensor {i} of the arguments"
            if given != dtype or list(x.shape) != shape:
                return (
                    f"{name} is of dtype {given} and shape {tuple(x.shape)}, where the program takes dtype {dtype} and "
                    f"shape {tuple(shape)}"
                )
            if x.requires_grad and not differentiates and _core.is_grad_enabled():
                return (
                    f"{name} requires grad, and the program has no gradient by it: save a function that was called "
                    "with such a tensor, or one that computes the gradient, or call this one under no_grad()"
                )
            if writes:
                return (
                    f"{name} is written to, so it has to be a tensor of its own, laid out as {tuple(shape)} in C order"
                )
        if self._program.shapes_depend_on_numbers:
            return "what is computed depends on numbers, and the file has the program for others"
        return "a program from a file runs outside of vmap, and on tensors that share no memory with those it writes to"

    def __reduce__(self) -> Any:
        return LoadedFunction, (self._data,)

    def __repr__(self) -> str:
        return f"<{self.__name__} from a file>"


def _pattern(value: Any, numbers: dict[int, int]) -> tuple[str, Any]:
    """What the core compares an argument with. Tensors are told apart by ``numbers``, which new ones are added to."""
    kind = value.__class__
    if isinstance(value, Tensor):
        return "tensor", (kind, numbers.setdefault(id(value), len(numbers)))
    if kind is dict:
        return "dict", (kind, [(name, _pattern(x, numbers)) for name, x in value.items()])
    if isinstance(value, (list, tuple)):
        return "sequence", (kind, [_pattern(x, numbers) for x in value])
    return ("equal" if kind in (int, float, str) else "same"), value


def _differentiated_twice() -> Any:
    raise RuntimeError(
        "the gradient of a function from a file cannot itself be differentiated: compile and save the function that "
        "computes the gradient"
    )


def load_compiled(path: str | os.PathLike[str]) -> LoadedFunction:
    """The function that ``save`` of a compiled function wrote.

    It takes arguments like those that it was saved with: the same structure, shapes and dtypes, and the same values of
    what is no tensor. It computes the same bits without the Python code it was made of. Tensors that the function found
    outside of its arguments, such as parameters, have the values that they had when it was saved; those that it wrote
    to are a state of the loaded function, which its calls go on with. Random numbers are drawn from the state of this
    process.

    No code is in the file. A file from a stranger can do no more than compute, for as long and with as much memory as
    the program says.

    Args:
        path: the file.

    Raises:
        ProgramFileError: the file is damaged, no file of a program, or one of another version.
        OSError: the file cannot be read.

    >>> import os, tempfile
    >>> import ferrograd as fg
    >>> f = fg.compile(lambda x: fg.sin(x) * 2.0)
    >>> f(fg.tensor([0.0, 1.0])).shape
    (2,)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "sines")
    ...     f.save(path)
    ...     g = fg.load_compiled(path)
    >>> x = fg.tensor([0.5, 0.25])
    >>> bool((g(x) == f(x)).all())
    True
    """
    with open(os.fspath(path), "rb") as file:
        return LoadedFunction(file.read())
