"""The base of torch's optimizers."""

from __future__ import annotations

import copy
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad, no_grad, set_grad_enabled
from ferrograd._core import ArgumentError, native, torch as ops
from ferrograd._kit import html as _html, public as _public
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.warning import warn
from ferrograd._layers.hooks import RemovableHandle, add
from ferrograd._optim import fused as _fused
from ferrograd._optim.states import States, as_tensors, has_no_numbers, state_of
from ferrograd._tensor.dtypes import dtype_of
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.optim._hooks import (
    HOOKS,
    hooks_of,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    with_hooks,
)

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required"]


class _Required:
    """The class of :data:`required`."""

    def __repr__(self) -> str:
        return "<required parameter>"


#: A default of optimizers for an option that each group has to give.
required = _Required()
Params = Iterable[Any]
Closure = Callable[[], Any]
#: PyTorch's name for the parameters that an optimizer takes.
ParamsT = Params


class Optimizer:
    """The base of optimizers: groups of parameters with options, and the state of each parameter.

    A subclass has ``step``, or ``_fg_update``, which changes one parameter.

    With ``differentiable=True`` a step is recorded. Parameters are tensors with a history, which are updated in place,
    gradients keep theirs, and options that are numbers may be tensors of one element with gradients. A parameter that
    is a leaf with gradients raises RuntimeError in the step.
    """

    #: Numbers in the state of a parameter that a saved state holds as tensors, as PyTorch does.
    _fg_numbers: tuple[str, ...] = _fused.COUNTED
    #: What a state that is not empty has: numbers, and tensors of the shape of the parameter.
    _fg_kept: tuple[str, ...] = ()
    #: Tensors of that shape that it may have, or None.
    _fg_may_keep: tuple[str, ...] = ()
    #: Whether complex parameters are updated, as pairs of real numbers.
    _fg_takes_complex = True
    #: Whether a compiled step reads anew the momentum, or the first of the betas, where a schedule changes it.
    _fg_takes_cycles = False
    _opt_called = False
    _fg_is_stepping = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = with_hooks(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        #: By parameter, and what a rule of the user's keeps under names of its own.
        self.state: defaultdict[Any, dict[str, Any]] = States(self._fg_counted)
        self.param_groups: list[dict[str, Any]] = []
        if not any(value is required for value in defaults.values()):
            self._fg_check(defaults)
        if isinstance(params, Tensor) or not isinstance(params, Iterable):
            raise ArgumentError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__name__}{_fused.of_a_module(params)}"
            )
        self._fg_is_traced = _core.is_tracing()
        groups = list(params)
        if not groups:
            raise ArgumentError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle keeps: not the hooks."""
        return {key: value for key, value in vars(self).items() if key not in HOOKS.values()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if type(self.state) is defaultdict:
            self.state = States(self._fg_counted, self.state.items())

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group ``{"params": ...}``, with the options that differ from the defaults.

        Parameters are tensors, or pairs of a name and a tensor, as ``named_parameters()`` gives them.
        """
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise ArgumentError("param group must be a dict with 'params'")
        given = param_group["params"]
        if isinstance(given, set | frozenset):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        found = [given] if isinstance(given, Tensor) or not isinstance(given, Iterable) else list(given)
        names = [p[0] for p in found if isinstance(p, tuple)]
        if names:
            if len(names) < len(found):
                raise ArgumentError("all optimizer params should be with/without names. Some param names are missing")
            param_group = {**param_group, "param_names": names}
            found = [p[1] for p in found]
        if any(("param_names" in group) != bool(names) for group in self.param_groups):
            raise ArgumentError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if names else 'without'} names to the optimizer"
            )
        records = bool(self.defaults.get("differentiable"))
        params = _fused.leaves(found, type(self).__name__, distinct=False, records=records)
        if len({id(p) for p in params}) < len(params):
            warn(
                "optimizer contains a parameter group with duplicate parameters; each step changes such a parameter "
                "several times"
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in known for p in params):
            raise ArgumentError("some parameters appear in more than one parameter group")
        group = {**self.defaults, **param_group, "params": params}
        for name, value in group.items():
            if value is required:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
        self._fg_check(group)
        self.param_groups.append(group)

    def _fg_check(self, group: dict[str, Any]) -> None:
        """Raises for invalid options of a group."""

    def _fg_check_kinds(self, group: dict[str, Any], op: str) -> None:
        """Raises for options that are no numbers, or not as many, where the defaults are numbers.

        Nothing is known of the options of a user's optimizer with a ``step`` of its own."""
        if type(self)._fg_update is Optimizer._fg_update:
            return
        for key, default in self.defaults.items():
            value = group.get(key, default)
            if isinstance(default, tuple):
                fits = isinstance(value, tuple | list) and len(value) == len(default)
                fits = fits and all(isinstance(x, Real | Tensor | None) for x in value)
            else:
                fits = isinstance(value, Real | Tensor) or not isinstance(default, Real) or isinstance(default, bool)
            if not fits:
                wanted = f"{len(default)} numbers" if isinstance(default, tuple) else "a number"
                raise ArgumentError(f"{op}: {key} must be {wanted}, not {value!r:.60}")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the gradients of all parameters to None, or to zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad = _fused.zeros(p.grad)

    def step(self, closure: Closure | None = None) -> Any:
        """Updates every parameter that has a gradient. ``closure`` first recomputes the loss and the gradients."""
        __tracebackhide__ = True
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if len(self.param_groups) > 1:
            for group in self.param_groups:
                self._fg_check_kinds(group, f"{type(self).__name__}.step")
        if self.defaults.get("differentiable"):
            self._fg_record()
            return loss
        if self.defaults.get("fused") and not self._fg_unscale():
            return loss
        if isinstance(self.state, States):
            self.state.take()
        with no_grad():
            for group in self.param_groups:
                if _core.is_tracing():
                    _fused.watch(functools.partial(self._fg_watched, group))
                for p in group["params"]:
                    if p.grad is not None:
                        update = self._fg_update_complex if p.dtype.kind == "c" else self._fg_update
                        update(p, -p.grad.detach() if group.get("maximize") else p.grad, group)
        return loss

    step = with_hooks(step, is_traceable=True)

    def _fg_unscale(self) -> bool:
        """Whether ``found_inf`` allows a step; the gradients are then divided by ``grad_scale``.

        Who scales losses sets these attributes, numbers or None, on an optimizer with ``fused=True``. Such a step
        raises RuntimeError for parameters without numbers.
        """
        if any(has_no_numbers(p) and p.grad is not None for group in self.param_groups for p in group["params"]):
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of the device 'cpu': one is on "
                "'meta'. Module.to_empty(device='cpu') gives a module its numbers"
            )
        if (found := getattr(self, "found_inf", None)) is not None and _get_value(found):
            return False
        if (scale := getattr(self, "grad_scale", None)) is not None:
            with no_grad():
                for p in (p for group in self.param_groups for p in group["params"] if p.grad is not None):
                    p.grad.div_(scale)
        return True

    def _fg_record(self) -> None:
        """Updates every parameter that has a gradient by ops that are recorded."""
        with enable_grad():
            for group in self.param_groups:
                if not self._fg_is_traced:
                    _fused.watch(functools.partial(self._fg_watched_of_record, group))
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    if p.is_leaf and p.requires_grad:
                        raise RuntimeError(
                            f"{type(self).__name__}.step: a leaf Variable that requires grad is being used in an "
                            "in-place operation, which differentiable=True records. Give the optimizer a copy with "
                            "a history: p = p.clone()"
                        )
                    _fused.begin_record(state_of(self.state, p))
                    g = -p.grad if group.get("maximize") else p.grad
                    options = {**_fused.options_for(group, p), "records": True}
                    if p.dtype.kind == "c" or p.dtype.itemsize == 2:
                        self._fg_update_parts(p, g, options)
                    else:
                        self._fg_update(p, g, options)

    def _fg_watched_of_record(self, group: dict[str, Any]) -> Any:
        """What a recorded step of a compiled function depends on: tensors are known by their ids."""
        states = [dict.get(self.state, p, {}) for p in group["params"]]
        return _fused.known([group, states]), len(self.param_groups)

    def _patch_step_function(self) -> None:
        """Does nothing: ``step`` calls its hooks in every class. Other libraries call it in classes that wrap one."""

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        raise NotImplementedError

    def _fg_update_complex(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        """Updates the real and the imaginary parts as real numbers; the state has complex tensors."""
        _core.give_up_trace(_fused.NOT_TRACED)
        self._fg_update_parts(p, g.detach(), group)

    def _fg_update_parts(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        """Updates a complex parameter as pairs of real numbers, and one of a half dtype in float32."""
        if p.dtype.kind == "c" and not self._fg_takes_complex:
            raise ArgumentError(f"{type(self).__name__} does not support complex parameters")
        parts, state = _parts(p), dict.get(self.state, p, {})
        self.state[parts] = {key: _parts(value) for key, value in state.items()}
        try:
            self._fg_update(parts, _parts(g), group)
        finally:
            new = dict.pop(self.state, parts)
        _fused.write(p, _whole(parts, p))
        state = state_of(self.state, p)
        for key, x in new.items():
            state[key] = _whole(x, p) if isinstance(x, Tensor) and x.shape == parts.shape else x

    def _fg_watched(self, group: dict[str, Any]) -> Any:
        """See :func:`steps.watched`."""
        rates, other = ["lr", "initial_lr"], None
        if self._fg_takes_cycles and "max_momentum" in group:
            other = group.get("betas", (0,))[1:]
            rates.append("betas" if "betas" in group else "momentum")
        return _fused.watched(group, group["params"], self.state, *rates), other, len(self.param_groups)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(optimizer, args, kwargs)`` before each step. It may return other ``(args, kwargs)``."""
        return add(hooks_of(self, "step_pre"), hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(optimizer, args, kwargs)`` after each step."""
        return add(hooks_of(self, "step_post"), hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer)`` before :meth:`state_dict`; with ``prepend`` before the other hooks."""
        return add(hooks_of(self, "save_pre"), hook, first=prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer, state_dict)``, which may return another one, after :meth:`state_dict`."""
        return add(hooks_of(self, "save_post"), hook, first=prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer, state_dict)``, which may return another one, before :meth:`load_state_dict`."""
        return add(hooks_of(self, "load_pre"), hook, first=prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer)`` after :meth:`load_state_dict`."""
        return add(hooks_of(self, "load_post"), hook, first=prepend)

    def state_dict(self) -> dict[str, Any]:
        """The state by parameter number, and the options of the groups. Its tensors are those of the optimizer."""
        for hook in hooks_of(self, "save_pre").values():
            hook(self)
        numbers: dict[int, int] = {}
        for p in (p for group in self.param_groups for p in group["params"]):
            numbers.setdefault(id(p), len(numbers))
        groups = [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]
        found: dict[str, Any] = {
            "state": dict(self._fg_numbered(*item, numbers) for item in dict.items(self.state)),
            "param_groups": groups,
        }
        for hook in hooks_of(self, "save_post").values():
            found = hook(self, found) or found
        return found

    def _fg_numbered(self, key: Any, state: Any, numbers: dict[int, int]) -> tuple[Any, Any]:
        """What a saved state has for a parameter, or for a key of the user's own."""
        if not isinstance(key, Tensor):
            return key, state
        return numbers[id(key)], {**state, **as_tensors(state, self._fg_counted)}

    @property
    def _fg_counted(self) -> tuple[str, ...]:
        """The numbers that users see as tensors. What only an optimizer of the user's counts stays a number."""
        return tuple(key for key in self._fg_numbers if key in self._fg_kept)

    def _fg_loaded(self, state: dict[str, Any], p: Tensor, number: Any) -> dict[str, Any]:
        """A copy of the state of a parameter. Raises if no step could be taken with it."""
        start = f"load_state_dict: the state of parameter {number!r:.60}"
        if not isinstance(state, dict):
            raise ArgumentError(f"{start} must be a dict, not {type(state).__name__}")
        if missing := [key for key in self._fg_kept if state and key not in state]:
            raise ArgumentError(f"{start} has no {missing[0]!r}, which {type(self).__name__} keeps")
        for key in (*self._fg_kept, *self._fg_may_keep):
            value = state.get(key)
            if key in Optimizer._fg_numbers:
                fits = isinstance(value, Real) or (isinstance(value, Tensor) and value.numel() == 1)
                wanted = "a number"
            else:
                fits = isinstance(value, Tensor) and value.shape == p.shape
                wanted = f"a tensor of shape {list(p.shape)}"
            if not fits and state and (key in self._fg_kept or value is not None):
                found = f"of shape {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
                raise ArgumentError(f"{start}: {key!r} must be {wanted}, not {found}")
        return {key: _own(value, p, key) for key, value in state.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the :meth:`state_dict` of an optimizer that has the same number of parameters.

        Everything is copied, lists and dicts in it too. The parameters stay, and the tensors of a parameter get its
        dtype.
        """
        if not isinstance(state_dict, dict) or not {"state", "param_groups"} <= state_dict.keys():
            raise ArgumentError("load_state_dict: state_dict must be a dict with 'state' and 'param_groups'")
        state_dict = dict(state_dict)
        for hook in hooks_of(self, "load_pre").values():
            state_dict = hook(self, state_dict) or state_dict
        groups = state_dict["param_groups"]
        if not isinstance(state_dict["state"], dict):
            raise ArgumentError(f"load_state_dict: 'state' must be a dict, not {type(state_dict['state']).__name__}")
        if not isinstance(groups, list | tuple) or not all(
            isinstance(g, dict) and isinstance(g.get("params"), list | tuple) for g in groups
        ):
            raise ArgumentError("load_state_dict: 'param_groups' must be a list of dicts with a list under 'params'")
        if [len(g["params"]) for g in groups] != [len(g["params"]) for g in self.param_groups]:
            raise ArgumentError("loaded state dict has parameter groups of other sizes than the optimizer's")
        numbers = [i for group in groups for i in group["params"]]
        params = dict(zip(numbers, (p for group in self.param_groups for p in group["params"]), strict=True))
        unknown = [i for i in state_dict["state"] if isinstance(i, int) and i not in params]
        if unknown:
            raise ArgumentError(f"load_state_dict: there is state for {unknown[0]!r:.60}, which is no parameter")
        states = {
            params.get(i, i): self._fg_loaded(state, params[i], i) if i in params else copy.deepcopy(state)
            for i, state in state_dict["state"].items()
        }
        options = [{key: copy.deepcopy(value) for key, value in g.items() if key != "params"} for g in groups]
        for given in options:
            self._fg_check_kinds(given, "load_state_dict")
        if not isinstance(self.state, States):
            self.state = States(self._fg_counted)
        self.state.load(states, counts=not self.defaults.get("differentiable"))
        for mine, theirs in zip(self.param_groups, options, strict=True):
            mine.update(theirs)
        for hook in hooks_of(self, "load_post").values():
            hook(self)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    def _repr_html_(self) -> str:
        """A table for notebooks: the parameters and options of each group."""
        keys = sorted({key for group in self.param_groups for key in group} - {"params"})
        rows = []
        for i, group in enumerate(self.param_groups):
            count = sum(p.numel() for p in group["params"])
            rows.append([i, len(group["params"]), f"{count:,}", *(group.get(key, "") for key in keys)])
        return _html.facts(type(self).__name__, {}) + _html.table(["group", "tensors", "numbers", *keys], rows)


def _parts(value: Any) -> Any:
    """A copy of a complex tensor as a real one with an axis for the two parts, and of a half dtype in float32; anything
    else as it is.
    """
    if not isinstance(value, Tensor) or (value.dtype.kind != "c" and value.dtype.itemsize != 2):
        return value
    return native.view_as_real(value.clone()) if value.dtype.kind == "c" else value.astype("float32")


def _whole(parts: Tensor, p: Tensor) -> Tensor:
    """The reverse of :func:`_parts` for a parameter, or for its state."""
    return native.view_as_complex(parts) if p.dtype.kind == "c" else parts.astype(p.dtype)


def _own(value: Any, p: Tensor, key: Any = None) -> Any:
    """A copy of a part of a state. Tensors get the dtype of the parameter, except counts of steps."""
    if isinstance(value, Tensor):
        copied = value.detach().clone()
        casts = key != "step" and p.dtype.kind == "f" and copied.dtype != p.dtype
        return copied.astype(p.dtype) if casts else copied
    if isinstance(value, dict):
        return {k: _own(v, p, k) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_own(v, p) for v in value])
    return copy.deepcopy(value)


def _use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a step, in which gradients are recorded if the optimizer's default ``differentiable`` says so."""

    @functools.wraps(step)
    def _use_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            return step(self, *args, **kwargs)

    return _use_grad


def _default_to_fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Two times False: there is one form of a step."""
    return False, False


def _get_value(x: Any) -> Any:
    """A number, or the one that a tensor has."""
    return x.item() if isinstance(x, Tensor) else x


def _get_scalar_dtype(is_fused: Any = None) -> Any:
    """The dtype of counts of steps."""
    return dtype_of("float32", TORCH)


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """An empty list: there are no graphs of a GPU."""
    return []


def _view_as_real(params: Any, *state_and_grads: Any) -> None:
    """Makes pairs of real numbers of the complex tensors in lists, in place."""
    for i, p in enumerate(params):
        if p.is_complex():
            params[i] = ops.view_as_real(p)
            for tensors in state_and_grads:
                tensors[i] = ops.view_as_real(tensors[i])


__dir__ = _public.names(globals())
