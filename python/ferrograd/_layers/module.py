"""Trees of modules with parameters and buffers: what ``torch.nn.Module`` and ``paddle.nn.Layer`` share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import DtypeError, Tensor, native
from ferrograd._kit import html as _html
from ferrograd._kit.warning import warn
from ferrograd._layers.hooks import RemovableHandle, add

M = TypeVar("M", bound="BaseModule")

#: The modules that are alive, by their ids. Pictures of graphs show the names of their parameters.
alive: WeakValueDictionary[int, BaseModule] = WeakValueDictionary()


class BaseModule:
    """The base of both dialects' modules.

    A dialect says which class its parameters have and with which errors wrong assignments are refused.
    """

    #: The class of the dialect's parameters.
    _fg_parameter_class: type
    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]
    _forward_pre_hooks: dict[int, Callable[..., Any]]
    _forward_hooks: dict[int, Callable[..., Any]]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]

    def _fg_set_up(self) -> None:
        """Makes the empty tables. They come first, as an assignment looks into them."""
        alive[id(self)] = self
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _modules={},
            _forward_pre_hooks={},
            _forward_hooks={},
            _forward_pre_hooks_with_kwargs={},
            _forward_hooks_with_kwargs={},
            _forward_hooks_always_called={},
        )

    def _fg_not_set_up(self, kind: str) -> Exception:
        """The error for an assignment before the tables are made."""
        raise NotImplementedError

    def _fg_wrong_value(self, kind: str, name: str, value: object) -> Exception:
        """The error for a value that cannot take the place of a parameter, module or buffer."""
        raise NotImplementedError

    def _fg_put(self, kind: str, name: str, value: Any) -> None:
        """Stores a parameter, module or buffer under a name that nothing else has."""
        table: dict[str, Any] = self.__dict__[f"_{kind}s"]
        table[name] = value

    def _fg_is_buffer(self, value: object) -> bool:
        """Whether a value becomes a buffer by being assigned."""
        return False

    def _fg_kind_of(self, value: object) -> str | None:
        """Which table a value goes to wherever it is assigned."""
        if isinstance(value, self._fg_parameter_class):
            return "parameter"
        if isinstance(value, BaseModule):
            return "module"
        return "buffer" if self._fg_is_buffer(value) else None

    def __setattr__(self, name: str, value: Any) -> None:
        held = self.__dict__
        kind = self._fg_kind_of(value)
        if "_parameters" not in held:
            if kind is not None:
                raise self._fg_not_set_up(kind)
        elif kind is not None:
            for table in (held, self._parameters, self._modules, self._buffers):
                if table is not held[f"_{kind}s"]:
                    table.pop(name, None)
            if kind != "buffer":
                self._non_persistent_buffers_set.discard(name)
            return self._fg_put(kind, name, value)
        else:
            for kind in ("parameter", "module", "buffer"):
                if name in held[f"_{kind}s"]:
                    if value is not None and not (kind == "buffer" and isinstance(value, Tensor)):
                        raise self._fg_wrong_value(kind, name, value)
                    return self._fg_put(kind, name, value)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(table, {})
            if name in found:
                return found[name]
        # With these, Python adds the name that was meant.
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                self._non_persistent_buffers_set.discard(name)
                del table[name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[0].isdigit())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the output. Every module defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls ``forward`` and the hooks."""
        __tracebackhide__ = True
        if self._forward_hooks or self._forward_pre_hooks:
            return _core.call_module(self, self._fg_call_with_hooks, (args, kwargs))
        return _core.call_module(self, self.forward, args, kwargs)

    def _fg_watch(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], Callable[[Any], Any]]:
        """The arguments of ``forward``, and a function of its result. A dialect may put its own around a call."""
        return args, lambda result: result

    def _fg_call_with_hooks(self, args: Any, kwargs: Any) -> Any:
        __tracebackhide__ = True
        called: set[int] = set()
        result: Any = None
        try:
            args, kwargs = self._fg_before(args, kwargs)
            args, finish = self._fg_watch(args)
            result = self.forward(*args, **kwargs)
            for number, hook in list(self._fg_hooks_after().items()):
                called.add(number)
                result = self._fg_after(hook, self._fg_with_kwargs(number), args, kwargs, result)
            return finish(result)
        except Exception:
            for number, hook in self._fg_hooks_after().items():
                if number not in called and self._fg_always_called(number):
                    try:
                        result = self._fg_after(hook, self._fg_with_kwargs(number), args, kwargs, result)
                    except Exception as error:
                        # The error of the call is the one to be raised.
                        text = f"module forward hook with ``always_call=True`` raised an exception: {error}"
                        warn(text)
            raise

    def _fg_hooks_after(self) -> dict[int, Callable[..., Any]]:
        """The hooks after the call by number."""
        return self._forward_hooks

    def _fg_with_kwargs(self, number: int) -> bool:
        """Whether a hook after the call takes the arguments that were given by name."""
        return number in self._forward_hooks_with_kwargs

    def _fg_always_called(self, number: int) -> bool:
        """Whether a hook is called even when the call raises."""
        return number in self._forward_hooks_always_called

    def _fg_before(self, args: Any, kwargs: Any) -> Any:
        """The arguments that the hooks before the call make of those given."""
        for number, hook in list(self._forward_pre_hooks.items()):
            if number in self._forward_pre_hooks_with_kwargs:
                given = hook(self, args, kwargs)
                if given is None:
                    continue
                if not isinstance(given, tuple) or len(given) != 2:
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {given}."
                    )
                args, kwargs = given
            else:
                given = hook(self, args)
                if given is not None:
                    args = given if isinstance(given, tuple) else (given,)
        return args, kwargs

    def _fg_after(self, hook: Callable[..., Any], named: bool, args: Any, kwargs: Any, result: Any) -> Any:
        """The result that a hook after the call makes of the one given."""
        given = hook(self, args, kwargs, result) if named else hook(self, args, result)
        return result if given is None else given

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls ``hook(module, args)`` before every call; it may return other arguments.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)``, which may return a pair. A hook that is to
        ``prepend`` runs before the others.
        """
        flags = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return add(self._forward_pre_hooks, hook, *flags, first=prepend)

    def _fg_add_forward_hook(
        self, hook: Callable[..., Any], prepend: bool, with_kwargs: bool, always_call: bool
    ) -> RemovableHandle:
        flags = [self._forward_hooks_with_kwargs] if with_kwargs else []
        flags += [self._forward_hooks_always_called] if always_call else []
        return add(self._forward_hooks, hook, *flags, first=prepend)

    def _fg_walk(self, prefix: str, distinct: bool, memo: set[Any] | None = None) -> Iterator[tuple[str, Any]]:
        """The module and all below it with their dotted names, each once if they are to be ``distinct``."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if distinct:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module._fg_walk(prefix + ("." if prefix else "") + name, distinct, memo)

    def _fg_members(self, table: str, prefix: str, recurse: bool, distinct: bool) -> Iterator[tuple[str, Any]]:
        """The parameters or buffers of the tree with their dotted names."""
        seen: set[int] = set()
        for path, module in self._fg_walk(prefix, distinct) if recurse else [(prefix, self)]:
            for name, value in module.__dict__[table].items():
                if value is None or id(value) in seen:
                    continue
                if distinct:
                    seen.add(id(value))
                yield path + ("." if path else "") + name, value

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The modules directly below this one with their names, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """The modules directly below this one."""
        for _, module in self.named_children():
            yield module

    def apply(self: M, fn: Callable[[Any], object]) -> M:
        """Calls a function with every module of the tree, a module after those below it."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _fg_convert(self, fn: Callable[[Any], Any]) -> None:
        """Replaces the values of all parameters, of their gradients, and all buffers of the tree by ``fn`` of them.

        Parameters stay the same objects. Values that are shared are converted once.
        """
        done: set[int] = set()
        for _, module in self._fg_walk("", True):
            module._fg_convert_own(fn, done)

    def _fg_cast(self, fn: Callable[[Any], Any]) -> None:
        """:meth:`_convert` with a cast, which is tried for each dtype first: an error leaves everything as it was."""
        tensors = [x for _, m in self._fg_walk("", True) for x in (*m._parameters.values(), *m._buffers.values())]
        for dtype, tracked in {(x.dtype, x.requires_grad) for x in tensors if x is not None}:
            made = fn(native.zeros([0], dtype))
            if tracked and made.dtype.kind not in "fc":
                raise DtypeError(
                    f"{self._get_name()}: parameters that require gradients cannot become {made.dtype}; give them "
                    "requires_grad = False first"
                )
        self._fg_convert(fn)

    def _fg_convert_own(self, fn: Callable[[Any], Any], done: set[int] | None = None) -> None:
        """:meth:`_convert` for this module without those below it; ``done`` has the ids of converted parameters."""
        done = set() if done is None else done
        for p in self._parameters.values():
            if p is not None and id(p) not in done:
                done.add(id(p))
                _take_values(p, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)

    def extra_repr(self) -> str:
        """The text between the parentheses of ``repr``; empty unless a module defines it."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        own = extra.split("\n") if extra else []
        below = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        if len(own) == 1 and not below:
            return f"{self._get_name()}({own[0]})"
        inside = "".join(f"\n  {line}" for line in own + below)
        return f"{self._get_name()}({inside}\n)" if inside else f"{self._get_name()}()"

    def _repr_html_(self) -> str:
        """A table for notebooks: each module, its settings, and how many numbers its own parameters have."""

        def lines(name: str, module: BaseModule, depth: int) -> Iterator[list[object]]:
            # A parameter of a lazy module has no shape yet. The base class gives (0,) for it.
            own = [tuple(Tensor.shape.__get__(p)) for p in module._parameters.values() if p is not None]
            count = f"{sum(map(math.prod, own)):,}" if own else ""
            text = f"{module._get_name()}({' '.join(module.extra_repr().split())})"
            yield ["  " * depth + (name or "model"), text, ", ".join(map(str, own)), count]
            for key, below in module._modules.items():
                if below is not None:
                    yield from lines(key, below, depth + 1)

        return _html.table(["name", "module", "parameters", "numbers"], lines("", self, 0))


def indented(text: str) -> str:
    """The text with all lines but the first indented by two more spaces."""
    return text.replace("\n", "\n  ")


@no_grad()
def _take_values(p: Any, fn: Callable[[Any], Any]) -> None:
    """Gives a parameter and its gradient the values ``fn`` of theirs, perhaps of another dtype."""
    grad, tracked, before = p.grad, p.requires_grad, p.detach()
    values = fn(before)
    if values.dtype != before.dtype or tuple(values.shape) != tuple(before.shape):
        p.requires_grad = False
    p.grad = None
    p.data = values
    p.requires_grad = tracked
    if grad is not None:
        p.grad = fn(grad)
