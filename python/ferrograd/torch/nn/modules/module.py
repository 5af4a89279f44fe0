"""``torch.nn.Module``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError
from ferrograd._functions import casts
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.ops import ops as _ops
from ferrograd._kit.warning import warn
from ferrograd._layers import global_hooks as _global_hooks
from ferrograd._layers.hooks import RemovableHandle, add
from ferrograd._layers.module import BaseModule
from ferrograd._tensor import dtypes
from ferrograd.torch._base.meta import MetaTensor, is_meta
from ferrograd.torch._base.sharing import refuse_sharing
from ferrograd.torch._functions.predicates import typename
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn.modules._backward_hooks import BackwardHooks, on_result
from ferrograd.torch.nn.modules._global_hooks import (
    register_module_backward_hook as register_module_backward_hook,
    register_module_buffer_registration_hook as register_module_buffer_registration_hook,
    register_module_forward_hook as register_module_forward_hook,
    register_module_forward_pre_hook as register_module_forward_pre_hook,
    register_module_full_backward_hook as register_module_full_backward_hook,
    register_module_full_backward_pre_hook as register_module_full_backward_pre_hook,
    register_module_module_registration_hook as register_module_module_registration_hook,
    register_module_parameter_registration_hook as register_module_parameter_registration_hook,
)
from ferrograd.torch.nn.parameter import Buffer, Parameter, UninitializedBuffer, is_lazy

__all__ = ["Module"]

M = TypeVar("M", bound="Module")
EXTRA_STATE = "_extra_state"
#: For the error about a value of the wrong kind that is assigned: the name of the kind, and what the value may be.
_WANTED = {
    "parameter": ("parameter", "torch.nn.Parameter or None"),
    "module": ("child module", "torch.nn.Module or None"),
    "buffer": ("buffer", "torch.nn.Buffer, torch.Tensor or None"),
}


#: PyTorch's warning for numbers that are copied to a tensor without numbers.
_NO_COPY = (
    "for {}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a "
    "no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in "
    "the module instead of copying them in place?)"
)
#: What the key of a module's extra state ends with.
_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """The keys that a loaded ``state_dict`` lacks, and those that the module does not have."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not any(self):
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    def __str__(self) -> str:
        return repr(self)


