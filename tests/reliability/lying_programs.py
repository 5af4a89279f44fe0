"""Files of programs that say what is not so: one value has another dtype or size, and the checksum is right again.

``python -m tests.reliability.lying_programs SEED COUNT N`` reads and runs so many of them, all if ``COUNT`` is 0. Their
matrices have ``N`` rows: enough that a read or a write beyond them meets other arrays, or no memory at all. All arrays
beside those of the programs have one number, which no result may have, and keep it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ferrograd as fg
from ferrograd import _core
from ferrograd._compile.loaded import LoadedFunction

from tests.reliability.damaged_programs import HEADER, with_body

#: The number of the arrays that no program is given.
FOREIGN = 4242.0
#: By number in a file: the dtypes, and the bytes of an element.
DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16"]
DTYPES += ["float32", "float64", "complex64", "complex128"]
BYTES = (1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16)
FLOATS = {name: DTYPES.index(name) for name in ("float32", "float64", "complex64", "complex128", "int64", "int8")}
INPUT, MADE, VIEW, CONSTANT = range(4)


class Value(NamedTuple):
    """A value of a program: where it comes from, and where its dtype and its sizes stand in the file."""

    origin: int
    dtype: int
    sizes: list[tuple[int, int]]


class Reader:
    """Reads numbers of any length, seven bits in a byte."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.body[self.at - 1]

    def number(self) -> int:
        number, shift = 0, 0
        while (byte := self.byte()) >= 0x80:
            number |= (byte - 0x80) << shift
            shift += 7
        return number | byte << shift

    def signed(self) -> int:
        number = self.number()
        return number >> 1 if number % 2 == 0 else -(number >> 1) - 1

    def values(self) -> list[Value]:
        """The values of the first program."""
        self.number()
        found = []
        for _ in range(self.number()):
            origin = self.byte()
            if origin == VIEW:
                self.number()
                self.signed()
            at = self.at
            dtype = self.byte()
            sizes = []
            for _ in range(self.number()):
                start = self.at
                sizes.append((start, self.number()))
            steps = [self.signed() for _ in range(self.number())]
            if origin == CONSTANT and all(n for _, n in sizes):
                reach = sum((n - 1) * abs(step) for (_, n), step in zip(sizes, steps, strict=True))
                self.at += (reach + 1) * BYTES[dtype]
            found.append(Value(origin, at, sizes))
        return found


def written(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number % 0x80 + 0x80)
        number >>= 7
    return bytes((*out, number))


def functions(n: int) -> dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]]:
    """Functions whose loops believe one operand about another, and the shapes of their arguments."""
    positions = fg.arange(n)
    square = (n, n)
    return {
        "softmax": (lambda x: fg.softmax(x, axis=-1), (square,)),
        "logsumexp": (lambda x: fg.logsumexp(x, axis=-1), (square,)),
        "sum": (lambda x: fg.sum(x, axis=-1), (square,)),
        "cumsum": (lambda x: fg.cumsum(x, axis=0), (square,)),
        "add": (lambda x, y: x + y, (square, square)),
        "where": (lambda x, y: fg.where(x > y, x, y), (square, square)),
        "matmul": (lambda x, y: x @ y, (square, square)),
        "inner": (lambda x, y: fg.sum(x * y, axis=-1), (square, square)),
        "solve": (lambda x, y: fg.linalg.solve(x + n * fg.eye(n, dtype="float64"), y), (square, square)),
        "triangular": (lambda x, y: fg.linalg.solve_triangular(x, y), (square, square)),
        "cholesky": (lambda x: fg.linalg.cholesky(x + n * fg.eye(n, dtype="float64")), (square,)),
        "conv": (lambda x, w: fg.conv1d(x[None], w), (square, (4, n, 3))),
        "rfft": (lambda x: fg.fft.rfft(x), (square,)),
        "irfft": (lambda x: fg.fft.irfft(fg.fft.rfft(x)), (square,)),
        "fft": (lambda x: fg.real(fg.fft.fft(x)), (square,)),
        "index_put": (lambda x, v: fg.index_put(x, (positions,), v, accumulate=True), ((n,), (n,))),
        "write": (lambda x, v: fg.index_put(x, (positions,), v), ((n,), (n,))),
        "take": (lambda x: x[positions], (square,)),
        "along": (lambda x: fg.take_along_axis(x, fg.argsort(x, axis=-1), axis=-1), (square,)),
        "concat": (lambda x, y: fg.concat([x, y], axis=1), (square, square)),
        "layer_norm": (lambda x: fg.layer_norm(x, (n,)), (square,)),
        "sort": (lambda x: fg.sort(x, axis=-1), (square,)),
        "cdist": (lambda x, y: fg.cdist(x, y), (square, square)),
    }


def programs(n: int) -> Iterator[tuple[str, bytes]]:
    for name, (function, shapes) in functions(n).items():
        compiled = fg.compile(function)
        compiled(*(fg.ones(shape, dtype="float64") for shape in shapes))
        for made in compiled._programs.values():
            for program in made:
                yield name, program.data("f")


def outcome(data: bytes) -> str:
    """What becomes of a file. AssertionError where numbers of other arrays are in a result, or are not in those."""
    foreign = [fg.full((64,), FOREIGN, dtype="float64") + 0 for _ in range(32)]
    foreign += [fg.full((64 * 64,), FOREIGN, dtype="float64") + 0 for _ in range(8)]
    try:
        function = LoadedFunction(data)
        given = [fg.cast(fg.ones(shape), dtype) for dtype, shape, _, _ in function._core.parameters()]
        for _ in range(3):
            result = function(*given)
    except (_core.FerrogradError, MemoryError, NotImplementedError, TypeError, ValueError) as error:
        return type(error).__name__
    finally:
        assert all(bool((x == FOREIGN).all()) for x in foreign), "an array has changed that nobody wrote to"
    if result.numel() and result.dtype.name != "bool":
        assert not bool((fg.abs(result) == FOREIGN).any()), "a result has numbers of another array"
    return "ran"


def lies(name: str, whole: bytes, about: list[int] | None = None) -> Iterator[tuple[str, bytes]]:
    """The file with each value in turn, or each of these values, of another dtype or size."""
    body = whole[HEADER.size :]
    for k, value in enumerate(Reader(body).values()):
        if value.origin == CONSTANT or (about is not None and k not in about):
            continue
        for dtype, number in FLOATS.items():
            if body[value.dtype] != number:
                changed = body[: value.dtype] + bytes((number,)) + body[value.dtype + 1 :]
                yield f"{name}: value {k} is {dtype}", with_body(whole, changed)
        for axis, (at, size) in enumerate(value.sizes):
            end = at + len(written(size))
            for other in (0, 1, size // 2, size + 1, 4 * size, 1 << 40):
                yield (
                    f"{name}: axis {axis} of value {k} has {other} elements",
                    with_body(whole, body[:at] + written(other) + body[end:]),
                )


def attack(seed: int, count: int, n: int) -> dict[str, int]:
    """What became of so many files: how often each outcome."""
    known = [lie for name, whole in programs(n) for lie in lies(name, whole)]
    if count:
        known = random.Random(seed).sample(known, min(count, len(known)))
    outcomes: dict[str, int] = {}
    for text, data in known:
        print(text, file=sys.stderr, flush=True)
        found = outcome(data)
        outcomes[found] = outcomes.get(found, 0) + 1
    return outcomes


if __name__ == "__main__":
    print(attack(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 64))
