"""The base of Paddle's optimizers."""

from __future__ import annotations

import copy
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad, no_grad
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import html as _html, public as _public
from ferrograd._optim import fused as _fused
from ferrograd.paddle.optimizer import _accumulators as accumulators
from ferrograd.paddle.optimizer.lr import LambdaDecay, LRScheduler
from ferrograd.paddle.regularizer import WeightDecayRegularizer

__all__ = ["Optimizer"]

Parameters = Iterable[Tensor] | Iterable[dict[str, Any]] | None
Clip = Callable[[list[tuple[Any, Any]]], list[tuple[Any, Any]]]
#: A learning rate, or a schedule of it. It may be a tensor where steps are recorded, as other options.
Rate = float | LRScheduler | Tensor
#: The coefficient of an L2 penalty, or a penalty.
Decay = float | WeightDecayRegularizer | Tensor | None
#: Attributes that are no options of rules.
_NO_OPTIONS = ("_learning_rate", "_groups", "_is_grouped", "_parameter_list", "_state", "_masters", "_given")


class Optimizer:
    """The base of optimizers: groups of parameters with options, and the state of each parameter.

    ``parameters`` are tensors, or dicts with a list of them under ``"params"`` and options of this group: a factor of
    the learning rate under ``"learning_rate"``, ``"weight_decay"``, ``"grad_clip"``, and those of the class, such as
    ``"beta1"``.
    """

    #: Paddle's names of what is kept for each parameter, by the names in the rules.
    _accumulators: Mapping[str, str] = {}
    #: Paddle's names of what follows from the rest.
    _derived: ClassVar[tuple[str, ...]] = ()
    #: Whether the decay of weights is no part of the gradient.
    _decoupled = False
    #: Checks and sets the options of the rule, which are its parameters.
    _set: Callable[..., None]

    def __init__(
        self,
        learning_rate: Rate,
        parameters: Parameters = None,
        weight_decay: Decay = None,
        grad_clip: Clip | None = None,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        op = type(self).__name__
        if isinstance(learning_rate, (list, tuple, dict, Iterator)):
            raise ArgumentError(
                f"{op}: learning_rate comes first, and the parameters are given by name: "
                f"{op}(learning_rate=0.1, parameters=layer.parameters())"
            )
        if parameters is None:
            raise ArgumentError(f"{op}: parameters argument given to the Optimizer should not be None in dygraph mode.")
        if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
            raise ArgumentError(
                f"{op}: `parameters` argument given to the optimizer should be an iterable of paddle Tensors, but got "
                f"argument type is `{type(parameters).__name__}`{_fused.of_a_module(parameters)}."
            )
        self._differentiable = differentiable
        self._is_traced = _core.is_tracing()
        if isinstance(learning_rate, Tensor) and not differentiable:
            raise TypeError(
                f"learning rate should be float or LRScheduler, got {type(learning_rate)} here; with "
                "differentiable=True it may be a Tensor"
            )
        if not isinstance(learning_rate, LRScheduler):
            _fused.at_least(op, 0, learning_rate=learning_rate)
        if not isinstance(weight_decay, WeightDecayRegularizer):
            _fused.at_least(op, 0, weight_decay=0 if weight_decay is None else weight_decay)
        groups: list[Any] = list(parameters)
        #: Whether parameters are given in groups, whose options take the place of those of the parameters.
        self._is_grouped = bool(groups) and isinstance(groups[0], dict)
        if groups and not self._is_grouped:
            groups = [{"params": groups}]
        common = {"learning_rate": 1.0, "weight_decay": weight_decay, "grad_clip": grad_clip}
        is_schedule = isinstance(learning_rate, LRScheduler)
        self._learning_rate: Rate = learning_rate if is_schedule else self._number(learning_rate)
        found = [_fused.leaves(g["params"], op, records=differentiable) for g in groups]
        self._groups = [{**common, **g, "params": params} for g, params in zip(groups, found, strict=True)]
        self._parameter_list = [p for g in self._groups for p in g["params"]]
        if len(self._groups) > 1 and not differentiable:
            _once(self._parameter_list)
        #: The options of the rule, by the names that they have in groups.
        self._given: dict[str, Any] = {}
        self._state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        #: Whether parameters of a half dtype have float32 copies, which are updated.
        self._multi_precision = False
        self._name = name
        self._masters: dict[Tensor, Tensor] = {}

    def _number(self, value: Any) -> Any:
        """An option as a number, or as a tensor where steps are recorded."""
        return value if self._differentiable and isinstance(value, Tensor) else float(value)

    def _take(self, **options: Any) -> None:
        """Sets the options of the rule. A group may have values of its own under the same names."""
        self._given = options
        self._set(**options)
        for group in self._groups:
            self._within(group)

    def _within(self, group: dict[str, Any]) -> Optimizer:
        """The optimizer with the options of a group."""
        own = {name: group[name] for name in self._given if name in group}
        if not own:
            return self
        here = copy.copy(self)
        here._set(**{**self._given, **own})
        return here

    def get_lr(self) -> float:
        """The learning rate."""
        if isinstance(self._learning_rate, Tensor):
            return float(self._learning_rate)
        _fused.watch(self._rate_now)
        return self._rate_now()

    def _rate_now(self) -> Any:
        return self._learning_rate() if isinstance(self._learning_rate, LRScheduler) else self._learning_rate

    def _repr_html_(self) -> str:
        """A table for notebooks: the parameters and options of each group."""
        rows = []
        for i, group in enumerate(self._groups):
            count = sum(p.size for p in group["params"])
            rate = self.get_lr() * group["learning_rate"]
            rows.append([i, len(group["params"]), f"{count:,}", rate, group["weight_decay"], group["grad_clip"]])
        head = ["group", "tensors", "numbers", "learning_rate", "weight_decay", "grad_clip"]
        return _html.facts(type(self).__name__, {}) + _html.table(head, rows)

    def set_lr(self, value: float) -> None:
        """Sets the learning rate, which must not be a schedule."""
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError(
                "optimizer's learning rate can't be LRScheduler when invoke this API, because this will lead to "
                "conflict."
            )
        _fused.at_least("set_lr", 0, learning_rate=value)
        self._learning_rate = self._number(value)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Makes a schedule the learning rate."""
        if not isinstance(scheduler, LRScheduler):
            raise TypeError(
                "The type of 'scheduler' in optimizer.set_lr_scheduler must be LRScheduler, but received "
                f"{type(scheduler)}."
            )
        self._learning_rate = scheduler

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Fills the gradients of all parameters with zeros, or without ``set_to_zero`` drops them."""
        for p in self._parameter_list:
            p.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def step(self) -> None:
        """Updates every parameter that has a gradient and does not have ``stop_gradient``.

        With ``differentiable=True`` the step is recorded: parameters are tensors with a history, which are updated in
        place, gradients keep theirs, and the options of the optimizer may be tensors with gradients.

        >>> import ferrograd.paddle as paddle
        >>> w, rate = (paddle.to_tensor(x, stop_gradient=False) for x in (4.0, 0.25))
        >>> v = w.clone()
        >>> sgd = paddle.optimizer.SGD(rate, parameters=[v], differentiable=True)
        >>> (v.grad,) = paddle.grad(v * v, v, create_graph=True)
        >>> sgd.step()
        >>> [g.item() for g in paddle.grad(v, [w, rate])]
        [0.5, -8.0]
        """
        if self._differentiable:
            with enable_grad():
                self._record()
        else:
            self._update()

    def _record(self) -> None:
        """A step by ops that are recorded."""
        for group, gradients in [(group, self._gradients(group)) for group in self._groups]:
            if not self._is_traced:
                _fused.watch(functools.partial(self._watched_of_record, group))
            own = self._within(group)
            for p, g, decay in gradients:
                if p.is_leaf:
                    raise RuntimeError(
                        f"{type(self).__name__}.step: a leaf Tensor that doesn't stop gradient can't use inplace "
                        "strategy, which differentiable=True records. Give the optimizer a copy with a history: "
                        "p = p.clone()"
                    )
                state = self._state[p]
                _fused.begin_record(state)
                wide = p.astype("float32") if p.dtype.itemsize == 2 else p
                options = {key: value for key, value in vars(own).items() if key not in _NO_OPTIONS}
                given = {**options, "lr": self._rate_now() * self._factor(group, p), "decay": decay}
                options = _fused.options_for(given, wide)
                now, decay = options.pop("lr"), options.pop("decay")
                # The rules of the classes read options from attributes.
                here = copy.copy(self)
                vars(here).update(options, _state={wide: state})
                here._fg_update(wide, g.astype(wide.dtype), functools.partial(_itself, now), decay)
                if wide is not p:
                    _fused.write(p, wide.astype(p.dtype))

    def _watched_of_record(self, group: dict[str, Any]) -> Any:
        """What a recorded step of a compiled function depends on: tensors are known by their ids."""
        options = {key: value for key, value in vars(self).items() if key not in _NO_OPTIONS}
        states = [self._state.get(p, {}) for p in group["params"]]
        said = _said_of(group["params"])
        return _fused.known([options, group, states, self._rate_now(), said]), len(self._groups)

    @no_grad()
    def _update(self) -> None:
        """A step that is not recorded."""
        for group, gradients in [(group, self._gradients(group)) for group in self._groups]:
            _fused.watch(functools.partial(self._fg_watched, group))
            own = self._within(group)
            for p, g, decay in gradients:
                master, rate = self._master(p), functools.partial(self._rate, group, p)
                own._fg_update(master, g.astype(master.dtype), rate, decay)
                if master is not p:
                    p.set_value(master)

    def _factor(self, group: dict[str, Any], p: Tensor) -> Any:
        """What the learning rate of a parameter is multiplied by: of its group, or else of its ``ParamAttr``."""
        own = None if self._is_grouped else getattr(p, "optimize_attr", None)
        return (own or group).get("learning_rate", 1.0)

    def _rate(self, group: dict[str, Any], p: Tensor) -> float:
        """The learning rate of a parameter."""
        return float(self._rate_now() * self._factor(group, p))

    def _fg_watched(self, group: dict[str, Any]) -> Any:
        """See :func:`steps.watched`."""
        masters = [self._masters.get(p, p) for p in group["params"]]
        found = _fused.watched(group, masters, self._state, "learning_rate")
        return found, len(self._groups), _said_of(group["params"])

    def _master(self, p: Tensor) -> Tensor:
        """The float32 copy of a parameter that is updated in its place, or the parameter itself."""
        if p not in self._masters and self._multi_precision and p.dtype.itemsize == 2:
            self._masters[p] = master = p.detach().astype("float32")
            master.name = f"{p.name}_fp32_master_0"
        return self._masters.get(p, p)

    def _gradients(self, group: dict[str, Any]) -> list[tuple[Tensor, Tensor, float]]:
        """The parameters of a group with their clipped gradients, and the coefficients of L2 penalties.

        Other penalties are in the gradients. That of a ``ParamAttr`` takes the place of the optimizer's.
        """
        pairs = [(p, p.grad) for p in group["params"] if p.grad is not None and not p.stop_gradient]
        clip, common = group["grad_clip"], 0.0 if group["weight_decay"] is None else group["weight_decay"]
        found = []
        for p, g in clip(pairs) if clip else pairs:
            own = None if self._is_grouped and not self._decoupled else getattr(p, "regularizer", None)
            penalty = common if own is None else own
            if isinstance(penalty, WeightDecayRegularizer):
                rest = common if self._decoupled and penalty is not common else 0.0
                found.append((p, g + penalty.gradient(p), self._number(rest)))
            else:
                found.append((p, g, self._number(penalty)))
        return found

    def backward(
        self,
        loss: Tensor,
        startup_program: object = None,
        parameters: list[Tensor] | None = None,
        no_grad_set: object = None,
        callbacks: object = None,
    ) -> list[tuple[Tensor, Tensor]]:
        """The pairs of parameters and gradients that ``loss.backward()`` left; it computes none, as in Paddle."""
        return [(p, p.grad) for p in parameters or self._parameter_list if p.grad is not None]

    def minimize(
        self,
        loss: Tensor,
        startup_program: object = None,
        parameters: list[Tensor] | None = None,
        no_grad_set: object = None,
    ) -> tuple[list[Any], list[tuple[Tensor, Tensor]]]:
        """Runs :meth:`step` with the gradients of ``loss.backward()``; ``([], [(parameter, gradient), ...])``. If
        ``parameters`` are given, the others stay as they are.
        """
        pairs = self.backward(loss, startup_program, list(parameters) if parameters else None)
        if parameters:
            self.apply_gradients(pairs)
        else:
            self.step()
        return [], pairs

    def get_opti_var_name_list(self) -> list[str]:
        """The names of the tensors of the state."""
        return [name for name, value in self.state_dict().items() if isinstance(value, Tensor)]

    def apply_gradients(self, params_grads: Iterable[tuple[Any, Any]]) -> list[Any]:
        """Runs :meth:`step` with the given gradients: pairs of parameters and gradients. Returns an empty list.
        Afterwards the parameters have the gradients that they had before. Parameters without a pair stay as they are.

        >>> import ferrograd.paddle as paddle
        >>> w = paddle.to_tensor([4.0], stop_gradient=False)
        >>> paddle.optimizer.SGD(0.25, parameters=[w]).apply_gradients([(w, paddle.to_tensor([8.0]))])
        []
        >>> w.item()
        2.0
        """
        given = {id(p): g for p, g in params_grads}
        before = [(p, p.grad) for p in self._parameter_list]
        try:
            for p in self._parameter_list:
                p.grad = given.get(id(p))
            self.step()
        finally:
            for p, gradient in before:
                p.grad = gradient
        return []

    def _fg_update(self, p: Tensor, g: Tensor, rate: _fused.Rate, decay: float) -> None:
        raise NotImplementedError

    def _powers(self) -> dict[str, float]:
        """The bases of the powers that count steps, by Paddle's names of the powers."""
        return {}

    def _to_accumulators(self, state: _fused.State, p: Tensor) -> dict[str, Any]:
        """What is kept for a parameter, by Paddle's names."""
        return accumulators.table(state, p, self._accumulators, self._powers())

    def _from_accumulators(self, kept: dict[str, Any], p: Tensor) -> _fused.State:
        """The reverse of :meth:`_to_accumulators`."""
        return accumulators.state_of(kept, p, self._accumulators, self._powers())

    def _owners(self) -> Iterator[tuple[Tensor, Optimizer]]:
        """The parameters, and the optimizer with the options of their groups."""
        for group in self._groups:
            own = self._within(group)
            yield from ((p, own) for p in group["params"])

    def state_dict(self) -> dict[str, Any]:
        """The state as Paddle names it: ``linear_0.w_0_moment1_0`` is ``moment1`` of the parameter ``linear_0.w_0``.

        The state of a schedule is under ``"LR_Scheduler"``, and float32 copies of half parameters, by the parameters'
        names, under ``"master_weights"``.
        """
        found: dict[str, Any] = {}
        if len({p.name for p in self._parameter_list}) < len(self._parameter_list):
            raise ArgumentError("state_dict: two parameters have the same name")
        for p, own in self._owners():
            master = self._masters.get(p, p)
            if state := self._state.get(master):
                parts = own._to_accumulators(_fused.plain(state), master)
                start = f"{master.name}_{self._name}" if self._name else master.name
                found.update({f"{start}_{kind}_0": x for kind, x in parts.items()})
        for name, x in found.items():
            x.name = name
        if self._masters:
            found["master_weights"] = {p.name: master for p, master in self._masters.items()}
        if isinstance(self._learning_rate, LRScheduler):
            found["LR_Scheduler"] = self._learning_rate.state_dict()
        return found

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a copy of a :meth:`state_dict`, of this library or of Paddle, whose parameters have the same names.

        A state none of whose names is that of a parameter here is taken in the order of the parameters.

        Raises:
            ArgumentError: the state is of other parameters, of other shapes or of another kind of optimizer.
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentError(f"set_state_dict: the state must be a dict, not {type(state_dict).__name__}")
        schedule, mine = state_dict.get("LR_Scheduler"), self._learning_rate
        if isinstance(mine, LRScheduler) and schedule is None and not isinstance(mine, LambdaDecay):
            raise AssertionError("LR_Scheduler state must be included in the state dict except LambdaDecay")
        kinds = {*self._accumulators.values(), *self._powers(), *self._derived}
        masters, parts = accumulators.by_parameter(self._parameter_list, state_dict, kinds, type(self).__name__)
        owners = {p: masters.get(p, p) for p in parts}
        states = {owners[p]: own._from_accumulators(parts[p], owners[p]) for p, own in self._owners() if p in parts}
        if isinstance(mine, LRScheduler) and schedule is not None:
            mine.set_state_dict(schedule)
        self._masters = masters
        self._state.clear()
        self._state.update(states)

    load_state_dict = set_state_dict


def _said_of(parameters: list[Tensor]) -> list[Any]:
    """What the attributes of parameters say besides shares of the rate, which are numbers of a compiled step."""
    return [(getattr(p, "regularizer", None), getattr(p, "need_clip", True)) for p in parameters]


def _once(parameters: list[Tensor]) -> None:
    """Raises if a parameter is in two groups."""
    if len(set(map(id, parameters))) < len(parameters):
        raise ArgumentError("some parameters appear in more than one parameter group")


def _itself(rate: Any) -> Any:
    """The rate of a recorded step, which is known."""
    return rate


__dir__ = _public.names(globals())
