"""The examples of all public names with huge integers, with giants of one element, and with giants of none.

``python -m tests.reliability.giants BLACKBOX SEED SECONDS`` runs changed examples for a time. It prints one line of
JSON for every one that neither ran nor raised an exception that a caller can expect, and at the end one with their
number. The file BLACKBOX holds the running example.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import doctest
import importlib
import inspect
import io
import json
import math
import os
import random
import re
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
from ferrograd import _core

from tests.reliability import limit
from tests.reliability.bad_calls import modules
from tests.waiting import LONG

PAGE = Path(__file__).parents[2] / "docs" / "sitegen" / "examples.md"
MEMORY = 4 << 30
#: An example that takes longer is interrupted, as Ctrl-C would.
SECONDS = 1.5
HUGE = [2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, 10**30]
#: Examples with these words use files and processes, change the program, or draw with a library that sanitizers end.
LEFT_OUT = re.compile(
    r"tempfile|open\(|save|spawn|Process|distributed|install_as|set_num_threads|Loader\(|benchmark|matplotlib"
)
CREATION = re.compile(r"(tensor|ones|zeros|arange|rand\w*|eye|linspace|full)$")
#: NumPy makes lists and arrays of all elements, and hears no interrupt.
OF_NUMPY = ("tolist", "numpy")


def examples() -> Iterator[tuple[str, ast.Module]]:
    """The examples by the names that they show."""
    texts: dict[str, str] = {}
    for part in PAGE.read_text().split("\n## ")[1:]:
        name, _, rest = part.partition("\n")
        texts["\n".join(re.findall(r"```python\n(.*?)```", rest, re.DOTALL))] = name
    for module in modules():
        place = importlib.import_module(module)
        for name in getattr(place, "__all__", []):
            if callable(value := getattr(place, name)):
                texts.setdefault(inspect.getdoc(value) or "", f"{module}.{name}")
    for text, name in texts.items():
        code = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
        if code and not LEFT_OUT.search(code):
            yield name, ast.parse(code)


def giant(x: Any, how: int) -> Any:
    """A broadcast of the first element to a giant of as many axes, or to one without elements."""
    if not isinstance(x, fg.Tensor):
        return x
    first = fg.reshape(x.detach(), (-1,))[:1] if x.numel() else fg.zeros((1,), dtype=x.dtype)
    n, shape = x.ndim, tuple(int(d) for d in x.shape)
    if n == 0:
        sizes: tuple[int, ...] = ((2**40,), (0,), (2**40, 0))[how % 3]
    elif n == 1:
        sizes = ((2**40,), (2**62,), (2**33,), (0,))[how % 4]
    else:
        sizes = (
            (2**40, *shape[1:]),
            (*shape[:-1], 2**40),
            (*shape[:-1], 2**31),
            (2 ** (40 // n),) * n,
            (*shape[:-2], 2**40, 0),
            (*shape[:-2], 0, 2**40),
            (2**62, *shape[1:-1], 0),
            (0, *shape[1:-1], 2**62),
        )[how % 8]
    return fg.broadcast_to(fg.reshape(first, (1,) * len(sizes)), sizes)


class Giants(ast.NodeTransformer):
    """Wraps created tensors in giants: one of them, or all."""

    def __init__(self, chosen: ast.AST | None, how: int) -> None:
        self.chosen, self.how = chosen, how

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_giant = node is self.chosen or (self.chosen is None and bool(CREATION.search(ast.unparse(node.func))))
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in OF_NUMPY:
            return node.func.value
        return ast.Call(ast.Name("giant", ast.Load()), [node, ast.Constant(self.how)], []) if is_giant else node


def changed(tree: ast.Module, rng: random.Random) -> ast.Module:
    tree = copy.deepcopy(tree)
    nodes = list(ast.walk(tree))
    numbers = [n for n in nodes if isinstance(n, ast.Constant) and type(n.value) is int]
    if numbers and rng.random() < 0.5:
        rng.choice(numbers).value = rng.choice(HUGE)
        return tree
    made = [n for n in nodes if isinstance(n, ast.Call) and CREATION.search(ast.unparse(n.func))]
    tree = Giants(rng.choice([None, *made]), rng.randrange(24)).visit(tree)
    return ast.fix_missing_locations(tree)


def run(tree: ast.Module) -> str | None:
    """What is wrong with how the example ran, if anything."""
    scope = {"fg": fg, "ferrograd": fg, "torch": torch, "paddle": paddle, "np": np, "math": math, "giant": giant}
    # A process that does not hear the first signal dies of the second clock.
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    signal.setitimer(signal.ITIMER_PROF, LONG)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(tree, "example", "exec"), scope)
    except (SystemError, _core.InternalError) as e:
        # An error of a graph that was freed is a SystemError too, as in Paddle.
        if isinstance(e, _core.InternalError) or not isinstance(e, _core.FerrogradError):
            return f"{type(e).__name__}: {e}"
    except (Exception, KeyboardInterrupt):
        pass
    except BaseException as e:
        return f"{type(e).__name__}: {e}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _core.set_grad_mode(True)
        _core.set_inference_mode(False)
        for library in (fg, torch, paddle):
            library.set_default_dtype("float32")
    return None


def main() -> None:
    """Runs changed examples for the time that the command line asks for."""
    limit.memory(MEMORY)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    box = os.open(Path(sys.argv[1]), os.O_RDWR | os.O_CREAT)
    rng, known = random.Random(int(sys.argv[2])), list(examples())
    end, count = time.monotonic() + float(sys.argv[3]), 0
    while time.monotonic() < end:
        name, tree = rng.choice(known)
        tree = changed(tree, rng)
        count += 1
        text = f"{name}: {ast.unparse(tree)}"
        os.pwrite(box, text.encode("utf8", "replace").ljust(4000)[:4000], 0)
        if what := run(tree):
            print(json.dumps({"call": text, "what": what}), flush=True)
    print(json.dumps({"target": "giants", "inputs": count}), flush=True)


if __name__ == "__main__":
    main()
