"""The update rules of SGD and Adam and the clipping of gradients, in place; shared by the dialects' optimizers."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Real
from typing import Any, TypeVar, cast

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, Tensor, native
from ferrograd._kit import arguments as _arguments
from ferrograd._tensor.dtypes import finfo

State = dict[str, Any]
#: What the states of rules count: steps, and numbers that follow from them.
COUNTED = ("step", "mu_product", "eta", "mu")
Counting = TypeVar("Counting", bound=Callable[..., None])

#: Gives the learning rate, which may be another one in each step.
Rate = Callable[[], float]

#: Why a compiled function takes no step of a schedule, or of an optimizer of the user's.
NOT_TRACED = "it takes a step that is counted in Python; take it outside of the compiled function"


class _Counting(threading.local):
    """Whether this thread makes a step of a schedule that a program asks for."""

    is_on = False


_counting = _Counting()


class _Step:
    """A step of a schedule, which a program asks for in each run."""

    def __init__(self, call: Callable[[], Any], held: list[dict[str, Any]]) -> None:
        self._call, self._fg_held = call, held

    def advance(self) -> tuple[list[float], list[dict[str, Any]]]:
        """Makes the step. Returns no numbers, and what was held before."""
        before = [dict(held) for held in self._fg_held]
        _counting.is_on = True
        try:
            self._call()
        except BaseException:
            self.undo(before)
            raise
        finally:
            _counting.is_on = False
        return [], before

    def undo(self, before: list[dict[str, Any]]) -> None:
        """Takes the step back."""
        for held, values in zip(self._fg_held, before, strict=True):
            held.clear()
            held.update(values)


def _held_by(schedule: Any) -> list[dict[str, Any]]:
    """The dicts that a step of a schedule changes: its attributes, those of its members, and groups of parameters."""
    found: list[dict[str, Any]] = []
    members = [schedule]
    while members:
        held = vars(members.pop())
        if not any(held is other for other in found):
            found.append(held)
            values = [x for value in held.values() for x in (value if isinstance(value, list) else [value])]
            members += [x for x in values if hasattr(x, "get_lr") and hasattr(x, "last_epoch")]
    groups: list[dict[str, Any]] = getattr(getattr(schedule, "optimizer", None), "param_groups", [])
    return found + groups


def counts(step: Counting) -> Counting:
    """The method ``step`` of a schedule, which compiled functions make in each call."""

    @functools.wraps(step)
    def counted(self: Any, *args: Any, **kwargs: Any) -> None:
        if not _core.is_tracing() or _counting.is_on:
            step(self, *args, **kwargs)
            return
        held = _held_by(self)
        given = [*args, *kwargs.values(), *(value for values in held for value in values.values())]
        steps_by = getattr(getattr(self, "optimizer", None), "_fg_takes_cycles", False)
        is_other = any((x.get("cycle_momentum") and not steps_by) or x.get("verbose") for x in held)
        if is_other or any(isinstance(x, Tensor) for x in given):
            _core.give_up_trace(NOT_TRACED)
            step(self, *args, **kwargs)
            return
        source = _Step(functools.partial(step, self, *args, **kwargs), held)
        _core.numbers_of_host([], False, source, source.advance()[1])

    return cast(Counting, counted)


#: Stands for a float among values that are compared.
_FLOAT = object()


class _Numbers:
    """What a program asks for the numbers of a step in each run."""

    def __init__(self, state: State, compute: Callable[[], Sequence[Any]]) -> None:
        self._state, self._compute = state, compute
        #: What ``compute`` returned while the trace was taken, without its floats.
        self.watched: list[Any] = []

    def advance(self) -> tuple[list[float], State] | None:
        """The floats, and the state before. None if something else has changed since the trace."""
        if isinstance(self._state.get("step"), Tensor):
            self._state.update(plain(self._state))
        before = dict(self._state)
        try:
            values = self._compute()
        except BaseException:
            self.undo(before)
            raise
        watched = [_FLOAT if isinstance(x, float) else x for x in values]
        self.watched = self.watched or watched
        if not _are_equal(self.watched, watched):
            self.undo(before)
            return None
        return [x for x in values if isinstance(x, float)], before

    def undo(self, before: State) -> None:
        """Makes the state what it was."""
        self._state.clear()
        self._state.update(before)


def _are_equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except (RuntimeError, ValueError, TypeError):  # Tensors and arrays of several numbers have no truth value.
        return False


def numbers(
    like: Tensor | None, state: State, compute: Callable[[], Sequence[Any]], widens: bool = False
) -> Sequence[Any]:
    """What ``compute()`` returns, which may count in ``state``. Its floats may be others in the next step.

    While a compiled function is traced, they are tensors without axes, of the precision of ``like`` (float64 without
    one), and each run of the program calls ``compute`` again. What else it returns has to stay as it is, or the
    function is traced anew. For a half dtype they are of float32, for steps that are computed in it (``widens``).

    A recorded step counts in tensors (see :func:`counter`), and its numbers are tensors of the dtype of ``like``.
    """
    if _core.is_grad_enabled():
        return [_like(x, like) for x in compute()]
    return _asked(like, state, compute, widens) if _core.is_tracing() else compute()


def number(like: Tensor, compute: Callable[[], float]) -> Any:
    """The float ``compute()`` as :func:`numbers` has it, for code that is recorded and is no step."""
    return _asked(like, {}, lambda: (compute(),))[0] if _core.is_tracing() else compute()


def _like(x: Any, like: Tensor | None) -> Any:
    """A number of a recorded step in the precision of ``like``."""
    if like is None or not isinstance(x, Tensor) or x.dtype.kind != "f":
        return x
    return x.astype(finfo(like.dtype).dtype)


def _asked(
    like: Tensor | None, state: State, compute: Callable[[], Sequence[Any]], widens: bool = False
) -> Sequence[Any]:
    """See :func:`numbers`, for a function that is traced."""
    if like is not None and like.dtype.itemsize == 2 and not widens:
        _core.give_up_trace("it takes a step of an optimizer for a parameter of a half dtype")
        return compute()
    source = _Numbers(state, compute)
    floats, before = source.advance() or ([], {})
    single = like is not None and finfo(like.dtype).bits <= 32
    traced = _core.numbers_of_host(floats, single, source, before)
    # The trace is given up where a rate is a tensor, whose number is read.
    found = iter(native.unbind(traced) if floats and traced is not None else floats)
    return [next(found) if x is _FLOAT else x for x in source.watched]


def watch(value: Callable[[], Any]) -> None:
    """Makes a compiled function be traced again when ``value()`` differs from its value in the trace."""
    if _core.is_tracing() and not _counting.is_on:
        _asked(None, {}, lambda: (value(),))


def change(held: State, make: Callable[[], Any]) -> None:
    """Calls ``make``, which changes the dict ``held``. A compiled function that is traced calls it again in each of its
    calls. What it returns has to be what it returned in the trace.
    """
    if _core.is_tracing():
        _asked(None, held, lambda: (make(),))
    else:
        make()


def unscaled(grads: Iterable[Tensor], factor: Callable[[], float]) -> bool:
    """Divides gradients by a factor in place. Returns whether all of them are finite then."""
    is_finite = True
    with no_grad():
        for g in grads:
            g.set_value(g * number(g, lambda: 1 / factor()))
            is_finite = is_finite and _core.all_hold(native.isfinite(g))
    return is_finite


def watched(group: dict[str, Any], params: Sequence[Tensor], states: dict[Tensor, State], *rates: str) -> Any:
    """What a compiled step of a group depends on besides :func:`numbers`: its options without the ``rates``, the
    parameters that the step changes, and the tensors of their states. A step without momentum is compiled apart.
    """
    options = {key: value for key, value in group.items() if key != "params" and key not in rates}
    if "momentum" in rates:
        options["momentum"] = bool(group["momentum"])
    found: list[State] = [dict.get(states, p, {}) for p in params]
    held = [[id(x) for key, x in state.items() if isinstance(x, Tensor) and key not in COUNTED] for state in found]
    return list(map(id, params)), options, held


def leaves(parameters: Any, op: str, distinct: bool = True, records: bool = False) -> list[Tensor]:
    """The parameters as a list; raises unless they are leaves, which are to be ``distinct``.

    Where steps are recorded (``records``), and where its gradient is kept, a parameter may have a history.
    """
    if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
        kind = type(parameters).__name__
        raise ArgumentError(f"{op}: parameters must be an iterable of Tensors or dicts, but got {kind}")
    found = list(parameters)
    for p in found:
        if not isinstance(p, Tensor):
            raise ArgumentError(
                f"{op}: can only optimize Tensors, but one of the parameters is {_arguments.kind_of(p)}"
            )
        if not (p.is_leaf or records or p.retains_grad):
            raise ArgumentError(f"{op}: can't optimize a non-leaf Tensor of shape {list(p.shape)}")
    if distinct and len({id(p) for p in found}) < len(found):
        raise ArgumentError(f"{op}: a parameter is given twice")
    return found


def at_least(op: str, least: float, below: float | None = None, **values: Any) -> None:
    """Raises unless each of ``values`` is a number that is at least ``least`` and below ``below``.

    The numbers of tensors that are traced or stand for a batch are not known.
    """
    for name, value in values.items():
        is_tensor = isinstance(value, Tensor)
        if not (is_tensor or isinstance(value, Real)):
            is_first = name == "learning rate" and isinstance(value, Iterator)
            hint = f"; the parameters come first: {op}(model.parameters(), lr=0.1)" if is_first else ""
            raise ArgumentError(f"{op}: {name} must be a number, not {type(value).__name__}{hint}")
        if is_tensor and _core.is_tracing():
            continue
        try:
            is_fine = bool(least <= value and (below is None or value < below))
        except _core.VmapError:
            continue
        if not is_fine:
            wanted = f"at least {least:g}" + ("" if below is None else f" and below {below:g}")
            raise ArgumentError(f"{op}: Invalid {name}: {value}; it must be {wanted}")


def zeros(p: Tensor) -> Tensor:
    """The initial state of a rule: zeros with the shape and dtype of the parameter."""
    return native.zeros_like(p).detach()


def counter(value: float) -> Any:
    """The number that a state begins to count from: a float64 tensor, as ops compute with it, if steps are recorded."""
    return native.full([], value, "float64") if _core.is_grad_enabled() else value


def begin_record(state: State) -> None:
    """Makes float64 tensors of the numbers in the state of a parameter, before a step is recorded."""
    for key in COUNTED:
        if isinstance(x := state.get(key), Tensor):
            if key == "step" and x.requires_grad:
                raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
            if x.shape or x.dtype.name != "float64":
                state[key] = native.reshape(x, []).astype("float64")
        elif x is not None:
            state[key] = counter(x)


def plain(state: State) -> State:
    """A state whose counts are numbers again, as files have them."""
    counts = {key: x.item() for key, x in state.items() if key in COUNTED and isinstance(x, Tensor)}
    return {**state, **counts, **({"step": int(state["step"])} if "step" in counts else {})}


def known(values: Any) -> Any:
    """Options or states, with the ids of tensors in place of them."""
    if isinstance(values, dict):
        return {key: known(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [known(x) for x in values]
    return id(values) if isinstance(values, Tensor) else values


def is_on(option: Any) -> bool:
    """Whether an option is not 0. A tensor is always on, since it may have a gradient."""
    return isinstance(option, Tensor) or bool(option)


def root(x: Tensor) -> Tensor:
    """The square root. In a recorded step its gradient at 0 is 0, not infinite: there the mean of squares is that of
    gradients that were all 0, and ``g / (root + epsilon)`` has the slope ``1 / epsilon``.
    """
    if not _core.is_grad_enabled():
        return native.sqrt(x)
    is_zero = x == 0
    return native.where(is_zero, native.zeros_like(x), native.sqrt(native.where(is_zero, native.ones_like(x), x)))


def write(x: Tensor, value: Tensor) -> None:
    """Writes what a step has computed, with its history if the step is recorded."""
    if _core.is_grad_enabled():
        x[...] = value
    else:
        x.set_value(value)


def options_for(group: dict[str, Any], p: Tensor) -> dict[str, Any]:
    """The options of a group for a recorded step: tensors, and the rate, without axes and in the precision of ``p``, or
    of float32 for a half dtype.
    """
    dtype = "float32" if p.dtype.itemsize == 2 else finfo(p.dtype).dtype

    def cast(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: cast(x) for key, x in value.items()}
        if isinstance(value, list | tuple):
            return tuple(cast(x) for x in value)
        return native.reshape(value, []).astype(dtype) if isinstance(value, Tensor) else value

    found = {key: cast(value) for key, value in group.items() if key not in ("params", "max_momentum")}
    if not isinstance(found["lr"], Tensor):
        found["lr"] = native.full([], float(found["lr"]), dtype)
    return found


def descend(
    p: Tensor,
    g: Tensor,
    state: State,
    *,
    rate: Rate,
    momentum: float = 0.0,
    dampening: float = 0.0,
    nesterov: bool = False,
    decay: float = 0.0,
    cycle: Rate | None = None,
) -> None:
    """One step of gradient descent with momentum, in place. The first gradient is not dampened.

    ``cycle`` gives the momentum, if it may be another one in each step.
    """
    held = state.get("momentum_buffer")
    first = held is None
    if isinstance(momentum, Tensor) or momentum:
        if first:
            state["momentum_buffer"] = held = zeros(p)
    else:
        held = None
    if cycle:
        now, momentum = numbers(p, state, lambda: (rate(), cycle()), widens=True)
    else:
        (now,) = numbers(p, state, lambda: (rate(),), widens=True)
    fresh = 1.0 if first else 1.0 - dampening
    if isinstance(now, float):
        _core.sgd_step(p, g, held, now, momentum, fresh, nesterov, decay)
        return
    x, g = _wide(p), _wide(g)
    g = g + decay * x
    if held is not None:
        mean = momentum * _wide(held) + fresh * g
        _set(held, mean)
        g = g + momentum * mean if nesterov else mean
    _set(p, x - now * g)


def _wide(x: Tensor) -> Tensor:
    """The tensor in the dtype that a step is computed in: float32 for a half dtype."""
    return x.astype("float32") if x.dtype.itemsize == 2 else x


def _set(x: Tensor, value: Tensor) -> None:
    """Writes what a step has computed."""
    write(x, value.astype(x.dtype) if x.dtype.itemsize == 2 else value)


def adam(
    p: Tensor,
    g: Tensor,
    state: State,
    *,
    rate: Rate,
    betas: tuple[float, float],
    epsilon: float,
    decay: float,
    decoupled: bool,
    largest: bool,
    cycle: Rate | None = None,
) -> None:
    """One step of Adam, or of AdamW if the decay is ``decoupled``, in place. ``largest`` is AMSGrad.

    ``cycle`` gives the first of the betas, if it may be another one in each step.

    ``spread`` corrects the bias towards zero of the mean of the squared gradient, and ``speed`` that of the mean.
    """
    if not state:
        state.update(step=counter(0), exp_avg=zeros(p), exp_avg_sq=zeros(p))
    if largest and "max_exp_avg_sq" not in state:
        state["max_exp_avg_sq"] = zeros(p)

    def count() -> tuple[float, ...]:
        now, first = rate(), cycle() if cycle else betas[0]
        state["step"] += 1
        step = state["step"]
        shrink = 1.0 - now * decay if decoupled else 1.0
        found = now / (1.0 - first**step), (1.0 - betas[1] ** step) ** 0.5, shrink
        return (*found, first, 1.0 - first) if cycle else found

    if cycle:
        speed, spread, shrink, beta, fresh = numbers(p, state, count, widens=True)
    else:
        speed, spread, shrink = numbers(p, state, count, widens=True)
        beta, fresh = betas[0], 1.0 - betas[0]
    top = state.get("max_exp_avg_sq") if largest else None
    m, v = state["exp_avg"], state["exp_avg_sq"]
    penalty = 0.0 if decoupled else decay
    if isinstance(speed, float):
        _core.adam_step(p, g, m, v, top, speed, spread, shrink, (beta, betas[1]), epsilon, penalty)
        return
    x, g = _wide(p), _wide(g)
    g = g + penalty * x
    mean = beta * _wide(m) + fresh * g
    square = betas[1] * _wide(v) + (1.0 - betas[1]) * g * g
    _set(m, mean)
    _set(v, square)
    if top is not None:
        square = native.maximum(_wide(top), square)
        _set(top, square)
    _set(p, shrink * x - speed * mean / (root(square) / spread + epsilon))


def of_a_module(given: Any) -> str:
    """What to write, for an error, if a module or its method was given in the place of its parameters."""
    if callable(given):
        return (
            ": pass parameters(), the call, not the method" if hasattr(given, "__self__") else ": pass its parameters()"
        )
    return ""


def gradients(parameters: Any, op: str) -> list[Tensor]:
    """The gradients of one or several tensors, without those that have none."""
    tensors = [parameters] if isinstance(parameters, Tensor) else parameters
    if not isinstance(tensors, Iterable):
        raise ArgumentError(f"{op}: parameters are Tensors, not {type(tensors).__name__}{of_a_module(tensors)}")
    return [p.grad for p in tensors if _arguments.tensor(p, op, "each of the parameters").grad is not None]


def total_norm(grads: list[Tensor], order: Any, ops: Any = native) -> Tensor:
    """The norm of the vector of all gradient elements; of none it is a zero made by ``ops``, a dialect's functions."""
    norms = [native.norm(g, order) for g in grads]
    return native.norm(native.stack(norms), order) if norms else ops.zeros([])


