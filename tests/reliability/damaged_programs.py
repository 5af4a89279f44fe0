"""Files of programs with changed bytes and a checksum that is right again, as somebody hostile would make them.

``python -m tests.reliability.damaged_programs COUNT SEED`` reads so many of them and runs what can be read.
"""

from __future__ import annotations

import contextlib
import random
import struct
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ferrograd as fg
from ferrograd import _core
from ferrograd._compile.loaded import LoadedFunction

from tests.cases import all_cases
from tests.check import differentiated
from tests.compile.test_closed_door import compute, copies, gradients, tensors

#: Magic bytes, format, length and checksum.
HEADER = struct.Struct("<18sIQQ")
#: Programs whose values take more bytes are read, but not run.
LARGEST = 1 << 22


def checksum(body: bytes) -> int:
    found = 0xCBF29CE484222325
    for byte in body:
        found = (found ^ byte) * 0x100000001B3 % (1 << 64)
    return found


def with_body(whole: bytes, body: bytes) -> bytes:
    magic, version, _, _ = HEADER.unpack_from(whole)
    return HEADER.pack(magic, version, len(body), checksum(body)) + body


def changed(body: bytes, rng: random.Random) -> bytes:
    data = bytearray(body)
    # The steps stand behind the values and before the text.
    text = body.rfind(b'{"name"')
    first = text // 2 if rng.random() < 0.7 else 0
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(first, text) if rng.random() < 0.9 else rng.randrange(len(data))
        at = min(at, len(data) - 1)
        kind = rng.random()
        if kind < 0.4:
            data[at] = rng.choice((0, 1, 2, 3, 4, 7, 8, 0x3F, 0x7F, rng.randrange(256)))
        elif kind < 0.6:
            data[at] = (data[at] + rng.choice((-2, -1, 1, 2))) % 256
        elif kind < 0.7:
            data[at : at + 1] = rng.choice((b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x80\x80\x80\x80\x40", b"\xff\x7f"))
        elif kind < 0.8:
            del data[at]
        elif kind < 0.9:
            data.insert(at, rng.randrange(256))
        else:
            # The fields of one op for another.
            other, n = rng.randrange(len(data)), rng.randrange(1, 12)
            data[at : at + n] = data[other : other + n]
    return bytes(data)


def programs() -> Iterator[tuple[str, bytes]]:
    """A program of each row of the table of cases, and of its gradients."""
    for case in all_cases():
        makes: list[Callable[..., Any]] = [compute(case), *([gradients(case)] if differentiated(case) else [])]
        for make in makes:
            compiled = fg.compile(copies(make))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    compiled(*tensors(case.inputs))
                except _core.FerrogradError:
                    continue
            for program in (p for ps in compiled._programs.values() for p in ps):
                yield case.id, program.data("f")


def read_and_run(data: bytes) -> bool:
    """Whether the file could be read. Then its program is run, which may raise what the ops raise."""
    try:
        core = LoadedFunction(data)._core
    except (fg.ProgramFileError, MemoryError):
        return False
    given = core.parameters()
    sizes = [1]
    for _, shape, _, _ in given:
        n = 16
        for d in shape:
            n *= d
        sizes.append(n)
    if sum(sizes) + sum(peak for _, _, peak in core.parts()) > LARGEST:
        return True
    arguments = [fg.ones(shape, dtype=dtype) for dtype, shape, _, _ in given]
    with contextlib.suppress(_core.FerrogradError, MemoryError, NotImplementedError):
        core.run(arguments)
    return True


def attack(count: int, seed: int, note: Callable[[bytes], None] = lambda data: None) -> tuple[int, int]:
    """Reads ``count`` changed files. Returns how many, and how many of them could be read."""
    rng = random.Random(seed)
    known = [(name, data) for name, data in programs() if len(data) < 4000]
    readable = 0
    for _ in range(count):
        _, whole = rng.choice(known)
        data = with_body(whole, changed(whole[HEADER.size :], rng))
        note(data)
        readable += read_and_run(data)
    return count, readable


if __name__ == "__main__":
    print(*attack(int(sys.argv[1]), int(sys.argv[2])))
