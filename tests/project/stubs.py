"""Writes the stubs of the extension module from its registry and signatures: ``python -m tests.project.stubs``.

Parameters and their types come from the registry; the type of a result is found by calling the function with its rows
of the table of cases.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import ferrograd.paddle
import ferrograd.torch
from ferrograd import _core

from tests import check
from tests.cases import Case, all_cases

FOLDER = Path(__file__).parents[2] / "python/ferrograd/_core"
RULES = Path(__file__).parents[2] / "src/bind/call/parameters.rs"
HEAD = '"""{}\n\nWritten by tests/project/stubs.py."""\n\n'

Param = tuple[str, str, bool, str | None]
Params = list[Param]
#: Parameters by which the number of results depends.
PARTS = {"sections", "chunks", "length", "sizes"}
Entry = tuple[list[str], Params, bool]

#: The type of a parameter, by its kind in the registry.
KINDS = {
    "Tensor": "_Array",
    "Operand": "_Operand",
    "Tensors": "Sequence[_Array]",
    "Rest": "_Array | Sequence[_Array]",
    "Bool": "bool",
    "Int": "_Int",
    "Float": "_Number",
    "Number": "_Number",
    "Ints": "_Ints",
    "Count": "_Ints",
    "Widths": "_Ints | Sequence[_Ints]",
    "Str": "str",
    "DType": "DTypeLike",
    "Order": "_Number | str",
    "Index": "Any",
    "Object": "object",
}
#: The same where the result is of the class of the argument, so of its dialect.
SAME = {
    "Tensor": "_T | _ND",
    "Operand": "_T | _O",
    "Tensors": "Sequence[_T | _ND]",
    "Rest": "_T | _ND | Sequence[_T | _ND]",
}
#: The names of other libraries for a parameter. A tensor is given by its place, so its names are not in the stubs.
SYNONYMS: dict[str, list[str]] = {}
for _own, _other in re.findall(r'^    \("(\w+)", "(\w+)"\),', RULES.read_text("utf8"), re.MULTILINE):
    SYNONYMS.setdefault(_own, []).extend([_other] * (_own not in ("x", "y", "tensors")))
#: The class of shapes of a dialect's class of tensors, where it is not that of all tensors.
SHAPES = {"PaddleTensor": "PaddleSize: ...", "TorchTensor": "TorchSize: ..."}
#: Attributes and methods of the classes whose types the signature does not show.
KNOWN = {
    "shape": "Size",
    "dtype": "np.dtype[Any]",
    "ndim": "int",
    "size": "Any",
    "grad": "Any",
    "stop_gradient": "bool",
    "requires_grad": "bool",
    "is_leaf": "bool",
    "numpy": "np.ndarray[Any, Any]",
    "dim": "int",
    "itemsize": "int",
    "element_size": "int",
    "nbytes": "int",
    "enter": "Tensor",
    "leave": "Tensor",
    "has": "bool",
    "strides": "Sequence[int]",
    "is_contiguous": "bool",
    "is_inference": "bool",
    "contiguous": "Self",
    "cpu": "Self",
    "to": "Self",
    "to_device": "Self",
    "__copy__": "Self",
    "__repr__": "str",
    "__format__": "str",
    "__complex__": "complex",
    "__array__": "np.ndarray[Any, Any]",
    "__len__": "int",
    "__float__": "float",
    "__int__": "int",
    "__bool__": "bool",
    "__index__": "int",
    "__hash__": "int",
    "__iter__": "Iterator[Self]",
    "__getitem__": "Self",
    "__eq__": "Self",
    "__ne__": "Self",
    "__setitem__": "None",
    "__delitem__": "None",
    "detach": "Self",
    "detach_": "Self",
    "requires_grad_": "Self",
    "fill_": "Self",
    "copy_": "Self",
    "zero_": "Self",
    "backward": "None",
    "T": "Self",
    "mT": "Self",
    "grad_fn": "Node | None",
    "output_nr": "int",
    "retain_grad": "None",
    "retain_grads": "None",
    "retains_grad": "bool",
    "register_hook": "RemovableHandle",
    "register_prehook": "RemovableHandle",
    "register_post_accumulate_grad_hook": "RemovableHandle",
    "_register_backward_hook": "RemovableHandle",
}
#: The same for classes other than the tensor class.
OTHERS = {
    "__getitem__": "Any",
    "__iter__": "Iterator[Any]",
    "__eq__": "bool",
    "__ne__": "bool",
    "__enter__": "Any",
    "__exit__": "None",
    "node": "Node",
    "ownership_token": "None",
    "name": "str",
    "next_functions": "Any",
    "metadata": "dict[Any, Any]",
    "variable": "Tensor | None",
    "site": "str | None",
    "remove": "bool | None",
    "id": "int | None",
}
#: Comparisons that CPython lists for every class with `==`.
ORDER = {"__lt__", "__le__", "__gt__", "__ge__"}
#: The flag of a type that can be subclassed (``Py_TPFLAGS_BASETYPE``).
SUBCLASSABLE = 1 << 10
#: Methods of ``object`` whose override with another signature mypy reports.
WIDENED = {"__eq__", "__ne__"}
OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift lt le gt ge neg pos abs invert"
ARITHMETIC = {f"__{p}{n}__" for n in OPERATORS.split(" ") for p in ("", "r", "i")}
#: A dialect's tensors take the arguments of its library; ``==`` of tensors is a tensor.
OVERRIDE = '# mypy: disable-error-code="override"\n\n'
#: The return types of the module's own functions.
FUNCTIONS = {
    "from_dlpack": "Any",
    "make": "Any",
    "grad": "list[Any]",
    "backward": "None",
    "gradient_edge": "GradientEdge",
    "register_multi_grad_hook": "RemovableHandle",
    "is_grad_enabled": "bool",
    "is_inference_mode_enabled": "bool",
    "set_inference_mode": "bool",
    "watching": "bool",
    "set_grad_mode": "bool",
    "live_nodes": "int",
    "fresh": "Any",
    "reaches_other_leaves": "bool",
    "push": "list[Tensor | None]",
    "num_threads": "int",
    "vectors": "str",
    "registry": "list[tuple[list[str], list[tuple[str, str, bool, str | None]], bool]]",
}


def default(value: str) -> str:
    """A default of the registry (``Int(3)``, ``None``) as Python writes it."""
    inner = value[value.find("(") + 1 : -1] if "(" in value else value
    return inner.replace("inf", "...")


def parameter(param: Param, kinds: dict[str, str]) -> str:
    name, kind, optional, given = param
    star = "*" if kind == "Rest" else ""
    text = f"{star}{name}: {kinds.get(kind, KINDS.get(kind, 'Any'))}" + (" | None" if optional else "")
    return text if given is None else f"{text} = {default(given)}"


def parameters(params: Params, method: bool, generic: bool) -> str:
    """The parameters of a function, or of a method, with their names in other libraries.

    A parameter that has several names is optional, and so are those behind it. A shape may be given number by number.
    """
    names = {name for name, _, _, _ in params}
    lead = next((kind for _, kind, _, _ in params if kind in SAME), "")
    text, only = ["self"] * method, []
    open_, met = False, False
    for i, param in enumerate(params):
        name, kind, optional, given = param
        if method and i == 0:
            continue
        same = generic and not optional and kind in SAME and (not met or kind == lead == "Operand")
        met |= kind in SAME
        others = [
            n
            for n in SYNONYMS.get(name, [])
            if n not in names and (n != "dims" or (kind == "Ints" and "keepdims" not in names))
        ]
        only += [f"{n}: {KINDS.get(kind, 'Any')} = ..." for n in others]
        open_ |= bool(others)
        text.append(parameter(param, SAME if same else {}) + " = ..." * (open_ and given is None))
        rest = [kind for _, kind, _, _ in params[i + 1 :]]
        if kind == "Ints" and i == method and (not rest or (name == "shape" and rest[0] in ("Bool", "DType"))):
            text.append("*more: " + ("_Int | DTypeLike | None" if "DType" in rest else "_Int"))
    star = ["*"] * (bool(only) and not any(t.startswith("*") for t in text))
    return ", ".join([*text, *star, *only])


def seen(result: Any) -> str:
    """The type of a result."""
    if isinstance(result, list):
        return "list[Tensor]"
    if isinstance(result, tuple):
        return f"tuple[{', '.join(map(seen, result))}]" if len(result) < 5 else "tuple[Tensor, ...]"
    name = type(result).__name__
    return "None" if result is None else name if name in ("Tensor", "bool", "int", "float", "str") else "Any"


def returned(names: list[str], params: Params, rows: list[Case]) -> str:
    """The result types of a function for its rows."""
    kinds = set()
    for row in rows:
        if row.op in names:
            try:
                kinds.add(seen(check.function(row.op)(*row.lead, *row.prepare(*check.tensors(row)), **row.kw)))
            except Exception:
                kinds.add("")
    kinds = (kinds - {""}) or {"Any"}
    many = any(p[0] in PARTS or p[1] == "Tensors" for p in params) or "unbind" in names
    if many and all(kind.startswith("tuple") for kind in kinds):
        return "tuple[Tensor, ...]"
    return " | ".join(sorted(kinds))


def indented(text: str, by: str) -> str:
    return "\n".join(by + line if line else "" for line in text.splitlines())


def takes_tensors(params: Params) -> bool:
    """Whether the class of the result is that of an argument."""
    kinds = {name: kind for name, kind, optional, _ in params if not optional or name == "shape"}
    return (
        bool(kinds.keys() - {"shape"})
        and any(k in SAME for k in kinds.values())
        and not ("shape" in kinds and "Tensor" not in kinds.values())
    )


def native() -> dict[str, str]:
    """The registry's functions by module; functions without a module are in ``__init__``."""
    rows = all_cases()
    places: dict[str, list[tuple[str, str]]] = {"__init__": []}
    for names, params, _method in _core.registry():
        result = returned(names, params, rows)
        generic = "Tensor" in result and takes_tensors(params)
        result = result.replace("Tensor", "_T") if generic else result
        for name in names:
            place, _, short = name.rpartition(".")
            line = f"def {short}({parameters(params, False, generic)}) -> {result}: ..."
            places.setdefault(place or "__init__", []).append((short, line))
    text = {}
    for place, lines in places.items():
        text[place] = HEAD.format("Functions of the registry.") + IMPORTS + "\n"
        if place != "__init__":
            text[place] += f"__all__ = {[n for n, _ in lines]}\n\n"
        text[place] += "\n".join(line for _, line in lines) + "\n"
    return text