class Module(BaseModule):
    """The base of all layers and models: holds parameters, buffers and other modules by the names they get.

    >>> import ferrograd.torch as torch
    >>> class Line(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = torch.nn.Parameter(torch.tensor(2.0))
    ...     def forward(self, x):
    ...         return self.slope * x
    >>> line = Line()
    >>> line(torch.tensor(3.0)).backward()
    >>> line.slope.grad.item(), list(line.state_dict())
    (3.0, ['slope'])
    """

    _fg_parameter_class = Parameter
    _version = 1
    call_super_init = False
    _backward_hooks: dict[int, Callable[..., Any]]
    _backward_pre_hooks: dict[int, Callable[..., Any]]
    _is_full_backward_hook: bool | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            name = f"{type(self).__name__}.__init__()"
            if kwargs:
                raise TypeError(f"{name} got an unexpected keyword argument '{next(iter(kwargs))}'")
            given = f"{len(args) + 1} were" if args else "1 was"
            raise TypeError(f"{name} takes 1 positional argument but {given} given")
        self._fg_set_up()
        if self.call_super_init:
            super().__init__()

    def _fg_set_up(self) -> None:
        super()._fg_set_up()
        self.__dict__.update(
            _backward_hooks={},
            _backward_pre_hooks={},
            _is_full_backward_hook=None,
            _state_dict_hooks={},
            _state_dict_pre_hooks={},
            _load_state_dict_pre_hooks={},
            _load_state_dict_post_hooks={},
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes the attributes of a copy or pickle. Tables that they lack are empty."""
        self._fg_set_up()
        self.__dict__.update(state)

    # Parameters, buffers and modules.

    def _fg_not_set_up(self, kind: str) -> Exception:
        plural = "parameters" if kind == "parameter" else kind
        return AttributeError(f"cannot assign {plural} before Module.__init__() call")

    def _fg_wrong_value(self, kind: str, name: str, value: object) -> Exception:
        what, wanted = _WANTED[kind]
        return TypeError(f"cannot assign '{typename(value)}' as {what} '{name}' ({wanted} expected)")

    def _fg_is_buffer(self, value: object) -> bool:
        return isinstance(value, Buffer | UninitializedBuffer)

    def _fg_put(self, kind: str, name: str, value: Any) -> None:
        if kind == "parameter":
            self.register_parameter(name, value)
        elif kind == "module":
            self._modules[name] = _global_hooks.registered(kind, self, name, value)
        elif isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
        else:
            self.register_buffer(name, value, name not in self._non_persistent_buffers_set)

    def _fg_check_name(self, kind: str, table: str, name: object) -> None:
        """Raises unless a name is free and has no dot."""
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            dotted = f'module name can\'t contain ".", got: {name}'
            raise KeyError(dotted if kind == "module" else f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is no parameter, such as a running mean. ``state_dict`` has it if it is ``persistent``."""
        if "_buffers" not in self.__dict__:
            raise self._fg_not_set_up("buffer")
        self._fg_check_name("buffer", "_buffers", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _global_hooks.registered("buffer", self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter. None keeps the name for a parameter that the module does without."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._fg_check_name("parameter", "_parameters", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and not param.is_leaf:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = _global_hooks.registered("parameter", self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a module below this one."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._fg_check_name("module", "_modules", name)
        self._modules[name] = _global_hooks.registered("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as :meth:`add_module`."""
        self.add_module(name, module)

    def get_submodule(self, target: str) -> Module:
        """The module with a dotted name; the module itself for the empty name."""
        found: Any = self
        for part in target.split(".") if target else []:
            found = _attribute(found, part)
            if not isinstance(found, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replaces the module with a dotted name, or adds it; with ``strict`` it must be there."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if (strict or hasattr(parent, name)) and not isinstance(_attribute(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a dotted name."""
        path, _, name = target.rpartition(".")
        found = _attribute(self.get_submodule(path), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with a dotted name."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found: Tensor = _attribute(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """The module and all modules below it with their dotted names."""
        return self._fg_walk(prefix, remove_duplicate, memo)

    def modules(self) -> Iterator[Module]:
        """The module and all modules below it, each once."""
        for _, module in self.named_modules():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """The pairs of names and values that a function gives for each module of the tree, with dotted names."""
        # The values are kept alive: one that a function has just made could get the id of one that is gone.
        seen: dict[int, Any] = {}
        for path, module in self._fg_walk(prefix, remove_duplicate) if recurse else [(prefix, self)]:
            for name, value in get_members_fn(module):
                if value is not None and id(value) not in seen:
                    if remove_duplicate:
                        seen[id(value)] = value
                    yield path + ("." if path else "") + name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names; without ``recurse`` only the module's own."""
        return self._fg_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once; without ``recurse`` only the module's own."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names; without ``recurse`` only the module's own."""
        return self._fg_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once; without ``recurse`` only the module's own."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # Modes and dtypes.

    def train(self: M, mode: bool = True) -> M:
        """Puts the tree into training mode, or with False into evaluation mode."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: M) -> M:
        """Puts the tree into evaluation mode."""
        return self.train(False)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Sets whether the parameters require gradients."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the gradients of all parameters to None, or to zeros."""
        for parameter in self.parameters():
            if parameter.grad is not None:
                parameter.grad = None if set_to_none else parameter.grad.detach() * 0

    def to(self: M, *args: Any, **kwargs: Any) -> M:
        """Casts the floating-point parameters and buffers to a dtype or to that of a tensor. There is only the CPU.

        With ``memory_format`` those with 4 or 5 axes get that order in memory.

        On ``"meta"`` a module of torch has shapes only, for ``functional_call``. Here it keeps its numbers.
        """
        dtype, others = kwargs.pop("dtype", None), []
        kwargs.pop("non_blocking", None)
        memory_format = kwargs.pop("memory_format", None)
        if "copy" in kwargs:
            raise ArgumentError("to: .to() of a module does not accept copy: copy.deepcopy(module) makes another one")
        if (
            len(args) > 1
            and isinstance(args[1], bool)
            and not isinstance(args[0], (Tensor, np.dtype, dtypes.dtype, type))
        ):
            raise TypeError(f"Module.to: after a device a dtype is wanted, not {args[1]}")
        for arg in (*args, *kwargs.values()):
            if isinstance(arg, (list, tuple, dict)):
                raise TypeError(f"Module.to: a device, a dtype or a tensor is wanted, not a {type(arg).__name__}")
            if isinstance(arg, Tensor):
                dtype = arg.dtype
            elif isinstance(arg, (np.dtype, dtypes.dtype, type)):
                dtype = arg
            elif arg is not None and not isinstance(arg, bool) and str(arg) != "meta":
                others.append(arg)
        if dtype is not None and dtypes.kind_of(dtype) not in "fc":
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        if dtype is not None and dtypes.kind_of(dtype) == "c":
            warn(
                "Complex modules are a new feature under active development whose design may change, and some modules "
                "might not work as expected when using complex tensors as parameters or buffers."
            )

        def converted(t: Tensor) -> Tensor:
            t = t.to(*others) if others else t
            if dtype is not None and t.dtype != dtype and _is_float(t):
                # A complex number keeps its real part, with a warning, as that of a tensor does.
                t = casts.cast(t, dtype) if t.dtype.kind == "c" else t.astype(dtype)
            return t.to(memory_format=memory_format) if memory_format is not None and t.ndim in (4, 5) else t

        self._fg_cast(converted)
        return self

    def type(self: M, dst_type: Any) -> M:
        """Casts all parameters and buffers to a dtype."""
        self._fg_cast(lambda t: t.astype(dst_type))
        return self

    def float(self: M) -> M:
        """Casts the floating-point parameters and buffers to float32."""
        return Module.to(self, dtype="float32")

    def double(self: M) -> M:
        """Casts the floating-point parameters and buffers to float64."""
        return Module.to(self, dtype="float64")

    def half(self: M) -> M:
        """Casts the floating-point parameters and buffers to float16."""
        return Module.to(self, dtype="float16")

    def bfloat16(self: M) -> M:
        """Casts the floating-point parameters and buffers to bfloat16."""
        return Module.to(self, dtype="bfloat16")

    def cpu(self: M) -> M:
        """The module itself: the CPU is the only device."""
        return self

    def to_empty(self: M, *, device: Any, recurse: bool = True) -> M:
        """The module itself. Parameters and buffers without numbers get zeros; those of others stay.

        With the device ``meta`` all lose their numbers.
        """
        if is_meta("to_empty", device):
            return self._fg_emptied(recurse)
        for module in self.modules() if recurse else [self]:
            for name, buffer in module._buffers.items():
                if isinstance(buffer, MetaTensor):
                    module._buffers[name] = _ops.zeros(list(buffer.shape), buffer.dtype)
            for parameter in module._parameters.values():
                if isinstance(parameter, MetaTensor):
                    parameter.data = _ops.zeros(list(parameter.shape), parameter.dtype)
        return self

    def _fg_emptied(self: M, recurse: bool) -> M:
        """The module, whose parameters and buffers become ones without numbers."""
        made: dict[int, Tensor] = {}
        for module in self.modules() if recurse else [self]:
            for name, parameter in module._parameters.items():
                if parameter is not None and not isinstance(parameter, MetaTensor):
                    empty = MetaTensor(parameter.shape, parameter.dtype)
                    new = made.setdefault(id(parameter), Parameter(empty, parameter.requires_grad))
                    module._parameters[name] = new
            for name, buffer in module._buffers.items():
                if buffer is not None and not isinstance(buffer, MetaTensor):
                    module._buffers[name] = made.setdefault(id(buffer), MetaTensor(buffer.shape, buffer.dtype))
        return self

    def cuda(self: M, device: Any = None) -> M:
        """Raises: there is no GPU."""
        raise ArgumentError(
            "cuda: there is no GPU; the module stays on the CPU if the call is left out, or guarded by "
            "torch.cuda.is_available()"
        )

    def share_memory(self: M) -> M:
        """Raises: threads share a module as it is, and another process gets a copy."""
        refuse_sharing("Module.share_memory")

    def _apply(self: M, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> M:
        """Replaces the values of the parameters and the buffers by ``fn`` of them."""
        self._fg_convert(fn)
        return self

    # Calls.

    def compile(self, *, fullgraph: bool = False, disable: bool = False, **options: Any) -> None:
        """Compiles ``forward`` in place; the options are those of :func:`ferrograd.torch.compile`.

        >>> import ferrograd.torch as torch
        >>> layer = torch.nn.Linear(2, 1)
        >>> before = layer(torch.ones(2))
        >>> layer.compile(fullgraph=True)
        >>> torch.equal(layer(torch.ones(2)), before)
        True
        """
        from ferrograd import _compile

        if not disable:
            object.__setattr__(self, "forward", _compile.compile(self.forward, fullgraph=fullgraph))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls ``forward`` and the hooks."""
        __tracebackhide__ = True
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _global_hooks.forward
            or _global_hooks.forward_pre
            or _global_hooks.backward
            or _global_hooks.full_backward
            or _global_hooks.backward_pre
        ):
            return _core.call_module(self, self._fg_call_with_hooks, (args, kwargs))
        return _core.call_module(self, self.forward, args, kwargs)

    #: What programs that wrap calls of modules replace or call.
    _call_impl = _wrapped_call_impl = __call__

    def _fg_before(self, args: Any, kwargs: Any) -> Any:
        for hook in list(_global_hooks.forward_pre.values()):
            given = hook(self, args)
            if given is not None:
                args = given if isinstance(given, tuple) else (given,)
        return super()._fg_before(args, kwargs)

    def _fg_hooks_after(self) -> dict[int, Callable[..., Any]]:
        return {**_global_hooks.forward, **self._forward_hooks} if _global_hooks.forward else self._forward_hooks

    def _fg_with_kwargs(self, number: int) -> bool:
        return number in _global_hooks.takes_kwargs or super()._fg_with_kwargs(number)

    def _fg_always_called(self, number: int) -> bool:
        return number in _global_hooks.always_called or super()._fg_always_called(number)

    def _fg_watch(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], Callable[[Any], Any]]:
        hooks = list(self._backward_hooks.values())
        before = [*_global_hooks.backward_pre.values(), *self._backward_pre_hooks.values()]
        full, old = (hooks, []) if self._is_full_backward_hook else ([], hooks)
        full, old = [*_global_hooks.full_backward.values(), *full], [*_global_hooks.backward.values(), *old]
        watcher = BackwardHooks(self, full, before) if full or before else None

        def finish(result: Any) -> Any:
            result = result if watcher is None else watcher.watch_outputs(result)
            if old:
                on_result(args, result, old, self)
            return result

        return args if watcher is None else watcher.watch_inputs(args), finish

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Calls ``hook(module, args, output)`` after every call; it may return another output.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, output)``. With ``always_call`` it is also called, with
        the output None, when the call raises.
        """
        return self._fg_add_forward_hook(hook, prepend, with_kwargs, always_call)

    def _fg_backward_kind(self, full: bool) -> None:
        other = "non-full" if full else "full"
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                f"Please use only one of them; this one has {other} hooks."
            )
        self._is_full_backward_hook = full

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(module, grad_input, grad_output)`` in every backward pass; it may return another grad_input."""
        self._fg_backward_kind(True)
        return add(self._backward_hooks, hook, first=prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(module, grad_output)`` before gradients go through; it may return another grad_output."""
        return add(self._backward_pre_hooks, hook, first=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, grad_input, grad_output)`` with the gradients of the last op of the module only."""
        self._fg_backward_kind(False)
        return add(self._backward_hooks, hook)

    # State.

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, prefix, keep_vars)`` before ``state_dict`` reads the module."""
        return add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, state_dict, prefix, local_metadata)``, which may change the dict in place."""

        def checked(*args: Any) -> None:
            if hook(*args) is not None:
                raise RuntimeError("state_dict post-hook must return None")

        # A function keeps the note, which a bound method does not take.
        if isinstance(hook, FunctionType):
            hook._from_public_api = True  # type: ignore[attr-defined]
        return add(self._state_dict_hooks, checked)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Like :meth:`register_state_dict_post_hook`, but the hook may return another dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the hook as it was previously registered via register_state_dict_post_hook"
            )
        return add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls a hook before the module loads its part of a state.

        ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return add(self._load_state_dict_pre_hooks, _WrappedHook(hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, incompatible_keys)`` after the module has loaded; it may change the keys in place."""
        return add(self._load_state_dict_post_hooks, hook)

    def get_extra_state(self) -> Any:
        """What ``state_dict`` keeps of the module besides tensors. Who defines it also defines the setter."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state")

    def set_extra_state(self, state: Any) -> None:
        """Loads what :meth:`get_extra_state` gave."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state")

    def _fg_persistent(self) -> dict[str, Tensor]:
        """The own parameters and persistent buffers by name."""
        kept = {**self._parameters}
        kept.update({k: b for k, b in self._buffers.items() if k not in self._non_persistent_buffers_set})
        return {name: value for name, value in kept.items() if value is not None}

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, value in self._fg_persistent().items():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(self, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The parameters and persistent buffers of the tree by dotted name, detached unless ``keep_vars``.

        They share memory with the module: a later step of an optimizer changes them.

        >>> import ferrograd.torch as torch
        >>> list(torch.nn.Sequential(torch.nn.Linear(2, 1)).state_dict())
        ['0.weight', '0.bias']
        """
        if destination is None:
            made: Any = OrderedDict()
            made._metadata = OrderedDict()
            destination = made
        local = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, local)
            destination = destination if replaced is None else replaced
        return destination

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Loads the module's own part of a state; notes what is missing, unexpected or wrong."""
        for hook in self._load_state_dict_pre_hooks.values():
            given = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
            # A subclass of the user's may put functions there itself, which take no module.
            hook(self, *given) if isinstance(hook, _WrappedHook) else hook(*given)
        own = self._fg_persistent()
        for name, value in own.items():
            key = prefix + name
            if key in state_dict:
                error = self._fg_load_one(name, key, value, state_dict[key], local_metadata)
                error_msgs += [error] if error else []
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        if type(self).set_extra_state is not Module.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        for key in state_dict if strict else ():
            if key.startswith(prefix) and key != extra:
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (self._modules if dot else own):
                    unexpected_keys.append(key)

    def _fg_load_one(
        self, name: str, key: str, value: Tensor, given: Any, local_metadata: dict[str, Any]
    ) -> str | None:
        """Loads one tensor; the text of the error if it cannot be."""
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {_arguments.kind_of(given, True)}"
            )
        if is_lazy(value) and is_lazy(given):
            return None
        if value.ndim == 0 and tuple(given.shape) == (1,):
            given = given[0]
        if tuple(given.shape) != tuple(value.shape):
            return (
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in "
                f"current model is {value.shape}."
            )
        try:
            with no_grad():
                if not local_metadata.get("assign_to_params_buffers"):
                    if isinstance(value, MetaTensor):
                        warn(_NO_COPY.format(key))
                        return None
                    value.copy_(given)
                    return None
                if isinstance(value, Parameter):
                    tracked = value.requires_grad
                    given = given if isinstance(given, Parameter) else Parameter(given, tracked)
                    given.requires_grad_(tracked)
                setattr(self, name, given)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {value.shape} and whose '
                f"dimensions in the checkpoint are {given.shape}, an exception occurred : {error.args}."
            )
        return None

    def _fg_load_tree(
        self,
        state: dict[str, Any],
        prefix: str,
        metadata: Mapping[str, Any],
        assign: bool,
        missing: list[str],
        unexpected: list[str],
        errors: list[str],
    ) -> None:
        """Loads the part of a state that belongs to the module and those below it."""
        local = metadata.get(prefix[:-1], {})
        if assign:
            local["assign_to_params_buffers"] = True
        self._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
        for name, child in self._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                part = {k: v for k, v in state.items() if k.startswith(below)}
                child._fg_load_tree(part, below, metadata, assign, missing, unexpected, errors)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, _IncompatibleKeys(missing, unexpected)) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copies the tensors of a ``state_dict`` into the module; with ``assign`` takes them over instead.

        Raises: RuntimeError: a shape differs, or with ``strict`` a key is missing or unexpected. All errors are
        listed.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None) or {}

        self._fg_load_tree(OrderedDict(state_dict), "", metadata, assign, missing, unexpected, errors)
        if strict:
            for keys, what in ((unexpected, "Unexpected"), (missing, "Missing")):
                if keys:
                    listed = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{what} key(s) in state_dict: {listed}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return _IncompatibleKeys(missing, unexpected)


class _WrappedHook:
    """A hook as PyTorch pickles it: with ``with_module`` it also takes the module, as its first argument."""

    def __init__(self, hook: Callable[..., Any], with_module: bool) -> None:
        self.hook, self.with_module = hook, with_module

    def __call__(self, module: Module, *args: Any) -> Any:
        __tracebackhide__ = True
        return self.hook(module, *args) if self.with_module else self.hook(*args)


def _is_float(t: Tensor) -> bool:
    return bool(t.dtype.kind in "fc")


def _attribute(module: Any, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)


__dir__ = _public.names(globals())
