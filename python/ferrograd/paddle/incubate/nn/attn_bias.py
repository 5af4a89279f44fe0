"""``paddle.incubate.nn.attn_bias``: masks of attention, also for sequences one after the other in one tensor."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ferrograd._core import ArgumentError, DtypeError, ShapeError, paddle as ops
from ferrograd._kit import public as _public
from ferrograd.paddle._functions.create import to_tensor
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "AttentionBias",
    "BlockDiagonalCausalMask",
    "BlockDiagonalCausalWithOffsetPaddedKeysMask",
    "BlockDiagonalMask",
    "LowerTriangularMask",
    "LowerTriangularMaskWithTensorBias",
    "PaddedSeqLenInfo",
    "SeqLenInfo",
]

_Mask = TypeVar("_Mask", bound="BlockDiagonalMask")


class AttentionBias(ABC):
    """What is added to the scores of attention: 0 where a query sees a key, minus infinity where it does not."""

    @abstractmethod
    def materialize(self, shape: Any, dtype: Any = "float32") -> Tensor:
        """The numbers, in the shape of the scores, whose last axes are the queries and the keys."""


def _of(seen: Any, shape: Any, dtype: Any) -> Tensor:
    """Zeros where a matrix of truth values holds and minus infinity elsewhere, for all matrices of a shape."""
    zeros = ops.zeros([], dtype)
    if zeros.dtype.kind != "f":
        raise DtypeError(f"materialize: a mask is of floats, not {zeros.dtype}")
    return ops.expand(ops.where(seen, zeros, ops.full([], -float("inf"), dtype)), list(shape))


class LowerTriangularMask(AttentionBias):
    """Each query sees the keys up to its own place.

    >>> import ferrograd.paddle as paddle
    >>> paddle.incubate.nn.attn_bias.LowerTriangularMask().materialize([2, 2]).tolist()
    [[0.0, -inf], [0.0, 0.0]]
    """

    def materialize(self, shape: Any, dtype: Any = "float32") -> Tensor:
        """Minus infinity above the diagonal."""
        return _of(ops.tril(ops.ones(list(shape[-2:]), "bool")), shape, dtype)

    def add_bias(self, bias: Tensor) -> LowerTriangularMaskWithTensorBias:
        """The mask with a tensor added."""
        return LowerTriangularMaskWithTensorBias(bias)


class LowerTriangularMaskWithTensorBias(LowerTriangularMask):
    """A :class:`LowerTriangularMask` to which a tensor is added."""

    def __init__(self, bias: Tensor) -> None:
        self._bias = bias

    def materialize(self, shape: Any, dtype: Any = "float32") -> Tensor:
        """The tensor, and minus infinity above the diagonal."""
        return ops.add(super().materialize(shape, dtype), self._bias)


@dataclass
class SeqLenInfo:
    """Where sequences of these lengths begin and end in a tensor that has them one after the other."""

    seqstart: Tensor
    max_seqlen: int
    seqstart_py: list[int]

    def intervals(self) -> Iterator[tuple[int, int]]:
        """The begin and the end of each sequence."""
        yield from itertools.pairwise(self.seqstart_py)

    @classmethod
    def from_seqlens(cls, seqlens: Sequence[int]) -> SeqLenInfo:
        """Of the lengths of the sequences."""
        starts = [0, *itertools.accumulate(int(n) for n in seqlens)]
        return cls(to_tensor(starts, "int32"), max(map(int, seqlens), default=-1), starts)

    def split(self, x: Tensor, batch_sizes: Sequence[int] | None = None) -> list[Tensor]:
        """The sequences of a tensor [1, length, ...]; those of one length as batches of these sizes."""
        if x.shape[0] != 1 or x.shape[1] != self.seqstart_py[-1]:
            raise ShapeError(f"split: x is [1, {self.seqstart_py[-1]}, ...], not of the shape {list(x.shape)}")
        sizes = [1] * (len(self.seqstart_py) - 1) if batch_sizes is None else list(batch_sizes)
        if sum(sizes) != len(self.seqstart_py) - 1:
            raise ArgumentError(f"split: {len(self.seqstart_py) - 1} sequences are not in batches of {sizes}")
        ends = [self.seqstart_py[i] for i in itertools.accumulate(sizes, initial=0)]
        parts = [x[:, begin:end] for begin, end in itertools.pairwise(ends)]
        return [
            ops.reshape(part, [size, part.shape[1] // max(size, 1), *x.shape[2:]])
            for size, part in zip(sizes, parts, strict=True)
        ]

    def _places(self) -> tuple[Any, Any]:
        """For each place its sequence, or -1 where it is padding, and its place in the sequence."""
        sequence, place = np.full(self.seqstart_py[-1], -1), np.zeros(self.seqstart_py[-1], int)
        for i, (begin, end) in enumerate(self.intervals()):
            sequence[begin:end], place[begin:end] = i, range(end - begin)
        return sequence, place


@dataclass
class PaddedSeqLenInfo(SeqLenInfo):
    """Where sequences begin and end that are padded to one length."""

    seqlen: Tensor
    seqlen_py: Sequence[int]

    def intervals(self) -> Iterator[tuple[int, int]]:
        """The begin and the end of each sequence, without its padding."""
        for (begin, _), length in zip(super().intervals(), self.seqlen_py, strict=True):
            yield begin, begin + length

    @classmethod
    def from_seqlens(cls, seqlens: Sequence[int]) -> SeqLenInfo:
        """Raises NotImplementedError: ``from_seqlens_padded`` takes the length with padding as well."""
        raise NotImplementedError("PaddedSeqLenInfo.from_seqlens: write from_seqlens_padded(seqlens, padding)")

    @classmethod
    def from_seqlens_padded(cls, seqlens: Sequence[int], padding: int) -> PaddedSeqLenInfo:
        """Of the lengths of the sequences, and the length of each with its padding."""
        if any(n > padding for n in seqlens):
            raise ArgumentError(f"from_seqlens_padded: the lengths {list(seqlens)} are not all up to {padding}")
        starts = [i * padding for i in range(len(seqlens) + 1)]
        return cls(
            seqstart=to_tensor(starts, "int32"),
            max_seqlen=max(seqlens, default=-1),
            seqstart_py=starts,
            seqlen=to_tensor(list(seqlens), "int32"),
            seqlen_py=seqlens,
        )

    def split(self, x: Tensor, batch_sizes: Sequence[int] | None = None) -> list[Tensor]:
        """Raises NotImplementedError: the sequences have padding between them."""
        raise NotImplementedError("PaddedSeqLenInfo.split: read x[:, begin:end] of the intervals()")


def _blocks(q: SeqLenInfo, k: SeqLenInfo, shape: Any, dtype: Any, offsets: Any) -> Tensor:
    """Each query sees the keys of its sequence; with ``offsets`` those up to its place plus that of the sequence."""
    wanted = (q.seqstart_py[-1], k.seqstart_py[-1])
    if tuple(shape[-2:]) != wanted:
        raise ShapeError(f"materialize: there are {wanted[0]} queries and {wanted[1]} keys, not {list(shape[-2:])}")
    (of_query, at_query), (of_key, at_key) = q._places(), k._places()
    seen = (of_query[:, None] == of_key) & (of_key >= 0)
    if offsets is not None:
        seen &= at_key <= (at_query + np.broadcast_to(offsets, len(q.seqstart_py) - 1)[of_query])[:, None]
    return _of(to_tensor(seen), shape, dtype)


def _in_one(tensors: Sequence[Tensor]) -> Tensor:
    """Batches of sequences one after the other in one tensor [1, length, ...]."""
    return ops.concat([ops.reshape(x, [1, x.shape[0] * x.shape[1], *x.shape[2:]]) for x in tensors], 1)


@dataclass
class BlockDiagonalMask(AttentionBias):
    """Queries and keys of several sequences one after the other: each query sees the keys of its own sequence.

    >>> import ferrograd.paddle as paddle
    >>> masks = paddle.incubate.nn.attn_bias
    >>> masks.BlockDiagonalMask.from_seqlens([1, 2]).materialize([3, 3]).tolist()
    [[0.0, -inf, -inf], [-inf, 0.0, 0.0], [-inf, 0.0, 0.0]]
    """

    q_seqinfo: SeqLenInfo
    k_seqinfo: SeqLenInfo
    _batch_sizes: Sequence[int] | None = None

    def materialize(self, shape: Any, dtype: Any = "float32") -> Tensor:
        """Minus infinity where the query and the key are of two sequences."""
        return _blocks(self.q_seqinfo, self.k_seqinfo, shape, dtype, None)

    @classmethod
    def from_seqlens(cls: type[_Mask], q_seqlen: Sequence[int], kv_seqlen: Sequence[int] | None = None) -> _Mask:
        """Of the lengths of the sequences of queries and of keys."""
        q = SeqLenInfo.from_seqlens(q_seqlen)
        if kv_seqlen is None or list(kv_seqlen) == list(q_seqlen):
            return cls(q, q)
        if len(kv_seqlen) != len(q_seqlen):
            raise ArgumentError(f"from_seqlens: {len(q_seqlen)} sequences of queries and {len(kv_seqlen)} of keys")
        return cls(q, SeqLenInfo.from_seqlens(kv_seqlen))

    @classmethod
    def from_tensor_list(cls: type[_Mask], tensors: Sequence[Tensor]) -> tuple[_Mask, Tensor]:
        """The mask of batches of sequences, and the sequences one after the other in one tensor."""
        mask, q, _, _ = cls.from_tensor_lists_qkv(tensors, tensors)
        return mask, q

    @classmethod
    def from_tensor_lists_qkv(
        cls: type[_Mask],
        tensors_q: Sequence[Tensor],
        tensors_k: Sequence[Tensor],
        tensors_v: Sequence[Tensor] | None = None,
    ) -> tuple[_Mask, Tensor, Tensor, Tensor | None]:
        """The mask of batches of queries, keys and values, and the sequences of each in one tensor."""
        values = tensors_k if tensors_v is None else tensors_v
        pairs = [(list(x.shape[:2]), list(y.shape[:2])) for x, y in zip(tensors_k, values, strict=True)]
        if any(k != v for k, v in pairs) or [q.shape[0] for q in tensors_q] != [k[0] for k, _ in pairs]:
            raise ShapeError("from_tensor_lists_qkv: batches of keys and values have the shapes of those of queries")
        lengths = ([x.shape[1] for x in tensors for _ in range(x.shape[0])] for tensors in (tensors_q, tensors_k))
        mask = cls.from_seqlens(*lengths)
        mask._batch_sizes = [x.shape[0] for x in tensors_q]
        return mask, _in_one(tensors_q), _in_one(tensors_k), None if tensors_v is None else _in_one(tensors_v)

    def split_queries(self, tensor: Tensor) -> list[Tensor]:
        """The batches of a tensor with all queries."""
        return self.q_seqinfo.split(tensor, self._batch_sizes)

    def split_kv(self, tensor: Tensor) -> list[Tensor]:
        """The batches of a tensor with all keys, or all values."""
        return self.k_seqinfo.split(tensor, self._batch_sizes)

    def split(self, tensor: Tensor) -> list[Tensor]:
        """The batches of a tensor with all queries, if the keys have the same lengths."""
        if self.q_seqinfo is not self.k_seqinfo:
            raise ArgumentError("split: queries and keys have other lengths; take split_queries or split_kv")
        return self.split_queries(tensor)

    def make_causal(self) -> BlockDiagonalCausalMask:
        """The mask that hides the keys after each query too."""
        return BlockDiagonalCausalMask(self.q_seqinfo, self.k_seqinfo, self._batch_sizes)


@dataclass
class BlockDiagonalCausalMask(BlockDiagonalMask):
    """A :class:`BlockDiagonalMask` in which a query sees the keys up to its own place."""

    def materialize(self, shape: Any, dtype: Any = "float32") -> Tensor:
        """Minus infinity where the query and the key are of two sequences, or the key comes later."""
        return _blocks(self.q_seqinfo, self.k_seqinfo, shape, dtype, 0)


@dataclass
class BlockDiagonalCausalWithOffsetPaddedKeysMask(AttentionBias):
    """A :class:`BlockDiagonalCausalMask` of padded keys: ``causal_diagonal`` says how many more each sequence sees."""

    q_seqinfo: SeqLenInfo
    k_seqinfo: PaddedSeqLenInfo
    causal_diagonal: Tensor | None = None

    def materialize(self, shape: Any, dtype: Any = "float32") -> Tensor:
        """Minus infinity where the key is padding, of another sequence, or comes too late."""
        offsets = 0 if self.causal_diagonal is None else self.causal_diagonal.numpy()
        return _blocks(self.q_seqinfo, self.k_seqinfo, shape, dtype, offsets)

    @classmethod
    def from_seqlens(
        cls,
        q_seqlen: Sequence[int],
        kv_padding: int,
        kv_seqlen: Sequence[int],
        causal_diagonal: Tensor | None = None,
    ) -> BlockDiagonalCausalWithOffsetPaddedKeysMask:
        """Of the lengths of queries and of keys, and the length of each sequence of keys with its padding."""
        if len(kv_seqlen) != len(q_seqlen):
            raise ArgumentError(f"from_seqlens: {len(q_seqlen)} sequences of queries and {len(kv_seqlen)} of keys")
        keys = PaddedSeqLenInfo.from_seqlens_padded(kv_seqlen, kv_padding)
        return cls(SeqLenInfo.from_seqlens(q_seqlen), keys, causal_diagonal)


__dir__ = _public.names(globals())
