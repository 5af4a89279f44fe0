"""What libraries use of the functions that print tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ferrograd._kit import public as _public
from ferrograd._tensor.repr import TORCH_OPTIONS as PRINT_OPTS
from ferrograd.torch._tensor import Tensor

__all__ = ["PRINT_OPTS"]


def _tensor_str(self: Tensor, indent: int = 0) -> str:
    """The elements of a tensor as text, whose lines after the first begin with blanks."""
    text = repr(self.detach())[len("tensor(") : -1]
    elements = text[: text.rfind("]") + 1] or text.partition(",")[0]
    return elements.replace("\n" + " " * len("tensor("), "\n" + " " * indent)


def _add_suffixes(tensor_str: str, suffixes: Sequence[str], indent: int, force_newline: bool) -> str:
    """A text and what follows it in brackets, on further lines where one is full."""
    lines, width = [tensor_str], len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        is_new = force_newline or width + len(suffix) + 2 > PRINT_OPTS.linewidth
        width, force_newline = (indent if is_new else width + 2) + len(suffix), False
        lines.append((",\n" + " " * indent if is_new else ", ") + suffix)
    return "".join(lines) + ")"


def _str_intern(inp: Any, *, tensor_contents: str | None = None) -> str:
    """How a tensor is shown, with other text in the place of its elements."""
    own = repr(inp.detach()) if tensor_contents is None else f"tensor({tensor_contents})"
    return own


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """A context in which ``torch.set_printoptions`` has other values."""
    before = dict(vars(PRINT_OPTS))
    import_module("ferrograd.torch").set_printoptions(**options)
    try:
        yield
    finally:
        vars(PRINT_OPTS).update(before)


__dir__ = _public.names(globals())
