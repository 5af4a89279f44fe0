"""Batches of sequences of different lengths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.arguments import typed
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


def _constant(values: Any) -> Any:
    return _core.make(np.asarray(values, np.int64), None, False, TORCH)


def invert_permutation(permutation: Any) -> Any:
    """The permutation that undoes another one."""
    if permutation is None:
        return None
    return _constant(np.argsort(_arguments.tensor(permutation, "invert_permutation", "permutation").numpy()))


class _Packed(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


def _cast(name: str) -> Callable[[Any], Any]:
    def cast(self: Any) -> Any:
        return self._replace(data=getattr(self.data, name)())

    cast.__name__, cast.__qualname__ = name, f"PackedSequence.{name}"
    cast.__doc__ = f"The sequences with the data of ``data.{name}()``."
    return cast


class PackedSequence(_Packed):
    """Sequences as one tensor: at each time step the elements of the sequences that are long enough.

    They are sorted by length, longest first; ``batch_sizes`` has the number of elements of each step.
    """

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> PackedSequence:
        """Packed data; made by :func:`pack_sequence` or :func:`pack_padded_sequence`."""
        if batch_sizes is None:
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequences with the data cast to a dtype; themselves if they have it. The CPU is the only device."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._replace(data=data)

    def cpu(self) -> PackedSequence:
        """The sequences themselves."""
        return self

    byte, char, short, int, long = map(_cast, ("byte", "char", "short", "int", "long"))
    half, bfloat16, float, double = map(_cast, ("half", "bfloat16", "float", "double"))
    pin_memory = _cast("pin_memory")

    @property
    def is_cuda(self) -> bool:
        """False: the CPU is the only device."""
        return False


def _sequence(value: object, function: str) -> Tensor:
    """A tensor with a time axis; raises for anything else."""
    x = _arguments.tensor(value, function, "each sequence")
    if not x.ndim:
        raise ArgumentError(f"{function}: a sequence has a time axis, and a tensor without axes has none")
    return x


def _numbers(lengths: Any) -> list[int]:
    return [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs sequences that are padded to [time, batch, …], or with ``batch_first`` to [batch, time, …].

    Without ``enforce_sorted`` they are sorted first, and the packed sequences know their old order.

    >>> import ferrograd.torch as torch
    >>> padded = torch.tensor([[1, 3], [2, 0]])
    >>> packed = torch.nn.utils.rnn.pack_padded_sequence(padded, [2, 1])
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1, 3, 2], [2, 1])
    """
    x = _arguments.tensor(input, "pack_padded_sequence", "input")
    if not math.prod(x.shape):
        raise ArgumentError(f"Cannot pack empty tensors, and the input has shape {list(x.shape)}")
    sizes = _numbers(lengths)
    if x.ndim < 2:
        raise ArgumentError(f"pack_padded_sequence: input has a batch and a time axis, and this one has {x.ndim} axes")
    x = ops.swapaxes(x, 0, 1) if batch_first else x
    order = None
    if not enforce_sorted:
        rank = np.argsort(-np.asarray(sizes), kind="stable")
        order, sizes = _constant(rank), [sizes[i] for i in rank]
        x = ops.index_select(x, 1, order)
    if len(sizes) != x.shape[1]:
        raise ArgumentError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={x.shape[1]})"
        )
    if not sizes or min(sizes) <= 0:
        raise ArgumentError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in pairwise(sizes)):
        raise ArgumentError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement"
        )
    if sizes[0] > x.shape[0]:
        raise ArgumentError(f"Expected the longest length to be at most {x.shape[0]}, but got {sizes[0]}")
    counts = [sum(n > t for n in sizes) for t in range(sizes[0])]
    data = ops.concat([x[t, :n] for t, n in enumerate(counts)], 0)
    return PackedSequence(data, _constant(counts), order, None)


@typed(sequence=PackedSequence)
def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The sequences padded to one length, and their lengths: undoes :func:`pack_padded_sequence`."""
    counts = _numbers(sequence.batch_sizes)
    if total_length is not None and total_length < len(counts):
        raise ArgumentError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(counts)}"
        )
    rest = [(0, 0)] * (sequence.data.ndim - 1)
    steps = [
        ops.pad(part, [(0, counts[0] - n), *rest], "constant", padding_value)
        for part, n in zip(ops.split_sizes(sequence.data, counts, 0), counts, strict=True)
    ]
    padded = ops.stack(steps, 1 if batch_first else 0)
    if total_length is not None:
        more = (0, total_length - len(counts))
        padded = ops.pad(
            padded, [(0, 0), more, *rest] if batch_first else [more, (0, 0), *rest], "constant", padding_value
        )
    lengths = _constant([sum(n > i for n in counts) for i in range(counts[0])])
    if sequence.unsorted_indices is None:
        return padded, lengths
    back = sequence.unsorted_indices
    return ops.index_select(padded, 0 if batch_first else 1, back), ops.index_select(lengths, 0, back)


def pad_sequence(
    sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences [time, …] padded to one length: [time, batch, …], or with ``batch_first`` [batch, time, …].

    >>> import ferrograd.torch as torch
    >>> torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(1)], batch_first=True).tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """
    if not isinstance(sequences, Iterable):
        raise ArgumentError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise ArgumentError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    many = [_sequence(s, "pad_sequence") for s in sequences]
    if not many:
        raise ArgumentError("Expected at least one sequence in the list")
    longest = max(s.shape[0] for s in many)
    padded = []
    for s in many:
        width = longest - s.shape[0]
        both = (width, 0) if padding_side == "left" else (0, width)
        padded.append(ops.pad(s, [both, *[(0, 0)] * (s.ndim - 1)], "constant", padding_value))
    return ops.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences without their padding."""
    x = padded_sequences if batch_first else ops.swapaxes(padded_sequences, 0, 1)
    return [row[:n] for row, n in zip(ops.unbind(x, 0), _numbers(lengths), strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs a list of sequences."""
    lengths = [_sequence(s, "pack_sequence").shape[0] for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


@typed(packed_sequences=PackedSequence)
def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)


__dir__ = _public.names(globals())