IMPORTS = """from collections.abc import Sequence
from typing import Any, Self, SupportsIndex, final, overload

import numpy as np
from numpy.typing import DTypeLike
from typing_extensions import TypeVar, disjoint_base

from ferrograd._core import _Array, _Int, _Ints, _ND, _Number, _O, _Operand, _T, Tensor
"""


def signature(name: str, value: Any, first: str = "") -> str:
    """The untyped parameters of a builtin, from its text signature."""
    try:
        given = inspect.signature(value)
    except ValueError:
        return f"({first}{', ' if first else ''}*args: Any, **kwargs: Any)"
    parts = []
    for p in given.parameters.values():
        typed = p.name if p.name == "self" else f"{p.name}: Any"
        if name in WIDENED and p.name != "self":
            typed = f"{p.name}: object"
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            typed = ("*" if p.kind == p.VAR_POSITIONAL else "**") + typed
        parts.append((p, typed if p.default is p.empty else f"{typed} = {p.default!r}"))
    text, only, star = [], False, False
    for p, part in parts:
        if only and p.kind != p.POSITIONAL_ONLY:
            text.append("/")
            only = False
        if p.kind == p.KEYWORD_ONLY and not star:
            text.append("*")
            star = True
        star |= p.kind == p.VAR_POSITIONAL
        only |= p.kind == p.POSITIONAL_ONLY
        text.append(part)
    return "(" + ", ".join([*text, "/"] if only else text) + ")"


