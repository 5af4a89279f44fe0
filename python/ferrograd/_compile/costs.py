"""Whether a program pays: what its ops cost one by one, and what a run of the program costs.

Both are counted, never measured, so every run and every process of a distributed program comes to the same choice. The
work on numbers is the same on both sides, unless the program passes over memory less often. What differs else is what
it takes to apply an op, to compare a call with the last one, and to begin and end a run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

#: Nanoseconds for an op that Python applies, for one in a backward pass, and for a view or a constant in another op.
_OP, _GRADIENT_OP, _VIEW = 400, 350, 60
#: For a call that runs a program, and for one that is recorded for a backward pass.
_CALL, _RECORDED = 450, 3000
#: For a tensor that a program reads, for a value that a call is compared by, and for a step of a program.
_INPUT, _WATCHED, _STEP = 60, 30, 90
#: Bytes that are written to the core's caches in a nanosecond.
_BYTES = 10
#: What a program saves has to be more than this part of the time in which its values are written once.
_PART = 0.02


class Costs(NamedTuple):
    """Nanoseconds that a call takes besides its work on numbers: as the ops of the function, and as a program."""

    eager: int
    compiled: int
    #: Whether the function itself is as good as its program.
    is_even: bool

    def __str__(self) -> str:
        return f"about {self.eager / 1000:.1f} us for its ops one by one and {self.compiled / 1000:.1f} us for a run"


def costs_of(core: Any, tensors: int, watched: int, is_recorded: bool) -> Costs:
    """Counts what a call costs as ops and as a program that reads ``tensors`` and compares ``watched`` values."""
    parts = core.parts()
    recorded, distinct = (sum(counts[i] for counts, _, _ in parts) for i in (0, 1))
    passes = sum(passes for _, passes, _ in parts)
    first = parts[0][0][1]
    eager = _OP * first + _GRADIENT_OP * (distinct - first) + _VIEW * (recorded - distinct)
    compiled = _CALL + _INPUT * tensors + _WATCHED * watched + _STEP * passes + _RECORDED * is_recorded
    # Where each op is a pass of its own, a run passes over memory as often as the ops do.
    saves_passes = passes < distinct
    work = sum(peak for _, _, peak in parts) / _BYTES
    is_even = compiled >= eager or (not saves_passes and eager - compiled < _PART * work)
    return Costs(eager, compiled, is_even)