@no_grad()
def clip_norm(parameters: Any, max_norm: float, order: Any, strict: bool, op: str, ops: Any) -> Tensor:
    """Scales gradients in place so that their total norm is at most ``max_norm``; returns the norm before.

    Raises:
        RuntimeError: ``strict``, and the norm is not finite.
    """
    grads = gradients(parameters, op)
    total = total_norm(grads, order, ops)
    if strict and not native.isfinite(total).item():
        raise RuntimeError(
            f"{op}: The total norm of order {float(order)} for gradients from `parameters` is non-finite, so it cannot "
            "be clipped"
        )
    scale_to(grads, total, max_norm)
    return total


def scale_to(grads: list[Tensor], total: Tensor, max_norm: float) -> None:
    """Multiplies gradients, in place, so that their norm ``total`` becomes ``max_norm`` if it is larger."""
    scale = native.minimum(float(max_norm) / (total.detach().astype("float64") + 1e-6), 1.0)
    for g in grads:
        if g.dtype.itemsize == 2:
            _set(g, _wide(g) * scale.astype("float32"))
        else:
            g.mul_(factor(scale, g))


def factor(scale: Tensor, x: Tensor) -> Any:
    """What ``x`` is multiplied by for a float64 number to scale it without another dtype."""
    return scale.item() if x.dtype.itemsize == 2 else scale.astype(finfo(x.dtype).dtype)


@no_grad()
def clip_value(parameters: Any, value: float) -> None:
    """Clips every element of the gradients to ``[-value, value]``, in place."""
    for g in gradients(parameters, "clip_grad_value_"):
        g.clip_(-float(value), float(value))