def known(cls: type, name: str) -> str:
    """The type of a member whose signature does not show it."""
    if not issubclass(cls, _core.Tensor) and name in OTHERS:
        return OTHERS[name]
    return KNOWN.get(name, "Self" if name in ARITHMETIC else "Any")


def method(cls: type, name: str, value: Any) -> str:
    result = known(cls, name)
    return f"    def {name}{signature(name, value, 'self')} -> {result}: ..."


def qualified(kind: str) -> str:
    """The name of a type, qualified where a class of tensors hides Python's with an attribute of the same name."""
    hidden = any(hasattr(cls, kind) for cls in (_core.Tensor, _core.TorchTensor, _core.PaddleTensor))
    return f"builtins.{kind}" if hidden and isinstance(vars(builtins).get(kind), type) else kind


class Qualified(ast.NodeTransformer):
    """Qualifies Python's types that the class hides with methods of the same name."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.parse(qualified(node.id), mode="eval").body


def unquoted(annotation: ast.expr) -> ast.expr:
    """An annotation of a signature, where it is a string."""
    text = annotation.value if isinstance(annotation, ast.Constant) else None
    found: ast.expr = Qualified().visit(ast.parse(str(text), mode="eval").body)
    return found


def overloads_of(f: Any) -> Sequence[Any]:
    """The overloads of a function, which are known by the module that defines it, and not by the one that it names."""
    f = inspect.unwrap(f)
    place = getattr(f, "__globals__", {}).get("__name__", getattr(f, "__module__", None))
    return typing.get_overloads(cast(Any, types.SimpleNamespace(__module__=place, __qualname__=f.__qualname__)))


def of_dialect(name: str, f: Any) -> str:
    """A method that a dialect set on its class, with its signature."""
    tree = ast.parse(f"def {name}{inspect.signature(f)}: ...").body[0]
    assert isinstance(tree, ast.FunctionDef)
    first, *others = [*tree.args.posonlyargs, *tree.args.args]
    first.annotation = None
    # The in-place form of a method of the core has a signature that names no types.
    is_typed = tree.returns is not None
    for other in others:
        other.annotation = other.annotation or ast.Constant("Any")
    for part in ast.walk(tree.args):
        if isinstance(part, ast.arg) and part.annotation:
            part.annotation = unquoted(part.annotation)
    tree.args.defaults = [ast.Constant(...) if ast.unparse(d) == "Ellipsis" else d for d in tree.args.defaults]
    result = re.sub(
        r"\bTensor\b", "Self", ast.unparse(unquoted(tree.returns or ast.Constant(None if is_typed else "Self")))
    )
    return f"    def {name}({ast.unparse(tree.args)}) -> {result}: ..."


def writable(cls: type, name: str) -> bool:
    """Whether an attribute of the tensor class can be set; tried by setting it to its own value."""
    if not issubclass(cls, _core.Tensor):
        return False
    sample = _core.make(1.0, None, True, 0)
    try:
        setattr(sample, name, getattr(sample, name))
    except AttributeError as e:
        return "not writable" not in str(e)
    except Exception:
        return True
    return True


#: Members of classes that the stubs leave out.
_LEFT_OUT = (
    "__doc__",
    "__module__",
    "__weakref__",
    "__dict__",
    "__new__",
    "__init__",
    "__init_subclass__",
    "__getattr__",
)


def of_class(name: str, cls: type) -> str:
    """A class with its own members; a method of the registry has the types of its function."""
    functions = {n: params for names, params, is_method in _core.registry() if is_method for n in names}
    rows = all_cases()
    results = {n: returned(names, params, rows) for names, params, _ in _core.registry() for n in names}

    def written(key: str) -> str:
        return key if key in functions else key.removesuffix("_")

    own = {n for n, v in vars(cls).items() if isinstance(v, types.FunctionType)}
    bases = ", ".join(b.__name__ for b in cls.__bases__ if b is not object)
    lines = []
    made = cls is _core.TorchTensor or not issubclass(cls, Exception | _core.Tensor)
    if made and isinstance(vars(cls).get("__new__"), types.BuiltinFunctionType):
        lines.append(f"    def __new__{signature('__new__', cls).replace('(', '(cls, ', 1)} -> {name}: ...")
    if isinstance(vars(cls).get("__new__"), staticmethod):
        lines.append(
            f"    def __new__{signature('__new__', vars(cls)['__new__']).replace('cls: Any', 'cls')} -> {name}: ..."
        )
    for key, value in sorted(vars(cls).items()):
        # `__getattr__` exists once a user has set an attribute.
        if key in _LEFT_OUT:
            continue
        if key in ORDER and not issubclass(cls, _core.Tensor):
            continue
        if isinstance(value, types.GetSetDescriptorType):
            kind = known(cls, key)
            lines.append(f"    @property\n    def {key}(self) -> {kind}: ...")
            if writable(cls, key):
                lines.append(f"    @{key}.setter\n    def {key}(self, value: Any) -> None: ...")
        elif isinstance(value, property):
            kind = getattr(value.fget, "__annotations__", {}).get("return", "")
            kind = qualified(kind) if hasattr(builtins, kind) else "Any"
            lines.append(f"    @property\n    def {key}(self) -> {kind}: ...")
            if value.fset is not None:
                lines.append(f"    @{key}.setter\n    def {key}(self, value: {kind}) -> None: ...")
        elif isinstance(value, types.MethodDescriptorType) and cls.__name__ == "Tensor" and written(key) in functions:
            # An in-place form takes the arguments of its function.
            if key not in functions:
                lines.append(f"    {key} = {written(key)}")
                continue
            result = results.get(key, "Tensor").replace("Tensor", "Self")
            lines.append(f"    def {key}({parameters(functions[written(key)], True, False)}) -> {result}: ...")
        elif key in own:
            overloads = overloads_of(value) or [value]
            lines += ["    @overload\n" * (len(overloads) > 1) + of_dialect(key, f) for f in overloads]
        elif key == "__hash__" and value is None:
            lines.append("    __hash__: None  # type: ignore[assignment]")
        elif callable(value) or isinstance(value, types.MethodDescriptorType | types.WrapperDescriptorType):
            lines.append(method(cls, key, value))
        elif isinstance(value, staticmethod | classmethod):
            lines.append(f"    @{type(value).__name__}\n" + method(cls, key, value.__func__))
        else:
            lines.append(f"    {key}: Any")
    if name in SHAPES:
        lines.append(f"    @property\n    def shape(self) -> {SHAPES[name]}")
    own_layout = cls.__basicsize__ != (cls.__base__ or cls).__basicsize__ and not issubclass(cls, Exception)
    marks = "@disjoint_base\n" * own_layout if cls.__flags__ & SUBCLASSABLE else "@final\n"
    return f"{marks}class {name}{f'({bases})' if bases else ''}:\n" + ("\n".join(lines) or "    ...") + "\n"


def core() -> str:
    """The extension module itself."""
    text = HEAD.format("The extension module.") + OVERRIDE + IMPORTS.partition("\nfrom ferrograd")[0] + "\n"
    text = text.replace(
        "from collections.abc import Sequence",
        "import builtins\nfrom collections.abc import Callable, Iterator, Sequence",
    )
    text += "from ferrograd._core import native, paddle, torch\n"
    text += "from ferrograd._tensor.shape import PaddleSize, Size, TorchSize\n"
    text += "from ferrograd.torch import return_types\nfrom ferrograd.torch.return_types import ValuesAndIndices\n\n"
    text += '_T = TypeVar("_T", bound=Tensor, default=Tensor)\n_Number = complex | np.generic\n'
    text += "_ND = np.ndarray[Any, Any]\n_O = _ND | _Number\n_Array = Tensor | _ND\n_Operand = Tensor | _O\n"
    text += "_Int = SupportsIndex\n_Ints = _Int | Sequence[_Int]\n\n"
    members = {n: v for n, v in vars(_core).items() if not n.startswith("__") and not isinstance(v, types.ModuleType)}
    classes = {n: v for n, v in members.items() if isinstance(v, type)}
    text += f"__version__: str\n\n__all__ = {sorted(_core.__all__)}\n\n"
    for name in sorted(classes, key=lambda n: (len(classes[n].__mro__), n)):
        text += of_class(name, classes[name]) + "\n"
    for name, value in sorted(members.items()):
        if name not in classes:
            text += f"def {name}{signature(name, value)} -> {FUNCTIONS.get(name, 'Any')}: ...\n"
    return text


def makers(text: str, cls: str) -> str:
    """The functions of a stub that make tensors of nothing, for the class of a dialect."""
    names = re.findall(r"^def (\w+)\(.*-> Tensor: \.\.\.$", text, re.MULTILINE)
    return "".join(f"def {name}(*args: Any, **options: Any) -> {cls}: ...\n" for name in names)


def pages() -> dict[str, str]:
    """The stub files by name."""
    found = {"__init__.pyi": core()}
    modules = native()
    for place, text in modules.items():
        found[f"native/{place}.pyi"] = text
        path = "" if place == "__init__" else f".{place}"
        for dialect, cls, package in (
            ("paddle", "PaddleTensor", ferrograd.paddle),
            ("torch", "TorchTensor", ferrograd.torch),
        ):
            head = HEAD.format(f"The same functions, for {dialect}.")
            made = makers(text, cls)
            uses = ["from typing import Any", f"from ferrograd._core import {cls}"]
            lines = ["# mypy: disable-error-code=assignment", *uses, made] * bool(made)
            lines.append(f"from ferrograd._core.native{path} import *")
            if path:
                lines.append(f"from ferrograd._core.native{path} import __all__ as __all__")
            else:
                # For one type checker the first definition of a name counts, for another one the last.
                ops = vars(_core)[dialect]
                taken = [n for n in ops.__all__ if getattr(package, n) is vars(ops)[n]]
                lines.append(f"__all__ = {taken}".replace(", ", ","))
            found[f"{dialect}/{place}.pyi"] = head + "\n".join(lines) + "\n"
    return found


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for page, text in pages().items():
        (FOLDER / page).parent.mkdir(exist_ok=True)
        (FOLDER / page).write_text(text)
