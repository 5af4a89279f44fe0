"""The states of the parameters of an optimizer, as its users see them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import ItemsView, Iterable, ValuesView
from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor, native
from ferrograd._kit.dialect import TORCH

State = dict[str, Any]

#: Gives the state of a parameter to a step, which counts in numbers. It makes an empty one where there is none.
state_of = dict.__getitem__


def has_no_numbers(p: Tensor) -> bool:
    """Whether a parameter is on the device ``meta``. Those of the native namespace never are."""
    return getattr(p, "is_meta", False)


def as_tensors(state: State, names: tuple[str, ...]) -> State:
    """The numbers under ``names`` as tensors: of float64 where that is the default dtype, else of float32."""
    dtype = "float64" if native.get_default_dtype() == "float64" else "float32"
    return {
        key: _core.make(state[key], dtype, False, TORCH) for key in names if isinstance(state.get(key), int | float)
    }


def as_number(key: str, x: Tensor) -> float:
    """The number that a step counts on from. Steps are whole."""
    return int(x.item()) if key == "step" else x.item()


class States(defaultdict[Any, State]):
    """The state of each parameter. What its step counts in Python is a tensor for everybody else.

    Who looks at a state finds tensors in it, and may write to them. The next step begins with :meth:`take`, which puts
    their numbers in their place.
    """

    __slots__ = ("counted", "seen")

    def __init__(self, counted: tuple[str, ...], items: Iterable[tuple[Any, State]] = ()) -> None:
        super().__init__(dict, items)
        self.counted = counted
        #: By id: the states that were looked at since the last step, and their tensors with versions and numbers.
        self.seen: dict[int, tuple[State, dict[str, tuple[Tensor, int, float]]]] = {}

    def show(self, state: Any) -> Any:
        """The state, with tensors in place of the numbers that are counted."""
        if self.counted and type(state) is dict:
            if _core.is_tracing():
                _core.give_up_trace("it reads the state of an optimizer")
            numbers = state.copy()
            state.update(as_tensors(state, self.counted))
            self.hold(state, numbers)
        return state

    def hold(self, state: State, numbers: State) -> None:
        """Remembers the numbers of the tensors of a state: a step that is traced cannot ask for them."""
        found = {}
        for key in self.counted:
            if isinstance(x := state.get(key), Tensor) and x.numel() == 1:
                number = numbers[key]
                found[key] = x, x.inplace_version, as_number(key, x) if isinstance(number, Tensor) else number
        self.seen.setdefault(id(state), (state, {}))[1].update(found)

    def load(self, states: dict[Any, State], counts: bool) -> None:
        """Takes other states, whose tensors the next step ``counts`` on from in numbers."""
        self.clear()
        self.update(states)
        for state in states.values():
            if counts and isinstance(state, dict):
                self.hold(state, state)

    def numbers_of(self, state: State) -> State:
        """The counted numbers of a state that was looked at."""
        found, (_, known) = {}, self.seen.get(id(state), (state, {}))
        for key in self.counted:
            if isinstance(x := state.get(key), Tensor):
                held, version, number = known.get(key, (None, 0, 0))
                if x is held and x.inplace_version == version:
                    found[key] = number
                elif x.numel() == 1:
                    found[key] = as_number(key, x)
        return found

    def take(self) -> None:
        """Puts numbers in the place of tensors, before a step counts on."""
        for state, _ in self.seen.values():
            state.update(self.numbers_of(state))
        self.seen.clear()

    def clear(self) -> None:
        super().clear()
        self.seen.clear()

    def __getitem__(self, key: Any) -> State:
        found: State = self.show(super().__getitem__(key))
        return found

    def get(self, key: Any, default: Any = None) -> Any:
        return self.show(super().get(key)) if key in self else default

    def setdefault(self, key: Any, default: Any = None) -> Any:
        return self.show(super().setdefault(key, default))

    def pop(self, key: Any, *default: Any) -> Any:
        return self.show(super().pop(key, *default))

    def values(self) -> ValuesView[State]:  # type: ignore[override]
        for state in super().values():
            self.show(state)
        return super().values()

    def items(self) -> ItemsView[Any, State]:  # type: ignore[override]
        self.values()
        return super().items()

    def copy(self) -> defaultdict[Any, State]:  # type: ignore[override]
        return defaultdict(dict, self.items())

    __copy__ = copy  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        states = dict.items(self)
        taken = ((key, {**x, **self.numbers_of(x)} if id(x) in self.seen else x) for key, x in states)
        return type(self), (self.counted,), None, None, taken
