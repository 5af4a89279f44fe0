"""When a compiled function is traced no more, for calls of a kind or for all calls, and why."""

from __future__ import annotations

from typing import Any

from ferrograd._compile.trace import Cause, Outcome

#: A function is given up after this many traces in a row whose programs never ran, or kinds of calls without one.
_HOPELESS = 64
#: A function is given up after this many traces in a row that changed what it reads.
_RESTLESS = 3


class Patience:
    """What a compiled function remembers of calls that came to no program, and of programs that did not run again."""

    def __init__(self, maxsize: int) -> None:
        self._hopeless = max(_HOPELESS, maxsize)
        #: Why the function is not traced any more.
        self.never: str | None = None
        #: By kind of calls without a program: the reason.
        self.reasons: dict[tuple[Any, ...], str] = {}
        #: How many traces in a row changed what the function reads, or kept a tensor.
        self._changes = 0
        #: How many calls in a row could not be compared.
        self._refusals = 0
        #: Kinds of calls whose first trace was given up because the function kept a tensor.
        self._kept: set[tuple[Any, ...]] = set()
        #: How many traces in a row, without a run in between, were taken because an array of NumPy had other numbers,
        #: how many came to a program that did not run again, and how many runs there were before the last one.
        self._rewritten = self._fruitless = self._runs = 0

    def forget(self) -> None:
        """Lets everything be tried again."""
        self.reasons.clear()
        self.never, self._changes, self._refusals, self._rewritten, self._fruitless = None, 0, 0, 0, 0

    def refused(self, reason: str, fullgraph: bool) -> None:
        """Notes a call that could not be compared."""
        # No arguments have this key.
        self.reasons[None, reason] = reason
        self._refusals += 1
        if self._refusals == _RESTLESS and not fullgraph:
            self.never = reason

    def gave_up(self, kind: tuple[Any, ...], outcome: Outcome, has_programs: bool) -> bool:
        """Notes a trace that came to no program. Returns whether calls of this kind are traced no more, which the user
        is told.
        """
        reason, cause = outcome.reason, outcome.cause
        if cause is Cause.LEARNT:
            return False
        if cause in (Cause.CHANGES, Cause.KEEPS):
            # The first call of many functions makes state that later calls find.
            self._changes += 1
            if self._changes >= _RESTLESS:
                self.never = reason
            is_first = kind not in self._kept
            if cause is Cause.CHANGES or (is_first and self.never is None):
                self._kept.update([kind] if cause is Cause.KEEPS else [])
                return self.never is not None
        if len(self.reasons) >= self._hopeless:
            if not has_programs:
                self.never = reason
            self.reasons.clear()
        self.reasons[kind] = reason
        return True

    def made(self) -> None:
        """Notes a trace that came to a program."""
        self._changes = self._refusals = 0

    def kept(self, runs: int, has_other_numbers: bool, varies: str, fullgraph: bool) -> bool:
        """Notes a program that is kept, and how many runs of all programs came before it. Returns whether the function
        is traced no more.

        The last program was for another call: other numbers of an array of NumPy tell it apart, or what ``varies``.
        """
        is_fruitless = runs == self._runs
        self._fruitless = self._fruitless + 1 if is_fruitless else 0
        self._rewritten = self._rewritten + 1 if is_fruitless and has_other_numbers else 0
        self._runs = runs
        never = None
        if self._rewritten == _RESTLESS:
            never = f"a NumPy array ({varies}) has other numbers in each call; make it an argument"
        elif self._fruitless == self._hopeless:
            never = f"each of its last {self._fruitless} calls took a trace, because {varies} is another one each time"
        if never is None or fullgraph:
            return False
        self.never = never
        return True
