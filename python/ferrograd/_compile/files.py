"""What a file keeps of a compiled function besides its program: the arguments that it takes, and its result."""

from __future__ import annotations

import collections
import contextlib
import errno
import json
import os
from collections.abc import Callable
from typing import Any

from ferrograd._core import ArgumentError, ProgramFileError, Tensor


def described(tree: Any, leaf: Callable[[Any], Any], what: str) -> Any:
    """A structure as JSON has it: pairs of a word and what belongs to it.

    Args:
        tree: the structure.
        leaf: gives the description of a leaf, and None for anything else.
        what: what the structure is, for errors.

    Raises:
        ArgumentError: something in it is no tensor, number, string or None, and no list, tuple or dict.
    """
    kind = tree.__class__
    if (known := leaf(tree)) is not None:
        return known
    if tree is None or kind in (bool, int, str):
        return ["value", tree]
    if kind is float:
        return ["float", tree.hex()]
    if kind in (list, tuple):
        return [kind.__name__, [described(x, leaf, what) for x in tree]]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return ["named", [kind.__name__, list(tree._fields), [described(x, leaf, what) for x in tree]]]
    if kind is dict and all(key.__class__ in (str, int) for key in tree):
        return ["dict", [[key, described(x, leaf, what)] for key, x in tree.items()]]
    raise ArgumentError(
        f"save: {what} is or contains a {kind.__name__}; a file holds tensors, numbers and strings, and lists, tuples "
        "and dicts of them"
    )


def numbered(tensors: list[Tensor]) -> Callable[[Any], Any]:
    """Describes tensors by their place in a list, to which new ones are added."""

    def leaf(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return None
        place = next((i for i, known in enumerate(tensors) if known is x), len(tensors))
        if place == len(tensors):
            tensors.append(x)
        return ["tensor", place]

    return leaf


def restored(description: Any, leaf: Callable[[Any], Any], tensor: Callable[[Any], Any]) -> Any:
    """The structure that a description stands for. Its leaves are what ``leaf`` makes of a value, and ``tensor`` of the
    place of a tensor.

    Raises:
        ProgramFileError: there is no such structure.
    """
    kind, what = description if isinstance(description, list) and len(description) == 2 else (None, None)
    if kind == "tensor" and type(what) is int and what >= 0:
        return tensor(what)
    if kind == "value" and (what is None or isinstance(what, (bool, int, str))):
        return None if what is None else leaf(what)
    if kind == "float" and isinstance(what, str):
        try:
            return leaf(float.fromhex(what))
        except (ValueError, OverflowError):
            pass
    if kind in ("list", "tuple") and isinstance(what, list):
        return (list if kind == "list" else tuple)(restored(x, leaf, tensor) for x in what)
    if kind == "named" and isinstance(what, list) and len(what) == 3:
        with contextlib.suppress(ValueError, TypeError):
            name, fields, parts = what
            return collections.namedtuple(name, fields)(*(restored(x, leaf, tensor) for x in parts))
    if kind == "dict" and isinstance(what, list):
        parts = [x for x in what if isinstance(x, list) and len(x) == 2 and type(x[0]) in (str, int)]
        if len(parts) == len(what) and len({name for name, _ in parts}) == len(parts):
            return {name: restored(x, leaf, tensor) for name, x in parts}
    raise ProgramFileError("load_compiled: the file does not say what the function takes or returns")


def tensors_of(description: Any, pattern: Any, value: Any, found: dict[int, Tensor], path: str) -> None:
    """Finds the tensors of an argument, which has to be like the one that the program was made with.

    Raises:
        ArgumentError: it is not.
    """
    kind, what = description
    if kind == "tensor":
        if not isinstance(value, Tensor):
            raise ArgumentError(f"{path} is a tensor, not a {type(value).__name__}")
        if found.setdefault(what, value) is not value:
            raise ArgumentError(f"{path} is a tensor that was given in two places, where two tensors are now")
    elif kind == "named":
        if getattr(value, "_fields", None) != pattern._fields:
            raise ArgumentError(f"{path} has the fields {pattern._fields}, which {_short(value)} has not")
        for name, part in zip(pattern._fields, what[2], strict=True):
            tensors_of(part, getattr(pattern, name), getattr(value, name), found, f"{path}.{name}")
    elif kind in ("list", "tuple", "dict"):
        if type(value).__name__ != kind or type(value) is not type(pattern) or len(value) != len(what):
            raise ArgumentError(f"{path} is a {kind} of {len(what)}, not {_short(value)}")
        for i, part in enumerate(what):
            if kind != "dict":
                tensors_of(part, pattern[i], value[i], found, f"{path}[{i}]")
            elif part[0] in value:
                tensors_of(part[1], pattern[part[0]], value[part[0]], found, f"{path}[{part[0]!r}]")
            else:
                raise ArgumentError(f"{path} has no {part[0]!r}")
    elif type(value) is not type(pattern) or (
        value.hex() != pattern.hex() if isinstance(value, float) else value != pattern
    ):
        raise ArgumentError(f"{path} is {pattern!r} in the program of this file, not {_short(value)}")


def _short(value: Any) -> str:
    return repr(value) if isinstance(value, (bool, int, float, str, type(None))) else f"a {type(value).__name__}"


def text_of(about: dict[str, Any]) -> str:
    """The text of a file from descriptions."""
    return json.dumps(about)


def parsed(text: str) -> dict[str, Any]:
    """The descriptions in the text of a file.

    Raises:
        ProgramFileError: the text is none that ``save`` writes.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.keys() != {"name", "arguments", "keywords", "result"}:
        raise ProgramFileError("load_compiled: the file does not say what the function takes or returns")
    if not isinstance(found["name"], str):
        raise ProgramFileError("load_compiled: the file does not name the function")
    return found


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file, which takes the place of an older one when all of it is on the disk.

    Links are followed. What is no regular file, such as a pipe, is written to.
    """
    import pathlib
    import secrets

    target = pathlib.Path(os.path.realpath(path))
    if not os.fspath(path) or not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(target.parent, os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
